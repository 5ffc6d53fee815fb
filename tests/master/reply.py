"""A reply and what it becomes on the wire: a script of bytes to send, pauses, and ends of the connection."""

import enum
import http
import json


class End(enum.Enum):
    """Ends a script and with it the connection."""
    CLOSE = "with close_notify"
    CUT = "without"
    RESET = "with RST"
    ALERT = "with a fatal alert"
    IDLE = "when it has been idle for a second"     # the script may go on, and so may the connection


class Reply:
    def __init__(self, status=200, value=None, text=None, fields=()):
        self.status = status
        self.reason = http.HTTPStatus(status).phrase
        self.fields = list(fields)
        self.type, self.body = None, b""
        self.framed = True      # a fault that brings its own framing says False
        self.end = None         # an End that follows the body
        if text is not None:
            self.type, self.body = "text/plain; charset=utf-8", text.encode()
        elif value is not None:
            self.type, self.body = "application/json", json.dumps(value, separators=(",", ":")).encode()


ERROR_FORMS = {
    "error": lambda text: {"error": text},
    "code": lambda text: {"error": {"code": "refused", "message": text}},
    "message": lambda text: {"message": text},
    "detail": lambda text: {"detail": text},
}


def fail(settings, status, text):
    """An error of the application, in the form that the settings ask for."""
    if settings.error == "text":
        return Reply(status, text=text)
    if settings.error == "empty":
        return Reply(status)
    return Reply(status, ERROR_FORMS[settings.error](text))


def framework_fail(settings, status, text):
    """An error found before the application was asked: plain text in the old master."""
    return Reply(status, text=text) if settings.old else fail(settings, status, text)


def chunks(body, size):
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    lines = [b'%x;note="a b"\r\n%s\r\n' % (len(part), part) for part in parts]
    return b"".join(lines) + b"0\r\nx-trailer: end\r\n\r\n"


def script(reply, settings):
    """[head, body] and how it ends, as a list."""
    fields, body, end = list(reply.fields), reply.body, [reply.end] if reply.end else []
    if reply.type:
        fields.insert(0, ("Content-Type", reply.type))
    if reply.framed and reply.status != 204:
        kind, _, size = settings.framing.partition(" ")
        if kind == "length":
            fields.append(("Content-Length", str(len(body))))
        elif kind == "chunked":
            fields.append(("Transfer-Encoding", "chunked"))
            body = chunks(body, int(size))
        else:
            fields.append(("Connection", "close"))
            end = [End.CUT if size else End.CLOSE]
    spell = getattr(str, settings.case)
    lines = [f"HTTP/1.1 {reply.status} {reply.reason}"] + [f"{spell(name)}: {value}" for name, value in fields]
    return ["\r\n".join(lines).encode("latin-1") + b"\r\n\r\n", body, *end]
