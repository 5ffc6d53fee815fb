"""serve with SANDSTORM_TLS_CERT and SANDSTORM_TLS_KEY: curl, OpenSSL, Python and the official client against it.

Issue 7, point 4; decisions 12, 49, 52, 60.
"""

import contextlib
import json
import os
import random
import re
import signal
import socket
import ssl
import statistics
import subprocess
import threading
import time

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from httpwire import Connection, request
from mcpwire import LEGACY, MODERN, first_text, tool_params, wait_until
from process import Pings, busy, pass_on
from test_ca import DATA
from webserver import message

SUITES = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
PLAIN_TEXT = "This port speaks https: the URL must begin with https://"


@pytest.fixture
def box(web, lan):
    """One server with the defaults, that speaks TLS."""
    return web(tls=lan)


@pytest.fixture
def place(tmp_path):
    """A directory with server.pem, server.key and ca.pem out of tests/unit/data: place("rsa", "leaf-rsa.key", "ca-rsa")."""
    def make(certificate="full", key="leaf.key", ca="ca", name="tls"):
        where = tmp_path / name
        where.mkdir(exist_ok=True)
        (where / "server.pem").write_bytes((DATA / f"{certificate}.pem").read_bytes())
        (where / "server.key").write_bytes((DATA / key).read_bytes())
        (where / "ca.pem").write_bytes((DATA / f"{ca}.pem").read_bytes())
        return where
    return make


def curl(box, lan, path, *more):
    done = subprocess.run(["curl", "-sS", "--cacert", lan / "ca.pem", *more, box.url.removesuffix("/mcp") + path],
                          capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def s_client(box, *more, given=b""):
    """What openssl s_client prints; given: its input."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"{box.host}:{box.port}", *more], input=given,
                          capture_output=True, timeout=20, check=False)
    return done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


def ping():
    return message("ping")


def run(command):
    return message("tools/call", tool_params("terminal_exec", {"command": command}))


def serial(box):
    """Which certificate does a new connection show?"""
    with Connection(box.host, box.port, 10, box.context) as c:
        return c.socket.getpeercert()["serialNumber"]


# -- clients -------------------------------------------------------------------------------------


def test_curl_is_served(box, lan):
    """Issue 7, shown by."""
    code, out, err = curl(box, lan, "/health")
    assert code == 0 and json.loads(out)["ok"] is True, err
    code, out, err = curl(box, lan, "/mcp", "-H", f"Authorization: Bearer {box.token}", "-H",
                          "Content-Type: application/json", "-H", "Accept: application/json", "-d", json.dumps(ping()))
    assert code == 0 and json.loads(out)["result"] == {}, err


def test_a_client_that_does_not_know_the_ca_goes_away_and_the_log_says_why(box):
    """What an administrator sees first when the CA was forgotten on a client."""
    done = subprocess.run(["curl", "-sS", box.url], capture_output=True, timeout=20, check=False)
    assert done.returncode == 60
    wait_until(lambda: "does not trust the certificate's CA" in box.stderr_text(), "the log tells")


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_python_client_works_with_the_private_ca(box, mode, workspace):
    """Issue 7, shown by: list, write, read and run, as over HTTP."""
    async def main():
        with anyio.fail_after(20):
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {box.token}"}, trust_env=False, timeout=30,
                                          verify=box.context) as http:
                async with Client(streamable_http_client(box.url, http_client=http), mode=mode) as client:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    await client.call_tool("file_write", {"path": "f", "content": "over TLS"})
                    ran = await client.call_tool("terminal_exec", {"command": "cat f"})
                    return client.protocol_version, names, ran.content[0].text
    version, names, text = anyio.run(main)
    assert version == (LEGACY[0] if mode == "legacy" else MODERN)
    assert "file_read" in names and "over TLS" in text
    assert (workspace / "f").read_text() == "over TLS"


@pytest.mark.parametrize("certificate, key, ca", [("full", "leaf.key", "ca"), ("rsa", "leaf-rsa.key", "ca-rsa"),
                                                  ("p384", "leaf.key", "ca-p384"), ("chain", "leaf.key", "ca")])
def test_each_kind_of_certificate_serves(web, place, certificate, key, ca):
    """RSA and EC keys, a CA on another curve, a chain over an intermediate CA."""
    w = web(tls=place(certificate, key, ca))
    assert w.result("ping") == {} and w.modern.result("tools/list")["tools"]


@pytest.mark.parametrize("name", ["rsa2048", "rsa4096-pkcs1", "p256-sec1", "p384-sec1"])
def test_each_form_of_key_serves(web, place, name):
    """PKCS #1, SEC 1 with parameters before it, key and certificate in one file."""
    w = web(tls=place(f"keys/{name}", f"keys/{name}.pem", f"keys/{name}"))
    assert w.result("ping") == {}


# -- the protocol --------------------------------------------------------------------------------


def test_tls_1_2_with_x25519_and_the_offered_protocol(box, lan):
    """Browsers offer h2 and http/1.1 by name and go away without an answer to that."""
    out = s_client(box, "-CAfile", lan / "ca.pem", "-alpn", "h2,http/1.1")
    assert "Verification: OK" in out and "Protocol  : TLSv1.2" in out, out
    assert "Server Temp Key: X25519" in out and "ALPN protocol: http/1.1" in out, out
    assert "Secure Renegotiation IS supported" in out and "Compression: NONE" in out, out
    assert "No client certificate CA names sent" in out, out


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("kind, certificate, key", [("ECDSA", "full", "leaf.key"), ("RSA", "rsa", "leaf-rsa.key")])
def test_the_suites_are_ecdhe_with_aead(web, place, kind, certificate, key, suite):
    """Forward secrecy and authenticated encryption only."""
    w = web(tls=place(certificate, key, "ca" if kind == "ECDSA" else "ca-rsa"))
    out = s_client(w, "-cipher", f"ECDHE-{kind}-{suite}")
    assert f"Cipher is ECDHE-{kind}-{suite}" in out, out


@pytest.mark.parametrize("wish", [["-cipher", "ECDHE-ECDSA-AES128-SHA256"], ["-cipher", "AES128-GCM-SHA256"],
                                  ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1_3"]])
def test_all_else_is_refused_with_an_alert(box, wish):
    """CBC, RSA key exchange, older and newer protocols: the client is told, and so is the log."""
    out = s_client(box, *wish)
    assert re.search(r"alert (handshake failure|protocol version)|wrong version number", out), out
    wait_until(lambda: "no TLS connection" in box.stderr_text(), "the log tells")
    assert box.result("ping") == {}


@pytest.mark.parametrize("curves, name", [("P-256", "ECDH, prime256v1"), ("P-384", "ECDH, secp384r1"), ("X25519", "X25519"),
                                          ("P-521:P-384:P-256:X25519", "X25519")])
def test_clients_with_few_curves_are_served(web, place, curves, name):
    """X25519 is preferred whatever the client's order."""
    w = web(tls=place("rsa", "leaf-rsa.key", "ca-rsa"))
    assert f"Server Temp Key: {name}" in s_client(w, "-curves", curves)


def test_renegotiation_is_refused_and_the_server_lives(box):
    """A client could have the server sign for it without end."""
    out = s_client(box, given=b"R\n")
    assert "no renegotiation" in out.lower(), out
    assert box.result("ping") == {}


def test_another_name_in_sni_makes_no_difference(box, lan):
    """One certificate for all names."""
    out = s_client(box, "-CAfile", lan / "ca.pem", "-servername", "elsewhere.example")
    assert "Verification: OK" in out and "subject=CN = localhost" in out, out


def test_clients_that_come_back_make_a_short_handshake(box):
    """Session resumption by a cache; a reread certificate ends it."""
    context = ssl.create_default_context(cafile=None)
    context.load_verify_locations(cadata="".join(ssl.DER_cert_to_PEM_cert(d) for d in box.context.get_ca_certs(True)))

    def connect(session=None):
        plain = socket.create_connection((box.host, box.port), 10)
        with context.wrap_socket(plain, server_hostname=box.host, session=session) as s:
            return s.session_reused, s.session
    reused, session = connect()
    assert not reused
    reused, session = connect(session)
    assert reused
    box.signal(signal.SIGHUP)
    wait_until(lambda: box.stderr_text().count("certificate in use") == 2, "the certificate is reread")
    assert not connect(session)[0]


# -- plain HTTP, and what is none ----------------------------------------------------------------


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\nHost: box\r\n\r\n", b"POST /mcp HTTP/1.0\r\nContent-Length: 9\r\n\r\nx",
                                  b"OPTIONS * HTTP/1.1\r\nHost: box\r\n\r\n"])
def test_plain_http_is_told_to_speak_https(box, text):
    """Typed http:// instead of https://."""
    with Connection(box.host, box.port) as c:
        c.send(text)
        answer = c.answer()
        assert (answer.status, answer.json()["error"]) == (400, PLAIN_TEXT)
        assert c.closed()
    assert box.result("ping") == {}


def test_curl_shows_the_sentence(box):
    """The same with a real client."""
    done = subprocess.run(["curl", "-sS", box.url.replace("https", "http")], capture_output=True, timeout=20, check=True)
    assert PLAIN_TEXT in done.stdout.decode()


@pytest.mark.parametrize("text", [b"\0" * 100, b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x80\x2e\x01\x03\x01" + b"y" * 50,
                                  b"\x15\x03\x03\x00\x02\x02\x28", b'{"jsonrpc":"2.0"}\n', b"\x16\x03\x01\x00\x00" * 9])
def test_bytes_that_are_neither_end_the_connection(box, text):
    """Without an answer in clear text."""
    with Connection(box.host, box.port) as c:
        c.send(text)
        with contextlib.suppress(OSError):
            c.half_close()
            while data := c.socket.recv(4096):
                assert data[0] == 0x15, data     # an alert is fine
    assert box.result("ping") == {}


def client_hello():
    """The first record of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("seed", range(3))
def test_broken_handshakes_leave_nothing(box, seed):
    """A hundred ClientHellos with changed, missing and doubled bytes."""
    chance, hello, before = random.Random(seed), client_hello(), box.fd_count()
    for _ in range(100):
        text = bytearray(hello)
        for _ in range(chance.randrange(4)):
            text[chance.randrange(len(text))] = chance.randrange(256)
        at = chance.randrange(len(text))
        text = chance.choice([text, text[:at], text[:at] + text, text + text])
        with Connection(box.host, box.port) as c:
            with contextlib.suppress(OSError):
                c.send(bytes(text))
    wait_until(lambda: box.fd_count() <= before, "all connections are gone")
    assert box.result("ping") == {} and box.rss_kib() < 2048


# -- requests and answers ------------------------------------------------------------------------


def test_large_texts_go_both_ways_unchanged(box, workspace):
    """16 KiB records, an upload buffer, an answer far over a record."""
    text = "".join(random.Random(7).choices("abcdefghij \n\u20ac", k=600_000))
    assert "600000" in box.text("file_write", path="big", content=text) or (workspace / "big").read_text() == text
    assert (workspace / "big").read_text() == text
    assert box.text("file_read", path="big") == text


def test_a_reader_that_sleeps_gets_all_and_holds_up_nobody(web, lan, workspace):
    """What the socket does not take is sent when it does, to the last byte."""
    w = web(tls=lan, env={"SANDSTORM_RATE_LIMIT": "0"})
    text = "".join(random.Random(8).choices("0123456789", k=1_000_000))
    (workspace / "big").write_text(text)
    call = message("tools/call", tool_params("file_read", {"path": "big"}))
    sleepers = [w.connect() for _ in range(8)]
    for c in sleepers:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        c.send(w.bytes_of(call))
    time.sleep(0.3)
    assert w.result("ping") == {}
    for c in sleepers:
        assert first_text(c.answer().message()["result"]) == text
        c.send(w.bytes_of(ping()))
        assert c.answer().message()["result"] == {}


def test_requests_in_one_record_are_answered_one_after_the_other(box):
    """H7."""
    with box.connect() as c:
        c.send(b"".join(box.bytes_of(message("ping", id=n)) for n in range(20)))
        assert [c.answer().message()["id"] for _ in range(20)] == list(range(20))


def test_a_request_in_tiny_records_is_served(box):
    """A byte a record."""
    with box.connect() as c:
        c.send_slowly(box.bytes_of(ping()), 1, 0)
        assert c.answer().message()["result"] == {}


def test_the_last_answer_is_followed_by_close_notify(box):
    """Without it nobody knows that it was whole; http/1.0 answers end with the connection."""
    with Connection(box.host, box.port, 10, box.context) as c:
        c.socket.suppress_ragged_eofs = False
        c.send(request("GET", "/health", {}, version="HTTP/1.0"))
        assert c.answer("HTTP/1.0").json()["ok"]
        assert c.closed()       # would raise SSLEOFError


@pytest.mark.parametrize("how, waiting", [("closed", False), ("closed", True), ("close_notify alone", False)],
                         ids=["closed", "closed with a further request behind it", "close_notify alone"])
def test_a_client_that_goes_away_cancels_in_the_modern_era(box, how, waiting):
    """Decision 4; asyncio says close_notify first and waits for ours. Behind a request that waits it is not seen: nothing
    more is read then."""
    value = box.start_modern("tools/call", tool_params("terminal_exec", {"command": "sleep 60"}))
    box.wait_descendants(1)
    if waiting:
        value.send(box.bytes_of(ping()))
        time.sleep(0.1)
    if how == "closed":
        value.close()
    else:
        value.socket.settimeout(5)
        with contextlib.suppress(OSError):
            value.socket.unwrap()
    box.wait_no_descendants(5)
    assert box.result("ping") == {}


def test_sse_goes_through(box):
    """Progress and the end of a stream."""
    stream = box.start_modern("tools/call", tool_params("terminal_exec", {"command": "echo one; sleep 1.8; echo two"}),
                              progressToken="t").stream()
    kinds = [e.value.get("method") for e in stream.all() if e.kind == "message"]
    assert kinds[-1] is None and "notifications/progress" in kinds, kinds


# -- what it says of itself ----------------------------------------------------------------------


def test_urls_say_https(box):
    """Decision 7: metadata and challenges, and what a proxy says counts more."""
    answer = box.exchange("POST", "/mcp", {"Content-Type": "application/json"}, b"{}")
    assert f'"https://{box.host}:{box.port}/.well-known/' in answer["www-authenticate"]
    answer = box.exchange("GET", "/.well-known/oauth-protected-resource/mcp")
    assert answer.json()["resource"] == f"https://{box.host}:{box.port}/mcp"
    answer = box.exchange("GET", "/.well-known/oauth-protected-resource/mcp",
                          {"Host": "mcp.example.com", "X-Forwarded-Proto": "http"})
    assert answer.json()["resource"] == "http://mcp.example.com/mcp"
    answer = box.exchange("GET", "/.well-known/oauth-protected-resource/mcp",
                          {"Host": "mcp.example.com", "X-Forwarded-Proto": "javascript"})
    assert answer.json()["resource"] == "https://mcp.example.com/mcp"


def test_the_log_says_https_and_does_not_warn_of_clear_text(web, lan):
    """Decision 12."""
    w = web(tls=lan, address="0.0.0.0")
    assert f'"https://0.0.0.0:{w.port}/mcp"' in w.stderr_text()
    assert "without TLS" not in w.stderr_text() and '"warn"' not in w.stderr_text()


def test_health_knows_its_own_server_by_its_certificate(box, lan, cli, place, tmp_path):
    """Decision 60: whatever its name; another key is not taken."""
    env = {"SANDSTORM_MCP_PORT": box.port, "SANDSTORM_TLS_CERT": lan / "server.pem"}
    done = cli("health", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert cli("health", f"https://localhost:{box.port}/health", env=env).returncode == 0
    for other in (place(), place("rsa", "leaf-rsa.key")):
        done = cli("health", env={**env, "SANDSTORM_TLS_CERT": other / "server.pem"})
        assert done.returncode == 1 and "it has another key than SANDSTORM_TLS_CERT" in done.stderr
    done = cli("health", f"https://127.0.0.1:{box.port}/")
    assert done.returncode == 2 and "SANDSTORM_TLS_CERT" in done.stderr
    done = cli("health", env={**env, "SANDSTORM_TLS_CERT": tmp_path / "none"})
    assert done.returncode == 2 and "none: No such file" in done.stderr
    done = cli("health", f"http://127.0.0.1:{box.port}/health")
    assert done.returncode == 1 and "status 400" in done.stderr
    assert '"warn"' not in box.stderr_text()


def test_health_of_a_plain_server_when_tls_is_configured(remote, cli, lan):
    """The configuration was changed, the server not started anew."""
    done = cli("health", env={"SANDSTORM_MCP_PORT": remote.port, "SANDSTORM_TLS_CERT": lan / "server.pem"})
    assert done.returncode == 1 and "it does not speak TLS 1.2" in done.stderr


# -- configuration -------------------------------------------------------------------------------


def refused(cli, cert, key, **more):
    done = cli("serve", env={"SANDSTORM_MCP_TOKEN": "x" * 20, "SANDSTORM_TLS_CERT": cert, "SANDSTORM_TLS_KEY": key, **more})
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip().removeprefix("sandstorm-mcp: ")


@pytest.mark.parametrize("cert, key, sentence", [
    ("full.pem", None, "SANDSTORM_TLS_CERT is set and SANDSTORM_TLS_KEY is not: https needs both"),
    (None, "leaf.key", "SANDSTORM_TLS_KEY is set and SANDSTORM_TLS_CERT is not: https needs both"),
    ("none.pem", "leaf.key", "SANDSTORM_TLS_CERT {}/none.pem: No such file or directory"),
    ("full.pem", "none.key", "SANDSTORM_TLS_KEY {}/none.key: No such file or directory"),
    ("leaf.key", "leaf.key", "SANDSTORM_TLS_CERT {}/leaf.key: holds no certificate"),
    ("full.pem", "full.pem", "SANDSTORM_TLS_KEY {}/full.pem: holds no private key"),
    ("full.pem", "leaf-rsa.key", "SANDSTORM_TLS_KEY {0}/leaf-rsa.key: the key does not fit the certificate in "
                                 "SANDSTORM_TLS_CERT {0}/full.pem"),
    ("full.pem", "keys/encrypted.pem", "SANDSTORM_TLS_KEY {}/keys/encrypted.pem: is encrypted; a copy without passphrase "
                                       "comes from: openssl pkey -in OLD -out NEW"),
    ("full.pem", "keys/encrypted-old.pem", "SANDSTORM_TLS_KEY {}/keys/encrypted-old.pem: is encrypted"),
    ("full.pem", "keys/ed25519.pem", "SANDSTORM_TLS_KEY {}/keys/ed25519.pem: has a key that is neither RSA (2048 to 4096 "
                                     "bits) nor EC (P-256, P-384)"),
    ("ed25519.pem", "keys/ed25519.pem", "SANDSTORM_TLS_CERT {}/ed25519.pem: certificate 1 in it has a key that is neither"),
], ids=lambda value: str(value)[:30])
def test_what_cannot_serve_is_one_sentence_and_2(cli, cert, key, sentence):
    """Issue 7: clear errors."""
    said = refused(cli, cert and DATA / cert, key and DATA / key)
    assert said.startswith(sentence.format(DATA)), said


def test_a_chain_in_the_wrong_order_is_told(cli, tmp_path):
    """The CA's certificate first, or one that does not belong."""
    file = tmp_path / "server.pem"
    file.write_text((DATA / "ca.pem").read_text() + (DATA / "full.pem").read_text())
    assert "belongs to certificate 2 in it, which must come first" in refused(cli, file, DATA / "leaf.key")
    file.write_text((DATA / "full.pem").read_text() + (DATA / "ca-rsa.pem").read_text())
    assert "certificate 2 in it did not issue certificate 1" in refused(cli, file, DATA / "leaf.key")


def test_a_key_that_may_not_be_read_is_told(cli, tmp_path, lan):
    """By its errno."""
    assert "Is a directory" in refused(cli, tmp_path, lan / "server.key")


@pytest.mark.parametrize("certificate, text", [("expired", "has expired: clients will refuse it"),
                                               ("future", "not valid yet, or the clock of this machine is wrong")])
def test_a_certificate_out_of_date_is_a_warning(web, place, certificate, text):
    """A wrong clock is as likely."""
    w = web(tls=place(certificate))
    w.context.check_hostname = False
    w.context.verify_mode = ssl.CERT_NONE
    assert text in w.stderr_text()
    assert w.result("ping") == {}


def test_stdio_does_not_look_at_it(server):
    """serve --stdio with the same environment."""
    s = server(tools=None, args=["serve", "--stdio"], env={"SANDSTORM_TLS_CERT": "/none", "SANDSTORM_TLS_KEY": "/none"})
    assert s.result("ping") == {}


# -- reloading -----------------------------------------------------------------------------------


def test_hup_takes_the_new_certificate_and_running_connections_live_on(web, place, lan):
    """Issue 7: SIGHUP reload; a renewal of the same CA and another kind of key."""
    where = place()
    w = web(tls=where)
    old = serial(w)
    with w.connect() as kept:
        kept.send(w.bytes_of(run("sleep 1; echo lived on")))
        w.wait_descendants(1)
        (where / "server.pem").write_bytes((lan / "server.pem").read_bytes())
        (where / "server.key").write_bytes((lan / "server.key").read_bytes())
        w.signal(signal.SIGHUP)
        wait_until(lambda: w.stderr_text().count("certificate in use") == 2, "the certificate is reread")
        assert "lived on" in first_text(kept.answer().message()["result"])
        kept.send(w.bytes_of(ping()))
        assert kept.answer().message()["result"] == {}
    w.close_connections()
    w.context = ssl.create_default_context(cafile=lan / "ca.pem")
    assert serial(w) != old
    assert w.result("ping") == {}


def test_hup_with_files_that_do_not_fit_changes_nothing(web, place):
    """Certificate and key are replaced one after the other: in between they do not fit."""
    where = place()
    w = web(tls=where)
    old = serial(w)
    for name, text in (("server.key", (DATA / "leaf-rsa.key").read_bytes()), ("server.pem", b"nothing")):
        (where / name).write_bytes(text)
        count = w.stderr_text().count("the old certificate stays")
        w.signal(signal.SIGHUP)
        wait_until(lambda c=count: w.stderr_text().count("the old certificate stays") == c + 1, "it is told")
        assert serial(w) == old
    assert "does not fit the certificate" in w.stderr_text() and "holds no certificate" in w.stderr_text()
    assert "PRIVATE" not in w.stderr_text()


def test_hup_during_handshakes(web, place, lan):
    """The old key lives until those that began with it are done; a third one waits for that."""
    where = place()
    w = web(tls=where)
    plain = socket.create_connection((w.host, w.port), 10)
    time.sleep(0.1)
    for n in range(3):
        w.signal(signal.SIGHUP)
        time.sleep(0.1)
    context = w.context
    with context.wrap_socket(plain, server_hostname=w.host) as s:      # goes on with the first one
        s.sendall(w.bytes_of(ping()))
        assert b"200 OK" in s.recv(65536)
    wait_until(lambda: w.stderr_text().count("certificate in use") >= 3, "the last one is taken, too", 5)
    assert w.result("ping") == {}


def test_hup_rereads_the_token_as_well(web, lan, tmp_path):
    """One signal for both; a server without a token file is not told about that."""
    file = tmp_path / "token"
    file.write_text("the-first-token-0123")
    w = web(tls=lan, token=None, env={"SANDSTORM_MCP_TOKEN_FILE": file})
    file.write_text("another-token-0123456")
    w.signal(signal.SIGHUP)
    wait_until(lambda: "token reread" in w.stderr_text() and w.stderr_text().count("certificate in use") == 2, "both")
    w.token = "another-token-0123456"
    assert w.result("ping") == {}


# -- memory --------------------------------------------------------------------------------------


def test_neither_requests_nor_files_stay_in_memory(web, lan):
    """Decision 49: TLS buffers are wiped, and so is what a key was read from."""
    w = web(tls=lan)
    assert "marker" in w.text("terminal_exec", command="printf marker # a-secret-that-was-in-a-request")
    assert w.result("ping") == {}
    assert not w.memory_holds(b"a-secret-that-was-in-a-request")
    w.signal(signal.SIGHUP)
    wait_until(lambda: w.stderr_text().count("certificate in use") == 2, "both files are reread")
    line = (lan / "server.key").read_bytes().splitlines()[1]
    assert not w.memory_holds(line) and not w.memory_holds(line[:32])
    assert w.memory_holds((lan / "server.key").as_posix().encode()), "this test can see memory"


# -- many ----------------------------------------------------------------------------------------


def test_64_connections_take_less_than_three_megabytes(web, lan, record_property):
    """Issue 7: the whole process, each with a request of 15 KB so that all of its buffer was used."""
    w = web(tls=lan, env={"SANDSTORM_RATE_LIMIT": "0"})
    w.result("ping")
    before = w.rss_kib()
    connections = [w.connect() for _ in range(64)]
    for c in connections:
        c.send(w.bytes_of(message("ping", {"x": "y" * 15000})))
        assert c.answer().status == 200
    held = w.rss_kib()
    record_property("rss_kib", held)
    print(f"resident: {before} KiB, with 64 TLS connections {held} KiB")
    assert held < 3 * 1024
    w.close_connections()
    wait_until(lambda: w.rss_kib() < before + 300, "memory goes back")


def test_connections_are_bounded_by_memory(web, lan, workspace):
    """Decision 52: 8 MiB of budget have room for 78; the oldest idle one goes, the working one stays."""
    w = web(tls=lan, env={"SANDSTORM_MEMORY": "8M", "SANDSTORM_RATE_LIMIT": "0"})
    os.mkfifo(workspace / "go")
    working = w.start(run("cat go; echo kept"))
    w.wait_descendants(2)
    idle = [w.connect() for _ in range(77)]
    assert w.connect().socket.version() == "TLSv1.2"
    assert idle[0].closed()
    idle[-1].send(w.bytes_of(ping()))
    assert idle[-1].answer().status == 200
    pass_on(workspace / "go")
    assert "kept" in first_text(working.answer().message()["result"])


def test_a_crowd_of_handshakes_is_served_in_order(web, lan):
    """More at once than there are slots: they wait in the kernel's queue. Who dawdles may be given up for the next
    (decision 40), which on a busy machine is this test's own clients now and then; they come again and are served."""
    w = web(tls=lan, env={"SANDSTORM_MAX_CONNECTIONS": "16", "SANDSTORM_RATE_LIMIT": "0"})
    failures = []

    def client():
        for attempt in range(3):
            try:
                assert w.post(ping()).status == 200
                return
            except (AssertionError, OSError) as e:
                failures.append((attempt, e))
    threads = [threading.Thread(target=client) for _ in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    assert [e for attempt, e in failures if attempt == 2] == []
    assert len(failures) <= 25, failures



def test_slow_handshakes_hold_up_nobody(web, lan, record_property):
    """Issue 7: 200 connections that stop in the middle of a handshake, or never begin, and one client that works."""
    w = web(tls=lan, env={"SANDSTORM_RATE_LIMIT": "0"})
    hello, slow, pings = client_hello(), [], Pings(w, web(tls=lan, env={"SANDSTORM_RATE_LIMIT": "0"}))
    for n in range(200):
        s = socket.create_connection((w.host, w.port), 10)
        s.setblocking(False)
        s.send(hello[:[0, 1, 5, 100, len(hello)][n % 5]])
        slow.append(s)
    for n in range(300):
        if n % 3 == 0:      # some of them go on by a byte
            with contextlib.suppress(OSError):
                slow[n % 200].send(hello[5:6])
        pings.once()
    with w.connect() as c:
        c.send(w.bytes_of(ping()))
        assert c.answer().status == 200
    p50, p99 = pings.median_delay(), pings.delay(3)
    record_property("p50_ms", p50 * 1000)
    record_property("p99_ms", p99 * 1000)
    print(f"later than those of an idle server: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms")
    assert p50 < 0.01 * busy() and p99 < 0.05 * busy()
    for s in slow:
        s.close()


def test_a_working_client_stays_connected_in_a_crowd_of_slow_handshakes(web, lan):
    """More of them than there are slots: the slow ones go, not the one that has its connection."""
    w = web(tls=lan, env={"SANDSTORM_MAX_CONNECTIONS": "20", "SANDSTORM_RATE_LIMIT": "0"})
    slow = []
    with w.connect() as c:
        for n in range(120):
            with contextlib.suppress(OSError):
                slow.append(socket.create_connection((w.host, w.port), 10))
            if n % 10 == 0:
                time.sleep(0.15)
                c.send(w.bytes_of(ping()))
                assert c.answer().status == 200
    for s in slow:
        s.close()


def test_handshakes_one_after_the_other_let_requests_through(web, place, record_property):
    """An RSA signature takes milliseconds: a kept connection is answered in between."""
    w = web(tls=place("rsa", "leaf-rsa.key", "ca-rsa"), env={"SANDSTORM_RATE_LIMIT": "0"})
    stop, done, times = threading.Event(), [0], []

    def shaker():
        while not stop.is_set():
            with contextlib.suppress(OSError), Connection(w.host, w.port, 10, w.context):
                done[0] += 1
    threads = [threading.Thread(target=shaker) for _ in range(8)]
    with w.connect() as c:
        for t in threads:
            t.start()
        for _ in range(100):
            started = time.monotonic()
            c.send(w.bytes_of(ping()))
            assert c.answer().status == 200
            times.append(time.monotonic() - started)
        stop.set()
        for t in threads:
            t.join(10)
    record_property("p50_ms", statistics.median(times) * 1000)
    print(f"{done[0]} handshakes meanwhile, p50 {statistics.median(times) * 1000:.1f} ms")
    assert done[0] > 5 and statistics.median(times) < 0.1 * busy()


@pytest.mark.long(12)
def test_handshakes_have_a_deadline(box):
    """As heads have: 10 s, however slowly bytes come."""
    hello, started = client_hello(), time.monotonic()
    silent, slow = (socket.create_connection((box.host, box.port), 20) for _ in range(2))
    for byte in hello:
        try:
            slow.sendall(bytes([byte]))
        except OSError:
            break
        time.sleep(0.2)
        if time.monotonic() - started > 15:
            break
    assert 9 < time.monotonic() - started < 10 + 3 * busy()
    for s in (silent, slow):
        with s, contextlib.suppress(ConnectionResetError):
            assert s.recv(1) == b""
