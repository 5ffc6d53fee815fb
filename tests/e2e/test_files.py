"""Deleting files and making directories."""

import os
import stat

import pytest

from fshelp import PING_MS, OtherUser, worst_ping
from process import busy


@pytest.fixture
def other(binary):
    user = OtherUser(binary)
    yield user
    user.remove()


# -- deleting -------------------------------------------------------------------------------------

def test_a_deleted_file_is_gone(host, workspace):
    (workspace / "f").write_text("x")
    assert host.text("file_delete", path="f") == f"Deleted {workspace}/f"
    assert os.listdir(workspace) == []


@pytest.mark.parametrize("path", ["nope", "no/such/parent"])
def test_deleting_what_is_not_there_is_no_error(host, workspace, path):
    """P11."""
    assert host.text("file_delete", path=path) == f"Deleted {workspace}/{path}"
    assert os.listdir(workspace) == []


@pytest.mark.parametrize("filled", [False, True])
def test_a_directory_is_not_deleted(host, workspace, filled):
    """P11."""
    (workspace / "d").mkdir()
    if filled:
        (workspace / "d" / "f").write_text("x")
    assert host.failure("file_delete", path="d") == f"Error: {workspace}/d: Is a directory"
    assert (workspace / "d").is_dir()


@pytest.mark.parametrize("target", ["d", "d/f", "nowhere", "link"])
def test_of_a_link_only_the_link_is_deleted(host, workspace, target):
    """P11."""
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("x")
    os.symlink(target, workspace / "link")
    assert host.text("file_delete", path="link") == f"Deleted {workspace}/link"
    assert os.listdir(workspace) == ["d"] and (workspace / "d" / "f").read_text() == "x"


def test_a_file_in_a_directory_that_may_not_be_written_stays(server, other):
    (other.root / "d").mkdir()
    (other.root / "d" / "f").write_text("x")
    other.own(other.root / "d", other.root / "d" / "f")
    (other.root / "d").chmod(0o555)
    s = other.start(server)
    assert s.failure("file_delete", path="d/f") == f"Error: [Errno 13] Permission denied: '{other.root}/d/f'"
    assert (other.root / "d" / "f").exists()


def test_a_large_file_is_deleted_without_holding_up_pings(host, workspace):
    with open(workspace / "f", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, 1 << 30)
    id = host.start_call("file_delete", path="f")
    slowest, _ = worst_ping(host, id)
    assert not host.wait(id)["result"]["isError"]
    assert slowest < PING_MS * busy()
    assert os.listdir(workspace) == []
    assert host.zombies() == []


# -- making directories ---------------------------------------------------------------------------

def test_a_directory_is_made_with_its_parents(host, workspace):
    assert host.text("file_mkdir", path="a/b/c") == f"Created directory {workspace}/a/b/c"
    assert (workspace / "a/b/c").is_dir()
    assert stat.S_IMODE(os.stat(workspace / "a").st_mode) == 0o777 & ~current_umask()


def current_umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_a_directory_that_is_there_is_no_error(host, workspace):
    (workspace / "d").mkdir()
    os.symlink("d", workspace / "link")
    assert host.text("file_mkdir", path="d") == f"Created directory {workspace}/d"
    assert host.text("file_mkdir", path="link") == f"Created directory {workspace}/link"
    assert os.path.islink(workspace / "link")


def test_a_file_in_the_way_is_an_error(host, workspace):
    (workspace / "f").write_text("x")
    assert host.failure("file_mkdir", path="f") == f"Error: {workspace}/f: File exists"
    assert host.failure("file_mkdir", path="f/d") == f"Error: {workspace}/f/d: Not a directory"
    assert (workspace / "f").read_text() == "x"


# -- names ----------------------------------------------------------------------------------------

NAMES = [b"n\nl", b"tab\there", b"cr\rhere", b"bell\x07", b"\x7f", b"\xff", b"half \xe2\x82", b"back\\slash", b"\\n",
         b"mix\\\n\xff", b"\\x41", b"\xed\xa0\x80"]
ESCAPED = ["n\\nl", "tab\\there", "cr\\rhere", "bell\\x07", "\\x7f", "\\xff", "half \\xe2\\x82", "back\\\\slash",
           "\\\\n", "mix\\\\\\n\\xff", "\\\\x41", "\\xed\\xa0\\x80"]


@pytest.mark.parametrize("name, escaped", list(zip(NAMES, ESCAPED)), ids=range(len(NAMES)))
def test_a_name_is_listed_in_a_form_that_every_tool_takes(host, workspace, name, escaped):
    """P7, fault 60."""
    root = os.fsencode(workspace)
    os.mkdir(os.path.join(root, name))
    with open(os.path.join(root, name, name), "wb") as f:
        f.write(b"found")
    listed = host.text("file_list", recursive=True).split("\n")
    assert listed == [str(workspace), f"{workspace}/{escaped}", f"{workspace}/{escaped}/{escaped}"]
    assert host.text("file_list", path=escaped).splitlines()[-1].endswith(" " + escaped)
    path = listed[-1]
    assert host.text("file_read", path=path) == "found"
    host.text("file_write", path=path, content="again")
    assert host.text("file_list", path=path).endswith(f" {path}\n")
    assert host.text("file_list", path=listed[1], recursive=True) == "\n".join(listed[1:])
    assert host.text("file_mkdir", path=listed[1]) == f"Created directory {listed[1]}"
    host.text("file_move", source=path, dest=f"{escaped}/plain")
    with open(os.path.join(root, name, b"plain"), "rb") as f:
        assert f.read() == b"again"
    host.text("file_move", source=f"{escaped}/plain", dest=path.replace("plain", escaped))
    host.text("file_delete", path=f"{listed[1]}/{escaped}")
    host.text("file_delete", path=f"{listed[1]}/plain")
    assert len(os.listdir(root)) == 1


def test_a_name_that_exists_as_written_wins_over_its_unescaped_form(host, workspace):
    (workspace / "a\\nb").write_text("with a backslash")
    (workspace / "a\nb").write_text("with a newline")
    assert host.text("file_read", path="a\\nb") == "with a backslash"
    assert host.text("file_read", path="a\\\\nb") == "with a backslash"
    assert host.text("file_read", path="a\nb") == "with a newline"


def test_a_new_name_with_a_backslash_is_taken_as_written(host, workspace):
    host.text("file_write", path="new\\nname", content="x")
    assert os.listdir(workspace) == ["new\\nname"]


@pytest.mark.parametrize("path", ["\\x2e\\x2e/x", "d\\x2fx", "\\x2e\\x2e", "\\x66", "\\xFF", "\\x", "\\"])
def test_only_what_listings_write_is_unescaped(host, workspace, path):
    """Escapes are no way to write dots, slashes or plain letters."""
    (workspace / "f").write_text("x")
    (workspace / "d").mkdir()
    with open(os.path.join(os.fsencode(workspace), b"\xff"), "wb"):
        pass
    assert host.failure("file_read", path=path) == f"Error: {workspace}/{path}: No such file or directory"


def test_an_escaped_name_longer_than_a_name_may_be_is_found(host, workspace):
    name = b"\n" * 255
    with open(os.path.join(os.fsencode(workspace), name), "wb") as f:
        f.write(b"long")
    assert host.text("file_read", path="\\n" * 255) == "long"
