"""A small HTTP/1.1 client that hides nothing: bytes out in any pieces, answers in framed to the byte.

    c = Connection("127.0.0.1", port)
    c.send(request("POST", "/mcp", {"Host": "h", "Authorization": "Bearer ..."}, b"{}"))
    a = c.answer()                  Answer: status, fields, body; also c.answer("HEAD"), since HEAD has no body
    a["content-type"]               a field's value in any case, None when absent; fails when it stands twice
    a.json(), a.message(), a.events()   the body as JSON; as the JSON-RPC message it carries, plain or last event of a
                                    stream; as a list of Event(at, kind, value)
    s = c.stream()                  an answer read while it comes: s.head, then s.next() -> Event or None at its end
    c.messages()                    its events, also when it comes whole: then there is one
    c.send_slowly(data, size, pause), c.half_close(), c.closed(), c.silent(seconds), c.close()

Every answer is checked when it is read: status line, form of the fields, one way of framing, a date, a type for each
body, nothing behind the end of a body (bytes that are left over fail in `closed` and at the next answer's start line).
Server-sent events are held to one `event: message` line and one `data:` line each, ended by LF LF, without CR.
"""

import collections
import contextlib
import itertools
import json
import os
import random
import re
import socket
import time

from process import busy

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) ([\x20-\x7e]*)")
FIELD_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e"
                        rb"\x80-\xff])?)?")
DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")

Event = collections.namedtuple("Event", "at kind value")        # kind: "message" or "comment"


def no_duplicates(pairs):
    members = dict(pairs)
    assert len(members) == len(pairs), f"a member stands twice among {[name for name, _ in pairs]}"
    return members


def parse_json(text):
    return json.loads(text.decode("utf-8"), object_pairs_hook=no_duplicates)


def encoded(value):
    return value if isinstance(value, bytes) else str(value).encode()


def request(method="POST", target="/mcp", fields=(), body=None, version="HTTP/1.1"):
    """The bytes of a request. fields: a mapping or pairs; a value of None is left out. A body gets its Content-Length
    unless the fields say something about its framing."""
    pairs = list(fields.items() if isinstance(fields, dict) else fields)
    pairs = [(name, value) for name, value in pairs if value is not None]
    framed = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in pairs)
    if body is not None and not framed:
        pairs.append(("Content-Length", len(body)))
    lines = [f"{method} {target} {version}".encode()]
    lines += [encoded(name) + b": " + encoded(value) for name, value in pairs]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def chunked(body, size=1000, extension=b"", trailer=b""):
    """The chunked form of a body."""
    pieces = [body[i:i + size] for i in range(0, len(body), size)]
    return (b"".join(b"%x%s\r\n%s\r\n" % (len(p), extension, p) for p in pieces)
            + b"0" + extension + b"\r\n" + trailer + b"\r\n")


def event_of(block, at):
    """One server-sent event or comment, without the empty line that ends it."""
    assert b"\r" not in block, f"CR in a stream: {block[:200]!r}"
    if block.startswith(b":"):
        assert b"\n" not in block, f"a comment is one line: {block[:200]!r}"
        return Event(at, "comment", block[1:].strip())
    lines = block.split(b"\n")
    assert len(lines) == 2 and lines[0] == b"event: message" and lines[1].startswith(b"data: "), \
        f"not an event line and a data line: {block[:300]!r}"
    value = parse_json(lines[1][len(b"data: "):])
    assert value["jsonrpc"] == "2.0" if isinstance(value, dict) else value
    return Event(at, "message", value)


class Answer:
    """Head and body of one answer; interim: the statuses of 1xx answers before it."""

    def __init__(self, status, reason, pairs, interim):
        self.status, self.reason, self.pairs, self.interim = status, reason, pairs, interim
        self.body = b""

    def __repr__(self):
        return f"<{self.status} {self.reason} {self.pairs} {self.body[:300]!r}>"

    def __getitem__(self, name):
        found = [value for n, value in self.pairs if n.lower() == name.lower()]
        assert len(found) < 2, f"{name} stands twice in {self}"
        return found[0] if found else None

    def list(self, name):
        """The members of a comma list, lower case."""
        return [word.strip().lower() for word in (self[name] or "").split(",") if word.strip()]

    @property
    def closes(self):
        return "close" in self.list("connection")

    @property
    def type(self):
        return (self["content-type"] or "").partition(";")[0]

    def json(self):
        assert self.type == "application/json", self
        return parse_json(self.body)

    def events(self):
        assert self.type == "text/event-stream", self
        *blocks, rest = self.body.split(b"\n\n")
        assert rest == b"", f"a stream ends with an empty line: {rest[:200]!r}"
        return [event_of(block, None) for block in blocks]

    def message(self):
        if self.type != "text/event-stream":
            return self.json()
        messages = [e.value for e in self.events() if e.kind == "message"]
        assert messages, self
        return messages[-1]

    def check(self, to):
        """What must hold for every final answer."""
        assert DATE.fullmatch(self["date"] or ""), f"no date: {self}"
        length, coding = self["content-length"], self["transfer-encoding"]
        assert length is None or re.fullmatch("0|[1-9][0-9]*", length), self
        assert coding in (None, "chunked") and not (length and coding), self
        if self.status == 204:
            assert length is None and coding is None, f"204 has no body: {self}"
        elif length is None and coding is None:
            assert self.closes or to == "HTTP/1.0", f"nothing says where the body ends: {self}"
        if length is None or length != "0":
            assert self["content-type"] or self.status == 204, f"a body without a type: {self}"


class Connection:
    """One TCP connection to a server; context: an ssl.SSLContext, for one through TLS."""

    def __init__(self, host, port, patience=10, context=None):
        self.socket = socket.create_connection((host, port), patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.patience = patience
        self.rest = b""
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.socket.close()

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    # -- out ------------------------------------------------------------------------------------------------------

    def send(self, data):
        self.socket.settimeout(self.patience)
        self.socket.sendall(data)

    def send_slowly(self, data, size=1, pause=0.001):
        for i in range(0, len(data), size):
            self.send(data[i:i + size])
            time.sleep(pause)

    # -- in -------------------------------------------------------------------------------------------------------

    def _more(self, deadline, what):
        """Further bytes into rest; False at the end of the connection."""
        left = deadline - time.monotonic()
        assert left > 0, f"no {what} in time, so far {self.rest[:300]!r}"
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise AssertionError(f"no {what} in time, so far {self.rest[:300]!r}") from None
        self.rest += data
        self.ended = not data
        return bool(data)

    def _until(self, mark, deadline, what):
        while mark not in self.rest:
            assert self._more(deadline, what), f"the connection ended before {what}: {self.rest[:300]!r}"
        data, _, self.rest = self.rest.partition(mark)
        return data

    def _exactly(self, size, deadline, what):
        while len(self.rest) < size:
            assert self._more(deadline, what), f"the connection ended before {what}: {self.rest[:300]!r}"
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def _head(self, deadline):
        interim = []
        while True:
            start, *lines = self._until(b"\r\n\r\n", deadline, "answer").split(b"\r\n")
            match = STATUS_LINE.fullmatch(start)
            assert match, f"not a status line: {start[:300]!r}"
            fields = [FIELD_LINE.fullmatch(line) for line in lines]
            assert all(fields), f"not a field among {lines}"
            pairs = [(f[1].decode("latin-1"), (f[2] or b"").decode("latin-1")) for f in fields]
            if not match[1].startswith(b"1"):
                return Answer(int(match[1]), match[2].decode(), pairs, interim)
            assert not pairs, f"an interim answer with fields: {pairs}"
            interim.append(int(match[1]))

    def _body(self, answer, to, deadline):
        """Yields the pieces of the body as they come."""
        length, coding = answer["content-length"], answer["transfer-encoding"]
        if to == "HEAD" or answer.status == 204:
            return
        if coding:
            while size := int(self._until(b"\r\n", deadline(), "chunk size"), 16):
                yield self._exactly(size, deadline(), "chunk")
                assert self._exactly(2, deadline(), "end of chunk") == b"\r\n"
            assert self._exactly(2, deadline(), "end of body") == b"\r\n", "a trailer, or bytes in its place"
        elif length is not None:
            yield self._exactly(int(length), deadline(), "body")
        else:
            while not self.ended:
                yield self.rest
                self.rest = b""
                self._more(deadline(), "end of connection")
            yield self.rest
            self.rest = b""

    def answer(self, to="POST", timeout=None):
        """The next answer; to: the method it answers, or "HTTP/1.0"."""
        deadline = time.monotonic() + (timeout or self.patience) * busy()
        found = self._head(deadline)
        found.check(to)
        found.body = b"".join(self._body(found, to, lambda: deadline))
        return found

    def stream(self, to="POST", timeout=None):
        return Stream(self, to, timeout or self.patience)

    def messages(self, to="POST", timeout=None):
        """All events of the next answer; one that is no stream is a single one."""
        deadline = time.monotonic() + (timeout or self.patience)
        found = self._head(deadline)
        if found.type == "text/event-stream":
            return Stream(self, to, timeout or self.patience, found).all()
        found.check(to)
        found.body = b"".join(self._body(found, to, lambda: deadline))
        return [Event(time.monotonic(), "message", found.json())]

    def closed(self, timeout=None):
        """True when the server ends the connection without a further byte; a reset is an end, too."""
        assert not self.rest, f"bytes before the end: {self.rest[:300]!r}"
        with contextlib.suppress(ConnectionResetError):
            while self._more(time.monotonic() + (timeout or self.patience), "end of connection"):
                raise AssertionError(f"bytes before the end: {self.rest[:300]!r}")
        return True

    def silent(self, seconds):
        """True when that time passes without a byte and without an end."""
        assert not self.rest and not self.ended, self.rest[:300]
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            return True
        raise AssertionError(f"expected silence, got {data[:300]!r}")


class Stream:
    """An answer of server-sent events, read while it comes."""

    def __init__(self, connection, to, patience, head=None):
        self.patience = patience
        self.connection = connection
        self.head = head or connection._head(time.monotonic() + patience)
        self.head.check(to)
        assert self.head.type == "text/event-stream", self.head
        self._pieces = connection._body(self.head, to, lambda: time.monotonic() + self.patience)
        self._text = b""

    def next(self, timeout=None):
        """The next event, or None at the end of the stream."""
        if timeout:
            self.patience = timeout
        while b"\n\n" not in self._text:
            piece = next(self._pieces, None)
            if piece is None:
                assert self._text == b"", f"a stream ends with an empty line: {self._text[:200]!r}"
                return None
            self._text += piece
        block, _, self._text = self._text.partition(b"\n\n")
        return event_of(block, time.monotonic())

    def all(self, timeout=None):
        """All events up to the end."""
        if timeout:
            self.patience = timeout
        return list(iter(self.next, None))


def ports_of(worker, lowest=20000, share=750):
    """One after the other, without end, from a place by chance in what belongs to this one of up to 16 workers."""
    first = lowest + worker % 16 * share
    return map(lambda n: first + n % share, itertools.count(random.randrange(share)))


PORTS = ports_of(int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))


def free_port():
    """A port nobody listens on, below those that the kernel gives to clients: no other worker of this run is given it, and
    this one not soon again, so that it stays free until it is used, also where that nobody answers is what matters."""
    for _ in range(100):
        port = next(PORTS)
        with contextlib.suppress(OSError), socket.socket() as v4, socket.socket(socket.AF_INET6) as v6:
            v4.bind(("0.0.0.0", port))
            v6.bind(("::1", port))
            return port
    raise AssertionError("no free port")
