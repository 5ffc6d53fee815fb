"""A small MCP client that hides nothing: JSON-RPC lines over the pipes of a real server process.

Used by the end-to-end tests instead of an SDK wherever the bytes matter. One `Server` is one process:

    s = Server([binary, "--tools", "host"], env=..., cwd=...)
    s.request("ping")                      whole answer: {"jsonrpc": "2.0", "id": 1, "result": {}}
    s.result("tools/list")                 only the result; fails on an error answer
    s.error("no/such")                     only the error object; fails on a result
    s.call("file_read", path="a")          result of tools/call, as it came
    s.text("file_read", path="a")          its first text block; fails when isError is set
    s.failure("file_read", path="a")       its first text block; fails unless isError is set
    s.notes("file_read", path="a")         the further text blocks (what the server says about the first)
    s.modern.call(...)                     the same methods with the modern `_meta` added
    s.modern.with_meta(progressToken=1)    ... and more members in it
    s.initialize("2025-06-18")             the legacy handshake (not needed before other requests)

Arguments of tools are keywords (`s.call("terminal_exec", command="x", timeout=1)`), so how long to wait for an answer
is the attribute `patience` (seconds, default 10) or, for `request` and `wait`, the parameter `timeout`.

Lower level:

    s.send(message)                        any JSON value as one line; returns nothing
    s.send_raw(b"...")                     bytes exactly as given, no newline added
    s.notify(method, params)
    s.start_request(method, params)        sends and returns the id; collect it later with s.wait(id)
    s.read_message(timeout)                the next message nobody has collected yet, whatever it is
    s.fence()                              pings; returns what arrived before the ping's answer (often: nothing)
    s.history                              every message with its time, its raw line: Message(at, raw, value)
    s.pause_reading(), s.resume_reading()  a client that does not read its pipe
    s.descendants()                        pids of living processes this server started, however far they ran away
    s.rss_kib(), s.cpu_seconds(), s.fd_count(), s.stderr_text()
    s.signal(number); s.close() -> exit code after end of stdin; s.wait_exit() -> exit code

Every line of stdout is checked when it comes in: UTF-8, ended by LF alone, one JSON-RPC 2.0 object (or a non-empty
array of such, the answer to a batch), no member twice. A violation fails the test at the next read and at the end.
"""

import collections
import contextlib
import json
import os
import select
import subprocess
import threading
import time

from process import MARKER, Process, busy, clean_environment, describe, processes_with, wait_until  # tests take them here

PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
ALL_VERSIONS = [MODERN] + LEGACY
MODERN_META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}

Message = collections.namedtuple("Message", "at raw value")


def tool_params(tool, arguments):
    return {"name": tool, "arguments": arguments}


def first_text(result):
    """The first text block of a tool result."""
    blocks = result["content"]
    assert blocks and blocks[0]["type"] == "text", f"no text block: {result}"
    return blocks[0]["text"]


def same_id(a, b):
    """JSON ids are equal only with their type: 1 is neither "1" nor true."""
    return type(a) is type(b) and a == b


def _no_duplicates(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError(f"a member stands twice among {[name for name, _ in pairs]}")
    return members


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse_line(raw):
    """The JSON value of one line, or ValueError; stricter than json.loads."""
    text = raw.decode("utf-8")
    return json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant)


def check_message(value):
    """Raises ValueError unless value may stand on a server's stdout."""
    if isinstance(value, list):
        if not value:
            raise ValueError("an empty array is no answer")
        for item in value:
            if not isinstance(item, dict):
                raise ValueError("an array of answers holds something else")
            check_message(item)
        return
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise ValueError("not a JSON-RPC 2.0 object")
    if "method" in value:
        if "id" in value:
            raise ValueError("a server never sends requests")
        return
    if "id" not in value:
        raise ValueError("an answer without id")
    if ("result" in value) == ("error" in value):
        raise ValueError("an answer has either a result or an error")
    if "error" in value:
        error = value["error"]
        if type(error.get("code")) is not int or not isinstance(error.get("message"), str) or not error["message"]:
            raise ValueError("an error has an integer code and a message")
    elif not isinstance(value["result"], dict):
        raise ValueError("a result is an object")


class Requests:
    """The calls shared by the plain (legacy) and the modern way to speak to a server."""

    def _params(self, params):
        return params

    def start_request(self, method, params=None, id=None):
        raise NotImplementedError

    def wait(self, id, timeout=None):
        raise NotImplementedError

    def request(self, method, params=None, timeout=None, id=None):
        return self.wait(self.start_request(method, params, id=id), timeout)

    def result(self, method, params=None, timeout=None):
        answer = self.request(method, params, timeout)
        assert "result" in answer, f"{method} was refused: {answer['error']}"
        return answer["result"]

    def error(self, method, params=None, timeout=None):
        answer = self.request(method, params, timeout)
        assert "error" in answer, f"{method} was served: {answer['result']}"
        return answer["error"]

    def call(self, tool, /, **arguments):
        return self.result("tools/call", tool_params(tool, arguments))

    def start_call(self, tool, /, **arguments):
        return self.start_request("tools/call", tool_params(tool, arguments))

    def text(self, tool, /, **arguments):
        result = self.call(tool, **arguments)
        assert not result.get("isError"), f"{tool} failed: {result}"
        return first_text(result)

    def failure(self, tool, /, **arguments):
        result = self.call(tool, **arguments)
        assert result.get("isError") is True, f"{tool} did not fail: {result}"
        return first_text(result)

    def notes(self, tool, /, **arguments):
        return [block["text"] for block in self.call(tool, **arguments)["content"][1:]]


class Modern(Requests):
    """Speaks 2026-07-28 on the connection of a Server: every request carries `_meta`."""

    def __init__(self, server, meta):
        self._server = server
        self.meta = meta

    def with_meta(self, **members):
        """A copy with further (bare-named) members in `_meta`, such as progressToken."""
        return Modern(self._server, {**self.meta, **members})

    def start_request(self, method, params=None, id=None):
        params = dict(params or {})
        params["_meta"] = {**self.meta, **params.get("_meta", {})}
        return self._server.start_request(method, params, id=id)

    def wait(self, id, timeout=None):
        return self._server.wait(id, timeout)


class Server(Process, Requests):
    """One server process; see the module's text."""

    def __init__(self, argv, env, cwd, stderr=None):
        super().__init__()
        self.argv = list(argv)
        self.patience = 10.0
        self.history = []
        self._violations = []
        self._unclaimed = collections.deque()
        self._arrived = threading.Condition()
        self._ended = False
        self._gone = False
        self._ids = 0
        self._gate = threading.Event()
        self._gate.set()
        self._reading = threading.Lock()
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.argv, env=self.marked(env), cwd=cwd, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE if stderr is None else stderr)
        os.set_blocking(self.process.stdin.fileno(), False)
        self._threads = [threading.Thread(target=self._read_stdout, daemon=True)]
        if stderr is None:
            self._threads.append(threading.Thread(target=self._read_stderr, daemon=True))
        for thread in self._threads:
            thread.start()
        self.modern = Modern(self, MODERN_META)

    # -- from the server ------------------------------------------------------------------------------------------

    def _read_stdout(self):
        fd = self.process.stdout.fileno()
        pending = bytearray()
        while True:
            self._gate.wait()
            if self._gone:
                break
            if not select.select([fd], [], [], 0.02)[0]:
                continue
            with self._reading:
                if not self._gate.is_set():
                    continue
                chunk = os.read(fd, 1 << 20)
            if not chunk:
                break
            pending += chunk
            if b"\n" in chunk:
                *lines, rest = pending.split(b"\n")
                pending = bytearray(rest)
                for line in lines:
                    self._take_line(bytes(line))
        with self._arrived:
            if pending and not self._gone:
                self._violations.append(f"stdout ends without a newline: {bytes(pending[:200])!r}")
            self._ended = True
            self._arrived.notify_all()

    def _take_line(self, line):
        at = time.monotonic()
        try:
            if line.endswith(b"\r"):
                raise ValueError("ends with CR LF")
            value = parse_line(line)
            check_message(value)
        except ValueError as problem:
            with self._arrived:
                self._violations.append(f"{problem}: {line[:300]!r}")
                self._arrived.notify_all()
            return
        message = Message(at, line, value)
        with self._arrived:
            self.history.append(message)
            self._unclaimed.append(message)
            self._arrived.notify_all()

    def pause_reading(self):
        with self._reading:
            self._gate.clear()

    def resume_reading(self):
        self._gate.set()

    def check(self):
        """Fails when stdout has held anything but messages so far."""
        assert not self._violations, f"not a message on stdout: {self._violations}"

    def _collect(self, wanted, what, timeout):
        """The first unclaimed message that `wanted` takes, as Message."""
        deadline = time.monotonic() + (self.patience if timeout is None else timeout) * busy()
        with self._arrived:
            while True:
                self.check()
                for message in self._unclaimed:
                    if wanted(message.value):
                        self._unclaimed.remove(message)
                        return message
                left = deadline - time.monotonic()
                if self._ended:
                    raise AssertionError(f"the server ended before {what}; {self._state()}")
                if left <= 0:
                    raise AssertionError(f"no {what} in time; {self._state()}")
                self._arrived.wait(left)

    def _state(self):
        others = [m.raw[:200] for m in self._unclaimed]
        return f"exit code {self.process.poll()}, uncollected {others}, stderr {self.stderr_text()[-500:]!r}"

    def wait(self, id, timeout=None):
        """The answer that carries this id."""
        return self.wait_message(id, timeout).value

    def wait_message(self, id, timeout=None):
        def wanted(value):
            return isinstance(value, dict) and "method" not in value and same_id(value["id"], id)
        return self._collect(wanted, f"answer to id {id!r}", timeout)

    def wait_notification(self, method, timeout=None):
        def wanted(value):
            return isinstance(value, dict) and value.get("method") == method
        return self._collect(wanted, f"notification {method}", timeout).value

    def read_message(self, timeout=None):
        return self._collect(lambda value: True, "message", timeout).value

    def drain(self):
        """All messages that have arrived and were not collected."""
        with self._arrived:
            self.check()
            values = [m.value for m in self._unclaimed]
            self._unclaimed.clear()
            return values

    def fence(self, timeout=None):
        """Pings and gives back the messages that came before the ping's answer, oldest first."""
        answer = self.wait_message(self.start_request("ping"), timeout)
        assert answer.value.get("result") == {}, f"ping was answered with {answer.value}"
        with self._arrived:
            before = [m for m in self._unclaimed if m.at <= answer.at]
            for message in before:
                self._unclaimed.remove(message)
            return [m.value for m in before]

    def silence(self, seconds):
        """Fails when any message arrives within that time."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._unclaimed or self._violations, seconds)
            self.check()
            assert not self._unclaimed, f"expected silence, got {[m.raw[:200] for m in self._unclaimed]}"

    # -- to the server --------------------------------------------------------------------------------------------

    def send_raw(self, data, timeout=30):
        """Writes all of data, or fails when the server does not take it within the time."""
        deadline = time.monotonic() + timeout
        view = memoryview(bytes(data))
        fd = self.process.stdin.fileno()
        while view:
            left = deadline - time.monotonic()
            assert left > 0, f"the server does not read its stdin ({len(view)} bytes are left); {self._state()}"
            if select.select([], [fd], [], left)[1]:
                with contextlib.suppress(BlockingIOError):
                    view = view[os.write(fd, view[:1 << 20]):]

    def send(self, message):
        self.send_raw(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def cancel(self, id, reason="not needed any more"):
        self.notify("notifications/cancelled", {"requestId": id, "reason": reason})

    def start_request(self, method, params=None, id=None):
        if id is None:
            self._ids += 1
            id = self._ids
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return id

    def initialize(self, version="2025-11-25", **more):
        """The legacy handshake; returns the result of initialize."""
        params = {"protocolVersion": version, "capabilities": {},
                  "clientInfo": {"name": "mcpwire", "version": "1"}, **more}
        result = self.result("initialize", params)
        self.notify("notifications/initialized")
        return result

    def close_stdout(self):
        """The client goes away without a word: nobody reads the server's stdout any more."""
        self._gone = True
        self._gate.set()
        self._threads[0].join()
        self.process.stdout.close()

    def close_stdin(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    # -- the process ----------------------------------------------------------------------------------------------

    def close(self, timeout=10):
        """Ends stdin and returns the exit code."""
        self.close_stdin()
        return self.wait_exit(timeout)

    GOODBYE = "the end of stdin"

    def _let_go(self):
        self.resume_reading()

    def _ask_to_end(self):
        self.close_stdin()

    def _read_all(self):
        self.resume_reading()
        for thread in self._threads:
            thread.join(5)

    def _complaints(self):
        return [f"not a message on stdout: {self._violations}"] if self._violations else []
