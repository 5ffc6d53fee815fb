/*
 * What a command has said as one text: its streams in order, stripped, masked, with what a time
 * limit adds. No command runs here.
 */
#include "peer.h"

#include "host/command_text.h"

/* What the next call's command has said, and how it ended. */
static struct said {
	const char *out, *err;
	enum command_form form;
	size_t keep;
	int code;
	bool timed_out, erases;
} said;

static void said_cleanup(struct job *j)
{
	struct command *c = j->state;

	capture_close(&c->out);
	capture_close(&c->err);
}

static enum step say(struct job *j)
{
	struct command *c = job_state(j, sizeof(*c));

	assert_non_null(c);
	j->cleanup = said_cleanup;
	assert_int_equal(capture_open(&c->out, said.keep ? said.keep : 4 * KIB), 0);
	assert_int_equal(capture_open(&c->err, said.keep ? said.keep : 4 * KIB), 0);
	capture_put(&c->out, slice_of(said.out));
	capture_put(&c->err, slice_of(said.err));
	c->limit_ms = 120 * 1000;
	c->child.status = said.code << 8;
	c->child.timed_out = said.timed_out;
	c->erases = said.erases;
	return command_text(j, said.form);
}

// clang-format off
static const struct tool tools[] = {
	{ "say", "Say", "Say it", NULL, 0, say },
	{ 0 },
};
// clang-format on

static const struct tool *const groups[] = { tools, NULL };
static const struct toolset own_sets[] = { { "own", groups }, { 0 } };

static int start(void **state)
{
	struct slice bad;

	return peer_start(state) < 0 || tools_choose(own_sets, "own", false, &bad) < 0 ? -1 : 0;
}

#define says(want, ...)                                                                            \
	do {                                                                                       \
		said = (struct said){ __VA_ARGS__ };                                               \
		asked(CALL("1", "say", "{}"), OK("1", want));                                      \
	} while (0)

static void test_both_streams_stand_in_order_without_blanks_around(void **state)
{
	(void)state;
	says(TEXT_RESULT("out\\n\\nerr"), .out = "\n \tout\n", .err = "err\r\n ");
	says(TEXT_RESULT("a\\nb\\n\\nc"), .out = "a\nb\n", .err = "c\n");
	says(TEXT_RESULT("out"), .out = "out\n", .err = "");
	says(TEXT_RESULT("err"), .out = "", .err = "  err\n\n");
	says(TEXT_RESULT("err"), .out = " \n", .err = "\n  err");
	says(TEXT_RESULT(""), .out = "", .err = "");
	says(TEXT_RESULT(""), .out = " \n", .err = "\n \n");
}

static void test_a_list_keeps_the_blanks_it_begins_with(void **state)
{
	(void)state;
	says(TEXT_RESULT("  dev\\n* main"), .out = "  dev\n* main\n", .err = "",
		.form = TEXT_LINES);
	says(FAIL_RESULT("fatal: no"), .out = "", .err = "  fatal: no\n", .form = TEXT_LINES,
		.code = 128);
}

static void test_output_alone_comes_as_it_is(void **state)
{
	(void)state;
	says(TEXT_RESULT("  a\\n\\n"), .out = "  a\n\n", .err = "warning\n", .form = TEXT_OUTPUT);
	says(TEXT_RESULT(""), .out = "", .err = "warning\n", .form = TEXT_OUTPUT);
	says(FAIL_RESULT("a\\n\\nfatal: no"), .out = "  a\n", .err = "fatal: no\n",
		.form = TEXT_OUTPUT, .code = 1);
}

static void test_a_time_limit_stands_in_a_line_of_its_own(void **state)
{
	(void)state;
	says(FAIL_RESULT("timeout after 120s"), .out = "", .err = "", .timed_out = true);
	says(FAIL_RESULT("out\\ntimeout after 120s"), .out = "out", .err = "", .timed_out = true);
	says(FAIL_RESULT("out\\n\\nerr\\ntimeout after 120s"), .out = "out\n", .err = "err",
		.timed_out = true);
	says(FAIL_RESULT("err\\ntimeout after 120s"), .out = "", .err = "err\n", .timed_out = true,
		.form = TEXT_OUTPUT);
}

static void test_what_was_left_out_is_told_and_hides_no_secret(void **state)
{
	(void)state;
	says(TEXT_RESULT("0123\\n[... 2 bytes omitted of 10 ...]\\n6789"), .out = "0123456789",
		.err = "", .keep = 8);
	says(TEXT_RESULT("a https://***\\n[... 3 bytes omitted of 35 ...]\\n***@h/ and more"),
		.out = "a https://user:secret@h/ and more\n ", .err = "", .keep = 32);
	says(TEXT_RESULT("a\\n\\n0123\\n[... 3 bytes omitted of 11 ...]\\n789x"), .out = "a\n",
		.err = "0123456789x", .keep = 8);
}

static void test_secrets_of_both_streams_are_masked(void **state)
{
	(void)state;
	says(TEXT_RESULT("https://***@h/\\n\\nhttps://***@i/ x"), .out = "https://u:p@h/\n",
		.err = "https://t@i/ x");
	says(TEXT_RESULT("https://***@h/\\n"), .out = "https://u:p@h/\n", .err = "",
		.form = TEXT_OUTPUT);
	says(TEXT_RESULT("https://u:p"), .out = "https://u:p", .err = "");
}

static void test_what_was_redrawn_is_shown_as_it_was_in_the_end(void **state)
{
	(void)state;
	says(TEXT_RESULT("Cloning\\n100%, done.\\nlast"), .out = "",
		.err = "Cloning\n1%\r50%\r100%, done.\nlast\n", .erases = true);
	says(TEXT_RESULT("out\\r1\\n\\nerr"), .out = "out\r1\n", .err = "no\rerr\r\n",
		.erases = true);
	says(TEXT_RESULT("1%\\r2%"), .out = "", .err = "1%\r2%\n");
	says(TEXT_RESULT("b https://***@h/"), .out = "", .err = "https://u:q@\rb https://u:p@h/",
		.erases = true);
	says(TEXT_RESULT(""), .out = "", .err = "\r\r\n", .erases = true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_streams_stand_in_order_without_blanks_around),
		TEST(test_a_list_keeps_the_blanks_it_begins_with),
		TEST(test_output_alone_comes_as_it_is),
		TEST(test_a_time_limit_stands_in_a_line_of_its_own),
		TEST(test_what_was_left_out_is_told_and_hides_no_secret),
		TEST(test_secrets_of_both_streams_are_masked),
		TEST(test_what_was_redrawn_is_shown_as_it_was_in_the_end),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
