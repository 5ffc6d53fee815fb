/*
 * Sessions as they live: made, extended, ended, reaped, with a clock of the test's own where time
 * has to pass, and real directories.
 */
#include "apart.h"

#include <sys/stat.h>

#include "base/log.h"
#include "bounds.h"
#include "host/root.h"
#include "host/session_dir.h"
#include "host/sessions.h"
#include "host/state_dir.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

static char top[64];
static struct timer later;

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/unit-sessions-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void stop_loop(struct timer *t)
{
	(void)t;
	loop_stop(0);
}

/* The loop for so long: what was deferred and what workers do. */
static void run_for(int64_t ms)
{
	later.fire = stop_loop;
	timer_set(&later, ms);
	loop_run();
}

static void start(void)
{
	log_setup(LOG_ERROR, false);
	CHECK(root_open(top) == 0);
	CHECK(state_dir_setup(NULL) == 0);
	sessions_start(3);
	run_for(1); /* the reaper comes by at once */
}

static struct session *make(int64_t minutes)
{
	struct session *s;

	CHECK(sessions_create(LIT("work"), minutes, &s) == 0);
	CHECK(session_dir_make(s, LIT("{}"), LIT("")) == 0);
	CHECK(session_ready(s));
	return s;
}

static bool has_files(const struct session *s)
{
	char path[PATH_MAX];

	CHECK(session_dir_path(s, "/context/task.json", path, sizeof(path)));
	return access(path, F_OK) == 0;
}

static bool gone_by(const struct session *s, int64_t ms)
{
	for (; ms > 0 && s->files != FILES_GONE; ms -= 10)
		run_for(10);
	return s->files == FILES_GONE && !has_files(s);
}

/* --- the clock --- */

static void ages(void)
{
	char id[SESSION_ID_LEN + 1];
	struct session *a, *b;
	int64_t born;

	start();
	a = make(30);
	b = make(60);
	born = sessions_now();
	memcpy(id, a->id, sizeof(id));
	CHECK(sessions_count() == 2 && sessions_first_end() == a->end);
	sessions_reap(born + 29 * MINUTE);
	CHECK(a->state == SESSION_READY);
	sessions_expire(born + 30 * MINUTE + 1);
	CHECK(a->state == SESSION_EXPIRED && b->state == SESSION_READY && sessions_count() == 1);
	run_for(20);
	CHECK(has_files(a)); /* until the reaper comes */
	sessions_reap(born + 35 * MINUTE);
	CHECK(a->state == SESSION_CLEANED && gone_by(a, 2000));
	CHECK(b->state == SESSION_READY && has_files(b));
	sessions_reap(born + 23 * HOUR);
	CHECK(sessions_find(slice_of(id)) == a);
	sessions_reap(born + 25 * HOUR);
	CHECK(sessions_find(slice_of(id)) == NULL);
}

static void test_the_reaper_with_a_clock_of_its_own(void **state)
{
	(void)state;
	apart(ages);
}

static void ends_by_timer(void)
{
	struct session *s;

	start();
	s = make(1);
	sessions_extend_undo(s, sessions_now() + 150);
	run_for(100);
	CHECK(s->state == SESSION_READY);
	run_for(80);
	CHECK(s->state == SESSION_EXPIRED);
	CHECK(sessions_extend(s, 5) == -ESTALE);
}

static void test_the_end_comes_by_a_timer(void **state)
{
	(void)state;
	apart(ends_by_timer);
}

/* --- visits --- */

static int told;

static void visit_ended(struct session_visit *v)
{
	CHECK(v->ended);
	told++;
}

static int removed;

static void removal_done(struct session_removal *r)
{
	CHECK(r->err == 0);
	removed++;
}

/* Fault 50 */
static void cleaned_while_visited(void)
{
	struct session_visit a = { .end = visit_ended }, b = { .end = visit_ended }, other = a;
	struct session_removal waits = { .done = removal_done }, leaves = waits;
	struct session *s, *t;

	start();
	s = make(30);
	t = make(30);
	session_enter(&a, s);
	session_enter(&other, t);
	session_enter(&b, s);
	CHECK(strcmp(session_status(s), "active") == 0);
	sessions_clean(s);
	sessions_clean(s);
	CHECK(told == 2 && a.ended && b.ended && !other.ended);
	CHECK(session_removal_wait(&waits, s) && session_removal_wait(&leaves, s));
	session_removal_forget(&leaves);
	run_for(50);
	CHECK(has_files(s));
	session_leave(&a);
	session_leave(&a);
	run_for(50);
	CHECK(has_files(s) && removed == 0);
	session_leave(&b);
	CHECK(gone_by(s, 2000));
	run_for(20);
	CHECK(removed == 1 && told == 2);
	CHECK(!session_removal_wait(&waits, s));
	session_leave(&other);
	CHECK(has_files(t));
}

static void test_files_go_when_the_last_visit_is_over(void **state)
{
	(void)state;
	apart(cleaned_while_visited);
}

static void many_at_once(void)
{
	struct session_removal waits[3 * SESSION_REMOVERS];
	struct session *s[COUNT(waits)];

	start();
	for (size_t i = 0; i < COUNT(waits); i++)
		s[i] = make(30);
	for (size_t i = 0; i < COUNT(waits); i++) {
		waits[i] = (struct session_removal){ .done = removal_done };
		sessions_clean(s[i]);
		CHECK(session_removal_wait(&waits[i], s[i]));
	}
	for (size_t i = 0; i < COUNT(waits); i++)
		CHECK(gone_by(s[i], 5000));
	CHECK(removed == COUNT(waits));
}

static void test_more_removals_than_workers(void **state)
{
	(void)state;
	apart(many_at_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_the_reaper_with_a_clock_of_its_own),
		TEST(test_the_end_comes_by_a_timer),
		TEST(test_files_go_when_the_last_visit_is_over),
		TEST(test_more_removals_than_workers),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
