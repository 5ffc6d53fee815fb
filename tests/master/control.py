"""The control channel: plain HTTP on a loopback port of its own, JSON in and out.

    GET    /record      {"requests": [...], "connections": [...], "violations": [...]}
    DELETE /record      forgets the requests
    GET    /settings    all of them; POST {"state": "nested", ...} changes some
    POST   /faults      {"fault": "cut_body", "method": "POST", "path": "/exec$", "times": 1, ... its arguments};
                        DELETE disarms
    POST   /mute, /deaf, /hear
"""

import http.server
import json
import threading


def shown_request(r):
    return {"connection": r.connection.number, "method": r.method, "target": r.target, "fields": r.fields,
            "body": r.body.decode("utf-8", "replace"), "at": r.at, "done": r.done, "status": r.status, "fault": r.fault}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    master = None       # set in the subclass that a Control makes

    def _reply(self, value, status=200):
        body = json.dumps(value, default=str).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _do(self):
        value = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        work = getattr(self, f"{self.command.lower()}_{self.path.strip('/')}", None)
        if work is None:
            return self._reply({"error": "no such thing"}, 404)
        try:
            self._reply(work(value) or {"ok": True})
        except (ValueError, TypeError) as problem:
            self._reply({"error": str(problem)}, 400)

    do_GET = do_POST = do_DELETE = _do

    def get_record(self, _):
        m = self.master
        return {"requests": list(map(shown_request, m.requests())), "connections": list(map(vars, m.connections())),
                "violations": m.violations()}

    def delete_record(self, _):
        self.master.forget()

    def get_settings(self, _):
        return vars(self.master.settings)

    def post_settings(self, value):
        self.master.set(**value)

    def post_faults(self, value):
        self.master.arm(**value)

    def delete_faults(self, _):
        self.master.disarm()

    def post_mute(self, _):
        self.master.mute = True

    def post_deaf(self, _):
        self.master.deaf()

    def post_hear(self, _):
        self.master.mute = False
        self.master.hear()

    def log_message(self, *_):
        pass


class Control:
    def __init__(self, master, port=0):
        handler = type("ControlHandler", (Handler,), {"master": master})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
