"""The official Python client against the binary over stdio: its legacy mode, its automatic mode, pinned to 2026-07-28.

This is the main job as a user of a real client sees it. conformance section 6 lists how that client behaves. What does not
depend on the transport is run by test_client_http.py as well.
"""

import contextlib
import os
import uuid

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from contract import NAMES
from mcpwire import LEGACY, MARKER, MODERN, clean_environment, processes_with

MODES = ["legacy", "auto", MODERN]


class ClientSession:
    """Runs a coroutine with a connected client; a hanging one fails after 20 s. transport(**how) is a context in which there
    is what a client is made of."""

    def __init__(self, mode):
        self.mode = mode

    def run(self, work, **how):
        async def main():
            with anyio.fail_after(20):
                async with self.transport(**how) as transport, Client(transport, mode=self.mode) as client:
                    return await work(client)
        return anyio.run(main)

    def call(self, tool, **arguments):
        """One call in its own session: (isError, texts)."""
        async def work(client):
            result = await client.call_tool(tool, arguments)
            return bool(result.is_error), [block.text for block in result.content]
        return self.run(work)


class StdioSession(ClientSession):
    def __init__(self, mode, binary, workspace, tmp_path):
        super().__init__(mode)
        self.log = tmp_path / "stderr.txt"
        self.parameters = StdioServerParameters(command=binary, args=["--tools", "host"],
                                                env=clean_environment(workspace, {}), cwd=tmp_path)

    @contextlib.asynccontextmanager
    async def transport(self):
        with open(self.log, "w") as log:
            yield stdio_client(self.parameters, errlog=log)


@pytest.fixture
def start_session(binary, workspace, tmp_path):
    return lambda mode: StdioSession(mode, binary, workspace, tmp_path)


@pytest.fixture(params=MODES)
def session(request, start_session):
    return start_session(request.param)


def test_each_mode_agrees_on_its_revision(session):
    """mcp.md section 1: `auto` finds the modern era by server/discover."""
    async def work(client):
        return client.protocol_version, client.server_info, client.server_capabilities, client.instructions
    version, info, capabilities, instructions = session.run(work)
    assert version == (LEGACY[0] if session.mode == "legacy" else MODERN)
    if session.mode != MODERN:      # a pinned client asks nothing
        assert info.name == "sandstorm"
        assert capabilities.tools is not None
        assert instructions is None or isinstance(instructions, str)


def test_the_tools_are_listed(session):
    """Issue 3, shown by: lists the tools."""
    async def work(client):
        return (await client.list_tools()).tools
    tools = session.run(work)
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    assert all(isinstance(hint, bool) for tool in tools for hint in (
        tool.annotations.read_only_hint, tool.annotations.destructive_hint, tool.annotations.idempotent_hint,
        tool.annotations.open_world_hint))


@pytest.mark.parametrize("text", [
    "one\r\ntwo\r\n", "mac\rline", "\ufeffwith BOM\n", "no newline", "",
    "\u20ac \U0001f600 e\u0301 \u2028 \x01\x1b",
], ids=["CR LF", "CR", "BOM", "no newline", "empty", "Unicode"])
def test_a_file_is_written_and_read_back_byte_for_byte(session, workspace, text):
    """Issue 3, shown by; fault 13."""
    async def work(client):
        written = await client.call_tool("file_write", {"path": "d/f.txt", "content": text})
        read = await client.call_tool("file_read", {"path": "d/f.txt"})
        return written, read
    written, read = session.run(work)
    assert not written.is_error and not read.is_error
    assert written.content[0].text == f"Written {len(text.encode())} bytes to {workspace}/d/f.txt"
    assert (workspace / "d" / "f.txt").read_bytes() == text.encode()
    assert read.content[0].text == text


def test_invalid_utf_8_is_replaced_and_the_answer_says_so(session, workspace):
    """Issue 3, shown by."""
    (workspace / "f").write_bytes(b"a\xff\xfeb\r\n")
    failed, texts = session.call("file_read", path="f")
    assert not failed
    assert texts == ["a\ufffd\ufffdb\r\n", "2 invalid UTF-8 sequences are shown as U+FFFD"]


def test_uname_runs(session):
    """Issue 3, shown by."""
    failed, texts = session.call("terminal_exec", command="uname -a")
    assert not failed
    system = os.uname()
    assert texts[0].startswith(f"stdout:\n{system.sysname} {system.nodename} {system.release}")
    assert texts[0].endswith("\n\n\nexit_code: 0")


def test_each_failure_has_its_text(session, workspace):
    """Issue 3, shown by: a bad path, a missing file, a FIFO, a link to /etc, a command that fails, one out of time."""
    os.mkfifo(workspace / "pipe")
    os.symlink("/etc", workspace / "etc")
    outside = f'Path "{{}}" is outside the allowed directory ({workspace})'
    expected = [
        ("file_read", {"path": "../x"}, outside.format("../x")),
        ("file_read", {"path": "/etc/passwd"}, outside.format("/etc/passwd")),
        ("file_read", {"path": "none"}, f"Error: {workspace}/none: No such file or directory"),
        ("file_read", {"path": "pipe"}, f"Error: {workspace}/pipe: Not a regular file"),
        ("file_read", {"path": "etc/passwd"}, outside.format("etc/passwd")),
        ("file_write", {"path": "etc/x", "content": ""}, outside.format("etc/x")),
        ("terminal_exec", {"command": "echo out; echo err >&2; exit 3"},
         "stdout:\nout\n\n\nstderr:\nerr\n\n\nexit_code: 3"),
        ("terminal_exec", {"command": "echo so far; sleep 60", "timeout": 1.5},
         "stdout:\nso far\n\n\nstderr:\ntimeout after 1.5s\n\nexit_code: 124"),
        ("file_read", {}, "Invalid arguments for file_read: path: required"),
    ]

    async def work(client):
        return [await client.call_tool(tool, arguments) for tool, arguments, _ in expected]
    for result, (tool, arguments, text) in zip(session.run(work), expected):
        assert result.is_error, (tool, arguments)
        assert result.content[0].text == text


def test_fifty_megabytes_of_output_are_bounded_with_a_marker(session):
    """Issue 3, shown by."""
    failed, texts = session.call("terminal_exec", command="yes 0123456789 | head -c 50000000; echo END")
    assert not failed
    assert "bytes omitted of 50000004 ..." in texts[0]
    assert len(texts[0]) < (1 << 20) + 200
    assert texts[0].endswith("END\n\n\nexit_code: 0")


def test_an_unknown_tool_raises(session):
    """M6."""
    async def work(client):
        with pytest.raises(MCPError) as raised:
            await client.call_tool("nope", {})
        return raised.value
    error = session.run(work)
    assert (error.code, error.message) == (-32602, "Unknown tool: nope")


def test_calls_run_side_by_side(session):
    """F15 with a client that multiplexes."""
    async def work(client):
        done = []

        async def one(name, seconds):
            result = await client.call_tool("terminal_exec", {"command": f"sleep {seconds}; echo {name}"})
            assert f"stdout:\n{name}\n" in result.content[0].text
            done.append(name)
        async with anyio.create_task_group() as group:
            for name, seconds in (("c", 1.4), ("a", 0), ("b", 0.7)):
                group.start_soon(one, name, seconds)
        return done
    assert session.run(work) == ["a", "b", "c"]


def test_a_progress_callback_is_called(session):
    """X10, decision 5, mcp.md section 6."""
    seen = []

    async def report(progress, total, message):
        seen.append((progress, message))

    async def work(client):
        command = "for i in 1 2 3; do echo step $i; sleep 0.5; done"
        return await client.call_tool("terminal_exec", {"command": command}, progress_callback=report)
    result = session.run(work)
    assert not result.is_error
    assert seen and all(message.startswith("step ") for _, message in seen)
    values = [progress for progress, _ in seen]
    assert values == sorted(set(values))


async def abandoned(client, file, **more):
    """A command that sleeps, whose call is left when it has written its pid into that file; the pid."""
    with anyio.CancelScope() as scope:
        async def leave():
            while not (file.exists() and file.read_text().endswith("\n")):
                await anyio.sleep(0.01)
            scope.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(leave)
            await client.call_tool("terminal_exec", {"command": f"echo $$ > {file}; exec sleep 60", **more})
    assert scope.cancelled_caught
    return int(file.read_text())


def test_an_abandoned_call_ends_its_command(session, workspace):
    """X11: the client cancels by leaving the scope; the command is gone, the session goes on."""
    async def work(client):
        pid = await abandoned(client, workspace / "pid")
        for _ in range(500):
            if not os.path.exists(f"/proc/{pid}"):
                break
            await anyio.sleep(0.02)
        else:
            raise AssertionError("the command is still there")
        return await client.call_tool("terminal_exec", {"command": "echo on"})
    assert "on" in session.run(work).content[0].text


@pytest.mark.filterwarnings("ignore:ping is removed")
def test_ping_is_answered(start_session):
    """M5; only the legacy era has it."""
    async def work(client):
        return await client.send_ping()
    assert isinstance(start_session("legacy").run(work), mcp_types.EmptyResult)


def test_sessions_in_a_row_leave_no_process(session):
    """mcp.md section 1: started and ended often; the client closes stdin and waits."""
    session.parameters.env[MARKER] = mark = uuid.uuid4().hex
    async def work(client):
        return (await client.call_tool("workspace_info")).is_error
    for _ in range(5):
        assert not session.run(work)
        assert processes_with(mark) == []
