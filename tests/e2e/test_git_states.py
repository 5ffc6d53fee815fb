"""Repositories in every state, configurations of every taste: the git tools neither hang nor hide what git says."""

import os
import time

import pytest

from githelp import git, host, program, start  # noqa: F401 (fixtures)
from mcpwire import wait_until
from process import busy

COLOURS = """[color]
\tui = always
\tstatus = always
\tdiff = always
\tbranch = always
\tadvice = always
\tremote = always
\tpush = always
\ttransport = always
[column]
\tui = always
\tbranch = always
\tstatus = always
"""


# -- states ----------------------------------------------------------------------------------------------------------


def test_an_empty_repository(host, git, workspace):
    """Issue 5: nothing was committed yet."""
    git("init", "-q", "r")
    assert "No commits yet" in host.text("git_status", path="r")
    assert host.text("git_diff", path="r") == "(no changes)"
    assert host.text("git_branch", path="r") == ""
    assert "does not have any commits yet" in host.failure("git_log", path="r")
    assert "src refspec main does not match any" in host.failure("git_push", path="r", remote="/no/../" + str(workspace / "r"),
                                                                 branch="main")
    (workspace / "r/f").write_text("x")
    assert "(root-commit)" in host.text("git_commit", path="r", message="first")


def test_a_detached_head(host, git, workspace):
    """G5: a commit, a tag, and "-" for the way back."""
    path = git.repository("r")
    git("tag", "v1", at=path)
    git.commit(path, "second", g="x")
    git.bare("origin.git", of=path)
    git("remote", "add", "origin", workspace / "origin.git", at=path)
    assert "HEAD is now at" in host.text("git_checkout", path="r", branch=git("rev-parse", "HEAD~1", at=path))
    assert host.text("git_status", path="r").startswith("HEAD detached at ")
    assert host.text("git_branch", path="r").startswith("* (HEAD detached at ")
    assert "You are not currently on a branch." in host.failure("git_push", path="r")
    assert "Switched to branch 'main'" in host.text("git_checkout", path="r", branch="-")
    assert "HEAD is now at" in host.text("git_checkout", path="r", branch="v1")
    assert "Previous HEAD position was" in host.text("git_checkout", path="r", branch="main~0")
    (path / "new").write_text("x")
    assert host.text("git_commit", path="r", message="on no branch").startswith("[detached HEAD ")


NAMES = ["café.txt", "测试.txt", "a b", 'q"x', "e\u0301", "🎉", "new\\nline", "-rf"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_as_they_are(host, git, workspace, name):
    """G2: octal escapes cannot be given back."""
    path = git.repository("r")
    (path / name).write_text("x\n")
    shown = name.replace("\\", "\\\\").replace('"', '\\"')
    assert shown in host.text("git_status", path="r")
    assert shown in host.text("git_commit", path="r", message=f"add {name}")
    (path / name).write_text("y\n")
    assert shown in host.text("git_diff", path="r")
    assert f"add {name}" in host.text("git_log", path="r")


def test_a_rename_is_shown_as_one(host, git, workspace):
    """G8."""
    path = git.repository("r", **{"old.txt": "line\n" * 50})
    git("mv", "old.txt", "new name.txt", at=path)
    assert 'renamed:    old.txt -> new name.txt' in host.text("git_status", path="r")
    assert "rename old.txt => new name.txt (100%)" in host.text("git_commit", path="r", message="moved")


def test_a_submodule_is_shown_and_left_alone(host, git, workspace):
    """G8."""
    sub, path = git.repository("sub"), git.repository("r")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "inner", at=path)
    git("commit", "-qm", "with a submodule", at=path)
    git.commit(path / "inner", "deeper", g="x")
    assert "modified:   inner (new commits)" in host.text("git_status", path="r")
    assert "+Subproject commit " in host.text("git_diff", path="r")
    assert "deeper" in host.text("git_log", path="r/inner")


def test_a_work_tree_of_its_own(host, git, workspace):
    git("worktree", "add", "-q", "-b", "dev", workspace / "beside", at=git.repository("r"))
    assert host.text("git_status", path="beside").startswith("On branch dev\n")


def test_a_shallow_repository(host, git, workspace):
    path = git.repository("seed")
    git.commit(path, "second", g="x")
    git("clone", "-q", "--depth", "1", f"file://{path}", "r")
    assert host.text("git_log", path="r").count("\n") == 1
    assert "Already up to date." in host.text("git_pull", path="r")


def test_a_bare_repository_has_no_work_tree(host, git):
    git.bare("b.git", of=git.repository("r"))
    assert "must be run in a work tree" in host.failure("git_status", path="b.git")
    assert host.text("git_log", path="b.git").endswith(" first\n")


def diverged(git, workspace, **theirs):
    """mine and yours, each with a commit that the other lacks; `theirs` is what yours has changed."""
    git.bare("origin.git", of=git.repository("seed"))
    for name in ("mine", "yours"):
        git("clone", "-q", "origin.git", name)
    git.commit(workspace / "yours", "theirs", **theirs)
    git("push", "-q", at=workspace / "yours")
    git.commit(workspace / "mine", "ours", **{"f.txt": "ours\n"})


def test_a_merge_conflict_on_pull_names_the_file(host, git, workspace):
    """Issue 5."""
    git.add_config("[pull]\n\trebase = false\n")
    diverged(git, workspace, **{"f.txt": "theirs\n"})
    text = host.failure("git_pull", path="mine")
    assert "CONFLICT (content): Merge conflict in f.txt" in text and "Automatic merge failed" in text
    assert "<<<<<<< HEAD\nours\n=======\ntheirs\n" in (workspace / "mine/f.txt").read_text()
    assert "both modified:   f.txt" in host.text("git_status", path="mine")
    assert "++<<<<<<< HEAD" in host.text("git_diff", path="mine")
    assert "unmerged" in host.failure("git_pull", path="mine").lower()


def test_a_merge_on_pull_opens_no_editor(start, git, workspace, tmp_path):
    """G3."""
    git.add_config(f"[pull]\n\trebase = false\n[core]\n\teditor = {program(tmp_path / 'bin', 'ed', 'sleep 60')}/ed\n")
    diverged(git, workspace, g="theirs\n")
    assert "Merge made by" in start(env={"GIT_EDITOR": "sleep 60"}).text("git_pull", path="mine")
    assert git("log", "-1", "--format=%s", at=workspace / "mine").startswith("Merge branch 'main' of")


def test_a_push_that_is_refused_says_why(host, git, workspace):
    diverged(git, workspace, g="theirs\n")
    text = host.failure("git_push", path="mine", branch="main")
    assert "[rejected]" in text and "fetch first" in text


def test_a_locked_index_is_told_and_a_look_does_not_wait_for_it(host, git, workspace):
    """Issue 5."""
    path = git.repository("r")
    (path / "g").write_text("x")
    (path / ".git/index.lock").write_text("")
    text = host.failure("git_commit", path="r", message="x")
    assert "index.lock': File exists" in text and "Another git process" in text
    assert "g" in host.text("git_status", path="r") and host.text("git_diff", path="r") == "(no changes)"
    assert (path / ".git/index.lock").exists()


def test_a_look_writes_nothing(host, git, workspace):
    """readOnlyHint. git_diff is left out: what git knows of a touched file that is still the same it has only from its index."""
    path = git.repository("r")
    os.utime(path / "f.txt", (1, 1))
    before = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in path.rglob("*")}
    for tool in ("git_status", "git_log", "git_branch"):
        host.text(tool, path="r")
    assert {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in path.rglob("*")} == before


# -- hooks -----------------------------------------------------------------------------------------------------------


def hook(path, name, script):
    program(path / ".git/hooks", name, script)


def test_what_a_hook_says_is_not_lost(host, git, workspace):
    """G9."""
    path = git.repository("r")
    hook(path, "pre-commit", "echo to stdout; echo to stderr >&2; exit 1")
    (path / "g").write_text("x")
    head = git("rev-parse", "HEAD", at=path)
    text = host.failure("git_commit", path="r", message="x")
    assert sorted(text.split("\n")) == ["to stderr", "to stdout"]
    assert git("rev-parse", "HEAD", at=path) == head and "A  g" in git("status", "--short", at=path)


def test_a_hook_has_no_terminal_and_no_secret_of_the_server(start, git, workspace):
    path = git.repository("r")
    hook(path, "pre-commit", 'read x && echo read; env | grep -c "^SANDSTORM_MCP_TOKEN"; [ -t 0 ] && echo tty; exit 1')
    (path / "g").write_text("x")
    s = start(env={"SANDSTORM_MCP_TOKEN": "a-token-of-the-server-123456"})
    assert s.failure("git_commit", path="r", message="x") == "0"


def test_a_hook_that_refuses_a_push_is_heard(host, git, workspace):
    bare = git.bare("origin.git", of=git.repository("seed"))
    program(bare / "hooks", "pre-receive", "echo not on Sundays; exit 1")
    git("clone", "-q", "origin.git", "r")
    git.commit(workspace / "r", "second", g="x")
    text = host.failure("git_push", path="r")
    assert "remote: not on Sundays" in text and "pre-receive hook declined" in text


def test_a_cancel_between_add_and_commit_commits_nothing(start, git, workspace, tmp_path):
    """Fault 34: a cancelled call goes on to its end."""
    git.repository("r")
    (workspace / "r/g").write_text("x")
    real = git.run("--exec-path").stdout.strip() + "/git"
    script = f'case "$*" in *" add "*) touch {tmp_path}/adding; sleep 3 ;; esac\nexec {real} "$@"'
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', script)}:{os.environ['PATH']}"})
    id = s.start_call("git_commit", path="r", message="x")
    wait_until((tmp_path / "adding").exists, "git add to run")
    s.cancel(id)
    s.wait_no_descendants(5)
    assert s.fence() == []
    assert git("rev-list", "--count", "HEAD", at=workspace / "r") == "1"


def test_a_hanging_hook_is_ended_with_all_it_has_started(host, git, workspace):
    """Fault 21; the index is not left locked."""
    path = git.repository("r")
    hook(path, "pre-commit", "setsid sleep 60 & sleep 60")
    (path / "g").write_text("x")
    id = host.start_call("git_commit", path="r", message="x")
    host.wait_descendants(3)
    host.cancel(id)
    host.wait_no_descendants(2)
    assert host.fence() == []
    assert not (path / ".git/index.lock").exists()


@pytest.mark.long(30)
def test_a_commit_has_thirty_seconds(host, git, workspace):
    """host-tools.md section 4; fault 15: the output so far comes, too."""
    path = git.repository("r")
    hook(path, "pre-commit", "echo early >&2; sleep 60")
    (path / "g").write_text("x")
    host.patience = 40
    assert host.failure("git_commit", path="r", message="x") == "early\ntimeout after 30s"


# -- configurations --------------------------------------------------------------------------------------------------


def test_no_pager_and_no_editor_is_started(start, git, workspace, tmp_path):
    """G3, fault 38: the editor waited 30 seconds."""
    trap = program(tmp_path / "bin", "trap", f"touch {tmp_path}/started; sleep 60") / "trap"
    git.add_config(f"[core]\n\tpager = {trap}\n\teditor = {trap}\n[sequence]\n\teditor = {trap}\n[commit]\n\tverbose = true\n"
                   f"[pager]\n\tlog = {trap}\n\tdiff = {trap}\n\tstatus = {trap}\n\tbranch = {trap}\n")
    s = start(env={name: str(trap) for name in ("PAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR")})
    path = git.repository("r")
    (path / "f.txt").write_text("two\n")
    for tool in ("git_status", "git_diff", "git_log", "git_branch"):
        s.text(tool, path="r")
    s.text("git_commit", path="r", message="x")
    assert not (tmp_path / "started").exists()


def test_no_colours_and_no_columns_are_in_the_texts(host, git, workspace):
    git.add_config(COLOURS)
    path = git.repository("r")
    for name in ("aaa", "bbb"):
        git("branch", name, at=path)
    (path / "f.txt").write_text("two\n")
    (path / "g").write_text("x")
    texts = [host.text(tool, path="r") for tool in ("git_status", "git_diff", "git_log", "git_branch")]
    assert texts[3] == "  aaa\n  bbb\n* main"
    texts += [host.failure("git_push", path="r", branch="main"), host.failure("git_checkout", path="r", branch="nope")]
    assert not any("\x1b" in text for text in texts), texts


def test_a_signature_that_cannot_be_made_fails_at_once(host, git, workspace, tmp_path):
    """G4: no automatic disabling; what was staged stays so."""
    gpg = program(tmp_path / "bin", "gpg", "echo 'gpg: signing failed: No pinentry' >&2; exit 2") / "gpg"
    git.add_config(f"[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {gpg}\n")
    path = workspace / "r"
    git("init", "-q", path)
    (path / "g").write_text("x")
    began = time.monotonic()
    text = host.failure("git_commit", path="r", message="x")
    assert "gpg failed to sign the data" in text and time.monotonic() - began < 5 * busy()
    assert "A  g" in git("status", "--short", at=path)


def test_the_texts_are_english_whatever_the_locale(start, git, workspace, tmp_path):
    """Clients look for "nothing to commit"; hooks keep the locale they have."""
    hook(git.repository("r"), "post-checkout", 'echo "$LANG $LANGUAGE" >&2')
    s = start(env={"LANG": "de_DE.UTF-8", "LANGUAGE": "de", "LC_ALL": None})
    assert "nothing to commit" in s.text("git_status", path="r")
    assert "de_DE.UTF-8 en" in s.text("git_checkout", path="r", branch="main")


# -- whose repository ------------------------------------------------------------------------------------------------


def test_a_repository_above_the_root_is_not_found(start, git, workspace):
    """The root may lie in somebody else's repository, which is outside."""
    git("init", "-q", at=workspace.parent)
    (workspace / "sub").mkdir()
    s = start()
    for path in ("", "sub"):
        assert s.failure("git_status", path=path).startswith("fatal: not a git repository")
        assert s.failure("git_commit", path=path, message="x").startswith("fatal: not a git repository")
    git("init", "-q")
    assert s.text("git_status", path="sub").startswith("On branch main\n")
    assert start(root=workspace / "sub").failure("git_status").startswith("fatal: not a git repository")


def test_a_repository_above_a_root_with_a_colon_in_its_path_is_not_found_either(start, git, workspace):
    """A colon parts the list that git is told its limits in: it found the repository above."""
    root = workspace / "2026-11-30T10:00" / "root"
    (root / "sub").mkdir(parents=True)
    git("init", "-q", at=root.parent)
    s = start(root=root)
    for path in ("", "sub"):
        assert s.failure("git_status", path=path).startswith("fatal: not a git repository")
    git("init", "-q", at=root)
    assert s.text("git_status", path="sub").startswith("On branch main\n")
    (root / "sub").rmdir()
    s.text("git_clone", repo_url=str(root), path="sub")


def test_limits_of_the_user_hold_as_well(start, git, workspace):
    git("init", "-q")
    (workspace / "a/b").mkdir(parents=True)
    s = start(env={"GIT_CEILING_DIRECTORIES": str(workspace / "a")})
    assert s.failure("git_status", path="a/b").startswith("fatal: not a git repository")
    assert s.text("git_status", path="a").startswith("On branch main\n")


def test_the_root_of_the_machine_can_be_the_root(start, git, workspace):
    git.repository("r")
    assert start(root="/").text("git_status", path=str(workspace / "r")).startswith("On branch main\n")


def test_a_root_behind_a_link_works(start, git, workspace, tmp_path):
    """P2."""
    git.repository("r")
    (tmp_path / "link").symlink_to(workspace)
    s = start(root=tmp_path / "link")
    assert s.text("git_status", path=str(tmp_path / "link/r")).startswith("On branch main\n")
    s.text("git_clone", repo_url=str(tmp_path / "link/r"), path=str(tmp_path / "link/c"))
    s.text("git_clone", repo_url=f"file://{workspace}/r", path="d")
    assert (workspace / "c/f.txt").exists() and (workspace / "d/f.txt").exists()


def test_variables_of_the_server_lead_to_no_other_repository(start, git, workspace, tmp_path):
    """A server that was started by a hook has GIT_DIR and GIT_INDEX_FILE in its environment."""
    other = git.repository(tmp_path.resolve() / "other")
    git.repository("r", mine="x")
    s = start(env={"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": str(tmp_path / "index"),
                   "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"), "GIT_NAMESPACE": "n", "GIT_PREFIX": "p/",
                   "GIT_COMMON_DIR": str(other / ".git"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/x"})
    assert s.text("git_status", path="r") == "On branch main\nnothing to commit, working tree clean\n"
    (workspace / "r/g").write_text("x")
    s.text("git_commit", path="r", message="here")
    assert git("log", "-1", "--format=%s", at=workspace / "r") == "here"
    assert git("log", "-1", "--format=%s", at=other) == "first"
    s.text("git_clone", repo_url="r", path="c")
    assert (workspace / "c/mine").exists()


@pytest.mark.parametrize("tool", ["git_status", "git_diff", "git_log"])
def test_read_only_servers_still_look(start, git, tool):
    git.repository("r")
    s = start(args=["--read-only"])
    s.text(tool, path="r")
    listed = [t["name"] for t in s.result("tools/list")["tools"] if t["name"].startswith("git_")]
    assert listed == ["git_status", "git_diff", "git_log"]


def test_many_calls_at_once_are_answered_each_with_its_own(host, git):
    for n in range(6):
        git.repository(f"r{n}", **{f"f{n}": "x"})
    ids = [host.start_call("git_log", path=f"r{n % 6}") for n in range(24)]
    assert all(host.wait(id)["result"]["isError"] is False for id in ids)
    assert host.zombies() == []
