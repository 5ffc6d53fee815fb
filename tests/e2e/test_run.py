"""`make run`, after the build: scripts/run serves with a token of its own and says how to connect (issue 4)."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from httpwire import free_port
from mcpwire import clean_environment, wait_until

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run"


class Run:
    """scripts/run in a fresh folder; printed is what it has said on stdout so far, log what on stderr."""

    def __init__(self, binary, folder, port, **env):
        changes = {"SANDSTORM_MCP_PORT": str(port), **env}
        self.folder, self.port = folder, port
        self.printed = self.log = ""
        self.process = subprocess.Popen([SCRIPT, binary], cwd=folder, text=True,
                                        env=clean_environment(None, changes), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.threads = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in (("printed", self.process.stdout), ("log", self.process.stderr))]
        for thread in self.threads:
            thread.start()

    def _read(self, name, pipe):
        for line in pipe:
            setattr(self, name, getattr(self, name) + line)

    def wait_ready(self):
        wait_until(lambda: "serving" in self.log and "Ctrl-C" in self.printed or self.process.poll() is not None, "it serves")
        assert self.process.poll() is None, self.log
        return self

    def line(self, start):
        """The line of what was printed that starts so, as it would be pasted into a shell."""
        [line] = [text.strip() for text in self.printed.splitlines() if text.strip().startswith(start)]
        return line

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(10)
        for thread in self.threads:
            thread.join(5)
        return code


@pytest.fixture
def run(binary, tmp_path):
    started = []

    def start(port=None, **env):
        started.append(Run(binary, tmp_path, port or free_port(), **env))
        return started[-1]
    yield start
    for one in started:
        one.end()


def test_the_first_run_makes_a_token_and_the_curl_line_works_when_pasted(run, tmp_path):
    """Issue 4: prints the URL, the token's path and lines for clients; Ctrl-C ends it with 0."""
    r = run().wait_ready()
    token = tmp_path / ".run" / "token"
    assert token.stat().st_mode & 0o777 == 0o600 and (tmp_path / ".run").stat().st_mode & 0o77 == 0
    assert f"http://127.0.0.1:{r.port}/mcp" in r.printed and str(token) in r.printed
    assert token.read_text().strip() not in r.printed + r.log, "a screen may be shared"
    done = subprocess.run(["sh", "-c", r.line("curl ")], capture_output=True, text=True, cwd="/", timeout=10)
    assert "terminal_exec" in [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]], done
    assert r.end() == 0


def test_the_claude_line_has_the_right_words(run, tmp_path):
    """Issue 4: what the client would get when it is pasted."""
    r = run().wait_ready()
    line = r.line("claude mcp add")
    shell = 'claude() { printf "%s\\n" "$@"; }\n' + line
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, cwd="/")
    token = (tmp_path / ".run" / "token").read_text().strip()
    words = done.stdout.splitlines()
    assert words[:2] == ["mcp", "add"] and f"http://127.0.0.1:{r.port}/mcp" in words
    assert words[words.index("--header") + 1] == f"Authorization: Bearer {token}"
    assert words[words.index("--transport") + 1] == "http"


def test_a_second_run_keeps_token_and_workspace(run, tmp_path):
    """Issue 4: made on first use."""
    r = run().wait_ready()
    token = (tmp_path / ".run" / "token").read_text()
    (tmp_path / ".run" / "workspace" / "kept").write_text("x")
    assert r.end() == 0
    r = run().wait_ready()
    assert (tmp_path / ".run" / "token").read_text() == token
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_list"}}'
    call = re.sub("-d '.*'", lambda _: f"-d '{body}'", r.line("curl "))
    done = subprocess.run(["sh", "-c", call], capture_output=True, text=True, timeout=10)
    assert " kept\\n" in done.stdout, done


def test_what_the_caller_has_set_counts(run, tmp_path):
    """Issue 4: SANDSTORM_* of the environment are kept; no token is made then, nor shown."""
    (tmp_path / "mine").mkdir()
    r = run(SANDSTORM_MCP_TOKEN="my-own-token-0123456789", SANDSTORM_WORKSPACE_ROOT=str(tmp_path / "mine"),
            SANDSTORM_MCP_HOST="localhost").wait_ready()
    assert not (tmp_path / ".run" / "token").exists()
    assert str(tmp_path / "mine") in r.printed and "my-own-token" not in r.printed + r.log
    assert f"http://localhost:{r.port}/mcp" in r.printed


def test_a_taken_port_ends_it_with_the_remedy(run):
    """Issue 4."""
    first = run().wait_ready()
    second = run(first.port)
    assert second.process.wait(10) == 1
    second.end()
    assert "SANDSTORM_MCP_PORT" in second.log
    assert os.path.exists(f"/proc/{first.process.pid}")


def test_what_is_written_has_the_modes_of_the_caller(run, tmp_path):
    """The token is private; a file written through the server is as any file of the user's."""
    r = run().wait_ready()
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write","arguments":{"path":"f","content":"x"}}}'
    call = re.sub("-d '.*'", lambda _: f"-d '{body}'", r.line("curl "))
    subprocess.run(["sh", "-c", call], capture_output=True, text=True, timeout=10, check=True)
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / ".run" / "workspace" / "f").stat().st_mode & 0o777 == 0o666 & ~umask
