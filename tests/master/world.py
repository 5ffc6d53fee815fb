"""What a master looks after: templates, snapshots, and sandboxes with their life.

A sandbox starts, runs, falls idle and wakes up by the clock: its state is worked out when somebody asks. Its commands
really run, on this machine, in a folder of their own, without a shell.
"""

import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time

TEMPLATES = ["python", "sh"]


class Sandbox:
    def __init__(self, world, number, source, fate):
        settings = world.settings
        self.id = f"sb-{number:06x}-{secrets.token_hex(2)}"
        self.token = secrets.token_hex(16)
        self.source = source
        self.fate = "running" if settings.old else fate
        self.made = self.used = time.time()
        self.starts = self.made + (0 if settings.old else settings.start_after)
        self.folder = world.folder / self.id
        self.folder.mkdir(parents=True)
        self.branching = False
        self._world = world

    def state(self):
        """starting, running, idle or failed; None: there is no such sandbox any more."""
        now, idle_after = time.time(), self._world.settings.idle_after
        if self.fate == "stuck" or now < self.starts:
            return "starting"
        if self.fate in ("failed", "gone"):
            return "failed" if self.fate == "failed" else None
        return "idle" if idle_after is not None and now - self.used > idle_after else "running"

    def shown(self, with_token=False):
        """As list and get show it; the token is in the reply to the creation alone."""
        settings = self._world.settings
        told = {"id": self.id, "guest_addr": "10.42.0.2", "created_at_unix": int(self.made), "pid": 9007199254740993,
                "memory_limit_mib": None, "branch_count": 0, **self.source}
        if settings.old:
            return {**told, "netns": None, "has_branched": False}
        state = self.state()
        reason = {"reason": settings.reason} if state == "failed" else {}
        if settings.state == "nested":
            told["status"] = {"state": state, **reason}
        else:
            word = state.upper() if settings.state == "upper" else state
            told.update({"status" if settings.state == "status" else "state": word}, **reason)
        return {**told, "token": self.token} if with_token else told


class World:
    def __init__(self, folder, settings):
        self.folder = folder
        self.settings = settings
        self.lock = threading.RLock()
        self.sandboxes = {}
        self.tokens = []            # of all sandboxes that ever were
        self.snapshots = {"base": {"tag": "base", "created_at_unix": 1760000000, "status": "ready", "bootable": True}}
        self._numbers = itertools.count(1)
        self._running = set()

    def make(self, count, source):
        with self.lock:
            made = []
            for _ in range(count):
                number = next(self._numbers)
                fate = self.settings.fate
                if isinstance(fate, list):
                    fate = fate[(number - 1) % len(fate)]
                sandbox = Sandbox(self, number, source, fate)
                self.sandboxes[sandbox.id] = sandbox
                self.tokens.append(sandbox.token)
                made.append(sandbox)
            return made

    def find(self, id):
        with self.lock:
            sandbox = self.sandboxes.get(id)
            return sandbox if sandbox and sandbox.state() else None

    def living(self):
        with self.lock:
            return [s for s in self.sandboxes.values() if s.state()]

    def remove(self, id):
        with self.lock:
            sandbox = self.find(id)
            if sandbox:
                del self.sandboxes[id]
        if sandbox:
            shutil.rmtree(sandbox.folder, ignore_errors=True)
        return sandbox is not None

    def add_snapshot(self, tag, sandbox):
        with self.lock:
            self.snapshots[tag] = {"tag": tag, "branched_from": sandbox.id, "created_at_unix": int(time.time()),
                                   "status": "ready", "bootable": True}
            return self.snapshots[tag]

    # -- commands -------------------------------------------------------------------------------------------------

    def run(self, sandbox, args, limit):
        """(stdout, stderr, exit code, out of time) of a command; FileNotFoundError and its kin when it cannot start."""
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(sandbox.folder), "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(args, cwd=sandbox.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        with self.lock:
            self._running.add(process)
        late = False
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
            self._kill(process)
            out, err = process.communicate()
        finally:
            with self.lock:
                self._running.discard(process)
        return out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), process.returncode, late

    def evaluate(self, sandbox, code, limit):
        """A Python snippet, or for the old master an expression, in a process of its own."""
        return self.run(sandbox, [sys.executable, "-I", "-S", "-c", code], limit)

    def _kill(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        """Ends what still runs."""
        with self.lock:
            for process in self._running:
                self._kill(process)
