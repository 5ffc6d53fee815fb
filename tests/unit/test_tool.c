/*
 * Which tools there are by a list of words, and how their rows are told to a client.
 */
#include "peer.h"

#include <errno.h>

static const struct arg path_args[] = {
	{ "path", ARG_STR, 0, "Where", ARG_DEFAULT_ROOT },
	{ 0 },
};

static enum step nothing(struct job *j)
{
	return tool_text(j, LIT(""));
}

// clang-format off
static const struct tool reading[] = {
	{ "file_read", "Read", "Read a file", path_args, TOOL_READS | TOOL_IDEMPOTENT, nothing },
	{ "file_list", "List", "List files", path_args, TOOL_READS, nothing },
	{ 0 },
};
static const struct tool writing[] = {
	{ "file_write", "Write", "Write a file", path_args, TOOL_DESTROYS, nothing },
	{ 0 },
};
static const struct tool far[] = {
	{ "ask", "Ask", "Ask somebody", NULL, TOOL_READS | TOOL_OPEN, nothing },
	{ "tell", "Tell", "Tell somebody", NULL, TOOL_OPEN, nothing },
	{ 0 },
};
// clang-format on

static const struct tool *const host_groups[] = { reading, writing, NULL };
static const struct tool *const extra_groups[] = { far, NULL };
static const struct toolset sets[] = { { "host", host_groups }, { "extra", extra_groups }, { 0 } };

/* The names of the tools that a list chooses, or "bad: " and the word that it is refused for. */
static const char *chosen_by(const char *list, bool read_only)
{
	static char names[200];
	struct slice bad = { 0 };
	struct buf b;

	buf_over(&b, names, sizeof(names));
	if (tools_choose(sets, list, read_only, &bad) == -EINVAL)
		buf_printf(&b, "bad: %.*s", SLICE(bad));
	else
		for (const struct tool *t = tool_next(NULL); t; t = tool_next(t))
			buf_printf(&b, "%s ", t->name);
	buf_putc(&b, '\0');
	return names;
}

#define chooses(list, names) assert_string_equal(chosen_by(list, false), names)

static void test_a_set_stands_for_its_tools_in_the_order_of_the_table(void **state)
{
	(void)state;
	chooses("host", "file_read file_list file_write ");
	chooses("extra,host", "file_read file_list file_write ask tell ");
}

static void test_single_tools_can_be_named_in_any_order_and_twice(void **state)
{
	(void)state;
	chooses("tell,file_read", "file_read tell ");
	chooses("file_read,file_read,host", "file_read file_list file_write ");
}

static void test_a_minus_takes_a_tool_or_a_set_away(void **state)
{
	(void)state;
	chooses("host,-file_write", "file_read file_list ");
	chooses("host,extra,-host", "ask tell ");
	chooses("host,-host", "");
	chooses("-file_write", "");
}

static void test_of_two_words_for_a_tool_the_later_one_decides(void **state)
{
	(void)state;
	chooses("-file_write,host", "file_read file_list file_write ");
	chooses("host,-host,file_list", "file_list ");
	chooses("host,-file_read,file_read", "file_read file_list file_write ");
}

static void test_blanks_and_empty_words_do_not_matter(void **state)
{
	(void)state;
	chooses(" host , -file_read,, ", "file_list file_write ");
	chooses("", "");
	chooses(" ,", "");
}

static void test_a_word_that_names_nothing_is_told(void **state)
{
	(void)state;
	chooses("host,sandbox", "bad: sandbox");
	chooses("Host", "bad: Host");
	chooses("host,-nothing", "bad: -nothing");
	chooses("host,-", "bad: -");
	chooses("host,file_read file_list", "bad: file_read file_list");
	chooses("host,--file_read", "bad: --file_read");
}

static void test_a_bad_list_changes_nothing(void **state)
{
	(void)state;
	chooses("extra", "ask tell ");
	chooses("nothing", "bad: nothing");
	assert_non_null(tool_find(LIT("ask")));
}

static void test_read_only_leaves_the_tools_that_change_nothing(void **state)
{
	(void)state;
	assert_string_equal(chosen_by("host,extra", true), "file_read file_list ask ");
	assert_string_equal(chosen_by("file_write", true), "");
	assert_null(tool_find(LIT("file_write")));
}

static void test_a_tool_is_found_by_its_exact_name_while_it_is_served(void **state)
{
	(void)state;
	chooses("host,-file_list", "file_read file_write ");
	assert_ptr_equal(tool_find(LIT("file_write")), &writing[0]);
	assert_null(tool_find(LIT("file_list")));
	assert_null(tool_find(LIT("File_write")));
	assert_null(tool_find(LIT("file_write\0")));
	assert_null(tool_find(LIT("")));
}

/* --- listing --- */

static const char *listing(void)
{
	static char text[8 * KIB];
	struct buf b;
	struct jw w;

	buf_over(&b, text, sizeof(text) - 1);
	jw_init(&w, &b);
	tools_put(&w, NULL);
	assert_false(b.failed);
	text[b.len] = '\0';
	return text;
}

static int choose_peer(void **state)
{
	struct slice bad;

	return peer_new(state) || tools_choose(peer_sets, "show,echo,wait", false, &bad);
}

#define HINTS(title, reads, destroys, idempotent, open)                                            \
	"\"annotations\":{\"title\":\"" title "\",\"readOnlyHint\":" reads                         \
	",\"destructiveHint\":" destroys ",\"idempotentHint\":" idempotent                         \
	",\"openWorldHint\":" open "}"
#define NULLABLE(type) "\"anyOf\":[{\"type\":\"" type "\"},{\"type\":\"null\"}],\"default\":null"

#define ECHO_ROW                                                                                   \
	"{\"name\":\"echo\",\"title\":\"Echo\",\"description\":\"Say it "                          \
	"again\",\"inputSchema\":{\"type\":\"object\","                                            \
	"\"properties\":{\"text\":{\"type\":\"string\",\"description\":\"What to "                 \
	"say\"}},\"required\":[\"text\"],"                                                         \
	"\"additionalProperties\":false}"
#define SHOW_ROW                                                                                   \
	"{\"name\":\"show\",\"title\":\"Show\",\"description\":\"Show "                            \
	"arguments\",\"inputSchema\":{\"type\":\"object\","                                        \
	"\"properties\":{\"s\":{" NULLABLE("string") ",\"description\":\"A "                       \
						     "string\"},\"n\":{" NULLABLE(                 \
							     "integer") ",\"description\":\"An "   \
									"integer\"},\"b\":{"       \
									"\"type\":\"boolean\","    \
									"\"default\":false,"       \
									"\"description\":\"A "     \
									"truth\"},"                \
									"\"t\":{\"type\":"         \
									"\"number\",\"default\":"  \
									"30,\"description\":\"A "  \
									"time\"}},"                \
									"\"additionalProperties\"" \
									":false}"
#define WAIT_ROW                                                                                   \
	"{\"name\":\"wait\",\"title\":\"Wait\",\"description\":\"Wait\",\"inputSchema\":{"         \
	"\"type\":\"object\","                                                                     \
	"\"properties\":{},\"additionalProperties\":false}"
#define OUTPUT_SCHEMA                                                                              \
	"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"result\":{\"type\":\"string\"}}," \
	"\"required\":[\"result\"]}"

static void test_a_row_gives_its_schema(void **state)
{
	(void)state;
	assert_string_equal(listing(),
		"[" ECHO_ROW
		"," HINTS("Echo", "true", "false", "true", "false") "}," SHOW_ROW "," HINTS(
			"Show", "true", "false", "false", "false") "}," WAIT_ROW "," HINTS("Wait",
			"false", "false", "false", "false") "}]");
}

static void test_structured_results_are_told_in_each_row(void **state)
{
	(void)state;
	tools_setup("/", true);
	assert_string_equal(listing(),
		"[" ECHO_ROW "," OUTPUT_SCHEMA "," HINTS("Echo", "true", "false", "true",
			"false") "}," SHOW_ROW "," OUTPUT_SCHEMA "," HINTS("Show", "true", "false",
			"false", "false") "}," WAIT_ROW "," OUTPUT_SCHEMA "," HINTS("Wait", "false",
			"false", "false", "false") "}]");
}

static void test_all_four_hints_are_told_of_each_tool(void **state)
{
	(void)state;
	chosen_by("host,extra", false);
	assert_non_null(strstr(listing(), HINTS("Read", "true", "false", "true", "false")));
	assert_non_null(strstr(listing(), HINTS("List", "true", "false", "false", "false")));
	assert_non_null(strstr(listing(), HINTS("Write", "false", "true", "false", "false")));
	assert_non_null(strstr(listing(), HINTS("Ask", "true", "false", "false", "true")));
	assert_non_null(strstr(listing(), HINTS("Tell", "false", "false", "false", "true")));
}

static void test_a_default_may_be_the_root_whatever_its_name(void **state)
{
	(void)state;
	chosen_by("file_read", false);
	tools_setup("/home/a \"dev\"", false);
	assert_non_null(strstr(listing(),
		"\"path\":{\"type\":\"string\",\"default\":\"/home/a \\\"dev\\\"\",\"description\":"
		"\"Where\"}"));
}

static void test_the_few_words_an_argument_takes_are_an_enum(void **state)
{
	struct slice bad;

	(void)state;
	assert_int_equal(tools_choose(peer_sets, "pick", false, &bad), 0);
	assert_non_null(
		strstr(listing(), "\"colour\":{\"anyOf\":[{\"type\":\"string\",\"enum\":[\"red\","
				  "\"green\"]},{\"type\":"
				  "\"null\"}],\"default\":null,\"description\":\"Which\"}"));
}

static void test_the_schema_of_a_lenient_tool(void **state)
{
	struct slice bad;

	(void)state;
	assert_int_equal(tools_choose(peer_sets, "gentle", false, &bad), 0);
	assert_string_equal(listing(),
		"[{\"name\":\"gentle\",\"title\":\"Gentle\",\"description\":\"Take much\","
		"\"inputSchema\":{\"type\":\"object\",\"properties\":{"
		"\"words\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
		"\"description\":\"Words\"},"
		"\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,\"default\":1,"
		"\"description\":\"A count\"},"
		"\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4,"
		"\"description\":\"A name\"},"
		"\"secs\":{\"type\":\"number\",\"minimum\":0,\"maximum\":2,"
		"\"description\":\"A time\"}},\"required\":[\"words\"]},"
		"\"outputSchema\":{\"type\":\"object\"},"
		"\"annotations\":{\"title\":\"Gentle\",\"readOnlyHint\":true,"
		"\"openWorldHint\":false}}]");
}

static void test_a_tool_that_lists_says_so_in_its_output_schema(void **state)
{
	struct slice bad;

	(void)state;
	assert_int_equal(tools_choose(peer_sets, "rows", false, &bad), 0);
	assert_non_null(strstr(listing(),
		"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"result\":{\"type\":"
		"\"array\"}},\"required\":[\"result\"]},\"annotations\":{\"title\":\"Rows\","
		"\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":false,"
		"\"openWorldHint\":false}"));
}

static void test_it_is_known_of_which_sets_tools_are_served(void **state)
{
	(void)state;
	chosen_by("ask", false);
	assert_true(tools_include(&sets[1]));
	assert_false(tools_include(&sets[0]));
	chosen_by("host,extra,-ask,-tell", false);
	assert_false(tools_include(&sets[1]));
	assert_true(tools_include(&sets[0]));
}

static void test_no_tools_are_an_empty_list(void **state)
{
	(void)state;
	chosen_by("", false);
	assert_string_equal(listing(), "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_set_stands_for_its_tools_in_the_order_of_the_table),
		TEST(test_single_tools_can_be_named_in_any_order_and_twice),
		TEST(test_a_minus_takes_a_tool_or_a_set_away),
		TEST(test_of_two_words_for_a_tool_the_later_one_decides),
		TEST(test_blanks_and_empty_words_do_not_matter),
		TEST(test_a_word_that_names_nothing_is_told),
		TEST(test_a_bad_list_changes_nothing),
		TEST(test_read_only_leaves_the_tools_that_change_nothing),
		TEST(test_a_tool_is_found_by_its_exact_name_while_it_is_served),
		cmocka_unit_test_setup(test_a_row_gives_its_schema, choose_peer),
		cmocka_unit_test_setup(test_structured_results_are_told_in_each_row, choose_peer),
		TEST(test_all_four_hints_are_told_of_each_tool),
		TEST(test_a_default_may_be_the_root_whatever_its_name),
		TEST(test_the_few_words_an_argument_takes_are_an_enum),
		TEST(test_no_tools_are_an_empty_list),
		TEST(test_the_schema_of_a_lenient_tool),
		TEST(test_a_tool_that_lists_says_so_in_its_output_schema),
		TEST(test_it_is_known_of_which_sets_tools_are_served),
	};

	return cmocka_run_group_tests(tests, peer_start, NULL);
}
