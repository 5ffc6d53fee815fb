"""The test master itself, driven with Python's own HTTP client and TLS: what it records, shows and breaks is real.

The tests of the sandbox tools believe it; so it is looked at here with other eyes than those of the program under test.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

import pytest

from master import faults
from master.settings import VARIANTS
from master.server import TOKEN
from mcpwire import wait_until
from process import busy, describe

USUAL = {"User-Agent": "sandstorm-mcp/test", "Accept": "application/json"}


def trusting(ca, version=None):
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT     # newer Pythons ask for extensions that masters do without
    if version:
        context.minimum_version = context.maximum_version = version
    return context


class Connection(http.client.HTTPSConnection):
    """To a master's address, verified by a name that nobody has to resolve."""

    def __init__(self, master, name, context):
        super().__init__(name, master.port, context=context)
        self.master, self.name, self.tls = master, name, context

    def connect(self):
        self.sock = self.tls.wrap_socket(connected(self.master), server_hostname=self.name)


def connected(master):
    return socket.create_connection((master.host, master.port), 10)


class Client:
    """A kept connection to a master; ask() gives (status, fields, value of the JSON body or bytes)."""

    def __init__(self, master, host=None, context=None, **tls):
        self.token = master.token
        self.http = Connection(master, host or master.host, context or trusting(master.ca, **tls))

    def ask(self, method, target, value=None, **fields):
        given = {**USUAL, "Authorization": f"Bearer {self.token}"}
        given.update({name.replace("_", "-"): value for name, value in fields.items()})
        body = None if value is None else json.dumps(value)
        if body:
            given["Content-Type"] = "application/json"
        self.http.request(method, target, body, given)
        answer = self.http.getresponse()
        raw = answer.read()
        return answer.status, answer.headers, json.loads(raw) if raw[:1] in (b"{", b"[") else raw


@pytest.fixture
def client(master):
    return Client(master())


def test_a_sandbox_lives_runs_commands_and_goes(master):
    m = master(start_after=0.5, idle_after=2)
    c = Client(m)
    assert c.ask("GET", "/v1/templates")[2] == [{"name": "python"}, {"name": "sh"}]
    status, _, (made,) = c.ask("POST", "/v1/sandboxes", {"template": "sh"})
    assert (status, made["state"], len(made["token"])) == (201, "starting", 32)
    at = f"/v1/sandboxes/{made['id']}"
    wait_until(lambda: c.ask("GET", at)[2]["state"] == "running", "it runs")
    assert "token" not in c.ask("GET", at)[2]
    proof = {"x_sandstorm_sandbox_token": made["token"]}
    done = c.ask("POST", at + "/exec", {"args": ["sh", "-c", "echo $HOME; echo err >&2; kill -9 $$"]}, **proof)[2]
    assert made["id"] in done["stdout"] and done["stderr"] == "err\n" and done["exit_code"] == -9
    assert c.ask("POST", at + "/eval", {"code": "print(6 * 7)"}, **proof)[2]["stdout"] == "42\n"
    started = time.monotonic()
    assert c.ask("POST", at + "/exec", {"args": ["sleep", "60"], "timeout_secs": 1}, **proof)[2]["exit_code"] == -9
    assert 1 <= time.monotonic() - started < 5 * busy()
    wait_until(lambda: c.ask("GET", at)[2]["state"] == "idle", "it falls idle")
    assert c.ask("POST", at + "/touch")[2]["state"] == "running"
    assert [c.ask("POST", at + "/branch", {"tag": "t"})[0] for _ in range(2)] == [201, 409]
    assert c.ask("DELETE", at)[0] == 204 and c.ask("DELETE", at)[0] == 404
    assert c.ask("DELETE", "/v1/snapshots/t")[0] == 204 and c.ask("GET", "/v1/sandboxes")[2] == []


def test_tokens_are_asked_for(client):
    """Both, where they are due; the certificate and the health are open."""
    (one,), (two,) = (client.ask("POST", "/v1/sandboxes", {"template": "sh"})[2] for _ in range(2))
    for route in ("exec", "eval", "ping"):
        at = f"/v1/sandboxes/{one['id']}/{route}"
        for fields in ({}, {"x_sandstorm_sandbox_token": two["token"]}):
            status, _, told = client.ask("POST", at, {"args": ["true"], "code": "1"}, **fields)
            assert status == 401 and "sandbox token" in told["error"]
        assert client.ask("POST", at, {"args": ["true"], "code": "1"}, x_sandstorm_sandbox_token=one["token"])[0] == 200
    client.token = "wrong"
    assert client.ask("GET", "/v1/sandboxes")[0] == 401
    assert client.ask("GET", "/healthz")[0] == 200
    assert b"BEGIN CERTIFICATE" in client.ask("GET", "/ca.pem")[2]


def test_it_writes_down_what_it_sees(master):
    m = master()
    c = Client(m, host="localhost", version=ssl.TLSVersion.TLSv1_2)
    c.ask("POST", "/v1/sandboxes/a%2Fb/ping?x=1")
    c.ask("GET", "/v1/sandboxes", x_sandstorm_sandbox_token="s")
    first, second = m.requests()
    assert (first.method, first.target) == ("POST", "/v1/sandboxes/a%2Fb/ping?x=1")
    assert first.get("host") == f"localhost:{m.port}"
    assert first.connection is second.connection and first.connection.requests == 2
    assert (first.connection.tls, first.connection.hello["sni"]) == ("TLSv1.2", "localhost")
    assert "GCM" in first.connection.suite or "CHACHA" in first.connection.suite
    assert 0xC02B in first.connection.hello["suites"] and first.connection.hello["alpn"] == []
    assert [v for v in m.violations() if "sandbox token" in v and v.startswith("GET /v1/sandboxes lacks")]
    assert [v for v in m.violations() if "Accept-Encoding" not in v and "sandbox token" not in v] == []
    c.http.close()
    wait_until(lambda: first.connection.closed, "the end of the connection is seen")


def test_a_client_that_goes_away_is_noticed_while_its_command_runs(master):
    m = master()
    c = Client(m)
    (made,) = c.ask("POST", "/v1/sandboxes", {"template": "sh"})[2]
    c.http.request("POST", f"/v1/sandboxes/{made['id']}/exec", json.dumps({"args": ["sleep", "5"]}),
                   {"Authorization": f"Bearer {m.token}", "Content-Type": "application/json",
                    "x-sandstorm-sandbox-token": made["token"]})
    wait_until(lambda: m.requests("POST", "/exec"), "the request is there")
    connection = m.connections()[-1]
    assert connection.closed is None
    left = time.monotonic()
    c.http.close()
    wait_until(lambda: connection.closed, "noticed")
    assert connection.closed - left < 0.5 * busy()


@pytest.mark.parametrize("leaf, host, cause", [
    ("full", "127.0.0.1", None), ("full", "localhost", None), ("rsa", "127.0.0.1", None), ("chain", "localhost", None),
    ("ip", "127.0.0.1", None), ("ip", "localhost", "mismatch"), ("dns", "localhost", None),
    ("dns", "127.0.0.1", "mismatch"), ("dns-ip", "127.0.0.1", "mismatch"), ("otherip", "127.0.0.1", "mismatch"),
    ("cn-ip", "127.0.0.1", "mismatch"),
    ("expired", "127.0.0.1", "expired"), ("future", "localhost", "not yet valid"), ("crit", "localhost", "critical"),
    ("long", "127.0.0.1", None),
])
def test_each_certificate_is_what_it_is_called(master, leaf, host, cause):
    """OpenSSL agrees with the matrix."""
    m = master(leaf=leaf)
    if cause is None:
        assert Client(m, host=host).ask("GET", "/healthz")[0] == 200
    else:
        with pytest.raises(ssl.SSLCertVerificationError, match=cause):
            Client(m, host=host).ask("GET", "/healthz")
        assert m.requests() == []


@pytest.mark.parametrize("speaks, version", [("1.3", ssl.TLSVersion.TLSv1_2), ("1.1", ssl.TLSVersion.TLSv1_2),
                                             ("1.1", ssl.TLSVersion.TLSv1_3), ("plain", None)])
def test_some_masters_share_no_language_with_the_client(master, speaks, version):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Client(master(speaks=speaks), version=version).ask("GET", "/healthz")


def test_the_suites_are_restricted_where_asked(master):
    m = master(speaks="cbc")
    context = trusting(m.ca)
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Client(m, context=context).ask("GET", "/healthz")


def test_a_session_is_resumed(master):
    m = master()
    context = trusting(m.ca, ssl.TLSVersion.TLSv1_2)
    with context.wrap_socket(connected(m), server_hostname=m.host) as first:
        session = first.session
    with context.wrap_socket(connected(m), server_hostname=m.host, session=session):
        pass
    wait_until(lambda: len(m.connections()) == 2 and all(c.closed for c in m.connections()), "both were seen")
    assert [c.resumed for c in m.connections()] == [False, True]


# -- variants and faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", VARIANTS["framing"])
def test_each_framing_carries_the_same_value(master, framing):
    m = master(framing=framing, case="upper")
    _, fields, value = Client(m).ask("GET", "/v1/templates")
    assert value == [{"name": "python"}, {"name": "sh"}] and "CONTENT-TYPE" in fields.keys()
    assert (fields["transfer-encoding"] == "chunked") == framing.startswith("chunked")
    end = {"close": "closed", "close rudely": "EOF"}.get(framing)
    assert (end or "open") in raw_exchange(m, ends=bool(end))[1]


def raw_exchange(m, target="/v1/templates", ends=False):
    """(all bytes of one reply until the connection ends, or is quiet for a while after all was sent, how it ended)."""
    context = trusting(m.ca, ssl.TLSVersion.TLSv1_2)
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)     # an end without goodbye is seen by every Python
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with context.wrap_socket(connected(m), server_hostname=m.host, suppress_ragged_eofs=False) as s:
        s.settimeout(10 if ends else 0.2)
        s.sendall(request)
        got = b""
        while True:
            sent = m.requests()[-1:] and m.requests()[-1].done
            try:
                part = s.recv(65536)
            except TimeoutError:
                if sent:
                    return got, "open"
                continue
            except (OSError, ssl.SSLError) as end:
                return got, f"{type(end).__name__} {end}"
            if not part:
                return got, "closed"
            got += part


def test_a_reset_is_one(master):
    """Seen below the TLS engine, which calls it an end of file."""
    m = master()
    m.arm("reset")
    with trusting(m.ca, ssl.TLSVersion.TLSv1_2).wrap_socket(connected(m), server_hostname=m.host) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        with socket.socket(fileno=os.dup(s.fileno())) as below, pytest.raises(ConnectionResetError):
            below.settimeout(5)
            below.recv(1)


HOW_THEY_END = {"close": "closed", "close_body": "closed", "bare": "closed", "length": "closed",
                "reset": "EOF", "alert": "ALERT", "cut_head": "EOF", "cut_body": "EOF"}
ARGUMENTS = {"redirect": {"to": "https://127.0.0.1:1/"}, "status": {"status": 429, "fields": [["Retry-After", "7"]]},
             "dribble": {"seconds": 0.0001}, "delay": {"seconds": 0.1}, "stall": {"seconds": 0.1},
             "large": {"size": 100_000}}
MARKS = {       # what each fault leaves in the reply
    "wide_head": b"wwwww", "html": b"<html>", "half_json": b"exit_co", "shape": b"\r\n\r\n42", "deep": b"[" * 1000,
    "twice": b'"a","stdout":"b"', "digits": b"7" * 400, "raw_text": b"\\u0000", "large": b"x" * 100_000,
    "crowd": b"sb-0003e7", "packed": b"gzip", "redirect": b"location: https://127.0.0.1:1/",
    "status": b"retry-after: 7", "echo": TOKEN.encode(),
    "length": b"content-length: 43", "length_text": b"content-length: -5", "length_twice": b"content-length: 34",
    "both_framings": b"transfer-encoding", "body_of_204": b"smuggled", "interim": b"103 Early", "bare": b"SSH-2.0",
    "empty": b"content-length: 0", "dribble": b"python", "delay": b"python", "stall": b"python",
    "idle_close": b"python"}


@pytest.mark.parametrize("fault", [*faults.REPLY, *faults.SCRIPT])
def test_each_fault_really_happens_and_only_once(master, fault):
    m = master()
    m.arm(fault, "GET", "templates", **ARGUMENTS.get(fault, {}))
    got, end = raw_exchange(m, ends=fault in HOW_THEY_END)
    assert HOW_THEY_END.get(fault, "open") in end, (got[:200], end)
    assert MARKS.get(fault, b"") in got, got[:400]
    if fault in ("close", "reset", "alert"):
        assert got == b""
    assert len(got) == {"cut_head": 20}.get(fault, len(got))
    assert m.requests()[0].fault == fault
    assert len(Client(m).ask("GET", "/v1/templates")[2]) == 2 and m.requests()[1].fault is None


def test_a_kept_connection_ends_after_a_second_of_silence(master):
    m = master()
    m.arm("idle_close", "GET")
    c = Client(m)
    c.ask("GET", "/healthz")
    opened = m.connections()[0]
    wait_until(lambda: opened.closed, "it ends")
    assert 0.9 < opened.closed - m.requests()[0].done < 3 * busy()


def test_nobody_listens(master):
    """No accept: the connection is never made. No handshake: it is made, and then nothing."""
    m = master()
    m.deaf()
    with pytest.raises(TimeoutError):
        socket.create_connection((m.host, m.port), 0.3)
    m.hear()
    m.mute = True
    with socket.create_connection((m.host, m.port), 0.3) as s, pytest.raises(TimeoutError):
        trusting(m.ca).wrap_socket(s, server_hostname="127.0.0.1")
    m.mute = False
    assert Client(m).ask("GET", "/healthz")[0] == 200


def test_as_a_program_with_its_control_channel(tmp_path):
    """For people and for other languages: it prints where it is, and takes orders over HTTP."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with subprocess.Popen([sys.executable, os.path.join(here, "master"), "--state", "status", "--folder", tmp_path],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            env = dict(process.stdout.readline().strip().split("=", 1) for _ in range(3))
            control = process.stdout.readline().split()[1]
            assert env["SANDSTORM_URL"] == f"https://127.0.0.1:{port}" and env["SANDSTORM_TOKEN"] == TOKEN

            def order(method, path, value=None):
                c = http.client.HTTPConnection(control.removeprefix("http://"), timeout=10)
                c.request(method, path, json.dumps(value or {}))
                answer = c.getresponse()
                return answer.status, json.loads(answer.read())

            assert order("GET", "/settings")[1]["state"] == "status"
            assert order("POST", "/settings", {"auth": 403}) == (200, {"ok": True})
            assert order("POST", "/settings", {"auth": 402})[0] == 400
            assert order("POST", "/faults", {"fault": "close", "method": "GET"})[0] == 200
            c = http.client.HTTPSConnection("127.0.0.1", port, context=trusting(env["SANDSTORM_CA"]), timeout=10)
            c.request("GET", "/v1/sandboxes")
            with pytest.raises(http.client.RemoteDisconnected):
                c.getresponse()
            c.request("GET", "/v1/sandboxes")
            assert c.getresponse().status == 403
            seen = order("GET", "/record")[1]
            assert [(r["status"], r["fault"]) for r in seen["requests"]] == [(403, "close"), (403, None)]
            assert len(seen["connections"]) == 2 and seen["violations"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0, describe(process.pid)
