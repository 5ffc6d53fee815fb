"""The git tools in a working day: what each does and says, in the words of git."""

import re

import pytest

from githelp import git, host, start  # noqa: F401 (fixtures)


def hashes(text):
    """The text with abbreviated commit ids taken out."""
    return re.sub(r"\b[0-9a-f]{7,10}\b", "HASH", text)


# -- a day -----------------------------------------------------------------------------------------------------------


def test_a_day_with_a_bare_remote_inside_the_root(host, git, workspace):
    """host-tools.md section 4: clone, commit, push, pull, branch, checkout, status, diff, log."""
    git.bare("origin.git", of=git.repository("seed"))
    assert host.text("git_clone", repo_url=f"file://{workspace}/origin.git", path="mine") == \
        f"Cloning into '{workspace}/mine'..."
    assert host.text("git_clone", repo_url="origin.git") == "Cloning into 'origin'...\ndone."
    assert host.text("git_branch", path="mine", name="dev") == ""
    assert host.text("git_checkout", path="mine", branch="dev") == "Switched to branch 'dev'"
    assert host.text("git_diff", path="mine") == "(no changes)"
    (workspace / "mine/f.txt").write_text("two\n")
    (workspace / "mine/new.txt").write_text("new\n")
    status = host.text("git_status", path="mine")
    assert status.startswith("On branch dev\n") and "modified:   f.txt" in status and "new.txt" in status
    assert status.endswith("\n")
    assert "-one\n+two\n" in host.text("git_diff", path="mine")
    assert hashes(host.text("git_commit", path="mine", message="two files")) == \
        "[dev HASH] two files\n 2 files changed, 2 insertions(+), 1 deletion(-)\n create mode 100644 new.txt"
    assert hashes(host.text("git_log", path="mine")) == "HASH two files\nHASH first\n"
    assert hashes(host.text("git_log", path="mine", n=1)) == "HASH two files\n"
    pushed = host.text("git_push", path="mine", branch="dev")
    assert pushed == f"To file://{workspace}/origin.git\n * [new branch]      dev -> dev"
    pulled = host.text("git_pull", path="origin", branch="dev")
    assert pulled.startswith("Updating ") and " * branch            dev        -> FETCH_HEAD" in pulled
    assert (workspace / "origin/new.txt").read_text() == "new\n"
    assert host.text("git_checkout", path="mine", branch="-").endswith("Switched to branch 'main'")


def test_the_branch_list_keeps_its_first_blanks(host, git, workspace):
    """Fault 48: the first line lost its two blanks."""
    git("branch", "aaa", at=git.repository("r"))
    assert host.text("git_branch", path="r") == "  aaa\n* main"


def test_without_a_path_the_root_is_meant(host, git, workspace):
    git("init", "-q")
    (workspace / "f").write_text("x")
    assert "[main (root-commit)" in host.text("git_commit", message="at the root")
    for tool in ("git_status", "git_diff", "git_branch", "git_log"):
        assert host.text(tool) == host.text(tool, path=None) == host.text(tool, path=str(workspace))


def test_a_subdirectory_is_in_its_repository_and_add_takes_everything(host, git, workspace):
    path = git.repository("r", **{"sub/f": "x"})
    (path / "beside").write_text("x")
    assert "beside" in host.text("git_commit", path="r/sub", message="all")
    assert host.text("git_diff", path="r/sub") == "(no changes)"


# -- git_commit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", [
    "-m", "--amend", "first line\n\nbody\nof three", "# no comment", "quotes ' \" $(touch no) `touch no`", "ünï 测试 🎉",
    "a; touch no", "%s %n",
])
def test_messages_are_taken_as_they_are(host, git, workspace, message):
    """host-tools.md section 8: no shell reads them, and none is an option."""
    git.repository("r")
    (workspace / "r/g").write_text("x")
    host.text("git_commit", path="r", message=message)
    assert git("log", "-1", "--format=%B", at=workspace / "r") == message
    assert git("rev-list", "--count", "HEAD", at=workspace / "r") == "2"
    assert not (workspace / "r/no").exists()


@pytest.mark.parametrize("message", ["", " \n\t"])
def test_an_empty_message_is_refused_before_anything_is_staged(host, git, workspace, message):
    git.repository("r")
    (workspace / "r/g").write_text("x")
    assert host.failure("git_commit", path="r", message=message) == \
        "Invalid arguments for git_commit: message: must not be empty"
    assert "?? g" in git("status", "--short", at=workspace / "r")


def test_nothing_to_commit_is_an_error_in_gits_words(host, git, workspace):
    git.repository("r")
    assert host.failure("git_commit", path="r", message="x") == "On branch main\nnothing to commit, working tree clean"


def test_a_commit_without_an_identity_says_who_are_you(start, git, workspace):
    """G6: fresh containers, HOME unset as well."""
    path = git.repository("r")
    (path / "g").write_text("x")
    git.configure("[safe]\n\tdirectory = *\n[user]\n\tuseConfigOnly = true\n")
    assert "Please tell me who you are" in start().failure("git_commit", path="r", message="x")
    s = start(env={"HOME": None, "GIT_CONFIG_GLOBAL": str(git.home / ".gitconfig")})
    assert "Please tell me who you are" in s.failure("git_commit", path="r", message="x")
    s = start(env={"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A",
                   "GIT_COMMITTER_EMAIL": "a@b"})
    assert "1 file changed" in s.text("git_commit", path="r", message="x")


# -- git_log, git_diff -----------------------------------------------------------------------------------------------


def test_the_log_has_ten_lines_or_as_many_as_asked_for(host, git, workspace):
    path = git.repository("r")
    for n in range(104):
        git("commit", "-q", "--allow-empty", "-m", f"number {n}", at=path)
    def count(**arguments):
        return host.text("git_log", path="r", **arguments).count("\n")
    assert count() == count(n=None) == count(n=0) == count(n="0") == 10
    assert [count(n=n) for n in (1, 3, 100, 101, 10**9)] == [1, 3, 100, 100, 100]
    assert host.notes("git_log", path="r", n=101) == ["n was limited to 100"]
    assert host.notes("git_log", path="r", n=100) == []


@pytest.mark.parametrize("n, rule", [(-1, "must not be negative"), (-10**18, "must not be negative"),
                                     (1.5, "must be an integer"), (10**30, "is out of range")])
def test_a_number_that_cannot_be_is_refused_by_name(host, git, n, rule):
    """Fault 49: -1 was answered with "fatal: unrecognized argument: --1" as a success."""
    git.repository("r")
    assert host.failure("git_log", path="r", n=n) == f"Invalid arguments for git_log: n: {rule}"


def test_the_diff_shows_what_is_not_staged(host, git, workspace):
    path = git.repository("r", **{"a": "1\n", "b": "1\n"})
    (path / "a").write_text("2\n")
    (path / "b").write_text("2\n")
    git("add", "b", at=path)
    diff = host.text("git_diff", path="r")
    assert diff.startswith("diff --git a/a b/a\n") and diff.endswith("-1\n+2\n") and "b/b" not in diff


def test_a_binary_file_is_told_in_one_line(host, git, workspace):
    """G8."""
    path = git.repository("r")
    (path / "x").write_bytes(bytes(range(256)))
    git("add", "-A", at=path)
    git("commit", "-qm", "x", at=path)
    (path / "x").write_bytes(bytes(range(255, -1, -1)))
    assert "Binary files a/x and b/x differ" in host.text("git_diff", path="r")


def test_a_huge_diff_is_bounded_and_comes_after_its_list_of_files(host, git, workspace):
    """G8: a generated file of 5 MB."""
    path = git.repository("r", **{"big": "a line of the old file\n" * 120000, "small": "1\n"})
    (path / "big").write_text("".join(f"line {n} of the new file\n" for n in range(200000)))
    (path / "small").write_text("2\n")
    host.patience = 30
    text = host.text("git_diff", path="r")
    assert re.match(r" ?big   \| \d+ [+-]+\n small \| +2 \+-\n 2 files changed, .*\n\ndiff --git a/big b/big\n", text), text[:300]
    assert " bytes omitted of " in text and len(text) < 1100000
    assert text.endswith("-1\n+2")


# -- errors of git ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["git_status", "git_diff", "git_log", "git_branch"])
def test_outside_a_repository_git_says_so_and_it_is_an_error(host, workspace, tool):
    """Fault 44: git_diff said "(no changes)"."""
    assert host.failure(tool).startswith("fatal: not a git repository")
    assert host.failure(tool).count("\n") <= 1


CALLS = [("git_status", {}), ("git_diff", {}), ("git_log", {}), ("git_branch", {}), ("git_branch", {"name": "b"}),
         ("git_checkout", {"branch": "b"}), ("git_commit", {"message": "m"}), ("git_push", {}), ("git_pull", {})]


@pytest.mark.parametrize("tool, arguments", CALLS)
def test_a_missing_directory_is_an_error_and_is_not_made(host, workspace, tool, arguments):
    """Fault 44: it was created."""
    (workspace / "file").write_text("x")
    assert host.failure(tool, path="no/where", **arguments) == f"Error: {workspace}/no/where: No such file or directory"
    assert host.failure(tool, path="file", **arguments) == f"Error: {workspace}/file: Not a directory"
    assert host.failure(tool, path="..", **arguments) == f'Path ".." is outside the allowed directory ({workspace})'
    assert [p.name for p in workspace.iterdir()] == ["file"]


@pytest.mark.parametrize("tool, arguments", CALLS + [("git_clone", {"repo_url": "https://127.0.0.1:1/x"})])
def test_without_git_one_sentence_says_what_is_missing(start, workspace, tmp_path, tool, arguments):
    """G10."""
    (tmp_path / "empty").mkdir()
    s = start(env={"PATH": str(tmp_path / "empty")})
    assert s.failure(tool, **arguments) == "git is not installed here"
    assert list(workspace.iterdir()) == []


def test_a_git_that_cannot_be_run_is_told(start, workspace, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_bytes(b"\x7fELF no program")
    (tmp_path / "bin/git").chmod(0o755)
    assert start(env={"PATH": str(tmp_path / "bin")}).failure("git_status") == "cannot start git: Exec format error"


def test_a_repository_of_another_user_is_told_in_gits_words(start, git, workspace):
    """safe.directory: the remedy stands in git's own text."""
    git.repository("r")
    git.configure("")
    s = start(env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    text = s.failure("git_status", path="r")
    assert "dubious ownership" in text and "safe.directory" in text
