"""What the 13 tools are called, take and promise, and what is checked before anything is sent.

sandbox-tools.md sections 5.3 and 6; P5, P8, P19, P23, P28.
"""

import pytest

from sandbox import NAMES, call_of, proof

TOKEN = {"sandbox_token": "string"}
ID = {"sandbox_id!": "string"}
# arguments with their types, ! marks those that are required; then the five hints' true and false
TABLE = {
    "list_templates": ({}, "R"), "list_snapshots": ({}, "R"),
    "spawn_sandboxes": ({"template": "string", "tag": "string", "n": "integer",
                         "start_timeout_secs": "integer"}, "rdi"),
    "branch_sandbox": ({**ID, "tag": "string"}, "rdi"),
    "touch_sandbox": (ID, "rdI"),
    "list_sandboxes": ({}, "R"), "get_sandbox": (ID, "R"),
    "exec_command": ({**ID, "args!": "array", "timeout_secs": "integer", **TOKEN}, "rDiO"),
    "eval_code": ({**ID, "code!": "string", "timeout_secs": "integer", **TOKEN}, "rDiO"),
    "wait_for_text": ({**ID, "path!": "string", "marker!": "string", "timeout_secs": "number",
                       "poll_interval_ms": "integer", **TOKEN}, "rdI"),
    "ping_sandbox": ({**ID, **TOKEN}, "R"),
    "kill_sandbox": (ID, "rDI"), "delete_snapshot": ({"tag!": "string"}, "rDI"),
}
BOUNDS = {("spawn_sandboxes", "n"): (1, 1000), ("spawn_sandboxes", "start_timeout_secs"): (1, 600),
          ("exec_command", "timeout_secs"): (1, 3600), ("eval_code", "timeout_secs"): (1, 3600),
          ("wait_for_text", "timeout_secs"): (0, 3600), ("wait_for_text", "poll_interval_ms"): (50, 60000)}
DEFAULTS = {("spawn_sandboxes", "n"): 1, ("exec_command", "timeout_secs"): 30, ("wait_for_text", "timeout_secs"): 60,
            ("wait_for_text", "poll_interval_ms"): 200}


def schema_type(schema):
    """The one type of an argument besides null."""
    types = schema.get("type") or [one["type"] for one in schema["anyOf"]]
    types = [types] if isinstance(types, str) else types
    (kind,) = [name for name in types if name != "null"]
    return kind


def test_the_thirteen_tools_and_their_arguments(master, sandbox):
    """6.1, and order and hints of section 6."""
    s = sandbox(master())
    tools = {tool["name"]: tool for tool in s.result("tools/list")["tools"]}
    assert list(tools) == NAMES == list(TABLE)
    for name, (arguments, hints) in TABLE.items():
        schema, told = tools[name]["inputSchema"], tools[name]["annotations"]
        assert {n: schema_type(p) for n, p in schema["properties"].items()} == {
            n.rstrip("!"): kind for n, kind in arguments.items()}, name
        assert set(schema.get("required", [])) == {n[:-1] for n in arguments if n.endswith("!")}, name
        for n, property in schema["properties"].items():
            if (name, n) in BOUNDS:
                assert (property["minimum"], property["maximum"]) == BOUNDS[name, n]
            assert property.get("default") == DEFAULTS.get((name, n)), (name, n)
            assert property["description"]
        assert told["readOnlyHint"] is ("R" in hints)
        if "R" not in hints:
            assert (told["destructiveHint"], told["idempotentHint"]) == ("D" in hints, "I" in hints), name
        assert told["openWorldHint"] is ("O" in hints), name
        assert tools[name]["description"] and tools[name]["outputSchema"]["type"] == "object"
        listing = name.startswith("list_") or name == "spawn_sandboxes"
        assert (tools[name]["outputSchema"].get("required") == ["result"]) == listing, name
    assert tools["exec_command"]["inputSchema"]["properties"]["args"]["items"] == {"type": "string"}


def test_the_handshake_names_this_program(master, sandbox, cli):
    """P23."""
    info = sandbox(master()).initialize()["serverInfo"]
    assert info["name"] == "sandstorm" and info["version"] == cli("--version").stdout.split()[1]


def test_an_unknown_method_and_an_unknown_tool(master, sandbox):
    """P28; M6."""
    s = sandbox(master())
    assert s.error("no/such")["code"] == -32601
    assert s.error("tools/call", {"name": "create_snapshot", "arguments": {}})["code"] == -32602


def test_who_only_lists_tools_connects_to_nobody(master, sandbox):
    """Issue 6, section 1: nothing is sent before the first call of a tool."""
    m = master()
    s = sandbox(m)
    s.initialize()
    s.result("tools/list")
    assert s.close() == 0 and m.connections() == []


# -- arguments that are refused -----------------------------------------------------------------------------------

LONG = "x" * 5000
REFUSED = [
    ("spawn_sandboxes", {}, "template"), ("spawn_sandboxes", {"template": "sh", "tag": "base"}, "tag"),
    ("spawn_sandboxes", {"template": "sh", "n": 0}, "n"), ("spawn_sandboxes", {"template": "sh", "n": 1001}, "n"),
    ("spawn_sandboxes", {"template": "sh", "n": 1.5}, "n"), ("spawn_sandboxes", {"template": "sh", "n": True}, "n"),
    ("spawn_sandboxes", {"template": "sh", "n": "many"}, "n"), ("spawn_sandboxes", {"template": ""}, "template"),
    ("spawn_sandboxes", {"template": "x" * 257}, "template"), ("spawn_sandboxes", {"tag": "a/b"}, "tag"),
    ("spawn_sandboxes", {"tag": "x" * 65}, "tag"), ("spawn_sandboxes", {"tag": ""}, "tag"),
    ("spawn_sandboxes", {"template": "sh", "start_timeout_secs": 601}, "start_timeout_secs"),
    ("branch_sandbox", {}, "sandbox_id"), ("branch_sandbox", {"sandbox_id": "a", "tag": "b c"}, "tag"),
    ("touch_sandbox", {"sandbox_id": ""}, "sandbox_id"), ("get_sandbox", {"sandbox_id": "."}, "sandbox_id"),
    ("get_sandbox", {"sandbox_id": ".."}, "sandbox_id"), ("kill_sandbox", {"sandbox_id": "x" * 257}, "sandbox_id"),
    ("get_sandbox", {"sandbox_id": 5}, "sandbox_id"), ("delete_snapshot", {"tag": ".."}, "tag"),
    ("delete_snapshot", {}, "tag"),
    ("exec_command", {"sandbox_id": "a"}, "args"), ("exec_command", {"sandbox_id": "a", "args": []}, "args"),
    ("exec_command", {"sandbox_id": "a", "args": "ls -l"}, '["sh","-c",'),
    ("exec_command", {"sandbox_id": "a", "args": ["a", 1]}, "args"),
    ("exec_command", {"sandbox_id": "a", "args": ["a"], "timeout_secs": 0}, "timeout_secs"),
    ("exec_command", {"sandbox_id": "a", "args": ["a"], "timeout_secs": 3601}, "timeout_secs"),
    ("exec_command", {"sandbox_id": "a", "args": ["a"], "sandbox_token": ""}, "sandbox_token"),
    ("exec_command", {"sandbox_id": "a", "args": ["a"], "sandbox_token": "a b"}, "sandbox_token"),
    ("exec_command", {"sandbox_id": "a", "args": ["a"], "sandbox_token": "a\r\nX-Evil: 1"}, "sandbox_token"),
    ("ping_sandbox", {"sandbox_id": "a", "sandbox_token": LONG}, "sandbox_token"),
    ("ping_sandbox", {"sandbox_id": "a", "sandbox_token": "\u20ac"}, "sandbox_token"),
    ("eval_code", {"sandbox_id": "a"}, "code"), ("eval_code", {"sandbox_id": "a", "code": ""}, "code"),
    ("wait_for_text", {"sandbox_id": "a", "path": "log", "marker": "x"}, "path"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/" + LONG, "marker": "x"}, "path"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a\0b", "marker": "x"}, "path"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a", "marker": ""}, "marker"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a", "marker": "x" * 1025}, "marker"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a", "marker": "x", "timeout_secs": -1}, "timeout_secs"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a", "marker": "x", "timeout_secs": 3601}, "timeout_secs"),
    ("wait_for_text", {"sandbox_id": "a", "path": "/a", "marker": "x", "poll_interval_ms": 49}, "poll_interval_ms"),
]


def test_bad_arguments_are_named_and_nothing_is_sent(master, sandbox):
    """5.2, 5.3, H3, H4, P8."""
    m = master()
    s = sandbox(m)
    for tool, arguments, name in REFUSED:
        assert name in s.failure(tool, **arguments), (tool, arguments)
    assert m.requests() == []


def test_a_large_body_is_refused_here(master, sandbox):
    """H9."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    assert s.exec(box, "true", "x" * 100_000)["exit_code"] == 0
    before = len(m.requests("POST", "/(exec|eval)$"))
    text = s.failure("eval_code", **proof(box), code="#" + "x" * (1 << 20))
    assert "1 MiB" in text or "1048576" in text, text
    assert len(m.requests("POST", "/(exec|eval)$")) == before


# -- arguments that are taken -------------------------------------------------------------------------------------


def test_lossless_forms_are_taken(master, sandbox):
    """5.3."""
    m = master()
    s = sandbox(m)
    assert len(s.value("spawn_sandboxes", template="sh", n="2", tag=None)) == 2
    box = s.spawn(n=2.0, template="sh")[0]
    assert s.value("exec_command", **proof(box), args='["echo","a b"]', timeout_secs="5")["stdout"] == "a b\n"
    assert [r.json() for r in m.requests("POST", "/exec$")] == [{"args": ["echo", "a b"], "timeout_secs": 5}]
    assert s.value("get_sandbox", sandbox_id=box["id"], unknown=[1, 2])["id"] == box["id"]
    assert s.value("wait_for_text", **proof(box), path="/dev/null", marker="x", timeout_secs="0.1")["found"] is False


def test_only_what_was_given_is_in_the_body(master, sandbox):
    """P19, section 7: no default travels along but the time limit of exec; n from two on."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    s.spawn(n=1, template="sh")
    s.spawn(n=2, snapshot_tag="base", memory_limit_mib=256, prewarm=False, live_fork="true", per_child_netns=True)
    s.exec(box, "true")
    s.value("eval_code", **proof(box), code="1")
    s.value("ping_sandbox", **proof(box))
    s.value("touch_sandbox", sandbox_id=box["id"])
    s.value("branch_sandbox", sandbox_id=box["id"], mode="full", wait=True, diff=False)
    assert [(r.json() if r.body else None) for r in m.requests("POST")] == [
        {"template": "sh"}, {"template": "sh"},
        {"snapshot_tag": "base", "n": 2, "memory_limit_mib": 256, "prewarm": False, "live_fork": True,
         "per_child_netns": True},
        {"args": ["true"], "timeout_secs": 30}, {"code": "1"}, None, {}, {"mode": "full", "wait": True, "diff": False}]


@pytest.mark.parametrize("id, segment", [
    ("../snapshots", "..%2Fsnapshots"), ("a/b", "a%2Fb"), ("a?b#c", "a%3Fb%23c"), ("50%", "50%25"), ("a b", "a%20b"),
    ("...", "..."), ("\u00e9\u20ac", "%C3%A9%E2%82%AC"), ("A-z_0.9~", "A-z_0.9~"),
    ("a\nb", "a%0Ab"), ("%2e%2e", "%252e%252e")])
def test_an_id_is_one_segment_of_the_path(master, sandbox, id, segment):
    """P5, H4."""
    m = master()
    s = sandbox(m)
    for tool in ("get_sandbox", "kill_sandbox", "ping_sandbox", "exec_command", "branch_sandbox"):
        assert "not found" in s.failure(tool, **call_of(tool, {"id": id}))
    targets = [r.target for r in m.requests() if not r.target == "/version"]
    at = f"/v1/sandboxes/{segment}"
    assert targets == [at, at, at + "/ping", at + "/exec", at + "/branch", at]     # a branch looks after it again, P27
