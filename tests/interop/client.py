"""The official Python client, 2.x or 1.x, walked through the course of course.py, which says what goes in and comes out."""

import contextlib
import importlib.metadata
import json
import os
import sys

import anyio
import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

NAME = "åß日本語🦀"
MODERN = "2026-07-28"
OLD = importlib.metadata.version("mcp").startswith("1.")


def tell(step, **found):
    print(json.dumps({"step": step, **found}), flush=True)


async def told():
    """Waits for a line from the driver."""
    await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)


def over_stdio(command):
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))


class Old:
    """Version 1, which knows the legacy era alone."""

    Refused = getattr(mcp, "McpError", None)

    @contextlib.asynccontextmanager
    async def connected(self, era, url, token, command):
        from mcp.client.streamable_http import streamablehttp_client
        over_http = lambda: streamablehttp_client(url, headers={"Authorization": f"Bearer {token}"})
        async with (over_http() if url else over_stdio(command)) as streams:
            async with mcp.ClientSession(*streams[:2]) as self.session:
                self.protocol = (await self.session.initialize()).protocolVersion
                yield self.session

    @contextlib.asynccontextmanager
    async def aborting(self):
        """This version does not tell the server that a call is given up: its user has to."""
        from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification
        request = self.session._request_id
        yield
        await self.session.send_notification(ClientNotification(CancelledNotification(
            params=CancelledNotificationParams(requestId=request, reason="the user's wish"))))


class New:
    """Version 2, which tells the server by itself."""

    Refused = getattr(mcp, "MCPError", None)
    aborting = contextlib.nullcontext

    @contextlib.asynccontextmanager
    async def connected(self, era, url, token, command):
        import httpx2
        from mcp.client.streamable_http import streamable_http_client
        async with contextlib.AsyncExitStack() as stack:
            transport = over_stdio(command) if command else streamable_http_client(
                url, http_client=await stack.enter_async_context(httpx2.AsyncClient(
                    headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False)))
            client = await stack.enter_async_context(
                mcp.Client(transport, mode=MODERN if era == "pinned" else era))
            self.protocol = client.protocol_version
            yield client


def outcome(result):
    failed = result.isError if OLD else result.is_error
    return {"failed": bool(failed), "text": "".join(block.text for block in result.content)}


async def course(kind, client, legacy):
    call = client.call_tool
    tell("connect", protocol=kind.protocol)
    tell("list", tools=[tool.name for tool in (await client.list_tools()).tools])
    tell("write", **outcome(await call("file_write", {"path": f"{NAME}.txt", "content": NAME})))
    tell("read", **outcome(await call("file_read", {"path": f"{NAME}.txt"})))
    tell("error", **outcome(await call("file_read", {"path": "none"})))
    try:
        tell("unknown", answer=outcome(await call("nöpe", {})))
    except kind.Refused as error:
        tell("unknown", code=error.error.code, message=error.error.message)

    seen = []

    async def progress(now, total, message):
        seen.append([now, message])
    result = await call("terminal_exec", {"command": "for i in 1 2 3; do echo line $i; sleep 0.6; done"},
                        progress_callback=progress)
    tell("progress", seen=seen, **outcome(result))

    async with kind.aborting(), anyio.create_task_group() as tasks:
        tasks.start_soon(call, "terminal_exec", {"command": "echo $$ > pid; exec sleep 60", "timeout": 5})
        await told()
        tasks.cancel_scope.cancel()
    tell("abort", message="cancelled" if tasks.cancel_scope.cancelled_caught else None)
    await told()
    tell("after", **outcome(await call("terminal_exec", {"command": "echo on"})))
    if legacy:
        await client.send_ping()
        tell("ping", answer={})


async def main(era, target, *command):
    kind = Old() if OLD else New()
    url = None if target == "--" else target
    async with kind.connected(era, url, os.environ.get("MCP_TOKEN"), list(command)) as client:
        await course(kind, client, era == "legacy")
    tell("close")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
