"""The inspector's command line with the sandbox tools over stdio, against a test master: what the README's smoke test says.

Each command is a server process of its own: nothing of a sandbox is kept in it.
"""

import json

import pytest

from programs import Inspector
from sandbox import NAMES, environment


@pytest.fixture(params=["legacy", "auto", "modern"])
def inspector(request, clients, node, binary, master, tmp_path):
    command = tmp_path / "server"       # the inspector hands on neither our variables nor options
    given = {name: value for name, value in environment(master).items() if name.startswith("SANDSTORM_")}
    lines = [f"export {name}='{value}'" for name, value in given.items()]
    command.write_text("\n".join(["#!/bin/sh", *lines, f"exec '{binary}' 2>>'{tmp_path}/log'"]) + "\n")
    command.chmod(0o755)
    env = {**environment(master, token=None), "HOME": str(tmp_path)}
    yield Inspector(clients, node, [command], env, "--protocol-era", request.param)
    log = (tmp_path / "log").read_text()
    assert not [secret for secret in master.secrets() if secret in log] and master.violations() == []


def call(inspector, tool, **arguments):
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]
    result = inspector("--method", "tools/call", "--tool-name", tool, *(["--tool-arg", *words] if words else []))
    assert not result.get("isError"), result
    return json.loads(result["content"][0]["text"])


def test_the_inspector_works_with_sandboxes(inspector, master):
    """Section 11: initialize, 13 tools, list_templates; then a sandbox from beginning to end."""
    assert [tool["name"] for tool in inspector("--method", "tools/list", "--strict")["tools"]] == NAMES
    assert master.connections() == []
    assert call(inspector, "list_templates") == [{"name": "python"}, {"name": "sh"}]
    box, other = call(inspector, "spawn_sandboxes", template="sh", n=2)
    inside = {"sandbox_id": box["id"], "sandbox_token": box["token"]}
    assert call(inspector, "exec_command", **inside, args=["echo", "a b"])["stdout"] == "a b\n"
    assert call(inspector, "ping_sandbox", **inside)["pong"] is True
    for one in (box, other):
        assert call(inspector, "kill_sandbox", sandbox_id=one["id"])["killed"] is True
    assert call(inspector, "list_sandboxes") == []
