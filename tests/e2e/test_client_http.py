"""The official Python client against the server over HTTP: its legacy mode, its automatic mode, pinned to 2026-07-28.

conformance section 6 lists how that client behaves.
"""

import os

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from contract import NAMES
from mcpwire import LEGACY, MODERN, wait_until

MODES = ["legacy", "auto", MODERN]


class Session:
    """Runs a coroutine with a connected client; a hanging one fails after 20 s."""

    def __init__(self, server, mode):
        self.server, self.mode = server, mode

    def run(self, work, token=None, target="/mcp"):
        url = self.server.url.removesuffix("/mcp") + target
        fields = {"Authorization": f"Bearer {token or self.server.token}"}

        async def main():
            with anyio.fail_after(20):
                async with httpx2.AsyncClient(headers=fields, trust_env=False, timeout=30) as http:
                    async with Client(streamable_http_client(url, http_client=http), mode=self.mode) as client:
                        return await work(client)
        return anyio.run(main)

    def call(self, tool, **arguments):
        """One call in its own session: (isError, texts)."""
        async def work(client):
            result = await client.call_tool(tool, arguments)
            return bool(result.is_error), [block.text for block in result.content]
        return self.run(work)


@pytest.fixture(params=MODES)
def session(request, remote):
    return Session(remote, request.param)


@pytest.mark.parametrize("target", ["/mcp", "/mcp/"])
def test_each_mode_agrees_on_its_revision(session, target):
    """mcp.md section 1, H1: with a slash at the end as well."""
    async def work(client):
        return client.protocol_version, client.server_info, client.server_capabilities
    version, info, capabilities = session.run(work, target=target)
    assert version == (LEGACY[0] if session.mode == "legacy" else MODERN)
    if session.mode != MODERN:      # a pinned client asks nothing
        assert info.name == "sandstorm" and capabilities.tools is not None


def test_the_tools_are_listed(session):
    """Issue 4, shown by."""
    async def work(client):
        return (await client.list_tools()).tools
    tools = session.run(work)
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)


def test_files_are_written_and_read_and_a_command_runs(session, workspace):
    """Issue 4, shown by."""
    text = "one\r\ntwo \u20ac \U0001f600 \u2028"

    async def work(client):
        return [await client.call_tool("file_write", {"path": "d/f.txt", "content": text}),
                await client.call_tool("file_read", {"path": "d/f.txt"}),
                await client.call_tool("terminal_exec", {"command": "uname -s"})]
    written, read, ran = session.run(work)
    assert written.content[0].text == f"Written {len(text.encode())} bytes to {workspace}/d/f.txt"
    assert read.content[0].text == text
    assert ran.content[0].text == f"stdout:\n{os.uname().sysname}\n\n\nexit_code: 0"
    assert not (written.is_error or read.is_error or ran.is_error)


def test_a_failing_call_and_a_wrong_argument_have_their_texts(session, workspace):
    """Decision 3."""
    assert session.call("file_read", path="none") == (True, [f"Error: {workspace}/none: No such file or directory"])
    assert session.call("file_read") == (True, ["Invalid arguments for file_read: path: required"])


def test_an_unknown_tool_raises(session):
    """M6."""
    async def work(client):
        with pytest.raises(MCPError) as raised:
            await client.call_tool("nope", {})
        return raised.value
    error = session.run(work)
    assert (error.code, error.message) == (-32602, "Unknown tool: nope")


def test_a_tool_whose_name_needs_the_encoded_form_is_unknown_by_name(session):
    """M2: the client encodes Mcp-Name itself."""
    async def work(client):
        with pytest.raises(MCPError) as raised:
            await client.call_tool("n\u00f6pe \u20ac", {})
        return raised.value
    assert session.run(work).message == "Unknown tool: n\u00f6pe \u20ac"


def test_calls_run_side_by_side(session):
    """F15 with a client that multiplexes."""
    async def work(client):
        done = []

        async def one(name, seconds):
            result = await client.call_tool("terminal_exec", {"command": f"sleep {seconds}; echo {name}"})
            assert f"stdout:\n{name}\n" in result.content[0].text
            done.append(name)
        async with anyio.create_task_group() as group:
            for name, seconds in (("c", 0.5), ("a", 0), ("b", 0.25)):
                group.start_soon(one, name, seconds)
        return done
    assert session.run(work) == ["a", "b", "c"]


def test_a_progress_callback_is_called(session):
    """X10, decision 5."""
    seen = []

    async def report(progress, total, message):
        seen.append((progress, message))

    async def work(client):
        command = "for i in 1 2 3; do echo step $i; sleep 0.4; done"
        return await client.call_tool("terminal_exec", {"command": command}, progress_callback=report)
    assert not session.run(work).is_error
    assert seen and all(message.startswith("step ") for _, message in seen)
    values = [progress for progress, _ in seen]
    assert values == sorted(set(values))


def test_an_abandoned_call_ends_its_command_in_the_modern_era(session, workspace):
    """X11, decisions 4 and 47: gone when the client closes its stream; in the legacy era it runs to its own limit."""
    async def work(client):
        with anyio.move_on_after(0.4) as scope:
            await client.call_tool("terminal_exec", {"command": "echo $$ > pid; exec sleep 60", "timeout": 1.2})
        assert scope.cancelled_caught
        return await client.call_tool("terminal_exec", {"command": "echo on"})
    assert "on" in session.run(work).content[0].text
    pid = int((workspace / "pid").read_text())
    if session.mode == "legacy":
        assert os.path.exists(f"/proc/{pid}")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the command is gone",
               2 if session.mode == "legacy" else 0.5)


@pytest.mark.filterwarnings("ignore:ping is removed")
def test_ping_is_answered(remote):
    """M5; only the legacy era has it."""
    async def work(client):
        return await client.send_ping()
    assert isinstance(Session(remote, "legacy").run(work), mcp_types.EmptyResult)


def test_a_wrong_token_is_an_error_and_no_hang(session):
    """mcp.md section 9: the client reports 401."""
    with pytest.raises(BaseException) as raised:
        session.run(lambda client: client.list_tools(), token="wrong-0123456789abcdef")
    assert not isinstance(raised.value, TimeoutError)
    assert "401" in repr(raised.value) or "Unauthorized" in repr(raised.value) or raised.group_contains(Exception)


def test_a_client_goes_on_after_a_restart_of_the_server(session, web):
    """H15: nothing was remembered that could be lost."""
    w = session.server

    async def work(client):
        first = await client.call_tool("terminal_exec", {"command": "echo one"})
        assert await anyio.to_thread.run_sync(w.terminate) == 0
        again = await anyio.to_thread.run_sync(lambda: web(args=["--mcp-port", w.port]))
        again.port = w.port
        second = await client.call_tool("terminal_exec", {"command": "echo two"})
        return first.content[0].text + second.content[0].text
    text = Session(w, session.mode).run(work)
    assert "one" in text and "two" in text
