"""`sandstorm-mcp cert --host NAMES DIR`: a private CA and a server's certificate, as OpenSSL, Python, curl and we see them.

Issue 7, point 4 and the LAN part of point 6.
"""

import hashlib
import os
import re
import signal
import ssl
import stat
import subprocess

import pytest

from httpwire import Connection
from mcpwire import wait_until
from test_ca import DATA

FILES = ["ca.key", "ca.pem", "server.key", "server.pem"]


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def certificates(path):
    return re.findall(r"-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", path.read_text(), re.S)


def fingerprint(path):
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificates(path)[0])).hexdigest()


def field(path, name):
    return openssl("x509", "-in", path, "-noout", "-ext", name)


def dates(path):
    out = openssl("x509", "-in", path, "-noout", "-dates")
    return [ssl.cert_time_to_seconds(line.partition("=")[2]) for line in out.splitlines()]


@pytest.fixture
def make(cli, tmp_path):
    """Makes one and complains unless it is well: make("box.lan") -> (directory, what was printed)."""
    def run(hosts, place=None, **env):
        place = place or tmp_path / "lan"
        done = cli("cert", "--host", hosts, place, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return place, done.stdout
    return run


def refused(cli, *words, code=1, **env):
    done = cli("cert", *words, env=env)
    assert done.returncode == code and done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr.strip().removeprefix("sandstorm-mcp: ")


# -- what is made --------------------------------------------------------------------------------


def test_four_files_with_the_keys_for_their_owner_alone(make):
    """Also under a umask of nothing."""
    old = os.umask(0)
    try:
        place, _ = make("box.lan")
    finally:
        os.umask(old)
    assert sorted(os.listdir(place)) == FILES
    modes = {name: stat.S_IMODE((place / name).stat().st_mode) for name in FILES}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "server.key": 0o600, "server.pem": 0o644}


def test_openssl_verifies_it_strictly(make):
    """Issue 7: openssl verify -x509_strict, with each name and for the purpose."""
    place, _ = make("box.lan,*.box.lan,10.0.0.5,fd00::5")
    leaf = place / "leaf.pem"
    leaf.write_text(certificates(place / "server.pem")[0])
    for name in ("-verify_hostname box.lan", "-verify_hostname www.box.lan", "-verify_ip 10.0.0.5", "-verify_ip fd00::5"):
        assert "OK" in openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", place / "ca.pem", *name.split(),
                               leaf)
    for name in ("-verify_hostname other.lan", "-verify_hostname a.b.box.lan", "-verify_ip 10.0.0.6"):
        done = subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", place / "ca.pem", *name.split(), leaf],
                              capture_output=True, timeout=20, check=False)
        assert done.returncode != 0, name
    assert "OK" in openssl("verify", "-x509_strict", "-check_ss_sig", "-CAfile", place / "ca.pem", place / "ca.pem")


def test_the_keys_are_those_of_the_certificates(make):
    """P-256, as PKCS #8, checked by OpenSSL."""
    place, _ = make("box.lan")
    for name in ("ca", "server"):
        key, cert = place / f"{name}.key", place / f"{name}.pem"
        assert "Key is valid" in openssl("pkey", "-in", key, "-check", "-noout")
        assert openssl("pkey", "-in", key, "-pubout") == openssl("x509", "-in", cert, "-noout", "-pubkey")
        assert "prime256v1" in openssl("pkey", "-in", key, "-noout", "-text")
        assert key.read_text().startswith("-----BEGIN PRIVATE KEY-----\n")
        assert "ecdsa-with-SHA256" in openssl("x509", "-in", cert, "-noout", "-text")


def test_extensions(make):
    """RFC 5280: what each may do, and which key it is signed with."""
    place, _ = make("box.lan,192.168.1.5,::1")
    ca, server = place / "ca.pem", place / "server.pem"
    assert re.search(r"Basic Constraints: critical\s+CA:TRUE, pathlen:0", field(ca, "basicConstraints"))
    assert re.search(r"Key Usage: critical\s+Certificate Sign, CRL Sign\n", field(ca, "keyUsage"))
    assert re.search(r"Basic Constraints: critical\s+CA:FALSE", field(server, "basicConstraints"))
    assert re.search(r"Key Usage: critical\s+Digital Signature\n", field(server, "keyUsage"))
    assert "TLS Web Server Authentication" in field(server, "extendedKeyUsage")
    assert "DNS:box.lan, IP Address:192.168.1.5, IP Address:0:0:0:0:0:0:0:1" in field(server, "subjectAltName")
    ids = [re.search(r"[0-9A-F:]{59}", text)[0] for text in (field(ca, "subjectKeyIdentifier"),
                                                             field(server, "authorityKeyIdentifier"),
                                                             field(server, "subjectKeyIdentifier"))]
    assert ids[0] == ids[1] != ids[2]


def test_dates(make):
    """825 days is what Apple's systems take at most; clocks may be an hour behind."""
    place, _ = make("box.lan")
    ca, server = dates(place / "ca.pem"), dates(place / "server.pem")
    day = 86400
    made = (place / "server.pem").stat().st_mtime
    assert -5 < made - 3600 - server[0] < 60 and ca[0] == server[0]
    assert 824 * day < server[1] - server[0] < 825 * day
    assert 3649 * day < ca[1] - ca[0] < 3651 * day


def test_serials_and_names_differ(make, tmp_path):
    """Two CAs of one name would be taken for each other; a serial is never used again."""
    serials, names = set(), set()
    for n in range(4):
        place, _ = make("box.lan", tmp_path / str(n))
        for name in ("ca.pem", "server.pem"):
            serial = openssl("x509", "-in", place / name, "-noout", "-serial").strip().partition("=")[2]
            assert len(serial) == 32
            serials.add(serial)
        names.add(openssl("x509", "-in", place / "ca.pem", "-noout", "-subject"))
    assert len(serials) == 8 and len(names) == 4


def test_what_is_told(make, tmp_path):
    """The fingerprint of the CA, and the next two commands, as a shell takes them."""
    place, said = make("box.lan,10.0.0.5", tmp_path / "a folder's", SANDSTORM_MCP_PORT="8443")
    assert f"SHA-256:        {fingerprint(place / 'ca.pem')}\n" in said
    quoted = str(place).replace("'", "'\\''")
    assert f"serve --mcp-host 0.0.0.0 --tls-cert '{quoted}/server.pem' --tls-key '{quoted}/server.key'\n" in said
    assert f"sandstorm-mcp ca https://box.lan:8443 ca.pem --fingerprint {fingerprint(place / 'ca.pem')}\n" in said
    assert said.startswith("Made the CA in ")
    assert make("*.lan", place)[1].startswith("Used the CA in ")


# -- its use -------------------------------------------------------------------------------------


def test_the_commands_that_are_told_work(web, cli, lan, tmp_path):
    """From nothing to a client that trusts the server: serve, ca, curl, Python."""
    w = web(tls=lan)
    place = tmp_path / "client.pem"
    base = w.url.removesuffix("/mcp")
    done = cli("ca", base, place, "--fingerprint", fingerprint(lan / "ca.pem"))
    assert done.returncode == 0 and place.read_text() == (lan / "ca.pem").read_text(), done.stderr
    for host in ("localhost", "127.0.0.1"):
        done = subprocess.run(["curl", "-sS", "--cacert", place, f"https://{host}:{w.port}/health"], capture_output=True,
                              timeout=20, check=True)
        assert b'"ok":true' in done.stdout
    with Connection(w.host, w.port, 10, ssl.create_default_context(cafile=place)) as c:
        assert c.socket.version() == "TLSv1.2"
    done = cli("ca", base, tmp_path / "no.pem", "--fingerprint", fingerprint(lan / "server.pem"))
    assert done.returncode == 1 and not (tmp_path / "no.pem").exists()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2"])
def test_our_own_client_trusts_it_with_sandstorm_ca(web, cli, lan, host):
    """The other end: SANDSTORM_CA is that ca.pem; a name that is not in the certificate is refused."""
    w = web(tls=lan, address="0.0.0.0")
    done = cli("doctor", env={"SANDSTORM_URL": f"https://{host}:{w.port}", "SANDSTORM_CA": lan / "ca.pem",
                              "SANDSTORM_TOKEN": "a-token-of-a-master"})
    if host == "127.0.0.2":
        assert "the certificate does not name 127.0.0.2" in done.stdout
    else:
        assert f"the certificate names {host} and is signed by the CA" in done.stdout
        assert "sandstorm-mcp serve answers there" in done.stdout


def test_paths_are_told_from_the_top(cli, tmp_path):
    """The commands are good in another directory, or in a unit file."""
    said = cli("cert", "--host", "box.lan", "lan").stdout
    assert f"--tls-cert {tmp_path}/lan/server.pem --tls-key {tmp_path}/lan/server.key\n" in said


def test_the_root_is_handed_out_but_not_sent(web, lan):
    """/ca.pem; the chain of a handshake ends below its root."""
    w = web(tls=lan)
    answer = w.exchange("GET", "/ca.pem")
    assert (answer.status, answer.type) == (200, "application/x-x509-ca-cert")
    assert answer.body == (lan / "ca.pem").read_bytes()
    done = subprocess.run(["openssl", "s_client", "-connect", f"{w.host}:{w.port}", "-showcerts"], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=20, check=False)
    assert done.stdout.count(b"BEGIN CERTIFICATE") == 1


def test_servers_without_a_root_have_none_to_hand_out(remote, web, tmp_path):
    """Plain HTTP, or a certificate of a public CA."""
    assert remote.exchange("GET", "/ca.pem").status == 404
    for name, file in (("server.pem", "chain.pem"), ("server.key", "leaf.key"), ("ca.pem", "ca.pem")):
        (tmp_path / name).write_bytes((DATA / file).read_bytes())
    w = web(tls=tmp_path)
    assert w.exchange("GET", "/ca.pem").status == 404
    assert b"private CA" not in w.exchange("GET", "/").body


def test_the_page_tells_each_client_how_to_trust_it(web, lan, remote):
    """Issue 7, point 6: NODE_EXTRA_CA_CERTS, SANDSTORM_CA, the system's store."""
    page = web(tls=lan).exchange("GET", "/").body.decode()
    for text in ("NODE_EXTRA_CA_CERTS", "SANDSTORM_CA", "SSL_CERT_FILE", "update-ca-certificates", 'href="ca.pem"',
                 fingerprint(lan / "ca.pem"), "The connection is encrypted"):
        assert text in page, text
    assert "private CA" not in remote.exchange("GET", "/").body.decode()


def test_a_renewal_is_taken_at_hup_and_clients_need_nothing_new(web, make, tmp_path):
    """The CA stays, the server's pair is new."""
    place, _ = make("localhost,127.0.0.1")
    before = {name: (place / name).read_bytes() for name in FILES}
    w = web(tls=place)
    assert w.result("ping") == {}
    make("localhost,127.0.0.1,box.lan", place)
    after = {name: (place / name).read_bytes() for name in FILES}
    assert [name for name in FILES if before[name] == after[name]] == ["ca.key", "ca.pem"]
    assert sorted(os.listdir(place)) == FILES, "no temporary file is left"
    w.signal(signal.SIGHUP)
    wait_until(lambda: w.stderr_text().count("certificate in use") == 2, "the certificate is reread")
    w.close_connections()
    assert w.result("ping") == {}
    with Connection(w.host, w.port, 10, w.context) as c:
        assert ("DNS", "box.lan") in c.socket.getpeercert()["subjectAltName"]


def test_a_renewal_leaves_the_key_to_the_group_that_reads_it(make):
    """As scripts/install.sh sets it up: after a renewal by root the service could not read its key any more."""
    place, _ = make("localhost")
    key = place / "server.key"
    os.chown(key, -1, os.getgid() or 65534)
    key.chmod(0o640)
    before, text = key.stat(), key.read_bytes()
    make("localhost", place)
    after = key.stat()
    assert key.read_bytes() != text
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert (place / "ca.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["rsa", "p384"])
def test_a_ca_of_somebody_else_is_used(make, tmp_path, kind):
    """Made with openssl, RSA or on another curve; its end is the end of what it signs."""
    place = tmp_path / "lan"
    place.mkdir()
    how = ["rsa:2048"] if kind == "rsa" else ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"]
    openssl("req", "-x509", "-newkey", *how, "-nodes", "-keyout", place / "ca.key", "-out", place / "ca.pem", "-days", "30",
            "-subj", "/O=Home/CN=Home CA", "-addext", "keyUsage=critical,keyCertSign")
    make("box.lan", place)
    leaf = tmp_path / "leaf.pem"
    leaf.write_text(certificates(place / "server.pem")[0])
    assert "OK" in openssl("verify", "-x509_strict", "-CAfile", place / "ca.pem", leaf)
    assert "Home CA" in openssl("x509", "-in", leaf, "-noout", "-issuer")
    assert dates(leaf)[1] == dates(place / "ca.pem")[1] and dates(leaf)[0] == dates(place / "ca.pem")[0]


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("hosts, bad", [
    ("box lan", "box lan"), ("10.0.0.300", "10.0.0.300"), ("box.lan,,-x.lan", "-x.lan"), ("https://box.lan", "https://box.lan"),
    ("box.lan:8443", "box.lan:8443"), ("a..b", "a..b"), ("box.lan.", "box.lan."), ("x*.lan", "x*.lan"), ("*", "*"),
    ("b\u00fccher.lan", "b\u00fccher.lan"), ("a" * 64 + ".lan", "a" * 64 + ".lan"), ("fe80::1%eth0", "fe80::1%eth0"),
    ("1234", "1234"), ("10.0.0.5/24", "10.0.0.5/24"), (".".join(["a" * 50] * 6), ".".join(["a" * 50] * 6)[:200]),
])
def test_words_that_are_neither_name_nor_address(cli, tmp_path, hosts, bad):
    """Nothing is made."""
    said = refused(cli, "--host", hosts, tmp_path / "lan", code=2)
    assert said == f"cert: --host: {bad} is neither a name nor an IP address"
    assert not (tmp_path / "lan").exists()


def test_no_name_no_directory_too_many(cli, tmp_path):
    """Exit 2: usage."""
    assert refused(cli, "--host", " , ", tmp_path / "lan", code=2) == "cert: --host names nothing"
    assert "cert needs the server's names and a directory" in refused(cli, tmp_path / "lan", code=2)
    assert "cert needs the server's names and a directory" in refused(cli, "--host", "box.lan", code=2)
    assert "unknown word" in refused(cli, "--host", "box.lan", tmp_path / "lan", "more", code=2)
    many = ",".join(f"host-number-{n}.example.org" for n in range(300))
    assert "too many names" in refused(cli, "--host", many, tmp_path / "lan", code=2)


def test_names_are_taken_as_people_write_them(make):
    """Blanks, capitals, brackets, a name longer than a common name may be."""
    long = ".".join(["a" * 40] * 3)
    place, _ = make(f" Box.LAN , [fd00::1] ,{long}")
    assert f"DNS:box.lan, IP Address:FD00:0:0:0:0:0:0:1, DNS:{long}" in field(place / "server.pem", "subjectAltName")
    place, _ = make(long, place)
    assert "CN = sandstorm-mcp\n" in openssl("x509", "-in", place / "server.pem", "-noout", "-subject")


def test_half_a_ca_is_not_touched(make, cli):
    """A new one would make clients distrust the server without a word."""
    for gone, there in (("ca.key", "ca.pem"), ("ca.pem", "ca.key")):
        place, _ = make("box.lan")
        text = (place / gone).read_bytes()
        (place / gone).unlink()
        said = refused(cli, "--host", "box.lan", place)
        assert f"{there} is there and" in said and f"{gone} is not" in said
        (place / gone).write_bytes(text)


@pytest.mark.parametrize("cert, key, text", [
    ("ca.pem", "leaf.key", "ca.key is not the key of"), ("full.pem", "leaf.key", "is not the certificate of a CA"),
    ("ca-expired.pem", None, "has come to its end"), ("leaf.key", "leaf.key", "holds no certificate"),
    ("ca.pem", "ca.pem", "holds no private key"), ("ca.pem", "keys/encrypted.pem", "is encrypted"),
])
def test_a_ca_that_is_none_is_refused(cli, tmp_path, cert, key, text):
    """And nothing is written."""
    place = tmp_path / "lan"
    place.mkdir()
    if cert == "ca-expired.pem":
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", place / "ca.key",
                "-out", place / "ca.pem", "-days", "1", "-subj", "/CN=old")
    else:
        (place / "ca.pem").write_bytes((DATA / cert).read_bytes())
        (place / "ca.key").write_bytes((DATA / key).read_bytes())
    assert text in refused(cli, "--host", "box.lan", place)
    assert sorted(os.listdir(place)) == ["ca.key", "ca.pem"]


def test_a_place_that_cannot_be_written_is_told(cli, tmp_path):
    """A file where the directory should be, a parent that is missing."""
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused(cli, "--host", "box.lan", tmp_path / "file")
    assert "cannot make the directory" in refused(cli, "--host", "box.lan", tmp_path / "no" / "lan")


def test_a_server_pair_that_cannot_be_replaced_stays_as_it_was(make, cli):
    """Both halves are written before one is replaced, and nothing is left of them."""
    place, _ = make("box.lan")
    (place / "server.pem").unlink()
    (place / "server.pem").mkdir()
    key = (place / "server.key").read_bytes()
    assert "Is a directory" in refused(cli, "--host", "box.lan", place)
    assert sorted(os.listdir(place)) == FILES
    assert (place / "server.key").read_bytes() == key
