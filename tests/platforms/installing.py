"""Machines to install on: copies of an empty Debian in a chroot, and one who plays systemd there.

m = machines.debian()           a Machine: m.run("cmd", ...) -> completed process, m.path("/etc/x") as we see it
m = machines.systemd()          the same as debian, with the real systemd as process 1
m = machines.busybox()          the same with busybox and nothing else, whose init is process 1 there
native                          a fixture: the program that `make` has built
s = Systemd(m)                  from now on `systemctl` in the machine is answered by this object, which keeps the sockets
                                of its socket units and starts its services with them, as the user and with the settings
                                that the units name. s.calls is what was asked, s.end() ends all that runs.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import threading

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
E2E = REPOSITORY / "tests/e2e"
sys.path.insert(0, str(E2E))

from process import wait_until  # noqa: E402, its folder had to be named first

CLONE_NEWNS = 0x20000


@pytest.fixture(scope="session")
def native():
    """The program for this machine itself."""
    named = os.environ.get("SANDSTORM_BINARY") or os.environ.get("SANDSTORM_BIN")
    path = pathlib.Path(named or REPOSITORY / "out/sandstorm-mcp").absolute()
    assert path.exists(), "build first: make"
    return path


# becomes a command in the root $1; mounts are private and go with the last process
ENTER = ('root=$1; shift; mount --bind "$root" "$root"; cd "$root"; mount -t proc proc proc; mount --rbind /dev dev; '
         'exec chroot "$root" "$@"')
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Machine:
    def __init__(self, root, binary):
        self.root = pathlib.Path(root)
        self.binary = pathlib.Path(binary)
        self.kit = self.path("/root/kit")       # what a stranger has unpacked
        self.kit.mkdir(parents=True)
        shutil.copy2(REPOSITORY / "scripts/install.sh", self.kit)
        shutil.copy2(binary, self.kit / "sandstorm-mcp")

    def path(self, path):
        return self.root / path.lstrip("/")

    def entering(self, *argv, wrap=()):
        return ["unshare", "--mount", "--propagation", "private", *wrap, "sh", "-euc", ENTER, "sh", str(self.root), *map(str, argv)]

    def run(self, *argv, env=None, ok=True, timeout=120):
        done = subprocess.run(self.entering(*argv), env={"PATH": PATH, "HOME": "/root", **(env or {})},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if ok:
            assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def install(self, *args, shell="sh", ok=True, **env):
        return self.run(*shell.split(), "/root/kit/install.sh", *args, ok=ok,
                        env={f"SANDSTORM_{name}": str(value) for name, value in env.items()})

    def write(self, path, text, mode=0o644):
        at = self.path(path)
        at.parent.mkdir(parents=True, exist_ok=True)
        at.unlink(missing_ok=True)
        at.write_text(text)
        at.chmod(mode)

    def read(self, path):
        return self.path(path).read_text()

    def settings(self):
        return settings_of(self.read("/etc/sandstorm-mcp.env"))

    def token(self):
        return self.settings()["SANDSTORM_MCP_TOKEN"]

    def another_version(self):
        """The same program with other bytes, as a newer one would be."""
        with open(self.kit / "sandstorm-mcp", "ab") as f:
            f.write(b"\0newer")


    def end(self):
        pass


class Booted(Machine):
    """Its init is process 1 of a process namespace, and runs."""

    def __init__(self, root, binary, init=("/sbin/init",), enter=ENTER, wrap=(), env=None):
        super().__init__(root, binary)
        argv = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", *wrap,
                "sh", "-euc", enter, "sh", str(root), *init]
        self._outer = subprocess.Popen(argv, env={"PATH": PATH, **(env or {})}, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.init = wait_until(self._child, "its init", 10)[0]
        name = pathlib.Path(init[0]).name.encode()
        wait_until(lambda: name in pathlib.Path(f"/proc/{self.init}/cmdline").read_bytes().split(b" ")[0], "its init to run", 20)

    def _child(self):
        return pathlib.Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()[:1]

    def run(self, *argv, env=None, ok=True, timeout=120):
        assert self._outer.poll() is None, f"its init has ended with {self._outer.returncode}"
        done = subprocess.run(["nsenter", "--target", self.init, "--mount", "--pid", "--root", "--wd", *map(str, argv)],
                              env={"PATH": PATH, "HOME": "/root", **(env or {})}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout)
        assert not ok or done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def end(self):
        self._outer.kill()
        self._outer.wait()


# What systemd needs of a container, and no more: a /dev without disks and consoles, /proc/sys that it cannot write, a control
# group of its own.
CONTAINER = """
root=$1; shift
mount --bind "$root" "$root"; cd "$root"
mount -t proc proc proc; mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
mount -t tmpfs tmpfs dev; mkdir dev/pts dev/shm; touch dev/console
for d in null zero full random urandom tty; do touch dev/$d; mount --bind /dev/$d dev/$d; done
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs run; mount -t tmpfs tmpfs tmp; mount -t tmpfs tmpfs sys; mkdir -p sys/fs/cgroup
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 cgroup2 sys/fs/cgroup
else
	mount -t tmpfs tmpfs sys/fs/cgroup; mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
pivot_root . .; umount --lazy .; cd /		# in a chroot the kernel makes no user namespaces
exec "$@"
"""
# they would change this machine, or need a real one
MASKED = """systemd-sysctl.service systemd-modules-load.service systemd-binfmt.service systemd-random-seed.service
systemd-remount-fs.service systemd-journal-flush.service console-getty.service getty.target apt-daily.timer apt-daily-upgrade.timer
dpkg-db-backup.timer fstrim.timer systemd-tmpfiles-clean.timer proc-sys-fs-binfmt_misc.automount systemd-networkd.service
systemd-update-utmp.service dev-hugepages.mount dev-mqueue.mount""".split()


class Container(Booted):
    """With the real systemd."""

    def __init__(self, root, binary):
        hierarchy = pathlib.Path("/sys/fs/cgroup/systemd")
        self._group = (hierarchy if hierarchy.is_dir() else hierarchy.parent) / f"sandstorm-test.{os.getpid()}"
        self._group.mkdir()
        for unit in MASKED:
            (pathlib.Path(root) / "etc/systemd/system" / unit).symlink_to("/dev/null")
        enter = f'echo 0 > {self._group}/cgroup.procs; exec unshare --cgroup sh -euc "$CONTAINER" sh "$@"'
        super().__init__(root, binary, ["/lib/systemd/systemd", "--unit=multi-user.target"], enter, ["--uts", "--ipc"],
                         {"CONTAINER": CONTAINER, "container": "sandstorm-test"})
        wait_until(self._booted, "the boot", 60)

    def _booted(self):
        return self.run("systemctl", "is-system-running", ok=False).stdout.strip() in ("running", "degraded")

    def property(self, unit, name):
        return self.run("systemctl", "show", "--value", "--property", name, unit).stdout.strip()

    def end(self):
        super().end()
        wait_until(self._no_group, "its control group to be empty", 10)

    def _no_group(self):
        for folder, _, _ in os.walk(self._group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        return not self._group.exists()


def settings_of(text):
    """As systemd reads an EnvironmentFile."""
    found = {}
    for line in text.splitlines():
        if "=" in line and not line.lstrip().startswith(("#", ";")):
            name, _, value = line.partition("=")
            value = value.strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            found[name.strip()] = value
    return found


class Unit(dict):
    """Lists of the values of each key."""

    def __init__(self, text):
        super().__init__()
        for line in text.splitlines():
            if "=" in line and not line.startswith("#"):
                name, _, value = line.partition("=")
                self.setdefault(name, []).append(value)

    def one(self, name, default=None):
        return self.get(name, [default])[-1]


SYSTEMCTL = """#!/bin/sh
echo "$*" > /run/systemd/asked
read -r code < /run/systemd/told
exit "$code"
"""


class Systemd:
    def __init__(self, machine):
        self.machine = machine
        self.calls, self.enabled, self.sockets, self.services, self.codes, self.logs = [], set(), {}, {}, [], []
        machine.path("/run/systemd/system").mkdir(parents=True, exist_ok=True)
        machine.write("/usr/local/bin/systemctl", SYSTEMCTL, 0o755)
        for name in ("asked", "told"):
            os.mkfifo(machine.path(f"/run/systemd/{name}"))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            words = self.machine.path("/run/systemd/asked").read_text().split()
            if words == ["end"]:
                return
            self.calls.append(" ".join(words))
            try:
                ok = self._do(*words)
            except OSError as e:
                self.logs.append(repr(e))
                ok = False
            self.machine.path("/run/systemd/told").write_text(f"{0 if ok else 1}\n")

    def _unit(self, name):
        for folder in ("/etc/systemd/system", "/lib/systemd/system"):
            if self.machine.path(f"{folder}/{name}").exists():
                return Unit(self.machine.read(f"{folder}/{name}"))
        return None

    def _do(self, verb, *names):
        now = "--now" in names
        names = [name if "." in name else name + ".service" for name in names if not name.startswith("--")]
        if verb == "is-active":
            return all(name in self.sockets or self.running(name) for name in names)
        if verb in ("enable", "disable"):
            (self.enabled.update if verb == "enable" else self.enabled.difference_update)(names)
        if now:
            verb = "start" if verb == "enable" else "stop"
        if verb in ("stop", "restart"):
            for name in names:
                self.stop(name)
        if verb in ("start", "restart"):
            return all(self.start(name) for name in names)
        return verb in ("stop", "enable", "disable", "daemon-reload", "reload")

    def running(self, name):
        return name in self.services and self.services[name].poll() is None

    def start(self, name):
        unit = self._unit(name)
        if unit is None:
            return False
        if name.endswith(".socket"):
            made = []
            for listen in unit["ListenStream"]:
                host, _, port = listen.rpartition(":")
                host = host.strip("[]")
                made.append(socket.create_server((host, int(port)), backlog=int(unit.one("Backlog")),
                                                 family=socket.AF_INET6 if ":" in host else socket.AF_INET))
            self.sockets[name] = made
            return True
        if unit.one("User") == "caddy":     # of its own package; tests of Caddy itself are elsewhere
            return True
        for needed in unit.one("Requires", "").split():
            if needed not in self.sockets and not self.start(needed):
                return False
        return self.running(name) or self._run(name, unit)

    def _run(self, name, unit):
        passwd = dict((line.split(":")[0], line.split(":")) for line in self.machine.read("/etc/passwd").splitlines())
        user = passwd[unit.one("User", "root")]
        env = {"PATH": PATH, "HOME": user[5], "USER": user[0]}
        for text in unit.get("Environment", []):
            env.update(word.split("=", 1) for word in shlex.split(text))
        env.update(settings_of(self.machine.read(unit.one("EnvironmentFile"))))
        given = [s.fileno() for s in self.sockets.get(name.replace(".service", ".socket"), [])]
        wrap = [sys.executable, str(E2E / "activator.py"), ",".join(map(str, given))] if given else []
        argv = self.machine.entering("setpriv", f"--reuid={user[2]}", f"--regid={user[3]}", "--init-groups", "--no-new-privs",
                                     "--bounding-set=-all", "sh", "-c", 'cd "$HOME" && exec "$@"', "sh", *shlex.split(unit.one("ExecStart")))
        log = open(self.machine.path("/run/systemd/log"), "ab")
        self.services[name] = subprocess.Popen([*wrap, *argv], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                               pass_fds=given)
        log.close()
        return True

    def stop(self, name):
        for s in self.sockets.pop(name, []):
            s.close()
        process = self.services.pop(name, None)
        if process:
            process.terminate()
            self.codes.append(process.wait(45))

    def log(self):
        return self.machine.read("/run/systemd/log")

    def pid(self, name="sandstorm-mcp.service"):
        return self.services[name].pid

    def end(self):
        self.machine.path("/run/systemd/asked").write_text("end\n")
        self._thread.join(5)
        for name in [*self.services, *self.sockets]:
            self.stop(name)


class Machines:
    """Copies of one empty Debian, made once and kept in build/platforms."""

    def __init__(self, place, binary):
        self.place, self.binary, self.count = place, binary, 0
        self.base = REPOSITORY / "build/platforms/debian/root"     # so deep that make takes no .d of it for its own
        self.base.parent.mkdir(parents=True, exist_ok=True)
        with open(self.base.parent / "lock", "w") as lock:      # others may run other tests at the same time
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._make()

        private_mounts()
        mount("-t", "tmpfs", "machines", self.place)

    def _make(self):
        subprocess.run([REPOSITORY / "scripts/need", "install"], check=True)
        if not self.base.exists():
            new = self.base.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run([REPOSITORY / "scripts/fresh-root", "bookworm", new, "caddy", "openrc", "systemd"], check=True)
            new.rename(self.base)

    def debian(self):
        return Machine(self._layer(), self.binary)

    def _layer(self):
        """A root of its own over what is the same for all."""
        self.count += 1
        parts = {name: self.place / f"{self.count}-{name}" for name in ("upper", "work", "root")}
        for part in parts.values():
            part.mkdir()
        mount("-t", "overlay", "-o", f"lowerdir={self.base},upperdir={parts['upper']},workdir={parts['work']}", "machine",
              parts["root"])
        return parts["root"]

    def systemd(self):
        return Container(self._layer(), self.binary)

    def busybox(self):
        self.count += 1
        root = self.place / f"{self.count}-root"
        applets = subprocess.run(["busybox", "--list"], check=True, capture_output=True, text=True).stdout.split()
        for name in ("bin", "sbin", "dev", "etc", "proc", "root", "run", "tmp", "usr/bin", "usr/sbin", "var/log"):
            (root / name).mkdir(parents=True)
        shutil.copy2(shutil.which("busybox"), root / "bin/busybox")
        for name in applets:
            if name != "busybox":
                (root / "bin" / name).symlink_to("busybox")
        (root / "sbin/init").symlink_to("../bin/busybox")
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\n")
        (root / "etc/inittab").write_text("::sysinit:/bin/true\n::shutdown:/bin/true\n")
        return Booted(root, self.binary)

    def remove(self, machine):
        machine.end()
        if os.path.ismount(machine.root):
            subprocess.run(["umount", "--lazy", machine.root], check=True)


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def private_mounts():
    """What this process mounts from here on nobody else sees, and it goes with the process."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("--make-rprivate", "/")
