/*
 * Secrets compared and wiped, base64url, and tokens made of them.
 */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/secret.h"
#include "front/token.h"

static void test_only_the_same_bytes_are_equal(void **state)
{
	(void)state;
	assert_true(secret_eq(LIT("sixteen bytes ok"), LIT("sixteen bytes ok")));
	assert_true(secret_eq(LIT("a\0b"), LIT("a\0b")));
	assert_true(secret_eq(LIT("\xff\x80"), LIT("\xff\x80")));
	assert_false(secret_eq(LIT("a\0b"), LIT("a\0c")));
	assert_false(secret_eq(LIT("abcd"), LIT("abce")));
	assert_false(secret_eq(LIT("abcd"), LIT("bbcd")));
	assert_false(secret_eq(LIT("abc"), LIT("abcd")));
	assert_false(secret_eq(LIT("abcd"), LIT("abc")));
	assert_false(secret_eq(LIT("abcc"), LIT("abc")));
	assert_false(secret_eq(LIT(""), LIT("abc")));
}

static void test_each_single_bit_counts(void **state)
{
	char a[32], b[32];

	(void)state;
	memset(a, 0x5a, sizeof(a));
	memcpy(b, a, sizeof(b));
	for (size_t i = 0; i < 8 * sizeof(a); i++) {
		b[i / 8] = (char)(b[i / 8] ^ 1 << i % 8);
		assert_false(
			secret_eq((struct slice){ b, sizeof(b) }, (struct slice){ a, sizeof(a) }));
		b[i / 8] = a[i / 8];
	}
	assert_true(secret_eq((struct slice){ b, sizeof(b) }, (struct slice){ a, sizeof(a) }));
}

static void test_a_secret_that_was_never_set_opens_nothing(void **state)
{
	(void)state;
	assert_false(secret_eq(LIT(""), LIT("")));
	assert_false(secret_eq((struct slice){ 0 }, (struct slice){ 0 }));
	assert_false(secret_eq(LIT("x"), (struct slice){ 0 }));
}

static void test_wiped_bytes_are_zero(void **state)
{
	char mem[8] = "secret!", zero[8] = { 0 };

	(void)state;
	secret_wipe(mem, sizeof(mem));
	assert_memory_equal(mem, zero, sizeof(mem));
}

static void encodes(struct slice bytes, const char *want)
{
	char mem[64];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	base64url_put(&b, (const unsigned char *)bytes.p, bytes.n);
	assert_same(buf_all(&b), slice_of(want));
}

static void test_base64url_has_its_own_two_digits_and_no_padding(void **state)
{
	(void)state;
	encodes(LIT(""), "");
	encodes(LIT("f"), "Zg");
	encodes(LIT("fo"), "Zm8");
	encodes(LIT("foo"), "Zm9v");
	encodes(LIT("foob"), "Zm9vYg");
	encodes(LIT("\xfb\xff\xbf"), "-_-_");
	encodes(LIT("\0\0\0\0"), "AAAAAA");
}

static size_t read_file(const char *path, char *mem, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, mem, size);
	close(fd);
	assert_true(n >= 0);
	return (size_t)n;
}

static void test_a_token_is_a_new_private_file(void **state)
{
	char dir[] = "/tmp/unit-token-XXXXXX", path[64], first[64], second[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/token", dir);
	umask(0);
	assert_int_equal(token_make(path, false), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(read_file(path, first, sizeof(first)), 44);
	assert_int_equal(first[43], '\n');
	for (int i = 0; i < 43; i++)
		assert_true(
			strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
				first[i]));
	assert_int_equal(token_make(path, false), 1);
	assert_int_equal(read_file(path, second, sizeof(second)), 44);
	assert_memory_equal(first, second, 44);
	assert_int_equal(token_make(path, true), 0);
	read_file(path, second, sizeof(second));
	assert_memory_not_equal(first, second, 43);
	unlink(path);
	rmdir(dir);
	assert_int_equal(token_make(path, false), 1); /* no such directory */
}

static void test_a_dangling_link_is_not_followed(void **state)
{
	char dir[] = "/tmp/unit-token-XXXXXX", link[64], target[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/token", dir);
	snprintf(target, sizeof(target), "%s/elsewhere", dir);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(token_make(link, false), 1);
	assert_int_equal(lstat(target, &st), -1);
	unlink(link);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_same_bytes_are_equal),
		cmocka_unit_test(test_each_single_bit_counts),
		cmocka_unit_test(test_a_secret_that_was_never_set_opens_nothing),
		cmocka_unit_test(test_wiped_bytes_are_zero),
		cmocka_unit_test(test_base64url_has_its_own_two_digits_and_no_padding),
		cmocka_unit_test(test_a_token_is_a_new_private_file),
		cmocka_unit_test(test_a_dangling_link_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
