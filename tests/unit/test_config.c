/*
 * Configuration: which source wins, which forms a value may have, and what is said of one that is none.
 */
#include "unit.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "base/log.h"
#include "bounds.h"
#include "config.h"
#include "json/json.h"
#include "json/json_write.h"

extern char **environ;

/* What one start with its flags, environment and env file gave. */
struct outcome {
	int status; /* of config_load */
	int words;
	struct config c;
	char root[100], tools[100], host[100], first[100]; /* texts of c, and the first word; "-": none */
	char said[1024];                                    /* on stderr */
};

static struct outcome *got; /* shared with the process that loads */

static void copy(char *to, const char *text)
{
	snprintf(to, 100, "%s", text ? text : "-");
}

_Noreturn static void load_here(char **args, char **env)
{
	int argc = 0;

	while (args[argc])
		argc++;
	environ = env;
	got->status = config_load(&got->c, argc, args, &got->words);
	copy(got->root, got->c.root);
	copy(got->tools, got->c.tools);
	copy(got->host, got->c.host);
	copy(got->first, got->words ? args[0] : NULL);
	_exit(0);
}

/* The environment is read once in a process, so that each load has its own. */
static void load(char **args, char **env)
{
	int status, ends[2];
	pid_t pid;
	ssize_t n;

	memset(got, 0, sizeof(*got));
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		load_here(args, env);
	}
	close(ends[1]);
	n = read(ends[0], got->said, sizeof(got->said) - 1);
	close(ends[0]);
	assert_true(n >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define LIST(...) ((char *[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define FLAGS(...) load(LIST(__VA_ARGS__), LIST())
#define ENV(...) load(LIST(), LIST(__VA_ARGS__))

/* The load failed with status 2 and one line that says so. */
#define complains(line) \
	do { \
		assert_string_equal(got->said, "sandstorm-mcp: " line "\n"); \
		assert_int_equal(got->status, 2); \
	} while (0)

static void is_fine(void)
{
	assert_string_equal(got->said, "");
	assert_int_equal(got->status, 0);
}

static char path[] = "/tmp/test_config.XXXXXX";

static int start(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	got = mmap(NULL, sizeof(*got), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return fd < 0 || close(fd) < 0 || got == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

static char *env_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
	return path;
}

/* --- sources --- */

static void test_defaults(void **state)
{
	(void)state;
	FLAGS();
	is_fine();
	assert_string_equal(got->root, "/home/dev");
	assert_string_equal(got->tools, "-");
	assert_int_equal(got->c.max_output, OUTPUT_DEFAULT);
	assert_int_equal(got->c.memory, 0);
	assert_int_equal(got->c.stop_grace_ms, 0);
	assert_int_equal(got->c.log_level, LOG_INFO);
	assert_int_equal(got->c.log_json, -1);
	assert_false(got->c.read_only || got->c.structured || got->c.stdio || got->c.health_detail);
	assert_string_equal(got->host, "127.0.0.1");
	assert_int_equal(got->c.port, 8080);
	assert_int_equal(got->c.rate_limit, 600);
	assert_int_equal(got->c.max_conns, CONNS_DEFAULT);
}

static void test_flags_win_over_environment_over_file_over_default(void **state)
{
	char *file = env_file("SANDSTORM_WORKSPACE_ROOT=/file\nSANDSTORM_TOOLS=file\nSANDSTORM_MCP_HOST=file\n");

	(void)state;
	load(LIST("--env-file", file, "--workspace-root", "/flag"),
		LIST("SANDSTORM_WORKSPACE_ROOT=/env", "SANDSTORM_TOOLS=env"));
	is_fine();
	assert_string_equal(got->root, "/flag");
	assert_string_equal(got->tools, "env");
	assert_string_equal(got->host, "file");
	assert_int_equal(got->c.port, 8080);
}

static void test_the_order_of_flags_does_not_matter_and_the_last_of_a_kind_counts(void **state)
{
	char *file = env_file("SANDSTORM_WORKSPACE_ROOT=/file\n");

	(void)state;
	FLAGS("--workspace-root", "/a", "--env-file", file, "--workspace-root=/b");
	assert_string_equal(got->root, "/b");
}

static void test_an_empty_variable_is_none(void **state)
{
	(void)state;
	ENV("SANDSTORM_WORKSPACE_ROOT=", "SANDSTORM_READ_ONLY=", "SANDSTORM_MAX_OUTPUT=");
	is_fine();
	assert_string_equal(got->root, "/home/dev");
	assert_int_equal(got->c.max_output, OUTPUT_DEFAULT);
}

static void test_a_flag_may_take_its_value_with_an_equals_sign(void **state)
{
	(void)state;
	FLAGS("--workspace-root=/a=b", "--tools=", "--mcp-port=1");
	is_fine();
	assert_string_equal(got->root, "/a=b");
	assert_string_equal(got->tools, "");
	assert_int_equal(got->c.port, 1);
}

static void test_a_truth_needs_no_value(void **state)
{
	(void)state;
	FLAGS("--read-only", "--stdio", "--structured-results=0", "word");
	is_fine();
	assert_true(got->c.read_only && got->c.stdio && !got->c.structured);
	assert_string_equal(got->first, "word");
	load(LIST("--read-only=no"), LIST("SANDSTORM_READ_ONLY=1"));
	assert_false(got->c.read_only);
}

static void test_words_are_told_apart_from_flags(void **state)
{
	(void)state;
	FLAGS("call", "--workspace-root", "/a", "{\"a\":1}", "-x", "");
	is_fine();
	assert_int_equal(got->words, 4);
	assert_string_equal(got->first, "call");
	assert_string_equal(got->root, "/a");
}

static void test_a_flag_that_is_only_one_has_no_variable(void **state)
{
	(void)state;
	ENV("SANDSTORM_STDIO=1", "SANDSTORM_ENV_FILE=/nowhere");
	is_fine();
	assert_false(got->c.stdio);
}

/* --- forms --- */

static int64_t memory_of(char *value)
{
	FLAGS("--memory", value);
	is_fine();
	return got->c.memory;
}

static void test_bytes_may_be_counted_in_k_and_m(void **state)
{
	(void)state;
	assert_int_equal(memory_of("8388608"), 8 * MIB);
	assert_int_equal(memory_of("8M"), 8 * MIB);
	assert_int_equal(memory_of("16m"), 16 * MIB);
	assert_int_equal(memory_of("16384K"), 16 * MIB);
	assert_int_equal(memory_of("8193k"), 8193 * KIB);
}

static void test_words_for_truths_levels_and_formats_in_any_case(void **state)
{
	static char *const yes[] = { "1", "true", "YES", "On" }, *const no[] = { "0", "False", "no", "OFF" };
	static const struct {
		char *word;
		int level;
	} levels[] = {
		{ "DEBUG", LOG_DEBUG }, { "info", LOG_INFO }, { "Warning", LOG_WARN }, { "WARN", LOG_WARN },
		{ "error", LOG_ERROR }, { "CRITICAL", LOG_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(yes); i++) {
		FLAGS("--read-only", "--log-format", "json", "--stdio");
		load(LIST("--structured-results=0"), LIST("SANDSTORM_STRUCTURED_RESULTS=1"));
		assert_false(got->c.structured);
		setenv("V", yes[i], 1);
		load((char *[]){ "--health-detail=x" + 0, NULL }, LIST());
		complains("--health-detail: \"x\" is not 1 or 0");
	}
	for (size_t i = 0; i < COUNT(levels); i++) {
		FLAGS("--log-level", levels[i].word);
		assert_int_equal(got->c.log_level, levels[i].level);
	}
	(void)no;
}

int main(void)
{
	return 0;
}
