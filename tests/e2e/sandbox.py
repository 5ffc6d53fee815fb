"""A stdio server with the sandbox tools, against a test master. One `Sandbox` is one process; what it can do besides a
mcpwire.Server:

    s.value("get_sandbox", sandbox_id=id)      the object or array that a tool answered; fails on isError, and unless
                                               the text block and structuredContent say the same
    s.failure("get_sandbox", sandbox_id=id)    the text of a failed call, without `Error executing tool <name>: `
    (box,) = s.spawn()                         one sandbox of template "sh"; s.spawn(3), s.spawn(tag="base")
    s.exec(box, "echo", "hi", timeout_secs=3)  value of exec_command with the sandbox's id and token
    proof(box)                                 {"sandbox_id": ..., "sandbox_token": ...} as keywords of a call
    script(box, "echo hi")                     the same with args for a shell

Each server logs all it can and traces its exchanges. At the end of a test no token of the master may stand in its stderr,
in the trace, or on its stdout but for sandbox tokens in what spawn_sandboxes answered; and no request may have broken a
rule that holds for all (master/record.py).
"""

import json
import os

import mcpwire
from mcpwire import clean_environment, first_text

NAMES = ["list_templates", "list_snapshots", "spawn_sandboxes", "branch_sandbox", "touch_sandbox", "list_sandboxes",
         "get_sandbox", "exec_command", "eval_code", "wait_for_text", "ping_sandbox", "kill_sandbox", "delete_snapshot"]
# a call of each that a master answers, given a sandbox
CALLS = {
    "list_templates": {},
    "list_snapshots": {},
    "spawn_sandboxes": {"template": "sh"},
    "branch_sandbox": {"sandbox_id": ..., "tag": "t"},
    "touch_sandbox": {"sandbox_id": ...},
    "list_sandboxes": {},
    "get_sandbox": {"sandbox_id": ...},
    "exec_command": {"sandbox_id": ..., "sandbox_token": ..., "args": ["true"]},
    "eval_code": {"sandbox_id": ..., "sandbox_token": ..., "code": "1"},
    "wait_for_text": {"sandbox_id": ..., "sandbox_token": ..., "path": "/dev/null", "marker": "x", "timeout_secs": 0},
    "ping_sandbox": {"sandbox_id": ..., "sandbox_token": ...},
    "kill_sandbox": {"sandbox_id": ...},
    "delete_snapshot": {"tag": "base"},
}
INSIDE = ["exec_command", "eval_code", "wait_for_text", "ping_sandbox"]     # those that need the sandbox's token


def proof(box):
    return {"sandbox_id": box["id"], "sandbox_token": box["token"]}


def script(box, text, *words):
    return {**proof(box), "args": ["sh", "-c", text, "sh", *map(str, words)]}


def call_of(tool, box):
    """The arguments of CALLS with the sandbox's id and token filled in."""
    filled = {"sandbox_id": box["id"], "sandbox_token": box.get("token")}
    return {name: filled[name] if value is ... else value for name, value in CALLS[tool].items()}


def one_sandbox(master, sandbox, env=None, **settings):
    """With the fixtures of that name: (master, server, a sandbox that runs)."""
    m = master(**settings)
    s = sandbox(m, env=env)
    (box,) = s.spawn()
    return m, s, box


def most_open(m):
    """How many connections were open at the same time."""
    seen = m.connections()
    now = most = 0
    for _, step in sorted([(c.opened, 1) for c in seen] + [(c.closed, -1) for c in seen if c.closed]):
        now += step
        most = max(most, now)
    return most


def variables(master, host=None, ca=..., token=...):
    """Those for a client of this master; ca and token None: left unset."""
    return {"SANDSTORM_URL": master.url_of(host or master.host), "SANDSTORM_LOG_LEVEL": "DEBUG",
            "SANDSTORM_CA": str(master.ca if ca is ... else ca) if ca is not None else None,
            "SANDSTORM_TOKEN": master.token if token is ... else token}


def environment(master, env=None, **options):
    """The whole environment, with more in it."""
    return clean_environment(None, {**variables(master, **options), **(env or {})})


class Sandbox(mcpwire.Server):
    def __init__(self, argv, env, cwd, master):
        self.master = master
        self._trace = env.get("SANDSTORM_TRACE")
        self._spawns = []
        super().__init__(argv, env, cwd)

    def start_request(self, method, params=None, id=None):
        id = super().start_request(method, params, id)
        if (params or {}).get("name") == "spawn_sandboxes":
            self._spawns.append(id)
        return id

    def value_of(self, result):
        """What a result of tools/call holds."""
        assert result["isError"] is False, result
        assert len(result["content"]) == 1, "exactly one block"
        value = json.loads(first_text(result))
        assert result["structuredContent"] == (value if isinstance(value, dict) else {"result": value})
        return value

    def value(self, tool, /, **arguments):
        return self.value_of(self.call(tool, **arguments))

    def wait_value(self, id, timeout=None):
        answer = self.wait(id, timeout)
        assert "result" in answer, answer
        return self.value_of(answer["result"])

    def failure_of(self, tool, result):
        assert result["isError"] is True and len(result["content"]) == 1 and "structuredContent" not in result, result
        start = f"Error executing tool {tool}: "
        text = first_text(result)
        assert text.startswith(start), text
        return text[len(start):]

    def failure(self, tool, /, **arguments):
        return self.failure_of(tool, self.call(tool, **arguments))

    def wait_failure(self, tool, id, timeout=None):
        answer = self.wait(id, timeout)
        assert "result" in answer, answer
        return self.failure_of(tool, answer["result"])

    def spawn(self, n=None, **arguments):
        if not arguments:
            arguments = {"template": "sh"}
        if n is not None:
            arguments["n"] = n
        return self.value("spawn_sandboxes", **arguments)

    def exec(self, box, *args, **more):
        return self.value("exec_command", **proof(box), args=list(args), **more)

    def leaks(self):
        """Complaints about tokens where none may be."""
        found = []
        logs = self.stderr_text()
        if self._trace and os.path.isfile(self._trace):
            with open(self._trace, encoding="latin-1") as f:
                logs += f.read()
        for secret in self.master.secrets():
            if secret in logs:
                found.append(f"stderr or trace hold a token: {logs[max(0, logs.index(secret) - 200):][:300]!r}")
            holders = [m for m in self.history if secret.encode() in m.raw]
            if secret != self.master.token:
                holders = [m for m in holders if not isinstance(m.value, dict) or m.value.get("id") not in self._spawns]
            found += [f"a message holds a token: {m.raw[:300]!r}" for m in holders]
        return found

    def end(self):
        return super().end() + self.leaks()


class SandboxStarter:
    """Starts servers for masters and remembers them; the fixture `sandbox` of conftest.py tells of the parameters."""

    def __init__(self, binary, cwd):
        self._binary, self._cwd = binary, cwd
        self.started = []

    def __call__(self, master, args=(), wrap=(), env=None, **options):
        argv = [*wrap, self._binary, *map(str, args)]
        env = {"SANDSTORM_TRACE": f"{self._cwd}/trace-{len(self.started)}", **(env or {})}
        self.started.append(Sandbox(argv, environment(master, env=env, **options), self._cwd, master))
        return self.started[-1]

    def end(self):
        complaints = [text for s in self.started for text in s.end()]
        masters = {id(s.master): s.master for s in self.started}
        return complaints + [text for m in masters.values() for text in m.violations()]
