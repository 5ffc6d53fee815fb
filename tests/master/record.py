"""What a master has seen: every connection, every request, and what no request should have had.

    m.requests(method, path)     [Seen], oldest first; both are optional, path is a regular expression on the raw target
    m.connections()              [Connection]
    m.violations()               sentences: what requests did against the rules that hold for all of them
"""

import json
import re
import threading
import time

RULES = [       # what every request has, by the client's own contract
    ("a Host", lambda r: len(r.all("host")) == 1),
    ("User-Agent sandstorm-mcp/<version>", lambda r: re.fullmatch(r"sandstorm-mcp/\S+", r.get("user-agent") or "")),
    ("Accept: application/json", lambda r: r.get("accept") == "application/json"),
    ("Accept-Encoding: identity", lambda r: r.get("accept-encoding") == "identity"),
    ("no Expect", lambda r: r.get("expect") is None),
    ("no Cookie", lambda r: r.get("cookie") is None),
    ("a type for its body", lambda r: not r.body or r.get("content-type") == "application/json"),
    ("its sandbox token on exec, eval and ping only",
     lambda r: not r.get("x-sandstorm-sandbox-token") or re.search("^(?!/v1/)|/(exec|eval|ping)$", r.path)),
    ("no token in its target", lambda r: "token" not in r.target.lower()),
]


class Connection:
    """One TCP connection; times are those of time.monotonic()."""

    def __init__(self, number):
        self.number = number
        self.opened = time.monotonic()
        self.closed = None          # by whichever side was first
        self.tls = self.suite = self.alpn = self.problem = None
        self.resumed = False
        self.hello = {}             # see wire.client_hello
        self.requests = 0

    def end(self):
        if self.closed is None:
            self.closed = time.monotonic()


class Seen:
    """One request and when its reply had been written."""

    def __init__(self, request, connection):
        self.connection = connection
        self.method, self.target, self.path = request.method, request.target, request.path
        self.fields, self.body = request.fields, request.body
        self.get, self.all = request.get, request.all
        self.at = time.monotonic()
        self.done = self.status = self.fault = None

    def json(self):
        return json.loads(self.body)


class Record:
    def __init__(self):
        self._lock = threading.Lock()
        self._requests, self._connections, self._violations = [], [], []

    def connection(self):
        with self._lock:
            self._connections.append(Connection(len(self._connections) + 1))
            return self._connections[-1]

    def request(self, request, connection):
        seen = Seen(request, connection)
        with self._lock:
            connection.requests += 1
            self._requests.append(seen)
            for what, holds in RULES:
                if not holds(request):
                    self._violations.append(f"{request.method} {request.target} lacks {what}: {request.fields}")
        return seen

    def requests(self, method=None, path=""):
        with self._lock:
            return [r for r in self._requests if method in (None, r.method) and re.search(path, r.target)]

    def connections(self):
        with self._lock:
            return list(self._connections)

    def violations(self):
        with self._lock:
            return list(self._violations)

    def forget(self):
        """Requests only: connections keep their numbers, violations are looked at in the end."""
        with self._lock:
            self._requests.clear()
