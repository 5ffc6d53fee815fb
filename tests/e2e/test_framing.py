"""Lines and JSON-RPC on stdio: what is a message, what is answered to what is not, batches.

Rows F1 to F16 are those of the field cases; section numbers are those of the protocol notes (mcp.md).
"""

import json
import time

import pytest

from mcpwire import MODERN_META, first_text, tool_params, wait_until

PARSE, INVALID, NO_METHOD, PARAMS = -32700, -32600, -32601, -32602


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
    """F1. The harness itself refuses any CR in front of a LF on stdout."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
                  b'"capabilities":{},"clientInfo":{"name":"n","version":"1"}}}\r\n'
                  b'{"jsonrpc":"2.0","id":2,"method":"ping"}\r\n')
    assert host.wait(1)["result"]["protocolVersion"] == "2025-11-25"
    assert host.wait(2)["result"] == {}


@pytest.mark.parametrize("line", [b"", b"   ", b"\t", b"\r", b" \t \r"])
def test_blank_lines_are_skipped_in_silence(host, line):
    """F12, mcp.md section 2."""
    host.send_raw(line + b"\n" + line + b"\n")
    assert host.fence() == []


@pytest.mark.parametrize("line", [
    b"{", b"}", b"[", b"nonsense", b'"', b'{"a":}', b"{'a':1}", b'{"a":1,}', b"[1,]", b"01", b"+1", b".5",
    b"NaN", b"Infinity", b"tru", b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', b'{"jsonrpc":"2.0","id":1,"method":"pi\tng"}',
    b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}', b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', b'{"jsonrpc":"2.0","id":1,"method":"\\x"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\u12g4"}', b"\0", b'{"jsonrpc":"2.0",\0"id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
])
def test_what_is_not_json_gets_a_parse_error_with_id_null(host, line):
    """F2, mcp.md sections 2 and 7."""
    refused(host, line, PARSE)


@pytest.mark.parametrize("line", [b"5", b'"text"', b"null", b"true", b"-1.5e3"])
def test_json_that_is_no_object_is_an_invalid_request_with_id_null(host, line):
    """mcp.md section 7: not a JSON-RPC 2.0 message."""
    refused(host, line, INVALID)


@pytest.mark.parametrize("depth", [65, 1000, 200_000])
def test_nesting_beyond_the_limit_is_one_error_and_the_next_message_is_served(host, depth):
    """Decision 21: the depth limit is checked before anything else sees the text."""
    refused(host, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * depth + b"1" +
            b"}" * (depth + 1), (PARSE, INVALID))


def test_a_message_of_too_many_values_is_one_error_and_the_next_message_is_served(host):
    """The tables for values are bounded (README: limits)."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"0," * 200_000 + b"0]}}"
    host.send_raw(line + b"\n")
    answers = host.fence()
    assert len(answers) == 1 and answers[0]["error"]["code"] in (INVALID, -32603), answers


def test_utf_8_cut_between_two_reads_arrives_unchanged(host, workspace):
    """F8: every byte in its own write."""
    text = "≤€🎉 ≤"
    line = json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
                       "params": tool_params("file_write", {"path": "t", "content": text})},
                      ensure_ascii=False).encode() + b"\n"
    for i in range(len(line)):
        host.send_raw(line[i:i + 1])
        time.sleep(0.001)
    assert not host.wait("slow")["result"].get("isError")
    assert (workspace / "t").read_bytes() == text.encode()
    assert host.text("file_read", path="t") == text


def test_several_messages_in_one_write_and_a_rest_in_the_next_are_all_served(host):
    """mcp.md section 11: split writes."""
    lines = b"".join(json.dumps(ping(f"m{i}")).encode() + b"\n" for i in range(5))
    host.send_raw(lines[:-20])
    assert [host.wait(f"m{i}")["result"] for i in range(4)] == [{}] * 4
    host.send_raw(lines[-20:])
    assert host.wait("m4")["result"] == {}


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 1_000_000, 8_000_000])
def test_long_lines_are_served_whole(host, workspace, size):
    """mcp.md section 11: 1 MB line; H18: whole file written."""
    content = ("0123456789abcde\n" * (size // 16 + 1))[:size]
    assert f"Written {size} bytes" in host.text("file_write", path="big", content=content)
    assert (workspace / "big").read_text() == content


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


def test_a_result_over_the_output_limit_is_bounded_with_a_note_and_no_exit(host):
    """F16."""
    text = host.text("terminal_exec", command="head -c 3000000 /dev/zero | tr '\\0' x")
    assert "bytes omitted of 3000000" in text
    assert len(text) < (1 << 20) + 1000
    assert host.result("ping") == {}


# -- the members of a message --------------------------------------------------------------------


@pytest.mark.parametrize("line", [
    b'{"id":7,"method":"ping"}', b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    b'{"jsonrpc":2.0,"id":7,"method":"ping"}', b'{"jsonrpc":null,"id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0 ","id":7,"method":"ping"}',
])
def test_a_message_without_jsonrpc_2_0_is_refused_with_its_own_id(host, line):
    """F3."""
    refused(host, line, INVALID, 7)


@pytest.mark.parametrize("id", ["{}", "[1]", "true", "false", "null", "1.5", "-0.5", "{\"a\":1}"])
def test_an_id_that_is_no_string_or_integer_is_refused_and_the_method_not_executed(host, workspace, id):
    """F4, mcp.md section 2: id null in the answer."""
    line = json.dumps(write_call("ID")).replace('"ID"', id).encode()
    refused(host, line, INVALID)
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("id", [
    b'"1"', b'"a\\u00e9\\""', b"0", b"-5", b"12345678901234567890123", b"9007199254740993", b'""', b'" "',
    b'"\\/"', b'"\\u0041\\n\\u0000"', b'"\xe2\x89\xa4"', b'"server-discover-probe-1"', b'"' + b"k" * 500 + b'"',
])
@pytest.mark.parametrize("method, member", [
    (b'"ping"', b'"result"'), (b'"no/such"', b'"error"'),
    (b'"tools/call","params":{"name":"file_read","arguments":{"path":"none"}}', b'"result"'),
])
def test_ids_come_back_byte_for_byte(host, id, method, member):
    """F5: also in errors and in results with isError."""
    host.send_raw(b'{"jsonrpc":"2.0", "id" : ' + id + b' ,"method":' + method + b"}\n")
    host.read_message()
    raw = host.history[-1].raw
    assert b'"id":' + id + b"," in raw or b'"id":' + id + b"}" in raw, raw
    assert member in raw


@pytest.mark.parametrize("line, id", [
    (b'{"JSONRPC":"2.0","Id":1,"METHOD":"tools/list"}', None),
    (b'{"jsonrpc":"2.0","id":3,"METHOD":"ping"}', 3),
    (b'{"Jsonrpc":"2.0","id":3,"method":"ping"}', 3),
])
def test_member_names_are_compared_byte_for_byte(host, line, id):
    """F6."""
    refused(host, line, INVALID, id)


def test_an_upper_case_name_in_params_is_not_the_tool_s_name(host):
    """F6 inside params."""
    error = host.error("tools/call", {"NAME": "workspace_info", "Arguments": {}})
    assert error["code"] == PARAMS


def test_a_method_given_twice_is_refused_with_the_id(host, workspace):
    """F7."""
    line = json.dumps(write_call(9)).replace('"method":', '"method": "ping", "method":').encode()
    refused(host, line, INVALID, 9)
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":9,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{},"params":{}}',
])
def test_any_other_member_given_twice_is_refused(host, line):
    """F7."""
    refused(host, line, INVALID, 9)


def test_an_id_given_twice_is_refused(host):
    """F7. Which of the two ids the error carries, if any, is open."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1001,"id":1002,"method":"ping"}\n')
    answers = host.fence()
    assert [a["error"]["code"] for a in answers] == [INVALID]
    assert answers[0]["id"] in (None, 1001, 1002)


def test_the_same_name_with_an_escape_is_the_same_member(host, workspace):
    """F7: a filter in front and the server must not read two different methods."""
    line = json.dumps(write_call(9)).replace('"method":', '"method": "ping", "\\u006dethod":').encode()
    host.send_raw(line + b"\n")
    answer = host.wait(9)
    assert answer.get("result") == {} or answer["error"]["code"] == INVALID
    assert not (workspace / "made").exists()


def test_a_key_with_an_escaped_nul_is_a_different_key(host):
    """F7."""
    refused(host, b'{"jsonrpc":"2.0","id":4,"method\\u0000":"ping"}', INVALID, 4)
    host.send_raw(b'{"jsonrpc":"2.0","id":5,"method":"ping","method\\u0000":"tools/call"}\n')
    assert host.wait(5)["result"] == {}


def test_a_tool_name_given_twice_is_refused(host, workspace):
    """F7 inside params."""
    line = json.dumps(write_call(9)).replace('"name":', '"name": "workspace_info", "name":').encode()
    refused(host, line, (INVALID, PARAMS), 9)
    assert not (workspace / "made").exists()


def test_an_argument_given_twice_is_a_result_that_names_it(host):
    """F7, decision 3."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_read",'
                  b'"arguments":{"path":"a","path":"b"}}}\n')
    result = host.wait(1)["result"]
    assert result["isError"] is True
    assert first_text(result) == "Invalid arguments for file_read: path: given twice"


def test_a_surrogate_pair_is_one_character_of_four_bytes(host, workspace):
    """F9."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write",'
                  b'"arguments":{"path":"e","content":"\\ud83d\\ude00"}}}\n')
    assert not host.wait(1)["result"].get("isError")
    assert (workspace / "e").read_bytes() == b"\xf0\x9f\x98\x80"
    assert host.text("file_read", path="e") == "\U0001f600"


@pytest.mark.parametrize("half", [b"\\ud83d", b"\\ude00", b"\\ude00\\ud83d", b"\\ud83dx"])
def test_half_a_surrogate_pair_is_refused_by_argument_name_and_nothing_written(host, workspace, half):
    """Decision 55: the error carries the id and names the argument."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write",'
                  b'"arguments":{"path":"e","content":"' + half + b'"}}}\n')
    result = host.wait(1)["result"]
    assert result["isError"] is True
    assert first_text(result).startswith("Invalid arguments for file_write: content: ")
    assert not (workspace / "e").exists()


@pytest.mark.parametrize("params", [
    None, [], "x", 5, {"arguments": {}}, {"name": 5}, {"name": None}, {"name": ["workspace_info"]},
    {"name": "workspace_info", "arguments": []}, {"name": "workspace_info", "arguments": "x"},
    {"name": "workspace_info", "arguments": 5}, {"name": "workspace_info", "arguments": True},
])
def test_params_of_the_wrong_shape_are_refused_and_the_next_message_is_served(host, params):
    """F13, mcp.md section 5."""
    host.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    assert host.wait("a")["error"]["code"] == PARAMS
    assert host.result("ping") == {}


@pytest.mark.parametrize("more", [{}, {"arguments": None}])
def test_arguments_may_be_left_out_or_null(host, more):
    """F14."""
    assert not host.result("tools/call", {"name": "workspace_info", **more}).get("isError")


@pytest.mark.parametrize("method", [5, None, ["ping"], {"a": 1}, True])
def test_a_method_that_is_no_string_is_refused_with_the_id(host, method):
    """mcp.md section 7."""
    refused(host, json.dumps({"jsonrpc": "2.0", "id": 8, "method": method}).encode(), INVALID, 8)


def test_unknown_members_are_ignored_everywhere(host):
    """mcp.md section 2: no schema of any revision forbids them."""
    host.send({"jsonrpc": "2.0", "id": 1, "method": "ping", "extra": {"a": [1, None]}, "params": {"x": 1}})
    assert host.wait(1)["result"] == {}
    result = host.result("tools/call", {"name": "workspace_info", "arguments": {}, "task": {"ttl": 5},
                                        "inputResponses": {}, "requestState": "s", "other": 1})
    assert not result.get("isError")


@pytest.mark.parametrize("message", [
    {"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "1", "result": None},
    {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "m"}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "m"}},
])
def test_answers_of_the_client_are_dropped_in_silence(host, message):
    """mcp.md section 1. An error with id null is what a client would send for a mistake of ours."""
    host.send(message)
    assert host.fence() == []


@pytest.mark.parametrize("method, params", [
    ("notifications/initialized", None), ("notifications/initialized", {}), ("notifications/progress", {}),
    ("notifications/roots/list_changed", None), ("notifications/unknown", {"a": 1}), ("ping", None),
    ("tools/list", {}), ("no/such", None), ("initialize", {}), ("tools/call", {"name": "nope"}),
    ("notifications/unknown", {"_meta": MODERN_META}), ("server/discover", None),
    ("tools/call", {"name": "workspace_info"}), ("notifications/initialized", []),
])
def test_what_has_no_id_is_never_answered(host, method, params):
    """mcp.md section 2: no response, ever, to a notification."""
    host.notify(method, params)
    host.notify(method, params)
    assert host.fence() == []


def test_control_characters_in_results_are_escaped(host):
    """mcp.md section 5: valid UTF-8 with C0 characters escaped."""
    text = host.text("terminal_exec", command="printf 'a\\0b\\033[0m\\001\\177'")
    assert text.startswith("stdout:\na\0b\x1b[0m\x01\x7f")
    assert all(byte >= 0x20 for byte in host.history[-1].raw)


# -- batches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, "2025-03-26", "2024-11-05"])
def test_a_batch_is_served_as_one_line_of_answers(server, version):
    """mcp.md section 2, decisions 2 and 57: before initialize and in the revisions that had batches."""
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
    """mcp.md section 2, decision 2: never silence."""
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


def test_answers_around_the_sizes_of_pipes_and_pages_arrive_whole(host, workspace):
    """F11: nothing cut at 65,536 bytes."""
    for size in (0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 131_072):
        (workspace / f"s{size}").write_text("€" * (size // 3) + "x" * (size % 3))
        assert len(host.text("file_read", path=f"s{size}").encode()) == size
