"""The official Python client with the sandbox tools, over stdio, in each of its modes.

Issue 6, shown by. What it decodes is what a user's program gets: typed results, structured content checked against the
output schemas, errors, cancellation.
"""

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcpwire import MODERN
from sandbox import NAMES, environment


@pytest.fixture(params=["legacy", "auto", MODERN])
def session(request, binary, master, tmp_path):
    m = master()
    log = tmp_path / "stderr.txt"

    def run(work):
        async def main():
            parameters = StdioServerParameters(command=binary, args=[], env=environment(m), cwd=tmp_path)
            with open(log, "w") as errors, anyio.fail_after(30):
                async with Client(stdio_client(parameters, errlog=errors), mode=request.param) as client:
                    return await work(client, m)
        return anyio.run(main)
    yield run
    assert not [secret for secret in m.secrets() if secret in log.read_text()]
    assert m.violations() == []


async def value(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = result.structured_content
    return content["result"] if list(content) == ["result"] else content


def test_the_tools_are_listed(session):
    async def work(client, m):
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        assert {tool.name for tool in tools if tool.annotations.read_only_hint} == {
            "list_templates", "list_snapshots", "list_sandboxes", "get_sandbox", "ping_sandbox"}
        assert m.connections() == []
    session(work)


def test_a_day_with_sandboxes(session, tmp_path):
    async def work(client, m):
        assert [t["name"] for t in await value(client, "list_templates")] == ["python", "sh"]
        box, other = await value(client, "spawn_sandboxes", template="python", n=2)
        inside = {"sandbox_id": box["id"], "sandbox_token": box["token"]}
        assert await value(client, "exec_command", **inside, args=["echo", "\u20ac"]) == {
            "stdout": "\u20ac\n", "stderr": "", "exit_code": 0}
        assert (await value(client, "eval_code", **inside, code="print(1+1)"))["stdout"] == "2\n"
        (tmp_path / "log").write_text("ready")
        assert (await value(client, "wait_for_text", **inside, path=f"{tmp_path}/log", marker="ready"))["found"]
        assert (await value(client, "ping_sandbox", **inside))["pong"] is True
        assert (await value(client, "branch_sandbox", sandbox_id=box["id"], tag="b"))["tag"] == "b"
        assert (await value(client, "touch_sandbox", sandbox_id=box["id"]))["id"] == box["id"]
        assert len(await value(client, "list_sandboxes")) == 2
        for one in (box, other):
            assert (await value(client, "kill_sandbox", sandbox_id=one["id"]))["killed"] is True
        assert (await value(client, "delete_snapshot", tag="b"))["deleted"] is True
        assert await value(client, "list_sandboxes") == []
    session(work)


def test_a_failure_is_a_result(session):
    async def work(client, m):
        (box,) = await value(client, "spawn_sandboxes", template="sh")
        for tool, arguments, told in (("get_sandbox", {"sandbox_id": "none"}, "sandbox none not found"),
                                      ("ping_sandbox", {"sandbox_id": box["id"]}, "sandbox_token is missing"),
                                      ("get_sandbox", {}, "sandbox_id")):
            result = await client.call_tool(tool, arguments)
            assert result.is_error and told in result.content[0].text
    session(work)


def test_calls_side_by_side_and_one_abandoned(session):
    async def work(client, m):
        (box,) = await value(client, "spawn_sandboxes", template="sh")
        inside = {"sandbox_id": box["id"], "sandbox_token": box["token"]}
        done = []

        async def one(seconds):
            await value(client, "exec_command", **inside, args=["sleep", str(seconds)])
            done.append(seconds)
        async with anyio.create_task_group() as group:
            for seconds in (0.9, 0.1, 0.5):
                group.start_soon(one, seconds)
        assert done == [0.1, 0.5, 0.9]
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("exec_command", {**inside, "args": ["sleep", "9"]})
        assert scope.cancelled_caught
        connection = m.requests("POST", "/exec$")[-1].connection
        with anyio.fail_after(2):
            while connection.closed is None:
                await anyio.sleep(0.02)
        assert (await value(client, "exec_command", **inside, args=["echo", "on"]))["stdout"] == "on\n"
    session(work)
