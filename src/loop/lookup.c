#include "loop/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "loop/prefer.h"

enum {
	QUESTIONS = 2, /* IPv4 and IPv6 */
	NAME_MAX_TEXT = 254,
};

struct question {
	char mem[2 + DNS_QUESTION_MAX]; /* over TCP the length goes first */
	struct slice text;
	bool open;
	int err;
	unsigned refused; /* a bit for each server that cannot say */
};

struct asking {
	const struct names_config *config;
	struct pollfd server[NAME_SERVERS_MAX];
	struct question question[QUESTIONS];
	struct dns_found *found;
	char answer[DNS_ANSWER_MAX];
};

static socklen_t size_of(const union socket_address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

static int64_t attempt_ms(const struct names_config *c)
{
	return c->timeout_s * 1000 / c->attempts;
}

/* --- over TCP --- */

static int tcp_open(const union socket_address *to, int64_t ms)
{
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect, too */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, &to->any, size_of(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* What the server says in more bytes than a datagram has. */
static int tcp_ask(struct asking *a, int server, const struct question *q)
{
	int fd = tcp_open(&a->config->server[server], attempt_ms(a->config)), r = -EAGAIN;
	struct slice said = { a->answer, 0 };
	unsigned char size[2];

	if (send(fd, q->mem, 2 + q->text.n, MSG_NOSIGNAL) == (ssize_t)(2 + q->text.n) &&
		recv(fd, size, 2, MSG_WAITALL) == 2) {
		said.n = (size_t)size[0] << 8 | size[1];
		if (said.n > sizeof(a->answer))
			said.n = sizeof(a->answer);
		if (recv(fd, a->answer, said.n, MSG_WAITALL) == (ssize_t)said.n)
			r = dns_take_answer(a->found, q->text, said);
	}
	close(fd);
	return r == -EBADMSG || r == -EMSGSIZE ? -EAGAIN : r;
}

/* --- over UDP --- */

/* Each server has a socket of its own: what others send does not get in. */
static void servers_open(struct asking *a)
{
	const union socket_address *to;
	int fd;

	for (int i = 0; i < a->config->servers; i++) {
		to = &a->config->server[i];
		fd = socket(to->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		a->server[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
		if (connect(fd, &to->any, size_of(to)) == 0)
			continue;
		close(fd);
		a->server[i].fd = -1;
	}
}

static void servers_close(struct asking *a)
{
	for (int i = 0; i < a->config->servers; i++)
		close(a->server[i].fd);
}

/* The kernel may tell of one question's fate when asked about the other: it is the server's. */
static void server_failed(struct asking *a, int server)
{
	for (struct question *q = a->question; q < a->question + QUESTIONS; q++)
		q->refused |= 1u << server;
}

static void questions_send(struct asking *a)
{
	const struct question *q = a->question;

	a->question[0].refused = a->question[1].refused = 0;
	for (; q < a->question + QUESTIONS; q++)
		for (int i = 0; q->open && i < a->config->servers; i++)
			if (send(a->server[i].fd, q->text.p, q->text.n, MSG_NOSIGNAL) < 0)
				server_failed(a, i);
}

static bool awaits(const struct asking *a, const struct question *q)
{
	return q->open && q->refused != (1u << a->config->servers) - 1;
}

static void answer_take(struct asking *a, int server, struct question *q, struct slice said)
{
	int r = dns_take_answer(a->found, q->text, said);

	if (r == -EBADMSG)
		return;
	if (r == -EMSGSIZE)
		r = tcp_ask(a, server, q);
	if (r == -EAGAIN) {
		q->refused |= 1u << server;
		return;
	}
	q->open = false;
	q->err = r;
}

static void server_heard(struct asking *a, int server)
{
	ssize_t n = recv(a->server[server].fd, a->answer, sizeof(a->answer), 0);
	struct slice said = { a->answer, n > 0 ? (size_t)n : 0 };

	if (n < 0 && errno != EAGAIN)
		server_failed(a, server);
	for (struct question *q = a->question; q < a->question + QUESTIONS; q++)
		if (q->open)
			answer_take(a, server, q, said);
}

static void attempt(struct asking *a)
{
	int64_t until = clock_ms() + attempt_ms(a->config), left;

	questions_send(a);
	while ((awaits(a, &a->question[0]) || awaits(a, &a->question[1])) &&
		(left = until - clock_ms()) > 0) {
		poll(a->server, (nfds_t)a->config->servers, (int)left);
		for (int i = 0; i < a->config->servers; i++)
			if (a->server[i].revents)
				server_heard(a, i);
	}
}

/* Ids that cannot be guessed, as the ports cannot: an answer from elsewhere has to know both. */
static int questions_make(struct asking *a, struct slice name)
{
	static const unsigned types[QUESTIONS] = { DNS_AAAA, DNS_A };
	unsigned char id[2 * QUESTIONS];
	struct question *q;
	struct buf b;

	random_name(id, sizeof(id));
	for (int i = 0; i < QUESTIONS; i++) {
		q = &a->question[i];
		buf_over(&b, q->mem + 2, DNS_QUESTION_MAX);
		dns_put_question(&b, (unsigned)id[2 * i] << 8 | id[2 * i + 1], name, types[i]);
		if (b.failed)
			return -ENOENT;
		q->text = buf_all(&b);
		q->mem[0] = (char)(b.len >> 8);
		q->mem[1] = (char)b.len;
		q->open = true;
	}
	return 0;
}

/* A name as it stands. What one question has found does for both. */
static int ask(const struct names_config *c, struct slice name, struct dns_found *f)
{
	struct asking a = { .config = c, .found = f };
	int r = questions_make(&a, name);

	if (r < 0)
		return r;
	servers_open(&a);
	for (int64_t i = 0; i < c->attempts && (a.question[0].open || a.question[1].open); i++)
		attempt(&a);
	servers_close(&a);
	if (f->count > 0)
		return 0;
	for (int i = 0; i < QUESTIONS; i++)
		if (a.question[i].open)
			r = -EAGAIN;
	return a.question[0].err < 0 || a.question[1].err < 0 || r == 0 ? -ENOENT : r;
}

static int64_t dots_in(struct slice name)
{
	int64_t n = 0;

	for (size_t i = 0; i < name.n; i++)
		n += name.p[i] == '.';
	return n;
}

int lookup_ask(const struct names_config *c, struct slice name, struct dns_found *f)
{
	struct slice domains = slice_of(c->search), domain;
	char full[NAME_MAX_TEXT];
	struct buf b;
	int r;

	if (dots_in(name) >= c->ndots || name.p[name.n - 1] == '.')
		domains.n = 0;
	while ((domain = str_word(&domains)).n > 0) {
		buf_over(&b, full, sizeof(full));
		buf_printf(&b, "%.*s.%.*s", SLICE(name), SLICE(domain));
		r = b.failed ? -ENOENT : ask(c, buf_all(&b), f);
		if (r != -ENOENT)
			return r;
	}
	return ask(c, name, f);
}

/* --- this machine's files --- */

struct lines {
	int fd;
	size_t used; /* of what is in mem: the line that was given before */
	size_t n;
	char mem[4 * KIB];
};

/* The next line without its end; one that is longer than mem comes in pieces. */
static bool line_next(struct lines *l, struct slice *line)
{
	const char *end;
	ssize_t n = 1;

	memmove(l->mem, l->mem + l->used, l->n - l->used);
	l->n -= l->used;
	while (!(end = memchr(l->mem, '\n', l->n)) && l->n < sizeof(l->mem) && n > 0) {
		n = read(l->fd, l->mem + l->n, sizeof(l->mem) - l->n);
		l->n += n > 0 ? (size_t)n : 0;
	}
	*line = (struct slice){ l->mem, end ? (size_t)(end - l->mem) : l->n };
	l->used = end ? line->n + 1 : l->n;
	return l->used > 0;
}

static void hosts_find(struct slice name, struct dns_found *f)
{
	struct lines l = { .fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC) };
	struct slice line;

	while (f->count < RESOLVED_MAX && line_next(&l, &line))
		f->count += names_hosts_line(line, name, f->address[f->count]);
	close(l.fd);
}

static void config_read(struct names_config *c)
{
	struct lines l = { .fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC) };
	struct slice line;

	names_config_init(c);
	while (line_next(&l, &line))
		names_config_line(c, line);
	names_config_end(c);
	close(l.fd);
}

int lookup_name(const char *host, struct dns_found *f)
{
	struct slice name = slice_of(host);
	struct names_config c;
	int r = 0;

	f->count = 0;
	if (name.n == 0)
		return -ENOENT;
	hosts_find(name, f);
	if (f->count == 0) {
		config_read(&c);
		r = lookup_ask(&c, name, f);
	}
	prefer_sort(f->address, f->count);
	return r;
}
