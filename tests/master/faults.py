"""What can go wrong between a client and a master, one function a fault.

m.arm(fault, method, path, times, **arguments) makes the next `times` requests that match go wrong. Two kinds: faults of
the reply change it before it is framed; faults of the script change what is sent, when, and how the connection ends.
"""

import gzip
import json
import re

from .reply import End, Reply

MIB = 1 << 20
REPLY, SCRIPT = {}, {}
INSTEAD = ("status", "redirect", "echo")        # of what was asked for: it is not done


def reply_fault(function):
    REPLY[function.__name__] = function
    return function


def script_fault(function):
    SCRIPT[function.__name__] = function
    return function


# -- when and how it is sent --------------------------------------------------------------------------------------


@script_fault
def delay(script, seconds=0.3):
    yield seconds
    yield from script


@script_fault
def stall(script, seconds=0.3):
    """A pause in the middle of the body."""
    head, body, *end = script
    yield from (head, body[:len(body) // 2], seconds, body[len(body) // 2:], *end)


@script_fault
def dribble(script, seconds=0.01):
    """Byte by byte."""
    for part in script:
        if isinstance(part, bytes):
            for at in range(len(part)):
                yield part[at:at + 1]
                yield seconds
        else:
            yield part


@script_fault
def close(script):
    yield End.CLOSE


@script_fault
def reset(script):
    yield End.RESET


@script_fault
def alert(script):
    yield End.ALERT


def cut_after(whole, size, end):
    yield whole[:size]
    yield end


@script_fault
def cut_head(script, after=20):
    return cut_after(script[0], after, End.CUT)


@script_fault
def cut_body(script, after=5):
    """In the middle of the body, without a goodbye."""
    return cut_after(script[0] + script[1], len(script[0]) + after, End.CUT)


@script_fault
def close_body(script, after=5):
    """The same with a goodbye."""
    return cut_after(script[0] + script[1], len(script[0]) + after, End.CLOSE)


@script_fault
def idle_close(script):
    """The connection is kept, but only for a second."""
    yield from script
    yield End.IDLE


@script_fault
def interim(script):
    yield b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"
    yield from script


@script_fault
def bare(script, text="SSH-2.0-OpenSSH_9.6\r\n"):
    """Something that is no HTTP."""
    yield text.encode()
    yield End.CLOSE


# -- what it says ---------------------------------------------------------------------------------------------------


def set_json(reply, body, status=200):
    reply.status, reply.reason, reply.type, reply.body = status, "OK", "application/json", body


def padded(stream, size):
    """A result of exec with that many bytes in one stream."""
    texts = {"stdout": "", "stderr": "", stream: "x" * size}
    return json.dumps({**texts, "exit_code": 7}).encode()


@reply_fault
def wide_head(reply, size=20480):
    reply.fields.append(("X-Wide", "w" * size))


@reply_fault
def html(reply):
    reply.type, reply.body = "text/html", b"<!DOCTYPE html><html><body>Welcome to the router</body></html>"


@reply_fault
def empty(reply):
    set_json(reply, b"")


@reply_fault
def half_json(reply):
    set_json(reply, b'{"id":"sb-1","stdout":"a","exit_co')


@reply_fault
def shape(reply, text="42"):
    """JSON of the wrong shape."""
    set_json(reply, text.encode())


@reply_fault
def deep(reply, levels=1000):
    set_json(reply, b"[" * levels + b"]" * levels)


@reply_fault
def twice(reply):
    """A member that stands twice."""
    set_json(reply, b'{"id":"sb-1","stdout":"a","stdout":"b","stderr":"","exit_code":0}')


@reply_fault
def digits(reply, count=400):
    set_json(reply, b'{"id":"sb-1","stdout":"","stderr":"","exit_code":0,"big":' + b"7" * count + b"}")


@reply_fault
def raw_text(reply, inside="\\u0000"):
    """`inside` stands in a string; latin-1, so that \\xff is the raw byte."""
    set_json(reply, b'{"id":"sb-1","stdout":"<' + inside.encode("latin-1") + b'>","stderr":"","exit_code":0}')


@reply_fault
def large(reply, stream="stdout", size=10 * MIB):
    set_json(reply, padded(stream, size))


@reply_fault
def crowd(reply, count=1000):
    """A list of that many sandboxes."""
    sandbox = {"template": "python", "state": "running", "guest_addr": "10.42.0.2", "created_at_unix": 1760000000}
    set_json(reply, json.dumps([{"id": f"sb-{n:06x}", **sandbox} for n in range(count)]).encode())


@reply_fault
def packed(reply):
    reply.body = gzip.compress(reply.body)
    reply.fields.append(("Content-Encoding", "gzip"))


@reply_fault
def redirect(reply, to, status=302):
    set_json(reply, b"", status)
    reply.reason = "Found"
    reply.fields.append(("Location", to))


@reply_fault
def status(reply, status, text="as told", fields=()):
    """Another status with an error text and more fields."""
    made = Reply(status, {"error": text}, fields=[tuple(f) for f in fields])
    vars(reply).update(vars(made))


@reply_fault
def echo(reply, request, where="error"):
    """A reply that gives the request's headers away: in its error, in a page, in its own head."""
    text = "; ".join(f"{name}: {value}" for name, value in request.fields)
    secrets = " ".join(filter(None, map(request.get, ("authorization", "x-sandstorm-sandbox-token"))))
    status(reply, 500, "cannot handle " + text)
    if where == "page":
        reply.status, reply.type, reply.body = 200, "text/html", f"<p>{secrets}".encode()
    if where == "text":
        reply.type, reply.body = "text/plain", f"cannot handle {secrets}".encode()
    if where == "reason":
        reply.reason = secrets
    if where == "location":
        reply.status = 302
        reply.fields.append(("Location", f"https://127.0.0.1:1/?{secrets.replace(' ', '+')}"))
    if where == "retry":
        reply.status = 503
        reply.fields.append(("Retry-After", secrets))


def lengths(reply, *values, more=()):
    reply.framed = False
    reply.fields += [("Content-Length", str(value)) for value in values] + list(more)


@reply_fault
def length(reply, by=10):
    """A Content-Length that is wrong by so many bytes; what is missing never comes."""
    lengths(reply, len(reply.body) + by)
    reply.end = End.CLOSE if by > 0 else None


@reply_fault
def length_text(reply, text="-5"):
    lengths(reply, text)


@reply_fault
def length_twice(reply, by=1):
    lengths(reply, len(reply.body), len(reply.body) + by)


@reply_fault
def both_framings(reply):
    lengths(reply, len(reply.body), more=[("Transfer-Encoding", "chunked")])


@reply_fault
def body_of_204(reply):
    reply.status, reply.reason, reply.body = 204, "No Content", b'{"smuggled":true}'


# -- which requests it hits -----------------------------------------------------------------------------------------


class Armed:
    """A fault that waits for its requests."""

    def __init__(self, name, method, path, times, arguments):
        if name not in REPLY and name not in SCRIPT:
            raise ValueError(f"no fault {name}")
        self.name, self.method, self.path, self.times, self.arguments = name, method, path, times, arguments

    def matches(self, request):
        return self.times > 0 and self.method in (None, request.method) and re.search(self.path, request.target)

    @property
    def instead(self):
        return self.name in INSTEAD

    def change(self, reply, request):
        if self.name == "echo":
            echo(reply, request, **self.arguments)
        elif self.name in REPLY:
            REPLY[self.name](reply, **self.arguments)

    def rewrite(self, script):
        return SCRIPT[self.name](script, **self.arguments) if self.name in SCRIPT else script
