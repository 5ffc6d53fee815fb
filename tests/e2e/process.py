"""A server process under test: its environment, its memory and descriptors, the processes it has started.

`mcpwire.Server` (stdio) and `webserver.WebServer` (HTTP) are such processes.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import uuid

MARKER = "E2E_SERVER_MARK"      # a variable that all descendants of a server inherit
OURS = ("SANDSTORM_", "MCP_AUTH_TOKEN", "SESSION_AUTH_TOKEN", "MAX_INSTANCES")


def clean_environment(root, changes):
    """The environment of the tests without our variables, then the root, then the changes (None takes one out)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    if root is not None:
        env["SANDSTORM_WORKSPACE_ROOT"] = str(root)
    for name, value in (changes or {}).items():
        env.pop(name, None)
        if value is not None:
            env[name] = str(value)
    return env


def read_proc(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return f.read()


def environment_of(pid):
    """Its environment at exec time. In the middle of an exec it has memory already, but neither words nor environment: that
    is waited for, or one that lives would be missed. (A zombie and a thread of the kernel have no memory.)"""
    for _ in range(500):
        if read_proc(pid, "cmdline") or read_proc(pid, "statm").startswith(b"0 "):
            break
        time.sleep(0.001)
    return read_proc(pid, "environ")


def processes_with(marker):
    """Pids (not zombies) whose environment at exec time holds the marker."""
    needle = f"{MARKER}={marker}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if needle in environment_of(name).split(b"\0"):
                found.append(int(name))
    return found


class Beat(threading.Thread):
    """Notes when this process was let run later than it wanted: then the machine had other things to do, or stood still."""

    PERIOD, WINDOW = 0.02, 30

    def __init__(self):
        super().__init__(daemon=True)
        self._late = []
        self.start()

    def run(self):
        while True:
            wanted = time.monotonic() + self.PERIOD
            time.sleep(self.PERIOD)
            if (late := time.monotonic() - wanted) > self.PERIOD:
                self._late = [*self._late[-99:], (wanted, late)]

    def worst(self):
        """The most seconds that it was late of late."""
        return max((late for wanted, late in self._late if time.monotonic() - wanted < self.WINDOW + late), default=0)


BEAT = Beat()


def busy():
    """By how much a bound on time is stretched: 1 on a machine that does little more than these tests, above that by how many
    more wait for a processor, and by how long it has just stood still. What may not come too early is never stretched."""
    return max(1.0, os.getloadavg()[0] / (4 * os.cpu_count())) + 5 * BEAT.worst()


class Process:
    """What both kinds of server have in common; they set `process` (a Popen) and start it with `marked(env)`.

    At the end of a test they `_let_go` of what keeps it from ending, `_ask_to_end` by their GOODBYE, `_read_all` that it
    wrote, and have `_complaints` of their own.
    """

    def __init__(self):
        self.marker = uuid.uuid4().hex
        self.taken_over = False     # the test has looked at the exit code itself
        self.allow_leftovers = False
        self._errors = bytearray()

    def marked(self, env):
        return {**env, MARKER: self.marker}

    @property
    def pid(self):
        return self.process.pid

    def _read_stderr(self):
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            self._errors += chunk

    def stderr_text(self):
        return self._errors.decode("utf-8", "replace")

    def log(self):
        """Its log in JSON, line by line; what is half read is left out."""
        return [json.loads(line) for line in self.stderr_text().split("\n")[:-1]]

    def signal(self, number):
        self.process.send_signal(number)

    def alive(self):
        return self.process.poll() is None

    def first(self):
        """The only child, as seen from here: process 1 of what an `unshare` or another such program has started."""
        def child():
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{self.pid}/task/{self.pid}/children") as f:
                    return int(f.read())
        return wait_until(child, "a process 1")

    def end_first(self, number=15):
        """Exit code after a signal (TERM) to process 1, and the seconds it took."""
        began = time.monotonic()
        os.kill(self.first(), number)
        return self.wait_exit(), time.monotonic() - began

    def descendants(self):
        """Living processes started by this server, wherever they have been moved in the process tree."""
        return [pid for pid in processes_with(self.marker) if pid != self.pid]

    def wait_no_descendants(self, timeout=3):
        began = time.monotonic()
        while left := self.descendants():
            assert time.monotonic() - began < timeout * busy(), f"still running: {[describe(pid) for pid in left]}"
            time.sleep(0.02)

    def wait_descendants(self, count, timeout=10):
        """Until that many processes started by the server live; returns their pids."""
        began = time.monotonic()
        while len(found := self.descendants()) < count:
            assert time.monotonic() - began < timeout * busy(), f"{len(found)} of {count} processes are running; {self._state()}"
            time.sleep(0.02)
        return found

    def zombies(self):
        """Direct children that ended and were not collected by the server."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/stat") as f:
                    state, parent = f.read().rpartition(")")[2].split()[:2]
                if state == "Z" and int(parent) == self.pid:
                    found.append(int(name))
        return found

    def rss_kib(self):
        """Resident memory of the server itself, from smaps_rollup."""
        with open(f"/proc/{self.pid}/smaps_rollup") as f:
            for line in f:
                if line.startswith("Rss:"):
                    return int(line.split()[1])
        raise AssertionError("no Rss line")

    def peak_rss_kib(self):
        """The highest resident memory so far."""
        with open(f"/proc/{self.pid}/status") as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
        raise AssertionError("no VmHWM line")

    def cpu_seconds(self):
        """Processor time of the server itself, not of its children."""
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def waited_seconds(self):
        """For how long it could have gone on and others were on its processor; 0 where the kernel does not count that."""
        with contextlib.suppress(OSError):
            with open(f"/proc/{self.pid}/schedstat") as f:
                return int(f.read().split()[1]) / 1e9
        return 0.0

    def fd_count(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory_holds(self, needle):
        """Whether the bytes stand anywhere in memory that the server can write."""
        with open(f"/proc/{self.pid}/maps") as maps, open(f"/proc/{self.pid}/mem", "rb") as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if "rw" in rights and "[v" not in line:
                    start, end = (int(x, 16) for x in span.split("-"))
                    memory.seek(start)
                    with contextlib.suppress(OSError):      # pages that were never opened
                        if needle in memory.read(end - start):
                            return True
        return False

    def wait_exit(self, timeout=10):
        """The exit code (negative: killed by that signal); what the process wrote is read to its end."""
        self.taken_over = True
        try:
            code = self.process.wait(timeout * busy())
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server did not end in {timeout} s; {self._state()}") from None
        self._read_all()
        return code

    def end(self):
        """For the fixture: ends whatever is left and returns the complaints as a list of strings."""
        complaints = []
        self._let_go()
        if self.alive():
            self._ask_to_end()
            try:
                self.process.wait(10 * busy())
            except subprocess.TimeoutExpired:
                complaints.append(f"did not end within 10 s of {self.GOODBYE}; {self._state()}")
                self.process.kill()
                self.process.wait()
        self._read_all()
        if not self.taken_over and self.process.returncode != 0:
            complaints.append(f"exit code {self.process.returncode}; stderr {self.stderr_text()[-800:]!r}")
        complaints += self.end_leftovers() + self._complaints()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        return complaints

    def end_leftovers(self):
        """Kills what the server has left behind; complains unless the test allows it."""
        deadline = time.monotonic() + busy()
        while (left := self.descendants()) and not self.allow_leftovers and time.monotonic() < deadline:
            time.sleep(0.02)
        names = [describe(pid) for pid in left]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return [] if self.allow_leftovers or not left else [f"left behind: {names}"]


def end_all(servers):
    """For fixtures: ends them; what there is to complain of fails the test."""
    complaints = [text for server in servers for text in server.end()]
    assert not complaints, "; ".join(complaints)


def describe(pid):
    """A pid with its command line, for messages."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f"{pid} ({f.read().replace(bytes(1), b' ').decode('utf-8', 'replace').strip()})"
    except OSError:
        return f"{pid} (gone)"


def wait_until(condition, what, timeout=5):
    """Polls until condition() holds; its value is returned."""
    began = time.monotonic()
    while not (value := condition()):
        assert time.monotonic() - began < timeout * busy(), f"not in time: {what}"
        time.sleep(0.01)
    return value


def pass_on(fifo, text=""):
    """Writes into a FIFO that somebody reads, and ends it; fails where nobody does."""
    def opened():
        with contextlib.suppress(OSError):
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    fd = wait_until(opened, f"a reader of {fifo}")
    os.write(fd, text.encode())
    os.close(fd)


class Pings:
    """Pings to a busy server and, one for one, to an idle one: how slow both are, the machine is, and for how long it lets a
    server wait for a processor is no fault of that server. With them a test can say how long a server may make others wait, on a
    machine that has other things to do as well."""

    def __init__(self, asked, idle):
        self._servers = asked, idle
        self._times = [], []

    def __len__(self):
        return len(self._times[0])

    def once(self):
        for server, times in zip(self._servers, self._times):
            began, waited = time.monotonic(), server.waited_seconds()
            assert server.result("ping", timeout=30) == {}
            times.append(time.monotonic() - began - (server.waited_seconds() - waited))

    def delay(self, nth=1):
        """How much longer the busy one's nth slowest answer took than the idle one's, in seconds."""
        asked, idle = (sorted(times)[-nth] for times in self._times)
        return asked - idle

    def median_delay(self):
        return self.delay((len(self) + 1) // 2)
