"""Moving: what goes where, and that between file systems nothing is lost on the way."""

import errno
import os
import signal
import stat
import threading
import time

import pytest

from fshelp import PING_MS, OtherUser, mounts, outside, refusing, seen_by, start_and_stop, worst_ping
from mcpwire import first_text, wait_until
from process import busy

MIB = 1 << 20
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: changes owners, makes devices")

# The two directions between the disk and a tmpfs mounted at `disk`.
DISK = mounts('mkdir -p "$W/disk"; mount -t tmpfs -o size=900m none "$W/disk"')
SMALL_DISK = mounts('mkdir -p "$W/disk"; mount -t tmpfs -o size=4m none "$W/disk"')


@pytest.fixture
def other(binary):
    user = OtherUser(binary)
    yield user
    user.remove()


@pytest.fixture
def disk(server):
    """A server with another file system mounted at `disk`."""
    return server(wrap=DISK)


def names(directory):
    return sorted(os.listdir(directory))


def moved(root, source, dest):
    return f"Moved {root}/{source} → {root}/{dest}"


# -- names ----------------------------------------------------------------------------------------

def test_a_file_gets_its_new_name(host, workspace):
    (workspace / "a").write_text("x")
    inode = os.stat(workspace / "a").st_ino
    assert host.text("file_move", source="a", dest="b") == moved(workspace, "a", "b")
    assert names(workspace) == ["b"] and os.stat(workspace / "b").st_ino == inode


def test_parents_of_the_destination_are_made(host, workspace):
    (workspace / "a").write_text("x")
    assert host.text("file_move", source="a", dest="p/q/b") == moved(workspace, "a", "p/q/b")
    assert (workspace / "p/q/b").read_text() == "x"


def test_a_missing_source_is_an_error_and_makes_nothing(host, workspace):
    assert host.failure("file_move", source="nope", dest="p/q") == f"Error: {workspace}/nope: No such file or directory"
    assert names(workspace) == []


def test_an_existing_file_is_replaced(host, workspace):
    (workspace / "a").write_text("new")
    (workspace / "b").write_text("old")
    assert host.text("file_move", source="a", dest="b") == moved(workspace, "a", "b")
    assert names(workspace) == ["b"] and (workspace / "b").read_text() == "new"


@pytest.mark.parametrize("dest", ["d", "d/", "./d/.", "link"])
def test_into_a_directory_the_name_is_kept_and_the_text_names_the_final_path(host, workspace, dest):
    """Fault 58."""
    (workspace / "d").mkdir()
    os.symlink("d", workspace / "link")
    (workspace / "a").write_text("x")
    (workspace / "sub").mkdir()
    shown = dest.replace("./", "").rstrip("/.")
    assert host.text("file_move", source="a", dest=dest) == moved(workspace, "a", f"{shown}/a")
    assert host.text("file_move", source="sub", dest=dest) == moved(workspace, "sub", f"{shown}/sub")
    assert names(workspace / "d") == ["a", "sub"] and os.path.islink(workspace / "link")


def test_into_the_root_the_name_is_kept(host, workspace):
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("x")
    assert host.text("file_move", source="d/a", dest="") == moved(workspace, "d/a", "a")


@pytest.mark.parametrize("there", ["file", "directory", "link"])
def test_into_a_directory_nothing_is_replaced(host, workspace, there):
    (workspace / "d").mkdir()
    (workspace / "a").write_text("x")
    if there == "file":
        (workspace / "d" / "a").write_text("old")
    elif there == "directory":
        (workspace / "d" / "a").mkdir()
    else:
        os.symlink("nowhere", workspace / "d" / "a")
    assert host.failure("file_move", source="a", dest="d") == (
        f"Error: Destination path '{workspace}/d/a' already exists")
    assert (workspace / "a").read_text() == "x"


@pytest.mark.parametrize("dest", ["a/b", "a/b/new", "a/new"])
def test_a_directory_is_not_moved_into_itself(host, workspace, dest):
    (workspace / "a" / "b").mkdir(parents=True)
    assert host.failure("file_move", source="a", dest=dest) == (
        f"Error: Cannot move a directory '{workspace}/a' into itself '{workspace}/{dest}'.")
    assert (workspace / "a" / "b").is_dir()


def test_a_path_moved_onto_itself_stays(host, workspace):
    (workspace / "d").mkdir()
    (workspace / "a").write_text("x")
    assert host.text("file_move", source="a", dest="a") == moved(workspace, "a", "a")
    assert host.text("file_move", source="d", dest="d") == moved(workspace, "d", "d")
    assert names(workspace) == ["a", "d"] and (workspace / "a").read_text() == "x"


def test_a_directory_does_not_replace_a_file(host, workspace):
    (workspace / "d").mkdir()
    (workspace / "a").write_text("x")
    assert host.failure("file_move", source="d", dest="a") == f"Error: {workspace}/a: Not a directory"
    assert names(workspace) == ["a", "d"]


@pytest.mark.parametrize("target", ["nowhere", "/etc/passwd", "f", "d"])
def test_a_link_is_moved_itself_wherever_it_leads(host, workspace, target):
    """Fault 58: a dangling one, too."""
    (workspace / "f").write_text("x")
    (workspace / "d").mkdir()
    os.symlink(target, workspace / "link")
    assert host.text("file_move", source="link", dest="new") == moved(workspace, "link", "new")
    assert os.readlink(workspace / "new") == target
    assert names(workspace) == ["d", "f", "new"]


@pytest.mark.parametrize("target", ["f", "nowhere"])
def test_a_link_at_the_destination_is_replaced_itself(host, workspace, target):
    (workspace / "f").write_text("x")
    (workspace / "a").write_text("new")
    os.symlink(target, workspace / "link")
    assert host.text("file_move", source="a", dest="link") == moved(workspace, "a", "link")
    assert not os.path.islink(workspace / "link") and (workspace / "link").read_text() == "new"
    assert (workspace / "f").read_text() == "x"


# -- permission -----------------------------------------------------------------------------------

@pytest.mark.parametrize("closed", ["source", "dest"])
def test_the_path_that_is_denied_is_named_and_nothing_has_changed(server, other, closed):
    """Fault 57."""
    for name in ("source", "dest"):
        (other.root / name).mkdir()
    (other.root / "source" / "f").write_text("x")
    other.own(other.root / "source", other.root / "dest", other.root / "source" / "f")
    (other.root / closed).chmod(0o555)
    s = other.start(server)
    denied = "source/f" if closed == "source" else "dest/g"
    assert s.failure("file_move", source="source/f", dest="dest/g") == (
        f"Error: [Errno 13] Permission denied: '{other.root}/{denied}'")
    assert names(other.root / "source") == ["f"] and names(other.root / "dest") == []


# -- between file systems -------------------------------------------------------------------------

def make_tree(top):
    """A tree with one of everything; the modes are such that it can be removed again."""
    (top / "sub" / "empty").mkdir(parents=True)
    (top / "sub" / "text").write_bytes(b"text\r\n\xff\0")
    (top / "sub" / "text").chmod(0o640)
    (top / "script").write_text("#!/bin/sh\n")
    (top / "script").chmod(0o755)
    (top / "unreadable name \n\\").write_text("")
    with open(os.fsencode(top) + b"/\xff", "wb"):
        pass
    (top / "large").write_bytes(os.urandom(3 * MIB + 17))
    with open(top / "sparse", "wb") as f:
        f.truncate(40 * MIB)
        f.seek(20 * MIB)
        f.write(b"island")
    os.symlink("sub/text", top / "link")
    os.symlink("/nowhere", top / "dangling")
    os.mkfifo(top / "fifo", 0o620)
    if keeps_attributes(top):
        os.setxattr(top / "script", "user.note", b"kept")
    os.utime(top / "script", ns=(10 ** 18, 10 ** 18 + 5))
    (top / "sub").chmod(0o2750)
    os.utime(top / "sub", ns=(10 ** 18, 10 ** 18 + 7))
    os.utime(top / "link", ns=(10 ** 18, 10 ** 18 + 9), follow_symlinks=False)


def keeps_attributes(directory):
    """Does its file system keep attributes of users? tmpfs does since Linux 6.6."""
    try:
        os.setxattr(directory, "user.try", b"")
    except OSError:
        return False
    os.removexattr(directory, "user.try")
    return True


def picture(top, attributes=True):
    """Everything about a tree that must survive."""
    seen = {}
    for directory, _, files in os.walk(os.fsencode(top)):
        for path in [directory] + [os.path.join(directory, f) for f in files]:
            st = os.lstat(path)
            content = None
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    content = f.read()
            elif stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            noted = [n for n in os.listxattr(path, follow_symlinks=False) if n.startswith("user.") and attributes]
            seen[os.path.relpath(path, os.fsencode(top))] = (
                st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, content, {n: os.getxattr(path, n) for n in noted})
    return seen


def test_a_tree_arrives_as_it_was_and_comes_back(disk, workspace):
    make_tree(workspace / "tree")
    there = seen_by(disk, workspace / "disk")
    attributes = keeps_attributes(there)
    before = picture(workspace / "tree", attributes)
    assert disk.text("file_move", source="tree", dest="disk") == moved(workspace, "tree", "disk/tree")
    assert picture(there / "tree") == before
    assert os.stat(there / "tree" / "sparse").st_blocks < 2000
    assert names(workspace) == ["disk"] and names(there) == ["tree"]
    assert disk.text("file_move", source="disk/tree", dest="back/again") == moved(workspace, "disk/tree", "back/again")
    assert picture(workspace / "back" / "again", attributes) == before
    assert names(there) == []


@as_root
def test_owners_and_devices_arrive_too(disk, workspace):
    (workspace / "d").mkdir()
    for n, name in enumerate(("f", "g")):
        (workspace / "d" / name).write_text(name)
        os.chown(workspace / "d" / name, 1000 + n, 2000 + n)
        (workspace / "d" / name).chmod(0o4750)
    os.mknod(workspace / "d" / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chmod(workspace / "d" / "null", 0o666)
    os.symlink("f", workspace / "d" / "link")
    os.lchown(workspace / "d" / "link", 1005, 1006)
    before = picture(workspace / "d")
    disk.text("file_move", source="d", dest="disk/d")
    assert picture(seen_by(disk, workspace / "disk") / "d") == before
    assert os.stat(seen_by(disk, workspace / "disk") / "d" / "null").st_rdev == os.makedev(1, 3)


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "empty directory"])
def test_a_single_thing_moves_across(disk, workspace, kind):
    path = workspace / "it"
    if kind == "file":
        path.write_text("x")
        path.chmod(0o751)
    elif kind == "link":
        os.symlink("nowhere", path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    before = os.lstat(path)
    assert disk.text("file_move", source="it", dest="disk/p/new") == moved(workspace, "it", "disk/p/new")
    there = seen_by(disk, workspace / "disk" / "p")
    after = os.lstat(there / "new")
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)
    assert names(there) == ["new"] and names(workspace) == ["disk"]


def test_across_file_systems_a_file_is_replaced_and_a_directory_is_gone_into(disk, workspace):
    (workspace / "a").write_text("new")
    disk.text("file_write", path="disk/b", content="old")
    disk.text("file_mkdir", path="disk/d")
    disk.text("file_write", path="disk/d/a", content="old")
    assert disk.failure("file_move", source="a", dest="disk/d") == (
        f"Error: Destination path '{workspace}/disk/d/a' already exists")
    assert disk.text("file_move", source="a", dest="disk/b") == moved(workspace, "a", "disk/b")
    there = seen_by(disk, workspace / "disk")
    assert (there / "b").read_text() == "new" and names(there) == ["b", "d"] and names(workspace) == ["disk"]


def test_across_file_systems_a_directory_does_not_replace_a_file(disk, workspace):
    (workspace / "d").mkdir()
    disk.text("file_write", path="disk/f", content="old")
    assert disk.failure("file_move", source="d", dest="disk/f") == f"Error: {workspace}/disk/f: Not a directory"
    assert names(seen_by(disk, workspace / "disk")) == ["f"]


@pytest.mark.parametrize("what", ["file", "tree"])
def test_when_the_disk_is_full_the_source_stays_and_nothing_of_the_copy(server, workspace, what):
    """Fault 57."""
    s = server(wrap=SMALL_DISK)
    (workspace / "d").mkdir()
    (workspace / "d" / "small").write_text("x")
    (workspace / "d" / "large").write_bytes(os.urandom(6 * MIB))
    before = picture(workspace / "d")
    source = "d/large" if what == "file" else "d"
    assert s.failure("file_move", source=source, dest="disk/new") == (
        f"Error: {workspace}/disk/new: No space left on device")
    assert picture(workspace / "d") == before
    assert names(seen_by(s, workspace / "disk")) == []
    s.text("file_write", path="disk/new", content="old")
    assert s.failure("file_move", source="d/large", dest="disk/new").endswith("No space left on device")
    assert s.text("file_read", path="disk/new") == "old"


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO"])
def test_a_disk_that_is_full_only_when_it_is_synced_takes_no_source_away(server, workspace, error):
    """As NFS and FUSE are: all was written and nothing stored, and the source was removed."""
    number = getattr(errno, error)
    (workspace / "f").write_text("the only copy")
    (workspace / "d").mkdir()
    (workspace / "d" / "g").write_text("the only copy")
    s = server(wrap=[*DISK, *refusing(fsync=number, syncfs=number)])
    for name in ("f", "d"):
        assert s.failure("file_move", source=name, dest="disk/new").startswith(f"Error: {workspace}/disk/new: ")
    assert (workspace / "f").read_text() == (workspace / "d" / "g").read_text() == "the only copy"
    assert names(seen_by(s, workspace / "disk")) == []


def test_a_directory_that_came_with_the_image_of_a_container_is_moved(server, workspace):
    """overlayfs renames none: the text said that it was outside of the root. Without overlayfs it is a move as any other."""
    s = server(wrap=mounts('mkdir "$W/all" "$W/of"; cd "$W/of"; mount -t tmpfs none .; cd "$W/of"; mkdir -p low/d/e up tmp; '
                           'echo x > low/d/e/f; echo y > low/g; '
                           'mount -t overlay none -o lowerdir=low,upperdir=up,workdir=tmp "$W/all" || cp -r low/. "$W/all"'))
    assert s.text("file_move", source="all/d", dest="all/new") == moved(workspace, "all/d", "all/new")
    assert s.text("file_move", source="all/new/e", dest="all") == moved(workspace, "all/new/e", "all/e")
    assert s.text("file_read", path="all/e/f") == "x\n"
    assert names(seen_by(s, workspace / "all")) == ["e", "g", "new"]
    assert s.failure("file_move", source="all/e", dest="all/g") == f"Error: {workspace}/all/g: Not a directory"
    assert names(seen_by(s, workspace / "all")) == ["e", "g", "new"]


@pytest.mark.parametrize("closed", [".", "sub", "unreadable"])
def test_a_source_that_could_not_be_removed_is_not_copied(server, other, closed):
    """Fault 57: the reference leaves the copy behind."""
    tree = other.root / "tree"
    (tree / "d" / "sub").mkdir(parents=True)
    (tree / "d" / "sub" / "f").write_text("x")
    other.own(tree, tree / "d", tree / "d" / "sub", tree / "d" / "sub" / "f")
    if closed == "unreadable":
        (tree / "d" / "sub" / "f").chmod(0)
    else:
        (tree if closed == "." else tree / "d" / "sub").chmod(0o555)
    s = server_with_shm(server, other)
    try:
        assert s.failure("file_move", source="tree/d", dest="shm/d") == (
            f"Error: [Errno 13] Permission denied: '{other.root}/tree/d'")
        assert names(other.root / "shm") == []
        assert names(tree) == ["d"] and names(tree / "d" / "sub") == ["f"]
    finally:
        (tree / "d" / "sub" / "f").chmod(0o600)


def server_with_shm(server, other):
    """A server of another user whose workspace has a tmpfs at `shm`: mounted as root before the user is changed."""
    (other.root / "shm").mkdir()
    other.own(other.root / "shm")
    user = ["setpriv", "--bounding-set=-all"]       # root of its own namespace: without the rights of one
    if os.geteuid() == 0:
        user = ["setpriv", f"--reuid={other.uid}", f"--regid={other.uid}", "--clear-groups"]
    wrap = mounts('mount -t tmpfs -o mode=777 none "$W/shm"')
    return server(wrap=[*wrap, *user, "sh", "-c", 'own=$1; shift 2; exec "$own" "$@"', "sh", str(other._binary)],
                  root=other.root)


def test_a_mount_inside_the_source_is_noticed_before_anything_changes(server, workspace):
    s = server(wrap=mounts('mkdir -p "$W/disk" "$W/d/mnt"; mount -t tmpfs none "$W/disk"; '
                           'mount -t tmpfs none "$W/d/mnt"; echo x > "$W/d/mnt/f"'))
    assert s.failure("file_move", source="d", dest="disk/d").startswith(f"Error: {workspace}/d: ")
    assert names(seen_by(s, workspace / "disk")) == []
    assert s.text("file_read", path="d/mnt/f") == "x\n"


def test_a_directory_is_not_copied_into_itself_through_a_mount(server, workspace):
    s = server(wrap=mounts('mkdir -p "$W/d/mnt" "$W/e"; mount --bind "$W/e" "$W/d/mnt"'))
    text = s.failure("file_move", source="d", dest="d/mnt/new")
    assert text == f"Error: Cannot move a directory '{workspace}/d' into itself '{workspace}/d/mnt/new'."
    assert names(workspace / "e") == [] and names(workspace / "d") == ["mnt"]


def test_a_link_to_another_file_system_outside_is_refused(server, workspace):
    (workspace / "a").write_text("x")
    os.symlink("/dev/shm", workspace / "link")
    s = server()
    assert s.failure("file_move", source="a", dest="link") == outside("link", workspace)
    assert s.failure("file_move", source="a", dest="link/a") == outside("link/a", workspace)


# -- meanwhile ------------------------------------------------------------------------------------

@pytest.fixture
def big(workspace):
    """300 MB of text that is no hole."""
    block = os.urandom(MIB)
    with open(workspace / "big", "wb") as f:
        for _ in range(300):
            f.write(block)
    return 300 * MIB


def test_pings_are_answered_while_a_large_file_moves_between_file_systems(disk, workspace, big):
    there = seen_by(disk, workspace / "disk")
    for source, dest in (("big", "disk/big"), ("disk/big", "again")):
        id = disk.start_call("file_move", source=source, dest=dest)
        slowest, count = worst_ping(disk, id)
        assert first_text(disk.wait(id)["result"]) == moved(workspace, source, dest)
        assert slowest < PING_MS * busy() and count > 3
    assert (workspace / "again").stat().st_size == big
    assert names(there) == [] and names(workspace) == ["again", "disk"]
    assert disk.zombies() == []
    assert disk.rss_kib() < 4096


def test_until_it_is_whole_a_copy_has_another_name(disk, workspace, big):
    there = seen_by(disk, workspace / "disk")
    sizes, stop = set(), threading.Event()

    def watch():
        while not stop.is_set():
            if (there / "new").exists():
                sizes.add((there / "new").stat().st_size)
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    disk.text("file_move", source="big", dest="disk/new")
    time.sleep(0.01)
    stop.set()
    watcher.join()
    assert sizes == {big}


def test_a_cancelled_move_leaves_the_source_and_no_copy(disk, workspace, big):
    there = seen_by(disk, workspace / "disk")
    id, worker, _ = start_and_stop(disk, there, "big", "disk/new")
    disk.cancel(id)
    disk.fence()
    os.kill(worker, signal.SIGCONT)
    wait_until(lambda: not disk.descendants(), "the worker to end")
    disk.fence()
    assert names(there) == [] and names(workspace) == ["big", "disk"]
    assert (workspace / "big").stat().st_size == big


def test_replacing_a_large_file_does_not_hold_up_pings(host, workspace, big):
    (workspace / "a").write_text("new")
    id = host.start_call("file_move", source="a", dest="big")
    slowest, _ = worst_ping(host, id)
    assert not host.wait(id)["result"]["isError"]
    assert slowest < PING_MS * busy()
    assert names(workspace) == ["big"] and (workspace / "big").read_text() == "new"


def test_the_end_of_the_server_leaves_the_source_and_no_copy(disk, workspace, big):
    there = seen_by(disk, workspace / "disk")
    _, worker, _ = start_and_stop(disk, there, "big", "disk/new")
    held = os.open(there, os.O_RDONLY)      # the mount ends with its last process
    disk.signal(signal.SIGTERM)
    os.kill(worker, signal.SIGCONT)
    assert disk.wait_exit() == 0
    assert os.listdir(held) == [] and names(workspace) == ["big", "disk"]
    os.close(held)


def test_a_killed_worker_is_an_error_and_leaves_no_copy(disk, workspace, big):
    there = seen_by(disk, workspace / "disk")
    id, worker, _ = start_and_stop(disk, there, "big", "disk/new")
    os.kill(worker, signal.SIGKILL)
    result = disk.wait(id)["result"]
    assert result["isError"] and first_text(result).startswith(f"Error: {workspace}/big: ")
    assert names(there) == [] and names(workspace) == ["big", "disk"]
