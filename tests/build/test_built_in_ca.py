"""`make CA=ca.pem`: the anchor is checked before it is compiled in, and is there afterwards."""
import hashlib
import shutil
import ssl

import pytest

from conftest import ROOT, clean_env, run

DATA = ROOT / "tests/unit/data"


def make(tree, *args, ok=True):
    return run("make", *args, cwd=tree, env=clean_env(), ok=ok, timeout=600)


@pytest.fixture(scope="module")
def tree_with_libraries(copy_of_tree, build, target):
    """A function that gives a new clone in which the libraries are built already, as after one `make`."""
    def new():
        tree = copy_of_tree()
        (tree / "build" / target).mkdir(parents=True)
        for name in ("musl", "libbearssl.a", ".settings"):
            (shutil.copytree if (build / name).is_dir() else shutil.copy2)(build / name, tree / "build" / target / name)
        return tree
    return new


@pytest.fixture(scope="module")
def tree(tree_with_libraries):
    return tree_with_libraries()


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


def test_the_same_anchor_gives_the_same_bytes_elsewhere_whatever_stands_around_it(tree_with_libraries, built, tmp_path):
    other = tree_with_libraries()
    (tmp_path / "ours.pem").write_text("subject=sandstorm\n\n" + (DATA / "ca.pem").read_text() + "\nmade in 2020\n")
    make(other, f"CA={tmp_path / 'ours.pem'}")
    assert (other / "out/sandstorm-mcp").read_bytes() == built


def test_another_anchor_replaces_it_and_none_takes_it_out(tree, built, binary):
    make(tree, f"CA={DATA / 'ca-rsa.pem'}")
    assert "CN=RSA CA" in verbose(tree) and "sandstorm CA" not in verbose(tree)
    make(tree)
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
