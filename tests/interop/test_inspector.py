"""The inspector's command line: each command is a connection of its own, over stdio a server of its own.

Issue 8, point 2; README names it as the smoke test. It shows no progress and has no ping.
"""

import os
import signal

import pytest

import programs
from programs import Inspector, text_of
from contract import NAMES
from course import NAME
from mcpwire import LEGACY, MODERN
from process import clean_environment, wait_until
from results import record


@pytest.fixture
def connect(request, clients, node, binary, workspace, tmp_path):
    def to(transport, era):
        env = {**clean_environment(workspace, {}), "HOME": str(tmp_path)}
        if transport == "http":
            web = request.getfixturevalue("web")
            words = [web.url, "--header", f"Authorization: Bearer {web.token}"]
        else:
            command = tmp_path / "server"       # the inspector hands on neither our variables nor options
            command.write_text(f"#!/bin/sh\nSANDSTORM_WORKSPACE_ROOT='{workspace}' exec '{binary}' serve --stdio\n")
            command.chmod(0o755)
            words = [command]
        return Inspector(clients, node, words[:1], env, *words[1:], "--protocol-era", era)
    return to


def interrupted(inspector, workspace):
    """Control-C while a command runs; the command's pid."""
    arguments = '{"command": "echo $$ > pid; exec sleep 60", "timeout": 5}'
    process = inspector.start("--method", "tools/call", "--tool-name", "terminal_exec", "--tool-args-json", arguments)
    written = workspace / "pid"
    try:
        wait_until(lambda: written.exists() and written.read_text().endswith("\n"), "the command runs", 20)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) != 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return int(written.read_text())


@pytest.mark.parametrize("era", programs.ERAS[programs.INSPECTOR])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector(connect, clients, workspace, transport, era):
    """`--strict` fails at schemas that clients cannot carry."""
    inspector = connect(transport, era)
    with record(programs.INSPECTOR, programs.version(clients, programs.INSPECTOR), transport, era) as r:
        with r.step("connect"):
            r.protocol = inspector("--method", "initialize")["protocolVersion"]
            assert r.protocol == (LEGACY[0] if era == "legacy" else MODERN)
        with r.step("list"):
            assert [tool["name"] for tool in inspector("--method", "tools/list", "--strict")["tools"]] == NAMES
        with r.step("write"):
            assert "Written" in text_of(inspector.call("file_write", {"path": f"{NAME}.txt", "content": NAME}))
            assert (workspace / f"{NAME}.txt").read_text() == NAME
        with r.step("read"):
            assert text_of(inspector.call("file_read", {"path": f"{NAME}.txt"})) == NAME
        with r.step("error"):
            result = inspector.call("file_read", {"path": "none"}, code=5)
            assert result["isError"] and text_of(result).endswith("No such file or directory")
        with r.step("unknown"):     # it looks a tool up in the list before it calls
            assert inspector.call("n\u00f6pe", {}, code=5) is None
        with r.step("abort"):
            pid = interrupted(inspector, workspace)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the command is gone",
                       8 if (transport, era) == ("http", "legacy") else 3)
        with r.step("after"):
            assert text_of(inspector.call("terminal_exec", {"command": "echo on"})) == "stdout:\non\n\n\nexit_code: 0"
