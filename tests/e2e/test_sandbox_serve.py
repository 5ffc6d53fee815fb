"""The sandbox tools over HTTP and beside the host tools: the same 13, one process.

README, `serve --tools sandbox`; sandbox-tools.md section 1, last paragraph of start-up; decisions 4, 15, 28, 51.
"""

import json
import time

from mcpwire import first_text, tool_params, wait_until
from process import busy
from sandbox import NAMES, environment, proof, script

READ_ONLY = ["list_templates", "list_snapshots", "list_sandboxes", "get_sandbox", "ping_sandbox"]


def over_http(web, m, *args, **changes):
    given = {name: value for name, value in environment(m).items() if name.startswith("SANDSTORM_")}
    return web(args=args, env={**given, **changes})


def names(server):
    return [tool["name"] for tool in server.result("tools/list")["tools"]]


def value(w, tool, **arguments):
    return json.loads(w.text(tool, **arguments))


def test_over_http(master, web):
    """In both eras."""
    m = master()
    w = over_http(web, m, "--tools", "sandbox")
    assert names(w) == NAMES and names(w.modern) == NAMES and m.connections() == []
    (box,) = value(w, "spawn_sandboxes", template="sh")
    for speaker in (w, w.modern):
        assert value(speaker, "exec_command", **proof(box), args=["echo", "hi"])["stdout"] == "hi\n"
        assert "sandbox none not found" in speaker.failure("get_sandbox", sandbox_id="none")
    assert value(w, "kill_sandbox", sandbox_id=box["id"])["killed"] is True
    assert not [secret for secret in m.secrets() if secret in w.stderr_text()]


def test_no_token_stays_in_memory_over_http(master, web):
    """P15."""
    m = master()
    w = over_http(web, m, "--tools", "sandbox")
    (box,) = value(w, "spawn_sandboxes", template="sh")
    value(w, "exec_command", **proof(box), args=["true"])
    for _ in range(2):
        value(w, "list_sandboxes")
    assert w.memory_holds(m.token.encode()) and not w.memory_holds(box["token"].encode())


def test_both_toolsets_in_one_process(master, sandbox, workspace):
    """Decision 15: what the terminal runs does not see the master's token."""
    m = master()
    s = sandbox(m, args=["--tools", "sandbox,host"], env={"SANDSTORM_WORKSPACE_ROOT": str(workspace)})
    assert set(NAMES) < set(names(s)) and "terminal_exec" in names(s)
    (box,) = s.spawn()
    shown = s.text("terminal_exec", command="cat /proc/$PPID/environ | tr '\\0' '\\n'; env")
    assert "PATH=" in shown and m.token not in shown and box["token"] not in shown
    assert s.exec(box, "echo", "hi")["stdout"] == "hi\n"


def test_a_choice_of_tools(master, sandbox):
    m = master()
    assert names(sandbox(m, args=["--tools", "sandbox,-exec_command,-eval_code"])) == [
        name for name in NAMES if name not in ("exec_command", "eval_code")]
    s = sandbox(m, args=["--read-only"])
    assert names(s) == [name for name in NAMES if name in READ_ONLY]
    assert s.error("tools/call", tool_params("kill_sandbox", {"sandbox_id": "x"}))["code"] == -32602


def test_a_closed_stream_cancels(master, web):
    """Decision 4: in the modern era; what a spawn has made is removed."""
    m = master(fate="stuck")
    w = over_http(web, m, "--tools", "sandbox")
    connection = w.start_modern("tools/call", tool_params("spawn_sandboxes", {"template": "sh", "n": 2}))
    wait_until(lambda: m.requests("GET", "/v1/sandboxes/"), "it waits")
    connection.close()
    wait_until(lambda: not m.world.sandboxes, "all are removed")


def test_many_long_calls_leave_room_for_short_ones(master, sandbox):
    """Decisions 28, 51: every place for long calls is taken, and still each short one is served."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    s.patience = 40
    flying = [s.start_call("exec_command", **script(box, "sleep 1")) for _ in range(70)]
    wait_until(lambda: len(m.requests("POST", "/exec$")) >= 8, "many run")
    started = time.monotonic()
    assert s.request("ping")["result"] == {} and len(names(s)) == 13
    assert len(s.value("list_templates")) == 2 and s.value("ping_sandbox", **proof(box))["pong"] is True
    assert time.monotonic() - started < 0.9 * busy()
    answers = [s.wait(id) for id in flying]
    refused = [a for a in answers if "error" in a or a["result"]["isError"]]
    assert len(refused) <= 30 and all("error" in a or first_text(a["result"]) for a in refused)
