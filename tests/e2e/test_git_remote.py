"""The git tools and other hosts: passwords, prompts, ssh, progress; smart HTTP by git http-backend on loopback."""

import json
import os
import time

import pytest

from fshelp import outside
from githelp import git, host, program, silent_server, start, web_git  # noqa: F401 (fixtures)
from mcpwire import first_text, wait_until
from process import busy

SECRET = "s3cr3t-W0RD"


@pytest.fixture
def locked(git, web_git):
    """A server that wants user:SECRET, with origin.git on it (one commit)."""
    web = web_git(password=SECRET)
    git("clone", "-q", "--bare", git.repository("seed"), web.root / "origin.git")
    return web


def mine(web, credentials=f"user:{SECRET}@"):
    return web.url("origin.git", credentials)


# -- passwords -------------------------------------------------------------------------------------------------------


def test_clone_push_and_pull_with_a_password_in_the_url(host, git, workspace, locked):
    """Issue 5: smart HTTP with a password."""
    assert SECRET not in host.text("git_clone", repo_url=mine(locked), path="r")
    git.commit(workspace / "r", "second", g="x")
    pushed = host.text("git_push", path="r", branch="main")
    assert "main -> main" in pushed and SECRET not in pushed
    git("clone", "-q", mine(locked), "other")
    git.commit(workspace / "other", "third", h="x")
    git("push", "-q", at=workspace / "other")
    pulled = host.text("git_pull", path="r")
    assert "Fast-forward" in pulled and SECRET not in pulled
    assert (workspace / "r/h").exists()


def test_the_root_itself_can_be_cloned_into(start, locked, tmp_path):
    """It was there before: a failure leaves it, empty."""
    root = tmp_path / "root"
    root.mkdir()
    s = start(root=root)
    for path in (".", "", str(root)):
        s.failure("git_clone", repo_url=mine(locked, f"user:not-{SECRET}@"), path=path)
        assert root.is_dir() and list(root.iterdir()) == []
    s.text("git_clone", repo_url=mine(locked), path=".")
    assert (root / "f.txt").exists()


@pytest.mark.parametrize("credentials", [f"user:{SECRET}@", f"{SECRET}@", f"{SECRET}:x-oauth-basic@", f"user:{SECRET}%40x@"])
@pytest.mark.parametrize("tool", ["git_clone", "git_push", "git_pull"])
def test_a_password_is_in_no_text_of_a_failure(host, git, workspace, tool, credentials):
    """G7, fault 38: nobody listens on the port; git names the URL."""
    url = f"http://{credentials}127.0.0.1:1/x.git"
    git.repository("r")
    git("remote", "add", "origin", url, at=workspace / "r")
    arguments = {"repo_url": url} if tool == "git_clone" else {"path": "r", "branch": "main"}
    text = host.failure(tool, **arguments)
    assert "127.0.0.1:1" in text and SECRET not in text
    assert SECRET not in host.stderr_text()


def test_a_wrong_password_fails_at_once_and_is_not_shown(host, locked):
    """G7: git itself shows it."""
    began = time.monotonic()
    text = host.failure("git_clone", repo_url=mine(locked, f"user:not-{SECRET}@"))
    assert "Authentication failed for" in text and SECRET not in text
    assert time.monotonic() - began < 5 * busy()


@pytest.mark.parametrize("password", [f"{SECRET}/x", f"x#{SECRET}", f"{SECRET}?", f"{SECRET}@x", f"it's{SECRET}", f'"{SECRET}"',
                                      f"<{SECRET}>", f"é{SECRET}"])
def test_a_password_that_nobody_encoded_is_not_shown(host, password):
    """G7: git takes such a URL for another and shows it whole."""
    text = host.failure("git_clone", repo_url=f"https://user:{password}@127.0.0.1:1/x.git", path="c")
    assert "fatal: " in text and SECRET not in text


def test_passwords_in_branches_commits_and_files_are_masked_and_nothing_else(host, git, workspace):
    """G7: in every text of the git tools."""
    url = f"https://user:{SECRET}@host/x.git"
    path = git.repository("r", f="one\n")
    git("commit", "-q", "--allow-empty", "-m", f"moved to {url} from https://host/@scope/x", at=path)
    assert host.text("git_log", path="r", n=1).endswith("moved to https://***@host/x.git from https://host/@scope/x\n")
    (path / "f").write_text(f"url = {url}\nme <me@example.com> git@host:x ssh://git@host/x\nhttp://h:${{PORT}}/x\n")
    diff = host.text("git_diff", path="r")
    assert "+url = https://***@host/x.git\n+me <me@example.com> git@host:x ssh://git@host/x\n+http://h:${PORT}/x\n" in diff


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_no_half_of_a_password_shows_at_the_cut_of_a_long_text(start, git, workspace, shift):
    """G7: the marker of the omitted bytes may fall into a URL."""
    s = start(env={"SANDSTORM_MAX_OUTPUT": "4096"})
    path = git.repository("r", f="old\n")
    line = f"https://user:{SECRET}@host/x.git "
    (path / "f").write_text("x" * shift + line * 1500)
    text = s.text("git_diff", path="r")
    shown = text.split("diff --git", 1)[1]
    assert " bytes omitted of " in shown
    assert all(part not in shown for part in (SECRET, SECRET[:4], SECRET[-4:], SECRET[3:7]))
    assert shown.count("https://***@host/x.git") > 80


def test_a_remote_can_be_a_url_and_is_masked_too(host, git, workspace, locked):
    git("clone", "-q", "seed", "r")
    text = host.text("git_pull", path="r", remote=mine(locked), branch="main")
    assert SECRET not in text
    text = host.failure("git_push", path="r", remote=f"http://user:{SECRET}@127.0.0.1:1/x", branch="main")
    assert "127.0.0.1:1" in text and SECRET not in text


@pytest.mark.parametrize("format", ["json", "text"])
def test_no_password_is_in_the_log(start, git, workspace, format):
    s = start(env={"SANDSTORM_LOG_LEVEL": "DEBUG", "SANDSTORM_LOG_FORMAT": format})
    s.failure("git_clone", repo_url=f"http://user:{SECRET}@127.0.0.1:1/x.git")
    s.failure("git_clone", repo_url=f"http://user:{SECRET}@127.0.0.1:1/\n")
    wait_until(lambda: s.stderr_text().count("git_clone") >= 2, "two lines")
    assert SECRET not in s.stderr_text()


# -- prompts ---------------------------------------------------------------------------------------------------------


def test_a_password_that_is_missing_is_not_asked_for(start, git, locked, tmp_path):
    """Faults 37 and 38: no prompt, no askpass, not even one that the configuration or the environment names."""
    ask = program(tmp_path / "bin", "ask", f"touch {tmp_path}/asked; echo x") / "ask"
    git.add_config(f"[core]\n\taskPass = {ask}\n")
    s = start(env={"GIT_ASKPASS": str(ask), "SSH_ASKPASS": str(ask), "DISPLAY": ":9", "GIT_TERMINAL_PROMPT": "1"})
    text = s.failure("git_clone", repo_url=mine(locked, ""))
    assert "could not read Username" in text and "terminal prompts disabled" in text
    assert not (tmp_path / "asked").exists()


def test_a_credential_helper_of_the_user_is_asked(host, git, locked, workspace):
    """No prompt does not mean no credentials."""
    git.add_config(f"[credential]\n\thelper = \"!printf 'username=user\\\\npassword={SECRET}\\\\n' #\"\n")
    host.text("git_clone", repo_url=mine(locked, ""), path="r")
    assert (workspace / "r/f.txt").exists()


def ssh_words(path):
    """What the stand-in for ssh was called with, once a call."""
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.fixture
def ssh(tmp_path):
    """A stand-in for ssh: it writes down its words and fails."""
    log = tmp_path / "ssh.log"
    script = f'printf "%s\\t" "$0" "$@" >> {log}; echo >> {log}; exit 255'
    program(tmp_path / "ssh-bin", "ssh", script)
    program(tmp_path / "ssh-bin", "my-ssh", script)
    return {"PATH": f"{tmp_path}/ssh-bin:{os.environ['PATH']}"}, log, tmp_path / "ssh-bin"


@pytest.mark.parametrize("tool", ["git_clone", "git_push", "git_pull"])
def test_ssh_runs_in_batch_mode(start, git, workspace, ssh, tool):
    """G1: it would ask for a host key, a password or a passphrase."""
    env, log, _ = ssh
    s = start(env=env)
    url = "ssh://git@127.0.0.1:1/x" if tool == "git_clone" else "git@127.0.0.1:x"
    git.repository("r")
    git("remote", "add", "origin", url, at=workspace / "r")
    arguments = {"repo_url": url} if tool == "git_clone" else {"path": "r", "branch": "main"}
    assert "Could not read from remote repository" in s.failure(tool, **arguments)
    words = ssh_words(log)[0]
    assert words[1] == "-oBatchMode=yes" and "git@127.0.0.1" in words


@pytest.mark.parametrize("how", ["GIT_SSH_COMMAND", "GIT_SSH", "core.sshCommand"])
def test_an_ssh_of_the_users_own_is_kept(start, git, workspace, ssh, how):
    """G1: keys and jump hosts are often named there."""
    env, log, directory = ssh
    own = f"{directory}/my-ssh"
    if how == "core.sshCommand":
        git.add_config(f"[core]\n\tsshCommand = {own} -i key\n")
    else:
        env = {**env, how: own}
    start(env=env).failure("git_clone", repo_url="ssh://git@127.0.0.1/x")
    assert {words[0] for words in ssh_words(log)} == {own}
    assert not any("BatchMode" in word for words in ssh_words(log) for word in words)


def test_a_real_ssh_to_a_closed_port_fails_fast(start):
    """G1."""
    began = time.monotonic()
    s = start()
    text = s.failure("git_clone", repo_url="ssh://127.0.0.1:1/x")
    assert "Could not read from remote repository" in text or "cannot run ssh" in text
    assert time.monotonic() - began < 5 * busy()


# -- other machines that do not answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["git_push", "git_pull"])
def test_a_cancelled_push_or_pull_is_gone(host, git, workspace, tool):
    """G10: git-remote-http ends with its group."""
    git.repository("r")
    with silent_server() as (port, taken):
        git("remote", "add", "origin", f"http://127.0.0.1:{port}/x", at=workspace / "r")
        id = host.start_call(tool, path="r", branch="main")
        wait_until(lambda: taken, "the connection")
        host.cancel(id)
        host.wait_no_descendants(2)
        assert host.fence() == [] and host.zombies() == []


@pytest.mark.long(60)
@pytest.mark.parametrize("tool", ["git_push", "git_pull"])
def test_the_time_limit_of_push_and_pull_is_a_minute(host, git, workspace, tool):
    """host-tools.md section 4."""
    git.repository("r")
    host.patience = 70
    with silent_server() as (port, _):
        git("remote", "add", "origin", f"http://127.0.0.1:{port}/x", at=workspace / "r")
        began = time.monotonic()
        assert host.failure(tool, path="r", branch="main").endswith("timeout after 60s")
        assert 59 < time.monotonic() - began < 60 + 3 * busy()


# -- progress --------------------------------------------------------------------------------------------------------

SLOW = """case "$*" in *config*) exit 1 ;; esac
echo "Cloning into 'c'..." >&2
case "$*" in *--progress*) for n in 1 2 3 4 5 6; do printf 'Receiving objects:  %s%% (%s/9)\\r' $n $n >&2; sleep 0.3; done
printf 'Receiving objects: 100%% (9/9), done.\\nwarning: https://user:WORD@host/x\\n' >&2 ;; esac
for dir; do :; done
mkdir "$dir/.git"; echo last >&2"""


def with_progress(server, tool, **arguments):
    id = server.start_request("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": "t"}})
    answer = server.wait_message(id)
    events = [m.value["params"] for m in server.history if m.value.get("method") == "notifications/progress"]
    server.drain()
    return first_text(answer.value["result"]), events


def test_a_clone_tells_of_its_progress_when_asked_to(start, workspace, tmp_path):
    """X10; the text is what a terminal would show in the end."""
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', SLOW)}:{os.environ['PATH']}"})
    text, events = with_progress(s, "git_clone", repo_url="https://127.0.0.1:1/x", path="c")
    assert text == "Cloning into 'c'...\nReceiving objects: 100% (9/9), done.\nwarning: https://***@host/x\nlast"
    messages = [e["message"] for e in events]
    assert len(messages) >= 2 and all(m.startswith("Receiving objects:  ") and m.endswith("/9)") for m in messages)
    assert all(120000 <= e["total"] < 125000 for e in events), "time for the first command is part of it"


def test_without_a_token_nothing_is_asked_of_git(start, workspace, tmp_path):
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', SLOW)}:{os.environ['PATH']}"})
    assert s.text("git_clone", repo_url="https://127.0.0.1:1/x", path="c") == "Cloning into 'c'...\nlast"


def test_progress_messages_do_not_show_a_password(start, workspace, tmp_path):
    """G7: the last line so far may be half a URL."""
    script = f"""case "$*" in *config*) exit 1 ;; esac
printf 'see https://user:{SECRET[:6]}' >&2; sleep 1.4; printf %s '{SECRET[6:]}@host/x ' >&2; sleep 0.6; printf 'more' >&2; sleep 0.5; exit 1"""
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', script)}:{os.environ['PATH']}"})
    text, events = with_progress(s, "git_clone", repo_url="https://127.0.0.1:1/x", path="c")
    assert text == "see https://***@host/x more"
    shown = json.dumps(events)
    assert SECRET[:6] not in shown and SECRET[6:] not in shown and "see https://***" in shown


@pytest.mark.parametrize("tool", ["git_clone", "git_pull", "git_push"])
def test_with_a_token_the_answer_is_that_of_git(host, git, workspace, tool):
    """Real git with --progress."""
    git.bare("origin.git", of=git.repository("seed"))
    git("clone", "-q", "origin.git", "r")
    git.commit(workspace / "r", "second", g="x")
    arguments = {"repo_url": f"file://{workspace}/origin.git", "path": "c"} if tool == "git_clone" else {"path": "r"}
    text, _ = with_progress(host, tool, **arguments)
    assert "\r" not in text and "%" not in text.replace("100%", "")


# -- which remote ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["git_push", "git_pull"])
@pytest.mark.parametrize("remote", ["{}", "../../secret", "file://{}", "link", "link/x", "./link"])
def test_a_remote_outside_of_the_root_is_refused(host, git, workspace, tmp_path, tool, remote):
    """Faults 37 and 65: any repository of the machine could be read and written."""
    secret = tmp_path.resolve() / "secret"
    git.repository(secret)
    path = git.repository("r")
    (path / "sub").mkdir()
    (path / "link").symlink_to(secret)
    remote = remote.format(secret)
    text = host.failure(tool, path="r/sub" if remote.startswith("link") else "r", remote=remote, branch="main")
    assert text == outside(remote.removeprefix("file://"), workspace)


@pytest.mark.parametrize("remote", ["{}/origin.git", "../origin.git", "./../origin.git", "file://{}/origin.git"])
def test_a_remote_can_be_a_path_inside_of_the_root(host, git, workspace, remote):
    git.bare("origin.git", of=git.repository("seed"))
    git("clone", "-q", "origin.git", "r")
    git.commit(workspace / "r", "second", g="x")
    assert "main -> main" in host.text("git_push", path="r", remote=remote.format(workspace), branch="main")
    assert "Already up to date." in host.text("git_pull", path="r", remote=remote.format(workspace), branch="main")


def test_dot_is_the_repository_itself(host, git, workspace):
    path = git.repository("r")
    git("checkout", "-q", "-b", "dev", at=path)
    git.commit(path, "second", g="x")
    git("checkout", "-q", "main", at=path)
    assert "Fast-forward" in host.text("git_pull", path="r", remote=".", branch="dev")
