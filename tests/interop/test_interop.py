"""The official TypeScript client and the inspector's command line, over HTTP and over stdio, in both eras.

conformance section 6 lists how these clients behave.
"""

import json
import os
import subprocess

import pytest

from contract import NAMES
from mcpwire import LEGACY, MODERN
from process import clean_environment, wait_until

MODES = {"legacy": "legacy", "auto": "auto", "pinned": {"pin": MODERN}}


def run(*argv, cwd, env=None, code=0, timeout=60):
    done = subprocess.run([*map(str, argv)], cwd=cwd, env=env, capture_output=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (done.stdout.decode()[-2000:], done.stderr.decode()[-2000:])
    return done.stdout.decode()


def text_of(result):
    return result["content"][0]["text"]


# -- the TypeScript client -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_typescript_client(clients, binary, workspace, request, transport, mode):
    """Issue 4, shown by: lists and calls tools; errors, progress, abort, ping."""
    told = {"mode": MODES[mode]}
    if transport == "http":
        web = request.getfixturevalue("web")
        told.update(url=web.url, token=web.token)
    else:
        told.update(command=binary, args=["--tools", "host"], env=clean_environment(workspace, {}))
    found = json.loads(run("node", "client.mjs", json.dumps(told), cwd=clients))
    assert found["version"] == (LEGACY[0] if mode == "legacy" else MODERN)
    assert found["tools"] == NAMES
    content = "a\r\nb \u20ac \U0001f600"
    assert text_of(found["written"]) == f"Written {len(content.encode())} bytes to {workspace}/ts.txt"
    assert text_of(found["read"]) == content and not found["read"].get("isError")
    assert found["failed"]["isError"] and text_of(found["failed"]).endswith("No such file or directory")
    assert found["unknown"]["code"] == -32602 and "Unknown tool: n\u00f6pe" in found["unknown"]["message"]
    assert "step 3" in text_of(found["long"])
    assert found["progress"] and all(text.startswith("step ") for _, text in found["progress"])
    assert "result" not in found["aborted"]
    assert text_of(found["after"]) == "stdout:\non\n\n\nexit_code: 0"
    pid = int((workspace / "pid").read_text())
    legacy_http = transport == "http" and mode == "legacy"      # there the command runs to its own limit
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the command is gone", 5 if legacy_http else 1)
    if mode == "legacy":
        assert found["ping"] == {}


# -- the inspector -------------------------------------------------------------------------------


class Inspector:
    """Runs the inspector's command line against a server and reads the JSON it prints."""

    def __init__(self, clients, target, env, *options):
        self.argv = ["node_modules/.bin/mcp-inspector", "--cli", *target, *options]
        self.cwd, self.env = clients, env

    def __call__(self, *words, code=0):
        return json.loads(run(*self.argv, *words, cwd=self.cwd, env=self.env, code=code))


@pytest.fixture(params=["http legacy", "http auto", "http modern", "stdio legacy", "stdio auto", "stdio modern"])
def inspector(request, clients, binary, workspace, tmp_path):
    transport, era = request.param.split()
    env = {**clean_environment(workspace, {}), "HOME": str(tmp_path)}
    if transport == "stdio":
        command = tmp_path / "server"       # the inspector hands on neither our variables nor options
        command.write_text(f"#!/bin/sh\nSANDSTORM_WORKSPACE_ROOT='{workspace}' exec '{binary}' serve --stdio\n")
        command.chmod(0o755)
        return Inspector(clients, [command], env, "--protocol-era", era)
    web = request.getfixturevalue("web")
    return Inspector(clients, [web.url], env, "--header", f"Authorization: Bearer {web.token}", "--protocol-era", era)


def test_the_inspector_lists_and_calls(inspector, workspace):
    """Issue 4, shown by; `--strict` looks at the schemas."""
    assert [tool["name"] for tool in inspector("--method", "tools/list", "--strict")["tools"]] == NAMES
    result = inspector("--method", "tools/call", "--tool-name", "file_write",
                       "--tool-arg", "path=i.txt", "content=inspected")
    assert "Written 9 bytes" in text_of(result) and (workspace / "i.txt").read_text() == "inspected"
    result = inspector("--method", "tools/call", "--tool-name", "terminal_exec",
                       "--tool-arg", "command=uname -s", "timeout=5")
    assert text_of(result) == f"stdout:\n{os.uname().sysname}\n\n\nexit_code: 0"
