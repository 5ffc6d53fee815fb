/*
 * SANDSTORM_TRACE: what is written of exchanges, and what never is.
 */
#include "client_peer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "http/trace.h"

static struct ask a;
static char path[64];
static char got[512 * KIB];

static void trace_file(void)
{
	snprintf(path, sizeof(path), "/tmp/trace-%d-XXXXXX", (int)getpid());
	CHECK(mkdtemp(path));
	strcat(path, "/t");
}

/* What stands in the file now, which is then removed. */
static const char *traced(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, got, sizeof(got) - 1);

	CHECK(fd >= 0 && n >= 0);
	got[n] = '\0';
	close(fd);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return got;
}

static bool has(const char *text)
{
	if (strstr(got, text))
		return true;
	fprintf(stderr, "no %s in\n%s\n", text, got);
	return false;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	CHECK(stat(name, &st) == 0);
	return st.st_mode & 07777;
}

static void peer_spawns(void)
{
	int fd = peer_accept();

	while (peer_request(fd))
		peer_say(fd, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
			     "Content-Length: 74\r\n\r\n"
			     "[{\"id\":\"sb-1\",\"token\":\"new-token\"},"
			     "{\"error\":\"api-token, box-taken: no\"}]\x1b\n");
}

#define FIELDS "Authorization: Bearer api-token\r\nx-sandstorm-sandbox-token: box-taken\r\n"

/* The whole exchange, without one of its three tokens. */
static void an_exchange(void)
{
	trace_file();
	CHECK(http_trace_open(path) == 0);
	CHECK(mode_of(path) == 0600);
	peer_start(peer_spawns);
	a.c.fields = LIT(FIELDS);
	a.c.body = LIT("{\"n\":1,\"x\":\"box-taken\"}");
	ask(&a, "POST", "/v1/sandboxes");
	CHECK(a.c.failure == HTTP_CALL_OK && strstr(a.body, "new-token"));
	traced();
	CHECK(has("--- 1 20") && has("Z request\nPOST /v1/sandboxes HTTP/1.1\nHost: 127.0.0.1:"));
	CHECK(has("\nAuthorization: Bearer ***\nx-sandstorm-sandbox-token: ***\nContent-Type: "));
	CHECK(has("\nContent-Length: 23\n\n{\"n\":1,\"x\":\"***\"}\n--- 1 20"));
	CHECK(has("Z reply\nHTTP/1.1 201 Created\nContent-Type: application/json\n"));
	CHECK(has("\n\n[{\"id\":\"sb-1\",\"token\":\"***\"},{\"error\":\"***, ***: no\"}]?\n\n"
		  "--- 1 after "));
	CHECK(!strstr(got, "api-token") && !strstr(got, "box-taken") && !strstr(got, "new-token"));
	CHECK(mem_opened() <= 64 * KIB);
}
APART(an_exchange)

static void peer_breaks(void)
{
	int fd = peer_accept();

	peer_request(fd);
	peer_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
	close(fd);
	fd = peer_accept();
	peer_request(fd);
	peer_say(fd, "<html>\r\n");
	close(fd);
	peer_answers();
}

/* What came is shown, and why there is no more. */
static void failures(void)
{
	trace_file();
	CHECK(http_trace_open(path) == 0);
	peer_start(peer_breaks);
	ask(&a, "GET", "/cut");
	ask(&a, "GET", "/invalid");
	plain_error = 62;
	ask(&a, "GET", "/unsent");
	traced();
	CHECK(has("Content-Length: 10\n\n12345\n--- 1 after ") && has(" ms: the master closed"));
	CHECK(has("Z reply\n<html>\n--- 2 after ") && has(" ms: invalid reply"));
	CHECK(has("--- 3 20") && has("Z not sent\nGET /unsent: TLS error 62\n"));
}
APART(failures)

static void peer_is_silent(void)
{
	int fd = peer_accept();

	while (peer_request(fd))
		;
}

static void a_call_that_is_given_up(void)
{
	trace_file();
	CHECK(http_trace_open(path) == 0);
	peer_start(peer_is_silent);
	ask_start(&a, "GET", "/x");
	run_ms(100);
	http_call_abort(&a.c);
	traced();
	CHECK(has("Z request\nGET /x HTTP/1.1\n") && has("ms: given up"));
}
APART(a_call_that_is_given_up)

enum { LONG = 200000 };

/* A body of LONG bytes; the token stands across the bound up to which it is kept. */
static void peer_says_much(void)
{
	static char text[LONG + 1];
	int fd = peer_accept();

	memset(text, 'm', LONG);
	memcpy(text + TRACE_BODY_MAX - 5, "api-token", 9);
	while (peer_request(fd)) {
		peer_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n");
		peer_say(fd, text);
	}
}

static void a_long_body_is_cut(void)
{
	trace_file();
	CHECK(http_trace_open(path) == 0);
	peer_start(peer_says_much);
	a.c.fields = LIT(FIELDS);
	ask(&a, "GET", "/x");
	CHECK(a.c.got == LONG);
	traced();
	CHECK(has("mm***\n[... 134460 bytes left out ...]\n--- 1 after "));
	CHECK(!strstr(got, "api-"));
	CHECK(strlen(got) < TRACE_BODY_MAX + 2000);
}
APART(a_long_body_is_cut)

static void what_is_no_file(void)
{
	char other[80];
	int fd;

	trace_file();
	snprintf(other, sizeof(other), "%s.link", path);
	CHECK(symlink("/dev/null", other) == 0);
	CHECK(http_trace_open(other) == -ELOOP);
	unlink(other);
	CHECK(http_trace_open("/dev/null") == -EINVAL);
	CHECK(http_trace_open("/nowhere/t") == -ENOENT);
	CHECK(mkfifo(other, 0600) == 0);
	CHECK(http_trace_open(other) < 0);
	unlink(other);
	/* one that is there is written behind its end and is nobody else's from then on */
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	CHECK(fd >= 0 && write(fd, "before\n", 7) == 7);
	close(fd);
	CHECK(http_trace_open(path) == 0 && mode_of(path) == 0600);
	peer_start(peer_answers);
	ask(&a, "GET", "/x");
	traced();
	CHECK(strncmp(got, "before\n--- 1 ", 13) == 0);
}
APART(what_is_no_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_exchange),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_a_call_that_is_given_up),
		cmocka_unit_test(test_a_long_body_is_cut),
		cmocka_unit_test(test_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
