/*
 * What is written of sessions comes back, and whatever else stands in the file does no harm.
 */
#include "unit.h"

#include "host/session_log.h"

enum { MINUTE = 60 * 1000 };

#define T0 INT64_C(1796000000000)
#define ID_A "11111111-2222-4333-8444-555555555555"
#define ID_B "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
#define CREATE_A                                                                                   \
	"{\"op\":\"create\",\"id\":\"" ID_A                                                        \
	"\",\"type\":\"work\",\"created\":1796000000000,\"end\":1796001800400}\n"

static struct session_table table, other;
static struct session_log reader;

static int empty(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	memset(&other, 0, sizeof(other));
	session_log_init(&reader, &table);
	return 0;
}

static void feed(const char *text)
{
	session_log_feed(&reader, slice_of(text));
}

static int rows(struct session_table *t)
{
	struct session *s = NULL;
	int n = 0;

	while ((s = session_next(t, s)))
		n++;
	return n;
}

static struct session *find(const char *id)
{
	return session_find(&table, slice_of(id));
}

static void test_the_form_of_the_lines(void **state)
{
	struct session *s = session_add(&other, LIT(ID_A), LIT("a\"\n"), T0 + 400, 30);
	struct buf b = unit_buf(4 * KIB);

	(void)state;
	session_put_create(&b, s);
	assert_slice(buf_all(&b), "{\"op\":\"create\",\"id\":\"" ID_A "\",\"type\":\"a\\\"\\n\","
				  "\"created\":1796000000000,\"end\":1796001800400}\n");
	buf_cut(&b, 0);
	session_put_extend(&b, s);
	assert_slice(
		buf_all(&b), "{\"op\":\"extend\",\"id\":\"" ID_A "\",\"end\":1796001800400}\n");
	buf_cut(&b, 0);
	assert_true(session_clean(s, T0 + 5));
	session_put_clean(&b, s);
	assert_slice(buf_all(&b), "{\"op\":\"clean\",\"id\":\"" ID_A "\",\"at\":1796000000005}\n");
	buf_release(&b);
}

static void test_what_was_written_comes_back(void **state)
{
	struct session *a = session_add(&other, LIT(ID_A), LIT("work \"\xc3\xa4\" \x01"), T0, 30);
	struct session *b = session_add(&other, LIT(ID_B), LIT("x"), T0 + MINUTE, 60), *s;
	struct buf text = unit_buf(4 * KIB);

	(void)state;
	session_clean(b, T0 + 2 * MINUTE);
	session_put_all(&text, a);
	session_put_all(&text, b);
	session_log_feed(&reader, buf_all(&text));
	assert_int_equal(reader.bad, 0);
	assert_int_equal(rows(&table), 2);
	s = find(ID_A);
	assert_int_equal(s->state, SESSION_READY);
	assert_slice(((struct slice){ s->type, s->type_len }), "work \"\xc3\xa4\" \x01");
	assert_int_equal(s->created, T0);
	assert_int_equal(s->end, T0 + 30 * MINUTE);
	s = find(ID_B);
	assert_int_equal(s->state, SESSION_CLEANED);
	assert_int_equal(s->cleaned, T0 + 2 * MINUTE);
	buf_release(&text);
}

static void test_the_longest_line_fits(void **state)
{
	char type[SESSION_TYPE_BYTES];
	struct session *s;
	struct buf text = unit_buf(4 * KIB);

	(void)state;
	memset(type, 1, sizeof(type));
	s = session_add(&other, LIT(ID_A), (struct slice){ type, sizeof(type) }, T0, 30);
	session_put_all(&text, s);
	session_log_feed(&reader, buf_all(&text));
	assert_int_equal(reader.bad, 0);
	assert_int_equal(find(ID_A)->type_len, SESSION_TYPE_BYTES);
	buf_release(&text);
}

static void test_extensions_and_ends_follow_each_other(void **state)
{
	(void)state;
	feed(CREATE_A "{\"op\":\"extend\",\"id\":\"" ID_A "\",\"end\":1796003000000}\n");
	assert_int_equal(find(ID_A)->end, INT64_C(1796003000000));
	feed("{\"op\":\"clean\",\"id\":\"" ID_A "\",\"at\":1796000009000}\n");
	assert_int_equal(find(ID_A)->state, SESSION_CLEANED);
	assert_int_equal(reader.bad, 0);
}

static void test_nothing_is_there_twice_and_nothing_rises_again(void **state)
{
	(void)state;
	feed(CREATE_A CREATE_A);
	assert_int_equal(rows(&table), 1);
	feed("{\"op\":\"clean\",\"id\":\"" ID_A "\",\"at\":1796000009000}\n" CREATE_A
	     "{\"op\":\"extend\",\"id\":\"" ID_A "\",\"end\":1796003000000}\n"
	     "{\"op\":\"clean\",\"id\":\"" ID_A "\",\"at\":1796000019000}\n");
	assert_int_equal(rows(&table), 1);
	assert_int_equal(find(ID_A)->state, SESSION_CLEANED);
	assert_int_equal(find(ID_A)->cleaned, INT64_C(1796000009000));
}

/* A kill at any point of a write: every beginning of a file, then what a later start adds. */
static void test_a_torn_line_is_as_if_never_written(void **state)
{
	static const char text[] =
		CREATE_A "{\"op\":\"extend\",\"id\":\"" ID_A "\",\"end\":1796003000000}\n";
	size_t first = sizeof(CREATE_A) - 1;

	for (size_t n = 0; n < sizeof(text); n++) {
		empty(state);
		session_log_feed(&reader, (struct slice){ text, n });
		assert_int_equal(rows(&table), n >= first);
		if (n >= first)
			assert_true(find(ID_A)->end == (n == sizeof(text) - 1
								       ? INT64_C(1796003000000)
								       : INT64_C(1796001800400)));
	}
}

static void test_other_lines_are_passed_over(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"{}",
		"[]",
		"null",
		"{\"op\":\"create\"}",
		"{\"op\":\"create\",\"id\":\"../../etc\",\"type\":\"x\",\"created\":1,\"end\":2}",
		"{\"op\":\"create\",\"id\":\"" ID_B "\",\"type\":1,\"created\":1,\"end\":2}",
		"{\"op\":\"create\",\"id\":\"" ID_B "\",\"type\":\"x\",\"created\":-9e9,\"end\":2}",
		"{\"op\":\"create\",\"id\":\"" ID_B "\",\"type\":\"x\",\"created\":1,\"end\":2.5}",
		"{\"op\":\"create\",\"id\":\"" ID_B
		"\",\"type\":\"x\",\"created\":1,\"end\":9223372036854775807}",
		"{\"op\":\"create\",\"id\":\"" ID_B "\",\"id\":\"" ID_B
		"\",\"type\":\"x\",\"created\":1,\"end\":2}",
		"{\"op\":\"destroy\",\"id\":\"" ID_A "\",\"at\":1}",
		"{\"op\":\"clean\",\"id\":\"" ID_B "\",\"at\":1}",
		"{\"op\":\"clean\",\"id\":\"" ID_A "\"}",
		"{\"op\":\"extend\",\"id\":\"" ID_A "\",\"end\":\"1\"}",
	};

	(void)state;
	feed(CREATE_A);
	for (size_t i = 0; i < COUNT(bad); i++) {
		feed(bad[i]);
		feed("\n");
		assert_int_equal(reader.bad, i + 1);
	}
	assert_int_equal(rows(&table), 1);
	assert_int_equal(find(ID_A)->state, SESSION_READY);
	assert_int_equal(find(ID_A)->end, INT64_C(1796001800400));
}

static void test_a_line_too_long_is_passed_over_in_bounded_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++)
		feed("{\"op\":\"create\",\"id\":");
	feed("\n" CREATE_A);
	assert_int_equal(reader.bad, 1);
	assert_non_null(find(ID_A));
}

static void test_more_sessions_than_rows_lose_the_oldest_that_are_over(void **state)
{
	char line[512];

	(void)state;
	for (int i = 0; i < SESSIONS_MAX + 10; i++) {
		snprintf(line, sizeof(line),
			"{\"op\":\"create\",\"id\":\"00000000-0000-4000-8000-%012x\",\"type\":"
			"\"x\",\"created\":%d,\"end\":%d}\n",
			i, i, i + MINUTE);
		feed(line);
	}
	assert_int_equal(rows(&table), SESSIONS_MAX);
	assert_int_equal(reader.bad, 10);
}

static void test_nothing_comes_from_the_future_or_lives_too_long(void **state)
{
	struct session *s;

	(void)state;
	feed(CREATE_A);
	s = find(ID_A);
	session_settle(s, INT64_C(5000000)); /* a router before it has asked for the time */
	assert_int_equal(s->created, 5000000);
	assert_int_equal(s->end, 5000000 + 30 * MINUTE + 400);
	s->end = s->created + 1000 * MINUTE;
	session_settle(s, s->created + MINUTE);
	assert_int_equal(s->end, s->created + 120 * MINUTE);
	session_clean(s, s->created + 10 * MINUTE);
	session_settle(s, s->created + MINUTE);
	assert_int_equal(s->cleaned, s->created + MINUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_form_of_the_lines, empty),
		cmocka_unit_test_setup(test_what_was_written_comes_back, empty),
		cmocka_unit_test_setup(test_the_longest_line_fits, empty),
		cmocka_unit_test_setup(test_extensions_and_ends_follow_each_other, empty),
		cmocka_unit_test_setup(test_nothing_is_there_twice_and_nothing_rises_again, empty),
		cmocka_unit_test_setup(test_a_torn_line_is_as_if_never_written, empty),
		cmocka_unit_test_setup(test_other_lines_are_passed_over, empty),
		cmocka_unit_test_setup(
			test_a_line_too_long_is_passed_over_in_bounded_memory, empty),
		cmocka_unit_test_setup(
			test_more_sessions_than_rows_lose_the_oldest_that_are_over, empty),
		cmocka_unit_test_setup(test_nothing_comes_from_the_future_or_lives_too_long, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
