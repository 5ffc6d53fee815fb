/*
 * Name servers are asked as they are: silent, slow, unable, gone, wordy. They are played here, on
 * 127.0.0.1; which names they know is in the name itself.
 */
#include "ear.h"

#include <arpa/inet.h>
#include <poll.h>

#include "base/address.h"
#include "loop/lookup.h"

static struct names_config config;
static struct dns_found found;

/* --- a server --- */

static bool asks(struct slice q, const char *label)
{
	return memmem(q.p, q.n, label, strlen(label)) != NULL;
}

/* An answer to q in `to`; its length, 0 for silence. */
static size_t respond(struct slice q, char *to, bool tcp)
{
	bool v6 = q.p[q.n - 3] == DNS_AAAA;
	struct buf b;

	buf_over(&b, to, 512);
	buf_slice(&b, q);
	to[2] = (char)0x81;
	if (asks(q, "mute") || (asks(q, "half") && v6))
		return 0;
	if (asks(q, "unable"))
		to[3] = 2;
	else if (asks(q, "long") && !tcp)
		to[2] = (char)0x83;
	else if (!asks(q, "known") && !asks(q, "long"))
		to[3] = 3;
	else if (!asks(q, "bare")) {
		to[7] = 1;
		buf_put(&b, "\xc0\x0c\0", 3);
		buf_putc(&b, v6 ? DNS_AAAA : DNS_A);
		buf_put(&b, "\0\1\0\0\0\0\0", 7);
		if (v6)
			buf_put(&b, "\x10\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7", 17);
		else
			buf_put(&b, "\4\xc0\0\2\7", 5);
	}
	return b.len;
}

static void serve_tcp(int listener)
{
	char in[2 + 600], out[2 + 600];
	int fd = accept(listener, NULL, NULL);
	ssize_t n = read(fd, in, sizeof(in));
	size_t size;

	CHECK(n > 2 && in[0] == 0 && (unsigned char)in[1] == n - 2);
	size = respond((struct slice){ in + 2, (size_t)n - 2 }, out + 2, true);
	out[0] = 0;
	out[1] = (char)size;
	CHECK(write(fd, out, 2) == 2); /* in two pieces */
	usleep(20000);
	CHECK(write(fd, out + 2, size) == (ssize_t)size);
	close(fd);
}

static void serve_udp(int fd)
{
	struct sockaddr_in from;
	socklen_t n = sizeof(from);
	char in[600], out[600];
	ssize_t got = recvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&from, &n);
	size_t size;

	CHECK(got > 12);
	size = respond((struct slice){ in, (size_t)got }, out, false);
	if (size == 0)
		return;
	out[0] ^= 1; /* first somebody else's answer */
	CHECK(sendto(fd, out, size, 0, (struct sockaddr *)&from, n) == (ssize_t)size);
	out[0] ^= 1;
	CHECK(sendto(fd, out, size, 0, (struct sockaddr *)&from, n) == (ssize_t)size);
}

static void serve(int udp, int tcp)
{
	struct pollfd p[2] = { { .fd = udp, .events = POLLIN }, { .fd = tcp, .events = POLLIN } };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		CHECK(poll(p, 2, 20000) > 0);
		if (p[0].revents)
			serve_udp(udp);
		if (p[1].revents)
			serve_tcp(tcp);
	}
}

/* Puts the server's address into the configuration; there: it runs. */
static void server_start(bool there)
{
	union socket_address *a = &config.server[config.servers++];
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t n = sizeof(a->v4);

	a->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	CHECK(bind(tcp, &a->any, n) == 0 && getsockname(tcp, &a->any, &n) == 0);
	CHECK(bind(udp, &a->any, n) == 0 && listen(tcp, 5) == 0);
	if (there && fork() == 0)
		serve(udp, tcp);
	close(udp);
	close(tcp);
}

/* --- asking --- */

static void configure(void)
{
	names_config_init(&config);
	config.timeout_s = 1;
	found.count = 0;
}

static int ask(const char *name)
{
	found.count = 0;
	return lookup_ask(&config, slice_of(name), &found);
}

static bool has(const char *number)
{
	unsigned char a[16];

	CHECK(address_parse(slice_of(number), a));
	for (int i = 0; i < found.count; i++)
		if (memcmp(found.address[i], a, 16) == 0)
			return true;
	return false;
}

static void answers(void)
{
	int before = open_descriptors();

	configure();
	server_start(true);
	CHECK(ask("known.test") == 0);
	CHECK(found.count == 2 && has("192.0.2.7") && has("2001:db8::7"));
	CHECK(ask("known.test.") == 0 && found.count == 2);
	CHECK(ask("none.test") == -ENOENT && found.count == 0);
	CHECK(ask("knownbare.test") == -ENOENT);
	CHECK(ask("a..b") == -ENOENT);
	CHECK(ask("long.test") == 0 && found.count == 2);
	CHECK(open_descriptors() == before);
}
APART(answers)

static void silence(void)
{
	int64_t began = clock_ms();

	configure();
	server_start(true);
	CHECK(ask("mute.test") == -EAGAIN);
	CHECK(clock_ms() - began >= 1000 && clock_ms() - began < 3000);
	/* what one question has found is enough */
	CHECK(ask("half.known.test") == 0 && found.count == 1 && has("192.0.2.7"));
}
APART(silence)

/* How long it takes to hear the same of a name: the least of some times, since others are busy,
 * too. */
static int64_t least_ms(const char *name, int err)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 5; i++) {
		int64_t began = clock_ms(), took;

		CHECK(ask(name) == err);
		took = clock_ms() - began;
		least = took < least ? took : least;
	}
	return least;
}

/* Neither an unable server nor one that is not there lets us wait. */
static void no_answers(void)
{
	configure();
	server_start(false);
	CHECK(least_ms("known.test", -EAGAIN) < 450);
	server_start(true);
	CHECK(least_ms("unable.test", -EAGAIN) < 450);
	CHECK(least_ms("known.test", 0) < 450 && found.count == 2);
	CHECK(least_ms("none.test", -ENOENT) < 450);
}
APART(no_answers)

static void searching(void)
{
	configure();
	server_start(true);
	strcpy(config.search, "nowhere.test known.test");
	CHECK(ask("host") == 0 && found.count == 2);
	CHECK(ask("host.") == -ENOENT);
	CHECK(ask("host.test") == -ENOENT);
	config.ndots = 2;
	CHECK(ask("host.test") == 0);
	strcpy(config.search, "unable.test known.test");
	CHECK(ask("host") == -EAGAIN);
}
APART(searching)

/* This machine's own files: a name of its own, and one that no server is asked for. */
static void files(void)
{
	CHECK(lookup_name("localhost", &found) == 0);
	CHECK(has("127.0.0.1") || has("::1"));
	CHECK(lookup_name("", &found) == -ENOENT);
	CHECK(lookup_name("a..b", &found) == -ENOENT);
	CHECK(found.count == 0);
}
APART(files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_no_answers),
		cmocka_unit_test(test_searching),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
