/*
 * Configuration: which source wins, which forms a value may have, and what is said of one that is
 * none.
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

enum { WORDS_MOST = 4 };

/* What one start with its flags, environment and env file gave. */
struct outcome {
	int status; /* of config_load */
	int words;
	struct config c;
	char root[100], tools[100], host[100],
		first[100]; /* texts of c, and the first word; "-": none */
	char said[1024];    /* on stderr */
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
	got->status = config_load(&got->c, argc, args, WORDS_MOST, &got->words);
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

#define LIST(...) ((char *[]){ __VA_ARGS__, NULL })
#define NONE ((char *[]){ NULL })
#define FLAGS(...) load(LIST(__VA_ARGS__), NONE)
#define ENV(...) load(NONE, LIST(__VA_ARGS__))

/* The load failed with status 2 and one line that says so. */
#define complains(line)                                                                            \
	do {                                                                                       \
		assert_string_equal(got->said, "sandstorm-mcp: " line "\n");                       \
		assert_int_equal(got->status, 2);                                                  \
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
	load(NONE, NONE);
	is_fine();
	assert_string_equal(got->root, "/home/dev");
	assert_string_equal(got->tools, "-");
	assert_int_equal(got->c.max_output, 0);
	assert_int_equal(got->c.memory, 0);
	assert_int_equal(got->c.stop_grace_ms, 0);
	assert_int_equal(got->c.log_level, LOG_INFO);
	assert_int_equal(got->c.log_json, -1);
	assert_false(got->c.read_only || got->c.structured || got->c.stdio || got->c.health_detail);
	assert_string_equal(got->host, "127.0.0.1");
	assert_int_equal(got->c.port, 8080);
	assert_int_equal(got->c.rate_limit, 600);
}

static void test_flags_win_over_environment_over_file_over_default(void **state)
{
	char *file = env_file(
		"SANDSTORM_WORKSPACE_ROOT=/file\nSANDSTORM_TOOLS=file\nSANDSTORM_MCP_HOST=file\n");

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
	assert_int_equal(got->c.max_output, 0);
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

static void test_a_word_more_than_the_command_knows_is_refused(void **state)
{
	(void)state;
	FLAGS("1", "2", "--read-only", "3", "4", "more", "most");
	complains("unknown word more, see --help");
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
	static const struct {
		char *flag, *word;
		size_t at;
		int64_t value;
	} words[] = {
		{ "--health-detail", "1", offsetof(struct config, health_detail), 1 },
		{ "--health-detail", "true", offsetof(struct config, health_detail), 1 },
		{ "--health-detail", "YES", offsetof(struct config, health_detail), 1 },
		{ "--health-detail", "On", offsetof(struct config, health_detail), 1 },
		{ "--health-detail", "0", offsetof(struct config, health_detail), 0 },
		{ "--health-detail", "False", offsetof(struct config, health_detail), 0 },
		{ "--health-detail", "no", offsetof(struct config, health_detail), 0 },
		{ "--health-detail", "OFF", offsetof(struct config, health_detail), 0 },
		{ "--log-level", "DEBUG", offsetof(struct config, log_level), LOG_DEBUG },
		{ "--log-level", "info", offsetof(struct config, log_level), LOG_INFO },
		{ "--log-level", "Warning", offsetof(struct config, log_level), LOG_WARN },
		{ "--log-level", "WARN", offsetof(struct config, log_level), LOG_WARN },
		{ "--log-level", "error", offsetof(struct config, log_level), LOG_ERROR },
		{ "--log-level", "CRITICAL", offsetof(struct config, log_level), LOG_ERROR },
		{ "--log-format", "text", offsetof(struct config, log_json), 0 },
		{ "--log-format", "JSON", offsetof(struct config, log_json), 1 },
	};
	char flag[50];
	int64_t value;

	(void)state;
	for (size_t i = 0; i < COUNT(words); i++) {
		snprintf(flag, sizeof(flag), "%s=%s", words[i].flag, words[i].word);
		FLAGS(flag);
		is_fine();
		memcpy(&value, (char *)&got->c + words[i].at, sizeof(value));
		assert_int_equal(value, words[i].value);
	}
}

static void test_seconds_may_have_a_fraction(void **state)
{
	(void)state;
	FLAGS("--stop-grace", "1.5");
	assert_int_equal(got->c.stop_grace_ms, 1500);
	ENV("SANDSTORM_STOP_GRACE=3600");
	assert_int_equal(got->c.stop_grace_ms, 3600 * 1000);
	FLAGS("--stop-grace=3e1");
	assert_int_equal(got->c.stop_grace_ms, 30 * 1000);
}

/* --- complaints --- */

static void test_a_value_of_the_wrong_form_is_named_with_where_it_stands(void **state)
{
	(void)state;
	FLAGS("--max-output", "much");
	complains("--max-output: \"much\" is not a number of bytes, such as 65536 or 1M");
	FLAGS("--max-output", "M");
	complains("--max-output: \"M\" is not a number of bytes, such as 65536 or 1M");
	FLAGS("--max-output=-1");
	complains("--max-output: \"-1\" is not a number of bytes, such as 65536 or 1M");
	FLAGS("--max-output=9223372036854775807K");
	complains("--max-output: \"9223372036854775807K\" is not a number of bytes, such as 65536 "
		  "or 1M");
	FLAGS("--max-output=1.5M");
	complains("--max-output: \"1.5M\" is not a number of bytes, such as 65536 or 1M");
	ENV("SANDSTORM_MCP_PORT=http");
	complains("SANDSTORM_MCP_PORT: \"http\" is not a number");
	ENV("SANDSTORM_STOP_GRACE=soon");
	complains("SANDSTORM_STOP_GRACE: \"soon\" is not a number of seconds");
	ENV("SANDSTORM_READ_ONLY=maybe");
	complains("SANDSTORM_READ_ONLY: \"maybe\" is not 1 or 0");
	ENV("SANDSTORM_LOG_LEVEL=LOUD");
	complains("SANDSTORM_LOG_LEVEL: \"LOUD\" is not DEBUG, INFO, WARNING, ERROR or CRITICAL");
	ENV("SANDSTORM_LOG_FORMAT=xml");
	complains("SANDSTORM_LOG_FORMAT: \"xml\" is not text or json");
	FLAGS("--read-only=");
	complains("--read-only: \"\" is not 1 or 0");
}

static void test_a_value_out_of_range_is_told_with_the_range(void **state)
{
	(void)state;
	FLAGS("--max-output", "1023");
	complains("--max-output: 1023 is not between 1024 and 10485760");
	FLAGS("--max-output", "10485761");
	complains("--max-output: 10485761 is not between 1024 and 10485760");
	FLAGS("--http-timeout", "0");
	complains("--http-timeout: 0 is not between 1 and 3600 seconds");
	ENV("SANDSTORM_START_TIMEOUT=601");
	complains("SANDSTORM_START_TIMEOUT: 601 is not between 1 and 600 seconds");
	ENV("SANDSTORM_MEMORY=1M");
	complains("SANDSTORM_MEMORY: 1M is not between 8388608 and 2147483647");
	ENV("SANDSTORM_STOP_GRACE=-0.5");
	complains("SANDSTORM_STOP_GRACE: -0.5 is not between 0 and 3600 seconds");
	ENV("SANDSTORM_STOP_GRACE=3600.001");
	complains("SANDSTORM_STOP_GRACE: 3600.001 is not between 0 and 3600 seconds");
	ENV("SANDSTORM_MCP_PORT=0");
	complains("SANDSTORM_MCP_PORT: 0 is not between 1 and 65535");
	ENV("SANDSTORM_RATE_LIMIT=-1");
	complains("SANDSTORM_RATE_LIMIT: -1 is not between 0 and 2147483647");
}

static void test_values_at_the_ends_of_their_range_are_taken(void **state)
{
	(void)state;
	FLAGS("--max-output=1024", "--memory=8M", "--mcp-port=65535", "--rate-limit=0");
	is_fine();
	FLAGS("--max-output=10M", "--memory=2147483647", "--mcp-port=1");
	is_fine();
}

static void test_a_wrong_value_that_a_flag_overrides_does_not_matter(void **state)
{
	(void)state;
	load(LIST("--max-output=1M"), LIST("SANDSTORM_MAX_OUTPUT=much"));
	is_fine();
}

static void test_an_unknown_flag_or_one_without_value_is_told(void **state)
{
	(void)state;
	FLAGS("--bogus");
	complains("unknown option --bogus, see --help");
	FLAGS("--bogus=5");
	complains("unknown option --bogus, see --help");
	FLAGS("--");
	complains("unknown option --, see --help");
	FLAGS("--Tools", "host");
	complains("unknown option --Tools, see --help");
	FLAGS("--tools");
	complains("option --tools needs a value, see --help");
}

static void test_a_bad_env_file_is_told_by_its_line(void **state)
{
	char *file = env_file("A=1\n\nnonsense\n");

	(void)state;
	FLAGS("--env-file", file);
	assert_int_equal(got->status, 2);
	assert_non_null(strstr(got->said, path));
	assert_non_null(strstr(got->said, " line 3 is not NAME=value\n"));
	FLAGS("--env-file=/nowhere/x");
	complains("cannot read --env-file /nowhere/x: No such file or directory");
}

static void test_a_complaint_is_one_line_whatever_the_value_holds(void **state)
{
	(void)state;
	FLAGS("--mcp-port=1\n2\r\x1b[31m");
	complains("--mcp-port: \"1?2??[31m\" is not a number");
}

/* --- what people read --- */

static void test_help_shows_each_variable_or_else_its_flag_within_80_columns(void **state)
{
	char mem[16 * KIB];
	struct slice all, line;
	struct buf b;

	(void)state;
	buf_over(&b, mem, sizeof(mem) - 1);
	config_help(&b);
	assert_false(b.failed);
	for (all = buf_all(&b); all.n > 0;) {
		line.p = all.p;
		line.n = (size_t)((char *)memchr(all.p, '\n', all.n) - all.p);
		assert_true(line.n <= 80);
		all = slice_from(all, line.n + 1);
	}
	mem[b.len] = '\0';
	assert_non_null(strstr(mem, "  SANDSTORM_MCP_PORT            port to serve on [8080]\n"));
	assert_non_null(
		strstr(mem, "  --env-file                    read NAME=value lines from a file\n"));
}

static void test_each_variable_has_the_flag_of_its_name(void **state)
{
	struct buf b = unit_buf(64 * KIB), mem = unit_buf(64 * KIB);
	struct slice env, flag;
	struct json d;
	struct jw w;
	char want[64];

	(void)state;
	jw_init(&w, &b);
	config_json(&w);
	assert_int_equal(json_parse(&d, b.p, b.len, &mem), 0);
	assert_true(json_count(&d, 0) > 10);
	for (int at = json_first(&d, 0); at >= 0; at = json_next(&d, 0, at)) {
		assert_int_equal(json_str(&d, json_get(&d, at, "name"), &env), 0);
		assert_int_equal(json_str(&d, json_get(&d, at, "flag"), &flag), 0);
		if (env.n == 0)
			continue;
		assert_true(config_is_ours(env));
		if (strncmp(env.p, "SANDSTORM_", 10) == 0)
			env = slice_from(env, 10);
		snprintf(want, sizeof(want), "--%.*s", SLICE(env));
		for (char *c = want; *c; c++)
			*c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
		assert_same(flag, slice_of(want));
	}
	assert_false(config_is_ours(LIT("HOME")) || config_is_ours(LIT("SANDSTORM_")) ||
		     config_is_ours(LIT("")));
	buf_release(&b);
	buf_release(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_flags_win_over_environment_over_file_over_default),
		cmocka_unit_test(
			test_the_order_of_flags_does_not_matter_and_the_last_of_a_kind_counts),
		cmocka_unit_test(test_an_empty_variable_is_none),
		cmocka_unit_test(test_a_flag_may_take_its_value_with_an_equals_sign),
		cmocka_unit_test(test_a_truth_needs_no_value),
		cmocka_unit_test(test_words_are_told_apart_from_flags),
		cmocka_unit_test(test_a_word_more_than_the_command_knows_is_refused),
		cmocka_unit_test(test_a_flag_that_is_only_one_has_no_variable),
		cmocka_unit_test(test_bytes_may_be_counted_in_k_and_m),
		cmocka_unit_test(test_words_for_truths_levels_and_formats_in_any_case),
		cmocka_unit_test(test_seconds_may_have_a_fraction),
		cmocka_unit_test(test_a_value_of_the_wrong_form_is_named_with_where_it_stands),
		cmocka_unit_test(test_a_value_out_of_range_is_told_with_the_range),
		cmocka_unit_test(test_values_at_the_ends_of_their_range_are_taken),
		cmocka_unit_test(test_a_wrong_value_that_a_flag_overrides_does_not_matter),
		cmocka_unit_test(test_an_unknown_flag_or_one_without_value_is_told),
		cmocka_unit_test(test_a_bad_env_file_is_told_by_its_line),
		cmocka_unit_test(test_a_complaint_is_one_line_whatever_the_value_holds),
		cmocka_unit_test(test_help_shows_each_variable_or_else_its_flag_within_80_columns),
		cmocka_unit_test(test_each_variable_has_the_flag_of_its_name),
	};

	return cmocka_run_group_tests(tests, start, end);
}
