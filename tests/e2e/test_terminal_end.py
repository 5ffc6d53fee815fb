"""How a terminal_exec ends before its time: its own limit, a cancel, the end of the server, and what of it is left then."""

import contextlib
import os
import signal
import time

import pytest

from mcpwire import first_text, wait_until
from process import Pings, busy

GRACE = 1.0     # between TERM and KILL
LIMIT = 1.5     # of a command that has something to do before it: also on a busy machine that takes less


def run(host, command, timeout):
    """The failure text and how long it took."""
    began = time.monotonic()
    text = host.failure("terminal_exec", command=command, timeout=timeout)
    return text, time.monotonic() - began


# -- the limit -----------------------------------------------------------------------------------


def test_the_output_so_far_comes_back_with_the_timeout(host):
    """Fault 15."""
    text, took = run(host, "echo early; echo warn >&2; sleep 60; echo late", LIMIT)
    assert text == "stdout:\nearly\n\n\nstderr:\nwarn\ntimeout after 1.5s\n\nexit_code: 124"
    assert LIMIT <= took < (LIMIT + 0.8) * busy()
    assert host.descendants() == []


def test_the_timeout_line_stands_on_its_own(host):
    assert run(host, "printf half >&2; sleep 60", LIMIT)[0] == \
        "stderr:\nhalf\ntimeout after 1.5s\n\nexit_code: 124"


def test_term_comes_first_so_that_a_command_can_clean_up(host, workspace):
    text, took = run(host, "trap 'echo bye; rm lock; exit 0' TERM; touch lock; sleep 60 & wait", LIMIT)
    assert text == "stdout:\nbye\n\n\nstderr:\ntimeout after 1.5s\n\nexit_code: 124"
    assert not (workspace / "lock").exists() and took < (LIMIT + GRACE) * busy()
    assert host.descendants() == []


def test_term_comes_once(host):
    """A second one would mean more haste to many programs."""
    text, _ = run(host, "trap 'echo term' TERM; while :; do sleep 0.05; done", LIMIT)
    assert text.startswith("stdout:\nterm\n\n\n")
    text, _ = run(host, "setsid --wait bash -c \"trap 'echo term' TERM; while :; do sleep 0.05; done\"", LIMIT)
    assert text.startswith("stdout:\nterm\n\n\n")


@pytest.mark.parametrize("command", [
    "trap '' TERM; echo on; sleep 60",                                      # X2: the sleep ignores TERM as well
    "trap '' TERM; echo on; while :; do :; done",
    "echo on; setsid sh -c \"trap '' TERM; sleep 60\" & wait",
    "echo on; sh -c \"trap '' TERM; sleep 60\" >/dev/null 2>&1 </dev/null & wait",
])
def test_what_ignores_term_is_killed_a_second_later(host, command):
    """X2, fault 10."""
    text, took = run(host, command, LIMIT)
    assert text == "stdout:\non\n\n\nstderr:\ntimeout after 1.5s\n\nexit_code: 124"
    assert LIMIT + GRACE <= took < (LIMIT + GRACE + 0.9) * busy()
    assert host.descendants() == []


@pytest.mark.parametrize("command", [
    "setsid sleep 60 & wait",
    "setsid --wait setsid --wait sleep 60",
    "(setsid sh -c 'sleep 60; true' >/dev/null 2>&1 </dev/null &); sleep 60",
    "nohup sh -c 'sleep 60 & sleep 61' >/dev/null 2>&1 & sleep 60",
    "python3 -c \"import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: time.sleep(60)\n os._exit(0)\nos.wait(); time.sleep(60)\"",
])
def test_descendants_end_too_wherever_they_went(host, command):
    """Fault 21, X2: their own session, a double fork, nohup."""
    text, took = run(host, command, 0.5)
    assert text == "stderr:\ntimeout after 0.5s\n\nexit_code: 124"
    assert took < (0.5 + GRACE) * busy()
    host.wait_no_descendants(0.5)
    assert host.zombies() == []


def test_a_limit_that_passes_after_the_end_of_the_shell_is_none(host):
    """The shell has ended well; only its background process still talks."""
    text = host.text("terminal_exec", command="(while :; do echo x; sleep 0.03; done) & echo started", timeout=LIMIT)
    assert "started" in text and text.endswith("exit_code: 0")


def test_other_commands_are_not_touched_by_an_end(host):
    other = host.start_call("terminal_exec", command="setsid sleep 1.2; echo on")
    host.wait_descendants(2)
    run(host, "setsid sleep 60 & wait", 0.3)
    assert first_text(host.wait(other)["result"]).startswith("stdout:\non\n")


def test_commands_of_another_server_are_not_touched_by_an_end(server):
    one, two = server(), server()
    other = two.start_call("terminal_exec", command="setsid sleep 1; echo on")
    two.wait_descendants(2)
    run(one, "setsid sleep 60 & wait", 0.3)
    one.close()
    assert first_text(two.wait(other)["result"]).startswith("stdout:\non\n")


def test_a_server_started_by_a_command_of_another_ends_with_it(server, binary, workspace):
    """Its own commands carry its own tag; it is asked to end and ends them."""
    s = server()
    inner = f"""(printf '%s\\n' '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"terminal_exec","arguments":{{"command":"setsid sleep 60"}}}}}}'; sleep 60) | {binary} --tools host"""
    run(s, inner, 0.8)
    s.wait_no_descendants(2)


def test_many_limits_at_once_leave_nothing_and_keep_the_server_answering(host, server):
    ids = [host.start_call("terminal_exec", command="trap '' TERM; setsid sleep 60 & sleep 60", timeout=0.5) for _ in range(30)]
    pings = Pings(host, server())
    end = time.monotonic() + 2
    while time.monotonic() < end or len(pings) < 10:
        pings.once()
        time.sleep(0.02)
    for id in ids:
        assert first_text(host.wait(id, timeout=30)["result"]).endswith("exit_code: 124")
    assert pings.delay(3) < 0.25 * busy()
    host.wait_no_descendants(1)
    assert host.zombies() == []


# -- cancel (more of it in test_concurrency.py) --------------------------------------------------


@pytest.mark.parametrize("command", [
    "sleep 60",
    "setsid sleep 60 & wait",
    "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 60\" & sleep 60",
    "(while :; do echo x; sleep 0.02; done) & echo shell is gone",
])
def test_a_cancelled_command_is_gone_and_never_answered(host, command):
    """X11, fault 34."""
    id = host.start_call("terminal_exec", command=command, timeout=100)
    wait_until(host.descendants, "the command to start")
    time.sleep(0.2)
    host.cancel(id)
    host.wait_no_descendants(GRACE + 1)
    assert host.fence() == []
    host.silence(0.3)
    assert host.zombies() == []


def test_a_cancel_gives_back_the_descriptors(host):
    host.result("ping")     # it has opened all its own
    before = host.fd_count()
    ids = [host.start_call("terminal_exec", command="sleep 60") for _ in range(10)]
    host.wait_descendants(10)
    for id in ids:
        host.cancel(id)
    host.wait_no_descendants()
    assert host.fence() == []
    wait_until(lambda: host.fd_count() == before, "descriptors given back")


# -- the end of the server -----------------------------------------------------------------------


def test_background_processes_of_ended_calls_end_with_the_server(server):
    """S3, fault 33: nothing a server has started outlives it."""
    s = server()
    for command in ("sleep 60 & echo", "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo",
                    "setsid sh -c \"trap '' TERM HUP; sleep 60\" >/dev/null 2>&1 </dev/null & echo"):
        s.call("terminal_exec", command=command)
    s.wait_descendants(3)
    assert s.close() == 0
    assert s.descendants() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_stubborn_commands_within_two_seconds(server, number):
    """S3."""
    s = server()
    s.start_call("terminal_exec", command="trap '' TERM HUP INT; setsid sh -c \"trap '' TERM; sleep 60\" & sleep 60; sleep 60")
    s.wait_descendants(3)
    began = time.monotonic()
    s.signal(number)
    assert s.wait_exit() == 0
    assert time.monotonic() - began < 2 * busy()
    assert s.descendants() == []


# -- zombies -------------------------------------------------------------------------------------


def test_two_hundred_background_processes_that_end_leave_no_zombie(host):
    """X12: they come to the server as their subreaper."""
    for _ in range(10):
        host.call("terminal_exec", command="for i in $(seq 20); do (setsid true >/dev/null 2>&1 &); done; sleep 0.05")
    wait_until(lambda: not host.descendants(), "all ended")
    wait_until(lambda: host.zombies() == [], "all reaped")
    assert os.path.exists(f"/proc/{host.pid}")


def children_states(pid):
    """State letters of the children of a process."""
    states = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as f:
            state, parent = f.read().rpartition(")")[2].split()[:2]
            states += [state] * (int(parent) == pid)
    return states


def test_as_pid_1_it_reaps_and_ends_its_children(server, workspace):
    """Decision 22: default actions of signals do not exist for PID 1."""
    s = server(wrap=["unshare", "--pid", "--fork", "--kill-child"])
    assert s.failure("terminal_exec", command="sleep 60", timeout=0.3).endswith("exit_code: 124")
    with open(f"/proc/{s.pid}/task/{s.pid}/children") as f:
        inner = int(f.read().split()[0])
    for _ in range(5):
        s.call("terminal_exec", command="(setsid sh -c 'until [ -e go ]; do sleep 0.05; done' >/dev/null 2>&1 &)")
    assert len(children_states(inner)) == 5, "orphans come to it"
    (workspace / "go").touch()
    wait_until(lambda: not children_states(inner), "all ended and reaped")
    assert s.close() == 0
