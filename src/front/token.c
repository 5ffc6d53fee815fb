#include "front/token.h"

#include <errno.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/random.h"
#include "base/secret.h"
#include "config.h"

enum {
	RANDOM_BYTES = 32,
	TEXT_MAX = 64,
};

static int put_file(const char *path, bool rotate, struct slice text)
{
	return rotate ? replace_file(path, 0600, text) : create_file(path, 0600, text);
}

static int put(const char *path, bool rotate, struct slice text)
{
	int r = path ? put_file(path, rotate, text) : write_all(STDOUT_FILENO, text);

	if (r == -EEXIST)
		return complain(1,
			"%s exists and is left as it is; to end that token: token --rotate %s",
			path, path);
	if (r < 0)
		return complain(1, "cannot write the token to %s: %s",
			path ? path : "standard output", file_error(r));
	return 0;
}

int token_make(const char *path, bool rotate)
{
	unsigned char key[RANDOM_BYTES];
	char mem[TEXT_MAX];
	struct buf text;
	int r;

	random_wait();
	r = random_key(key, sizeof(key));
	if (r < 0)
		return complain(1, "the kernel gives no random bytes: %s", strerror(-r));
	buf_over(&text, mem, sizeof(mem));
	base64url_put(&text, key, sizeof(key));
	buf_putc(&text, '\n');
	r = put(path, rotate, buf_all(&text));
	secret_wipe(key, sizeof(key));
	secret_wipe(mem, sizeof(mem));
	return r;
}
