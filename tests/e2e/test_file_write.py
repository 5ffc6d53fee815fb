"""Writing files: the new content or the old one, never something between; and what else a file has stays with it."""

import errno
import json
import os
import stat
import subprocess
import threading
import time

import pytest

from fshelp import NOBODY, PING_MS, OtherUser, mounts, refusing, seen_by, worst_ping
from mcpwire import wait_until
from process import busy

MIB = 1 << 20
SIZES = [0, 1, 200_000, 300_000, 3 * MIB]       # above 256 KiB a worker writes
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: changes owners")


def names(directory):
    return sorted(os.listdir(directory))


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.fixture
def other(binary):
    user = OtherUser(binary)
    yield user
    user.remove()


# -- new files ------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", SIZES)
def test_a_new_file_holds_exactly_what_was_given_and_nothing_is_left_beside_it(host, workspace, size):
    content = ("0123456789abcde\n" * (size // 16 + 1))[:size]
    assert host.text("file_write", path="f", content=content) == f"Written {size} bytes to {workspace}/f"
    assert (workspace / "f").read_text() == content
    assert names(workspace) == ["f"]


def test_bytes_are_counted_not_characters(host, workspace):
    """Fault 14."""
    assert host.text("file_write", path="f", content="€😀") == f"Written 7 bytes to {workspace}/f"


def test_escaped_lone_surrogates_are_refused(host, workspace):
    host.send_raw(b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"file_write","arguments":'
                  b'{"path":"f","content":"a\\ud800b"}}}\n')
    result = host.wait("s")["result"]
    assert result["isError"] and "content" in result["content"][0]["text"]
    assert names(workspace) == []


def test_dollar_signs_and_backslashes_are_literal(host, workspace):
    """P4."""
    host.text("file_write", path="f", content="$& $1 \\1 %s ${HOME} `id`")
    assert (workspace / "f").read_text() == "$& $1 \\1 %s ${HOME} `id`"


def test_missing_parents_are_made(host, workspace):
    host.text("file_write", path="a/b/c/f", content="x")
    assert (workspace / "a/b/c/f").read_text() == "x"


@pytest.mark.parametrize("umask, file_mode, dir_mode", [
    (0o022, 0o644, 0o755), (0o077, 0o600, 0o700), (0, 0o666, 0o777)])
def test_new_files_and_directories_obey_the_umask(server, workspace, umask, file_mode, dir_mode):
    s = server(wrap=["sh", "-c", f'umask {umask:o}; exec "$@"', "sh"])
    s.text("file_write", path="d/small", content="x")
    s.text("file_write", path="d/large", content="x" * 300_000)
    assert (mode(workspace / "d"), mode(workspace / "d/small"), mode(workspace / "d/large")) == (
        dir_mode, file_mode, file_mode)


def test_a_request_of_many_megabytes_is_written(host, workspace):
    """P9, decision 39: the content is as large as a request may be."""
    content = "0123456789abcdef" * (15 * MIB // 16)
    host.text("file_write", path="f", content=content)
    assert (workspace / "f").stat().st_size == len(content)


# -- files that are there -------------------------------------------------------------------------

@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("old", [0o755, 0o600, 0o640, 0o666, 0o4755, 0o2775, 0o6711])
def test_the_mode_stays_without_set_id_bits(host, workspace, size, old):
    """P3: a 0755 script stays one; set-user-id and set-group-id are dropped."""
    (workspace / "f").write_text("old")
    (workspace / "f").chmod(old)
    os.utime(workspace / "f", (1, 1))
    before = os.stat(workspace / "f")
    host.text("file_write", path="f", content="x" * size)
    assert mode(workspace / "f") == old & 0o777
    assert os.stat(workspace / "f").st_ino != before.st_ino
    assert os.stat(workspace / "f").st_mtime > time.time() - 60
    assert names(workspace) == ["f"]


@as_root
@pytest.mark.parametrize("size", SIZES)
def test_the_owner_stays_where_that_is_allowed(host, workspace, size):
    """P3."""
    (workspace / "f").write_text("old")
    os.chown(workspace / "f", 1234, 2345)
    host.text("file_write", path="f", content="x" * size)
    st = os.stat(workspace / "f")
    assert (st.st_uid, st.st_gid) == (1234, 2345)


@as_root
def test_where_the_owner_cannot_stay_no_stranger_gains_a_right(server, other):
    """Another user's file that we may write, in our directory: it becomes ours, its group's rights become others'."""
    path = other.root / "f"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    path.chmod(0o666)
    os.chmod(path, 0o676)
    s = other.start(server)
    s.text("file_write", path="f", content="new")
    st = os.stat(path)
    assert (st.st_uid, st.st_gid, path.read_text()) == (NOBODY, NOBODY, "new")
    assert stat.S_IMODE(st.st_mode) == 0o666


@pytest.mark.parametrize("size", SIZES)
def test_extended_attributes_stay(host, workspace, size):
    (workspace / "f").write_text("old")
    try:
        os.setxattr(workspace / "f", "user.note", b"kept \0 whole")
    except OSError:
        pytest.skip("the tests lie on a file system without attributes of users")
    os.setxattr(workspace / "f", "user.empty", b"")
    host.text("file_write", path="f", content="x" * size)
    assert sorted(os.listxattr(workspace / "f")) == ["user.empty", "user.note"]
    assert os.getxattr(workspace / "f", "user.note") == b"kept \0 whole"


@as_root
def test_a_program_with_capabilities_loses_them_when_it_is_rewritten(host, workspace):
    (workspace / "f").write_text("old")
    os.setxattr(workspace / "f", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
    host.text("file_write", path="f", content="new")
    assert os.listxattr(workspace / "f") == []


@pytest.mark.parametrize("size", SIZES)
def test_a_link_is_followed_and_stays(host, workspace, size):
    """P3, decision 27."""
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("old")
    (workspace / "d" / "f").chmod(0o750)
    os.symlink("d/f", workspace / "link")
    assert host.text("file_write", path="link", content="x" * size) == f"Written {size} bytes to {workspace}/link"
    assert os.readlink(workspace / "link") == "d/f"
    assert (workspace / "d" / "f").read_text() == "x" * size
    assert mode(workspace / "d" / "f") == 0o750
    assert names(workspace / "d") == ["f"]


@pytest.mark.parametrize("size", SIZES)
def test_a_file_with_other_hard_links_is_written_in_place(host, workspace, size):
    """P3, decision 27."""
    (workspace / "f").write_text("old and longer than the new")
    os.link(workspace / "f", workspace / "g")
    inode = os.stat(workspace / "f").st_ino
    host.text("file_write", path="f", content="x" * size)
    assert (workspace / "g").read_text() == "x" * size
    assert os.stat(workspace / "f").st_ino == os.stat(workspace / "g").st_ino == inode
    assert names(workspace) == ["f", "g"]


def test_writing_in_place_drops_set_id_bits_too(host, workspace):
    (workspace / "f").write_text("old")
    os.link(workspace / "f", workspace / "g")
    (workspace / "f").chmod(0o6755)
    host.text("file_write", path="f", content="new")
    assert mode(workspace / "g") == 0o755


@pytest.mark.parametrize("size", SIZES)
def test_a_writable_file_in_a_directory_that_is_not_is_written_in_place(server, other, size):
    """Decision 27."""
    (other.root / "d").mkdir()
    (other.root / "d" / "f").write_text("old")
    other.own(other.root / "d" / "f", other.root / "d")
    (other.root / "d").chmod(0o555)
    inode = os.stat(other.root / "d" / "f").st_ino
    s = other.start(server)
    s.text("file_write", path="d/f", content="x" * size)
    assert (other.root / "d" / "f").read_text() == "x" * size
    assert os.stat(other.root / "d" / "f").st_ino == inode
    expected = f"Error: [Errno 13] Permission denied: '{other.root}/d/new'"
    assert s.failure("file_write", path="d/new", content="x") == expected


@as_root
def test_another_users_file_in_a_sticky_directory_is_written_in_place(server, other):
    (other.root / "d").mkdir()
    (other.root / "d" / "f").write_text("old")
    (other.root / "d").chmod(0o1777)
    (other.root / "d" / "f").chmod(0o666)
    s = other.start(server)
    s.text("file_write", path="d/f", content="new")
    assert (other.root / "d" / "f").read_text() == "new"
    assert os.stat(other.root / "d" / "f").st_uid == 0
    assert names(other.root / "d") == ["f"]


def test_a_file_that_may_not_be_written_is_not_replaced(server, other):
    (other.root / "f").write_text("old")
    (other.root / "f").chmod(0o444)
    other.own(other.root / "f")
    s = other.start(server)
    assert s.failure("file_write", path="f", content="new") == f"Error: [Errno 13] Permission denied: '{other.root}/f'"
    assert (other.root / "f").read_text() == "old"
    assert names(other.root) == ["f"]


@pytest.mark.parametrize("size", SIZES)
def test_a_single_mounted_file_is_written_in_place(server, workspace, tmp_path, size):
    """Decision 27: as containers mount their configuration."""
    (tmp_path / "source").write_text("old and longer than the new")
    (workspace / "f").write_text("what the mount hides")
    s = server(wrap=mounts(f'mount --bind {tmp_path}/source "$W/f"'))
    s.text("file_write", path="f", content="x" * size)
    assert s.text("file_list", path="f").endswith(f"{workspace}/f\n")
    assert (tmp_path / "source").read_text() == "x" * size
    assert (workspace / "f").read_text() == "what the mount hides"
    assert names(workspace) == ["f"]


def test_a_running_program_can_be_replaced(host, workspace):
    with open("/bin/sleep", "rb") as program:
        (workspace / "f").write_bytes(program.read())
    (workspace / "f").chmod(0o755)
    with subprocess.Popen([workspace / "f", "60"]) as child:
        try:
            wait_until(lambda: os.readlink(f"/proc/{child.pid}/exe") == str(workspace / "f"), "sleep to run")
            host.text("file_write", path="f", content="#!/bin/sh\n")
            assert (workspace / "f").read_text() == "#!/bin/sh\n"
            assert mode(workspace / "f") == 0o755
        finally:
            child.kill()


# -- what cannot be written -----------------------------------------------------------------------

def test_a_directory_and_a_file_as_parent_are_refused(host, workspace):
    (workspace / "d").mkdir()
    (workspace / "f").write_text("old")
    assert host.failure("file_write", path="d", content="x") == f"Error: {workspace}/d: Is a directory"
    assert host.failure("file_write", path="f/x", content="x") == f"Error: {workspace}/f/x: Not a directory"
    assert names(workspace) == ["d", "f"] and (workspace / "f").read_text() == "old"


@pytest.mark.parametrize("size", [900_000, 5 * MIB])
def test_on_a_full_disk_the_old_file_stays(server, workspace, size):
    """Fault 20."""
    s = server(wrap=mounts('mkdir -p "$W/disk"; mount -t tmpfs -o size=1m none "$W/disk"; echo old > "$W/disk/f"; '
                           'head -c 600000 /dev/zero > "$W/disk/ballast"'))
    assert s.failure("file_write", path="disk/f", content="x" * size) == (
        f"Error: {workspace}/disk/f: No space left on device")
    assert s.text("file_read", path="disk/f") == "old\n"
    assert names(seen_by(s, workspace / "disk")) == ["ballast", "f"]
    assert s.failure("file_write", path="disk/new", content="x" * size).endswith("No space left on device")
    assert names(seen_by(s, workspace / "disk")) == ["ballast", "f"]


@pytest.mark.parametrize("error, said", [
    (None, "No space left on device"), ("EDQUOT", "Quota exceeded"), ("EOPNOTSUPP", "No space left on device"),
])
def test_on_a_full_disk_a_file_with_hard_links_keeps_its_old_content(server, workspace, error, said):
    """Written in place, the room is taken before the first byte; also under a quota, and where it cannot be set aside."""
    wrap = mounts('mkdir -p "$W/disk"; mount -t tmpfs -o size=1m none "$W/disk"; echo old > "$W/disk/f"; '
                  'ln "$W/disk/f" "$W/disk/g"')
    s = server(wrap=wrap + (refusing(fallocate=getattr(errno, error)) if error else []))
    assert s.failure("file_write", path="disk/f", content="x" * 2 * MIB).endswith(said)
    assert s.text("file_read", path="disk/g") == "old\n"


def test_over_a_quota_that_is_told_late_a_file_with_hard_links_keeps_its_old_content(server, workspace):
    """As NFS tells it, when what was written is synced."""
    (workspace / "f").write_text("old")
    os.link(workspace / "f", workspace / "g")
    s = server(wrap=refusing(fallocate=errno.EOPNOTSUPP, fsync=errno.EDQUOT))
    assert s.failure("file_write", path="f", content="new and longer") == f"Error: {workspace}/f: Quota exceeded"
    assert (workspace / "g").read_text() == "old"


def test_a_file_size_limit_is_an_error_and_not_the_end(server, workspace):
    (workspace / "f").write_text("old")
    s = server(wrap=["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"])
    for size in (200_000, 2 * MIB):
        assert s.failure("file_write", path="f", content="x" * size) == f"Error: {workspace}/f: File too large"
        assert (workspace / "f").read_text() == "old"
        assert names(workspace) == ["f"]


@pytest.mark.parametrize("what", ["directory", "file"])
def test_on_a_read_only_file_system_nothing_is_lost(server, workspace, what):
    s = server(wrap=mounts('mkdir -p "$W/disk"; mount -t tmpfs none "$W/disk"; echo old > "$W/disk/f"; '
                           'mount -o remount,bind,ro "$W/disk"'))
    path = "disk/f" if what == "file" else "disk/new"
    assert s.failure("file_write", path=path, content="x") == f"Error: {workspace}/{path}: Read-only file system"
    assert s.text("file_read", path="disk/f") == "old\n"


# -- meanwhile ------------------------------------------------------------------------------------

def test_a_reader_sees_the_old_file_or_the_new_one(host, workspace):
    """Fault 20."""
    texts = ["a" * 400_000, "b" * 900_000, "c" * 10]
    host.text("file_write", path="f", content=texts[0])
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            seen.add((workspace / "f").read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(40):
            host.text("file_write", path="f", content=texts[n % 3])
    finally:
        stop.set()
        reader.join()
    assert seen <= set(texts) and len(seen) > 1


def test_writes_to_one_file_at_once_leave_one_of_them_whole(host, workspace):
    contents = [chr(ord("a") + n) * (250_000 + 5000 * n) for n in range(8)]
    ids = [host.start_call("file_write", path="f", content=content) for content in contents]
    assert all(not host.wait(id)["result"]["isError"] for id in ids)
    assert (workspace / "f").read_text() in contents
    assert names(workspace) == ["f"]


def test_pings_are_answered_while_large_files_are_written(host, workspace):
    content = "x" * (15 * MIB)
    ids = [host.start_call("file_write", path=f"f{n}", content=content) for n in range(3)]
    slowest = max(worst_ping(host, id)[0] for id in ids)
    assert slowest < PING_MS * busy()


def test_a_cancelled_write_leaves_the_old_file_and_nothing_beside_it(host, workspace):
    (workspace / "f").write_text("old")
    content = "x" * (15 * MIB)
    for n in range(5):
        id = host.start_call("file_write", path="f", content=content)
        host.cancel(id)
        host.fence()
        time.sleep(0.01 * n)
    wait_until(lambda: not host.descendants(), "the workers to end")
    host.fence()
    assert names(workspace) == ["f"]
    assert (workspace / "f").read_text() in ("old", content)


def test_a_cancelled_write_in_place_is_finished(host, workspace):
    """A file half old, half new would be the worst of all."""
    (workspace / "f").write_text("old")
    os.link(workspace / "f", workspace / "g")
    content = "x" * (15 * MIB)
    host.cancel(host.start_call("file_write", path="f", content=content))
    wait_until(lambda: (workspace / "g").stat().st_size in (3, len(content)), "the write to end")
    host.fence()
    wait_until(lambda: not host.descendants(), "the worker to end")
    assert (workspace / "g").read_text() in ("old", content)


def test_descriptors_do_not_pile_up(host, workspace):
    (workspace / "d").mkdir()
    host.text("file_write", path="f", content="x")
    before = host.fd_count()
    for n in range(30):
        host.text("file_write", path="f", content="x" * (n % 2 * 300_000))
        host.failure("file_write", path="d", content="x")
        host.failure("file_read", path="f/x")
        host.text("file_list")
        host.text("file_list", recursive=True)
        host.text("file_move", source="f", dest="g")
        host.text("file_move", source="g", dest="f")
    wait_until(lambda: host.fd_count() == before and host.zombies() == [], "all is closed and collected")


def test_json_text_is_written_as_the_text_it_is(host, workspace):
    """Decision 3: strings are never touched."""
    content = json.dumps({"a": [1, "x\ny"]})
    host.text("file_write", path="f.json", content=content)
    assert (workspace / "f.json").read_text() == content
