"""Whom the sandbox tools trust: each certificate of the matrix under both names, what SANDSTORM_CA may hold, what no
variable can change.

sandbox-tools.md sections 1, 2 and 10.1; E4, P12, P13.
"""

import contextlib
import os
import socket
import subprocess
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from master.keys import NOW, DAY, name, pem
from mcpwire import clean_environment

REFUSED = "CERTIFICATE_VERIFY_FAILED: "
NAME = REFUSED + "the certificate does not name {host}; start the master with --tls-san {host}"
DATE = REFUSED + "not valid at this host's date"
WHO = REFUSED + "not signed by the CA in SANDSTORM_CA"
# certificate, what is in SANDSTORM_CA (None: its own authority), with 127.0.0.1, with localhost; None: it works
MATRIX = [
    ("full", None, None, None), ("rsa", None, None, None), ("chain", None, None, None), ("long", None, None, None),
    ("self", None, None, None), ("ip", None, None, NAME), ("dns", None, NAME, None), ("dns-ip", None, NAME, NAME),
    ("otherip", None, NAME, NAME), ("cn-ip", None, NAME, NAME),
    ("expired", None, DATE, DATE), ("future", None, DATE, DATE),
    ("crit", None, REFUSED + "unsupported certificate (code ", REFUSED + "unsupported certificate (code "),
    ("full", ["twin"], WHO, WHO), ("full", ["other"], WHO, WHO), ("rsa", ["ca"], WHO, WHO),
    ("full", ["other", "full"], None, None), ("rsa", ["full", "other", "rsa"], None, None),
    ("chain", ["middle"], None, None), ("chain-cut", ["middle"], None, None),
    ("chain-root", None, None, None), ("chain-cut", None, WHO, WHO), ("chain-turned", None, WHO, WHO),
    ("p384", None, None, None), ("p384", ["ca"], WHO, WHO),
]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("row", MATRIX, ids=lambda row: f"{row[0]} by {'+'.join(row[1] or ['its own'])}")
def test_the_matrix(master, sandbox, keys, row, host):
    """E4: a refused master sees no request, so no token has left. T6: a chain has its order, and may have its root."""
    leaf, anchors, by_address, by_name = row
    m = master(leaf=leaf)
    s = sandbox(m, host=host, ca=keys.anchor(*anchors) if anchors else ...)
    cause = by_address if host == "127.0.0.1" else by_name
    if cause is None:
        assert len(s.value("list_templates")) == 2
        assert m.requests()[0].get("host") == f"{host}:{m.port}"
        assert m.connections()[0].tls == "TLSv1.2"
    else:
        assert cause.format(host=host) in s.failure("list_templates")
        assert s.fence() == [], "the server goes on"
        assert m.requests() == []


def test_a_name_in_the_subject_alone(master, sandbox):
    """Row leaf-cn: never for an address; for a name either way."""
    m = master(leaf="cn")
    assert NAME.format(host="127.0.0.1") in sandbox(m).failure("list_templates")
    result = sandbox(m, host="localhost").call("list_templates")
    assert not result["isError"] or REFUSED in result["content"][0]["text"]


def test_the_dates_are_told(master, sandbox):
    """L10: a board without a clock shows what it takes the date to be."""
    m = master(leaf="expired")
    text = sandbox(m).failure("list_templates")
    for date in (NOW, NOW - 9 * DAY, NOW - 2 * DAY):
        assert f"{date:%Y-%m-%d}" in text, text


@pytest.mark.parametrize("speaks, cause", [
    ("1.3", "TLS: the master refused TLS 1.2"), ("1.1", "TLS"), ("cbc", "TLS"),
    ("plain", "not a TLS server")])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_common_language(master, sandbox, speaks, cause, host):
    """10.1, last rows: an error of its own, no verification failure."""
    m = master(speaks=speaks)
    text = sandbox(m, host=host).failure("list_templates")
    assert cause in text and "CERTIFICATE" not in text and m.requests() == []


def test_over_ipv6(master, sandbox):
    """The literal in brackets, matched as 16 bytes."""
    m = master(host="::1")
    s = sandbox(m)
    assert len(s.value("list_templates")) == 2 and m.requests()[0].get("host") == f"[::1]:{m.port}"
    assert NAME.format(host="::1") in sandbox(master(host="::1", leaf="ip")).failure("list_templates")


def test_what_the_client_offers(master, sandbox):
    """L1, L3, L4: six suites, no ALPN, a server name only where it is a name."""
    m = master()
    sandbox(m).value("list_templates")
    sandbox(m, host="localhost").value("list_templates")
    by_address, by_name = (c.hello for c in m.connections())
    assert (by_address["sni"], by_name["sni"]) == (None, "localhost")
    assert by_address["alpn"] == by_name["alpn"] == []
    modern = {0xC02B, 0xC02C, 0xCCA9, 0xC02F, 0xC030, 0xCCA8}
    assert set(by_address["suites"]) - {0x00FF, 0x5600} == modern      # besides two that are signals
    aes = "aes" in open("/proc/cpuinfo").read()
    assert by_address["suites"][0] in ((0xC02B, 0xC02F) if aes else (0xCCA9, 0xCCA8)), "what the processor does best"


def test_a_session_is_resumed(master, sandbox):
    """L13: the second connection is cheaper."""
    m = master()
    s = sandbox(m)
    s.value("list_templates")
    m.arm("close_body", "GET")
    s.failure("list_templates")
    s.value("list_templates")
    assert [c.resumed for c in m.connections()] == [False, True]


# -- SANDSTORM_CA -------------------------------------------------------------------------------------------------


def test_without_a_ca_every_call_fails_and_nothing_is_connected(master, sandbox):
    """Section 1; P13: also when other programs' variables name the right file."""
    m = master()
    s = sandbox(m, ca=None, env={"SSL_CERT_FILE": str(m.ca), "SSL_CERT_DIR": str(m.ca.parent),
                                 "CURL_CA_BUNDLE": str(m.ca)})
    assert len(s.result("tools/list")["tools"]) == 13
    for tool in ("list_templates", "list_snapshots", "list_sandboxes"):
        text = s.failure(tool)
        assert REFUSED + "SANDSTORM_CA is not set" in text
    assert m.connections() == []
    assert "SANDSTORM_CA is not set" in sandbox(m, ca="").failure("list_templates")


def test_no_other_store_is_trusted(master, sandbox, keys):
    """P13: SANDSTORM_CA replaces, it does not add."""
    m = master()
    s = sandbox(m, ca=keys.anchor("other"), env={"SSL_CERT_FILE": str(m.ca)})
    assert WHO in s.failure("list_templates") and m.requests() == []


def test_no_variable_turns_verification_off(master, sandbox, keys):
    m = master()
    env = {"SANDSTORM_INSECURE": "1", "SANDSTORM_VERIFY": "0", "SANDSTORM_SSL_VERIFY": "false",
           "SANDSTORM_TLS_VERIFY": "0", "PYTHONHTTPSVERIFY": "0", "NODE_TLS_REJECT_UNAUTHORIZED": "0",
           "FORKD_TLS_INSECURE": "1"}
    assert WHO in sandbox(m, ca=keys.anchor("twin"), env=env).failure("list_templates") and m.requests() == []


def decorated(keys):
    """Text around, CR LF, a comment with an equals sign, two certificates."""
    first, second = (keys.certificate(which).decode() for which in ("other", "ca"))
    text = f"subject=CN = x\n{first}\n# the next one is it\n{second}"
    return text.replace("\n", "\r\n").encode() + b"\r\nthe end"


def test_a_file_with_text_around_its_certificates(master, sandbox, keys, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(decorated(keys))
    assert sandbox(master(), ca=path).value("list_templates")


def test_a_relative_path_is_warned_about(master, sandbox, keys, tmp_path):
    (tmp_path / "ca.pem").write_bytes(keys.certificate("ca"))
    s = sandbox(master(), ca="ca.pem")
    assert s.value("list_templates")
    absolute = sandbox(master())
    assert s.close() == absolute.close() == 0
    assert "SANDSTORM_CA" in s.stderr_text() and "ca.pem" in s.stderr_text()
    assert "SANDSTORM_CA" not in absolute.stderr_text()


def strange_key(keys):
    key = ed25519.Ed25519PrivateKey.generate()
    made = (x509.CertificateBuilder().subject_name(name("Ed")).issuer_name(name("Ed")).public_key(key.public_key())
            .serial_number(1).not_valid_before(NOW - DAY).not_valid_after(NOW + DAY).sign(key, None))
    return pem(made)


BROKEN = {
    "absent": None, "empty": lambda k: b"", "no certificate": lambda k: b"just words\n",
    "a key": lambda k: k.leaf("full").key.read_bytes(), "cut": lambda k: k.certificate("ca")[:300],
    "not base64": lambda k: k.certificate("ca").replace(b"M", b"!", 9),
    "no end": lambda k: k.certificate("ca").replace(b"-----END", b"-----STOP"),
    "nine": lambda k: k.certificate("ca") * 9, "too large": lambda k: k.certificate("ca") + b"#" * 65536,
    "DER garbage": lambda k: b"-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n",
    "Ed25519": strange_key,
    "binary": lambda k: x509.load_pem_x509_certificate(k.certificate("ca")).public_bytes(serialization.Encoding.DER),
}


@pytest.mark.parametrize("what", [*BROKEN, "directory", "fifo"])
def test_a_ca_that_is_none_stops_the_start(binary, keys, tmp_path, what):
    """Section 1: one line with path and reason, status 2, nothing read from stdin, nothing on stdout."""
    path = tmp_path / "ca.pem"
    if what == "directory":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif BROKEN[what]:
        path.write_bytes(BROKEN[what](keys))
    read, write = os.pipe()
    os.write(write, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    env = clean_environment(None, {"SANDSTORM_CA": str(path)})
    done = subprocess.run([binary], env=env, stdin=read, capture_output=True, timeout=10, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "SANDSTORM_CA" in done.stderr and str(path) in done.stderr
    os.close(write)
    assert os.read(read, 100).startswith(b'{"jsonrpc"'), "stdin was not touched"
    os.close(read)


def test_a_ca_file_without_the_right_to_read_it(binary, keys, tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(keys.certificate("ca"))
    path.chmod(0)
    env = clean_environment(None, {"SANDSTORM_CA": str(path)})
    wrap = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []     # root reads everything
    done = subprocess.run([*wrap, binary], env=env, input="", capture_output=True, timeout=10, text=True)
    assert done.returncode == 2 and "SANDSTORM_CA" in done.stderr and "denied" in done.stderr, done.stderr


# -- SANDSTORM_URL and others' variables --------------------------------------------------------------------------


@pytest.mark.parametrize("url", [
    "http://127.0.0.1:8080", "HTTP://localhost", "ftp://a", "127.0.0.1:8080", "https://", "https://:443", "https://a:0",
    "https://a:65536", "https://a:x", "https://u:p@a", "https://a/?q", "https://a/#f", "https://a\n", "https://a b",
    "https://[::1", "https://[1.2.3.4]", "https://a/" + "x" * 512])
def test_an_address_that_is_none_stops_the_start(cli, keys, url):
    """Section 1, decision 11."""
    done = cli(env={"SANDSTORM_URL": url, "SANDSTORM_CA": str(keys.anchor("ca"))})
    assert done.returncode == 2 and done.stdout == ""
    assert "SANDSTORM_URL" in done.stderr and done.stderr.count("\n") == 1


def test_a_prefix_and_slashes_at_the_end(master, sandbox):
    """Section 1."""
    m = master()
    assert sandbox(m, env={"SANDSTORM_URL": m.url + "//"}).value("list_templates")
    sandbox(m, env={"SANDSTORM_URL": m.url + "/behind/proxy/"}).failure("list_templates")
    assert [r.target for r in m.requests("GET", "templates")] == ["/v1/templates", "/behind/proxy/v1/templates"]


@contextlib.contextmanager
def listener():
    """A port that counts who connects."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        seen = []

        def take():
            with contextlib.suppress(OSError):
                while True:
                    seen.append(s.accept())
        threading.Thread(target=take, daemon=True).start()
        yield s.getsockname()[1], seen
        s.shutdown(socket.SHUT_RDWR)


def test_no_proxy_is_asked(master, sandbox):
    """P12."""
    with listener() as (port, seen):
        names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        env = {**{n: f"http://127.0.0.1:{port}" for n in [*names, "FORKD_URL"]}, "NO_PROXY": None}
        m = master()
        assert sandbox(m, env=env).value("list_templates") and len(m.requests()) == 1
        assert seen == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(master, sandbox, status):
    """P17: the target is named, nobody goes there."""
    with listener() as (port, seen):
        m = master()
        s = sandbox(m)
        target = f"https://127.0.0.1:{port}/elsewhere"
        for tool, arguments in (("list_templates", {}), ("spawn_sandboxes", {"template": "sh"})):
            m.arm("redirect", to=target, status=status)
            text = s.failure(tool, **arguments)
            assert target in text and str(status) in text
        assert seen == [] and len(m.requests()) == 2
