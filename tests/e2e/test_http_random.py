"""Clients that do anything, in any order: the server must be whole afterwards.

Each seed is one reproducible run of a few hundred clients; SANDSTORM_SEEDS=N runs N of them, for a build with sanitizers.
"""

import json
import os
import random
import time

import pytest

from httpwire import chunked, request
from mcpwire import tool_params, wait_until
from process import busy
from webserver import message, modern_fields, modern_message

SEEDS = range(int(os.environ.get("SANDSTORM_SEEDS", "2")))


class Crowd:
    """Open connections, and what may be done with one of them."""

    def __init__(self, web, seed):
        self.web, self.random = web, random.Random(seed)
        self.open = []

    def call(self, tool, **arguments):
        params = tool_params(tool, arguments)
        if self.random.random() < 0.4:
            value = modern_message("tools/call", params, self.random.randrange(100), progressToken="t")
            return value, modern_fields(value)
        return message("tools/call", {**params, "_meta": {"progressToken": 1}}, self.random.randrange(100)), {}

    def text(self):
        """The bytes of one request, mostly good."""
        kind = self.random.randrange(9)
        if kind == 0:
            return request("GET", self.random.choice(["/health", "/mcp", "/none"]), self.web.fields())
        if kind == 1:
            value, fields = self.call("terminal_exec", command=self.random.choice(
                ["true", "echo x", "sleep 0.05", "sleep 0.4", "head -c 300000 /dev/zero", "exit 3"]))
        elif kind == 2:
            value, fields = self.call("file_write", path="f", content="y" * self.random.choice([1, 20_000, 200_000]))
        elif kind == 3:
            value, fields = self.call("file_read", path="f")
        elif kind == 4:
            value, fields = [message("ping", id=n) for n in range(self.random.randrange(40))], {}
        elif kind == 5:
            value, fields = message("ping"), {"Authorization": None}
        elif kind == 6:
            value, fields = b"{" * self.random.randrange(100), {"Accept": "text/event-stream"}
        else:
            value, fields = message("tools/list"), {"Accept": self.random.choice(["*/*", "text/event-stream", "x/y"])}
        if self.random.random() < 0.3:
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            fields = self.web.fields({**fields, "Transfer-Encoding": "chunked"})
            return request(fields=fields, body=chunked(body, self.random.choice([1, 700, 70_000])))
        return self.web.bytes_of(value, fields)

    def spoiled(self, text):
        """With a byte changed, cut, or repeated."""
        at = self.random.randrange(len(text))
        return self.random.choice([text[:at], text[:at] + bytes([self.random.randrange(256)]) + text[at + 1:],
                                   text + text[:at]])

    def step(self):
        if not self.open or (len(self.open) < 60 and self.random.random() < 0.3):
            self.open.append(self.web.connect())
        c = self.random.choice(self.open)
        act = self.random.randrange(10)
        if act < 6:
            text = b"".join(self.text() for _ in range(self.random.choice([1, 1, 1, 2, 5])))
            self.write(c, self.spoiled(text) if self.random.random() < 0.3 else text)
        elif act == 6:
            self.read(c)
        elif act == 7:
            c.half_close()
        else:
            c.close()
            self.open.remove(c)

    def write(self, c, text):
        """Without waiting for a server that does not read on: the rest stays unsent."""
        c.socket.settimeout(0.02)
        while text:
            n = c.socket.send(text[:self.random.choice([10, 3000, 200_000])])
            text = text[n:]

    def read(self, c):
        c.socket.settimeout(0.02)
        while c.socket.recv(1 << 18):
            pass


@pytest.mark.parametrize("seed", SEEDS)
def test_clients_that_do_anything_leave_the_server_whole(web, seed):
    """No crash, no hang, no descriptor, process, job or upload buffer left over."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "0", "SANDSTORM_MAX_CONNECTIONS": random.Random(seed).choice(["60", "100"])})
    w.result("ping")
    before = w.fd_count()
    crowd = Crowd(w, seed)
    for _ in range(600):
        try:
            crowd.step()
        except OSError:
            pass        # the server has closed it, or does not take more
    assert w.post(message("ping")).status in (200, 503)
    w.close_connections()
    for c in crowd.open:
        c.close()
    wait_until(lambda: w.fd_count() <= before + 1, "descriptors are closed", 8)
    w.wait_no_descendants(8)
    wait_until(lambda: w.zombies() == [], "all are collected")
    started = time.monotonic()
    assert w.post(message("ping")).message()["result"] == {}
    assert w.modern.text("terminal_exec", command="echo on") == "stdout:\non\n\n\nexit_code: 0"
    assert time.monotonic() - started < busy()
    calls = [w.start(message("tools/call", tool_params("terminal_exec", {"command": "sleep 0.2; echo on"})))
             for _ in range(50)]
    assert all("result" in c.answer().message() for c in calls), "all jobs are free again"
    body = json.dumps(message("tools/call", tool_params("file_write", {"path": "f", "content": "y" * 50_000}))).encode()
    uploads = [w.connect() for _ in range(8)]
    for c in uploads:
        c.send(w.bytes_of(body)[:-1])
    for c in uploads:
        c.send(body[-1:])
        assert c.answer().status == 200, "all upload buffers are free again"
