/*
 * Watched descriptors: who hears what, and who hears nothing.
 */
#include "ear.h"

#include <fcntl.h>

#include "bounds.h"

static void only_what_is_wanted_is_heard(void)
{
	struct ear e;

	ear_open(&e, LOOP_READ);
	run_ms(2);
	CHECK(e.calls == 0);
	CHECK(write(e.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_READ);
	watch_want(&e.w, LOOP_WRITE);
	run_ms(1000);
	CHECK(e.calls == 2 && e.last == LOOP_WRITE);
	watch_want(&e.w, LOOP_READ | LOOP_WRITE);
	run_ms(1000);
	CHECK(e.calls == 3 && e.last == (LOOP_READ | LOOP_WRITE));
}

static void who_wants_nothing_hears_nothing_not_even_the_end(void)
{
	struct ear e;

	ear_open(&e, 0);
	close(e.far);
	run_ms(2);
	CHECK(e.calls == 0);
	watch_want(&e.w, LOOP_READ);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_READ);
	watch_want(&e.w, 0);
	run_ms(2);
	CHECK(e.calls == 1);
}

static void who_wanted_nothing_at_first_may_want_something_later(void)
{
	struct ear e;

	ear_open(&e, 0);
	watch_want(&e.w, LOOP_READ);
	CHECK(write(e.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_READ);
}

static void a_half_close_is_a_hangup_for_who_wants_to_know(void)
{
	struct ear e, other;

	ear_open(&e, LOOP_HANGUP);
	ear_open(&other, LOOP_WRITE);
	watch_want(&other.w, 0);
	CHECK(write(e.far, "x", 1) == 1);
	run_ms(2);
	CHECK(e.calls == 0);
	shutdown(e.far, SHUT_WR);
	shutdown(other.far, SHUT_WR);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_HANGUP && other.calls == 0);
}

static void a_half_close_is_nothing_for_who_waits_for_the_end_alone(void)
{
	struct ear e;

	ear_open(&e, LOOP_GONE);
	shutdown(e.far, SHUT_WR);
	run_ms(2);
	CHECK(e.calls == 0);
	close(e.far);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_GONE);
}

static void an_error_is_told_as_everything_that_is_wanted(void)
{
	struct ear e = { .w = { .ready = ear_ready } };
	int ends[2];

	CHECK(pipe(ends) == 0);
	CHECK(watch_add(&e.w, ends[1], LOOP_WRITE) == 0);
	while (fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && write(ends[1], order, sizeof(order)) > 0)
		;
	run_ms(2);
	CHECK(e.calls == 0);
	close(ends[0]);
	run_ms(1000);
	CHECK(e.calls == 1 && e.last == LOOP_WRITE);
}

static void files_that_epoll_refuses_are_always_ready(void)
{
	struct ear null = { .w = { .ready = ear_ready } }, file = null;
	int fd = open("/dev/null", O_RDWR), plain = open("/proc/self/exe", O_RDONLY);

	CHECK(fd >= 0 && plain >= 0);
	CHECK(watch_add(&null.w, fd, LOOP_READ) == 0);
	CHECK(watch_add(&file.w, plain, 0) == 0);
	run_ms(1000);
	CHECK(null.calls == 1 && null.last == LOOP_READ && file.calls == 0);
	watch_want(&null.w, LOOP_WRITE);
	watch_want(&file.w, LOOP_READ);
	run_ms(1000);
	CHECK(null.calls == 2 && null.last == LOOP_WRITE && file.calls == 1);
	watch_del(&null.w);
	watch_want(&file.w, 0);
	run_ms(2);
	CHECK(null.calls == 2 && file.calls == 1);
}

/* Milliseconds of work while the loop has nothing to do for `ms`. */
static int64_t busy_ms(int64_t ms)
{
	struct rusage before, after;
	int64_t began = loop_now();

	getrusage(RUSAGE_SELF, &before);
	run_ms(ms);
	getrusage(RUSAGE_SELF, &after);
	CHECK(clock_ms() - began >= ms);
	return (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
		       before.ru_stime.tv_sec) *
		       1000 +
	       (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
		       before.ru_stime.tv_usec) /
		       1000;
}

/* What is always ready must not keep the loop awake when nobody wants it. */
static void a_file_that_is_not_wanted_lets_the_loop_sleep(void)
{
	struct ear never = { .w = { .ready = ear_ready } }, once = never, gone = never;
	int fd = open("/dev/null", O_RDWR);

	CHECK(watch_add(&never.w, fd, 0) == 0);
	CHECK(watch_add(&once.w, fd, LOOP_READ) == 0);
	CHECK(watch_add(&gone.w, fd, LOOP_READ) == 0);
	watch_want(&once.w, 0);
	watch_del(&gone.w);
	CHECK(busy_ms(40) < 20);
}

static void a_deleted_watch_lets_the_loop_sleep_and_its_descriptor_be_watched_anew(void)
{
	struct ear e, other = { .w = { .ready = ear_ready } };

	ear_open(&e, LOOP_READ);
	CHECK(write(e.far, "x", 1) == 1);
	watch_del(&e.w);
	CHECK(busy_ms(40) < 20);
	CHECK(watch_add(&other.w, e.w.fd, LOOP_READ) == 0);
	run_ms(1000);
	CHECK(e.calls == 0 && other.calls == 1);
}

static struct ear left, right, heir;

/* Each ends the other and gives its place, and most likely its descriptor, to a newcomer. */
static void usurp(struct watch *w, unsigned events)
{
	struct ear *me = container_of(w, struct ear, w), *other = me == &left ? &right : &left;
	unsigned slot = other->w.slot;

	(void)events;
	me->calls++;
	watch_del(&other->w);
	close(other->w.fd);
	ear_open(&heir, LOOP_READ);
	CHECK(heir.w.slot == slot);
	watch_del(&me->w);
	loop_stop(0);
}

static void an_event_for_an_earlier_tenant_is_ignored(void)
{
	ear_open(&left, LOOP_READ);
	ear_open(&right, LOOP_READ);
	left.w.ready = right.w.ready = usurp;
	CHECK(write(left.far, "x", 1) == 1 && write(right.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(left.calls + right.calls == 1);
	run_ms(2);
	CHECK(left.calls + right.calls == 1 && heir.calls == 0);
	CHECK(write(heir.far, "x", 1) == 1);
	run_ms(1000);
	CHECK(heir.calls == 1);
}

static void a_deleted_watch_hears_nothing_and_may_be_deleted_again(void)
{
	struct ear e;

	ear_open(&e, LOOP_READ);
	CHECK(write(e.far, "x", 1) == 1);
	watch_del(&e.w);
	watch_del(&e.w);
	watch_want(&e.w, LOOP_READ);
	run_ms(2);
	CHECK(e.calls == 0);
}

static void what_cannot_be_watched_is_refused_and_takes_no_place(void)
{
	struct ear e = { .w = { .ready = ear_ready } }, good;

	for (unsigned i = 0; i < WATCHES_MAX + 1; i++)
		CHECK(watch_add(&e.w, 12345, LOOP_READ) == -EBADF);
	CHECK(e.w.slot == 0);
	ear_open(&good, LOOP_READ);
}

static void a_full_table_is_told_and_has_room_after_a_delete(void)
{
	static struct watch many[WATCHES_MAX + 1];
	int fd = open("/dev/null", O_RDWR), n = 0;

	while (watch_add(&many[n], fd, 0) == 0)
		n++;
	CHECK(n > CONNS_MAX && n <= WATCHES_MAX);
	CHECK(watch_add(&many[n], fd, 0) == -EMFILE && many[n].slot == 0);
	watch_del(&many[7]);
	CHECK(watch_add(&many[n], fd, 0) == 0);
}

APART(only_what_is_wanted_is_heard)
APART(who_wants_nothing_hears_nothing_not_even_the_end)
APART(who_wanted_nothing_at_first_may_want_something_later)
APART(a_half_close_is_a_hangup_for_who_wants_to_know)
APART(a_half_close_is_nothing_for_who_waits_for_the_end_alone)
APART(an_error_is_told_as_everything_that_is_wanted)
APART(files_that_epoll_refuses_are_always_ready)
APART(a_file_that_is_not_wanted_lets_the_loop_sleep)
APART(a_deleted_watch_lets_the_loop_sleep_and_its_descriptor_be_watched_anew)
APART(an_event_for_an_earlier_tenant_is_ignored)
APART(a_deleted_watch_hears_nothing_and_may_be_deleted_again)
APART(what_cannot_be_watched_is_refused_and_takes_no_place)
APART(a_full_table_is_told_and_has_room_after_a_delete)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_wanted_is_heard),
		cmocka_unit_test(test_who_wants_nothing_hears_nothing_not_even_the_end),
		cmocka_unit_test(test_who_wanted_nothing_at_first_may_want_something_later),
		cmocka_unit_test(test_a_half_close_is_a_hangup_for_who_wants_to_know),
		cmocka_unit_test(test_a_half_close_is_nothing_for_who_waits_for_the_end_alone),
		cmocka_unit_test(test_an_error_is_told_as_everything_that_is_wanted),
		cmocka_unit_test(test_files_that_epoll_refuses_are_always_ready),
		cmocka_unit_test(test_a_file_that_is_not_wanted_lets_the_loop_sleep),
		cmocka_unit_test(
			test_a_deleted_watch_lets_the_loop_sleep_and_its_descriptor_be_watched_anew),
		cmocka_unit_test(test_an_event_for_an_earlier_tenant_is_ignored),
		cmocka_unit_test(test_a_deleted_watch_hears_nothing_and_may_be_deleted_again),
		cmocka_unit_test(test_what_cannot_be_watched_is_refused_and_takes_no_place),
		cmocka_unit_test(test_a_full_table_is_told_and_has_room_after_a_delete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
