/*
 * Questions to name servers and what their answers say, byte by byte (RFC 1035 section 4).
 */
#include "unit.h"

#include <errno.h>

#include "base/address.h"
#include "loop/dns.h"

#define ASKED(type) "\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\4test\0\0" type "\0\1"
#define ANSWER(flags, count, type)                                                                 \
	"\x12\x34" flags "\0\1\0" count "\0\0\0\0\3www\4test\0\0" type "\0\1"
#define RECORD(name, type, data) name "\0" type "\0\1\0\0\0\x3c\0" data
#define V4(last) "\4\xc0\0\2" last
#define V6(last) "\x10\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0" last

static struct dns_found found;

static int take(struct slice question, struct slice answer)
{
	found.count = 0;
	return dns_take_answer(&found, question, answer);
}

static bool address_is(int i, const char *number)
{
	unsigned char a[16];

	return i < found.count && address_parse(slice_of(number), a) &&
	       memcmp(found.address[i], a, 16) == 0;
}

static bool question_is(const char *name, struct slice want)
{
	char mem[DNS_QUESTION_MAX];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	dns_put_question(&b, 0x1234, slice_of(name), DNS_A);
	return want.p ? !b.failed && slice_eq(buf_all(&b), want) : b.failed;
}

static void test_a_name_becomes_a_question(void **state)
{
	(void)state;
	assert_true(question_is("www.test", LIT(ASKED("\1"))));
	assert_true(question_is("www.test.", LIT(ASKED("\1"))));
	assert_true(question_is("x", LIT("\x12\x34\1\0\0\1\0\0\0\0\0\0\1x\0\0\1\0\1")));
}

static void test_what_is_no_name(void **state)
{
	char label[] = "0123456789012345678901234567890123456789012345678901234567890123";
	char name[300];
	const struct slice none = { 0 };

	(void)state;
	assert_true(question_is("", none));
	assert_true(question_is(".", none));
	assert_true(question_is("a..b", none));
	assert_true(question_is(".a", none));
	assert_true(question_is("a..", none));
	assert_true(question_is(label, none)); /* 64 letters */
	assert_false(question_is(label + 1, none));
	snprintf(name, sizeof(name), "%s.%s.%s.%s", label + 1, label + 1, label + 1, label + 3);
	assert_int_equal(strlen(name), 253); /* the longest there is */
	assert_false(question_is(name, none));
	snprintf(name, sizeof(name), "%s.%s.%s.%s", label + 1, label + 1, label + 1, label + 2);
	assert_true(question_is(name, none));
}

static void test_addresses_are_taken_behind_aliases(void **state)
{
	static const char alias[] =
		ANSWER("\x81\x80", "\3", "\1") RECORD("\xc0\x0c", "\5", "\4\1b\xc0\x10")
			RECORD("\1b\4test\0", "\1", V4("\7")) RECORD("\xc0\x0c", "\1", V4("\x08"));

	(void)state;
	assert_int_equal(take(LIT(ASKED("\1")), LIT(alias)), 0);
	assert_int_equal(found.count, 2);
	assert_true(address_is(0, "192.0.2.7") && address_is(1, "192.0.2.8"));
	assert_int_equal(take(LIT(ASKED("\x1c")), LIT(ANSWER("\x81\x80", "\1", "\x1c") RECORD(
							  "\xc0\x0c", "\x1c", V6("\1")))),
		0);
	assert_true(address_is(0, "2001:db8::1"));
}

static void test_each_question_finds_as_many_as_are_tried(void **state)
{
	char many[600] = ANSWER("\x81\x80", "\x0c", "\1");
	size_t n = sizeof(ANSWER("\x81\x80", "\x0c", "\1")) - 1;
	struct slice one = LIT(RECORD("\xc0\x0c", "\1", V4("\7")));

	(void)state;
	for (int i = 0; i < 12; i++, n += one.n)
		memcpy(many + n, one.p, one.n);
	assert_int_equal(take(LIT(ASKED("\1")), (struct slice){ many, n }), 0);
	assert_int_equal(found.count, RESOLVED_MAX);
	assert_int_equal(dns_take_answer(&found, LIT(ASKED("\1")), (struct slice){ many, n }), 0);
	assert_int_equal(found.count, 2 * RESOLVED_MAX);
}

static void test_what_else_an_answer_may_say(void **state)
{
	struct slice q = LIT(ASKED("\1"));

	(void)state;
	assert_int_equal(take(q, LIT(ANSWER("\x81\x83", "\0", "\1"))), -ENOENT);
	assert_int_equal(take(q, LIT(ANSWER("\x81\x82", "\0", "\1"))), -EAGAIN);
	assert_int_equal(take(q, LIT(ANSWER("\x81\x85", "\0", "\1"))), -EAGAIN);
	assert_int_equal(take(q, LIT(ANSWER("\x83\x80", "\0", "\1"))), -EMSGSIZE);
	assert_int_equal(take(q, LIT(ANSWER("\x81\x80", "\0", "\1"))), 0);
	assert_int_equal(found.count, 0);
	/* the case of letters may come back another */
	assert_int_equal(
		take(q, LIT("\x12\x34\x81\x83\0\1\0\0\0\0\0\0\3WWW\4tEst\0\0\1\0\1")), -ENOENT);
}

static void test_what_is_no_answer_to_the_question(void **state)
{
	struct slice q = LIT(ASKED("\1"));

	(void)state;
	assert_int_equal(take(q, q), -EBADMSG); /* a question itself */
	assert_int_equal(take(q, LIT("\x12\x35"
				     "\x81\x83\0\1\0\0\0\0\0\0\3www\4test\0\0\1\0\1")),
		-EBADMSG);
	assert_int_equal(
		take(q, LIT("\x12\x34\x81\x83\0\1\0\0\0\0\0\0\3wwx\4test\0\0\1\0\1")), -EBADMSG);
	assert_int_equal(take(q, LIT(ANSWER("\x81\x83", "\0", "\x1c"))), -EBADMSG);
	assert_int_equal(
		take(q, LIT("\x12\x34\x81\x83\0\2\0\0\0\0\0\0\3www\4test\0\0\1\0\1")), -EBADMSG);
	assert_int_equal(take(q, slice_head(LIT(ANSWER("\x81\x83", "\0", "\1")), 20)), -EBADMSG);
	assert_int_equal(take(q, (struct slice){ 0 }), -EBADMSG);
}

/* Of records that break off those before count; none is no answer. */
static void test_what_breaks_off(void **state)
{
	static const char two[] = ANSWER("\x81\x80", "\2", "\1") RECORD("\xc0\x0c", "\1", V4("\7"))
		RECORD("\xc0\x0c", "\1", V4("\x08"));
	struct slice q = LIT(ASKED("\1")), all = LIT(two);
	size_t first = all.n - 16, second = all.n;

	(void)state;
	for (size_t n = q.n; n < first; n++)
		assert_int_equal(take(q, slice_head(all, n)), -EAGAIN);
	for (size_t n = first; n < second; n++) {
		assert_int_equal(take(q, slice_head(all, n)), 0);
		assert_int_equal(found.count, 1);
	}
	assert_int_equal(take(q, all), 0);
	assert_int_equal(found.count, 2);
	/* an address of another size is none */
	assert_int_equal(
		take(q, LIT(ANSWER("\x81\x80", "\1", "\1") RECORD("\xc0\x0c", "\1", "\3\1\2\3"))),
		0);
	assert_int_equal(found.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_becomes_a_question),
		cmocka_unit_test(test_what_is_no_name),
		cmocka_unit_test(test_addresses_are_taken_behind_aliases),
		cmocka_unit_test(test_each_question_finds_as_many_as_are_tried),
		cmocka_unit_test(test_what_else_an_answer_may_say),
		cmocka_unit_test(test_what_is_no_answer_to_the_question),
		cmocka_unit_test(test_what_breaks_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
