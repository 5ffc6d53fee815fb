"""What the tests of the file tools share: servers as another user, with mounts or failures of their own, and pings meanwhile."""

import contextlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from mcpwire import tool_params
from process import wait_until

NOBODY = 65534
# The issue asks for 100 ms; a busy test machine gets three times as long.
PING_MS = 300


def outside(path, root):
    """The text of every tool for a path that leads out of the root."""
    return f'Path "{path}" is outside the allowed directory ({root})'


def mounts(script):
    """For server(wrap=...): first runs a shell script in a mount namespace of its own; "$W" is the workspace root."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    return [*unshare, "sh", "-ec", f'W=$SANDSTORM_WORKSPACE_ROOT; {script}; exec "$@"', "sh"]


# of x86_64, and of all that came after it
NUMBERS = ({"fsync": 74, "syncfs": 306, "fallocate": 285} if platform.machine() == "x86_64"
           else {"fsync": 82, "syncfs": 267, "fallocate": 47})
# A filter of system calls that fails some of them: load the number, compare, answer with the error, else allow.
REFUSE = """
import ctypes, os, struct, sys
refused = [tuple(map(int, word.split("="))) for word in sys.argv[1].split(",")]
steps = [(0x20, 0, 0, 0)]
for number, error in refused:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
steps.append((0x06, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"""


def refusing(**calls):
    """For server(wrap=...): system calls that fail, refusing(fsync=errno.ENOSPC), as on disks that tests do not have."""
    told = ",".join(f"{NUMBERS[name]}={error}" for name, error in calls.items())
    return [sys.executable, "-c", REFUSE, told]


def seen_by(server, path):
    """The path as the server sees it, mounts included."""
    return Path(f"/proc/{server.pid}/root{path}")


class OtherUser:
    """A workspace that another user can reach, and a server that runs as that user when the tests run as root.

    pytest's own directories are closed to others, so this one lies beside them; the binary is copied there, too.
    """

    def __init__(self, binary):
        self.base = Path(tempfile.mkdtemp(prefix="sandstorm-test-")).resolve()
        self.base.chmod(0o755)
        self.root = self.base / "workspace"
        self.root.mkdir()
        self.uid = NOBODY if os.geteuid() == 0 else os.geteuid()
        self._binary = self.base / "binary"
        shutil.copy(binary, self._binary)
        self.own(self.root)

    def own(self, *paths):
        for path in paths:
            if os.geteuid() == 0:
                os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def start(self, server, **more):
        wrap = [shutil.which("setpriv"), f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"] if os.geteuid() == 0 else []
        wrap += ["/bin/sh", "-c", 'own=$1; shift 2; exec "$own" "$@"', "sh", str(self._binary)]
        return server(wrap=wrap, root=self.root, **more)

    def remove(self):
        for directory, names, _ in os.walk(self.base):
            for name in names:
                os.chmod(os.path.join(directory, name), 0o700, follow_symlinks=True)
        shutil.rmtree(self.base)


def stop_copying(server, place, dest):
    """The worker of the server that copies into `place`, stopped before the copy has its own name; None when there is none."""
    workers = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    if not workers or not list(place.iterdir()):
        return None
    worker = int(workers[0])
    with contextlib.suppress(OSError):
        os.kill(worker, signal.SIGSTOP)
        wait_until(lambda: Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] in "TZ", "its stop")
        if [path.name for path in place.iterdir()] != [os.path.basename(dest)]:
            return worker
        os.kill(worker, signal.SIGCONT)
    return None


def start_and_stop(server, place, source, dest, **meta):
    """Begins to move a file into `place`, on another file system, and stops the worker in the middle: the call's id, the
    worker's, when it began. Copying takes milliseconds, and on a machine that does other things just then it may be over; then
    the file is moved back, and once more."""
    for _ in range(100):
        started = time.monotonic()
        id = server.start_request("tools/call", {**tool_params("file_move", {"source": source, "dest": dest}), **meta})
        while not any(m.value.get("id") == id for m in server.history):
            if worker := stop_copying(server, place, dest):
                return id, worker, started
        assert not server.wait(id)["result"].get("isError")
        assert server.text("file_move", source=dest, dest=source)
    raise AssertionError("never stopped in the middle")


def worst_ping(server, id):
    """Pings until the call with that id has been answered; the longest time a ping took, in ms, and their number."""
    worst, count = 0, 0
    while not any(isinstance(m.value, dict) and m.value.get("id") == id for m in server.history):
        began = time.monotonic()
        server.result("ping", timeout=30)
        worst, count = max(worst, time.monotonic() - began), count + 1
        time.sleep(0.002)
    return worst * 1000, count
