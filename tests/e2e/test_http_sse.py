"""Answers that come as a stream: progress, comments in silence, what starts a stream and what does not.

Decisions 5 and 57; mcp.md sections 6 and 8.5; H12, H13, X10. `httpwire` checks the form of each event.
"""

import json
import signal
import threading
import time

import pytest

from httpwire import request
from mcpwire import first_text, tool_params, wait_until
from process import busy
from webserver import WebStarter, message, modern_fields, modern_message

LINES = "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.3; done"    # about 2.4 s
QUIET = 15      # seconds of silence after which a client hears something


def run(command, token=None, id=1, **more):
    params = tool_params("terminal_exec", {"command": command, **more})
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return message("tools/call", params, id)


def progress(events, token):
    """The parameters of the progress messages, all but the last event; they rise and carry the token."""
    params = [e.value["params"] for e in events[:-1] if e.kind == "message"]
    assert all(e.value["method"] == "notifications/progress" for e in events[:-1] if e.kind == "message")
    assert all(p["progressToken"] == token and type(p["progressToken"]) is type(token) for p in params)
    values = [p["progress"] for p in params]
    assert all(a < b for a, b in zip(values, values[1:])), values
    return params


# -- progress ------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_first_progress_turns_the_answer_into_a_stream(remote, era):
    """Decisions 5 and 57, H12, X10: its fields, its events while they happen, the answer last, then its end."""
    value = run(LINES, "t\u20ac")
    if era == "modern":
        value = modern_message("tools/call", value["params"])
    started = time.monotonic()
    with remote.start(value, modern_fields(value) if era == "modern" else {}) as c:
        stream = c.stream()
        assert 0.8 < time.monotonic() - started < 1.6 * busy(), "no head before the first message"
        head = stream.head
        assert (head.status, head.type, head["cache-control"], head["x-accel-buffering"]) == \
            (200, "text/event-stream", "no-cache", "no")
        events = stream.all()
        assert events[-1].value["id"] == 1
        assert first_text(events[-1].value["result"]).startswith("stdout:\nline 1\nline 2")
        params = progress(events, "t\u20ac")
        assert 2 <= len(params) <= 10 and all(p["message"].startswith("line ") for p in params)
        assert events[-1].at - events[0].at > 0.2, "events come when they happen"
        c.send(remote.bytes_of(message("ping")))
        assert c.answer().message()["result"] == {}, "the connection is kept"


def test_a_stream_for_http_1_0_ends_with_the_connection(remote):
    """H6: no chunks there."""
    body = json.dumps(run(LINES, 7)).encode()
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields({"Connection": "keep-alive"}), body, "HTTP/1.0"))
        events = c.stream("HTTP/1.0").all()
        assert "line 5" in first_text(events[-1].value["result"]) and progress(events, 7)
        assert c.closed()


def test_a_stream_on_a_connection_that_is_to_be_closed(remote):
    """H6: in chunks as any other, then the end."""
    with remote.start(message("ping"), {"Accept": "text/event-stream", "Connection": "close"}) as c:
        answer = c.answer()
        assert answer["transfer-encoding"] == "chunked" and answer.closes and answer.message()["result"] == {}
        assert c.closed()


@pytest.mark.parametrize("value, accept", [
    (run("sleep 1.15; echo x"), "application/json, text/event-stream"), (run("echo x", "t"), "*/*"),
    (run("sleep 1.15; echo x", "t"), "application/json"),
], ids=["no token", "short", "no stream accepted"])
def test_what_does_not_start_a_stream(remote, value, accept):
    """Decision 5; mcp.md section 6: a token obliges to nothing, and without one there is no progress."""
    answer = remote.post(value, {"Accept": accept})
    assert answer.type == "application/json" and "x" in first_text(answer.message()["result"])


def test_a_token_on_other_requests_does_not_start_a_stream(remote):
    """mcp.md section 6: rmcp puts one on every request."""
    for method, params in (("tools/list", {}), ("tools/call", tool_params("file_list", {})), ("ping", {})):
        answer = remote.post(message(method, {**params, "_meta": {"progressToken": 1}}))
        assert answer.type == "application/json" and "result" in answer.message()


def test_a_client_that_takes_a_stream_alone_gets_progress_and_answer_in_it(remote):
    """Decision 57: one stream, whether there is progress or not."""
    for command, least in (("echo x", 1), ("sleep 1.8; echo x", 2)):
        answer = remote.post(run(command, "t"), {"Accept": "text/event-stream"})
        events = answer.events()
        assert len(events) >= least and "x" in first_text(events[-1].value["result"])
    answer = remote.post(message("tools/call", tool_params("nope", {})), {"Accept": "text/event-stream"})
    assert answer.message()["error"]["code"] == -32602


def test_progress_within_a_batch_comes_before_its_one_answer(remote):
    """Decision 57: a batch runs in one job; its answer is one event."""
    answer = remote.post([run("echo a", "one"), message("ping", id=2), run("sleep 1.8; echo b", "two", 3)])
    *notes, last = [e.value for e in answer.events()]
    assert [v["id"] for v in last] == [1, 2, 3] and "b" in first_text(last[2]["result"])
    assert {n["params"]["progressToken"] for n in notes} == {"two"}


def test_text_that_looks_like_an_event_stays_inside_its_line(remote):
    """H12: newlines, carriage returns, separators of Unicode, in progress and in the answer."""
    command = r"printf 'a\r\n\ndata: x\n\nevent: y\rid: 1\n\xe2\x80\xa8z\xe2\x80\xa9'; sleep 1.8"
    events = remote.post(run(command, "t")).events()
    assert progress(events, "t")
    assert "a\r\n\ndata: x\n\nevent: y\rid: 1\n\u2028z\u2029" in first_text(events[-1].value["result"])


def test_a_large_answer_ends_its_stream_whole(remote, workspace):
    """H12: a megabyte in one event."""
    command = "sleep 1.8; yes 0123456789abcde | head -c 1000000"
    with remote.start(run(command, "t")) as c:
        time.sleep(2.1)
        events = c.stream().all()
    text = first_text(events[-1].value["result"])
    assert text.count("0123456789abcde\n") == 62_500


def test_several_streams_at_once_keep_apart(remote):
    """mcp.md section 8.5: one message goes to one stream."""
    calls = {name: remote.start(run(f"for i in 1 2 3; do echo {name}$i; sleep 0.6; done", name)) for name in "abcdef"}
    for name, c in calls.items():
        events = c.stream().all()
        assert progress(events, name) and all(p["message"].startswith(name) for p in progress(events, name))
        assert first_text(events[-1].value["result"]).startswith(f"stdout:\n{name}1\n{name}2")


def test_a_reader_that_sleeps_gets_whole_events_that_are_not_piled_up(remote, workspace):
    """Decision 57: at most one pending progress message a connection; others are served."""
    command = "while [ ! -e stop ]; do head -c 150 /dev/zero | tr '\\0' x; echo; done"
    with remote.start(run(command, "t")) as c:
        time.sleep(2)
        (workspace / "stop").write_text("")
        assert remote.result("ping") == {}
        events = c.stream().all()
    assert 2 <= len(progress(events, "t")) <= 16
    assert remote.peak_rss_kib() < 12 * 1024


def test_the_end_of_the_server_ends_a_stream_with_an_error_event(web):
    """Fault 33: no stream ends without a message."""
    w = web()
    with w.start(run("while :; do echo on; sleep 0.1; done", "t")) as c:
        stream = c.stream()
        assert stream.next()
        w.signal(signal.SIGTERM)
        events = stream.all()
        assert events[-1].value["error"]["code"] == -32603 and events[-1].value["id"] == 1
        assert c.closed()
    assert w.wait_exit() == 0


def test_an_allowed_origin_is_told_on_a_stream_too(remote):
    """H2: a browser reads it otherwise in vain."""
    answer = remote.post(message("ping"), {"Accept": "text/event-stream", "Origin": "http://localhost:6274"})
    assert answer["access-control-allow-origin"] == "http://localhost:6274" and answer.message()["result"] == {}


# -- silence -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def quiet_calls(binary, tmp_path_factory):
    """Calls that are silent for more than 15 s, which pass while the other tests of this file run.

    Gives the function that waits for them; it returns, by name, the events with their seconds since the start or the
    answer, and the workspace.
    """
    place = tmp_path_factory.mktemp("quiet")
    starter = WebStarter(binary, place, place)
    w = starter.start()
    command = f"sleep {QUIET + 3}; echo over"
    modern = modern_message("tools/call", tool_params("terminal_exec", {"command": command}), "m")
    started, found = time.monotonic(), {}

    def read(name, connection):
        try:
            if name == "plain":
                found[name] = connection.answer(timeout=QUIET + 10)
            else:
                events = connection.stream(timeout=QUIET + 10).all()
                connection.send(w.bytes_of(message("ping")))
                connection.answer()     # the connection was kept
                found[name] = [(e.at - started, e.kind, e.value) for e in events]
        except (AssertionError, OSError) as problem:
            found[name] = problem
    threads = [threading.Thread(target=read, args=pair) for pair in (
        ("legacy", w.start(run(command, id="m"))), ("modern", w.start(modern, modern_fields(modern))),
        ("batch", w.start([run(command, id="m")])), ("plain", w.start(run(command), {"Accept": "application/json"})))]
    for thread in threads:
        thread.start()
    w.start(run(f"{command} > late")).close()

    def end():
        for thread in threads:
            thread.join(QUIET + 10)
        return found, place
    yield end
    assert not [text for server in starter.started for text in server.end()]


def test_after_fifteen_seconds_of_silence_a_client_hears_a_comment(quiet_calls):
    """Decision 5, H13: in both eras, without a token. Who takes JSON alone waits; who has left is left alone."""
    found, place = quiet_calls()
    assert len(found) == 4 and not [value for value in found.values() if isinstance(value, Exception)], found
    for name in ("legacy", "modern", "batch"):
        (heard, kind, _), (answered, _, value) = found[name]
        assert kind == "comment" and QUIET - 0.5 < heard < QUIET + 2 * busy(), name
        value = value[0] if isinstance(value, list) else value
        assert answered > QUIET + 2.9 and value["id"] == "m" and "over" in first_text(value["result"])
    assert found["plain"].type == "application/json" and "over" in first_text(found["plain"].message()["result"])
    wait_until((place / "late").exists, "the command of the one that has left")


@pytest.mark.long(92)
def test_a_call_of_ninety_seconds_is_never_silent_for_long(remote):
    """H13, X10, issue 4: comments and progress keep proxies and clients from giving up at 60 s."""
    command = "for i in 1 2 3 4 5 6 7 8 9; do echo step $i; sleep 10; done; echo over"
    quiet = remote.start(run("sleep 90; echo over", timeout=120))
    loud = remote.start(run(command, "t", timeout=120))
    started = time.monotonic()
    events = loud.stream(timeout=30).all()
    progress(events, "t")
    assert "over" in first_text(events[-1].value["result"]) and events[-1].at - started > 89
    times = [started] + [e.at for e in events]
    assert max(b - a for a, b in zip(times, times[1:])) < QUIET + 2 * busy()
    answer = quiet.answer()
    kinds = [e.kind for e in answer.events()]
    assert kinds.count("comment") >= 5 and kinds[-1] == "message"
    assert "over" in first_text(answer.message()["result"])
