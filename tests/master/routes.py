"""What a master answers: one row a route, one function a row.

v06 answers as the newest master is believed to (the contract the product is written for), v05 as its predecessor does.
"""

import json
import re
import time
from urllib.parse import unquote

from .reply import Reply, fail, framework_fail
from .world import TEMPLATES

SANDBOX_TOKEN = "x-sandstorm-sandbox-token"
TAG = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
BRANCHES_AT_ONCE = 4


class Refused(Exception):
    """Carries the reply of a request that goes no further."""

    def __init__(self, reply):
        super().__init__(reply.status)
        self.reply = reply


class Routes:
    def __init__(self, world, settings, token, ca_pem):
        self.world, self.settings = world, settings
        self._bearer, self._ca_pem = f"Bearer {token}", ca_pem

    def answer(self, request):
        try:
            return self._answer(request)
        except Refused as refused:
            return refused.reply

    def refuse(self, status, text):
        raise Refused(fail(self.settings, status, text))

    def _answer(self, request):
        open_to_all = request.path in ("/ca.pem", "/healthz")
        given = request.get("authorization")
        if not open_to_all and given != self._bearer:
            self.refuse(self.settings.auth, "invalid bearer token" if given else "missing bearer token")
        allowed = []
        for method, pattern, function, old in ROUTES:
            found = re.fullmatch(pattern, request.path)
            if not found or (self.settings.old and not old):
                continue
            if method == request.method:
                return function(self, request, *map(unquote, found.groups()))
            allowed.append(method)
        return Reply(405, fields=[("Allow", ",".join(allowed))]) if allowed else Reply(404)

    # -- what requests have in common -----------------------------------------------------------------------------

    def body(self, request):
        if not request.body:
            return {}
        if request.get("content-type") != "application/json":
            raise Refused(framework_fail(self.settings, 415, "Expected request with `Content-Type: application/json`"))
        try:
            value = json.loads(request.body)
        except ValueError as problem:
            raise Refused(framework_fail(self.settings, 400, f"Failed to parse the request body: {problem}")) from None
        if not isinstance(value, dict):
            raise Refused(framework_fail(self.settings, 422, "invalid type: expected a map"))
        return value

    def number(self, value, name):
        if type(value) is not int or value < 0:
            raise Refused(framework_fail(self.settings, 422, f"{name}: invalid type, expected u64"))
        return value

    def sandbox(self, id, request=None):
        """The sandbox; with a request also its token is asked for."""
        sandbox = self.world.find(id)
        if not sandbox:
            self.refuse(404, f"sandbox {id} not found")
        if request and not self.settings.old:
            given = request.get(SANDBOX_TOKEN)
            if given != sandbox.token:
                self.refuse(self.settings.auth, "invalid sandbox token" if given else "missing sandbox token")
            sandbox.used = time.time()
        return sandbox

    def listed(self, values, name):
        form = self.settings.lists
        return Reply(200, {"bare": values, "named": {name: values}, "items": {"items": values, "next": None}}[form])

    # -- one function a route -------------------------------------------------------------------------------------

    def ca(self, request):
        reply = Reply(200, text=self._ca_pem)
        reply.type = "application/x-pem-file"
        return reply

    def health(self, request):
        return Reply(200, {"ok": True})

    def version(self, request):
        return Reply(200, {"version": "0.5.3" if self.settings.old else "0.6.0", "api": "v1"})

    def templates(self, request):
        return self.listed([{"name": name} for name in TEMPLATES], "templates")

    def snapshots(self, request):
        with self.world.lock:
            return self.listed(list(self.world.snapshots.values()), "snapshots")

    def delete_snapshot(self, request, tag):
        if not TAG.match(tag):
            self.refuse(400, "bad tag")
        with self.world.lock:
            if not self.world.snapshots.pop(tag, None):
                self.refuse(404, f"snapshot {tag} not found")
        return Reply(204)

    def source(self, body):
        """What to start from, as a member of the sandbox; names that this master does not know are ignored."""
        name = "snapshot_tag" if self.settings.old else self.settings.tag
        template = None if self.settings.old else body.get("template")
        if name in body:
            if body[name] not in self.world.snapshots:
                self.refuse(404, f"snapshot {body[name]} not found")
            return {"snapshot_tag": body[name]}
        if template is None:
            raise Refused(framework_fail(self.settings, 422, f"missing field `{name}`"))
        if template not in TEMPLATES:
            self.refuse(404, f"template {template} not found")
        return {"template": template}

    def spawn(self, request):
        body = self.body(request)
        count = self.number(body.get("n", 1), "n")
        form = self.settings.spawn
        if form == "no_n" and "n" in body:
            raise Refused(framework_fail(self.settings, 422, "unknown field `n`"))
        if not 1 <= count <= 1000:
            self.refuse(400, "n must be from 1 to 1000")
        source = self.source(body)
        made = [s.shown(not self.settings.old) for s in self.world.make(1 if form == "single" else count, source)]
        return Reply(201, {"object": {"sandboxes": made}, "single": made[0]}.get(form, made))

    def sandboxes(self, request):
        return self.listed([s.shown() for s in self.world.living()], "sandboxes")

    def get(self, request, id):
        return Reply(200, self.sandbox(id).shown())

    def kill(self, request, id):
        if not self.world.remove(id):
            self.refuse(404, f"sandbox {id} not found")
        return Reply(204)

    def ping(self, request, id):
        idle = self.sandbox(id).state() == "idle"
        self.sandbox(id, request)
        if idle and self.settings.ping_idle == 409:
            self.refuse(409, "the sandbox is idle; touch it first")
        return Reply(200, {"pong": True, "pid": 42, "agent_lang": "python", "warmup_ready": True})

    def touch(self, request, id):
        sandbox = self.sandbox(id)
        sandbox.used = time.time()
        return Reply(200, sandbox.shown()) if self.settings.touch == "object" else Reply(204)

    def exec(self, request, id):
        body, sandbox = self.body(request), self.sandbox(id, request)
        args, limit = body.get("args"), self.number(body.get("timeout_secs", 30), "timeout_secs")
        if not isinstance(args, list) or not all(isinstance(a, str) for a in args):
            raise Refused(framework_fail(self.settings, 422, "args: expected a sequence of strings"))
        if not args:
            self.refuse(400, "args must not be empty")
        try:
            out, err, code, late = self.world.run(sandbox, args, limit)
        except (OSError, ValueError) as problem:
            return self.missing_program(args[0], problem)
        if late and self.settings.old:
            out, err, code = "", "", 1
        return Reply(200, {"stdout": out, "stderr": err, "exit_code": code})

    def missing_program(self, program, problem):
        form = "1" if self.settings.old else self.settings.missing
        if form == "400":
            self.refuse(400, f"exec {program}: {problem.strerror}")
        told = f"{program}: {problem.strerror}\n" if form == "127" else ""
        return Reply(200, {"stdout": "", "stderr": told, "exit_code": int(form)})

    def eval(self, request, id):
        body, sandbox = self.body(request), self.sandbox(id, request)
        code, limit = body.get("code"), self.number(body.get("timeout_secs", 30), "timeout_secs")
        if not isinstance(code, str):
            raise Refused(framework_fail(self.settings, 422, "missing field `code`"))
        if self.settings.old:
            code = f"print(repr(eval({code!r})), end='')"
        out, err, status, _ = self.world.evaluate(sandbox, code, limit)
        if self.settings.old:
            return Reply(200, {"result": out or None, "error": err or None, "exit_code": status})
        return Reply(200, {"stdout": out, "stderr": err, "exit_code": status})

    def branch(self, request, id):
        body, settings = self.body(request), self.settings
        with self.world.lock:
            sandbox = self.sandbox(id)
            tag = body.get("tag") or f"branch-{id}-{int(time.time())}-{len(self.world.snapshots):04x}"
            if not TAG.match(tag):
                self.refuse(400, f"bad tag {tag}")
            if tag in self.world.snapshots:
                self.refuse(409, f"snapshot {tag} exists")
            if sandbox.branching:
                told = "not found" if settings.branch_busy == 404 else "is being branched"
                self.refuse(settings.branch_busy, f"sandbox {id} {told}")
            if sum(s.branching for s in self.world.living()) >= BRANCHES_AT_ONCE:
                self.refuse(503, f"{BRANCHES_AT_ONCE} branches are running")
            sandbox.branching = True
        try:
            time.sleep(settings.branch_after)
            return Reply(201, self.world.add_snapshot(tag, sandbox))
        finally:
            sandbox.branching = False


ID = "/v1/sandboxes/([^/]+)"
# method, path, function, known to the old master
ROUTES = [
    ("GET", "/ca.pem", Routes.ca, False),
    ("GET", "/healthz", Routes.health, True),
    ("GET", "/version", Routes.version, True),
    ("GET", "/v1/templates", Routes.templates, False),
    ("GET", "/v1/snapshots", Routes.snapshots, True),
    ("DELETE", "/v1/snapshots/([^/]+)", Routes.delete_snapshot, True),
    ("POST", "/v1/sandboxes", Routes.spawn, True),
    ("GET", "/v1/sandboxes", Routes.sandboxes, True),
    ("GET", ID, Routes.get, True),
    ("DELETE", ID, Routes.kill, True),
    ("POST", ID + "/ping", Routes.ping, True),
    ("POST", ID + "/exec", Routes.exec, True),
    ("POST", ID + "/eval", Routes.eval, True),
    ("POST", ID + "/branch", Routes.branch, True),
    ("POST", ID + "/touch", Routes.touch, False),
]
