"""A crowd of strangers against one client who has the token: what he notices of it.

Issue 7, shown by: 10,000 connections, slow heads and bodies, endless chunks, unread answers, wrong tokens.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcpwire import wait_until
from process import busy
from webserver import message

CROWD = 10_000
P99 = 0.05          # seconds
WINDOW = 4          # seconds of one measurement; the best of three counts, since other programs can only add to it
MIB = 1024 * 1024


class Client:
    """Calls one after the other, as a program does; each tenth on a new connection, as the next program would."""

    def __init__(self, web):
        self.web, self.connection, self.reconnected = web, None, 0

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self):
        end = time.monotonic() + busy()
        while time.monotonic() < end:   # a connection that was idle may be given up for others: a client then comes anew
            try:
                if self.connection is None:
                    self.connection = self.web.connect()
                self.connection.send(self.web.bytes_of(message("tools/call", {"name": "file_read",
                                                                              "arguments": {"path": "f"}})))
                return self.connection.answer(timeout=5)
            except (AssertionError, OSError):
                self.leave()
                self.reconnected += 1
                time.sleep(0.005)
        raise AssertionError("refused again and again")

    def p99(self, seconds):
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            if len(times) % 10 == 0:
                self.leave()
            began = time.perf_counter()
            answer = self.ask()
            times.append(time.perf_counter() - began)
            assert answer.status == 200 and "hello" in answer.body.decode(), answer
            time.sleep(0.002)
        return sorted(times)[len(times) * 99 // 100]


@pytest.fixture
def crowd():
    """Starts it against a server; ended, it tells what it has seen. Nice, since the real one has machines of its own."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < CROWD + 100:
        pytest.fail(f"the descriptor limit is below {CROWD + 100}")
    started = []

    def start(web):
        started.append(subprocess.Popen(
            ["nice", "-n", "10", sys.executable, Path(__file__).with_name("attacker.py"), web.host, str(web.port),
             str(CROWD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return lambda: json.loads(started[0].communicate(b"\n", timeout=120)[0])
    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.long(30)
def test_a_client_is_served_as_if_it_were_alone(web, workspace, crowd, record_property):
    """And what the crowd has taken comes back when it goes."""
    (workspace / "f").write_text("hello")
    w = web(env={"SANDSTORM_RATE_LIMIT": "0"})
    client = Client(w)
    quiet = client.p99(WINDOW / 2)
    descriptors = w.fd_count()
    idle = w.start(message("ping"))
    assert idle.answer().status == 200
    seen = crowd(w)
    wait_until(lambda: w.fd_count() > 900, "the crowd is there", 20)
    found = [client.p99(WINDOW) for _ in range(3)]
    most = w.rss_kib()
    assert "on" in w.text("terminal_exec", command="echo on")
    idle.send(w.bytes_of(message("ping")))
    assert idle.answer().status == 200, "who has shown the token keeps his place"
    assert "Written" in w.text("file_write", path="large", content="x" * MIB)
    seen = seen()
    print(f"99th percentile: alone {quiet * 1000:.1f} ms, in the crowd {sorted(t * 1000 for t in found)} ms; "
          f"resident {most} KiB; the crowd: {seen}; new connections of the client: {client.reconnected}")
    record_property("p99_ms_alone", quiet * 1000)
    record_property("p99_ms_attacked", min(found) * 1000)
    assert min(found) < max(P99 * busy(), 10 * quiet) and max(found) < busy()
    assert seen["opened"] >= CROWD
    assert {"401", "429", "413"} <= set(seen["statuses"]), seen
    assert most < 24 * 1024 and client.reconnected <= 5 * busy(), "only while nothing is known of a new connection"
    wait_until(lambda: w.fd_count() <= descriptors + 2, "their connections are gone", 20)
    wait_until(lambda: w.rss_kib() < 2048, f"their memory is given back, {w.rss_kib()} KiB are held", 5)
    assert client.p99(1) < max(P99 * busy(), 10 * quiet)
    assert len(w.stderr_text()) < MIB
