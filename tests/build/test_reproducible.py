"""Same sources, same bytes: the product, in long runs the libraries too, is built once more in another folder."""
import hashlib

from conftest import long


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_builds_in_different_folders_give_the_same_binary(binary, offline_build):
    tree, _ = offline_build
    assert digest(tree / "out/sandstorm-mcp") == digest(binary)


@long
def test_two_builds_in_different_folders_give_the_same_libraries(build, target, offline_build):
    tree, _ = offline_build
    for name in ("musl/lib/libc.a", "musl/lib/rcrt1.o", "libbearssl.a"):
        assert digest(tree / "build" / target / name) == digest(build / name), name


def test_the_binary_holds_no_path_of_the_build(binary, root):
    assert str(root).encode() not in binary.read_bytes()
