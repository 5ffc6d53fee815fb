"""Calls that run side by side, their cancellation, and a table of jobs that is full.

F, M and X rows are those of the field cases; section numbers those of the protocol notes (mcp.md).
"""

import json
import time

import pytest

from mcpwire import MODERN_META, first_text, tool_params, wait_until
from process import busy

BUSY = -32603
JOBS, KEPT = 64, 8          # of a 64-bit build; the README lists them


def ping_ms(server):
    """The least of some: whoever cannot answer at once is slow each time."""
    times = []
    for _ in range(5):
        started = time.monotonic()
        server.result("ping")
        times.append((time.monotonic() - started) * 1000)
    return min(times)


def fill(server, count, command="exec sleep 60"):
    """Starts that many commands and waits until all of them run."""
    ids = [server.start_call("terminal_exec", command=command, timeout=60) for _ in range(count)]
    server.wait_descendants(count)
    return ids


# -- side by side --------------------------------------------------------------------------------


def test_thirty_commands_at_once_keep_their_output_apart(host):
    """Each answer holds its own command's output and nothing else."""
    ids = {host.start_call("terminal_exec", command=f"echo {n}; sleep 0.2; echo {n}"): n for n in range(30)}
    started = time.monotonic()
    for id, n in ids.items():
        assert first_text(host.wait(id)["result"]) == f"stdout:\n{n}\n{n}\n\n\nexit_code: 0"
    assert time.monotonic() - started < 4 * busy(), "they ran one after the other"


def test_both_eras_are_served_side_by_side(host):
    """mcp.md section 1: one process may serve both at once."""
    legacy = host.start_call("terminal_exec", command="sleep 0.2; echo l")
    modern = host.modern.start_call("terminal_exec", command="sleep 0.1; echo m")
    assert host.wait(modern)["result"]["resultType"] == "complete"
    assert "resultType" not in host.wait(legacy)["result"]


def test_a_request_that_reuses_an_id_in_flight_does_not_confuse_the_first(host):
    """The client's mistake; both are answered (or the second refused), neither is lost."""
    for command in ("sleep 0.3; echo one", "echo two"):
        host.start_request("tools/call", tool_params("terminal_exec", {"command": command}), id="same")
    answers = [host.wait("same"), host.wait("same")]
    texts = [first_text(a["result"]) if "result" in a else "refused" for a in answers]
    assert any("one" in text for text in texts)
    assert any("two" in text or text == "refused" for text in texts)


# -- cancel --------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["a string", "1", 1, 0, -7, "a\"\u20ac\n", 9007199254740993])
def test_a_cancelled_command_is_gone_and_never_answered(host, id):
    """X11, mcp.md 11.27, section 6: cancel by string id and by number."""
    host.start_request("tools/call", tool_params("terminal_exec", {"command": "sleep 60 & sleep 60; echo late"}), id=id)
    host.wait_descendants(2)
    host.cancel(id)
    host.wait_no_descendants()
    host.silence(0.1)
    assert host.fence() == []


def test_a_cancel_in_other_escapes_means_the_same_id(host):
    """An id is a JSON string: "\\u0061" is "a"."""
    host.start_request("tools/call", tool_params("terminal_exec", {"command": "sleep 60"}), id="ab")
    host.wait_descendants(1)
    host.send_raw(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\\u0061b"}}\n')
    host.wait_no_descendants()
    assert host.fence() == []


def test_a_cancel_of_the_same_digits_in_the_other_type_does_nothing(host):
    """F5: "1" is not 1."""
    ids = [host.start_request("tools/call", tool_params("terminal_exec", {"command": "sleep 0.4; echo on"}), id=id)
           for id in (11, "12")]
    host.wait_descendants(2)
    host.cancel("11")
    host.cancel(12)
    assert ["on" in first_text(host.wait(id)["result"]) for id in ids] == [True, True]


def test_only_the_cancelled_call_ends(host):
    """mcp.md section 6."""
    keep = host.start_call("terminal_exec", command="sleep 0.5; echo kept")
    drop = host.start_call("terminal_exec", command="sleep 60; echo dropped")
    host.wait_descendants(2)
    host.cancel(drop)
    assert "kept" in first_text(host.wait(keep)["result"])
    assert host.fence() == []


@pytest.mark.parametrize("params", [
    None, {}, [], "x", {"requestId": None}, {"requestId": 99}, {"requestId": "99"}, {"requestId": {}},
    {"requestId": [1]}, {"requestId": True}, {"requestId": 1.5}, {"reason": "why"}, {"requestId": 1, "reason": 5},
    {"requestId": 10 ** 30}, {"requestId": "k" * 5000},
])
def test_a_cancel_that_names_nothing_in_flight_is_ignored(host, params):
    """mcp.md section 6: unknown, finished, malformed. Request 1 is finished here."""
    assert host.call("workspace_info")["content"]
    host.notify("notifications/cancelled", params)
    host.notify("notifications/cancelled", params)
    assert host.fence() == []


@pytest.mark.parametrize("meta", [None, MODERN_META])
def test_a_modern_call_is_cancelled_with_or_without_meta_on_the_notification(host, meta):
    """Decision 4, mcp.md section 8.3: clients send both."""
    id = host.modern.start_call("terminal_exec", command="sleep 60")
    host.wait_descendants(1)
    host.notify("notifications/cancelled", {"requestId": id, **({"_meta": meta} if meta else {})})
    host.wait_no_descendants()
    assert host.fence() == []


def test_a_cancelled_command_is_asked_to_end_first(host, workspace):
    """README decision 4: TERM, then KILL."""
    host.start_request("tools/call", tool_params("terminal_exec", {
        "command": "trap 'echo asked > term; exit' TERM; touch ready; while :; do sleep 0.05; done"}), id=1)
    wait_until((workspace / "ready").exists, "the trap is set")
    host.cancel(1)
    wait_until((workspace / "term").exists, "TERM arrives")
    host.wait_no_descendants()


@pytest.mark.parametrize("command", [
    "trap '' TERM; sleep 60 & while :; do sleep 0.1; done",
    "setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & sleep 60",
    "(setsid sleep 60 &); sleep 60", "nohup setsid nohup sleep 60 >/dev/null 2>&1 & sleep 60",
], ids=["ignores TERM", "own session, ignores TERM", "orphan", "daemon"])
def test_nothing_of_a_cancelled_command_outlives_the_grace_time(host, command):
    """X2, X11, decision 43: descendants in other sessions as well; KILL 1 s after TERM."""
    id = host.start_call("terminal_exec", command=command)
    host.wait_descendants(2)
    time.sleep(0.1)
    host.cancel(id)
    host.wait_no_descendants(4)
    assert host.fence() == []


def test_a_cancel_right_behind_its_request_is_obeyed(host, workspace):
    """mcp.md section 6: both lines in one write."""
    host.send_raw(b'{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"terminal_exec","arguments":'
                  b'{"command":"sleep 0.3; touch late; sleep 60"}}}\n'
                  b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}\n')
    host.wait_no_descendants()
    time.sleep(0.4)
    assert host.fence() == [] and not (workspace / "late").exists()


@pytest.mark.parametrize("method, params", [
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}),
    ("server/discover", {"_meta": MODERN_META}),
])
def test_the_first_requests_of_a_session_cannot_be_cancelled(host, method, params):
    """mcp.md section 6: initialize and server/discover are answered all the same."""
    host.send_raw(b"".join(json.dumps(message).encode() + b"\n" for message in (
        {"jsonrpc": "2.0", "id": "first", "method": method, "params": params},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "first"}})))
    assert "result" in host.wait("first")


def test_cancelling_twice_is_as_good_as_once(host):
    """mcp.md section 6."""
    id = host.start_call("terminal_exec", command="trap '' TERM; while :; do sleep 0.1; done")
    host.wait_descendants(1)
    for _ in range(3):
        host.cancel(id)
    host.wait_no_descendants(4)
    assert host.fence() == []


# -- a full table --------------------------------------------------------------------------------


def test_a_full_table_refuses_commands_but_serves_the_rest_and_hears_cancels(host, workspace):
    """Decision 28: 56 commands run, the 57th is refused, ping, lists and files go on; each cancel is obeyed."""
    ids = fill(host, JOBS - KEPT)
    error = host.request("tools/call", tool_params("terminal_exec", {"command": "touch ran"}))["error"]
    assert error["code"] == BUSY and error["message"].startswith("Server is busy")
    assert not (workspace / "ran").exists()
    assert ping_ms(host) < 100 * busy()
    assert host.result("tools/list")["tools"]
    assert host.modern.result("server/discover")["supportedVersions"]
    assert "Written 2 bytes" in host.text("file_write", path="f", content="ok")
    assert host.text("file_read", path="f") == "ok"
    assert str(workspace) in host.text("file_list", recursive=True)
    host.cancel(ids.pop())
    wait_until(lambda: len(host.descendants()) == JOBS - KEPT - 1, "one command ends")

    def accepted():
        answer = host.request("tools/call", tool_params("terminal_exec", {"command": "echo again"}))
        return "result" in answer and "again" in first_text(answer["result"])
    wait_until(accepted, "a place is free again")
    for id in ids:
        host.cancel(id)
    host.wait_no_descendants()
    assert host.fence() == []
    assert "exit_code: 0" in host.text("terminal_exec", command="true")


def test_batches_cannot_take_the_places_kept_for_short_calls(host):
    """Decisions 28 and 57: the kept jobs are kept from commands in batches as well."""
    for n in range(JOBS + 6):
        host.send([{"jsonrpc": "2.0", "id": f"b{n}", "method": "tools/call",
                    "params": tool_params("terminal_exec", {"command": "exec sleep 60"})}])
    host.wait_descendants(JOBS - KEPT)
    answers = [a[0] for a in host.fence() if isinstance(a, list)]
    assert len(host.descendants()) == JOBS - KEPT
    assert [a["error"]["code"] for a in answers] == [BUSY] * (KEPT + 6)
    assert ping_ms(host) < 100 * busy()
    for n in range(JOBS + 6):
        host.cancel(f"b{n}")
    host.wait_no_descendants()
    assert host.fence() == []


def test_a_storm_of_requests_is_answered_one_by_one(host):
    """Nothing is lost when 2,000 requests come in one go: each is served or told that the server is busy."""
    ids = [host.start_request("ping", id=f"p{n}") for n in range(2000)]
    answers = [host.wait(id) for id in ids]
    assert all(a.get("result") == {} or a["error"]["code"] == BUSY for a in answers)
    assert host.fence() == []


def test_five_hundred_commands_leave_no_zombie_and_no_descriptor(host):
    """X12."""
    host.text("terminal_exec", command="true")
    before = host.fd_count()
    for _ in range(25):
        ids = [host.start_call("terminal_exec", command=":") for _ in range(20)]
        for id in ids:
            assert first_text(host.wait(id)["result"]) == "exit_code: 0"
    wait_until(lambda: host.zombies() == [] and host.fd_count() == before, "all are collected, all is closed")


def test_orphans_of_commands_are_collected(host):
    """X12, decision 43: a subreaper has to reap what it inherits."""
    for _ in range(20):
        host.text("terminal_exec", command="(sleep 0.05 >/dev/null 2>&1 </dev/null &)")
    host.wait_no_descendants()
    wait_until(lambda: host.zombies() == [], "all are collected")
