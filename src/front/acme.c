#include "front/acme.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "front/gate.h"

static const char *webroot;

int acme_setup(const char *dir)
{
	int fd;

	webroot = dir;
	if (!dir)
		return 0;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* RFC 8555 section 8.3: base64url. So neither "." nor "/" nor an escape can be in it. */
static bool is_token(struct slice s)
{
	return s.n > 0 && s.n <= ACME_TOKEN_MAX && str_only(s, "-_");
}

/* Component by component, none of them a link: the folder may be writable to others than us. */
static int open_challenge(const char *name)
{
	static const int folder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	const struct {
		const char *name;
		int flags;
	} steps[] = {
		{ ".well-known", folder },
		{ "acme-challenge", folder },
		{ name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC },
	};
	int at = open(webroot, O_PATH | O_DIRECTORY | O_CLOEXEC), next, err = errno;

	for (size_t i = 0; at >= 0 && i < sizeof(steps) / sizeof(*steps); i++) {
		next = openat(at, steps[i].name, steps[i].flags);
		err = errno;
		close(at);
		at = next;
	}
	return at < 0 ? -err : at;
}

/* Small enough to be read at once. */
static int read_small(int fd, struct buf *b)
{
	char mem[ACME_FILE_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_size > ACME_FILE_MAX)
		return -ENOENT;
	n = read(fd, mem, sizeof(mem));
	if (n < 0)
		return -errno;
	buf_put(b, mem, (size_t)n);
	return b->failed ? -ENOMEM : 0;
}

static int challenge_read(struct slice token, struct buf *b)
{
	char name[ACME_TOKEN_MAX + 1];
	int fd, r;

	if (!webroot)
		return -ENOENT;
	if (!is_token(token) || str_c(token, name, sizeof(name)) < 0)
		return -EINVAL;
	fd = open_challenge(name);
	if (fd < 0)
		return fd;
	r = read_small(fd, b);
	close(fd);
	return r;
}

void acme_serve(struct http_request *r)
{
	char mem[ACME_FILE_MAX];
	struct slice token;
	struct buf body;
	int err;

	buf_over(&body, mem, sizeof(mem));
	if (!http_path_starts(r->head->path, ACME_PATH, &token))
		token = (struct slice){ 0 };
	err = challenge_read(token, &body);
	if (err == 0)
		gate_answer(r, 200, "text/plain",
			LIT("X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"),
			buf_all(&body));
	else
		gate_refuse(r, 404, (struct slice){ 0 },
			webroot ? strerror(-err) : "Not found: SANDSTORM_ACME_WEBROOT is not set");
}
