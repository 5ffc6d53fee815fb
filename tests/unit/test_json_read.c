#include "unit.h"

#include <errno.h>

#include "bounds.h"
#include "json/json.h"

/* A document in memory of its exact size, so that a byte read or written too far is seen. */
struct doc {
	struct json d;
	struct buf mem;
	char *text;
};

static int parse_into(struct doc *x, struct slice s)
{
	x->mem = unit_buf(4 * MIB);
	x->text = malloc(s.n > 0 ? s.n : 1);
	memcpy(x->text, s.p, s.n);
	return json_parse(&x->d, x->text, s.n, &x->mem);
}

static struct json *parse(struct doc *x, struct slice s)
{
	assert_int_equal(parse_into(x, s), 0);
	return &x->d;
}

static void done(struct doc *x)
{
	buf_release(&x->mem);
	free(x->text);
}

static struct slice string_at(struct json *d, int at)
{
	struct slice s = { NULL, 0 };

	assert_int_equal(json_str(d, at, &s), 0);
	return s;
}

static void every_type_is_told(void **state)
{
	static const enum json_type want[] = { JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER,
		JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL };
	struct doc x;
	struct json *d = parse(&x, LIT("[{},[],\"\",0,-1,true,false,null]"));
	size_t i = 0;
	int at;

	(void)state;
	for (at = json_first(d, 0); at >= 0; at = json_next(d, 0, at))
		assert_int_equal(json_type(d, at), want[i++]);
	assert_int_equal(i, COUNT(want));
	assert_int_equal(json_count(d, 0), COUNT(want));
	done(&x);
}

static void a_lone_value_is_a_document(void **state)
{
	struct doc x;

	(void)state;
	assert_int_equal(json_type(parse(&x, LIT("5")), 0), JSON_NUMBER);
	done(&x);
	assert_int_equal(json_type(parse(&x, LIT(" true ")), 0), JSON_TRUE);
	done(&x);
	assert_slice(string_at(parse(&x, LIT("\"a\\tb\"")), 0), "a\tb");
	done(&x);
}

static void a_failed_lookup_can_be_asked_anything(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"a\":1}"));
	struct slice s;
	int64_t n;

	(void)state;
	assert_int_equal(json_get(d, 0, "b"), -1);
	assert_int_equal(json_type(d, -1), JSON_NONE);
	assert_int_equal(json_type(d, 3), JSON_NONE);
	assert_int_equal(json_count(d, -1), 0);
	assert_int_equal(json_first(d, -1), -1);
	assert_int_equal(json_next(d, -1, -1), -1);
	assert_int_equal(json_next(d, 0, -1), -1);
	assert_int_equal(json_get(d, -1, "a"), -1);
	assert_int_equal(json_raw(d, -1).n, 0);
	assert_int_equal(json_str(d, -1, &s), -EINVAL);
	assert_int_equal(json_int(d, -1, &n), -EINVAL);
	assert_false(json_str_is(d, -1, ""));
	assert_false(json_key_is(d, -1, ""));
	done(&x);
}

static void a_refused_text_leaves_an_empty_document(void **state)
{
	struct doc x;

	(void)state;
	assert_int_equal(parse_into(&x, LIT("{\"a\":1,}")), -EBADMSG);
	assert_int_equal(json_type(&x.d, 0), JSON_NONE);
	assert_int_equal(json_get(&x.d, 0, "a"), -1);
	done(&x);
	assert_int_equal(parse_into(&x, LIT("")), -EBADMSG);
	done(&x);
}

static void walking_passes_over_whole_values(void **state)
{
	struct doc x;
	struct json *d =
		parse(&x, LIT("{\"a\":{\"x\":[1,[2,{}]]},\"b\":[],\"c\":[{\"y\":1}],\"d\":2}"));
	const char *names = "abcd";
	int at;

	(void)state;
	for (at = json_first(d, 0); at >= 0; at = json_next(d, 0, at))
		assert_int_equal(*string_at(d, at).p, *names++);
	assert_int_equal(*names, '\0');
	assert_int_equal(json_first(d, json_get(d, 0, "b")), -1);
	assert_int_equal(json_count(d, json_get(d, 0, "c")), 1);
	done(&x);
}

static void walking_goes_on_after_strings_were_unescaped(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("[\"\\u0041\\n\",{\"\\u0062\":\"\\\\\"},\"\\/\",7]"));
	int at = json_first(d, 0), inner;
	int64_t n;

	(void)state;
	assert_slice(string_at(d, at), "A\n");
	at = json_next(d, 0, at);
	inner = json_first(d, at);
	assert_slice(string_at(d, json_value(inner)), "\\");
	assert_slice(string_at(d, inner), "b");
	assert_int_equal(json_next(d, at, inner), -1);
	at = json_next(d, 0, at);
	assert_slice(string_at(d, at), "/");
	at = json_next(d, 0, at);
	assert_int_equal(json_int(d, at, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(json_next(d, 0, at), -1);
	done(&x);
}

static void the_first_of_equal_keys_is_found(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"a\":1,\"b\":{\"a\":5},\"a\":2}"));

	(void)state;
	assert_slice(json_raw(d, json_get(d, 0, "a")), "1");
	assert_slice(json_raw(d, json_get(d, json_get(d, 0, "b"), "a")), "5");
	assert_int_equal(json_get(d, json_get(d, 0, "a"), "a"), -1);
	done(&x);
}

static void keys_are_compared_by_what_they_spell(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"\\u0070ath\":1,\"gr\\u00fcn\":2,\"\\ud83d\\ude00\":3}"));

	(void)state;
	assert_slice(json_raw(d, json_get(d, 0, "path")), "1");
	assert_slice(json_raw(d, json_get(d, 0, "gr\u00fcn")), "2");
	assert_slice(json_raw(d, json_get(d, 0, "\U0001f600")), "3");
	assert_int_equal(json_get(d, 0, "pat"), -1);
	assert_int_equal(json_get(d, 0, "paths"), -1);
	assert_int_equal(json_get(d, 0, "\\u0070ath"), -1);
	done(&x);
}

static void a_key_with_a_zero_byte_matches_no_name(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"path\\u0000\":1,\"\\u0000\":2}"));

	(void)state;
	assert_int_equal(json_get(d, 0, "path"), -1);
	assert_int_equal(json_get(d, 0, ""), -1);
	assert_slice(string_at(d, 1), "path\0");
	assert_int_equal(json_get(d, 0, "path"), -1);
	done(&x);
}

static void a_key_with_a_lone_surrogate_matches_no_name(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"\\ud800\":1}"));

	(void)state;
	assert_int_equal(json_get(d, 0, "\xed\xa0\x80"), -1);
	assert_int_equal(json_get(d, 0, "\ufffd"), -1);
	done(&x);
}

static void keys_match_before_and_after_they_are_unescaped(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("{\"a\\\\n\":\"\\\\n\"}"));

	(void)state;
	assert_true(json_key_is(d, 1, "a\\n"));
	assert_slice(string_at(d, 1), "a\\n");
	assert_true(json_key_is(d, 1, "a\\n"));
	assert_false(json_key_is(d, 1, "a\n"));
	assert_true(json_str_is(d, 2, "\\n"));
	assert_slice(string_at(d, 2), "\\n");
	assert_true(json_str_is(d, 2, "\\n"));
	assert_false(json_str_is(d, 2, "\n"));
	done(&x);
}

static void picking_finds_all_wanted_members_in_one_pass(void **state)
{
	static const char *const names[] = { "c", "none", "a" };
	struct doc x;
	struct json *d = parse(&x, LIT("{\"a\":1,\"b\":2,\"b\":2,\"c\":{\"none\":0}}"));
	int found[3];

	(void)state;
	assert_int_equal(json_pick(d, 0, names, 3, found), 0);
	assert_int_equal(json_type(d, found[0]), JSON_OBJECT);
	assert_int_equal(found[1], -1);
	assert_slice(json_raw(d, found[2]), "1");
	done(&x);
}

static void a_wanted_member_given_twice_is_told(void **state)
{
	static const char *const names[] = { "a", "b" };
	struct doc x;
	struct json *d = parse(&x, LIT("{\"a\":1,\"\\u0061\":2,\"b\":3}"));
	int found[2];

	(void)state;
	assert_int_equal(json_pick(d, 0, names, 2, found), -EEXIST);
	assert_slice(json_raw(d, found[0]), "1");
	assert_slice(json_raw(d, found[1]), "3");
	assert_int_equal(json_pick(d, found[0], names, 2, found), -EINVAL);
	assert_int_equal(found[0], -1);
	done(&x);
}

static void every_escape_is_undone(void **state)
{
	struct doc x;
	struct json *d = parse(
		&x, LIT("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\uD83D\\ude00\"]"));

	(void)state;
	assert_slice(string_at(d, 1), "\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001f600");
	done(&x);
}

static void long_runs_between_escapes_stay_whole(void **state)
{
	struct doc x;
	struct json *d =
		parse(&x, LIT("\"0123456789abcdef\\n0123456789abcdefg\\t0123456\\r01234567\\f!\""));

	(void)state;
	assert_slice(string_at(d, 0), "0123456789abcdef\n0123456789abcdefg\t0123456\r01234567\f!");
	done(&x);
}

static void a_string_asked_again_is_the_same(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("[\"\\\\n\\\\u0041\\\\\\\\\"]"));
	struct slice first = string_at(d, 1), again = string_at(d, 1);

	(void)state;
	assert_slice(first, "\\n\\u0041\\\\");
	assert_ptr_equal(first.p, again.p);
	assert_int_equal(first.n, again.n);
	done(&x);
}

static void a_string_without_escapes_is_a_view(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT("[\"plain \u00fc\"]"));

	(void)state;
	assert_ptr_equal(string_at(d, 1).p, x.text + 2);
	assert_slice(string_at(d, 1), "plain \u00fc");
	done(&x);
}

static void a_zero_byte_comes_through(void **state)
{
	struct doc x;

	(void)state;
	assert_slice(string_at(parse(&x, LIT("\"a\\u0000b\"")), 0), "a\0b");
	assert_false(json_str_is(&x.d, 0, "a"));
	done(&x);
}

static void a_lone_surrogate_is_refused_and_nothing_changed(void **state)
{
	static const char *const bad[] = { "\"\\n\\ud800\"", "\"\\n\\udc00\"", "\"\\ud800\\n\"",
		"\"\\ud800\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"",
		"\"\\ud800x\\udc00\"", "\"\\ud83d\\ude00\\ude00\"" };
	struct doc x;
	struct slice s;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++) {
		assert_int_equal(json_str(parse(&x, slice_of(bad[i])), 0, &s), -EILSEQ);
		assert_int_equal(json_str(&x.d, 0, &s), -EILSEQ);
		assert_same(json_raw(&x.d, 0), slice_of(bad[i]));
		done(&x);
	}
}

static void raw_text_is_as_it_came(void **state)
{
	struct doc x;
	struct json *d = parse(&x, LIT(" [ \"a\\n\" , 1.50e1 , { \"b\" : null } ] "));
	int at = json_first(d, 0);

	(void)state;
	assert_slice(json_raw(d, 0), "[ \"a\\n\" , 1.50e1 , { \"b\" : null } ]");
	assert_slice(json_raw(d, at), "\"a\\n\"");
	at = json_next(d, 0, at);
	assert_slice(json_raw(d, at), "1.50e1");
	at = json_next(d, 0, at);
	assert_slice(json_raw(d, at), "{ \"b\" : null }");
	done(&x);
}

static void integers_are_read_and_other_numbers_refused(void **state)
{
	struct doc x;
	struct json *d =
		parse(&x, LIT("[-7,9223372036854775807,9223372036854775808,1.0,1e2,\"3\",true]"));
	static const int want[] = { 0, 0, -ERANGE, -EINVAL, -EINVAL, -EINVAL, -EINVAL };
	int64_t n;
	size_t i = 0;
	int at;

	(void)state;
	for (at = json_first(d, 0); at >= 0; at = json_next(d, 0, at))
		assert_int_equal(json_int(d, at, &n), want[i++]);
	assert_int_equal(json_int(d, 1, &n), 0);
	assert_int_equal(n, -7);
	done(&x);
}

/* [1,1,...] with that many tokens in all. */
static struct buf wide(size_t tokens)
{
	struct buf b = unit_buf(MIB);

	buf_putc(&b, '[');
	for (; tokens > 2; tokens--)
		buf_puts(&b, "1,");
	buf_puts(&b, "1]");
	return b;
}

static void tokens_are_allowed_to_the_limit_and_not_beyond(void **state)
{
	struct buf most = wide(JSON_TOKENS_MAX), more = wide(JSON_TOKENS_MAX + 1);
	struct doc x;

	(void)state;
	assert_int_equal(json_count(parse(&x, buf_all(&most)), 0), JSON_TOKENS_MAX - 1);
	done(&x);
	assert_int_equal(parse_into(&x, buf_all(&more)), -E2BIG);
	done(&x);
	buf_release(&most);
	buf_release(&more);
}

static void too_deep_a_text_is_refused_at_once(void **state)
{
	struct buf b = unit_buf(MIB);
	struct doc x;

	(void)state;
	while (b.len < 64000)
		buf_putc(&b, '[');
	assert_int_equal(parse_into(&x, buf_all(&b)), -E2BIG);
	done(&x);
	buf_release(&b);
}

static void no_room_for_tokens_is_told(void **state)
{
	struct buf text = wide(1000), mem = unit_buf(4096);
	struct json d;

	(void)state;
	assert_int_equal(json_parse(&d, text.p, text.len, &mem), -ENOMEM);
	assert_int_equal(json_type(&d, 0), JSON_NONE);
	buf_release(&text);
	buf_release(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_told),
		cmocka_unit_test(a_lone_value_is_a_document),
		cmocka_unit_test(a_failed_lookup_can_be_asked_anything),
		cmocka_unit_test(a_refused_text_leaves_an_empty_document),
		cmocka_unit_test(walking_passes_over_whole_values),
		cmocka_unit_test(walking_goes_on_after_strings_were_unescaped),
		cmocka_unit_test(the_first_of_equal_keys_is_found),
		cmocka_unit_test(keys_are_compared_by_what_they_spell),
		cmocka_unit_test(a_key_with_a_zero_byte_matches_no_name),
		cmocka_unit_test(a_key_with_a_lone_surrogate_matches_no_name),
		cmocka_unit_test(keys_match_before_and_after_they_are_unescaped),
		cmocka_unit_test(picking_finds_all_wanted_members_in_one_pass),
		cmocka_unit_test(a_wanted_member_given_twice_is_told),
		cmocka_unit_test(every_escape_is_undone),
		cmocka_unit_test(long_runs_between_escapes_stay_whole),
		cmocka_unit_test(a_string_asked_again_is_the_same),
		cmocka_unit_test(a_string_without_escapes_is_a_view),
		cmocka_unit_test(a_zero_byte_comes_through),
		cmocka_unit_test(a_lone_surrogate_is_refused_and_nothing_changed),
		cmocka_unit_test(raw_text_is_as_it_came),
		cmocka_unit_test(integers_are_read_and_other_numbers_refused),
		cmocka_unit_test(tokens_are_allowed_to_the_limit_and_not_beyond),
		cmocka_unit_test(too_deep_a_text_is_refused_at_once),
		cmocka_unit_test(no_room_for_tokens_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
