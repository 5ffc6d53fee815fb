"""JSON-RPC messages on both transports: what is one, what is answered to what is not, ids, names, params.

Rows F2 to F16 are those of the field cases; section numbers are those of the protocol notes (mcp.md), of whose section
11 each check has a number of its own. Lines are in test_framing.py, heads of HTTP in test_http_mcp.py.
"""

import json
import time

import pytest

from mcpwire import MODERN_META, first_text, tool_params
from peer import INVALID, NO_METHOD, NOT_JSON, PARAMS
from webserver import message, modern_message, notification

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write","arguments":%s}}'


def write_call(id, path="made", **more):
    return {**message("tools/call", tool_params("file_write", {"path": path, "content": "x"}), id), **more}


# -- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    b"{", b"}", b"[", b"nonsense", b'"', b'{"a":}', b"{'a':1}", b'{"a":1,}', b"[1,]", b"01", b"+1", b".5",
    b"NaN", b"Infinity", b"tru", b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', b'{"jsonrpc":"2.0","id":1,"method":"pi\tng"}',
    b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}', b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', b'{"jsonrpc":"2.0","id":1,"method":"\\x"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\u12g4"}', b"\0", b'{"jsonrpc":"2.0",\0"id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', b'\xef\xbb\xbf{"jsonrpc":"2.0"}',
], ids=ascii)
def test_what_is_not_json_gets_a_parse_error_with_id_null(peer, text):
    """F2, mcp.md 11.1, sections 2 and 7, decision 1: 400 over HTTP."""
    peer.refuses(text, NOT_JSON)
    assert b'"id":null' in peer.raw
    assert peer.result("ping") == {}


@pytest.mark.parametrize("text", [b"5", b'"text"', b"null", b"true", b"-1.5e3", b"{}"])
def test_json_that_is_no_message_is_an_invalid_request_with_id_null(peer, text):
    """mcp.md section 7: not a JSON-RPC 2.0 message."""
    peer.refuses(text, INVALID)


@pytest.mark.parametrize("depth", [65, 1000, 200_000])
def test_nesting_beyond_the_limit_is_one_error_and_the_next_message_is_served(peer, depth):
    """Decision 21: the depth limit is checked before anything else sees the text."""
    peer.refuses(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1),
                 (NOT_JSON, INVALID))
    assert peer.result("ping") == {}


def test_a_message_of_too_many_values_is_one_error_and_the_next_message_is_served(peer):
    """The tables for values are bounded (README: limits)."""
    text = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"0," * 200_000 + b"0]}}"
    assert peer.ask(text)["error"]["code"] in (INVALID, -32603)
    assert peer.result("ping") == {}


def test_utf_8_cut_between_two_reads_arrives_unchanged(peer, workspace):
    """F8: every byte in its own write."""
    text = "≤€🎉 ≤"
    call = json.dumps(message("tools/call", tool_params("file_write", {"path": "t", "content": text}), "slow"),
                      ensure_ascii=False).encode()
    assert not peer.ask_slowly(call)["result"].get("isError")
    assert (workspace / "t").read_bytes() == text.encode()
    assert peer.text("file_read", path="t") == text


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 1_000_000, 8_000_000])
def test_long_messages_are_served_whole(peer, workspace, size):
    """mcp.md 11.24, H18: a message of a megabyte; the whole file is written."""
    content = ("0123456789abcde\n" * (size // 16 + 1))[:size]
    assert f"Written {size} bytes" in peer.text("file_write", path="big", content=content)
    assert (workspace / "big").read_text() == content


def test_a_result_over_the_output_limit_is_bounded_with_a_note_and_no_exit(peer):
    """F16."""
    text = peer.text("terminal_exec", command="head -c 3000000 /dev/zero | tr '\\0' x")
    assert "bytes omitted of 3000000" in text
    assert len(text) < (1 << 20) + 1000
    assert peer.result("ping") == {}


# -- the members of a message --------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    b'{"id":7,"method":"ping"}', b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    b'{"jsonrpc":2.0,"id":7,"method":"ping"}', b'{"jsonrpc":null,"id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0 ","id":7,"method":"ping"}',
])
def test_a_message_without_jsonrpc_2_0_is_refused_with_its_own_id(peer, text):
    """F3."""
    peer.refuses(text, INVALID, 7)


@pytest.mark.parametrize("id", ["{}", "[1]", "true", "false", "{\"a\":1}", "1e0", "null", "1.5", "-0.5"])
def test_an_id_that_is_no_string_or_integer_is_refused_and_the_method_not_executed(peer, workspace, id):
    """F4, mcp.md 11.3 (null) and 11.4 (a fraction), section 2: id null in the answer."""
    peer.refuses(json.dumps(write_call("ID")).replace('"ID"', id).encode(), INVALID)
    peer.refuses(json.dumps(message("tools/list", {}, "ID")).replace('"ID"', id).encode(), INVALID)
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("id", [
    b'"1"', b'"a\\u00e9\\""', b"0", b"-5", b"12345678901234567890123", b"9007199254740993", b'""', b'" "',
    b'"\\/"', b'"\\u0041\\n\\u0000"', b'"\xe2\x89\xa4"', b'"server-discover-probe-1"', b'"' + b"k" * 500 + b'"',
], ids=lambda id: ascii(id)[:40])
def test_ids_come_back_byte_for_byte(peer, id):
    """F5: also in errors and in results with isError."""
    for method, member in ((b'"ping"', b'"result"'), (b'"no/such"', b'"error"'),
                           (b'"tools/call","params":{"name":"file_read","arguments":{"path":"none"}}', b'"result"')):
        peer.ask(b'{"jsonrpc":"2.0", "id" : ' + id + b' ,"method":' + method + b"}")
        assert b'"id":' + id + b"," in peer.raw or b'"id":' + id + b"}" in peer.raw, peer.raw
        assert member in peer.raw


@pytest.mark.parametrize("text, id", [
    (b'{"JSONRPC":"2.0","Id":1,"METHOD":"tools/list"}', None),
    (b'{"jsonrpc":"2.0","id":3,"METHOD":"ping"}', 3),
    (b'{"Jsonrpc":"2.0","id":3,"method":"ping"}', 3),
])
def test_member_names_are_compared_byte_for_byte(peer, text, id):
    """F6."""
    peer.refuses(text, INVALID, id)


def test_an_upper_case_name_in_params_is_not_the_tool_s_name(peer):
    """F6 inside params."""
    peer.refuses(message("tools/call", {"NAME": "workspace_info", "Arguments": {}}), PARAMS, 1)


def test_a_method_given_twice_is_refused_with_the_id(peer, workspace):
    """F7."""
    peer.refuses(json.dumps(write_call(9)).replace('"method":', '"method": "ping", "method":').encode(), INVALID, 9)
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("text", [
    b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":9,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{},"params":{}}',
])
def test_any_other_member_given_twice_is_refused(peer, text):
    """F7."""
    peer.refuses(text, INVALID, 9)


def test_an_id_given_twice_is_refused(peer):
    """F7. Which of the two ids the error carries, if any, is open."""
    answer = peer.ask(b'{"jsonrpc":"2.0","id":1001,"id":1002,"method":"ping"}')
    assert answer["error"]["code"] == INVALID and answer["id"] in (None, 1001, 1002)


def test_the_same_name_with_an_escape_is_the_same_member(peer, workspace):
    """F7: a filter in front and the server must not read two different methods."""
    answer = peer.ask(json.dumps(write_call(9)).replace('"method":', '"method": "ping", "\\u006dethod":').encode())
    assert answer["id"] == 9 and (answer.get("result") == {} or answer["error"]["code"] == INVALID)
    assert not (workspace / "made").exists()


def test_a_key_with_an_escaped_nul_is_a_different_key(peer):
    """F7."""
    peer.refuses(b'{"jsonrpc":"2.0","id":4,"method\\u0000":"ping"}', INVALID, 4)
    assert peer.ask(b'{"jsonrpc":"2.0","id":5,"method":"ping","method\\u0000":"tools/call"}')["result"] == {}


def test_a_tool_name_given_twice_is_refused(peer, workspace):
    """F7 inside params."""
    peer.refuses(json.dumps(write_call(9)).replace('"name":', '"name": "workspace_info", "name":').encode(),
                 (INVALID, PARAMS), 9)
    assert not (workspace / "made").exists()


def test_an_argument_given_twice_is_a_result_that_names_it(peer):
    """F7, decision 3."""
    result = peer.ask(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_read",'
                      b'"arguments":{"path":"a","path":"b"}}}')["result"]
    assert result["isError"] is True
    assert first_text(result) == "Invalid arguments for file_read: path: given twice"


def test_a_surrogate_pair_is_one_character_of_four_bytes(peer, workspace):
    """F9."""
    assert not peer.ask(CALL % b'{"path":"e","content":"\\ud83d\\ude00"}')["result"].get("isError")
    assert (workspace / "e").read_bytes() == b"\xf0\x9f\x98\x80"
    assert peer.text("file_read", path="e") == "\U0001f600"


@pytest.mark.parametrize("half", [b"\\ud83d", b"\\ude00", b"\\ude00\\ud83d", b"\\ud83dx"])
def test_half_a_surrogate_pair_is_refused_by_argument_name_and_nothing_written(peer, workspace, half):
    """Decision 55: the error carries the id and names the argument."""
    result = peer.ask(CALL % (b'{"path":"e","content":"' + half + b'"}'))["result"]
    assert result["isError"] is True
    assert first_text(result).startswith("Invalid arguments for file_write: content: ")
    assert not (workspace / "e").exists()


@pytest.mark.parametrize("params", [
    None, [], "x", 5, {"arguments": {}}, {"name": 5}, {"name": None}, {"name": ["workspace_info"]},
    {"name": "workspace_info", "arguments": []}, {"name": "workspace_info", "arguments": "x"},
    {"name": "workspace_info", "arguments": 5}, {"name": "workspace_info", "arguments": True},
])
def test_params_of_the_wrong_shape_are_refused_and_the_next_message_is_served(peer, params):
    """F13, mcp.md section 5."""
    peer.refuses({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}, PARAMS, "a")
    assert peer.result("ping") == {}


@pytest.mark.parametrize("more", [{}, {"arguments": None}])
def test_arguments_may_be_left_out_or_null(peer, more):
    """F14."""
    for make in (message, modern_message):
        result = peer.ask(make("tools/call", {"name": "workspace_info", **more}))["result"]
        assert not result.get("isError") and first_text(result)


@pytest.mark.parametrize("method", [5, None, ["ping"], {"a": 1}, True])
def test_a_method_that_is_no_string_is_refused_with_the_id(peer, method):
    """mcp.md section 7."""
    peer.refuses({"jsonrpc": "2.0", "id": 8, "method": method}, INVALID, 8)


def test_unknown_members_are_ignored_everywhere(peer):
    """mcp.md section 2: no schema of any revision forbids them."""
    assert peer.ask({**message("ping", {"x": 1}), "extra": {"a": [1, None]}})["result"] == {}
    result = peer.result("tools/call", {"name": "workspace_info", "arguments": {}, "task": {"ttl": 5},
                                        "inputResponses": {}, "requestState": "s", "other": 1})
    assert not result.get("isError")


# -- what is not answered ------------------------------------------------------------------------


@pytest.mark.parametrize("value", [
    {"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "1", "result": None},
    {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "m"}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "m"}},
])
def test_answers_of_the_client_are_dropped(peer, value):
    """mcp.md section 1. An error with id null is what a client would send for a mistake of ours."""
    peer.ignores(value)


@pytest.mark.parametrize("method, params", [
    ("notifications/initialized", None), ("notifications/initialized", {}), ("notifications/progress", {}),
    ("notifications/roots/list_changed", None), ("notifications/unknown", {"a": 1}), ("ping", None),
    ("tools/list", {}), ("no/such", None), ("initialize", {}), ("tools/call", {"name": "nope"}),
    ("notifications/unknown", {"_meta": MODERN_META}), ("notifications/cancelled", {"_meta": MODERN_META}),
    ("server/discover", None), ("tools/call", {"name": "workspace_info"}), ("notifications/initialized", []),
    ("tools/call", tool_params("file_write", {"path": "made", "content": "x"})),
])
def test_what_has_no_id_is_never_answered_and_never_executed(peer, workspace, method, params):
    """mcp.md 11.11 (of the modern era: 202), section 2: no response, ever, to a notification."""
    peer.ignores(notification(method, params))
    peer.ignores(notification(method, params))
    assert not (workspace / "made").exists()


# -- answers -------------------------------------------------------------------------------------


def test_control_characters_in_results_are_escaped(peer):
    """mcp.md section 5: valid UTF-8 with C0 characters escaped."""
    call = message("tools/call", tool_params("terminal_exec", {"command": "printf 'a\\0b\\033[0m\\001\\177'"}))
    text = first_text(peer.ask(call)["result"])
    assert text.startswith("stdout:\na\0b\x1b[0m\x01\x7f")
    assert all(byte >= 0x20 for byte in peer.raw)


def test_ping_is_answered_at_once_while_a_command_runs(peer):
    """F15: within 100 ms; the call's own answer comes later, with its own id."""
    running = peer.start(message("tools/call", tool_params("terminal_exec", {"command": "sleep 1; echo over"}), "long"))
    peer.wait_descendants(1)
    times = []
    for _ in range(5):
        started = time.monotonic()
        assert peer.result("ping") == {}
        times.append(time.monotonic() - started)
    assert sorted(times)[2] < 0.1 and max(times) < 0.5, "the median, and no more for a busy machine's worst"
    answer = peer.finish(running)
    assert answer["id"] == "long" and first_text(answer["result"]) == "stdout:\nover\n\n\nexit_code: 0"


def test_two_calls_in_flight_are_answered_out_of_order(peer):
    """mcp.md 11.26: each as it is ready, with its own id."""
    def call(id, command):
        return message("tools/call", tool_params("terminal_exec", {"command": command}), id)
    slow = peer.start(call("slow", "while [ ! -e go ]; do sleep 0.02; done; echo slow"))
    fast = peer.start(call("fast", "touch go; echo fast"))      # were it to wait for the other, it would wait for ever
    answers = [peer.finish(fast), peer.finish(slow)]
    assert [a["id"] for a in answers] == ["fast", "slow"]
    assert "fast" in first_text(answers[0]["result"]) and "slow" in first_text(answers[1]["result"])


@pytest.mark.parametrize("method", ["no/such", "tools/list/", "PING"])
def test_an_error_has_the_id_and_the_status_of_its_era(peer, method):
    """mcp.md sections 3 and 7: 200 or 404 over HTTP."""
    peer.refuses(message(method, {}, "l"), NO_METHOD, "l")
    peer.refuses(modern_message(method, {}, "m"), NO_METHOD, "m")
