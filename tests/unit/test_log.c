#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/log.h"
#include "json/json.h"

/* Standard error is a pipe during a test; what was logged is read from its other end. */
static int real_stderr, from_log = -1;
static char taken[65536];

static int redirect(void **state)
{
	int fd[2];

	(void)state;
	if (pipe(fd) < 0)
		return -1;
	real_stderr = dup(STDERR_FILENO);
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	from_log = fd[0];
	log_setup(LOG_INFO, false);
	return 0;
}

static int restore(void **state)
{
	(void)state;
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	if (from_log >= 0)
		close(from_log);
	from_log = -1;
	return 0;
}

/* All that stands in the pipe now. */
static struct slice take(void)
{
	ssize_t n;

	fcntl(from_log, F_SETFL, O_NONBLOCK);
	n = read(from_log, taken, sizeof(taken));
	return (struct slice){ taken, n > 0 ? (size_t)n : 0 };
}

/* The line without its time, which is checked for its shape alone. */
static struct slice take_timeless(void)
{
	struct slice s = take();

	assert_true(s.n > 21);
	assert_int_equal(s.p[10], 'T');
	assert_int_equal(s.p[19], 'Z');
	assert_int_equal(s.p[20], ' ');
	return slice_from(s, 21);
}

static struct log_field text(const char *key, struct slice s)
{
	return (struct log_field){ .key = key, .text = s };
}

static struct log_field number(const char *key, int64_t v)
{
	return (struct log_field){ .key = key, .number = v };
}

static void a_line_has_time_level_message_and_fields(void **state)
{
	const struct log_field fields[] = { text("tool", LIT("file_read")), number("ms", -12),
		text("empty", LIT("")), { 0 } };

	(void)state;
	log_event(LOG_WARN, "call ended", fields);
	assert_slice(take_timeless(), "warn call ended tool=file_read ms=-12 empty=\"\"\n");
}

static void fields_are_optional(void **state)
{
	(void)state;
	log_event(LOG_INFO, "ready", NULL);
	assert_slice(take_timeless(), "info ready\n");
}

static void levels_above_the_chosen_one_are_silent(void **state)
{
	(void)state;
	log_setup(LOG_WARN, false);
	log_event(LOG_INFO, "no", NULL);
	log_event(LOG_DEBUG, "no", NULL);
	assert_int_equal(take().n, 0);
	log_event(LOG_ERROR, "yes", NULL);
	assert_slice(take_timeless(), "error yes\n");
}

static void values_cannot_forge_lines_fields_or_terminal_codes(void **state)
{
	const struct log_field fields[] = {
		text("a", LIT("x y=z\n2026 error \"fake\" \\")),
		text("b", LIT("\033[2J\x7f\0\t\xc2\x9b"
			      "31m")),
		text("c", LIT("\xff gr\u00fcn")),
		{ 0 },
	};

	(void)state;
	log_event(LOG_INFO, "one\nline", fields);
	assert_slice(take_timeless(),
		"info one\\nline a=\"x y=z\\n2026 error \\\"fake\\\" \\\\\""
		" b=\"\\u001b[2J\\u007f\\u0000\\u0009\\u009b31m\" c=\"\ufffd gr\u00fcn\"\n");
}

static struct slice json_text(struct json *d, const char *key)
{
	struct slice s = { NULL, 0 };

	assert_int_equal(json_str(d, json_get(d, 0, key), &s), 0);
	return s;
}

static void the_JSON_form_is_one_JSON_object_a_line(void **state)
{
	const struct log_field fields[] = { text("path", LIT("/w/\"a\"\n\\\x01\xfe")),
		number("n", 7), { 0 } };
	struct buf mem = unit_buf(65536);
	struct slice line;
	struct json d;
	int64_t n;

	(void)state;
	log_setup(LOG_INFO, true);
	log_event(LOG_ERROR, "it failed", fields);
	line = take();
	assert_int_equal(line.p[line.n - 1], '\n');
	assert_int_equal(json_parse(&d, taken, line.n, &mem), 0);
	assert_int_equal(json_text(&d, "ts").n, 20);
	assert_slice(json_text(&d, "level"), "error");
	assert_slice(json_text(&d, "msg"), "it failed");
	assert_slice(json_text(&d, "path"), "/w/\"a\"\n\\\x01\ufffd");
	assert_int_equal(json_int(&d, json_get(&d, 0, "n"), &n), 0);
	assert_int_equal(n, 7);
	buf_release(&mem);
}

static void a_line_too_long_is_cut_and_stays_valid(void **state)
{
	struct buf mem = unit_buf(65536), big = unit_buf(65536);
	struct log_field fields[] = { number("first", 1), { 0 }, number("last", 2), { 0 } };
	struct slice line;
	struct json d;

	(void)state;
	while (big.len < 20000)
		buf_puts(&big, "\u4f60\n");
	fields[1] = text("big", buf_all(&big));
	log_setup(LOG_INFO, true);
	log_event(LOG_INFO, "m", fields);
	line = take();
	assert_true(line.n <= 4096 && line.n > 1500);
	assert_int_equal(line.p[line.n - 1], '\n');
	assert_int_equal(json_parse(&d, taken, line.n, &mem), 0);
	assert_true(json_get(&d, 0, "first") > 0);
	assert_true(json_get(&d, 0, "last") > 0);
	assert_true(json_text(&d, "big").n > 1000);
	assert_memory_equal(json_text(&d, "big").p + json_text(&d, "big").n - 3, "...", 3);
	buf_release(&mem);
	buf_release(&big);
}

static void any_number_of_fields_stays_one_valid_line(void **state)
{
	struct buf mem = unit_buf(65536);
	struct log_field fields[600] = { { 0 } };
	struct slice line;
	struct json d;
	size_t i;

	(void)state;
	for (i = 0; i + 1 < COUNT(fields); i++)
		fields[i] = i % 2 ? number("number", 123456) : text("text", LIT("some text"));
	log_setup(LOG_INFO, true);
	log_event(LOG_INFO, "m", fields);
	line = take();
	assert_true(line.n <= 4096);
	assert_int_equal(json_parse(&d, taken, line.n, &mem), 0);
	buf_release(&mem);
}

static void a_full_pipe_never_blocks_and_the_loss_is_told(void **state)
{
	const struct log_field fields[] = {
		text("fill", LIT("0123456789012345678901234567890123456789")), { 0 }
	};
	struct slice line;
	int i;

	(void)state;
	fcntl(STDERR_FILENO, F_SETPIPE_SZ, 4096);
	alarm(20);
	for (i = 0; i < 5000; i++)
		log_event(LOG_INFO, "again", fields);
	alarm(0);
	while (take().n > 0)
		;
	log_event(LOG_INFO, "after", NULL);
	line = take_timeless();
	assert_memory_equal(line.p, "info after dropped=4", 20);
	log_event(LOG_INFO, "then", NULL);
	assert_slice(take_timeless(), "info then\n");
}

static void a_reader_that_went_away_does_no_harm(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_DFL);
	close(from_log);
	from_log = -1;
	log_event(LOG_INFO, "into the void", NULL);
}

static void a_closed_standard_error_does_no_harm(void **state)
{
	(void)state;
	close(STDERR_FILENO);
	log_event(LOG_INFO, "into the void", NULL);
}

static void errno_is_left_alone(void **state)
{
	(void)state;
	close(STDERR_FILENO);
	errno = 4711;
	log_event(LOG_INFO, "x", NULL);
	assert_int_equal(errno, 4711);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, redirect, restore)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(a_line_has_time_level_message_and_fields),
		LOG_TEST(fields_are_optional),
		LOG_TEST(levels_above_the_chosen_one_are_silent),
		LOG_TEST(values_cannot_forge_lines_fields_or_terminal_codes),
		LOG_TEST(the_JSON_form_is_one_JSON_object_a_line),
		LOG_TEST(a_line_too_long_is_cut_and_stays_valid),
		LOG_TEST(any_number_of_fields_stays_one_valid_line),
		LOG_TEST(a_full_pipe_never_blocks_and_the_loss_is_told),
		LOG_TEST(a_reader_that_went_away_does_no_harm),
		LOG_TEST(a_closed_standard_error_does_no_harm),
		LOG_TEST(errno_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
