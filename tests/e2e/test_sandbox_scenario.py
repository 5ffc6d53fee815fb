"""The whole life of sandboxes through the 13 tools, under each form that a master's answers may have.

sandbox-tools.md section 10.6, E1 and E2; section 8 for the old master.
"""

import re

import pytest

from master.settings import VARIANTS
from sandbox import NAMES, proof, script
from mcpwire import wait_until

VARIED = [(name, value) for name, values in VARIANTS.items() for value in values[1:]
          if name != "flavour" and value != "close rudely"]


def live(s, log, m):
    """E1; the master's view is looked at as well."""
    assert s.value("list_templates") == [{"name": "python"}, {"name": "sh"}]
    (first,) = s.value("spawn_sandboxes", template="python")
    done = s.exec(first, "sh", "-c", 'echo out; echo err >&2; exit 3')
    assert done == {"stdout": "out\n", "stderr": "err\n", "exit_code": 3}
    assert s.value("eval_code", **proof(first), code="print(6 * 7)")["stdout"] == "42\n"
    assert s.value("ping_sandbox", **proof(first))["pong"] is True
    log.write_text("starting\nlistening on 80\n")
    seen = s.value("wait_for_text", **proof(first), path=str(log), marker="listening")
    assert seen["found"] is True and "listening on 80" in seen["last_excerpt"]
    assert s.value("branch_sandbox", sandbox_id=first["id"], tag="t1")["tag"] == "t1"
    assert [snapshot["tag"] for snapshot in s.value("list_snapshots")] == ["base", "t1"]
    three = s.value("spawn_sandboxes", tag="t1", n=3)
    boxes = [first, *three]
    assert len({box["token"] for box in boxes}) == 4 == len(m.world.living())
    assert [box["id"] for box in s.value("list_sandboxes")] == [box["id"] for box in boxes]
    for box in three:
        shown = s.value("get_sandbox", sandbox_id=box["id"])
        assert "token" not in shown and shown == {name: value for name, value in box.items() if name != "token"}
        assert s.exec(box, "echo", "hi")["stdout"] == "hi\n"
    assert s.value("touch_sandbox", sandbox_id=first["id"])["id"] == first["id"]
    for box in boxes:
        assert s.value("kill_sandbox", sandbox_id=box["id"]) == {"id": box["id"], "killed": True}
    for tag in ("t1", "base"):
        assert s.value("delete_snapshot", tag=tag) == {"tag": tag, "deleted": True}
    assert s.value("list_sandboxes") == s.value("list_snapshots") == []


def test_a_life(master, sandbox, tmp_path):
    """E1, with the requests that the master saw."""
    m = master(start_after=0.05)
    s = sandbox(m)
    s.initialize()
    assert [tool["name"] for tool in s.result("tools/list")["tools"]] == NAMES
    live(s, tmp_path / "log", m)
    steps = [(r.method, re.sub(r"sb-[0-9a-f-]+", "ID", r.target)) for r in m.requests()]
    polls = [step for step in steps if step == ("GET", "/v1/sandboxes/ID")]
    exec = ("POST", "/v1/sandboxes/ID/exec")
    assert [step for step in steps if step not in polls] == [
        ("GET", "/v1/templates"), ("POST", "/v1/sandboxes"), exec, ("POST", "/v1/sandboxes/ID/eval"),
        ("POST", "/v1/sandboxes/ID/ping"), exec, ("POST", "/v1/sandboxes/ID/branch"), ("GET", "/v1/snapshots"),
        ("POST", "/v1/sandboxes"), ("GET", "/v1/sandboxes"), exec, exec, exec, ("POST", "/v1/sandboxes/ID/touch"),
        *[("DELETE", "/v1/sandboxes/ID")] * 4, ("DELETE", "/v1/snapshots/t1"), ("DELETE", "/v1/snapshots/base"),
        ("GET", "/v1/sandboxes"), ("GET", "/v1/snapshots")]
    assert len(m.connections()) == 1, "one connection, kept"
    assert all(r.get("authorization") == f"Bearer {m.token}" for r in m.requests())


@pytest.mark.parametrize("name, value", VARIED, ids=[f"{name} {value}" for name, value in VARIED])
def test_the_same_life_with_a_master_of_another_form(master, sandbox, tmp_path, name, value):
    """E2."""
    m = master(start_after=0.05, **{name: value})
    live(sandbox(m), tmp_path / "log", m)


def test_a_body_that_ends_with_the_connection_needs_a_goodbye(master, sandbox):
    """E2, L14: without close_notify anybody could have cut it."""
    s = sandbox(master(framing="close rudely"))
    assert "closed the connection before the reply was complete" in s.failure("list_sandboxes")
    assert "closed the connection before the reply was complete" in s.failure("spawn_sandboxes", template="sh")


@pytest.mark.parametrize("form, expected", [("127", {"exit_code": 127}),
                                            ("1", {"exit_code": 1, "stdout": "", "stderr": ""})])
def test_a_program_that_is_not_there(master, sandbox, form, expected):
    """10.3: as a result, in either form."""
    s = sandbox(master(missing=form))
    (box,) = s.spawn()
    done = s.exec(box, "/no/such/program")
    assert expected.items() <= done.items() and (form == "1" or "No such file" in done["stderr"])


def test_a_program_that_is_not_there_may_be_an_error(master, sandbox):
    s = sandbox(master(missing="400"))
    (box,) = s.spawn()
    assert "answered 400 Bad Request: exec /no/such/program: No such file or directory" in s.failure(
        "exec_command", **proof(box), args=["/no/such/program"])


@pytest.mark.parametrize("form", VARIANTS["error"])
def test_each_form_of_an_error_is_read(master, sandbox, form):
    """Section 3, the order of what is looked at in the body."""
    m = master(error=form)
    s = sandbox(m)
    s.spawn()
    text = s.failure("branch_sandbox", sandbox_id=m.world.living()[0].id, tag="base")
    assert "POST /v1/sandboxes/" in text and "answered 409 Conflict" in text
    assert ("snapshot base exists" in text) == (form != "empty")


def test_touching_without_a_reply_shows_the_sandbox(master, sandbox):
    """6.2: then it is asked for."""
    m = master(touch="empty", idle_after=1)
    s = sandbox(m)
    (box,) = s.spawn()
    wait_until(lambda: s.value("get_sandbox", sandbox_id=box["id"])["state"] == "idle", "idle")
    touched = s.value("touch_sandbox", sandbox_id=box["id"])
    assert (touched["id"], touched["state"]) == (box["id"], "running")


def test_an_idle_sandbox_is_pinged_as_the_master_likes(master, sandbox):
    m = master(idle_after=0.1, ping_idle=409)
    s = sandbox(m)
    (box,) = s.spawn()
    wait_until(lambda: m.world.find(box["id"]).state() == "idle", "idle")
    assert "409 Conflict: the sandbox is idle; touch it first" in s.failure("ping_sandbox", **proof(box))


def test_a_life_with_the_old_master(master, sandbox, tmp_path):
    """Section 8: no templates, no tokens, no states, errors of its framework as plain text."""
    m = master(flavour="v05")
    s = sandbox(m)
    for tool, arguments, route in (("list_templates", {}, "GET /v1/templates"),
                                   ("touch_sandbox", {"sandbox_id": "x"}, "POST /v1/sandboxes/{id}/touch")):
        assert f"this master (version 0.5.3) has no route {route}" in s.failure(tool, **arguments)
    refused = s.failure("spawn_sandboxes", template="python")
    assert "missing field `snapshot_tag`" in refused and "this master cannot start from a template; give tag" in refused
    (box,) = s.value("spawn_sandboxes", tag="base")
    assert box["snapshot_tag"] == "base" and "token" not in box and box["pid"] == 9007199254740993
    of_box = {"sandbox_id": box["id"]}
    assert s.value("exec_command", **of_box, args=["echo", "hi"]) == {"stdout": "hi\n", "stderr": "", "exit_code": 0}
    assert s.value("eval_code", **of_box, code="6 * 7")["result"] == "42"
    assert s.value("ping_sandbox", **of_box, sandbox_token="ignored-there")["pong"] is True
    log = tmp_path / "log"
    log.write_text("ready\n")
    assert s.value("wait_for_text", **of_box, path=str(log), marker="ready")["found"] is True
    assert s.value("branch_sandbox", **of_box)["tag"].startswith(f"branch-{box['id']}")
    assert len(s.value("spawn_sandboxes", tag="base", n=2, per_child_netns=True)) == 2
    assert m.requests("POST", "/v1/sandboxes$")[-1].body.count(b"per_child_netns") == 1
    assert s.value("kill_sandbox", **of_box) == {"id": box["id"], "killed": True}
    assert f"sandbox {box['id']} not found" in s.failure("kill_sandbox", **of_box)


def test_how_the_tag_is_called_is_found_out_once(master, sandbox):
    """6.3 step 4: the other names are tried when the first is refused, and what worked is remembered."""
    m = master(tag="snapshot")
    s = sandbox(m)
    s.spawn(tag="base")
    tried = [list(r.json()) for r in m.requests("POST", "/v1/sandboxes$")]
    assert tried == [["snapshot_tag"], ["tag"], ["snapshot"]]
    s.spawn(tag="base")
    assert [list(r.json()) for r in m.requests("POST", "/v1/sandboxes$")][3:] == [["snapshot"]]


def test_when_no_name_is_taken_the_first_refusal_is_told(master, sandbox):
    m = master()
    s = sandbox(m)
    m.arm("status", "POST", "/v1/sandboxes$", status=422, text="first")
    m.arm("status", "POST", "/v1/sandboxes$", times=9, status=400, text="later")
    text = s.failure("spawn_sandboxes", tag="base")
    assert "422" in text and "first" in text and "later" not in text and len(m.requests("POST")) == 3
    assert m.world.living() == []


def test_a_script_sees_its_words(master, sandbox):
    """No shell between: words arrive as they were given."""
    s = sandbox(master())
    (box,) = s.spawn()
    words = ["a b", "$(id)", "'\"", "\u20ac \U0001f600", "", "*"]
    done = s.value("exec_command", **script(box, 'for w; do printf "%s\\n" "$w"; done', *words))
    assert done["stdout"].split("\n")[:-1] == words
