"""Commands inside: how long they may take, many at once, cancelled ones.

sandbox-tools.md section 9; P1, P2, P3, P20.
"""

import json
import statistics
import time

import pytest

from mcpwire import wait_until
from process import busy
from sandbox import most_open, one_sandbox, script


def test_a_command_may_take_as_long_as_it_was_given(master, sandbox):
    """P1: T - 1 seconds of T = 5, also where ordinary requests have 1 second."""
    m, s, box = one_sandbox(master, sandbox, env={"SANDSTORM_HTTP_TIMEOUT": "1"})
    done = s.value("exec_command", **script(box, "sleep 4; echo late"), timeout_secs=5)
    assert done == {"stdout": "late\n", "stderr": "", "exit_code": 0}
    assert m.requests("POST", "/exec$")[0].json()["timeout_secs"] == 5


def test_a_command_that_was_stopped_is_hinted_at(master, sandbox):
    """P20: when the time was used up and the exit code is not 0; not for one that is merely bad."""
    m, s, box = one_sandbox(master, sandbox)
    stopped = s.value("exec_command", **script(box, "echo so far; exec sleep 60"), timeout_secs=1)
    assert stopped["hint"] == "the command may have been stopped by timeout_secs" and stopped["exit_code"] == -9
    assert "hint" not in s.value("exec_command", **script(box, "exit 5"), timeout_secs=1)
    assert "hint" not in s.value("exec_command", **script(box, "sleep 0.2"), timeout_secs=1)


def test_a_hint_of_the_masters_own_stays_the_only_one(master, sandbox):
    """A member that stands twice is no JSON to many readers."""
    m, s, box = one_sandbox(master, sandbox)
    own = {"stdout": "", "stderr": "", "exit_code": 124, "hint": "timed out"}
    m.arm("shape", "POST", "/exec", text=json.dumps(own))
    assert s.value("exec_command", **script(box, "exec sleep 60"), timeout_secs=1) == own


def timed(s, tool):
    started = time.monotonic()
    s.result("ping") if tool == "ping" else s.value(tool)
    return time.monotonic() - started


def test_nothing_waits_for_a_long_command(master, sandbox):
    """P2: ping and list_sandboxes during a 10 s exec; the median, and slack for a busy machine."""
    m, s, box = one_sandbox(master, sandbox)
    id = s.start_call("exec_command", **script(box, "sleep 10"))
    wait_until(lambda: m.requests("POST", "/exec$"), "it runs")
    for tool in ("ping", "list_sandboxes"):
        times = [timed(s, tool) for _ in range(9)]
        assert statistics.median(times) < 0.2 * busy(), (tool, times)
    assert m.requests("POST", "/exec$")[0].done is None, "it is still running"
    s.cancel(id)


def test_commands_run_side_by_side(master, sandbox):
    """P2: four of 2 s within 3 s."""
    m, s, box = one_sandbox(master, sandbox)
    started = time.monotonic()
    ids = [s.start_call("exec_command", **script(box, "sleep 2; echo $1", n)) for n in range(4)]
    for n, id in enumerate(ids):
        assert s.wait_value(id)["stdout"] == f"{n}\n"
    assert time.monotonic() - started < 3.5 * busy()


def test_more_commands_than_connections(master, sandbox):
    """Decision 51: 16 connections, two of them kept for short calls; in the end all are served."""
    m, s, box = one_sandbox(master, sandbox)
    s.patience = 30
    ids = [s.start_call("exec_command", **script(box, "sleep 0.7; echo $1", n)) for n in range(24)]
    wait_until(lambda: len([c for c in m.open_connections() if c.requests]) >= 10, "many run")
    assert timed(s, "list_sandboxes") < 0.5 * busy()
    for n, id in enumerate(ids):
        assert s.wait_value(id)["stdout"] == f"{n}\n"
    assert most_open(m) <= 16
    assert len({r.json()["args"][-1] for r in m.requests("POST", "/exec$")}) == 24 == len(m.requests("POST", "/exec$"))


@pytest.mark.parametrize("tool", ["exec_command", "branch_sandbox", "list_sandboxes"])
def test_a_cancelled_call_is_given_up_at_once(master, sandbox, tool):
    """P3: no answer, the connection closed within 200 ms (with slack), the rest goes on."""
    m, s, box = one_sandbox(master, sandbox)
    m.set(branch_after=5.0)
    m.arm("delay", "GET", "/v1/sandboxes$", seconds=5)
    arguments = {"exec_command": script(box, "sleep 5"), "branch_sandbox": {"sandbox_id": box["id"]},
                 "list_sandboxes": {}}
    m.forget()
    id = s.start_call(tool, **arguments[tool])
    request = wait_until(m.requests, "it is on its way")[0]
    time.sleep(0.05)
    asked = time.monotonic()
    s.cancel(id)
    wait_until(lambda: request.connection.closed, "the connection is closed")
    assert request.connection.closed - asked < 0.4 * busy()
    assert s.exec(box, "echo", "on")["stdout"] == "on\n"
    assert not [v for v in s.drain() if v.get("id") == id], "no answer"


def test_the_end_of_stdin_lets_a_command_finish(master, sandbox):
    """Decision 48: its answer is still written."""
    m, s, box = one_sandbox(master, sandbox)
    id = s.start_call("exec_command", **script(box, "sleep 0.7; echo late"))
    wait_until(lambda: m.requests("POST", "/exec$"), "it runs")
    s.close_stdin()
    assert s.wait_value(id)["stdout"] == "late\n" and s.wait_exit() == 0


def test_a_client_that_is_gone_leaves_no_call_behind(master, sandbox):
    """Decision 48: nobody reads stdout any more, which a pipe tells at once; the connections are closed."""
    m, s, box = one_sandbox(master, sandbox)
    s.start_call("exec_command", **script(box, "sleep 20"))
    wait_until(lambda: m.requests("POST", "/exec$"), "it runs")
    s.close_stdout()
    assert s.wait_exit() == 0
    assert not m.requests("POST", "/exec$")[0].done


def test_a_cancelled_call_that_waits_for_a_connection(master, sandbox):
    """It is never sent."""
    m, s, box = one_sandbox(master, sandbox)
    running = [s.start_call("exec_command", **script(box, "sleep 1")) for _ in range(14)]
    waiting = s.start_call("exec_command", **script(box, "echo never"))
    s.fence()
    s.cancel(waiting)
    for id in running:
        s.wait_value(id)
    assert s.fence() == [] and not [r for r in m.requests("POST", "/exec$") if b"never" in r.body]
