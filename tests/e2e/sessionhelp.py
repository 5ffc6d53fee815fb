"""The sessions API as its clients use it: `Sessions(web())` speaks to one server.

    s = Sessions(w)                        with the MCP token; Sessions(w, token="...") with another, None: without
    s.create(**members) -> Session         must be made; s.try_create(...) -> Answer
    one.exec("command", **members)         the JSON of a 200; one.try_exec(...) -> Answer; one.start_exec(...) leaves it
                                           running: a Connection
    one.status(), one.extend(minutes), one.delete()     JSON of the 200; each with try_ for the Answer
    one.path, one.workspace                Path of its directory, of its workspace
    s.call(method, target, value, fields)  anything else below /session; value: JSON, or bytes as they are

`write_log` makes a state file of a former run; `lines_of` reads the one that is there.
"""

import json
import time
import uuid
from pathlib import Path

from httpwire import request

JSON = {"Content-Type": "application/json"}


class Session:
    def __init__(self, sessions, value):
        self._sessions = sessions
        self.made = value
        self.id = value["id"]
        self.path = Path(value["workspace_path"])
        self.workspace = self.path / "workspace"

    def _call(self, method, verb, value=None, **more):
        return self._sessions.call(method, f"/session/{self.id}{verb}", value, **more)

    def try_exec(self, command, **members):
        return self._call("POST", "/exec", {"command": command, **members}, timeout=90)

    def exec(self, command, **members):
        return ok(self.try_exec(command, **members))

    def start_exec(self, command, **members):
        return self._sessions.start("POST", f"/session/{self.id}/exec", {"command": command, **members})

    def try_status(self):
        return self._call("GET", "/status")

    def status(self):
        return ok(self.try_status())

    def try_extend(self, minutes=None):
        return self._call("POST", "/extend", None if minutes is None else {"additional_minutes": minutes})

    def extend(self, minutes=None):
        return ok(self.try_extend(minutes))

    def try_delete(self):
        return self._call("DELETE", "")

    def delete(self):
        return ok(self.try_delete())


class Sessions:
    def __init__(self, web, token=...):
        self.web = web
        self.token = web.token if token is ... else token

    def _bytes(self, method, target, value, fields):
        body = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        usual = {"Host": f"{self.web.host}:{self.web.port}",
                 "Authorization": self.token and f"Bearer {self.token}",
                 "Content-Type": None if body is None else "application/json"}
        return request(method, target, {**usual, **(fields or {})}, body)

    def start(self, method, target, value=None, fields=None):
        connection = self.web.connect()
        connection.send(self._bytes(method, target, value, fields))
        return connection

    def call(self, method, target, value=None, fields=None, timeout=20):
        with self.start(method, target, value, fields) as connection:
            return connection.answer(method, timeout=timeout)

    def try_create(self, type="work", **members):
        return self.call("POST", "/session/create", {"type": type, **members})

    def create(self, type="work", **members):
        answer = self.try_create(type, **members)
        assert answer.status == 201, answer
        return Session(self, answer.json())

    def session(self, id):
        """One that this client has not made itself."""
        return Session(self, {"id": id, "workspace_path": "/"})


def ok(answer):
    assert answer.status == 200, answer
    return answer.json()


def refused(answer, status, text=None):
    """An error in the API's form; with that text when it is given."""
    assert answer.status == status, answer
    value = answer.json()
    assert set(value) == {"error"} and isinstance(value["error"], str) and value["error"], value
    assert text is None or value["error"] == text, value
    return value["error"]


# -- the state file ------------------------------------------------------------------------------


def now_ms():
    return int(time.time() * 1000)


def created(id=None, end=None, at=None, type="work"):
    """A line of the state file; times in ms from now."""
    at = now_ms() + (at or 0)
    return {"op": "create", "id": id or str(uuid.uuid4()), "type": type, "created": at - at % 1000,
            "end": now_ms() + (30 * 60_000 if end is None else end)}


def write_log(workspace, *lines, dirs=True):
    """The state file of a former run, and the directories of the sessions made in it."""
    state = workspace / ".sandstorm-mcp"
    state.mkdir(mode=0o700, exist_ok=True)
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    (state / "sessions.jsonl").write_bytes(text)
    for line in lines if dirs else ():
        if isinstance(line, dict) and line["op"] == "create":
            for name in ("context", "workspace", "outputs"):
                (workspace / "sessions" / line["id"] / name).mkdir(parents=True, exist_ok=True)


def lines_of(workspace):
    text = (workspace / ".sandstorm-mcp" / "sessions.jsonl").read_bytes()
    assert text == b"" or text.endswith(b"\n"), text[-100:]
    return [json.loads(line) for line in text.splitlines()]
