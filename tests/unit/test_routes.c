/*
 * The two tables of what is known of the master: as they are (routes.txt, so that a change is
 * seen), and as a SANDSTORM_ROUTES file corrects them.
 */
#include "unit.h"

#include <errno.h>

#include "base/file.h"
#include "bounds.h"
#include "proxy/proxy.h"
#include "proxy/routes.h"

#define GOLDEN "tests/unit/routes.txt"

static int reset(void **state)
{
	(void)state;
	routes_reset();
	return 0;
}

/* --- the tables --- */

static const char *const limits[] = {
	[LIMIT_SHORT] = "short",
	[LIMIT_EXEC] = "exec",
	[LIMIT_EVAL] = "eval",
	[LIMIT_SLOW] = "slow",
	[LIMIT_SPAWN] = "spawn",
	[LIMIT_PING] = "ping",
	[LIMIT_VERSION] = "version",
};

static void put_members(struct buf *b, const struct route *r)
{
	struct member m;
	size_t at = 0;

	while (route_member(r, &at, &m))
		buf_printf(b, " %.*s=%.*s", SLICE(m.arg), SLICE(m.names));
}

static void put_row(struct buf *b, const char *tool)
{
	const struct route *r = route_named(slice_of(tool));
	size_t at;

	if (!r) {
		buf_printf(b, "%s: no row\n", tool);
		return;
	}
	buf_printf(b, "%s: %s %s, %s, %s%s%s\n", tool, r->method, r->path, limits[r->limit],
		r->flags & ROUTE_INSIDE ? "both tokens" : "API token",
		r->flags & ROUTE_ACTS ? ", goes on" : "", r->flags & ROUTE_EMPTY ? ", {}" : "");
	at = b->len;
	put_members(b, r);
	if (b->len > at)
		buf_puts(b, "\n");
}

static void put_tables(struct buf *b)
{
	for (const struct tool *const *group = sandbox_toolset.groups; *group; group++)
		for (const struct tool *t = *group; t->name; t++)
			put_row(b, t->name);
	put_row(b, "version");
	for (int n = 0; n < NAMES_COUNT; n++)
		buf_printf(
			b, "%s = %.*s\n", names_key((enum names)n), SLICE(names_of((enum names)n)));
}

static void test_the_tables_are_those_of_the_golden_file(void **state)
{
	struct buf is = unit_buf(16 * KIB), golden = unit_buf(16 * KIB);

	(void)state;
	put_tables(&is);
	assert_int_equal(read_file(GOLDEN, &golden), 0);
	if (!slice_eq(buf_all(&is), buf_all(&golden)))
		fprintf(stderr, "%s should be:\n%.*s", GOLDEN, SLICE(buf_all(&is)));
	assert_true(slice_eq(buf_all(&is), buf_all(&golden)));
	buf_release(&is);
	buf_release(&golden);
}

static void test_the_rows_that_only_read_come_one_after_the_other(void **state)
{
	char mem[256];
	struct buf b;

	(void)state;
	buf_over(&b, mem, sizeof(mem) - 1);
	for (const struct route *r = route_next_read(NULL); r; r = route_next_read(r))
		buf_printf(&b, "%s ", r->tool);
	mem[b.len] = '\0';
	assert_string_equal(
		mem, "list_templates list_snapshots list_sandboxes get_sandbox version ");
}

static void test_states_are_compared_without_case(void **state)
{
	(void)state;
	assert_true(names_have(NAMES_STARTED, LIT("Running")));
	assert_true(names_have(NAMES_FAILED, LIT("DEAD")));
	assert_false(names_have(NAMES_STARTED, LIT("run")));
	assert_false(names_have(NAMES_STARTED, LIT("")));
	assert_false(names_have(NAMES_STARTED, LIT("running hot")));
}

static void test_of_several_names_each_can_be_asked_for(void **state)
{
	struct slice names = route_wire(route_of("spawn_sandboxes"), "tag");

	(void)state;
	assert_int_equal(wire_count(names), 3);
	assert_slice(wire_name(names, 0), "snapshot_tag");
	assert_slice(wire_name(names, 1), "tag");
	assert_slice(wire_name(names, 2), "snapshot");
	assert_slice(wire_name(names, 3), "snapshot");
	assert_int_equal(wire_count(route_wire(route_of("ping_sandbox"), "tag")), 0);
}

/* --- corrections --- */

static char text[ROUTES_FILE_MAX + 1]; /* kept by what is corrected */

static int correct(const char *lines, int *line, const char **why)
{
	size_t n = strlen(lines);

	memcpy(text, lines, n);
	return routes_correct(text, n, line, why);
}

static void corrects(const char *lines)
{
	const char *why;
	int line;

	assert_int_equal(correct(lines, &line, &why), 0);
	assert_null(why);
}

static void refuses(const char *lines, int where, const char *part)
{
	const char *why = NULL;
	int line = 0;

	routes_reset();
	assert_int_equal(correct(lines, &line, &why), -EBADMSG);
	assert_int_equal(line, where);
	if (!strstr(why, part))
		fprintf(stderr, "%s\n", why);
	assert_non_null(strstr(why, part));
}

static const char *members(const char *tool)
{
	static char mem[512];
	struct buf b;

	buf_over(&b, mem, sizeof(mem) - 1);
	put_members(&b, route_of(tool));
	mem[b.len] = '\0';
	return mem;
}

static void test_a_line_changes_method_and_path_of_its_row_alone(void **state)
{
	(void)state;
	corrects("# a comment\n\n  touch_sandbox\tPUT /v2/boxes/{id}/wake?fast=1 \r\n"
		 "version GET /v1/version");
	assert_string_equal(route_of("touch_sandbox")->method, "PUT");
	assert_string_equal(route_of("touch_sandbox")->path, "/v2/boxes/{id}/wake?fast=1");
	assert_string_equal(route_of("version")->path, "/v1/version");
	assert_string_equal(route_of("get_sandbox")->path, "/v1/sandboxes/{id}");
	assert_int_equal(route_of("touch_sandbox")->limit, LIMIT_SLOW);
}

static void test_members_are_changed_dropped_and_added(void **state)
{
	(void)state;
	corrects("spawn_sandboxes POST /v1/sandboxes tag=from n= template=image|template\n"
		 "exec_command POST /v1/exec sandbox_id=id args=argv\n");
	assert_string_equal(members("spawn_sandboxes"),
		" template=image|template tag=from n= memory_limit_mib=memory_limit_mib "
		"per_child_netns=per_child_netns prewarm=prewarm live_fork=live_fork");
	assert_string_equal(
		members("exec_command"), " args=argv timeout_secs=timeout_secs sandbox_id=id");
	assert_int_equal(route_wire(route_of("spawn_sandboxes"), "n").n, 0);
}

static void test_a_later_line_for_a_row_replaces_the_earlier(void **state)
{
	(void)state;
	corrects("branch_sandbox POST /a/{id} tag=name\nbranch_sandbox POST /b/{id}\n");
	assert_string_equal(route_of("branch_sandbox")->path, "/b/{id}");
	assert_slice(route_wire(route_of("branch_sandbox"), "tag"), "tag");
}

static void test_lists_are_replaced(void **state)
{
	(void)state;
	corrects("started = UP  ready\nheader = x-box-token\n");
	assert_true(names_have(NAMES_STARTED, LIT("up")));
	assert_true(names_have(NAMES_STARTED, LIT("ready")));
	assert_false(names_have(NAMES_STARTED, LIT("running")));
	assert_slice(names_of(NAMES_HEADER), "x-box-token");
	assert_slice(names_of(NAMES_TOKEN), "token");
}

static void test_a_fault_is_told_with_its_line_and_the_remedy(void **state)
{
	(void)state;
	refuses("list_templates GET /v1/t\nlist_template GET /v1/t\n", 2, "a tool's name");
	refuses("wait_for_text POST /v1/x", 1, "exec_command");
	refuses("list_templates get /v1/t", 1, "GET, POST, PUT");
	refuses("list_templates", 1, "GET, POST, PUT");
	refuses("list_templates GET", 1, "begins with /");
	refuses("list_templates GET v1/t", 1, "begins with /");
	refuses("list_templates GET /v1/t#x", 1, "begins with /");
	refuses("list_templates GET /v1/caf\xc3\xa9", 1, "begins with /");
	refuses("list_templates GET /v1/{id}", 1, "{id} or {tag}");
	refuses("get_sandbox GET /v1/{tag}", 1, "{id} or {tag}");
	refuses("get_sandbox GET /v1/{id", 1, "{id} or {tag}");
	refuses("get_sandbox GET /v1/id}", 1, "{id} or {tag}");
	refuses("get_sandbox GET /v1/{id} sandbox_id=id", 1, "no body");
	refuses("exec_command POST /v1/{id} args", 1, "ARGUMENT=NAME");
	refuses("exec_command POST /v1/{id} argv=args", 1, "no such argument");
	refuses("exec_command POST /v1/{id} args=\"x\"", 1, "letters, digits");
	refuses("exec_command POST /v1/{id} args=a||b", 1, "letters, digits");
	refuses("version POST /version x=y", 1, "no such argument");
	refuses("states = up", 1, "the lists are");
	refuses("started =", 1, "at least one word");
	refuses("header = x:y", 1, "letters, digits");
	refuses("header = x-a x-b", 1, "one word");
}

static void test_no_byte_beyond_the_text_is_needed(void **state)
{
	const char *why;
	int line;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "version GET /v", 14);
	assert_int_equal(routes_correct(text, 14, &line, &why), 0);
	assert_string_equal(route_of("version")->path, "/v");
	assert_int_equal(text[15], 'x');
	assert_int_equal(routes_correct(text, 0, &line, &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_tables_are_those_of_the_golden_file, reset),
		cmocka_unit_test_setup(
			test_the_rows_that_only_read_come_one_after_the_other, reset),
		cmocka_unit_test_setup(test_states_are_compared_without_case, reset),
		cmocka_unit_test_setup(test_of_several_names_each_can_be_asked_for, reset),
		cmocka_unit_test_setup(test_a_line_changes_method_and_path_of_its_row_alone, reset),
		cmocka_unit_test_setup(test_members_are_changed_dropped_and_added, reset),
		cmocka_unit_test_setup(test_a_later_line_for_a_row_replaces_the_earlier, reset),
		cmocka_unit_test_setup(test_lists_are_replaced, reset),
		cmocka_unit_test_setup(test_a_fault_is_told_with_its_line_and_the_remedy, reset),
		cmocka_unit_test_setup(test_no_byte_beyond_the_text_is_needed, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
