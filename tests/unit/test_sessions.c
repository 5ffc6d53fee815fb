/*
 * Sessions as they live: made, extended, ended, reaped, with a clock of the test's own where time
 * has to pass, and real directories.
 */
#include "apart.h"
#include "fly.h"
#include "top_dir.h"

#include <sys/stat.h>

#include "base/log.h"
#include "bounds.h"
#include "host/root.h"
#include "host/session_dir.h"
#include "host/sessions.h"
#include "host/state_dir.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

static void start(void)
{
	log_setup(LOG_ERROR, false);
	CHECK(root_open(top) == 0);
	CHECK(state_dir_setup(NULL) == 0);
	sessions_start(3);
	run_ms(1); /* the reaper comes by at once */
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

static void wait_gone(const struct session *s)
{
	AWAIT(s->files == FILES_GONE);
	CHECK(!has_files(s));
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
	run_ms(20);
	CHECK(has_files(a)); /* until the reaper comes */
	sessions_reap(born + 35 * MINUTE);
	CHECK(a->state == SESSION_CLEANED);
	wait_gone(a);
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
	time_fly();
	sessions_extend_undo(s, sessions_now() + 150);
	run_ms(149);
	CHECK(s->state == SESSION_READY);
	run_ms(2);
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
	run_ms(50);
	CHECK(has_files(s));
	session_leave(&a);
	session_leave(&a);
	run_ms(50);
	CHECK(has_files(s) && removed == 0);
	session_leave(&b);
	wait_gone(s);
	AWAIT(removed == 1);
	CHECK(told == 2);
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
		wait_gone(s[i]);
	AWAIT(removed == COUNT(waits));
}

static void test_more_removals_than_workers(void **state)
{
	(void)state;
	apart(many_at_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, top_make, top_remove)
		TEST(test_the_reaper_with_a_clock_of_its_own),
		TEST(test_the_end_comes_by_a_timer),
		TEST(test_files_go_when_the_last_visit_is_over),
		TEST(test_more_removals_than_workers),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
