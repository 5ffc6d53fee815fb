"""The official Python client against the server over HTTP: its legacy mode, its automatic mode, pinned to 2026-07-28.

conformance section 6 lists how that client behaves.
"""

import contextlib
import os

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client

from mcpwire import LEGACY, MODERN, wait_until
from test_client_python import (  # noqa: F401 (these run here as well)
    ClientSession, abandoned, session, test_a_progress_callback_is_called, test_an_unknown_tool_raises,
    test_calls_run_side_by_side, test_ping_is_answered, test_the_tools_are_listed)


class HttpSession(ClientSession):
    def __init__(self, mode, server):
        super().__init__(mode)
        self.server = server

    @contextlib.asynccontextmanager
    async def transport(self, token=None, target="/mcp"):
        url = self.server.url.removesuffix("/mcp") + target
        fields = {"Authorization": f"Bearer {token or self.server.token}"}
        async with httpx2.AsyncClient(headers=fields, trust_env=False, timeout=30) as http:
            yield streamable_http_client(url, http_client=http)


@pytest.fixture
def start_session(remote):
    return lambda mode: HttpSession(mode, remote)


@pytest.mark.parametrize("target", ["/mcp", "/mcp/"])
def test_each_mode_agrees_on_its_revision(session, target):
    """mcp.md section 1, H1: with a slash at the end as well."""
    async def work(client):
        return client.protocol_version, client.server_info, client.server_capabilities
    version, info, capabilities = session.run(work, target=target)
    assert version == (LEGACY[0] if session.mode == "legacy" else MODERN)
    if session.mode != MODERN:      # a pinned client asks nothing
        assert info.name == "sandstorm" and capabilities.tools is not None


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


def test_a_tool_whose_name_needs_the_encoded_form_is_unknown_by_name(session):
    """M2: the client encodes Mcp-Name itself."""
    async def work(client):
        with pytest.raises(MCPError) as raised:
            await client.call_tool("n\u00f6pe \u20ac", {})
        return raised.value
    assert session.run(work).message == "Unknown tool: n\u00f6pe \u20ac"


def test_an_abandoned_call_ends_its_command_in_the_modern_era(session, workspace):
    """X11, decisions 4 and 47: gone when the client closes its stream; in the legacy era it runs to its own limit."""
    async def work(client):
        pid = await abandoned(client, workspace / "pid", timeout=4)
        return pid, await client.call_tool("terminal_exec", {"command": "echo on"})
    pid, answer = session.run(work)
    assert "on" in answer.content[0].text
    if session.mode == "legacy":
        assert os.path.exists(f"/proc/{pid}")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the command is gone",
               5 if session.mode == "legacy" else 1)


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
    text = HttpSession(session.mode, w).run(work)
    assert "one" in text and "two" in text
