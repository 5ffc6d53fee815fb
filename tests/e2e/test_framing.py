"""Lines on stdio: where a message ends, how long it may be, slow readers, batches. Messages are in test_messages.py.

F rows are those of the field cases; section numbers are those of the protocol notes (mcp.md), of whose section 11 each
check has a number of its own.
"""

import json
import time

import pytest

from mcpwire import MODERN_META, first_text, tool_params, wait_until

PARSE, INVALID, NO_METHOD = -32700, -32600, -32601


def ping(id):
    return {"jsonrpc": "2.0", "id": id, "method": "ping"}


def write_call(id, path="made", **more):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": tool_params("file_write", {"path": path, "content": "x"}), **more}


def refused(server, line, code, id=None):
    """Sends one line and expects exactly one error, with that code and id, before a ping's answer."""
    server.send_raw(line + b"\n")
    answers = server.fence()
    assert len(answers) == 1, f"{line[:80]!r} was answered with {answers}"
    codes = code if isinstance(code, tuple) else (code,)
    assert answers[0]["error"]["code"] in codes, answers[0]
    assert "id" in answers[0] and answers[0]["id"] == id and type(answers[0]["id"]) is type(id)


# -- lines ---------------------------------------------------------------------------------------


def test_lines_ended_by_cr_lf_are_served_and_answers_end_with_lf_alone(host):
    """mcp.md 11.18, F1. The harness itself refuses any CR in front of a LF on stdout."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
                  b'"capabilities":{},"clientInfo":{"name":"n","version":"1"}}}\r\n'
                  b'{"jsonrpc":"2.0","id":2,"method":"ping"}\r\n')
    assert host.wait(1)["result"]["protocolVersion"] == "2025-11-25"
    assert host.wait(2)["result"] == {}


@pytest.mark.parametrize("line", [b"", b"   ", b"\t", b"\r", b" \t \r"])
def test_blank_lines_are_skipped_in_silence(host, line):
    """mcp.md 11.19, F12, mcp.md section 2."""
    host.send_raw(line + b"\n" + line + b"\n")
    assert host.fence() == []


def test_several_messages_in_one_write_and_a_rest_in_the_next_are_all_served(host):
    """mcp.md 11.25: split writes."""
    lines = b"".join(json.dumps(ping(f"m{i}")).encode() + b"\n" for i in range(5))
    host.send_raw(lines[:-20])
    assert [host.wait(f"m{i}")["result"] for i in range(4)] == [{}] * 4
    host.send_raw(lines[-20:])
    assert host.wait("m4")["result"] == {}


def test_a_line_without_end_is_one_error_and_service_goes_on_after_its_newline(host):
    """F10: 64 MiB without newline; memory stays bounded."""
    block = b"x" * (1 << 20)
    for _ in range(64):
        host.send_raw(block)
    assert host.peak_rss_kib() < 40 * 1024
    host.send_raw(b"\n")
    answers = host.fence()
    assert len(answers) == 1 and answers[0]["id"] is None
    assert answers[0]["error"]["code"] in (PARSE, INVALID)
    wait_until(lambda: host.rss_kib() < 2 * 1024, "memory of the long line given back")


def test_a_whole_request_over_the_limit_is_refused_and_not_executed(host, workspace):
    """F10: the bound of a line holds for well-formed messages as well."""
    line = json.dumps(write_call(1)).encode()[:-1]
    host.send_raw(line + b',"more":"' + b"y" * (17 << 20) + b'"}\n')
    answers = host.fence(30)
    assert [a["error"]["code"] for a in answers] == [INVALID] and answers[0]["id"] is None
    assert not (workspace / "made").exists()


def test_an_answer_of_a_mebibyte_reaches_a_slow_reader_whole_while_other_work_goes_on(host, workspace):
    """F11. The row's 5 s of sleep are 1 s here."""
    content = "".join(chr(33 + i % 90) for i in range(1 << 20))
    (workspace / "big").write_text(content)
    host.pause_reading()
    big = host.start_call("file_read", path="big")
    small = host.start_call("file_write", path="small", content="x")
    wait_until(lambda: (workspace / "small").exists(), "a call is served while an answer waits for its reader")
    time.sleep(1)
    host.resume_reading()
    assert first_text(host.wait(big)["result"]) == content
    assert not host.wait(small)["result"].get("isError")


def test_no_request_is_lost_when_the_client_reads_late(host, workspace):
    """F11 with many answers: each request is answered exactly once, with its result or as busy."""
    (workspace / "f").write_text("z" * 20_000)
    host.pause_reading()
    ids = [host.start_call("file_read", path="f") for _ in range(200)]
    time.sleep(0.3)
    host.resume_reading()
    served = 0
    for id in ids:
        answer = host.wait(id)
        if "result" in answer:
            assert len(first_text(answer["result"])) == 20_000
            served += 1
        else:
            assert answer["error"]["code"] == -32603 and "busy" in answer["error"]["message"]
    assert served >= 56
    assert host.fence() == []


# -- batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, "2025-03-26", "2024-11-05"])
def test_a_batch_is_served_as_one_line_of_answers(server, version):
    """mcp.md 11.15, mcp.md section 2, decisions 2 and 57: before initialize and in the revisions that had batches."""
    s = server()
    if version:
        s.initialize(version)
    s.send([ping(8), {"jsonrpc": "2.0", "method": "notifications/initialized"}, ping("b"),
            {"jsonrpc": "2.0", "id": 9, "method": "no/such"}])
    answers = s.read_message()
    assert [a["id"] for a in answers] == [8, "b", 9]
    assert answers[0]["result"] == {} and answers[1]["result"] == {}
    assert answers[2]["error"]["code"] == NO_METHOD
    assert s.fence() == []


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_in_later_revisions(server, workspace, version):
    """mcp.md 11.2 and 11.15, mcp.md section 2, decision 2: never silence."""
    s = server()
    s.initialize(version)
    refused(s, json.dumps([write_call(1)]).encode(), INVALID)
    assert not (workspace / "made").exists()


def test_an_initialize_that_falls_back_to_the_latest_revision_refuses_batches(host):
    """mcp.md sections 1 and 2: what counts is the revision answered, not the one asked for."""
    host.initialize("1999-01-01")
    refused(host, json.dumps([ping(1)]).encode(), INVALID)


@pytest.mark.parametrize("version", [None, "2025-03-26", "2025-11-25"])
def test_an_empty_batch_is_an_invalid_request(server, version):
    """mcp.md section 2."""
    s = server()
    if version:
        s.initialize(version)
    refused(s, b"[]", INVALID)


def test_a_batch_holds_at_most_32_messages(host):
    """Decision 57."""
    host.send([ping(i) for i in range(32)])
    assert [a["id"] for a in host.read_message()] == list(range(32))
    refused(host, json.dumps([ping(i) for i in range(33)]).encode(), INVALID)


def test_a_batch_of_notifications_is_not_answered(host):
    """mcp.md section 2."""
    host.send([{"jsonrpc": "2.0", "method": "notifications/initialized"},
               {"jsonrpc": "2.0", "method": "notifications/unknown"}])
    assert host.fence() == []


def test_initialize_in_a_batch_is_an_error_for_that_element_only(host):
    """mcp.md section 2: never initialize in a batch."""
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
    host.send([ping(1), {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params}, ping(3)])
    answers = {a["id"]: a for a in host.read_message()}
    assert answers[1]["result"] == {} and answers[3]["result"] == {}
    assert "error" in answers[2]


def test_broken_elements_of_a_batch_get_their_own_errors(host):
    """JSON-RPC 2.0 section 6."""
    host.send([1, ping(2), {"id": 3, "method": "ping"}, {"jsonrpc": "2.0", "id": None, "method": "ping"}, []])
    answers = host.read_message()
    assert sorted(a["error"]["code"] for a in answers if "error" in a) == [INVALID] * 4
    assert [a["id"] for a in answers if "result" in a] == [2]
    assert [a["id"] for a in answers if "error" in a] == [None, 3, None, None]


def test_a_modern_message_in_a_batch_is_refused_and_not_executed(host, workspace):
    """Decision 57: stdio takes batches of legacy messages only."""
    call = write_call(1)
    call["params"]["_meta"] = MODERN_META
    host.send([call])
    answer = host.read_message()
    answer = answer[0] if isinstance(answer, list) else answer
    assert answer["error"]["code"] == INVALID
    assert host.fence() == [] and not (workspace / "made").exists()


def test_answers_of_a_client_in_a_batch_are_dropped(host):
    """mcp.md section 1."""
    host.send([{"jsonrpc": "2.0", "id": 1, "result": {}}, ping(2)])
    assert [a["id"] for a in host.read_message()] == [2]


def test_tools_are_called_from_a_batch_in_order(host):
    """Decision 57: a batch runs in sequence; other messages are served meanwhile."""
    def call(id, tool, **arguments):
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": tool_params(tool, arguments)}
    host.send([call(1, "terminal_exec", command="sleep 0.3; echo first > a"),
               call(2, "file_read", path="a"), call(3, "file_read", path="none")])
    assert host.fence() == [], "the batch waits for its command, ping does not"
    answers = host.read_message()
    assert [a["id"] for a in answers] == [1, 2, 3]
    assert first_text(answers[1]["result"]) == "first\n"
    assert answers[2]["result"]["isError"] is True


def test_a_batch_message_can_be_cancelled(host):
    """mcp.md section 6: nothing is sent for a cancelled id; the rest of the batch is answered."""
    def call(id, command):
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": tool_params("terminal_exec", {"command": command})}
    host.send([ping(1), call(2, "sleep 60"), call(3, "echo on")])
    host.wait_descendants(1)
    host.cancel(2)
    answers = host.read_message()
    assert [a["id"] for a in answers] == [1, 3]
    host.wait_no_descendants()


def test_a_batch_message_whose_turn_has_not_come_can_be_cancelled(host, workspace):
    """mcp.md section 6: it never runs and is not answered; the rest is, in order."""
    def call(id, command):
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": tool_params("terminal_exec", {"command": command})}
    host.send([call(1, "while [ ! -e go ]; do sleep 0.02; done"), call("1", "touch ran"), ping(2), call(3, "touch ran"),
               call("last", "echo on")])
    host.wait_descendants(1)
    for id in ("1", 3, 99):
        host.cancel(id)
    assert host.fence() == []
    (workspace / "go").touch()
    answers = host.read_message()
    assert [a["id"] for a in answers] == [1, 2, "last"]
    assert not (workspace / "ran").exists() and "on" in first_text(answers[2]["result"])


def test_answers_around_the_sizes_of_pipes_and_pages_arrive_whole(host, workspace):
    """F11: nothing cut at 65,536 bytes."""
    for size in (0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 131_072):
        (workspace / f"s{size}").write_text("€" * (size // 3) + "x" * (size % 3))
        assert len(host.text("file_read", path=f"s{size}").encode()) == size
