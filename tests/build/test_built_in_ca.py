"""`make CA=ca.pem`: the anchor is checked before it is compiled in, and is there afterwards."""
import contextlib
import hashlib
import json
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from conftest import ROOT, clean_env, run

DATA = ROOT / "tests/unit/data"


def make(tree, *args, ok=True):
    """Linked piece by piece, in a tenth of the time: what is built in is the same."""
    return run("make", "LINK_MORE=-fno-lto", *args, cwd=tree, env=clean_env(), ok=ok, timeout=600)


@pytest.fixture(scope="module")
def new_tree(copy_of_tree, add_libraries):
    """A function that gives a new clone, as after one `make` but for the anchors."""
    return lambda: add_libraries(copy_of_tree(clone=False), objects=True)


@pytest.fixture(scope="module")
def tree(new_tree):
    return new_tree()


@pytest.fixture(scope="module")
def built(tree):
    make(tree, f"CA={DATA / 'ca.pem'}")
    return (tree / "out/sandstorm-mcp").read_bytes()


def verbose(tree):
    return run(tree / "out/sandstorm-mcp", "--version", "--verbose", cwd="/", env={}).stdout


def test_the_binary_tells_the_anchor_it_was_built_with(tree, built):
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert((DATA / "ca.pem").read_text())).hexdigest()
    assert "The CA built in, unless SANDSTORM_CA names another:\n" in verbose(tree)
    assert "subject:        O=Example, CN=sandstorm CA\n" in verbose(tree)
    assert "valid:          2020-01-01T00:00:00Z to 2100-01-01T00:00:00Z\n" in verbose(tree)
    assert f"SHA-256:        {digest}\n" in verbose(tree)


def test_the_same_anchor_gives_the_same_bytes_elsewhere_whatever_stands_around_it(new_tree, built, tmp_path):
    other = new_tree()
    (tmp_path / "ours.pem").write_text("subject=sandstorm\n\n" + (DATA / "ca.pem").read_text() + "\nmade in 2020\n")
    make(other, f"CA={tmp_path / 'ours.pem'}")
    assert (other / "out/sandstorm-mcp").read_bytes() == built


def test_another_anchor_replaces_it_and_none_takes_it_out(tree, built, binary):
    make(tree, f"CA={DATA / 'ca-rsa.pem'}")
    assert "CN=RSA CA" in verbose(tree) and "sandstorm CA" not in verbose(tree)
    run("make", cwd=tree, timeout=600)
    assert (tree / "out/sandstorm-mcp").read_bytes() == binary.read_bytes()
    assert "No CA is built in" in verbose(tree)


@pytest.mark.parametrize("name, said", [
    ("nowhere.pem", "No such file or directory"),
    ("leaf.key", "holds no certificate (no line -----BEGIN CERTIFICATE-----)"),
    ("ca-expired.pem", "certificate 1 in it expired at 2021-01-01T00:00:00Z"),
    ("ed25519.pem", "certificate 1 in it has a key that is neither RSA (1024 to 4096 bits) nor EC (P-256, P-384, P-521)"),
])
def test_a_file_that_cannot_be_used_stops_the_build_with_a_sentence(tree, built, name, said):
    shutil.rmtree(tree / "out", ignore_errors=True)
    done = make(tree, f"CA={DATA / name}", ok=False)
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("make")] == [f"check-ca: CA={DATA / name}: {said}"]
    assert not (tree / "out").exists()


# ---- who is trusted then

class Master:
    """Answers every request over TLS with an empty list and counts them."""

    def __init__(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(DATA / "full.pem", DATA / "leaf.key")
        self.requests, self.connections = [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, args=(context,), daemon=True).start()

    def serve(self, context):
        while self.listener.fileno() >= 0:
            with contextlib.suppress(OSError):
                plain, _ = self.listener.accept()
                self.connections += 1
                with context.wrap_socket(plain, server_side=True) as connection:
                    while request := connection.recv(65536):
                        self.requests.append(request)
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")


@pytest.fixture
def master():
    m = Master()
    yield m
    m.listener.shutdown(socket.SHUT_RDWR)
    m.listener.close()


def list_sandboxes(binary, **env):
    """The result of the tool, called as a client does without any argument to the program."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sandboxes", "arguments": {}}}
    done = subprocess.run([binary], input=json.dumps(call) + "\n", env=env, cwd="/", capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["result"]


@pytest.fixture
def anchored(built, tmp_path):
    (tmp_path / "sandstorm-mcp").write_bytes(built)
    (tmp_path / "sandstorm-mcp").chmod(0o755)
    return tmp_path / "sandstorm-mcp"


def test_with_an_anchor_built_in_the_master_is_reached_without_sandstorm_ca(anchored, master):
    result = list_sandboxes(anchored, SANDSTORM_URL=master.url)
    assert not result.get("isError"), result
    assert len(master.requests) == 1


def test_without_one_no_connection_is_opened(binary, master):
    result = list_sandboxes(binary, SANDSTORM_URL=master.url)
    assert result["isError"] and "CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set" in result["content"][0]["text"]
    assert master.connections == 0


def test_sandstorm_ca_replaces_the_one_built_in(anchored, master):
    result = list_sandboxes(anchored, SANDSTORM_URL=master.url, SANDSTORM_CA=str(DATA / "twin.pem"))
    assert result["isError"]
    assert "CERTIFICATE_VERIFY_FAILED: not signed by the CA in SANDSTORM_CA" in result["content"][0]["text"]
    assert master.requests == []


def test_who_was_not_signed_by_the_one_built_in_is_told_so(tree, master):
    make(tree, f"CA={DATA / 'twin.pem'}")
    result = list_sandboxes(tree / "out/sandstorm-mcp", SANDSTORM_URL=master.url)
    assert result["isError"]
    assert "CERTIFICATE_VERIFY_FAILED: not signed by the CA this program was built with" in result["content"][0]["text"]
    assert master.requests == []
