/*
 * Jobs: the table, waiting, and every way in which a wait can end.
 */
#include "apart.h"

#include "bounds.h"
#include "mcp/job.h"

enum { OUTPUT = 4 * KIB };

/* What happened, a letter each: r resumed, c asked to end, u cleaned up, f finished. */
static char story[32];

static void tell(char letter)
{
	size_t n = strlen(story);

	assert_true(n + 1 < sizeof(story));
	story[n] = letter;
}

static void on_finish(struct job *j)
{
	tell('f');
	job_free(j);
	loop_stop(0);
}

static void on_cancel(struct job *j)
{
	(void)j;
	tell('c');
}

static void on_cleanup(struct job *j)
{
	(void)j;
	tell('u');
}

static enum step resumed(struct job *j)
{
	(void)j;
	tell('r');
	return STEP_DONE;
}

static struct job *fresh(void)
{
	struct job *j = job_new(NULL, NULL);

	assert_non_null(j);
	j->finish = on_finish;
	j->cleanup = on_cleanup;
	memset(story, 0, sizeof(story));
	return j;
}

/* A job that waits for something that can be asked to end. */
static struct job *waiting(void)
{
	struct job *j = fresh();

	j->cancel = on_cancel;
	job_stepped(j, job_wait(j, resumed));
	return j;
}

static struct job *napping(int64_t ms)
{
	struct job *j = fresh();

	job_stepped(j, job_nap(j, ms, resumed));
	return j;
}

/* Runs what is queued, without waiting for anything. */
static void run_tasks(void)
{
	loop_stop(0);
	loop_run();
}

static void free_each(struct job *j, void *ctx)
{
	(void)ctx;
	job_free(j);
}

static int empty_table(void **state)
{
	(void)state;
	job_each(free_each, NULL);
	run_tasks();
	return job_count();
}

static int start(void **state)
{
	(void)state;
	return loop_init() < 0 || jobs_init(OUTPUT) < 0;
}

/* --- the table --- */

static void test_when_all_slots_are_taken_one_spare_is_left(void **state)
{
	struct job *first = job_new(NULL, NULL), *spare;

	(void)state;
	for (int i = 1; i < JOBS_MAX; i++)
		assert_non_null(job_new(NULL, NULL));
	assert_null(job_new(NULL, NULL));
	spare = job_new_spare(NULL, NULL);
	assert_true(spare->spare && !first->spare);
	assert_null(job_new_spare(NULL, NULL));
	assert_int_equal(job_count(), JOBS_MAX + 1);
	job_free(first);
	assert_ptr_equal(job_new(NULL, NULL), first);
	job_free(spare);
	assert_ptr_equal(job_new_spare(NULL, NULL), spare);
	assert_true(spare->spare);
}

static void test_the_lowest_free_slot_is_taken_so_that_few_stay_warm(void **state)
{
	struct job *a = job_new(NULL, NULL), *b = job_new(NULL, NULL), *c = job_new(NULL, NULL);

	(void)state;
	job_free(c);
	job_free(a);
	assert_ptr_equal(job_new(NULL, NULL), a);
	assert_ptr_equal(job_new(NULL, NULL), c);
	job_free(b);
}

static void test_a_slot_comes_back_empty_and_wiped(void **state)
{
	struct job *j = fresh();
	const char *text = j->text.p;

	(void)state;
	buf_puts(&j->text, "a secret");
	buf_puts(&j->out, "an answer");
	j->muted = j->gone = j->stopped = j->batch_ok = j->failed = true;
	job_free(j);
	assert_ptr_equal(job_new(NULL, NULL), j);
	assert_ptr_equal(j->text.p, text);
	assert_memory_equal(text, "\0\0\0\0\0\0\0\0", 8);
	assert_true(j->text.len == 0 && j->out.len == 0 && j->mem.len == 0);
	assert_false(j->muted || j->gone || j->stopped || j->batch_ok || j->failed);
	assert_true(j->batch_at == -1 && !j->cancel && !j->cleanup && !j->state);
}

static void test_a_cold_slot_keeps_no_memory(void **state)
{
	struct job *j = NULL;
	const char *text;

	(void)state;
	for (int i = 0; i <= JOBS_WARM; i++)
		j = job_new(NULL, NULL);
	text = j->text.p;
	buf_puts(&j->text, "text");
	assert_true(unit_readable(text));
	job_free(j);
	assert_false(unit_readable(text));
}

static void test_the_reply_has_room_for_two_streams_of_the_worst_text(void **state)
{
	struct job *j = fresh();

	(void)state;
	assert_int_equal(j->out.max, 2 * 6 * OUTPUT + REPLY_EXTRA);
	assert_int_equal(j->text.max, REQUEST_MAX);
}

static void test_state_is_zeroed_and_refused_when_scratch_is_used_up(void **state)
{
	struct job *j = fresh();
	const char *s = job_state(j, 100);

	(void)state;
	assert_ptr_equal(j->state, s);
	for (int i = 0; i < 100; i++)
		assert_int_equal(s[i], 0);
	assert_null(job_state(j, SCRATCH_MAX));
	assert_null(j->state);
}

static void count_one(struct job *j, void *ctx)
{
	assert_true(j->used);
	++*(int *)ctx;
}

static void test_each_used_job_is_seen_once_the_spare_too(void **state)
{
	struct job *a = job_new(NULL, NULL);
	int n = 0;

	(void)state;
	job_new(NULL, NULL);
	job_new_spare(NULL, NULL);
	job_free(a);
	job_each(count_one, &n);
	assert_int_equal(n, 2);
	assert_int_equal(job_count(), 2);
}

/* Without room for more the first slot and the spare still serve, one message after the other. */
static void little_address_space(void)
{
	struct job *j;

	CHECK(jobs_init(OUTPUT) == 0);
	apart_without(SYS_mmap, ENOMEM);
	j = job_new(NULL, NULL);
	CHECK(j != NULL);
	CHECK(job_new(NULL, NULL) == NULL);
	CHECK(job_new_spare(NULL, NULL) != NULL);
	job_free(j);
	CHECK(job_new(NULL, NULL) == j);
}

static void test_without_address_space_one_slot_and_the_spare_are_there(void **state)
{
	(void)state;
	apart(little_address_space);
}

/* --- waiting --- */

static void test_a_woken_job_goes_on_from_the_loop_not_at_once(void **state)
{
	struct job *j = waiting();

	(void)state;
	run_tasks();
	assert_string_equal(story, "");
	job_wake(j);
	job_wake(j);
	assert_string_equal(story, "");
	run_tasks();
	assert_string_equal(story, "ruf");
	assert_int_equal(job_count(), 0);
}

static void test_a_nap_lasts_as_long_as_asked(void **state)
{
	int64_t began = loop_now();

	(void)state;
	napping(5);
	loop_run();
	assert_string_equal(story, "ruf");
	assert_true(loop_now() - began >= 5);
}

static enum step second(struct job *j)
{
	tell('2');
	return resumed(j);
}

static enum step first(struct job *j)
{
	tell('1');
	return job_nap(j, 0, second);
}

static void test_a_step_may_wait_again_and_clean_up_comes_once_at_the_end(void **state)
{
	struct job *j = fresh();

	(void)state;
	job_stepped(j, job_nap(j, 0, first));
	loop_run();
	assert_string_equal(story, "12ruf");
}

static void test_a_step_that_is_done_at_once_is_finished_at_once(void **state)
{
	struct job *j = fresh();

	(void)state;
	job_stepped(j, STEP_DONE);
	assert_string_equal(story, "uf");
	assert_int_equal(job_count(), 0);
}

/* --- ending a wait --- */

static void test_a_cancelled_nap_ends_without_going_on(void **state)
{
	struct job *j = napping(60 * 1000);

	(void)state;
	job_cancel(j);
	assert_string_equal(story, "");
	run_tasks();
	assert_string_equal(story, "uf");
}

/* The hook only asks: the job lives until what it waits for has reported. */
static void test_cancelled_work_is_asked_to_end_and_waited_for(void **state)
{
	struct job *j = waiting();

	(void)state;
	job_cancel(j);
	assert_true(j->muted);
	run_tasks();
	assert_string_equal(story, "c");
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "cuf");
}

static void test_work_is_asked_to_end_only_once(void **state)
{
	struct job *j = waiting();

	(void)state;
	job_cancel(j);
	job_cancel(j);
	job_stop(j);
	job_abandon(j);
	run_tasks();
	assert_string_equal(story, "c");
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "cuf");
}

/* Its child is over and may be gone from memory as soon as the job goes on. */
static void test_work_that_has_ended_is_not_asked_to_end(void **state)
{
	struct job *j = waiting();

	(void)state;
	job_wake(j);
	job_cancel(j);
	job_stop(j);
	assert_string_equal(story, "");
	assert_true(j->muted);
	run_tasks();
	assert_string_equal(story, "uf");
}

static void test_a_nap_that_is_over_can_still_be_cancelled(void **state)
{
	struct job *j = napping(0);

	(void)state;
	j->nap.fire(&j->nap); /* the loop's turn has come this far */
	job_cancel(j);
	run_tasks();
	assert_string_equal(story, "uf");
	assert_int_equal(job_count(), 0);
}

static enum step undoing(struct job *j)
{
	tell('x');
	return job_wait(j, resumed);
}

static void test_what_must_be_undone_is_undone_before_a_cancelled_job_ends(void **state)
{
	struct job *j = napping(60 * 1000);

	(void)state;
	j->undo = undoing;
	job_cancel(j);
	run_tasks();
	assert_string_equal(story, "x");
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "xuf");
}

static void test_it_is_undone_also_when_the_work_had_just_ended(void **state)
{
	struct job *j = waiting();

	(void)state;
	j->undo = undoing;
	job_wake(j);
	job_cancel(j);
	run_tasks();
	assert_string_equal(story, "x");
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "xuf");
}

static void test_nothing_is_undone_of_a_job_that_ends_well(void **state)
{
	struct job *j = waiting();

	(void)state;
	j->undo = undoing;
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "ruf");
}

static void test_a_stopped_job_ends_without_going_on_and_says_so(void **state)
{
	struct job *j = waiting();

	(void)state;
	job_stop(j);
	assert_true(j->stopped && !j->muted);
	assert_string_equal(story, "c");
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "cuf");
}

static void test_an_abandoned_job_ends_for_good(void **state)
{
	struct job *j = waiting();

	(void)state;
	job_abandon(j);
	assert_true(j->gone && j->muted);
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "cuf");
}

static void test_a_job_that_does_not_wait_is_only_marked(void **state)
{
	struct job *j = fresh();

	(void)state;
	j->cancel = on_cancel;
	job_cancel(j);
	job_stop(j);
	run_tasks();
	assert_string_equal(story, "");
	assert_true(j->muted && j->stopped);
}

static void test_the_hook_of_one_wait_is_not_that_of_the_next(void **state)
{
	struct job *j = fresh();

	(void)state;
	j->cancel = on_cancel;
	job_stepped(j, job_wait(j, first));
	job_wake(j);
	run_tasks();
	assert_string_equal(story, "1");
	job_cancel(j); /* a nap now */
	run_tasks();
	assert_string_equal(story, "1uf");
}

static void test_all_can_be_stopped_together(void **state)
{
	struct job *a = waiting(), *b = waiting();

	(void)state;
	job_stop_all();
	assert_string_equal(story, "cc");
	job_wake(b);
	job_wake(a);
	run_tasks();
	assert_string_equal(story, "ccufuf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a slot keeps the address space it once had */
		cmocka_unit_test(test_without_address_space_one_slot_and_the_spare_are_there),
		cmocka_unit_test(test_when_all_slots_are_taken_one_spare_is_left),
		cmocka_unit_test(test_the_lowest_free_slot_is_taken_so_that_few_stay_warm),
		cmocka_unit_test(test_a_slot_comes_back_empty_and_wiped),
		cmocka_unit_test(test_a_cold_slot_keeps_no_memory),
		cmocka_unit_test(test_the_reply_has_room_for_two_streams_of_the_worst_text),
		cmocka_unit_test(test_state_is_zeroed_and_refused_when_scratch_is_used_up),
		cmocka_unit_test(test_each_used_job_is_seen_once_the_spare_too),
		cmocka_unit_test(test_a_woken_job_goes_on_from_the_loop_not_at_once),
		cmocka_unit_test(test_a_nap_lasts_as_long_as_asked),
		cmocka_unit_test(test_a_step_may_wait_again_and_clean_up_comes_once_at_the_end),
		cmocka_unit_test(test_a_step_that_is_done_at_once_is_finished_at_once),
		cmocka_unit_test(test_a_cancelled_nap_ends_without_going_on),
		cmocka_unit_test(test_cancelled_work_is_asked_to_end_and_waited_for),
		cmocka_unit_test(test_work_is_asked_to_end_only_once),
		cmocka_unit_test(test_work_that_has_ended_is_not_asked_to_end),
		cmocka_unit_test(test_a_nap_that_is_over_can_still_be_cancelled),
		cmocka_unit_test(test_what_must_be_undone_is_undone_before_a_cancelled_job_ends),
		cmocka_unit_test(test_it_is_undone_also_when_the_work_had_just_ended),
		cmocka_unit_test(test_nothing_is_undone_of_a_job_that_ends_well),
		cmocka_unit_test(test_a_stopped_job_ends_without_going_on_and_says_so),
		cmocka_unit_test(test_an_abandoned_job_ends_for_good),
		cmocka_unit_test(test_a_job_that_does_not_wait_is_only_marked),
		cmocka_unit_test(test_the_hook_of_one_wait_is_not_that_of_the_next),
		cmocka_unit_test(test_all_can_be_stopped_together),
	};
	struct CMUnitTest with_teardown[COUNT(tests)];

	for (size_t i = 0; i < COUNT(tests); i++) {
		with_teardown[i] = tests[i];
		with_teardown[i].teardown_func = empty_table;
	}
	return cmocka_run_group_tests(with_teardown, start, NULL);
}
