"""Progress of long commands (X10 of the field cases; section 6 of the protocol notes)."""

import time

import pytest

from mcpwire import first_text, same_id, tool_params

LINES = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.35; done"      # about 2.1 s


def run(server, command, token=..., modern=False, timeout=None):
    """Runs a command; returns (progress messages with times, answer with time, time of the start).

    Fails when any message follows the answer.
    """
    arguments = {"command": command} if timeout is None else {"command": command, "timeout": timeout}
    params = tool_params("terminal_exec", arguments)
    if token is not ...:
        params["_meta"] = {"progressToken": token}
    started = time.monotonic()
    id = (server.modern if modern else server).start_request("tools/call", params)
    answer = server.wait_message(id)
    events = [m for m in server.history if m.value.get("method") == "notifications/progress"]
    server.drain()
    server.silence(0.4)
    return events, answer, started


@pytest.mark.parametrize("token", [7, "a\"\u20ac"])
def test_progress_rises_echoes_its_token_and_shows_the_last_line_of_output(host, token):
    """X10, mcp.md section 6."""
    events, answer, started = run(host, LINES, token)
    assert first_text(answer.value["result"]).startswith("stdout:\nline 1\n")
    assert len(events) >= 2
    params = [m.value["params"] for m in events]
    assert all(same_id(p["progressToken"], token) for p in params)
    values = [p["progress"] for p in params]
    assert all(a < b for a, b in zip(values, values[1:])), values
    for message in events:
        shown = int((message.at - started) / 0.35) + 1
        assert message.value["params"]["message"] in [f"line {n}" for n in (shown - 1, shown, shown + 1)]


def test_the_first_progress_comes_after_about_a_second(host):
    """mcp.md section 6, decision 57."""
    events, _, started = run(host, LINES, "t")
    assert 0.9 < events[0].at - started < 1.6


def test_progress_comes_at_most_four_times_a_second(host):
    """A command that writes all the time does not flood its client."""
    events, _, _ = run(host, "end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do echo x; done", "t")
    assert 2 <= len(events) <= 10
    gaps = [b.at - a.at for a, b in zip(events, events[1:])]
    assert all(gap > 0.2 for gap in gaps), gaps


def test_a_silent_command_makes_progress_as_well(host):
    """X10: the client's own time limit is what has to be kept from striking."""
    events, _, _ = run(host, "sleep 2", "t")
    assert events
    values = [m.value["params"]["progress"] for m in events]
    assert values == sorted(set(values))


def test_no_progress_without_a_token(host):
    """mcp.md section 6."""
    events, _, _ = run(host, "for i in 1 2 3; do echo $i; sleep 0.5; done")
    assert events == []


def test_a_short_command_sends_no_progress(host):
    """mcp.md section 6: rmcp puts a token on every request."""
    events, _, _ = run(host, "echo a; sleep 0.2; echo b", "t")
    assert events == []


@pytest.mark.parametrize("method, params", [
    ("tools/list", {}), ("tools/call", tool_params("workspace_info", {})),
    ("tools/call", tool_params("file_list", {})),
])
def test_a_token_on_other_requests_obliges_to_nothing(host, method, params):
    """mcp.md section 6."""
    assert host.result(method, {**params, "_meta": {"progressToken": "t"}})
    assert host.modern.result(method, {**params, "_meta": {"progressToken": 1}})
    assert host.fence() == []


@pytest.mark.parametrize("token", [None, True, {}, [], 1.5])
def test_a_token_that_is_no_string_or_integer_is_no_token(host, token):
    """mcp.md section 4; the call itself is served or refused, never progress with such a token."""
    id = host.start_request("tools/call", {**tool_params("terminal_exec", {"command": "echo a; sleep 1.4; echo b"}),
                                           "_meta": {"progressToken": token}})
    answer = host.wait(id)
    assert "result" in answer or answer["error"]["code"] == -32602
    assert [m for m in host.history if "method" in m.value] == []


def test_modern_calls_get_progress_too(host):
    """mcp.md sections 6 and 10."""
    events, answer, _ = run(host, LINES, "m", modern=True)
    assert len(events) >= 2
    assert answer.value["result"]["resultType"] == "complete"
    assert all(m.value["params"]["progressToken"] == "m" for m in events)


def test_two_calls_report_under_their_own_tokens(host):
    """mcp.md section 6."""
    ids = [host.start_request("tools/call", {
        **tool_params("terminal_exec", {"command": f"for i in 1 2 3 4; do echo {name}$i; sleep 0.4; done"}),
        "_meta": {"progressToken": name}}) for name in ("x", "y")]
    for id in ids:
        host.wait(id)
    seen = {}
    for m in host.history:
        if m.value.get("method") == "notifications/progress":
            params = m.value["params"]
            assert params["message"].startswith(params["progressToken"])
            seen.setdefault(params["progressToken"], []).append(params["progress"])
    assert set(seen) == {"x", "y"}
    assert all(a < b for values in seen.values() for a, b in zip(values, values[1:]))


def test_no_progress_after_a_cancel(host):
    """mcp.md section 6: nothing more for that id."""
    id = host.start_request("tools/call", {
        **tool_params("terminal_exec", {"command": "trap '' TERM; while :; do echo on; sleep 0.1; done"}),
        "_meta": {"progressToken": "c"}})
    host.wait_notification("notifications/progress")
    host.cancel(id)
    host.fence()
    host.silence(1)
    host.wait_no_descendants()


def test_a_long_last_line_is_cut_to_valid_text(host):
    """A progress message is a line for a person, not the output."""
    events, _, _ = run(host, "yes '\u20ac' | head -c 300000 | tr -d '\\n'; sleep 1.6", "t")
    assert events
    for m in events:
        assert len(m.value["params"].get("message", "").encode()) <= 210


def test_control_and_invalid_bytes_of_output_stay_out_of_the_message_s_json(host):
    """mcp.md section 5: valid UTF-8 in every line we write (the harness parses them strictly)."""
    events, _, _ = run(host, "printf 'a\\0\\033[31m\\377\\n'; sleep 1.6", "t")
    assert events
