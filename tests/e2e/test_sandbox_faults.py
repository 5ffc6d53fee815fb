"""What goes wrong between the server and the master: each fault on one GET, one POST of exec and one spawn.

sandbox-tools.md sections 3, 5.2 and 10.4; E5, P4, P16, P21. After each fault the next call works, and no POST was sent
twice.
"""

import time

import pytest

from process import busy, wait_until
from sandbox import one_sandbox, proof

CLOSED = "the master closed the connection before the reply was complete"
INVALID = "invalid reply from the master: "
WORKS = None
BIG = "9" * 20
# fault, its arguments, what the failure says; a tuple: of get_sandbox, exec_command and spawn_sandboxes apart
FAULTS = [
    ("delay", {}, WORKS), ("stall", {}, WORKS), ("dribble", {"seconds": 0.001}, WORKS), ("interim", {}, WORKS),
    ("idle_close", {}, WORKS), ("close", {}, CLOSED), ("reset", {}, CLOSED), ("alert", {}, "TLS"),
    ("cut_head", {}, CLOSED), ("cut_body", {}, CLOSED + " (got 5 of "), ("close_body", {}, CLOSED + " (got 5 of "),
    ("bare", {}, INVALID), ("wide_head", {}, INVALID), ("html", {}, INVALID), ("half_json", {}, INVALID),
    ("deep", {}, INVALID), ("shape", {"text": "42"}, INVALID), ("shape", {"text": "null"}, INVALID),
    ("shape", {"text": '"words"'}, INVALID), ("shape", {"text": "{} {}"}, INVALID),
    ("empty", {}, (WORKS, WORKS, INVALID)), ("body_of_204", {}, (WORKS, WORKS, INVALID)),
    ("digits", {}, WORKS), ("raw_text", {"inside": "\\u0000"}, WORKS), ("raw_text", {"inside": "\\ud800"}, WORKS),
    ("raw_text", {"inside": "\xff"}, WORKS), ("raw_text", {"inside": "\xed\xa0\x80"}, WORKS),
    ("packed", {}, INVALID), ("redirect", {"to": "https://127.0.0.1:1/x"}, "https://127.0.0.1:1/x"),
    ("status", {"status": 401, "fields": [("WWW-Authenticate", "Bearer")]},
     "the API token or the sandbox token was refused"),
    ("status", {"status": 429, "fields": [("Retry-After", "17")]}, ("retry later", "17", "429")),
    ("status", {"status": 503, "fields": [("Retry-After", "17")]}, ("retry later", "17", "503")),
    ("length", {"by": 10}, CLOSED), ("length", {"by": -5}, INVALID), ("length_text", {"text": "-5"}, INVALID),
    ("length_text", {"text": BIG}, INVALID), ("length_text", {"text": "0x10"}, INVALID),
    ("length_text", {"text": ""}, INVALID),
    ("length_twice", {}, INVALID), ("both_framings", {}, INVALID), ("echo", {}, "cannot handle"),
]
CALLS = ["get_sandbox", "exec_command", "spawn_sandboxes"]


def start(master, sandbox):
    """A server with one sandbox and so with one kept connection."""
    m, s, box = one_sandbox(master, sandbox)
    arguments = {"get_sandbox": {"sandbox_id": box["id"]}, "exec_command": {**proof(box), "args": ["echo", "hi"]},
                 "spawn_sandboxes": {"template": "sh"}}
    return m, s, arguments


@pytest.mark.parametrize("fault, told, expected", FAULTS,
                         ids=[" ".join([f, *(ascii(v)[:16] for v in a.values())]) for f, a, _ in FAULTS])
def test_a_fault(master, sandbox, fault, told, expected):
    """E5."""
    m, s, arguments = start(master, sandbox)
    for at, tool in enumerate(CALLS):
        method = "GET" if tool == "get_sandbox" else "POST"
        m.forget()
        # a GET may be sent once more when a kept connection breaks before the reply: so it breaks twice
        m.arm(fault, method, times=2 if method == "GET" and fault in ("close", "reset") else 1, **told)
        texts = expected[at] if isinstance(expected, tuple) and WORKS in expected else expected
        if texts is WORKS:
            assert s.value(tool, **arguments[tool])
        else:
            text = s.failure(tool, **arguments[tool])
            for part in [texts] if isinstance(texts, str) else texts:
                assert part in text, (tool, text)
        assert m.requests()[0].fault == fault
        assert len(m.requests(method)) <= (1 if method == "POST" else 2), "sent once"
        m.disarm()
        assert len(s.value("list_templates")) == 2, "the next call works"


def test_a_kept_connection_that_is_closed_under_a_request(master, sandbox):
    """P16, H8: the GET is sent again and succeeds, the POST is not."""
    m, s, arguments = start(master, sandbox)
    m.arm("close", "GET")
    assert s.value("get_sandbox", **arguments["get_sandbox"])
    assert len(m.requests("GET", "/sb-[^/]*$")) >= 2
    for tool in ("exec_command", "spawn_sandboxes"):
        m.forget()
        m.arm("close", "POST")
        assert CLOSED in s.failure(tool, **arguments[tool])
        assert len(m.requests("POST")) == 1
    s.value("list_templates")
    m.arm("close", "DELETE")
    gone = arguments["get_sandbox"]["sandbox_id"]
    # the first one has done it, the second finds nothing: that is what was wanted
    assert s.value("kill_sandbox", **arguments["get_sandbox"]) == {"id": gone, "killed": True}
    assert [r.status for r in m.requests("DELETE")][1:] == [404] and gone not in m.world.sandboxes
    assert "not found" in s.failure("kill_sandbox", **arguments["get_sandbox"]), "nothing was lost on the way: no such sandbox"


def test_a_fresh_connection_that_is_closed_is_not_tried_again(master, sandbox):
    """H8: only a reused one may have been given up by the master before it saw the request."""
    m = master()
    m.arm("close", "GET")
    assert CLOSED in sandbox(m).failure("list_templates") and len(m.requests()) == 1


def test_a_connection_that_the_master_gave_up_is_not_used(master, sandbox):
    """H8: before reuse it is looked at; 10.4, keep-alive closed when idle for a second."""
    m, s, arguments = start(master, sandbox)
    m.arm("idle_close", "POST")
    s.value("exec_command", **arguments["exec_command"])
    used = m.requests("POST", "/exec$")[0].connection
    wait_until(lambda: used.closed, "it is closed")
    assert s.value("exec_command", **arguments["exec_command"])["stdout"] == "hi\n"
    assert len(m.requests("POST", "/exec$")) == 2


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500, 503])
def test_the_text_of_the_master_is_told(master, sandbox, status):
    """P4."""
    m = master()
    s = sandbox(m)
    m.arm("status", times=9, status=status, text="caf\u00e9\x1b[31m\r\nwhy not")
    for tool, arguments in (("list_sandboxes", {}), ("branch_sandbox", {"sandbox_id": "a"}),
                            ("delete_snapshot", {"tag": "t"})):
        text = s.failure(tool, **arguments)
        assert f" answered {status} " in text and "caf\u00e9" in text and "why not" in text
        assert not set(text) & {"\x1b", "\r"}
    m.disarm()
    m.arm("status", times=1, status=status, text="y" * 100_000)
    assert len(s.failure("list_sandboxes")) < 2048


def test_who_is_not_there(master, sandbox):
    """5.2: connection refused, a name that does not exist."""
    m = master()
    m.end()
    assert f"connection refused by 127.0.0.1:{m.port}; is the master running?" in sandbox(m).failure("list_templates")
    s = sandbox(m, env={"SANDSTORM_URL": "https://no-such-host.invalid"})
    assert "cannot resolve no-such-host.invalid" in s.failure("list_templates")


def test_resolving_a_name_holds_up_nobody(master, sandbox):
    """Issue 6, 5: it happens beside the loop."""
    s = sandbox(master(), env={"SANDSTORM_URL": "https://no-such-host.invalid"})
    waiting = [s.start_call("list_templates") for _ in range(3)]
    started = time.monotonic()
    s.result("ping")
    assert time.monotonic() - started < busy()
    for id in waiting:
        assert "cannot resolve" in s.wait_failure("list_templates", id, 30)


def test_a_reply_that_takes_too_long(master, sandbox):
    """H10: the deadline of a short call; exec has its own, later one."""
    m = master()
    s = sandbox(m, env={"SANDSTORM_HTTP_TIMEOUT": "1"})
    (box,) = s.spawn()
    for fault in ("delay", "stall"):
        m.arm(fault, "GET", seconds=3)
        started = time.monotonic()
        assert "timed out after 1 s (reply" in s.failure("list_sandboxes")
        assert 0.9 < time.monotonic() - started < 2.5 * busy()
    m.arm("delay", "POST", seconds=1.5)
    assert s.exec(box, "true")["exit_code"] == 0


@pytest.mark.long(12)
@pytest.mark.parametrize("how, phase", [("deaf", "connect"), ("mute", "TLS")])
def test_a_master_that_does_not_take_the_connection(master, sandbox, how, phase):
    """H10: ten seconds for connect and TLS; nothing else waits for it."""
    m = master()
    s = sandbox(m)
    if how == "deaf":
        m.deaf()
    else:
        m.mute = True
    started = time.monotonic()
    id = s.start_call("list_templates")
    s.result("ping")
    assert time.monotonic() - started < busy()
    s.patience = 20
    assert f"timed out after 10 s ({phase}" in s.wait_failure("list_templates", id)
    assert 9 < time.monotonic() - started < 10 + 4 * busy()
    m.hear()
    m.mute = False
    assert s.value("list_templates")


@pytest.mark.long(12)
def test_exec_that_gets_no_answer_says_that_it_may_still_run(master, sandbox):
    """5.2, H10: timeout_secs + 15."""
    m, s, arguments = start(master, sandbox)
    m.arm("delay", "POST", seconds=30)
    s.patience = 30
    text = s.failure("exec_command", **arguments["exec_command"], timeout_secs=1)
    assert "timed out after 16 s (reply" in text and "the operation may still be running on the master" in text


def test_broken_replies_in_a_row_break_nothing(master, sandbox):
    """P21: the server goes on, and holds no connection that was out of step."""
    m, s, arguments = start(master, sandbox)
    before = s.fd_count()
    for fault, told in (("html", {}), ("half_json", {}), ("length", {"by": 10}), ("bare", {}), ("cut_head", {})) * 4:
        m.arm(fault, "POST", **told)
        s.failure("exec_command", **arguments["exec_command"])
        assert s.value("exec_command", **arguments["exec_command"])["stdout"] == "hi\n"
    assert s.fd_count() <= before + 1
