"""The listener: takes connections, reads requests, has them answered, lets the armed fault spoil what is sent."""

import contextlib
import select
import socket
import threading
import time

from . import wire
from .faults import Armed
from .keys import Keys
from .record import Record
from .reply import End, Reply, script
from .routes import Routes
from .settings import Settings
from .world import World

TOKEN = "e2e-master-token-0123456789abcdef"


class Master(Record):
    """One master on one loopback port. Keyword arguments are settings (settings.py); those that come first:

    leaf    the certificate it shows, a row of keys.LEAVES
    speaks  "usual" (TLS 1.2 and 1.3), "1.3", "1.1", "cbc", or "plain" for no TLS at all
    """

    def __init__(self, folder, host="127.0.0.1", port=0, leaf="full", speaks="usual", keys=None, token=TOKEN,
                 **settings):
        super().__init__()
        self.keys = keys or Keys(folder / "keys")
        self.ca = self.keys.anchor(leaf)
        self.token = token
        self.settings = Settings(**settings)
        self.world = World(folder / "sandboxes", self.settings)
        self._routes = Routes(self.world, self.settings, token, self.ca.read_text())
        self._context = None if speaks == "plain" else wire.context(self.keys.leaf(leaf), speaks)
        self._faults, self._faults_lock = [], threading.Lock()
        self.mute = False               # connections are taken and never served
        self._accepting = threading.Lock()
        self._deaf, self._stuck = False, []
        self._open = {}                 # socket -> record.Connection
        self._ending = False
        self._listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET,
                                              backlog=64)
        self.host, self.port = host, self._listener.getsockname()[1]
        self.url = self.url_of(host)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._accept, self._watch)]
        for thread in self._threads:
            thread.start()

    def url_of(self, host):
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self._ending = True
        self.hear()
        for thread in self._threads:
            thread.join()
        self._listener.close()
        self.world.end()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    # -- what a test arranges -------------------------------------------------------------------------------------

    def set(self, **changes):
        self.settings.set(**changes)

    def arm(self, fault, method=None, path="", times=1, **arguments):
        with self._faults_lock:
            self._faults.append(Armed(fault, method, path, times, arguments))

    def disarm(self):
        with self._faults_lock:
            self._faults.clear()

    def deaf(self):
        """From now on nobody's connection is completed: the queue of the listening socket is full."""
        with self._accepting:
            self._deaf = True
        self._listener.listen(0)
        while True:
            sock = socket.socket(self._listener.family)
            sock.settimeout(0.2)
            self._stuck.append(sock)
            try:
                sock.connect(self._listener.getsockname())
            except TimeoutError:
                return

    def hear(self):
        self._deaf = False
        while self._stuck:
            self._stuck.pop().close()
        with contextlib.suppress(OSError):
            self._listener.listen(64)

    def secrets(self):
        """All that must not be found in anybody's log."""
        return [self.token, *self.world.tokens]

    def open_connections(self):
        return [c for c in self.connections() if c.closed is None]

    # -- connections ----------------------------------------------------------------------------------------------

    def _accept(self):
        while not self._ending:
            with contextlib.suppress(OSError):
                select.select([self._listener], [], [], 0.02)
                with self._accepting:
                    if not self._deaf and select.select([self._listener], [], [], 0)[0]:
                        sock, _ = self._listener.accept()
                        threading.Thread(target=self._serve, args=(sock,), daemon=True).start()
                if self._deaf:
                    time.sleep(0.02)

    def _watch(self):
        """Writes down when a client goes away, also while its request is being worked on."""
        while not self._ending:
            poll, waiting = select.poll(), {}
            for sock, connection in list(self._open.items()):
                number = sock.fileno()      # its own thread may close it at any time
                if connection.closed is None and number >= 0:
                    waiting[number] = connection
                    poll.register(number, select.POLLRDHUP)
            for number, _ in poll.poll(10):
                waiting[number].end()

    def _serve(self, sock):
        connection = self.connection()
        self._open[sock] = connection
        try:
            if self.mute:
                sock.settimeout(60)
                while sock.recv(4096):
                    pass
            elif self._context is None:
                self._serve_plainly(sock)
            else:
                self._serve_tls(wire.Channel(sock, self._context), connection)
        except (wire.Gone, OSError) as problem:
            connection.problem = str(problem)
        finally:
            connection.end()
            del self._open[sock]
            sock.close()

    def _serve_plainly(self, sock):
        """What a server without TLS says to a client hello."""
        sock.recv(4096)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(4096):
            pass

    def _serve_tls(self, channel, connection):
        try:
            channel.handshake()
        finally:
            connection.hello = wire.client_hello(channel.first)
        tls = channel.tls
        connection.tls, connection.suite = tls.version(), tls.cipher()[0]
        connection.alpn, connection.resumed = tls.selected_alpn_protocol(), bool(tls.session_reused)
        requests = wire.Requests(channel)
        while True:
            seen = self.request(requests.next(), connection)
            try:
                end = self._answer(channel, seen)
            finally:
                seen.done = time.monotonic()
            if end is End.IDLE:
                end = None if select.select([channel.socket], [], [], 1)[0] else End.CLOSE
            if end:
                return self._finish(channel, end)

    def _finish(self, channel, end):
        if end is End.RESET:
            channel.reset()
        elif end is End.ALERT:
            channel.alert()
            channel.close(notify=False)
        else:
            channel.close(notify=end is End.CLOSE)

    # -- requests -------------------------------------------------------------------------------------------------

    def _fault_for(self, request):
        with self._faults_lock:
            for fault in self._faults:
                if fault.matches(request):
                    fault.times -= 1
                    return fault
        return None

    def _answer(self, channel, request):
        """Has the request answered; the End that the reply's script came to, or None: the connection goes on."""
        fault = self._fault_for(request)
        reply = Reply() if fault and fault.instead else self._routes.answer(request)
        if fault:
            request.fault = fault.name
            fault.change(reply, request)
        request.status = reply.status
        parts = script(reply, self.settings)
        return self._send(channel, fault.rewrite(parts) if fault else parts)

    def _send(self, channel, parts):
        """What is not parted by a pause leaves in one piece, head and body together."""
        waiting = b""
        for part in parts:
            if isinstance(part, bytes):
                waiting = waiting + part if waiting else part
                continue
            channel.write(waiting)
            waiting = b""
            if isinstance(part, End):
                return part
            time.sleep(part)
        channel.write(waiting)
        return None
