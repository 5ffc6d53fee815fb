"""The course that every client's program walks through, and how each step is judged: by what the client says, and by what is
seen of the server where there is something to see (the file as written, the process gone).

    PROGRAM ERA URL                     over HTTP, with the bearer token in MCP_TOKEN
    PROGRAM ERA -- COMMAND [ARG...]     over stdio; the server inherits the environment

The programs (client.mjs, client.py, go/, rust/) print one JSON object a line, {"step": NAME, ...}, in this order:

    connect     "protocol": the revision agreed on
    list        "tools": their names
    write       file_write of the text NAME into NAME.txt: "failed": isError, "text"
    read        file_read of it, likewise
    error       file_read of a file that is not there, likewise
    unknown     a tool that is not there: "code" and "message" as this client shows them
    progress    a command with three lines of output in 1.8 s: "seen": [[progress, message]...], and its result
    abort       starts a command that sleeps, aborts it when a line comes on standard input, tells "code" or "message" of the
                error that came of it, waits for another line
    after       another command: the connection lives
    ping        in the legacy era
    close       the connection was closed in order
"""

import contextlib
import json
import os
import select
import subprocess
import time

from contract import NAMES
from mcpwire import LEGACY, MODERN
from process import wait_until

NAME = "\u00e5\u00df\u65e5\u672c\u8a9e\U0001f980"
STEPS = ["connect", "list", "write", "read", "error", "unknown", "progress", "abort", "after", "ping", "close"]
LEGACY_ERA = "legacy"


class Client:
    """A client's program as a process: its lines, and what the driver tells it."""

    def __init__(self, argv, cwd, env, log):
        self.log = log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([*map(str, argv)], cwd=cwd, env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors)
        self.pending = b""

    def line(self, timeout=40):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.pending:
            ready = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]
            assert ready, f"the client says nothing: {self.said()}"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            assert chunk, f"the client has ended: {self.said()}"
            self.pending += chunk
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()[-3000:]

    def end(self):
        """The exit status of one that ends by itself within 15 s, else of a killed one."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


class Course:
    """Judges one client's run over one transport in one era."""

    def __init__(self, client, workspace, era, lasting=False):
        """lasting: an aborted command runs to its own limit: nothing that the server sees ends it (decisions 4 and 47)."""
        self.client, self.workspace, self.era, self.lasting = client, workspace, era, lasting

    def walk(self, record):
        for step in STEPS:
            if step == "ping" and self.era != LEGACY_ERA:
                continue
            with record.step(step):
                if step == "abort":
                    self.start_abort()
                found = self.client.line()
                assert found.pop("step") == step, found
                getattr(self, step)(found)
        record.protocol = self.protocol

    def connect(self, found):
        self.protocol = found["protocol"]
        assert self.protocol == (LEGACY[0] if self.era == LEGACY_ERA else MODERN)

    def list(self, found):
        assert found["tools"] == NAMES

    def write(self, found):
        path = self.workspace / f"{NAME}.txt"
        assert found == {"failed": False, "text": f"Written {len(NAME.encode())} bytes to {path}"}
        assert path.read_bytes() == NAME.encode()

    def read(self, found):
        assert found == {"failed": False, "text": NAME}

    def error(self, found):
        assert found["failed"] is True and found["text"].endswith("No such file or directory")

    def unknown(self, found):
        assert found.get("code") == -32602 and "Unknown tool: n\u00f6pe" in found["message"], found

    def progress(self, found):
        lines = [f"line {i}" for i in (1, 2, 3)]
        assert not found["failed"] and found["text"].startswith("\n".join(["stdout:", *lines])), found
        numbers, messages = zip(*found["seen"])
        assert len(numbers) >= 2 and all(a < b for a, b in zip(numbers, numbers[1:])), found
        assert set(messages) <= set(lines) and list(messages) == sorted(messages), found

    def start_abort(self):
        written = self.workspace / "pid"
        wait_until(lambda: written.exists() and written.read_text().endswith("\n"), "the command runs", 20)
        self.pid = int(written.read_text())
        assert os.path.exists(f"/proc/{self.pid}")
        self.client.go_on()

    def abort(self, found):
        """While the client waits: over stdio the end of the connection would end the command too."""
        assert "answer" not in found and (found.get("message") or found.get("code")), found
        if not self.lasting:
            wait_until(lambda: not os.path.exists(f"/proc/{self.pid}"), "the command is gone", 3)
        self.client.go_on()

    def after(self, found):
        assert found == {"failed": False, "text": "stdout:\non\n\n\nexit_code: 0"}
        wait_until(lambda: not os.path.exists(f"/proc/{self.pid}"), "its time limit has ended the command", 8)

    def ping(self, found):
        assert found == {"answer": {}}

    def close(self, found):
        assert found == {} and self.client.end() == 0, self.client.said()
