/*
 * Names become addresses without stopping the loop. loop/lookup is played by this file.
 */
#include "ear.h"
#include "fly.h"

#include "base/address.h"
#include "bounds.h"
#include "loop/lookup.h"
#include "loop/resolve.h"

/* --- a resolver that knows some names --- */

static int answer(struct dns_found *f, int n)
{
	static const char *const two[] = { "2001:db8::7", "192.0.2.7" };

	for (f->count = 0; f->count < n; f->count++)
		CHECK(address_parse(slice_of(two[f->count % 2]), f->address[f->count]));
	return 0;
}

int lookup_name(const char *name, struct dns_found *f)
{
	f->count = 0;
	if (strcmp(name, "slow.test") == 0)
		sleep(30);
	if (strcmp(name, "dies.test") == 0)
		raise(SIGKILL);
	if (strcmp(name, "down.test") == 0)
		return -EAGAIN;
	if (strcmp(name, "two.test") == 0)
		return answer(f, 2);
	if (strcmp(name, "many.test") == 0)
		return answer(f, RESOLVED_MAX + 2);
	return strcmp(name, "empty.test") == 0 ? 0 : -ENOENT;
}

/* --- asking --- */

static struct resolve asked;
static int answered;

static void resolved(struct resolve *r)
{
	CHECK(r == &asked);
	answered++;
	loop_stop(0);
}

static int ask(const char *host, int64_t limit_ms)
{
	asked = (struct resolve){ .host = host, .done = resolved };
	answered = 0;
	return resolve_start(&asked, limit_ms);
}

/* Through a worker to its end; gives the error. */
static int look_up(const char *host)
{
	CHECK(ask(host, 5000) == 0);
	CHECK(answered == 0);
	loop_run();
	CHECK(answered == 1);
	return asked.err;
}

static bool address_is(int i, const char *number)
{
	unsigned char a[16];

	CHECK(address_parse(slice_of(number), a));
	return memcmp(asked.address[i], a, 16) == 0;
}

static void numbers(void)
{
	CHECK(ask("192.0.2.1", 5000) == 1);
	CHECK(asked.err == 0 && asked.count == 1 && address_is(0, "192.0.2.1"));
	CHECK(ask("2001:db8::1", 5000) == 1);
	CHECK(asked.err == 0 && asked.count == 1 && address_is(0, "2001:db8::1"));
	CHECK(answered == 0);
}
APART(numbers)

/* Also where there is no /etc, as in an image of this one file. */
static void localhost(void)
{
	CHECK(ask("localhost", 5000) == 1);
	CHECK(asked.err == 0 && asked.count == 2);
	CHECK(address_is(0, "::1") && address_is(1, "127.0.0.1"));
}
APART(localhost)

static void names(void)
{
	int before = open_descriptors();

	CHECK(look_up("two.test") == 0);
	CHECK(asked.count == 2 && address_is(0, "2001:db8::7") && address_is(1, "192.0.2.7"));
	CHECK(look_up("many.test") == 0);
	CHECK(asked.count == RESOLVED_MAX && address_is(RESOLVED_MAX - 1, "192.0.2.7"));
	CHECK(open_descriptors() == before);
}
APART(names)

static void failures(void)
{
	int before = open_descriptors();

	CHECK(look_up("none.test") == -ENOENT);
	CHECK(look_up("empty.test") == -ENOENT);
	CHECK(look_up("down.test") == -EAGAIN);
	CHECK(look_up("dies.test") == -ECANCELED);
	CHECK(asked.count == 0);
	CHECK(open_descriptors() == before);
}
APART(failures)

static struct resolve others[4];
static int others_done;

static void other_resolved(struct resolve *r)
{
	CHECK(r->err == 0 && r->count == 2);
	if (++others_done == 4)
		loop_stop(0);
}

static void many_at_once(void)
{
	for (int i = 0; i < 4; i++) {
		others[i] = (struct resolve){ .host = "two.test", .done = other_resolved };
		CHECK(resolve_start(&others[i], 5000) == 0);
	}
	loop_run();
	CHECK(others_done == 4);
}
APART(many_at_once)

/* The loop turns on meanwhile, the worker ends with the deadline. */
static void a_slow_name(void)
{
	int before = open_descriptors();
	int64_t began;

	CHECK(ask("slow.test", 300) == 0);
	time_fly();
	began = clock_ms();
	run_ms(100);
	CHECK(answered == 0 && clock_ms() - began == 100);
	loop_run();
	CHECK(answered == 1 && asked.err == -ETIMEDOUT);
	CHECK(clock_ms() - began <= 300);
	time_walk();
	CHECK(gone_soon(asked.worker.proc.pid));
	CHECK(open_descriptors() == before);
	run_ms(100);
	CHECK(answered == 1);
}
APART(a_slow_name)

static void cancelled(void)
{
	int before = open_descriptors();

	CHECK(ask("slow.test", 5000) == 0);
	run_ms(50);
	resolve_cancel(&asked);
	CHECK(open_descriptors() == before);
	run_ms(100);
	CHECK(gone_soon(asked.worker.proc.pid));
	CHECK(answered == 0);
	/* also when the answer is there already and nobody has taken it */
	CHECK(ask("two.test", 5000) == 0);
	usleep(200000);
	resolve_cancel(&asked);
	run_ms(100);
	CHECK(answered == 0);
	CHECK(open_descriptors() == before);
}
APART(cancelled)

static void no_process_left(void)
{
	int before = open_descriptors();

	apart_without(SYS_pipe2, EMFILE);
	CHECK(ask("two.test", 5000) == -EMFILE);
	run_ms(20);
	CHECK(answered == 0);
	CHECK(open_descriptors() == before);
}
APART(no_process_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_localhost),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_a_slow_name),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_no_process_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
