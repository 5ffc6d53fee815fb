"""One server as a client of either transport sees it, so that one test can say what must hold for both.

    peer.kind                       "stdio" or "http"
    peer.ask(message)               the one answer to a JSON value, or to bytes as they are; fails when more than one comes
    peer.raw                        that answer's bytes
    peer.refuses(message, code, id) the error of an answer with that code (or one of several) and that id, in its type
    peer.ignores(message)           fails unless nothing is answered: silence, or 202 and no body
    peer.ask_slowly(message)        the same as ask, each byte in a write of its own
    peer.agree(version)             initialize; what follows says so in its head, where it has one
    peer.start(message)             sends a request without waiting; peer.finish(started, timeout) is its answer
    peer.watch(a, b, ...)           sends requests side by side; of each (notes, answer): the progress messages of its
                                    token and its answer, as Note(at, value); fails when one comes after its answer
    peer.leave(started)             the client that has started a request gives it up as its transport does it
    peer.process                    the mcpwire.Server or webserver.WebServer; what is not above is looked for there:
                                    result, error, call, text, failure, modern.call, rss_kib, wait_descendants, ...

Over HTTP each answer's status is compared with its error (mcp.md section 7), a modern message gets its fields.
"""

import collections
import concurrent.futures
import json

from mcpwire import PREFIX, same_id
from webserver import modern_fields

Note = collections.namedtuple("Note", "at value")       # value: the whole message
PROGRESS = "notifications/progress"

NOT_JSON, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


def bytes_of(message):
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def is_modern(message):
    """Does it name its revision? Bytes that are no JSON do not."""
    try:
        value = json.loads(message) if isinstance(message, bytes) else message
        return PREFIX + "protocolVersion" in value["params"]["_meta"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


class Peer:
    def __init__(self, process):
        self.process = process
        self.raw = None

    def __getattr__(self, name):
        return getattr(self.process, name)

    def refuses(self, message, code, id=None):
        answer = self.ask(message)
        assert answer["error"]["code"] in (code if isinstance(code, tuple) else (code,)), answer
        assert same_id(answer["id"], id), answer
        return answer["error"]


class StdioPeer(Peer):
    kind = "stdio"

    def ask(self, message, timeout=None):
        self.process.send_raw(bytes_of(message) + b"\n")
        return self._only_answer(timeout)

    def ask_slowly(self, message):
        for byte in bytes_of(message) + b"\n":
            self.process.send_raw(bytes([byte]))
        return self._only_answer()

    def _only_answer(self, timeout=None):
        value = self.process.read_message(timeout)
        self.raw = next(m.raw for m in reversed(self.process.history) if m.value is value)
        more = self.process.fence()
        assert not more, f"more than one answer: {value}, {more}"
        return value

    def ignores(self, message):
        self.process.send_raw(bytes_of(message) + b"\n")
        assert self.process.fence() == []

    def agree(self, version):
        return self.process.initialize(version)

    def start(self, message):
        self.process.send_raw(bytes_of(message) + b"\n")
        return message["id"]

    def finish(self, started, timeout=None):
        return self.process.wait(started, timeout)

    def leave(self, started):
        self.process.cancel(started)

    def watch(self, *messages, timeout=None):
        before = len(self.process.history)
        answers = [self.process.wait_message(id, timeout) for id in [self.start(message) for message in messages]]
        self.process.drain()
        self.process.silence(0.3)
        seen = self.process.history[before:]
        found = []
        for message, answer in zip(messages, answers):
            token = message["params"].get("_meta", {}).get("progressToken")
            notes = [m for m in seen if m.value.get("method") == PROGRESS
                     and same_id(m.value["params"]["progressToken"], token)]
            assert not notes or seen.index(notes[-1]) < seen.index(answer), f"behind the answer: {notes[-1]}"
            found.append(([Note(m.at, m.value) for m in notes], Note(answer.at, answer.value)))
        assert len(seen) == sum(len(notes) + 1 for notes, _ in found), f"asked for by nobody: {seen}"
        return found


class HttpPeer(Peer):
    kind = "http"

    def __init__(self, process):
        super().__init__(process)
        self.version = None

    def _fields(self, message):
        if is_modern(message):
            return modern_fields(json.loads(message) if isinstance(message, bytes) else message)
        return {"MCP-Protocol-Version": self.version}

    def _checked(self, answer, modern):
        value = answer.message()
        code = value["error"]["code"] if isinstance(value, dict) and "error" in value else None
        expected = {None: [200], INTERNAL: [200, 503], NO_METHOD: [404 if modern else 200],
                    PARAMS: [200, 400] if modern else [200]}.get(code, [400])
        assert answer.status in expected, answer
        return value

    def ask(self, message, timeout=None):
        with self.start(message) as connection:
            answer = connection.answer(timeout=timeout)
            assert not connection.rest, f"more than one answer: {answer}, {connection.rest[:300]!r}"
        self.raw = answer.body
        return self._checked(answer, is_modern(message))

    def ask_slowly(self, message):
        with self.process.connect() as connection:
            connection.send_slowly(self.process.bytes_of(bytes_of(message), self._fields(message)), pause=0)
            answer = connection.answer()
        return self._checked(answer, is_modern(message))

    def ignores(self, message):
        answer = self.process.post(bytes_of(message), self._fields(message))
        assert (answer.status, answer.body) == (202, b""), answer

    def agree(self, version):
        result = self.process.result("initialize", {"protocolVersion": version, "capabilities": {},
                                                    "clientInfo": {"name": "peer", "version": "1"}})
        self.version = result["protocolVersion"]
        return result

    def start(self, message):
        return self.process.start(bytes_of(message), self._fields(message))

    def finish(self, started, timeout=None):
        return started.answer(timeout=timeout).message()

    def leave(self, started):
        started.close()

    def watch(self, *messages, timeout=None):
        with concurrent.futures.ThreadPoolExecutor(len(messages)) as threads:
            return list(threads.map(lambda message: self._watch(message, timeout), messages))

    def _watch(self, message, timeout):
        with self.start(message) as connection:
            events = [e for e in connection.messages(timeout=timeout) if e.kind == "message"]
            assert connection.silent(0.3)
        *notes, answer = [Note(e.at, e.value) for e in events]
        assert all(n.value["method"] == PROGRESS for n in notes) and same_id(answer.value["id"], message["id"]), events
        return notes, answer
