"""Machines under qemu that run Debian's kernel and an initramfs of ours: the binary, and where a test wants it a busybox.

    m = Machine(target, binary, folder, settings={"SANDSTORM_IP": ...}, late=2)     serves over HTTP; what a
                    `webserver.WebServer` has: m.text("file_read", path="f"), m.exchange("GET", "/health"), ...
    m.console()     all that came over the serial line: the kernel, /init, the log
    s = Serial(target, binary, folder, words=["--tools", "host"])   speaks stdio over the serial line

The kernels come from fetch-kernel and are kept in build/platforms. Instructions are translated (TCG), never run by KVM.
"""

import contextlib
import json
import pathlib
import shutil
import stat
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import mcpwire  # noqa: E402, its folder had to be named first
import process  # noqa: E402
import webserver  # noqa: E402
from httpwire import free_port, request  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
GUEST, GATEWAY, NAME_SERVER = "10.0.2.15/24", "10.0.2.2", "10.0.2.3"     # qemu's user network
MACHINES = {    # qemu and its machine, network card, console
    "x86_64": (["qemu-system-x86_64", "-M", "q35"], "virtio-net-pci", "ttyS0"),
    "aarch64": (["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53"], "virtio-net-pci", "ttyAMA0"),
    "armv7": (["qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15"], "virtio-net-device", "ttyAMA0"),
}
MODULES = ("virtio", "virtio_ring", "virtio_mmio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover",
           "net_failover", "virtio_net")    # each after those it wants
APPLETS = ("sh", "cat", "grep", "insmod", "ip", "kill", "ls", "mknod", "mount", "nslookup", "ping", "ps", "rm", "setsid", "sleep", "wget")

class Kernel:
    """Debian's kernel for a target, its modules and a busybox."""

    def __init__(self, target):
        self.folder = ROOT / "build/platforms" / f"kernel-{target}"
        subprocess.run([HERE / "fetch-kernel", target, self.folder], check=True)
        self.image = self.folder / "vmlinuz"
        self.busybox = (self.folder / "busybox").read_bytes()
        self.modules = [m for m in MODULES if (self.folder / "modules" / f"{m}.ko").exists()]

    def module(self, name):
        return (self.folder / "modules" / f"{name}.ko").read_bytes()


def cpio(files):
    """An archive in the form that the kernel unpacks ("newc"). files: path -> (mode, bytes)."""
    out = bytearray()
    for number, (path, (mode, data)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))], 1):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def with_folders(files):
    """The same with the folders they lie in before them."""
    whole = {}
    for path, entry in files.items():
        for parent in reversed(pathlib.PurePath(path).parents):
            if str(parent) != ".":
                whole.setdefault(str(parent), (stat.S_IFDIR | 0o755, b""))
        whole[path] = entry
    return whole


def program(data):
    return stat.S_IFREG | 0o755, data


def init_script(kernel, late):
    lines = ["#!/bin/sh"]
    for module in kernel.modules:
        load = f"insmod /modules/{module}.ko"
        if late and module == "virtio_net":     # the shell opens /dev/null for it, which is not to be there afterwards
            load = f"mknod /dev/null c 1 3; (sleep {late}; {load}) & sleep 0.5; rm /dev/null"
        lines.append(load)
    return "\n".join([*lines, 'exec /sandstorm-mcp "$@"', ""]).encode()


def initramfs(kernel, binary, late=0, files=None):
    """The binary, a busybox, and an /init that loads the drivers of the network card and becomes the binary; with `late`
    the last of them only after so many seconds. files: more of them, path -> text."""
    inside = {"sandstorm-mcp": program(binary.read_bytes()), "init": program(init_script(kernel, late)),
              "bin/busybox": program(kernel.busybox)}
    inside |= {f"bin/{name}": (stat.S_IFLNK | 0o777, b"busybox") for name in APPLETS}
    inside |= {f"modules/{name}.ko": (stat.S_IFREG | 0o644, kernel.module(name)) for name in kernel.modules}
    inside |= {path: (stat.S_IFREG | 0o600, text.encode()) for path, text in (files or {}).items()}
    return cpio(with_folders(inside))


def lone(binary):
    """The binary and nothing else."""
    return cpio({"sandstorm-mcp": program(binary.read_bytes())})


def qemu(target, kernel, archive, settings, words, port=None):
    """The command that boots it; the serial line is its standard input and output."""
    command, card, console = MACHINES[target]
    assert shutil.which(command[0]), f"{command[0]} is missing: scripts/need vm"
    line = [f"console={console}", "panic=-1", "quiet", "loglevel=3", *(f"{k}={v}" for k, v in settings.items() if v is not None), "--", *words]
    network = "user,id=n,restrict=on" + (f",hostfwd=tcp:127.0.0.1:{port}-:8080" if port else "")
    return [*command, "-accel", "tcg", "-m", "128", "-smp", "1", "-nodefaults", "-no-reboot", "-display", "none",
            "-serial", "stdio", "-monitor", "none", "-kernel", kernel.image, "-initrd", archive, "-append", " ".join(line),
            "-netdev", network, "-device", f"{card},netdev=n"]


class Machine(webserver.WebServer):
    """One that serves over HTTP; its console is what a server's stderr is elsewhere."""

    def __init__(self, target, binary, folder, settings=None, late=0, words=("serve",), files=None):
        self.target, kernel = target, Kernel(target)
        path = folder / "initramfs"
        path.write_bytes(initramfs(kernel, binary, late, files))
        port = free_port()
        settings = {"SANDSTORM_MCP_TOKEN": webserver.TOKEN, "SANDSTORM_MCP_HOST": "0.0.0.0", "SANDSTORM_WORKSPACE_ROOT": "/work",
                    **(settings or {})}
        command = qemu(target, kernel, path, settings, words, port)
        self.began = time.monotonic()
        super().__init__(["sh", "-c", 'exec "$@" >&2', "sh", *command], process.clean_environment(None, {}), folder, "127.0.0.1",
                         port, webserver.TOKEN)
        self.patience = 60.0

    def console(self):
        return self.stderr_text()

    def wait_ready(self, timeout=120):
        """Until it serves and is reached: qemu takes connections for the guest from the beginning."""
        process.wait_until(lambda: '"serving"' in self.console() or not self.alive(), f"it to serve: {self.console()}", timeout)
        return process.wait_until(lambda: not self.alive() or self._answers(), f"an answer: {self.console()}", timeout)

    def _answers(self):
        with contextlib.suppress(OSError, AssertionError), self.connect() as connection:     # none in time
            connection.send(request("GET", "/health", {"Host": "vm"}))
            return connection.answer(timeout=2).status == 200
        return False

    def shell(self, command):
        """What a command prints inside."""
        text = self.text("terminal_exec", command=command)
        assert text.endswith("exit_code: 0") and "stderr:" not in text, text
        return text.removeprefix("stdout:\n").removesuffix("exit_code: 0").strip()


class Serial(mcpwire.Requests):
    """Speaks over the serial line: what is sent comes back as an echo, and answers stand between lines of the kernel."""

    def __init__(self, target, binary, folder, settings=None, words=("--tools", "host"), archive=None):
        path = folder / "initramfs"
        path.write_bytes(archive or lone(binary))
        start = {} if archive else {"rdinit": "/sandstorm-mcp"}
        command = qemu(target, Kernel(target), path, {**start, "SANDSTORM_WORKSPACE_ROOT": "/work", **(settings or {})}, words)
        self._said, self._ids, self._news = bytearray(), 0, threading.Condition()
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while chunk := self.process.stdout.read1(4096):
            with self._news:
                self._said += chunk
                self._news.notify_all()

    def console(self):
        return self._said.decode("utf-8", "replace")

    def wait_for(self, look, what, timeout=120):
        """Polls until look(console) gives something."""
        deadline = time.monotonic() + timeout
        with self._news:
            while not (found := look(self.console())):
                left = deadline - time.monotonic()
                assert left > 0, f"not in time: {what}; console {self.console()[-1500:]!r}"
                self._news.wait(min(left, 0.2))
        return found

    def start_request(self, method, params=None, id=None):
        self._ids += 1
        self.send(json.dumps(webserver.message(method, params, self._ids)).encode() + b"\n")
        return self._ids

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def wait(self, id, timeout=None):
        """Ours are written without blanks, which tells them from the echo of a request."""
        start = '{"jsonrpc":"2.0","id":%d,' % id

        def answer(console):
            with contextlib.suppress(ValueError):
                return json.JSONDecoder().raw_decode(console, console.index(start))[0]
        return self.wait_for(answer, f"the answer {id}", timeout or 120)

    def wait_exit(self, timeout=60):
        code = self.process.wait(timeout)
        self._reader.join(5)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
