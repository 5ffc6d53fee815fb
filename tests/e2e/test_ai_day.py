"""A day of an AI coding session: the official Python client against the real binary, over both transports.

Clone, branch, write, run the tests in a shell, start a web server in the background, fetch a page from it, kill it,
commit, push, pull, diff, log, move, delete, install; every one of the 20 tools is called. What the session has done is
looked at from outside, in the remote repository and on the disk.
"""

import os
import re
import shlex
import shutil
import subprocess

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from contract import NAMES
from httpwire import free_port
from mcpwire import MARKER, clean_environment, processes_with, wait_until

SERVER = '''\
import http.server
import sys


def greet(name):
    return f"Hello, {name}!"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = greet(self.path.lstrip("/")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    print("serving", flush=True)
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
'''
TESTS = '''\
import unittest

import app


class Greeting(unittest.TestCase):
    def test_a_guest_is_greeted(self):
        self.assertEqual(app.greet("guest"), "Hello, guest!")
'''
NPM = '#!/bin/sh\nmkdir -p node_modules/$2\necho "added 1 package: $2"\n'


class Outside:
    """What is not the session's: the remote repository, another developer, programs."""

    def __init__(self, workspace, tmp_path):
        self.home = tmp_path / "home"
        self.bin = tmp_path / "bin"
        self.remote = workspace / "remotes" / "project.git"
        self.other = tmp_path / "other"
        for place in (self.home, self.bin):
            place.mkdir()
        npm = self.bin / "npm"
        npm.write_text(NPM)
        npm.chmod(0o755)
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A Coder"), ("EMAIL", "coder@example.org"))}
        self.env = {**who, "HOME": str(self.home), "PATH": f"{self.bin}:{os.environ['PATH']}",
                    "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.git(tmp_path, "init", "-q", "--bare", "-b", "main", self.remote)
        self.git(tmp_path, "clone", "-q", self.remote, self.other)
        self.git(self.other, "checkout", "-q", "-b", "main")
        self.commit("README.md", "# Greetings\n")

    def git(self, place, *words):
        return subprocess.run(["git", *map(str, words)], cwd=place, env={**os.environ, **self.env}, check=True,
                              capture_output=True, text=True).stdout

    def commit(self, name, text):
        """The other developer adds a file and pushes it."""
        (self.other / name).write_text(text)
        self.git(self.other, "add", name)
        self.git(self.other, "commit", "-q", "-m", f"Add {name}")
        self.git(self.other, "push", "-q", "origin", "main")


class Coder:
    """The calls of the session, each of which must end as it says."""

    def __init__(self, client):
        self.client = client
        self.used = set()

    async def call(self, tool, arguments):
        self.used.add(tool)
        result = await self.client.call_tool(tool, arguments)
        return bool(result.is_error), "\n".join(block.text for block in result.content)

    async def does(self, tool, /, **arguments):
        failed, text = await self.call(tool, arguments)
        assert not failed, f"{tool} {arguments}: {text}"
        return text

    async def fails(self, tool, /, **arguments):
        failed, text = await self.call(tool, arguments)
        assert failed, f"{tool} {arguments}: {text}"
        return text


def fetch(url):
    """A shell command that prints what is there."""
    if shutil.which("curl"):
        return f"curl -fsS --max-time 5 --retry 20 --retry-connrefused --retry-delay 1 {url}"
    if shutil.which("wget"):
        return f"wget -q -O - -T 5 -t 20 --retry-connrefused {url}"
    return f"python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\").read().decode())'"


async def gets_the_project(coder, workspace, outside):
    await coder.does("git_clone", repo_url=f"file://{outside.remote}", path="project")
    assert await coder.does("file_read", path="project/README.md") == "# Greetings\n"
    await coder.does("git_branch", name="feature/greeting", path="project")
    await coder.does("git_checkout", branch="feature/greeting", path="project")
    branches = await coder.does("git_branch", path="project")
    assert "* feature/greeting" in branches.split("\n") and "  main" in branches.split("\n")


async def writes_and_tests(coder, workspace):
    broken = SERVER.replace("Hello", "Hullo")
    assert await coder.does("file_write", path="project/app.py", content=broken) == \
        f"Written {len(broken)} bytes to {workspace}/project/app.py"
    await coder.does("file_mkdir", path="project/docs")
    await coder.does("file_write", path="project/test_app.py", content=TESTS)
    report = await coder.fails("terminal_exec", command="python3 -m unittest -v", cwd="project")
    assert "'Hullo, guest!' != 'Hello, guest!'" in report and report.endswith("exit_code: 1")
    await coder.does("file_write", path="project/app.py", content=SERVER)
    report = await coder.does("terminal_exec", command="python3 -m unittest -v", cwd="project", timeout=60)
    assert "Ran 1 test" in report and report.endswith("exit_code: 0")
    assert (await coder.does("file_list", path="project", recursive=True)).split("\n")[:2] == [
        f"{workspace}/project", f"{workspace}/project/.git"]


async def tries_it_in_the_background(coder, workspace):
    port = free_port()
    started = await coder.does("terminal_exec_background", command=f"exec python3 app.py {port}", cwd="project")
    pid = re.match(r"PID: (\d+)\nStarted background process \1", started).group(1)
    page = await coder.does("terminal_exec", command=fetch(f"http://127.0.0.1:{port}/world"))
    assert "Hello, world!" in page
    said = await coder.does("file_read", path=re.search(r"/\S+\.log", started).group())
    assert "running" in said.split("\n")[0] and "\nserving\n" in said and "GET /world" in said
    assert (await coder.does("terminal_kill", pid=int(pid))).split("\n")[0] == f"Sent SIGTERM to {pid}"
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the web server is gone")
    await coder.fails("terminal_exec", command=f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert "No such process" in await coder.fails("terminal_kill", pid=int(pid))


async def commits_and_pushes(coder, outside):
    await coder.does("file_write", path="project/README.md", content="# Greetings\n\nRun `python3 app.py PORT`.\n")
    assert "+Run `python3 app.py PORT`." in await coder.does("git_diff", path="project")
    status = await coder.does("git_status", path="project")
    assert "modified:   README.md" in status and "app.py" in status
    assert "3 files changed" in await coder.does("git_commit", message="Greet over HTTP\n\nIt's \"new\": $(id)",
                                                 path="project")
    assert (await coder.does("git_log", n=1, path="project")).endswith(" Greet over HTTP\n")
    await coder.fails("git_commit", message="Nothing", path="project")
    await coder.does("git_push", branch="feature/greeting", path="project")
    assert outside.git(outside.remote, "log", "-1", "--format=%an: %B", "feature/greeting").strip() == \
        "A Coder: Greet over HTTP\n\nIt's \"new\": $(id)"
    assert outside.git(outside.remote, "show", "feature/greeting:app.py") == SERVER


async def takes_over_the_work_of_others(coder, outside):
    outside.commit("LICENCE", "Do as you like.\n")
    await coder.does("git_checkout", branch="main", path="project")
    assert "LICENCE" in await coder.does("git_pull", path="project")
    assert await coder.does("file_read", path="project/LICENCE") == "Do as you like.\n"
    assert "Add LICENCE" in await coder.does("git_log", path="project")


async def tidies_up(coder, workspace, outside):
    assert await coder.does("file_move", source="project/LICENCE", dest="project/docs/LICENCE") == \
        f"Moved {workspace}/project/LICENCE \u2192 {workspace}/project/docs/LICENCE"
    await coder.does("file_delete", path="project/README.md")
    await coder.does("git_commit", message="Tidy up", path="project")
    await coder.does("git_push", path="project", remote="origin", branch="main")
    assert outside.git(outside.remote, "ls-tree", "-r", "--name-only", "main") == "docs/LICENCE\n"
    assert "nothing to commit, working tree clean" in await coder.does("git_status", path="project")
    assert await coder.does("git_diff", path="project") == "(no changes)"


async def installs(coder, workspace):
    assert await coder.does("workspace_install", packages="left-pad@^1.3", manager="npm") == \
        "added 1 package: left-pad@^1.3"
    assert (workspace / "node_modules" / "left-pad@^1.3").is_dir()
    assert "=== Git ===" in await coder.does("workspace_info")
    await coder.does("terminal_exec", command=f"rm -r {shlex.quote(str(workspace / 'node_modules'))}")


async def day(client, workspace, outside):
    coder = Coder(client)
    assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
    await gets_the_project(coder, workspace, outside)
    await writes_and_tests(coder, workspace)
    await tries_it_in_the_background(coder, workspace)
    await commits_and_pushes(coder, outside)
    await takes_over_the_work_of_others(coder, outside)
    await tidies_up(coder, workspace, outside)
    await installs(coder, workspace)
    assert coder.used == set(NAMES)


@pytest.fixture
def outside(workspace, tmp_path):
    return Outside(workspace, tmp_path)


def run(transport, mode, workspace, outside):
    async def main():
        with anyio.fail_after(90):
            async with Client(transport, mode=mode) as client:
                await day(client, workspace, outside)
    anyio.run(main)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_day_over_stdio(binary, workspace, outside, tmp_path, mode):
    """Issue 5, shown by."""
    env = {**clean_environment(workspace, outside.env), MARKER: f"day-{tmp_path.name}-{os.getpid()}"}
    parameters = StdioServerParameters(command=binary, args=["--tools", "host"], env=env, cwd=tmp_path)
    with open(tmp_path / "stderr.txt", "w") as log:
        run(stdio_client(parameters, errlog=log), mode, workspace, outside)
    wait_until(lambda: not processes_with(env[MARKER]), "all it has started is gone")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_day_over_http(web, workspace, outside, mode):
    """Issue 5, shown by."""
    w = web(env=outside.env)

    async def main():
        fields = {"Authorization": f"Bearer {w.token}"}
        async with httpx2.AsyncClient(headers=fields, trust_env=False, timeout=30) as http:
            with anyio.fail_after(90):
                async with Client(streamable_http_client(w.url, http_client=http), mode=mode) as client:
                    await day(client, workspace, outside)
    anyio.run(main)
    w.wait_no_descendants()
