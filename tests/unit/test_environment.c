/*
 * The env file, and what is taken out of the environment before a child or /proc can show it.
 */
#include "apart.h"

#include <fcntl.h>

#include "base/str.h"
#include "bounds.h"
#include "environment.h"

extern char **environ;

/* --- the text of an env file --- */

/* Its variables in brackets, or the line that is none. */
static const char *vars_of(struct slice text, int max)
{
	static char mem[1024], shown[2048];
	char *vars[9];
	struct buf b;
	int line = 0, r;

	assert_true(text.n < sizeof(mem) && max < (int)COUNT(vars));
	memset(mem, '#', sizeof(mem));
	memcpy(mem, text.p, text.n);
	buf_over(&b, shown, sizeof(shown));
	r = env_file_parse(mem, text.n, vars, max, &line);
	if (r < 0)
		buf_printf(&b, "%d in line %d", r, line);
	for (char **v = vars; r == 0 && *v; v++)
		buf_printf(&b, "[%s]", *v);
	buf_putc(&b, '\0');
	return shown;
}

#define parses(text, vars) assert_string_equal(vars_of(LIT(text), 8), vars)
#define stops_at(text, line) assert_string_equal(vars_of(LIT(text), 8), "-74 in line " #line)

static void test_each_line_sets_a_variable(void **state)
{
	(void)state;
	assert_int_equal(EBADMSG, 74);
	parses("A=1\nB_2=two\n_c=\n", "[A=1][B_2=two][_c=]");
	parses("A=1", "[A=1]");
	parses("", "");
}

static void test_blanks_around_name_and_value_do_not_count(void **state)
{
	(void)state;
	parses("  A = 1 2  \r\n\tB\t=\t \r\n", "[A=1 2][B=]");
}

static void test_comments_and_empty_lines_set_nothing(void **state)
{
	(void)state;
	parses("# A=1\n\n \t\r\n  # B=2\nC=3 # no comment\n#", "[C=3 # no comment]");
}

static void test_export_is_left_out(void **state)
{
	(void)state;
	parses("export A=1\nexport   B=2\nexported=3\nexport=4",
		"[A=1][B=2][exported=3][export=4]");
}

static void test_one_pair_of_outer_quotes_is_left_out(void **state)
{
	(void)state;
	parses("A=\" x \"\nB='y'\nC=\"\"\nD='a \"b\" c'\n", "[A= x ][B=y][C=][D=a \"b\" c]");
	parses("A=\"x\nB='x\"\nC=x\"\nD=\"\nE=''x''", "[A=\"x][B='x\"][C=x\"][D=\"][E='x']");
}

static void test_a_value_may_hold_anything_else(void **state)
{
	(void)state;
	parses("A=b=c==\nB=$HOME `x` \\n \xc3\xa9\xff\n",
		"[A=b=c==][B=$HOME `x` \\n \xc3\xa9\xff]");
}

static void test_of_two_lines_for_a_name_the_later_one_counts(void **state)
{
	(void)state;
	parses("A=1\nB=2\nA=3\n", "[A=3][B=2]");
	parses("A=1\nexport A=\"\"", "[A=]");
	parses("AB=1\nA=2\n", "[AB=1][A=2]");
}

static void test_what_is_no_assignment_is_told_by_its_line(void **state)
{
	(void)state;
	stops_at("A", 1);
	stops_at("A=1\n\n#\nB\nC", 4);
	stops_at("=1", 1);
	stops_at("A B=1", 1);
	stops_at("1A=1", 1);
	stops_at("A-B=1", 1);
	stops_at("\xc3\xa9=1", 1);
	stops_at("export", 1);
	stops_at("export =1", 1);
	stops_at("A=1\nB=x\0y", 2);
	stops_at("A\0=1", 1);
	stops_at("\xef\xbb\xbf"
		 "A=1",
		1);
}

static void test_there_is_a_most_of_variables_not_of_lines(void **state)
{
	(void)state;
	assert_string_equal(vars_of(LIT("A=1\nB=2\nA=3\nB=4\n"), 2), "[A=3][B=4]");
	assert_string_equal(vars_of(LIT("A=1\nB=2\n\nC=3\n"), 2), "-74 in line 4");
	assert_string_equal(vars_of(LIT(""), 0), "");
}

/* The value of a secret must not be found a second time once its variable is wiped. */
static void test_of_each_value_one_copy_is_left(void **state)
{
	static char text[] = "# a comment\nexport  TOKEN = \"one-secret\"\nTOKEN='two-secret'\n";
	char *vars[3];
	int line, n = 0;

	(void)state;
	assert_int_equal(env_file_parse(text, sizeof(text) - 1, vars, 2, &line), 0);
	assert_string_equal(vars[0], "TOKEN=two-secret");
	for (size_t i = 0; i + 6 < sizeof(text); i++)
		n += memcmp(text + i, "secret", 6) == 0;
	assert_int_equal(n, 1);
}

/* --- what a file and the environment give --- */

static const char *file_with(struct slice text)
{
	static char path[] = "/tmp/test_environment.XXXXXX";
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
	close(fd);
	return path;
}

static int load(struct slice text)
{
	const char *path = file_with(text);
	int line, r = env_file_load(path, &line);

	unlink(path);
	return r;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void the_environment_wins_over_the_file(void)
{
	char *env[] = { "A=env", "EMPTY=", "NO_VALUE", "AB=env too", NULL };

	environ = env;
	CHECK(load(LIT("A=file\nB=file\nEMPTY=file\nNO_VALUE=file\nC=")) == 0);
	CHECK(same(env_get("A"), "env") && same(env_get("B"), "file") &&
		same(env_get("AB"), "env too"));
	CHECK(same(env_get("EMPTY"), "file") && same(env_get("NO_VALUE"), "file"));
	CHECK(env_get("C") == NULL && env_get("D") == NULL && env_get("") == NULL);
}

static void a_file_that_cannot_be_read_is_told(void)
{
	int line;

	CHECK(env_file_load("/nowhere/x", &line) == -ENOENT);
	CHECK(env_file_load("/", &line) == -EISDIR);
}

static void a_file_has_a_largest_size(void)
{
	static char text[ENV_FILE_MAX + 1];

	memset(text, '\n', sizeof(text));
	memcpy(text + ENV_FILE_MAX - 3, "A=1", 3);
	CHECK(load((struct slice){ text, ENV_FILE_MAX }) == 0);
	CHECK(same(env_get("A"), "1"));
	CHECK(load((struct slice){ text, ENV_FILE_MAX + 1 }) == -E2BIG);
}

/* --- scrubbing --- */

static bool ours(struct slice name)
{
	return str_starts(name, "SANDSTORM_");
}

static bool given(const char *var)
{
	for (char *const *v = env_list(); *v; v++)
		if (same(*v, var))
			return true;
	return false;
}

static bool all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static char token[] = "SANDSTORM_MCP_TOKEN=very-secret-indeed";
static char mine[] = "MY_SECRET=also-secret";
static char names[] = "SANDSTORM_SCRUB_ENV=SANDSTORM_SCRUB_ENV, MY_SECRET\tLAST,SANDSTORM_DOMAIN";
static char last[] = "LAST=and-this";
static char domain[] = "SANDSTORM_DOMAIN=example.org";
static char home[] = "HOME=/root";

static void secrets_are_wiped_and_kept_from_children(void)
{
	static char *const more[] = { "MCP_AUTH_TOKEN=x", "SESSION_AUTH_TOKEN=x",
		"SANDSTORM_TOKEN=x", "SANDSTORM_MCP_TOKEN_FILE=x", "MCP_AUTH_TOKEN_FILE=x",
		"SESSION_AUTH_TOKEN_FILE=x", "SANDSTORM_TOKEN_FILE=x" };
	char copy[COUNT(more)][40], *env[COUNT(more) + 3] = { token, home };

	for (size_t i = 0; i < COUNT(more); i++)
		env[i + 2] = strcpy(copy[i], more[i]);
	environ = env;
	env_scrub(NULL, ours);
	CHECK(all_zero(token, sizeof(token)));
	for (size_t i = 0; i < COUNT(more); i++)
		CHECK(all_zero(copy[i], strlen(more[i])));
	CHECK(env_list()[0] == home && env_list()[1] == NULL);
	CHECK(env_get("SANDSTORM_MCP_TOKEN") == NULL && same(env_get("HOME"), "/root"));
	CHECK(same(getenv("HOME"), "/root"));
}

static void named_variables_are_wiped_too_but_not_what_configures_us(void)
{
	char *env[] = { names, mine, home, domain, last, NULL };
	const char *more;

	environ = env;
	more = env_get("SANDSTORM_SCRUB_ENV");
	env_scrub(more, ours);
	CHECK(all_zero(mine, sizeof(mine)) && all_zero(last, sizeof(last)));
	CHECK(env_list()[0] == home && env_list()[1] == NULL);
	CHECK(same(domain, "SANDSTORM_DOMAIN=example.org"));
	CHECK(same(more, "SANDSTORM_SCRUB_ENV, MY_SECRET\tLAST,SANDSTORM_DOMAIN"));
}

static void a_word_of_the_list_is_a_whole_name(void)
{
	char *env[] = { mine, home, NULL };

	environ = env;
	env_scrub("MY_SECRETS,MY_SECRE, ,,HOMES", ours);
	CHECK(given("MY_SECRET=also-secret") && given("HOME=/root"));
}

static void children_get_of_the_file_what_is_not_ours_and_not_secret(void)
{
	char *env[] = { home, "SANDSTORM_TOOLS=host", NULL };

	environ = env;
	CHECK(load(LIT("EDITOR=ed\nHOME=/"
		       "other\nSANDSTORM_DOMAIN=x\nSANDSTORM_TOKEN=y\nMY_SECRET=z\nEMPTY=\n")) ==
		0);
	env_scrub("MY_SECRET", ours);
	CHECK(given("EDITOR=ed") && given("EMPTY=") && given("HOME=/root") &&
		given("SANDSTORM_TOOLS=host"));
	CHECK(env_list()[4] == NULL);
	CHECK(env_get("SANDSTORM_TOKEN") == NULL && env_get("MY_SECRET") == NULL);
	CHECK(same(env_get("SANDSTORM_DOMAIN"), "x"));
}

static void a_very_large_environment_is_cut_but_every_secret_is_wiped(void)
{
	static char many[CHILD_ENV_MAX + 10][32], *env[CHILD_ENV_MAX + 12];
	int n = 0;

	for (; n < CHILD_ENV_MAX + 10; n++) {
		snprintf(many[n], sizeof(many[n]), "V%d=%d", n, n);
		env[n] = many[n];
	}
	env[n] = mine;
	environ = env;
	env_scrub("MY_SECRET", ours);
	CHECK(all_zero(mine, sizeof(mine)));
	for (n = 0; env_list()[n]; n++)
		CHECK(env_list()[n] == many[n]);
	CHECK(n == CHILD_ENV_MAX);
}

#define APART(name)                                                                                \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		apart(name);                                                                       \
	}

APART(the_environment_wins_over_the_file)
APART(a_file_that_cannot_be_read_is_told)
APART(a_file_has_a_largest_size)
APART(secrets_are_wiped_and_kept_from_children)
APART(named_variables_are_wiped_too_but_not_what_configures_us)
APART(a_word_of_the_list_is_a_whole_name)
APART(children_get_of_the_file_what_is_not_ours_and_not_secret)
APART(a_very_large_environment_is_cut_but_every_secret_is_wiped)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_line_sets_a_variable),
		cmocka_unit_test(test_blanks_around_name_and_value_do_not_count),
		cmocka_unit_test(test_comments_and_empty_lines_set_nothing),
		cmocka_unit_test(test_export_is_left_out),
		cmocka_unit_test(test_one_pair_of_outer_quotes_is_left_out),
		cmocka_unit_test(test_a_value_may_hold_anything_else),
		cmocka_unit_test(test_of_two_lines_for_a_name_the_later_one_counts),
		cmocka_unit_test(test_what_is_no_assignment_is_told_by_its_line),
		cmocka_unit_test(test_there_is_a_most_of_variables_not_of_lines),
		cmocka_unit_test(test_of_each_value_one_copy_is_left),
		cmocka_unit_test(test_the_environment_wins_over_the_file),
		cmocka_unit_test(test_a_file_that_cannot_be_read_is_told),
		cmocka_unit_test(test_a_file_has_a_largest_size),
		cmocka_unit_test(test_secrets_are_wiped_and_kept_from_children),
		cmocka_unit_test(test_named_variables_are_wiped_too_but_not_what_configures_us),
		cmocka_unit_test(test_a_word_of_the_list_is_a_whole_name),
		cmocka_unit_test(test_children_get_of_the_file_what_is_not_ours_and_not_secret),
		cmocka_unit_test(test_a_very_large_environment_is_cut_but_every_secret_is_wiped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
