/*
 * /health as it is written and as the probe reads it.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "bounds.h"
#include "front/health.h"
#include "host/facts.h"
#include "json/json.h"
#include "loop/child.h"
#include "version.h"

/* --- the answer --- */

static char body_mem[4096], tokens_mem[16384];

static struct json answer(bool detail)
{
	struct buf b, mem;
	struct jw w;
	struct json d;

	buf_over(&b, body_mem, sizeof(body_mem));
	jw_init(&w, &b);
	health_put(&w, detail);
	buf_over(&mem, tokens_mem, sizeof(tokens_mem));
	assert_int_equal(json_parse(&d, b.p, b.len, &mem), 0);
	return d;
}

static int64_t number(const struct json *d, const char *key)
{
	int64_t v = -1;

	assert_int_equal(json_int(d, json_get(d, 0, key), &v), 0);
	return v;
}

static void setup(const char *root)
{
	const struct health_config c = { .max_instances = 7, .root = root };

	health_setup(&c);
}

static void test_strangers_learn_little(void **state)
{
	struct json d;

	(void)state;
	setup("/");
	d = answer(false);
	assert_int_equal(json_count(&d, 0), 6);
	assert_int_equal(json_type(&d, json_get(&d, 0, "ok")), JSON_TRUE);
	assert_true(json_str_is(&d, json_get(&d, 0, "server"), SERVER_NAME));
	assert_true(json_str_is(&d, json_get(&d, 0, "version"), SERVER_VERSION));
	assert_int_equal(number(&d, "uptime_seconds"), 0);
	assert_int_equal(number(&d, "active_instances"), 0);
	assert_int_equal(number(&d, "max_instances"), 7);
}

static void near(int64_t a, int64_t b, int64_t by)
{
	assert_true(a - b <= by && b - a <= by);
}

static void test_the_figures_are_those_of_the_machine(void **state)
{
	struct sysinfo s;
	struct statvfs v;
	struct json d;

	(void)state;
	setup("/tmp");
	d = answer(true);
	assert_int_equal(json_count(&d, 0), 10);
	assert_int_equal(sysinfo(&s), 0);
	assert_int_equal(statvfs("/tmp", &v), 0);
	near(number(&d, "uptime_seconds"), s.uptime, 2);
	assert_int_equal(number(&d, "cores_available"), sysconf(_SC_NPROCESSORS_ONLN));
	near(number(&d, "disk_mb_available"), (int64_t)(v.f_bavail * v.f_frsize / MIB), 1024);
	near(number(&d, "memory_mb_available"), (int64_t)(facts_memory_available() / MIB), 1024);
	assert_true(number(&d, "memory_mb_available") > 0);
}

static void test_what_cannot_be_read_is_zero(void **state)
{
	struct json d;

	(void)state;
	setup("/no/such/place");
	d = answer(true);
	assert_int_equal(number(&d, "disk_mb_available"), 0);
	assert_int_equal(json_type(&d, json_get(&d, 0, "ok")), JSON_TRUE);
}

static void make_program(const char *dir, const char *name, mode_t mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void remove_program(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void test_tools_are_those_on_the_path_in_order(void **state)
{
	char dir[] = "/tmp/unit-health-XXXXXX", var[128];
	char *const env[] = { var, NULL };
	struct json d;
	int tools, first;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(var, sizeof(var), "PATH=%s", dir);
	child_environment(env);
	make_program(dir, "git", 0755);
	make_program(dir, "node", 0755);
	make_program(dir, "curl", 0644);
	d = answer(true);
	tools = json_get(&d, 0, "tools");
	assert_int_equal(json_count(&d, tools), 2);
	first = json_first(&d, tools);
	assert_true(json_str_is(&d, first, "node"));
	assert_true(json_str_is(&d, json_next(&d, tools, first), "git"));
	remove_program(dir, "git");
	remove_program(dir, "node");
	remove_program(dir, "curl");
	rmdir(dir);
}

/* --- the probe --- */

struct server {
	int fd, port;
	pid_t pid;
};

static struct server listen_on_loopback(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct server s = { .fd = socket(AF_INET, SOCK_STREAM, 0) };

	assert_int_equal(bind(s.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s.fd, 1), 0);
	assert_int_equal(getsockname(s.fd, (struct sockaddr *)&a, &len), 0);
	s.port = ntohs(a.sin_port);
	return s;
}

/* Answers one connection, after a request that asks for path, in pieces of one byte if slow. */
static void serve_once(int listener, const char *path, struct slice text, bool slow)
{
	char request[1024];
	int fd = accept(listener, NULL, NULL);
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	request[n > 0 ? n : 0] = '\0';
	if (strncmp(request, "GET ", 4) != 0 || strncmp(request + 4, path, strlen(path)) != 0)
		_exit(1);
	for (; text.n > 0; text = slice_from(text, slow ? 1 : text.n)) {
		if (send(fd, text.p, slow ? 1 : text.n, MSG_NOSIGNAL) < 0)
			_exit(0);
		usleep(slow ? 300000 : 0);
	}
	close(fd);
	_exit(0);
}

static int probed(
	const char *host, const char *url_path, const char *path, struct slice text, bool slow)
{
	struct server s = listen_on_loopback();
	char url[128];
	int status, r;

	s.pid = fork();
	assert_true(s.pid >= 0);
	if (s.pid == 0)
		serve_once(s.fd, path, text, slow);
	close(s.fd);
	snprintf(url, sizeof(url), "http://%s:%d%s", host, s.port, url_path);
	r = health_probe(url, NULL, (struct slice){ 0 });
	waitpid(s.pid, &status, 0);
	assert_int_equal(status, 0);
	return r;
}

#define ANSWERS(text) probed("127.0.0.1", "/health", "/health HTTP/1.0\r\n", LIT(text), false)

static void test_a_healthy_server_is_healthy(void **state)
{
	(void)state;
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"x\":1,\"ok\":true}"), 0);
	assert_int_equal(ANSWERS("HTTP/1.0 200\r\n\r\n{\"ok\":true}\n"), 0);
	assert_int_equal(probed("localhost", "", "/health HTTP",
				 LIT("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}"), false),
		0);
	assert_int_equal(probed("127.0.0.1", "/base/health", "/base/health HTTP",
				 LIT("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}"), false),
		0);
}

static void test_all_else_is_not(void **state)
{
	(void)state;
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n{\"ok\":false}"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n{\"ok\":\"true\"}"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n{\"a\":{\"ok\":true}}"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n[]"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n\r\n"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 503 No\r\n\r\n{\"ok\":true}"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 2000\r\n\r\n{\"ok\":true}"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1\r\n\r\n"), 1);
	assert_int_equal(ANSWERS("HTTP/1.1 200 OK\r\n"), 1);
	assert_int_equal(ANSWERS("SSH-2.0-x\r\n\r\n"), 1);
	assert_int_equal(ANSWERS(""), 1);
}

static void test_a_server_that_trickles_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(probed("127.0.0.1", "/health", "/health",
				 LIT("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}"), true),
		1);
}

static void test_a_server_that_is_not_there(void **state)
{
	struct server s = listen_on_loopback();
	char url[64];

	(void)state;
	close(s.fd);
	snprintf(url, sizeof(url), "http://localhost:%d", s.port);
	assert_int_equal(health_probe(url, NULL, (struct slice){ 0 }), 1);
	snprintf(url, sizeof(url), "http://[::1]:%d/", s.port);
	assert_int_equal(health_probe(url, NULL, (struct slice){ 0 }), 1);
}

static void test_bad_urls_are_usage_errors(void **state)
{
	(void)state;
	assert_int_equal(health_probe("127.0.0.1:8080", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(health_probe("", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(health_probe("ftp://127.0.0.1/", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(health_probe("http://127.0.0.1:x/", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(health_probe("http://127.0.0.1/a\r\nb", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(health_probe("https://127.0.0.1/health", NULL, (struct slice){ 0 }), 2);
	assert_int_equal(
		health_probe("http://mcp.example.com/health", NULL, (struct slice){ 0 }), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strangers_learn_little),
		cmocka_unit_test(test_the_figures_are_those_of_the_machine),
		cmocka_unit_test(test_what_cannot_be_read_is_zero),
		cmocka_unit_test(test_tools_are_those_on_the_path_in_order),
		cmocka_unit_test(test_a_healthy_server_is_healthy),
		cmocka_unit_test(test_all_else_is_not),
		cmocka_unit_test(test_a_server_that_trickles_is_given_up),
		cmocka_unit_test(test_a_server_that_is_not_there),
		cmocka_unit_test(test_bad_urls_are_usage_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
