"""Random calls while random things go wrong: whatever happens to single calls, each is answered once, none is done
twice, no token goes to another sandbox, and at the end all is as it was.

sandbox-tools.md H2, H8, P16, P21; E7. The seed of each run is the test's parameter.
"""

import random

import pytest

from master.routes import SANDBOX_TOKEN
from sandbox import one_sandbox, proof

FAULTS = [
    ("close", {}), ("reset", {}), ("alert", {}), ("cut_head", {}), ("cut_body", {}), ("close_body", {}), ("bare", {}),
    ("html", {}), ("half_json", {}), ("wide_head", {}), ("length", {"by": 7}), ("length", {"by": -7}), ("interim", {}),
    ("both_framings", {}), ("body_of_204", {}), ("delay", {"seconds": 0.05}), ("stall", {"seconds": 0.05}),
    ("status", {"status": 500}), ("status", {"status": 401}), ("redirect", {"to": "https://127.0.0.1:1/"}),
    ("large", {"size": 300_000}), ("raw_text", {"inside": "\xff\\ud800"}), ("echo", {}), ("dribble", {"seconds": 0}),
    ("deep", {}), ("empty", {})]


class Caller:
    """Sends random calls, remembers what each may come to."""

    def __init__(self, s, boxes, dice):
        self.s, self.boxes, self.dice = s, boxes, dice
        self.marked = {}        # word in args -> the sandbox it was meant for
        self.cancelled = set()

    def start(self):
        box = self.dice.choice(self.boxes)
        word = f"mark-{len(self.marked)}"
        kind = self.dice.randrange(5)
        if kind < 2:
            self.marked[word] = box
            id = self.s.start_call("exec_command", **proof(box), args=["echo", word])
        elif kind == 2:
            id = self.s.start_call("ping_sandbox", **proof(box))
        elif kind == 3:
            id = self.s.start_call("get_sandbox", sandbox_id=box["id"])
        else:
            id = self.s.start_call("list_snapshots")
        if self.dice.random() < 0.1:
            self.s.cancel(id)
            self.cancelled.add(id)
        return id

    def finish(self, id):
        if id in self.cancelled:
            return
        result = self.s.wait(id, 30)["result"]
        assert isinstance(result["isError"], bool) and len(result["content"]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_chaos(master, sandbox, seed):
    dice = random.Random(seed)
    m, s, box = one_sandbox(master, sandbox, case=dice.choice(["lower", "upper"]),
                            framing=dice.choice(["length", "chunked 7"]))
    caller = Caller(s, [box, *s.spawn(3, template="sh")], dice)
    for id in [caller.start() for _ in range(20)]:
        caller.finish(id)
    before = s.rss_kib(), s.fd_count()
    flying = []
    for _ in range(250):
        if dice.random() < 0.4:
            fault, told = dice.choice(FAULTS)
            m.arm(fault, **told)
        flying.append(caller.start())
        if len(flying) == 8:
            caller.finish(flying.pop(dice.randrange(8)))
    for id in flying:
        caller.finish(id)
    m.disarm()
    s.fence()

    ids = [x.value["id"] for x in s.history if "id" in x.value]
    assert len(ids) == len(set(ids)), "each is answered once"
    runs = [(r.json()["args"][1], r.path.split("/")[3], r.get(SANDBOX_TOKEN)) for r in m.requests("POST", "/exec$")]
    assert len({word for word, _, _ in runs}) == len(runs), "no command was sent twice"
    assert all((caller.marked[word]["id"], caller.marked[word]["token"]) == (id, token) for word, id, token in runs)
    for one in caller.boxes:
        assert s.exec(one, "echo", one["id"])["stdout"] == one["id"] + "\n"
    after = s.rss_kib(), s.fd_count()
    print(f"\nresident and descriptors: {before} -> {after}, {len(m.connections())} connections")
    assert after[0] - before[0] <= 128 and after[1] - before[1] <= 8
