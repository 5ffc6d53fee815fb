"""The bytes of a connection: TLS over a socket, record by record, and the HTTP/1.1 requests inside.

The TLS engine is fed by hand instead of wrapping the socket: only so the double can see the client's first message as
it was sent, leave out the goodbye, or send an alert where data is due.
"""

import contextlib
import os
import socket
import ssl
import struct
import warnings


class Gone(Exception):
    """The client is no longer there, or what it sent was not TLS that this server speaks."""


def context(leaf, speaks="usual"):
    """The TLS settings of a server. speaks: "usual" is 1.2 and 1.3; "1.3", "1.1" and "cbc" leave no common ground with
    a client that knows 1.2 with modern suites only."""
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(leaf.chain, leaf.key)
    c.set_alpn_protocols(["h2", "http/1.1"])     # as the real one: who offers h2 gets it
    c.minimum_version = ssl.TLSVersion.TLSv1_3 if speaks == "1.3" else ssl.TLSVersion.TLSv1_2
    if speaks == "cbc":
        c.maximum_version = ssl.TLSVersion.TLSv1_2
        c.set_ciphers("ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA")
    if speaks == "1.1":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            c.set_ciphers("ALL:@SECLEVEL=0")
            c.minimum_version = c.maximum_version = ssl.TLSVersion.TLSv1_1
    return c


def client_hello(record):
    """Server name, protocols, suites and extensions that a client offers first (RFC 5246 section 7.4.1.2)."""
    found = {"sni": None, "alpn": [], "suites": [], "extensions": []}
    if len(record) < 43 or record[0] != 22 or record[5] != 1:
        return found
    at = 43 + 1 + record[43]
    size, = struct.unpack_from(">H", record, at)
    found["suites"] = list(struct.unpack_from(f">{size // 2}H", record, at + 2))
    at += 2 + size
    at += 1 + record[at] + 2
    while at + 4 <= len(record):
        kind, size = struct.unpack_from(">HH", record, at)
        data = record[at + 4:at + 4 + size]
        found["extensions"].append(kind)
        if kind == 0:
            found["sni"] = data[5:].decode("ascii", "replace")
        if kind == 16:
            rest = data[2:]
            while rest:
                found["alpn"].append(rest[1:1 + rest[0]].decode("ascii", "replace"))
                rest = rest[1 + rest[0]:]
        at += 4 + size
    return found


class Channel:
    """TLS on a connected socket, which it owns."""

    def __init__(self, sock, tls_context):
        self.socket = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls_context.wrap_bio(self._in, self._out, server_side=True)
        self.first = b""        # the client's first bytes, as they came

    def _flush(self):
        if waiting := self._out.read():
            try:
                self.socket.sendall(waiting)
            except OSError as problem:
                raise Gone(str(problem)) from None

    def _drive(self, step, *arguments):
        """Runs one step of the engine, with as many bytes from the client as it takes."""
        while True:
            try:
                done = step(*arguments)
                self._flush()
                return done
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLError as problem:
                with contextlib.suppress(Gone):
                    self._flush()
                raise Gone(str(problem)) from None
            try:
                data = self.socket.recv(65536)
            except OSError as problem:
                raise Gone(str(problem)) from None
            if not data:
                raise Gone("the client closed the connection")
            if len(self.first) < 4096:
                self.first += data
            self._in.write(data)

    def handshake(self):
        self._drive(self.tls.do_handshake)

    def read(self):
        """Some bytes; b"" when the client said goodbye."""
        return self._drive(self.tls.read, 65536)

    def write(self, data):
        view = memoryview(data)
        for at in range(0, len(view), 65536):
            self._drive(self.tls.write, view[at:at + 65536])

    def close(self, notify=True):
        if notify:
            with contextlib.suppress(ssl.SSLError, Gone):
                self.tls.unwrap()
            with contextlib.suppress(Gone):
                self._flush()
        # what the client sent meanwhile must not turn this end into a reset
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            self.socket.settimeout(0.2)
            while self.socket.recv(65536):
                pass
        self.socket.close()

    def reset(self):
        """The connection ends with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def alert(self):
        """A fatal alert under the connection's keys: the engine sends one when it is given bytes that are no record."""
        self._in.write(b"\x17\x03\x03\x00\x40" + os.urandom(64))
        with contextlib.suppress(ssl.SSLError):
            while True:
                self.tls.read(65536)
        self._flush()


class Request:
    """One request: method, target, fields as [name, value] in the order and spelling they came in, body."""

    def __init__(self, head, body):
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, self.version = first.split(" ")
        self.fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        self.body = body

    @property
    def path(self):
        return self.target.partition("?")[0]

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name):
        values = self.all(name)
        return values[0] if values else None


class Requests:
    """Takes requests from a Channel, one after the other."""

    def __init__(self, channel):
        self._channel = channel
        self._pending = b""

    def _more(self):
        data = self._channel.read()
        if not data:
            raise Gone("end of the connection" + (" in the middle of a request" if self._pending else ""))
        self._pending += data

    def next(self):
        while b"\r\n\r\n" not in self._pending:
            self._more()
        head, _, self._pending = self._pending.partition(b"\r\n\r\n")
        request = Request(head, b"")
        size = int(request.get("content-length") or 0)
        while len(self._pending) < size:
            self._more()
        request.body, self._pending = self._pending[:size], self._pending[size:]
        return request
