"""Commands in sessions (host-tools.md section 7; faults 15, 34, 50, 52, 54, 55)."""

import os
import time

import pytest

from fshelp import mounts
from process import busy, wait_until
from sessionhelp import JSON, Sessions, created, ok, refused, write_log


@pytest.fixture
def sessions(remote):
    return Sessions(remote)


@pytest.fixture
def one(sessions):
    return sessions.create()


# -- what comes back -----------------------------------------------------------------------------


def test_a_command_runs_in_the_workspace_of_its_session(one):
    """Section 7."""
    value = one.exec("pwd; echo oops >&2; exit 3")
    assert list(value) == ["exit_code", "stdout", "stderr"]
    assert value == {"exit_code": 3, "stdout": f"{one.workspace}\n", "stderr": "oops\n"}
    assert one.exec("true") == {"exit_code": 0, "stdout": "", "stderr": ""}
    assert one.exec("kill -9 $$")["exit_code"] == -9


def test_output_is_valid_json_whatever_it_is(one):
    """X3."""
    value = one.exec(r"printf 'a\0b\xff\xe2\x89\xa4\r\n'")
    assert value["stdout"] == "a\0b\ufffd≤\r\n"


def test_output_is_bounded_with_head_and_tail(web):
    """Decision 9."""
    s = Sessions(web(env={"SANDSTORM_MAX_OUTPUT": "4096"}))
    value = s.create().exec("seq 1 10000; seq 1 10000 >&2")
    for text in (value["stdout"], value["stderr"]):
        assert text.startswith("1\n2\n") and text.endswith("\n9999\n10000\n") and len(text) < 4300
        assert "bytes omitted of 48894" in text


def test_a_timeout_is_124_with_the_output_so_far(one):
    """Section 7; fault 15: the reference loses what was printed."""
    began = time.monotonic()
    value = one.exec("echo before; echo wrong >&2; sleep 60", timeout_ms=1999)
    assert value == {"exit_code": 124, "stdout": "before\n", "stderr": "wrong\ntimeout after 1s"}
    assert 0.9 < time.monotonic() - began < 3 * busy()
    assert one.exec("sleep 60", timeout_ms=1)["stderr"] == "timeout after 1s", "at least one second"
    assert one.exec("printf x >&2; sleep 60", timeout_ms="1000")["stderr"] == "x\ntimeout after 1s"
    assert one.status()["status"] == "ready"


def test_all_that_a_command_started_ends_with_its_time(sessions, one):
    """Fault 21."""
    one.exec("trap '' TERM; (setsid sleep 60 &); sleep 60", timeout_ms=1000)
    sessions.web.wait_no_descendants()


def test_what_a_command_leaves_running_does_not_hold_the_answer(sessions, one):
    """Fault 11."""
    began = time.monotonic()
    pid = int(one.exec("sleep 30 & echo $!")["stdout"])
    assert time.monotonic() - began < 3 * busy()
    one.exec(f"kill {pid}")
    sessions.web.wait_no_descendants()


@pytest.mark.parametrize("body, text", [
    (b"", "Invalid JSON: the body must be an object"),
    (b"{", "Invalid JSON"),
    (b"[]", "Invalid JSON: the body must be an object"),
    (b"{}", "command: field required"),
    (b'{"command":""}', "command: field required"),
    (b'{"command":7}', "command: field required"),
    (b'{"command":["ls"]}', "command: field required"),
    (b'{"command":"a\\u0000b"}', "command: must not contain NUL"),
    (b'{"command":"touch x","timeout_ms":"soon"}', "timeout_ms: must be an integer"),
    (b'{"command":"touch x","timeout_ms":null}', "timeout_ms: must be an integer"),
    (b'{"command":"touch x","timeout_ms":-1}', "timeout_ms: must not be negative"),
    (b'{"command":"touch x","cwd":5}', "cwd: must be a string"),
])
def test_a_wrong_body_is_400_and_runs_nothing(sessions, one, body, text):
    """Fault 32."""
    refused(sessions.call("POST", f"/session/{one.id}/exec", body, JSON), 400, text)
    assert list(one.workspace.iterdir()) == []


def test_a_long_command_line_is_no_harm(one):
    """The kernel takes 128 KiB in one word."""
    assert one.exec("echo " + "x" * 100_000)["stdout"] == "x" * 100_000 + "\n"
    assert "too long" in refused(one.try_exec("echo " + "x" * 200_000), 500)


def test_without_a_shell_it_says_so(web):
    """Issue 5, point 6."""
    w = web(wrap=mounts('mkdir "$W/empty"; mount --bind "$W/empty" "$(readlink -f /bin)"'))
    refused(Sessions(w).create().try_exec("true"), 500, "no shell here: neither /bin/bash nor /bin/sh exists")


# -- where it runs -------------------------------------------------------------------------------


def test_a_directory_is_relative_to_the_workspace(one):
    """Fault 54: relative ones were made below the server's own directory."""
    assert one.exec("pwd", cwd="a/b")["stdout"] == f"{one.workspace}/a/b\n"
    assert one.exec("pwd", cwd="../outputs")["stdout"] == f"{one.path}/outputs\n"
    assert one.exec("pwd", cwd=str(one.path))["stdout"] == f"{one.path}\n"
    assert one.exec("pwd", cwd="")["stdout"] == one.exec("pwd", cwd=None)["stdout"] == f"{one.workspace}\n"
    assert not os.path.exists("a") and not (one.path.parent / "a").exists()


def test_no_directory_outside_of_the_session(sessions, one, workspace):
    """Fault 54: any directory was taken, here also through links and into another session."""
    other = sessions.create()
    one.exec(f"ln -s {other.path} link; ln -s ../.. up; ln -s /etc etc")
    for cwd in ("/etc", "/", "../..", f"../../{other.id}", str(other.path), str(workspace), "link/workspace", "up",
                "etc", "etc/ssl", "x/../../../.."):
        text = refused(one.try_exec("touch made", cwd=cwd), 400)
        assert text == f'cwd: Path "{cwd}" is outside the session\'s directory ({one.path})'
    assert list(other.workspace.iterdir()) == [] and not (workspace / "made").exists()


def test_a_file_is_no_directory(one):
    """The kernel's word."""
    one.exec("touch file")
    assert refused(one.try_exec("true", cwd="file"), 400).endswith("Not a directory")


def test_a_session_whose_directory_somebody_removed(sessions, one, workspace):
    """Whoever removes it by hand gets a sentence, not a new directory."""
    sessions.web.text("terminal_exec", command=f"rm -r {one.path}")
    assert "not there" in refused(one.try_exec("true"), 500)
    assert not one.path.exists() and one.delete() == {"success": True}


# -- its environment -----------------------------------------------------------------------------


def test_the_variables_of_the_context_are_those_of_its_commands(sessions):
    """Fault 55: written, but never put into a command's environment."""
    one = sessions.create(context={"env": {"GREETING": "hällo\nwörld", "PATH": "/usr/bin:/bin", "N": 5, "T": True}})
    value = one.exec('printf "%s|%s|%s|%s" "$GREETING" "$PATH" "$N" "$T"')
    assert value["stdout"] == "hällo\nwörld|/usr/bin:/bin|5|true"
    other = sessions.create()
    assert other.exec("echo ${GREETING-unset}")["stdout"] == "unset\n"


def test_they_are_there_after_a_restart(web, workspace):
    """They live in context/env.json, not in the server."""
    w = web()
    one = Sessions(w).create(context={"env": {"A": "kept"}})
    assert w.terminate() == 0
    assert Sessions(web()).session(one.id).exec("echo $A")["stdout"] == "kept\n"


def test_a_file_of_variables_that_a_command_has_broken(one, sessions):
    """It is looked at as if a stranger had written it."""
    one = sessions.create(context={"env": {"A": "1"}})
    one.exec("echo broken > ../context/env.json")
    assert "context/env.json" in refused(one.try_exec("true"), 500)
    sessions.web.text("file_write", path=f"{one.path}/context/env.json", content='{"A":"2"}')
    assert one.exec("echo $A")["stdout"] == "2\n"


@pytest.mark.parametrize("env, text", [
    ({"A B": "x"}, "context.env: A B: not a name for a variable"),
    ({"A": "x\0y"}, "context.env: A: the value must not contain NUL"),
    ({"A": None}, "context.env: A: the value must be a string"),
    ({"SANDSTORM_JOB": "x"}, "context.env: SANDSTORM_JOB: the server itself sets this variable"),
    ({f"V{n}": "" for n in range(129)}, "context.env: env: more variables than a command may get"),
])
def test_names_and_values_are_checked_when_they_come(sessions, env, text):
    """Fault 55."""
    refused(sessions.try_create(context={"env": env}), 400, text)


# -- its end -------------------------------------------------------------------------------------


def test_delete_ends_what_runs_first(sessions, one):
    """Fault 50: the tree went, then the end of the command brought the session back."""
    runs = [one.start_exec(f"trap 'echo bye >> ended; exit' TERM; touch r{n}; while :; do sleep 0.05; done")
            for n in range(3)]
    wait_until(lambda: len(list(one.workspace.glob("r*"))) == 3, "all run")
    began = time.monotonic()
    assert one.delete() == {"success": True}
    assert time.monotonic() - began < 3 * busy()
    for run in runs:
        refused(run.answer(), 404, "Session not found or expired")
    assert one.status()["status"] == "cleaned" and not one.path.exists()
    sessions.web.wait_no_descendants()


def test_what_commands_left_in_the_background_ends_with_the_session(sessions, one):
    """Nothing of a session is left: a server it started would otherwise run on without its files."""
    other = sessions.create()
    other.exec("sleep 60 >/dev/null 2>&1 & :")
    one.exec("sleep 60 >/dev/null 2>&1 & trap '' TERM; (setsid sleep 61 >/dev/null 2>&1 &); :")
    sessions.web.text("terminal_exec", command="sleep 60 >/dev/null 2>&1 & :")
    assert len(sessions.web.descendants()) == 4
    assert one.exec("true", timeout_ms=1000)["exit_code"] == 0
    assert one.exec("sleep 5", timeout_ms=1000)["exit_code"] == 124
    assert len(sessions.web.descendants()) == 4, "a command that passes its time ends alone"
    began = time.monotonic()
    assert one.delete() == {"success": True}
    assert 0.9 < time.monotonic() - began < 3 * busy(), "TERM, and a second later KILL"
    wait_until(lambda: len(sessions.web.descendants()) == 2, "those of other sessions and of tools stay")
    began = time.monotonic()
    other.delete()
    assert time.monotonic() - began < 0.9 * busy()
    wait_until(lambda: len(sessions.web.descendants()) == 1, "what heeds TERM ends at once")


def test_delete_waits_for_commands_that_do_not_want_to_end(sessions, one):
    """TERM, a second later KILL; only then the tree goes, so that nothing makes it anew."""
    run = one.start_exec("trap '' TERM; touch runs; while :; do mkdir -p again; sleep 0.01; done")
    wait_until(lambda: (one.workspace / "runs").exists(), "it runs")
    deletes = [sessions.start("DELETE", f"/session/{one.id}") for _ in range(2)]
    for delete in deletes:
        assert ok(delete.answer()) == {"success": True}
    refused(run.answer(), 404)
    time.sleep(0.1)
    assert not one.path.exists()


def test_a_delete_goes_on_without_its_client(sessions, one):
    """What was asked for happens."""
    run = one.start_exec("trap '' TERM; touch runs; sleep 60")
    wait_until(lambda: (one.workspace / "runs").exists(), "it runs")
    sessions.start("DELETE", f"/session/{one.id}").close()
    refused(run.answer(), 404)
    wait_until(lambda: not one.path.exists(), "the tree is gone")


def test_a_command_ends_when_its_client_goes_away(sessions, one):
    """Fault 34."""
    run = one.start_exec("touch runs; sleep 60")
    wait_until(lambda: (one.workspace / "runs").exists(), "it runs")
    run.close()
    sessions.web.wait_no_descendants()
    wait_until(lambda: one.status()["status"] == "ready", "nothing runs any more")
    assert one.exec("echo on")["stdout"] == "on\n"


def test_expiry_ends_what_runs_and_is_told_once(web, workspace):
    """Section 7: 410 once, then 404; issue 5, point 7. The state of a former run stands for waiting a minute."""
    line, other = created(end=1500), created(end=1500)
    write_log(workspace, line, other)
    s = Sessions(web())
    one, two = s.session(line["id"]), s.session(other["id"])
    run = one.start_exec("touch runs; sleep 60")
    refused(run.answer(timeout=5), 410, "Session expired")
    refused(one.try_exec("true"), 404, "Session not found or expired")
    refused(two.try_exec("true"), 410, "Session expired")
    refused(two.try_exec("true"), 404, "Session not found or expired")
    refused(two.try_extend(30), 404, "Session not found or expired")
    for session in (one, two):
        value = session.status()
        assert (value["status"], value["ttl_remaining_minutes"]) == ("expired", 0)
        assert session.delete() == {"success": True} and session.status()["status"] == "cleaned"
    s.web.wait_no_descendants()
    assert list((workspace / "sessions").iterdir()) == []


def test_an_expired_session_makes_room_for_another(web, workspace):
    """Section 6: what counts are ready, active and creating ones."""
    lines = [created(end=3000) for _ in range(2)]
    write_log(workspace, *lines)
    s = Sessions(web(env={"MAX_INSTANCES": "2"}))
    answer = s.try_create()
    refused(answer, 429)
    assert answer["retry-after"] in ("1", "2", "3")
    wait_until(lambda: s.try_create().status == 201, "they have expired")


def test_nothing_ends_before_its_time(web, workspace):
    """Fault 53: up to a second early, since ends were compared as texts."""
    line = created(end=1400)
    write_log(workspace, line)
    one = Sessions(web()).session(line["id"])

    def ended():
        state = one.status()["status"]
        assert state == "ready" or time.time() * 1000 >= line["end"]
        return state == "expired"
    wait_until(ended, "its end has come", timeout=3)


def test_term_ends_commands_with_an_answer(web, one, sessions):
    """Fault 33, decision 48."""
    run = one.start_exec("touch runs; sleep 60")
    wait_until(lambda: (one.workspace / "runs").exists(), "it runs")
    assert sessions.web.terminate() == 0
    refused(run.answer(), 503, "Server is stopping")
    sessions.web.wait_no_descendants()
    again = Sessions(web()).session(one.id)
    assert again.exec("ls")["stdout"] == "runs\n", "the session itself goes on"


def test_a_server_full_of_commands_serves_the_rest(web):
    """Decision 28: 56 commands at most; status, health and tools/list go on."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "0"})
    s = Sessions(w)
    one = s.create()
    runs = [one.start_exec("sleep 60") for _ in range(56)]
    w.wait_descendants(56)
    answer = one.try_exec("true")
    assert "busy" in refused(answer, 503) and answer["retry-after"] == "1"
    assert one.status()["status"] == "active" and len(w.result("tools/list")["tools"]) > 5
    assert s.create().delete() == {"success": True}
    assert one.delete() == {"success": True}
    for run in runs:
        refused(run.answer(), 404)
    w.wait_no_descendants()
