/*
 * PEM: blocks in any text, broken ones refused.
 */
#include "tls_data.h"

#include <errno.h>

static struct buf der;

static int start(void **state)
{
	(void)state;
	der = unit_buf(CA_FILE_MAX);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	buf_release(&der);
	return 0;
}

/* The result for the first block of text, whose bytes are in der. */
static int first(const char *text)
{
	struct slice s = slice_of(text);

	buf_reset(&der, true);
	return pem_next(&s, "X", &der, NULL);
}

#define BLOCK(lines) "-----BEGIN X-----\n" lines "-----END X-----\n"

static void test_a_block_is_decoded(void **state)
{
	(void)state;
	assert_int_equal(first(BLOCK("AQID\n")), 1);
	assert_slice(buf_all(&der), "\1\2\3");
	assert_int_equal(first(BLOCK("AQ==\n")), 1);
	assert_slice(buf_all(&der), "\1");
}

static void test_lines_may_have_any_length(void **state)
{
	(void)state;
	assert_int_equal(first(BLOCK("A\nQ\nIDB\n\nAUG\n")), 1);
	assert_slice(buf_all(&der), "\1\2\3\4\5\6");
}

static void test_lines_may_end_with_cr_lf_and_blanks(void **state)
{
	(void)state;
	assert_int_equal(first("-----BEGIN X-----\r\nAQID \t\r\n-----END X----- \r\n"), 1);
	assert_slice(buf_all(&der), "\1\2\3");
	assert_int_equal(first("-----BEGIN X-----\r\nAQID\r\n-----END X-----"), 1);
	assert_slice(buf_all(&der), "\1\2\3");
}

static void test_blocks_come_one_after_another_with_text_between(void **state)
{
	struct slice text = LIT("subject=CN = a\n" BLOCK("AQ==\n") "\n# second\n"
								   "-----BEGIN Y-----\n??\n"
								   "-----END Y-----\n" BLOCK(
									   "Ag==\n") "end"),
		     block;

	(void)state;
	buf_reset(&der, true);
	assert_int_equal(pem_next(&text, "X", &der, &block), 1);
	assert_slice(block, BLOCK("AQ==\n"));
	assert_int_equal(pem_next(&text, "X", &der, &block), 1);
	assert_slice(block, BLOCK("Ag==\n"));
	assert_slice(buf_all(&der), "\1\2");
	assert_int_equal(pem_next(&text, "X", &der, &block), 0);
	assert_int_equal(text.n, 0);
	assert_int_equal(pem_next(&text, "X", &der, NULL), 0);
}

static void test_without_a_block_there_is_none(void **state)
{
	static const char *const texts[] = { "", "\n", "text", "-----BEGIN X----\nAQID\n",
		"-----BEGIN  X-----\nAQID\n", "-----BEGIN XX-----\nAQID\n", "-----END X-----\n",
		"a-----BEGIN X-----\nAQID\n-----END X-----\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(first(texts[i]), 0);
}

static void test_broken_blocks_are_refused(void **state)
{
	static const char *const texts[] = {
		BLOCK(""),                     /* empty */
		BLOCK("AQI\n"),                /* cut */
		BLOCK("AQID\nA\n"),            /* cut */
		BLOCK("AQ==\nAQ==\n"),         /* padding inside */
		BLOCK("AQ=A\n"),               /* no digit behind it */
		BLOCK("AR==\n"),               /* bits that no byte has */
		BLOCK("A?ID\n"),               /* no digit */
		BLOCK("AQ ID\n"),              /* a blank inside */
		BLOCK("AQ_D\n"),               /* the other alphabet */
		BLOCK("Proc-Type: 4\nAQID\n"), /* an encrypted key's fields */
		"-----BEGIN X-----\nAQID\n",   /* no end */
		"-----BEGIN X-----\nAQID\n-----END Y-----\n",
		"-----BEGIN X-----\nAQID\n-----BEGIN X-----\nAQID\n-----END X-----\n",
		"-----BEGIN X-----",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(first(texts[i]), -EBADMSG);
}

static void test_what_does_not_fit_is_not_decoded(void **state)
{
	struct slice text = LIT(BLOCK("AQIDBAUG\n"));
	char mem[5];
	struct buf small;

	(void)state;
	buf_over(&small, mem, sizeof(mem));
	assert_int_equal(pem_next(&text, "X", &small, NULL), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_is_decoded),
		cmocka_unit_test(test_lines_may_have_any_length),
		cmocka_unit_test(test_lines_may_end_with_cr_lf_and_blanks),
		cmocka_unit_test(test_blocks_come_one_after_another_with_text_between),
		cmocka_unit_test(test_without_a_block_there_is_none),
		cmocka_unit_test(test_broken_blocks_are_refused),
		cmocka_unit_test(test_what_does_not_fit_is_not_decoded),
	};

	return cmocka_run_group_tests_name("pem", tests, start, stop);
}
