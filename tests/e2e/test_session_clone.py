"""Sessions that begin with a repository (host-tools.md section 7; faults 39, 41, 56).

Nothing outside of this machine is reached: git's own `url.<base>.insteadOf`, in a configuration of the test's, has
https://github.com/ stand for a directory of bare repositories or a port of this machine.
"""

import os
import socket
import subprocess
import time

import pytest

from httpwire import free_port
from process import busy, wait_until
from sessionhelp import Sessions, ok, refused


def git(*words, cwd=None, **more):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
           **{f"GIT_{who}_{what}": "t@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
    done = subprocess.run(["git", *map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    return done.stdout


class Hub:
    """Stands for github.com: bare repositories below a directory."""

    def __init__(self, tmp_path):
        self.path = tmp_path / "hub"
        self.path.mkdir()
        self.config = tmp_path / "gitconfig"
        self.stand_for(f"file://{self.path}/")
        self.env = {"GIT_CONFIG_GLOBAL": str(self.config), "GIT_CONFIG_SYSTEM": "/dev/null"}

    def stand_for(self, base):
        self.config.write_text(f'[url "{base}"]\n\tinsteadOf = https://github.com/\n')

    def add(self, name, branches=("main",), commits=3):
        work = self.path / (name + ".work")
        work.mkdir(parents=True)
        git("init", "-q", "-b", branches[0], cwd=work)
        for n in range(commits):
            (work / "file").write_text(f"{n}\n")
            git("add", ".", cwd=work)
            git("commit", "-qm", f"commit {n}", cwd=work)
        for branch in branches[1:]:
            git("checkout", "-qb", branch, cwd=work)
            (work / "file").write_text(f"{branch}\n")
            git("commit", "-qam", branch, cwd=work)
        git("clone", "-q", "--bare", work, self.path / name)


@pytest.fixture
def hub(tmp_path):
    return Hub(tmp_path)


@pytest.fixture
def sessions(web, hub):
    return Sessions(web(env=hub.env))


def test_a_session_begins_with_a_shallow_clone(sessions, hub):
    """Section 7: main unless another branch is asked for."""
    hub.add("some-body/re.po_1", branches=["main", "feature/x"])
    one = sessions.create(requirements={"repo": "some-body/re.po_1"})
    assert "clone_error" not in one.made
    assert one.exec("cat file; git rev-list --count HEAD; git remote get-url origin; git status --short")["stdout"] == \
        f"2\n1\nfile://{hub.path}/some-body/re.po_1\n"
    other = sessions.create(requirements={"repo": "some-body/re.po_1", "branch": "feature/x"})
    assert other.exec("cat file; git branch --show-current")["stdout"] == "feature/x\nfeature/x\n"


def test_null_members_are_absent(sessions, workspace):
    """No repository, no clone."""
    for requirements in (None, {}, {"repo": None}, {"repo": None, "branch": "x"}):
        one = sessions.create(requirements=requirements)
        assert "clone_error" not in one.made and list(one.workspace.iterdir()) == []
        one.delete()


@pytest.mark.parametrize("branch", ["it's $(touch made)", "--upload-pack=touch made", "-b", "a..b", "x y", "a:b", "", ])
def test_a_branch_is_never_a_command_or_an_option(sessions, hub, workspace, branch):
    """Fault 41: quoted by the rules of another language, the branch's text ran as a command."""
    hub.add("a/b")
    answer = sessions.try_create(requirements={"repo": "a/b", "branch": branch})
    if branch == "":
        assert answer.status == 201
    else:
        assert refused(answer, 400).startswith("requirements.branch: ")
    assert not list(workspace.rglob("made"))


@pytest.mark.parametrize("repo", ["a", "a/b/c", "../b", "a/..", "-a/b", "a/-b", "a/b;touch made", "$(touch made)/b",
                                  "https://evil.example/a", "a/b\n", "ext::sh -c touch% made/b"])
def test_a_repository_is_a_name_on_github(sessions, hub, workspace, repo):
    """Fault 41, decision 8."""
    assert refused(sessions.try_create(requirements={"repo": repo}), 400).startswith("requirements.repo: ")
    assert not (workspace / "sessions").exists() and not list(workspace.rglob("made"))


def test_a_branch_name_with_shell_characters_is_just_a_name(sessions, hub):
    """Fault 41: what git allows in a name works."""
    hub.add("a/b", branches=["main", "it's-$(id)"])
    one = sessions.create(requirements={"repo": "a/b", "branch": "it's-$(id)"})
    assert one.exec("cat file")["stdout"] == "it's-$(id)\n"


def test_a_failed_clone_is_told_and_the_session_can_be_used(sessions, hub):
    """Fault 56: nothing said so. The session is there all the same, as clients of the reference expect, which may
    clone by a command of their own."""
    hub.add("a/b")
    missing = sessions.create(requirements={"repo": "a/none"})
    assert list(missing.made) == ["id", "status", "workspace_path", "clone_error"] and missing.made["status"] == "ready"
    assert "a/none" in missing.made["clone_error"]
    branch = sessions.create(requirements={"repo": "a/b", "branch": "none"})
    assert "none" in branch.made["clone_error"]
    for one in (missing, branch):
        assert list(one.workspace.iterdir()) == [] and one.exec("echo on")["stdout"] == "on\n"


def test_no_password_is_asked_for_and_none_is_shown(sessions, hub):
    """G1, G7: a private repository fails at once; a token in git's configuration stays there."""
    hub.stand_for(f"http://user:s3cret@127.0.0.1:{free_port()}/")
    began = time.monotonic()
    one = sessions.create(requirements={"repo": "a/b"})
    assert time.monotonic() - began < 10 * busy()
    assert one.made["clone_error"] and "s3cret" not in one.made["clone_error"]
    assert "s3cret" not in sessions.web.stderr_text()


def hanging(hub):
    """A server that accepts and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    hub.stand_for(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    return listener


def test_others_are_served_while_a_clone_hangs(sessions, hub):
    """It is a job like others; the session counts meanwhile."""
    with hanging(hub):
        call = sessions.start("POST", "/session/create", {"type": "x", "requirements": {"repo": "a/b"}})
        sessions.web.wait_descendants(2)
        other = sessions.create()
        assert other.exec("echo x")["stdout"] == "x\n"
        assert sessions.web.exchange("GET", "/health").json()["active_instances"] == 2
        call.close()


def test_a_client_that_goes_away_leaves_no_session(sessions, hub, workspace):
    """Nobody knows its id."""
    with hanging(hub):
        call = sessions.start("POST", "/session/create", {"type": "x", "requirements": {"repo": "a/b"}})
        sessions.web.wait_descendants(2)
        (path,) = (workspace / "sessions").iterdir()
        assert sessions.session(path.name).status()["status"] == "creating"
        refused(sessions.session(path.name).try_exec("true"), 404)
        call.close()
        wait_until(lambda: not path.exists(), "its files are removed")
        sessions.web.wait_no_descendants()
        assert sessions.session(path.name).status()["status"] == "cleaned"
        assert sessions.web.exchange("GET", "/health").json()["active_instances"] == 0


def test_deleting_what_is_being_made_ends_the_clone(sessions, hub, workspace):
    """Fault 50, for a session whose making is not over."""
    with hanging(hub):
        call = sessions.start("POST", "/session/create", {"type": "x", "requirements": {"repo": "a/b"}})
        sessions.web.wait_descendants(2)
        (path,) = (workspace / "sessions").iterdir()
        assert ok(sessions.call("DELETE", f"/session/{path.name}")) == {"success": True}
        refused(call.answer(), 410, "Session expired")
        assert not path.exists()
        sessions.web.wait_no_descendants()


def test_term_ends_a_clone_with_an_answer(web, sessions, hub, workspace):
    """Fault 33: and the half-made session is gone after a restart."""
    with hanging(hub):
        call = sessions.start("POST", "/session/create", {"type": "x", "requirements": {"repo": "a/b"}})
        sessions.web.wait_descendants(2)
        assert sessions.web.terminate() == 0
        refused(call.answer(), 503, "Server is stopping")
    w = web()
    wait_until(lambda: list((workspace / "sessions").iterdir()) == [], "nothing is left")
    assert w.exchange("GET", "/health").json()["active_instances"] == 0


@pytest.mark.long(122)
def test_a_clone_that_hangs_ends_after_two_minutes_and_leaves_nothing(sessions, hub):
    """Fault 39: half a .git stayed."""
    with hanging(hub):
        began = time.monotonic()
        answer = sessions.call("POST", "/session/create", {"type": "x", "requirements": {"repo": "a/b"}}, timeout=130)
        assert answer.status == 201 and 119 < time.monotonic() - began < 120 + 5 * busy()
        assert answer.json()["clone_error"].endswith("\ntimeout after 120s")
        one = sessions.session(answer.json()["id"])
        assert one.exec("ls -A")["stdout"] == ""


def test_without_git_it_says_so(web, hub):
    """Issue 5, point 6: a sentence that names what is missing."""
    one = Sessions(web(env={**hub.env, "PATH": "/nowhere"})).create(requirements={"repo": "a/b"})
    assert one.made["clone_error"] == "git is not installed here"
