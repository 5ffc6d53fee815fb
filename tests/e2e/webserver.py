"""A server over HTTP, driven with raw requests. One `WebServer` is one process of `sandstorm-mcp serve`:

    w.url, w.host, w.port, w.token         http://127.0.0.1:PORT/mcp and its parts; https:// with TLS
    w.connect()                            httpwire.Connection to it; w.connect("::1") to another of its addresses
    w.exchange(method, target, fields, body) -> Answer     on a connection of its own, with nothing added but Host
    w.post(message, {"Accept": None})      Answer to a POST of a JSON value (or bytes) with the usual fields, which
                                           the mapping changes (None takes one out)
    w.start(message, {...})                the same without waiting: the Connection, for .answer() or .stream()
    w.rpc(method, params, era="modern")    Answer to a request in that era, "legacy" by default
    w.read_log.clear(), .set()             stop reading its log, and go on
    w.request, result, error, call, text, failure, notes, w.modern.call, ...    as mcpwire.Server has them

What belongs to a process (rss_kib, descendants, stderr_text, signal, ...) is in process.py. The requests of `request`
and its kin go over one kept connection, those of `exchange`, `post`, `start` and `rpc` over a new one each.
"""

import base64
import contextlib
import json
import os
import socket
import ssl
import subprocess
import threading
import time

from httpwire import Connection, free_port, request
from mcpwire import MODERN, MODERN_META, Requests, same_id
from process import Process, busy, clean_environment

TOKEN = "e2e-token-0123456789abcdef"


def message(method, params=None, id=1):
    value = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        value["params"] = params
    return value


def notification(method, params=None):
    value = message(method, params)
    del value["id"]
    return value


def modern_message(method, params=None, id=1, **meta):
    params = dict(params or {})
    return message(method, {**params, "_meta": {**MODERN_META, **meta, **params.get("_meta", {})}}, id)


def name_field(name):
    """A value for Mcp-Name: encoded where it is not plain ASCII, or has blanks at its ends."""
    if name.isascii() and name.isprintable() and name == name.strip():
        return name
    return "=?base64?" + base64.b64encode(name.encode()).decode() + "?="


def modern_fields(value):
    """The fields that a modern message needs."""
    fields = {"MCP-Protocol-Version": MODERN, "Mcp-Method": value["method"]}
    name = value.get("params", {}).get("name")
    if value["method"] in ("tools/call", "prompts/get") and name is not None:
        fields["Mcp-Name"] = name_field(name)
    return fields


class Speaker(Requests):
    """Speaks one era over a kept connection of a WebServer."""

    def __init__(self, server, meta=None):
        self._server = server
        self._meta = meta

    def with_meta(self, **members):
        return Speaker(self._server, {**self._meta, **members})

    def request(self, method, params=None, timeout=None, id=None):
        id = self._server.next_id() if id is None else id
        if self._meta is None:
            value, fields = message(method, params, id), {}
        else:
            value = modern_message(method, params, id, **self._meta)
            fields = modern_fields(value)
        answer = self._server.kept_exchange(value, fields, timeout).message()
        assert same_id(answer["id"], id), answer
        return answer


class WebServer(Process, Speaker):
    """One server process; see the module's text."""

    def __init__(self, argv, env, cwd, host, port, token, context=None, fds=()):
        Process.__init__(self)
        Speaker.__init__(self, self)
        self.modern = Speaker(self, {})
        self.host, self.port, self.token = host, port, token
        self.context = context      # with TLS: how clients verify it
        self.url = f"http{'s' if context else ''}://{f'[{host}]' if ':' in host else host}:{port}/mcp"
        self.patience = 10.0
        self._quiet = env.get("SANDSTORM_LOG_LEVEL", "").upper() in ("WARNING", "ERROR", "CRITICAL")
        self._ids = 0
        self._kept = None
        self._opened = []
        self.process = subprocess.Popen(argv, env=self.marked(env), cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=fds)
        self.read_log = threading.Event()
        self.read_log.set()
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    def _read_stderr(self):
        while chunk := os.read(self.process.stderr.fileno(), 4096):
            self._errors += chunk
            self.read_log.wait()

    def _state(self):
        return f"exit code {self.process.poll()}, stderr {self.stderr_text()[-800:]!r}"

    def wait_ready(self, timeout=10):
        """Until it serves, as the log says or, where that line is left out, the port: True; False when it has ended."""
        deadline = time.monotonic() + timeout * busy()
        while "serving" not in self.stderr_text() and not (self._quiet and self._listens()):
            if not self.alive():
                self._reader.join(5)
                return False
            assert time.monotonic() < deadline, f"not ready in time; {self._state()}"
            time.sleep(0.005)
        return True

    def _listens(self):
        with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), 1):
            return self.alive()
        return False

    # -- requests -------------------------------------------------------------------------------------------------

    def next_id(self):
        self._ids += 1
        return self._ids

    def connect(self, host=None):
        connection = Connection(host or self.host, self.port, self.patience, self.context)
        self._opened.append(connection)
        return connection

    def close_connections(self):
        """The client goes away."""
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._kept = None

    def fields(self, changes=None):
        """The usual fields of a POST, changed; names are compared as they are written here."""
        fields = {"Host": f"{self.host}:{self.port}", "Authorization": f"Bearer {self.token}",
                  "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        fields.update(changes or {})
        return {name: value for name, value in fields.items() if value is not None}

    def bytes_of(self, value, changes=None, target="/mcp"):
        """The whole POST of a JSON value or of bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return request("POST", target, self.fields(changes), body)

    def exchange(self, method, target, fields=None, body=None, version="HTTP/1.1"):
        fields = {"Host": f"{self.host}:{self.port}", **(fields or {})}
        with self.connect() as connection:
            connection.send(request(method, target, fields, body, version))
            return connection.answer(method if version == "HTTP/1.1" else version)

    def start(self, value, changes=None, target="/mcp"):
        connection = self.connect()
        connection.send(self.bytes_of(value, changes, target))
        return connection

    def post(self, value, changes=None, target="/mcp", timeout=None):
        with self.start(value, changes, target) as connection:
            return connection.answer(timeout=timeout)

    def rpc(self, method, params=None, era="legacy", id=1, fields=None, **meta):
        if era == "legacy":
            return self.post(message(method, params, id), fields)
        value = modern_message(method, params, id, **meta)
        return self.post(value, {**modern_fields(value), **(fields or {})})

    def start_modern(self, method, params=None, id=1, fields=None, **meta):
        value = modern_message(method, params, id, **meta)
        return self.start(value, {**modern_fields(value), **(fields or {})})

    def kept_exchange(self, value, changes, timeout=None):
        if self._kept is None or self._kept.ended:
            self._kept = self.connect()
        self._kept.send(self.bytes_of(value, changes))
        answer = self._kept.answer(timeout=timeout)
        if answer.closes:
            self._kept.close()
            self._kept = None
        return answer

    # -- the process ----------------------------------------------------------------------------------------------

    def terminate(self, timeout=10):
        """TERM, and the exit code."""
        self.process.terminate()
        return self.wait_exit(timeout)

    GOODBYE = "TERM"

    def _let_go(self):
        self.close_connections()

    def _ask_to_end(self):
        self.process.terminate()

    def _read_all(self):
        self._reader.join(5)

    def _complaints(self):
        complaints = []
        if printed := self.process.stdout.read():
            complaints.append(f"stdout is not empty: {printed[:300]!r}")
        if self.token and self.token in self.stderr_text():
            complaints.append("the log holds the token")
        return complaints


class WebStarter:
    """Starts servers on free ports and remembers them; the fixture `web` of conftest.py tells of the parameters."""

    def __init__(self, binary, workspace, cwd):
        self._binary, self._workspace, self._cwd = binary, workspace, cwd
        self.started = []

    def start(self, args=(), env=None, root=..., host="127.0.0.1", address=None, token=TOKEN, wrap=(), tls=None, fds=()):
        argv = [*wrap, self._binary, "serve", *map(str, args)]
        context = None
        if tls:
            context = ssl.create_default_context(cafile=tls / "ca.pem")
            env = {"SANDSTORM_TLS_CERT": tls / "server.pem", "SANDSTORM_TLS_KEY": tls / "server.key", **(env or {})}
        root = self._workspace if root is ... else root
        for _ in range(5):
            port = free_port()
            changes = {"SANDSTORM_MCP_HOST": address or host, "SANDSTORM_MCP_PORT": str(port),
                       "SANDSTORM_MCP_TOKEN": token, **(env or {})}
            server = WebServer(argv, clean_environment(root, changes), self._cwd, host, port, token, context, fds)
            self.started.append(server)
            if server.wait_ready():
                return server
            assert "SANDSTORM_MCP_PORT" in server.stderr_text(), f"not started: {server.stderr_text()}"
            self.started.remove(server)     # somebody else was faster
        raise AssertionError("no port was free")

    __call__ = start
