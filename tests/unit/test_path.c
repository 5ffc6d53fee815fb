/*
 * Where the walk of a path ends in real trees, with links of every kind and with somebody who swaps
 * directories meanwhile.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "bounds.h"
#include "host/host.h"
#include "host/path.h"

enum { EXCHANGE = 2, RACE_MS = 400 };

static char top[64]; /* the directory of this run; the root is top/root */

static void in_top(char *mem, const char *path)
{
	snprintf(mem, PATH_MAX, "%s/%s", top, path);
}

static void make_dir(const char *path)
{
	char name[PATH_MAX];

	in_top(name, path);
	assert_int_equal(mkdir(name, 0755), 0);
}

static void make_file(const char *path)
{
	char name[PATH_MAX];
	int fd;

	in_top(name, path);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	assert_true(fd >= 0);
	close(fd);
}

/* "{}" at the start stands for top. */
static void expand(char *mem, const char *text)
{
	if (strncmp(text, "{}", 2) == 0)
		snprintf(mem, PATH_MAX, "%s%s", top, text + 2);
	else
		snprintf(mem, PATH_MAX, "%s", text);
}

static void make_link(const char *target, const char *path)
{
	char name[PATH_MAX], text[PATH_MAX];

	in_top(name, path);
	expand(text, target);
	assert_int_equal(symlink(text, name), 0);
}

static bool same(int dir, const char *name, const char *path)
{
	char want[PATH_MAX];
	struct stat a, b;

	in_top(want, path);
	return fstatat(dir, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && lstat(want, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* given leads to `name` in top/dir. */
static void leads(const char *given, unsigned how, const char *dir, const char *name)
{
	char text[PATH_MAX];
	struct place p;
	int r;

	expand(text, given);
	r = path_find(&p, slice_of(text), how);
	if (r < 0)
		print_error("%s: %s\n", text, strerror(-r));
	assert_int_equal(r, 0);
	assert_string_equal(p.name, name);
	assert_true(same(p.dir, ".", dir));
	place_close(&p);
	assert_int_equal(p.dir, -1);
	place_close(&p);
}

static void fails(const char *given, unsigned how, int err)
{
	char text[PATH_MAX];
	struct place p;

	expand(text, given);
	assert_int_equal(path_find(&p, slice_of(text), how), err);
	assert_int_equal(p.dir, -1);
	place_close(&p);
}

static int build(void **state)
{
	char root[PATH_MAX];
	struct host_config cfg = { root, OUTPUT_DEFAULT };

	(void)state;
	snprintf(top, sizeof(top), "/tmp/sandstorm-path-XXXXXX");
	assert_non_null(mkdtemp(top));
	make_dir("root");
	make_dir("root/d");
	make_dir("root/d/e");
	make_file("root/f");
	make_file("root/d/f");
	make_dir("root2");
	make_file("root2/secret");
	make_link("root", "alias");
	in_top(root, "alias");
	assert_int_equal(host_init(&cfg), 0);
	in_top(root, "root");
	assert_string_equal(host_root(), root);
	return 0;
}

static int clear(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void test_a_path_leads_to_its_directory_and_name(void **state)
{
	(void)state;
	leads("", 0, "root", ".");
	leads("f", 0, "root", "f");
	leads("d/e/", 0, "root/d", "e");
	leads("nope", 0, "root", "nope");
	leads("d/nope", PATH_FOLLOW, "root/d", "nope");
	leads("{}/root/d/f", PATH_FOLLOW, "root/d", "f");
	leads("{}/alias/d/f", PATH_FOLLOW, "root/d", "f");
	leads("{}/alias", PATH_FOLLOW, "root", ".");
	fails("nope/f", PATH_FOLLOW, -ENOENT);
	fails("f/x", PATH_FOLLOW, -ENOTDIR);
	fails("{}/root2/secret", 0, -EXDEV);
	fails("{}", 0, -EXDEV);
	fails("..", 0, -EXDEV);
	fails("/", 0, -EXDEV);
}

static void test_the_text_is_normal_and_as_the_client_gave_it(void **state)
{
	char want[PATH_MAX], given[PATH_MAX];
	struct place p;

	(void)state;
	in_top(want, "root/nope/x");
	assert_int_equal(path_find(&p, LIT("./nope//x/"), 0), -ENOENT);
	assert_string_equal(p.shown, want);
	in_top(want, "alias/f");
	in_top(given, "alias/d/../f");
	assert_int_equal(path_find(&p, slice_of(given), 0), 0);
	assert_string_equal(p.shown, want);
	place_close(&p);
	assert_int_equal(path_find(&p, LIT("/etc/../bin"), 0), -EXDEV);
	assert_string_equal(p.shown, "/bin");
	memset(given, 'x', sizeof(given) - 1);
	given[sizeof(given) - 1] = '\0';
	assert_int_equal(path_find(&p, slice_of(given), 0), -ENAMETOOLONG);
	assert_string_equal(p.shown, "");
}

static void test_links_inside_are_resolved(void **state)
{
	(void)state;
	make_link("f", "root/to-f");
	make_link("d", "root/to-d");
	make_link("../f", "root/d/up-f");
	make_link("to-d/up-f", "root/chain");
	make_link("{}/root/d/f", "root/absolute");
	make_link("{}//alias/./d/e/../f", "root/odd");
	make_link("d/e/..", "root/dots");
	make_link("d/../.", "root/top");
	make_link("{}/root", "root/whole");
	make_link("d/not-yet", "root/dangling");
	make_link("d/e/", "root/slash");
	leads("to-f", 0, "root", "to-f");
	leads("to-f", PATH_FOLLOW, "root", "f");
	leads("to-d/f", 0, "root/d", "f");
	leads("to-d/up-f", PATH_FOLLOW, "root", "f");
	leads("chain", PATH_FOLLOW, "root", "f");
	leads("absolute", PATH_FOLLOW, "root/d", "f");
	leads("odd", PATH_FOLLOW, "root/d", "f");
	leads("dots", PATH_FOLLOW, "root", "d");
	leads("dots/f", PATH_FOLLOW, "root/d", "f");
	leads("top", PATH_FOLLOW, "root", ".");
	leads("top/f", 0, "root", "f");
	leads("whole", PATH_FOLLOW, "root", ".");
	leads("whole/whole/d/f", 0, "root/d", "f");
	leads("dangling", PATH_FOLLOW, "root/d", "not-yet");
	leads("slash", PATH_FOLLOW, "root/d", "e");
	fails("dangling/x", PATH_FOLLOW, -ENOENT);
}

static void test_links_that_lead_outside_are_refused(void **state)
{
	(void)state;
	make_link("..", "root/out1");
	make_link("../root2", "root/out2");
	make_link("{}/root2", "root/out3");
	make_link("/", "root/out4");
	make_link("d/../../root2/secret", "root/out5");
	make_link("{}/root/../root2", "root/out6");
	make_link("../../..", "root/d/out7");
	make_link("/proc/self/cwd", "root/out8");
	fails("out1", PATH_FOLLOW, -EXDEV);
	fails("out1/root/f", PATH_FOLLOW, -EXDEV);
	fails("out2/secret", 0, -EXDEV);
	fails("out3", PATH_FOLLOW, -EXDEV);
	fails("out3/secret", 0, -EXDEV);
	fails("out3/new/deep", PATH_PARENTS, -EXDEV);
	fails("out4/etc/passwd", PATH_FOLLOW, -EXDEV);
	fails("out5", PATH_FOLLOW, -EXDEV);
	fails("out6/secret", PATH_FOLLOW, -EXDEV);
	fails("d/out7/x", PATH_FOLLOW, -EXDEV);
	fails("out8", PATH_FOLLOW, -EXDEV);
	leads("out3", 0, "root", "out3");
	leads("out5", 0, "root", "out5");
}

static void test_links_end_somewhere(void **state)
{
	char name[32], target[32];

	(void)state;
	make_link("loop-b", "root/loop-a");
	make_link("loop-a", "root/loop-b");
	make_link("self/x", "root/self");
	fails("loop-a", PATH_FOLLOW, -ELOOP);
	fails("loop-a/x", 0, -ELOOP);
	fails("self", PATH_FOLLOW, -ELOOP);
	make_file("root/link-0");
	for (int i = 1; i <= LINKS_MAX + 1; i++) {
		snprintf(name, sizeof(name), "root/link-%d", i);
		snprintf(target, sizeof(target), "link-%d", i - 1);
		make_link(target, name);
	}
	snprintf(name, sizeof(name), "link-%d", LINKS_MAX);
	leads(name, PATH_FOLLOW, "root", "link-0");
	snprintf(name, sizeof(name), "link-%d", LINKS_MAX + 1);
	fails(name, PATH_FOLLOW, -ELOOP);
}

static void test_parents_are_made_only_when_asked_for(void **state)
{
	(void)state;
	fails("p/q/r", PATH_FOLLOW, -ENOENT);
	leads("p/q/r", PATH_PARENTS, "root/p/q", "r");
	assert_false(same(AT_FDCWD, ".", "root/p/q/r"));
	make_link("made/by/link", "root/to-made");
	leads("to-made/x", PATH_PARENTS | PATH_FOLLOW, "root/made/by/link", "x");
	fails("f/q/r", PATH_PARENTS, -ENOTDIR);
}

static void test_an_escaped_name_is_found_when_the_literal_one_is_not(void **state)
{
	(void)state;
	make_dir("root/n\nl");
	make_file("root/n\nl/\xff");
	make_file("root/both\\n");
	make_file("root/both\n");
	make_link("n\\nl", "root/to-escaped");
	leads("n\\nl", 0, "root", "n\nl");
	leads("n\\nl/\\xff", PATH_FOLLOW, "root/n\nl", "\xff");
	leads("n\\nl/new\\n", PATH_FOLLOW, "root/n\nl", "new\\n");
	leads("both\\n", 0, "root", "both\\n");
	leads("both\\\\n", 0, "root", "both\\n");
	leads("to-escaped", PATH_FOLLOW, "root", "n\\nl"); /* the text of a link is no client's */
	leads("n\\nl/p/q", PATH_PARENTS, "root/n\nl/p", "q");
}

static void test_a_directory_is_opened_or_made(void **state)
{
	struct place p;
	int fd;

	(void)state;
	fd = path_open_dir(&p, LIT("d/e"), false);
	assert_true(fd >= 0 && same(fd, ".", "root/d/e"));
	close(fd);
	fd = path_open_dir(&p, LIT(""), false);
	assert_true(fd >= 0 && same(fd, ".", "root"));
	close(fd);
	fd = path_open_dir(&p, LIT("new/one"), true);
	assert_true(fd >= 0 && same(fd, ".", "root/new/one"));
	close(fd);
	assert_int_equal(path_open_dir(&p, LIT("nope"), false), -ENOENT);
	assert_int_equal(path_open_dir(&p, LIT("f"), false), -ENOTDIR);
	assert_int_equal(path_open_dir(&p, LIT("f"), true), -ENOTDIR);
	assert_int_equal(path_open_dir(&p, LIT("../root2"), true), -EXDEV);
}

static void test_no_descriptor_stays_open(void **state)
{
	static const char *const paths[] = { "f", "nope/x", "f/x", "d/e", "out2/x", "loop-a",
		"dots/f", "top" };
	int before = open_descriptors();
	struct place p;
	int r;

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		r = path_find(&p, slice_of(paths[i]), PATH_FOLLOW);
		assert_int_equal(r == 0, p.dir >= 0);
		place_close(&p);
	}
	assert_int_equal(open_descriptors(), before);
}

/* In a process of its own: d and the link to root2 change places as fast as they can. */
static pid_t start_swapper(void)
{
	char a[PATH_MAX], b[PATH_MAX];
	pid_t pid;

	in_top(a, "root/race/d");
	in_top(b, "root/race/link");
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, EXCHANGE);
}

/* Whatever is found lies in race/d, or is race/d itself as a name; never in root2. */
static void look_once(const char *given, int *found, int *refused)
{
	struct place p;
	struct stat st, outside;
	char path[PATH_MAX];
	int r = path_find(&p, slice_of(given), PATH_FOLLOW);

	in_top(path, "root2");
	assert_int_equal(stat(path, &outside), 0);
	if (r == 0) {
		assert_int_equal(fstat(p.dir, &st), 0);
		assert_false(st.st_ino == outside.st_ino && st.st_dev == outside.st_dev);
		++*found;
	} else {
		assert_true(r == -EXDEV || r == -ENOTDIR || r == -ENOENT || r == -ELOOP);
		++*refused;
	}
	place_close(&p);
}

static void test_a_swapped_component_never_leads_outside(void **state)
{
	int64_t end = clock_ms() + RACE_MS, late = end + 20 * 1000;
	int found = 0, refused = 0;
	pid_t swapper;

	(void)state;
	make_dir("root/race");
	make_dir("root/race/d");
	make_dir("root/race/d/sub");
	make_file("root/race/d/secret");
	make_link("{}/root2", "root/race/link");
	make_link("d/sub/../secret", "root/race/again");
	swapper = start_swapper();
	while (clock_ms() < end || (!(found && refused) && clock_ms() < late)) {
		look_once("race/d/secret", &found, &refused);
		look_once("race/d/sub/x", &found, &refused);
		look_once("race/again", &found, &refused);
		look_once("race/link/secret", &found, &refused);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	assert_true(found > 0 && refused > 0);
}

static void test_the_machines_root_is_a_root_too(void **state)
{
	struct host_config cfg = { "/", OUTPUT_DEFAULT };
	char path[PATH_MAX];
	struct place p;

	(void)state;
	assert_int_equal(host_init(&cfg), 0);
	assert_string_equal(host_root(), "/");
	make_link("../../../../../../..", "root/way-up");
	in_top(path, "root/way-up/tmp");
	leads("", 0, "../..", ".");
	leads("../..", 0, "../..", ".");
	assert_int_equal(path_find(&p, slice_of(path), PATH_FOLLOW), 0);
	assert_string_equal(p.name, "tmp");
	place_close(&p);
	leads("{}/root/d/f", 0, "root/d", "f");
	leads("{}/root/out4", PATH_FOLLOW, "../..", ".");
}

static void test_a_missing_root_is_made(void **state)
{
	char path[PATH_MAX];
	struct host_config cfg = { path, OUTPUT_MIN };

	(void)state;
	in_top(path, "made/root");
	assert_int_equal(host_init(&cfg), 0);
	assert_string_equal(host_root(), path);
	assert_int_equal(host_max_output(), OUTPUT_MIN);
	in_top(path, "root/f");
	assert_int_equal(host_init(&cfg), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_leads_to_its_directory_and_name),
		cmocka_unit_test(test_the_text_is_normal_and_as_the_client_gave_it),
		cmocka_unit_test(test_links_inside_are_resolved),
		cmocka_unit_test(test_links_that_lead_outside_are_refused),
		cmocka_unit_test(test_links_end_somewhere),
		cmocka_unit_test(test_parents_are_made_only_when_asked_for),
		cmocka_unit_test(test_an_escaped_name_is_found_when_the_literal_one_is_not),
		cmocka_unit_test(test_a_directory_is_opened_or_made),
		cmocka_unit_test(test_no_descriptor_stays_open),
		cmocka_unit_test(test_a_swapped_component_never_leads_outside),
		cmocka_unit_test(test_the_machines_root_is_a_root_too),
		cmocka_unit_test(test_a_missing_root_is_made),
	};

	return cmocka_run_group_tests(tests, build, clear);
}
