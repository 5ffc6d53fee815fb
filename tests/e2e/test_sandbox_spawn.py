"""spawn_sandboxes: it answers when all run, tells of those that do not and removes them, and leaves nothing behind.

sandbox-tools.md section 6.3; P18.
"""

import json
import statistics
import time

import pytest

from master.settings import VARIANTS
from mcpwire import wait_until
from process import busy
from sandbox import script, variables
from webserver import message, modern_fields, modern_message


def report_of(text):
    """(the sentence, {"started": [...], "failed": [...]}) of a spawn that did not go well."""
    sentence, brace, rest = text.partition("{")
    return sentence, json.loads(brace + rest)


def gone(m):
    return wait_until(lambda: not m.world.sandboxes, "all are removed")


def test_it_answers_when_all_run(master, sandbox):
    m = master(start_after=0.6)
    s = sandbox(m)
    started = time.monotonic()
    boxes = s.spawn(3, template="python")
    assert time.monotonic() - started > 0.5
    assert [box["state"] for box in boxes] == ["running"] * 3 and [box["token"] for box in boxes] == m.world.tokens
    assert all(list(box) == [*s.value("get_sandbox", sandbox_id=box["id"]), "token"] for box in boxes)


@pytest.mark.parametrize("told", ["{}", '{"state":"running"}', '{"status":{"state":"running"},"pid":7}'])
def test_a_look_that_tells_no_id_takes_none_away(master, sandbox, told):
    """The answer was `{,"token":...}`, or a token without the sandbox it opens."""
    m = master(start_after=0.3)
    m.arm("shape", "GET", "/v1/sandboxes/", text=told, times=9)
    s = sandbox(m)
    (box,) = s.spawn()
    assert box["id"] in m.world.sandboxes and [box["token"]] == m.world.tokens
    assert s.exec(box, "echo", "hi")["stdout"] == "hi\n"


def test_forty_at_once(master, sandbox):
    """Step 6: however many wait, at most 20 requests a second look after them."""
    m = master(start_after=1.0)
    s = sandbox(m)
    started = time.monotonic()
    boxes = s.spawn(40, template="sh")
    took = time.monotonic() - started
    assert len({box["token"] for box in boxes}) == 40
    polls = len(m.requests("GET", "/v1/sandboxes/"))
    assert 40 <= polls <= 20 * took + 5, f"{polls} polls within {took} s"


def test_a_thousand_at_once(master, sandbox):
    """As many as one call may ask for; those that run at once need no look."""
    m = master(start_after=0)
    s = sandbox(m)
    s.patience = 30
    boxes = s.spawn(1000, template="sh")
    assert [box["token"] for box in boxes] == m.world.tokens and len(m.requests()) == 1
    assert s.rss_kib() < 1400


def test_how_often_it_looks(master, sandbox):
    """Step 6: every 200 ms for 2 s, then every 500 ms."""
    m = master(start_after=3.2)
    sandbox(m).spawn()
    times = [r.at for r in m.requests("GET")]
    gaps = [b - a for a, b in zip(times, times[1:])]
    assert 8 <= len(times) <= 14, gaps
    assert 0.15 < statistics.median(gaps[:8]) < 0.3 * busy() and 0.4 < max(gaps[8:]) < 0.8 * busy(), gaps


@pytest.mark.parametrize("state", VARIANTS["state"])
@pytest.mark.parametrize("fate", ["failed", "gone", "stuck"])
def test_one_of_three_does_not_start(master, sandbox, fate, state):
    """P18, step 8: it is removed, with the node's reason; the others are kept, with their tokens."""
    m = master(start_after=0.05, fate=["running", fate, "running"], state=state)
    s = sandbox(m)
    text = s.wait_failure("spawn_sandboxes", s.start_call("spawn_sandboxes", template="sh", n=3, start_timeout_secs=1))
    sentence, told = report_of(text)
    assert "1 of 3 sandboxes did not start" in sentence
    left = m.world.living()
    assert [(box["id"], box["token"]) for box in told["started"]] == [(b.id, b.token) for b in left] and len(left) == 2
    (failed,) = told["failed"]
    assert failed["removed"] is True and failed["id"] not in [b.id for b in left]
    reasons = {"failed": "the program exited with status 3", "gone": "gone", "stuck": "1 s"}
    assert reasons[fate] in failed["reason"], failed
    assert m.requests("DELETE") or fate == "gone"


def test_the_start_timeout_of_the_environment(master, sandbox):
    m = master(fate="stuck")
    s = sandbox(m, env={"SANDSTORM_START_TIMEOUT": "1"})
    started = time.monotonic()
    text = s.failure("spawn_sandboxes", template="sh")
    assert 0.9 < time.monotonic() - started < 3 * busy()
    assert "1 of 1 sandboxes did not start" in text and report_of(text)[1]["started"] == []
    gone(m)


def test_passing_troubles_while_it_waits(master, sandbox):
    """Step 6: 429, 5xx and broken connections are tolerated until the deadline."""
    m = master(start_after=1.2)
    s = sandbox(m)
    for fault, told in (("status", {"status": 503}), ("close", {}), ("status", {"status": 429}), ("cut_body", {})):
        m.arm(fault, "GET", "/v1/sandboxes/", **told)
    assert s.spawn()[0]["state"] == "running"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_while_it_waits_ends_it(master, sandbox, status):
    """Step 6; what was made is removed, for nobody can be told of a state that cannot be seen."""
    m = master(fate="stuck")
    s = sandbox(m)
    m.arm("status", "GET", "/v1/sandboxes/", times=99, status=status, text="invalid bearer token")
    started = time.monotonic()
    text = s.failure("spawn_sandboxes", template="sh")
    assert str(status) in text and "invalid bearer token" in text and time.monotonic() - started < 5 * busy()


def test_a_second_request_fails_after_one_was_made(master, sandbox):
    """Step 8: one made for each POST, the second is refused: the first is told of and kept."""
    m = master(spawn="single")
    s = sandbox(m)
    m.arm("delay", "POST", "/v1/sandboxes$", seconds=0)         # the first one passes
    m.arm("status", "POST", "/v1/sandboxes$", status=503, text="no node has room")
    text = s.wait_failure("spawn_sandboxes", s.start_call("spawn_sandboxes", template="sh", n=2))
    told = report_of(text)[1]
    assert [box["token"] for box in told["started"]] == m.world.tokens and len(m.world.tokens) == 1
    assert "no node has room" in text


def test_one_for_each_request(master, sandbox):
    """Step 3: a master that makes one however many were asked for."""
    m = master(spawn="single")
    boxes = sandbox(m).spawn(4, template="sh")
    assert len({box["id"] for box in boxes}) == 4 == len(m.world.living()) == len(m.requests("POST"))


def test_a_number_that_the_master_does_not_know(master, sandbox):
    """Step 4: n is left out from then on."""
    m = master(spawn="no_n")
    s = sandbox(m)
    assert len(s.spawn(3, template="sh")) == 3 == len(m.world.living())
    m.forget()
    assert len(s.spawn(2, template="sh")) == 2 and not [r for r in m.requests("POST") if "n" in r.json()]


def test_a_refused_template_makes_nothing(master, sandbox):
    m = master()
    s = sandbox(m)
    assert "404 Not Found: template none not found" in s.failure("spawn_sandboxes", template="none")
    assert "404 Not Found: snapshot none not found" in s.failure("spawn_sandboxes", tag="none")
    assert len(m.requests("POST")) == 2 and m.world.tokens == []


# -- the client goes away -----------------------------------------------------------------------------------------


def waiting_spawn(master, sandbox, n=3):
    m = master(fate="stuck")
    s = sandbox(m)
    id = s.start_call("spawn_sandboxes", template="sh", n=n)
    wait_until(lambda: m.requests("GET", "/v1/sandboxes/"), "it waits")
    return m, s, id


def test_cancelled_while_waiting(master, sandbox):
    """P18: nobody knows the tokens, so all are removed; no answer."""
    m, s, id = waiting_spawn(master, sandbox)
    s.cancel(id)
    gone(m)
    assert not [v for v in s.fence() if v.get("id") == id]
    assert len(s.value("list_templates")) == 2


def test_cancelled_before_the_reply_to_the_post(master, sandbox):
    """What the master made meanwhile is looked for no more than can be known: the call is over, the server goes on."""
    m = master()
    s = sandbox(m)
    m.arm("delay", "POST", seconds=0.5)
    id = s.start_call("spawn_sandboxes", template="sh")
    wait_until(m.requests, "it is sent")
    s.cancel(id)
    time.sleep(0.8)
    assert not [v for v in s.fence() if v.get("id") == id]
    assert len(s.value("list_templates")) == 2


@pytest.mark.parametrize("n", [1, 3, 40])
def test_end_of_stdin_while_waiting(master, sandbox, n):
    """P18, decision 48: removed within two seconds, then exit 0."""
    m, s, id = waiting_spawn(master, sandbox, n)
    started = time.monotonic()
    assert s.close() == 0 and time.monotonic() - started < 4 * busy()
    assert not m.world.sandboxes


def test_a_client_that_is_gone(master, sandbox):
    """Decision 48: an error on stdout cancels all; the poll's next answer or the progress finds out."""
    m, s, id = waiting_spawn(master, sandbox)
    s.close_stdout()
    s.close_stdin()
    assert s.wait_exit() == 0
    gone(m)


@pytest.mark.parametrize("era, accept, tls", [("legacy", "*/*", False), ("legacy", "application/json", False),
                                              ("modern", "*/*", False), ("legacy", "*/*", True)])
def test_a_client_over_http_that_is_gone(master, web, lan, era, accept, tls):
    """P18: nobody has the tokens of what was made, and nobody can ask for the answer again, in the legacy era neither."""
    m = master(fate="stuck")
    w = web(args=["--tools", "sandbox"], env=variables(m), tls=lan if tls else None)
    params = {"name": "spawn_sandboxes", "arguments": {"template": "sh", "n": 3}}
    value = message("tools/call", params) if era == "legacy" else modern_message("tools/call", params)
    connection = w.start(value, {"Accept": accept, **(modern_fields(value) if era == "modern" else {})})
    wait_until(lambda: m.requests("GET", "/v1/sandboxes/"), "it waits")
    connection.close()
    gone(m)
    assert w.text("list_templates")


def test_a_client_over_http_that_only_sends_no_more(master, web):
    """Decision 35: in the legacy era it gets its answer, as a stream, and what was made stays."""
    m = master(start_after=1.0)
    w = web(args=["--tools", "sandbox"], env=variables(m))
    with w.start(message("tools/call", {"name": "spawn_sandboxes", "arguments": {"template": "sh"}})) as c:
        wait_until(lambda: m.requests("GET", "/v1/sandboxes/"), "it waits")
        c.half_close()
        comment, answer = c.messages()
    assert comment.kind == "comment" and not answer.value["result"]["isError"]
    assert len(m.world.living()) == 1


def test_term_while_waiting(master, sandbox):
    m, s, id = waiting_spawn(master, sandbox)
    s.process.terminate()
    s.wait_exit()
    gone(m)


def test_removing_takes_two_seconds_at_most(master, sandbox):
    """Step 8: a master that does not answer holds nobody up."""
    m, s, id = waiting_spawn(master, sandbox)
    m.arm("delay", "DELETE", times=99, seconds=8)
    started = time.monotonic()
    assert s.close() == 0
    assert time.monotonic() - started < 4 * busy()


@pytest.mark.long(12)
def test_progress_while_it_waits(master, sandbox):
    """Step 9: for who asked, at most every 5 s; none for others."""
    m = master(start_after=11.0)
    s = sandbox(m)
    s.patience = 20
    asked = s.modern.with_meta(progressToken="p")
    asked_id = asked.start_call("spawn_sandboxes", template="sh")
    s.wait_value(s.modern.start_call("spawn_sandboxes", template="sh"))
    s.wait_value(asked_id)
    notes = [x for x in s.history if x.value.get("method") == "notifications/progress"]
    assert notes and {x.value["params"]["progressToken"] for x in notes} == {"p"}
    values = [x.value["params"]["progress"] for x in notes]
    assert values == sorted(set(values)) and len(notes) <= 4


@pytest.mark.long(12)
def test_progress_of_a_long_command(master, sandbox):
    """Issue 6, 4."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    s.patience = 20
    asked = s.modern.with_meta(progressToken=7)
    assert s.wait_value(asked.start_call("exec_command", **script(box, "sleep 12")))["exit_code"] == 0
    notes = [x.value["params"] for x in s.history if x.value.get("method") == "notifications/progress"]
    assert notes and all(n["progressToken"] == 7 for n in notes)
