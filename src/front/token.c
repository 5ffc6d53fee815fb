#include "front/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/secret.h"
#include "config.h"

enum {
	RANDOM_BYTES = 32,
	TEXT_MAX = 64,
};

/* 0 or -errno. */
static int random_key(unsigned char *out, size_t n)
{
	ssize_t r;

	while (n > 0) {
		r = getrandom(out, n, 0);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0) {
			out += r;
			n -= (size_t)r;
		}
	}
	return 0;
}

static int write_all(int fd, struct slice s)
{
	ssize_t n;

	while (s.n > 0) {
		n = write(fd, s.p, s.n);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			s = slice_from(s, (size_t)n);
	}
	return 0;
}

/* All of text in a new file, or no file. */
static int write_new(const char *path, struct slice text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600), r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, text);
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}

static int put(const char *path, struct slice text)
{
	int r = path ? write_new(path, text) : write_all(STDOUT_FILENO, text);

	if (r == -EEXIST)
		return complain(1,
			"%s exists and is left as it is; remove it first to make a new token",
			path);
	if (r < 0)
		return complain(1, "cannot write the token to %s: %s",
			path ? path : "standard output", strerror(-r));
	return 0;
}

int token_make(const char *path)
{
	unsigned char key[RANDOM_BYTES];
	char mem[TEXT_MAX];
	struct buf text;
	int r = random_key(key, sizeof(key));

	if (r < 0)
		return complain(1, "the kernel gives no random bytes: %s", strerror(-r));
	buf_over(&text, mem, sizeof(mem));
	base64url_put(&text, key, sizeof(key));
	buf_putc(&text, '\n');
	r = put(path, buf_all(&text));
	secret_wipe(key, sizeof(key));
	secret_wipe(mem, sizeof(mem));
	return r;
}
