"""`sandstorm-mcp ca URL [FILE]`: the master's CA over the one connection that nobody has verified, and what comes of it."""
import base64
import hashlib
import os
import pathlib
import re
import socket
import ssl
import threading

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "unit/data"
CA = (DATA / "ca.pem").read_text()
TOKEN = "a-token-that-nobody-may-see"
# what begins the key of a certificate on P-256: SubjectPublicKeyInfo is 91 bytes long then
P256_KEY = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107")


def der(pem):
    return ssl.PEM_cert_to_DER_cert(pem)


def sha256(pem):
    return hashlib.sha256(der(pem)).digest()


def key_sha256(pem):
    at = der(pem).index(P256_KEY)
    return hashlib.sha256(der(pem)[at:at + 91]).digest()


def whole(body, head="HTTP/1.1 200 OK\r\n"):
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


class Master:
    """Answers each request with the same bytes, over TLS or without, and writes down what it was sent."""

    def __init__(self, answer, certificate="full", tls=True, farewell=True):
        self.answer, self.tls, self.farewell, self.requests = answer, tls, farewell, []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(DATA / f"{certificate}.pem", DATA / ("leaf-rsa.key" if certificate == "rsa" else "leaf.key"))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                plain, _ = self.listener.accept()
                plain.settimeout(10)
                self.talk(self.context.wrap_socket(plain, server_side=True) if self.tls else plain)
            except OSError:
                if self.listener.fileno() < 0:
                    return

    def talk(self, connection):
        with connection:
            self.requests.append(connection.recv(65536))
            connection.sendall(self.answer)
            if self.tls and self.farewell:
                connection.unwrap()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def master():
    started = []

    def start(*args, **more):
        started.append(Master(*args, **more))
        return started[-1]

    yield start
    for m in started:
        m.close()


@pytest.fixture
def ca(cli):
    def run(*args):
        return cli("ca", *args, env={"SANDSTORM_TOKEN": TOKEN})
    return run


def blocks(text):
    return re.findall(r"-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", text, re.DOTALL)


def test_subject_validity_and_both_fingerprints_are_printed(master, ca):
    done = ca(master(whole(CA)).url)
    assert done.stdout.startswith("subject:        O=Example, CN=sandstorm CA\n"
                                  "valid:          2020-01-01T00:00:00Z to 2100-01-01T00:00:00Z\n"
                                  f"SHA-256:        {sha256(CA).hex()}\n"
                                  f"SHA-256 of key: {key_sha256(CA).hex()}\n")


def test_without_a_fingerprint_the_certificate_is_printed_with_a_note_and_the_exit_code_is_1(master, ca):
    done = ca(master(whole(CA)).url)
    assert done.returncode == 1
    assert blocks(done.stdout) == [CA]
    assert "nobody has verified this yet" in done.stderr and done.stderr.count("\n") == 1


def test_print_says_that_this_was_wanted(master, ca):
    done = ca("--print", master(whole(CA)).url)
    assert done.returncode == 0
    assert blocks(done.stdout) == [CA]
    assert "nobody has verified this yet" in done.stderr


@pytest.mark.parametrize("flags", [[], ["--print"]])
def test_without_a_fingerprint_no_file_is_written(master, ca, tmp_path, flags):
    done = ca(master(whole(CA)).url, tmp_path / "ca.pem", *flags)
    assert not (tmp_path / "ca.pem").exists()
    assert f"nothing was written to {tmp_path / 'ca.pem'}" in done.stderr


def hex_colons(digest):
    return ":".join(f"{b:02X}" for b in digest)


FORMS = {
    "hex": lambda d: d.hex(),
    "upper case": lambda d: d.hex().upper(),
    "colons": hex_colons,
    "lower case and colons": lambda d: hex_colons(d).lower(),
    "prefix": lambda d: "sha256:" + d.hex(),
    "prefix and colons": lambda d: "SHA256:" + hex_colons(d),
    "base64": lambda d: base64.b64encode(d).decode(),
    "base64 without padding": lambda d: base64.b64encode(d).decode().rstrip("="),
    "base64 of URLs": lambda d: base64.urlsafe_b64encode(d).decode(),
    "base64 of URLs without padding": lambda d: base64.urlsafe_b64encode(d).decode().rstrip("="),
    "prefix and base64": lambda d: "sha256:" + base64.b64encode(d).decode(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", [sha256, key_sha256])
def test_the_right_fingerprint_in_any_form_writes_the_file(master, ca, tmp_path, form, of):
    done = ca(master(whole(CA)).url, tmp_path / "ca.pem", "--fingerprint", FORMS[form](of(CA)))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "ca.pem").read_text() == CA
    assert blocks(done.stdout) == []


def test_the_right_fingerprint_without_a_file_prints_the_certificate(master, ca):
    done = ca(f"--fingerprint={sha256(CA).hex()}", master(whole(CA)).url)
    assert (done.returncode, done.stderr) == (0, "")
    assert blocks(done.stdout) == [CA]


def test_another_fingerprint_writes_nothing(master, ca, tmp_path):
    (tmp_path / "ca.pem").write_text("as it was")
    done = ca(master(whole(CA)).url, tmp_path / "ca.pem", "--fingerprint", "00" * 32)
    assert done.returncode == 1
    assert "none of what" in done.stderr and "may not be your master" in done.stderr
    assert (tmp_path / "ca.pem").read_text() == "as it was"
    assert blocks(done.stdout) == []
    assert sha256(CA).hex() in done.stdout


@pytest.mark.parametrize("wrong", ["", "00", "zz" * 32, "00" * 33, ":".join(["00"] * 31), "0:" * 32, "A" * 42, "A" * 44, "A" * 45])
def test_what_is_no_fingerprint_is_a_mistake(ca, wrong):
    done = ca("https://127.0.0.1:9", "--fingerprint", wrong)
    assert done.returncode == 2
    assert "--fingerprint" in done.stderr and "64 hex digits" in done.stderr


def test_of_several_certificates_only_the_one_with_the_fingerprint_is_written(master, ca, tmp_path):
    other = (DATA / "ca-rsa.pem").read_text()
    done = ca(master(whole("one\n" + other + "two\n" + CA)).url, tmp_path / "ca.pem", "--fingerprint", sha256(CA).hex())
    assert done.returncode == 0
    assert (tmp_path / "ca.pem").read_text() == CA
    assert done.stdout.count("subject:") == 2


def test_a_file_that_cannot_be_written_is_told(master, ca, tmp_path):
    done = ca(master(whole(CA)).url, tmp_path / "no/ca.pem", "--fingerprint", sha256(CA).hex())
    assert done.returncode == 1
    assert f"cannot write {tmp_path / 'no/ca.pem'}: No such file or directory" in done.stderr


def test_a_device_that_is_named_as_the_file_stays_one(master, ca, tmp_path):
    """Seen with /dev/stdout and /dev/full, as root: both became files with a certificate in them."""
    os.mkfifo(tmp_path / "device")
    os.symlink("/proc/self/fd/1", tmp_path / "stdout")
    for name in ("device", "stdout"):
        done = ca(master(whole(CA)).url, tmp_path / name, "--fingerprint", sha256(CA).hex())
        assert done.returncode == 1
        assert f"cannot write {tmp_path / name}: it is no regular file" in done.stderr
    assert (tmp_path / "device").is_fifo() and (tmp_path / "stdout").is_symlink()
    assert not any(path.is_file() and not path.is_symlink() for path in tmp_path.iterdir())


def test_the_request_is_for_the_certificate_alone_and_carries_no_token(master, ca):
    m = master(whole(CA))
    ca(m.url + "/prefix/", "--print")
    (request,) = m.requests
    assert request.split(b"\r\n")[0] == b"GET /prefix/ca.pem HTTP/1.1"
    assert f"\r\nHost: 127.0.0.1:{m.port}\r\n".encode() in request
    assert b"uthorization" not in request and TOKEN.encode() not in request


@pytest.mark.parametrize("certificate", ["expired", "otherip", "self", "rsa", "chain", "crit"])
def test_whoever_answers_is_asked(master, ca, certificate):
    assert ca(master(whole(CA), certificate=certificate).url, "--print").returncode == 0


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + f"{len(CA):x}\r\n{CA}\r\n0\r\n\r\n".encode(),
    b"HTTP/1.0 200 OK\r\n\r\n" + CA.encode(),
    whole(CA.replace("\n", "\r\n")),
])
def test_answers_come_in_several_forms(master, ca, answer):
    done = ca(master(answer).url, "--print")
    assert done.returncode == 0
    assert done.stdout.count("BEGIN CERTIFICATE") == 1


@pytest.mark.parametrize("answer, said", [
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"),
    (b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "status 302"),
    (whole("no certificate"), "holds no certificate"),
    (whole("-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n"), "certificate 1 in it cannot be decoded"),
    (whole((DATA / "ed25519.pem").read_text()), "neither RSA (1024 to 4096 bits) nor EC"),
    (whole(CA + "\n" * 65536), "larger than 64 KiB"),
    (b"what?\r\n\r\n", "does not answer with HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + CA.encode(), "without a whole answer"),
    (b"", "without a whole answer"),
])
def test_what_is_no_good_answer_is_told(master, ca, tmp_path, answer, said):
    m = master(answer)
    done = ca(m.url, tmp_path / "ca.pem", "--fingerprint", sha256(CA).hex())
    assert done.returncode == 1
    assert done.stderr.startswith(f"sandstorm-mcp: ca: {m.url}/ca.pem: ") and said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ca.pem").exists()


def test_an_end_without_a_farewell_is_no_end_of_an_answer(master, ca):
    done = ca(master(b"HTTP/1.0 200 OK\r\n\r\n" + CA.encode(), farewell=False).url, "--print")
    assert done.returncode == 1
    assert "the connection broke off" in done.stderr


def test_a_server_without_tls_is_recognised(master, ca):
    done = ca(master(b"HTTP/1.1 400 Bad Request\r\n\r\n", tls=False).url)
    assert done.returncode == 1
    assert "not a TLS server" in done.stderr


def test_a_port_that_nobody_listens_on_is_told(ca):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = ca(f"https://127.0.0.1:{port}")
    assert done.returncode == 1
    assert "cannot connect: Connection refused" in done.stderr


def test_localhost_is_tried_at_each_of_its_addresses(master, ca):
    m = master(whole(CA))
    assert ca(f"https://localhost:{m.port}", "--print").returncode == 0


@pytest.mark.parametrize("url, said", [
    ("http://127.0.0.1:8080", "only https:// is spoken"),
    ("127.0.0.1:8080", "must begin with https://"),
    ("https://", "is no URL"),
    ("", '"" must begin with https://'),
])
def test_a_url_that_is_none_is_a_mistake(ca, url, said):
    done = ca(url)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("url", ["https://me:s3cret@127.0.0.1", "http://me:s3cret@h", "me:s3cret@h", "https://s3cret@h?x=1"])
def test_a_password_in_a_refused_url_is_not_told(ca, cli, url):
    """What a client started wrongly goes to its log: there the password stood."""
    for done in (ca(url), cli("doctor", env={"SANDSTORM_URL": url}), cli("tools", env={"SANDSTORM_URL": url}),
                 cli("health", url)):
        assert "s3cret" not in done.stdout + done.stderr
    assert '"@' in ca(url).stderr


@pytest.mark.parametrize("args", [[], ["https://127.0.0.1", "file", "more"], ["https://127.0.0.1", "--insecure"]])
def test_other_words_are_a_mistake(ca, args):
    assert ca(*args).returncode == 2


@pytest.mark.long(30)
def test_a_master_that_says_nothing_is_given_up(ca):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = ca(f"https://127.0.0.1:{silent.getsockname()[1]}")
    assert done.returncode == 1
    assert "no answer in time" in done.stderr


def test_the_version_tells_that_no_ca_is_built_in(cli):
    done = cli("--version", "--verbose")
    assert done.returncode == 0
    assert "No CA is built in" in done.stdout
