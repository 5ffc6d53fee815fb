"""wait_for_text: it reads the file as it grows, takes no word of the caller for shell, and comes back in time.

sandbox-tools.md section 6.4; P6, P7, P8, P9, P26.
"""

import statistics
import threading
import time

import pytest

from master.routes import SANDBOX_TOKEN
from mcpwire import wait_until
from process import busy
from sandbox import one_sandbox, proof


def wait(s, box, path, marker, **more):
    return s.value("wait_for_text", **proof(box), path=str(path), marker=marker, **more)


def polls(m):
    return m.requests("POST", "/exec$")


def later(seconds, work):
    timer = threading.Timer(seconds, work)
    timer.start()
    return timer


@pytest.mark.parametrize("name", [
    "a b", "it's", 'say "x"', "$(touch evil)", "; touch evil", "`touch evil`", "a\nb", "-n", "*", "\u20ac\U0001f600",
    "a\\b", "$HOME"])
def test_a_path_is_read_as_it_is(master, sandbox, tmp_path, name):
    """P6, W1."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / name
    path.write_text("the marker is here\n")
    assert wait(s, box, path, "marker is")["found"] is True
    assert wait(s, box, str(path) + "; true", "marker", timeout_secs=0)["found"] is False
    assert list(m.world.find(box["id"]).folder.iterdir()) == [], "nothing was run"
    for poll in polls(m):
        assert name not in poll.json()["args"][2], "the path is no part of the script"


@pytest.mark.parametrize("marker", ["$HOME", "a.c", "[x]", "-e", "\\n", "a\nb", "%s", "\u20ac", '"', "'"])
def test_a_marker_is_found_as_it_is(master, sandbox, tmp_path, marker):
    """No pattern, no shell: the bytes themselves."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    path.write_text("abc x HOME no\n")
    assert wait(s, box, path, marker, timeout_secs=0)["found"] is False
    path.write_text(f"abc x {marker} yes\n")
    assert wait(s, box, path, marker, timeout_secs=0)["found"] is True


def test_the_marker_is_at_the_start_of_a_megabyte(master, sandbox, tmp_path):
    """P7, W2: read from offset 0, without sleeping between."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    path.write_bytes(b"MARK" + b"x" * (1 << 20))
    seen = wait(s, box, path, "MARK")
    assert seen["found"] is True and len(polls(m)) == 1
    path.write_bytes(b"x" * (1 << 20) + b"END")
    started = time.monotonic()
    assert wait(s, box, path, "END", poll_interval_ms=5000)["found"] is True
    assert time.monotonic() - started < 4 * busy() and len(polls(m)) < 30


def test_the_marker_comes_in_two_pieces(master, sandbox, tmp_path):
    """P7: two writes, and the first one was read; the second starts in the middle of a character."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    text = "wait for it: \u20ac5 paid".encode()
    path.write_bytes(text[:14])
    id = s.start_call("wait_for_text", **proof(box), path=str(path), marker="it: \u20ac5 paid", timeout_secs=20,
                      poll_interval_ms=50)
    wait_until(lambda: len(polls(m)) > 2, "it has read the first one")
    with open(path, "ab") as f:
        f.write(text[14:])
    assert s.wait_value(id)["found"] is True


def test_the_marker_lies_across_the_ends_of_what_is_read(master, sandbox, tmp_path):
    """W2: 64 KiB at a time, with an overlap; at each shift, also with characters that are cut."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    for shift in range(0, 14, 3):
        for filling in ("x", "\u20ac"):
            body = (filling * 40000).encode()[:65536 - 12 + shift] + "<m\u20acrker>".encode() + filling.encode() * 30000
            path.write_bytes(body)
            assert wait(s, box, path, "<m\u20acrker>", timeout_secs=3)["found"] is True, (shift, filling)


def test_a_file_that_grows_fast(master, sandbox, tmp_path):
    """P7: 10 MB/s; the reader keeps up, or at least comes to the marker before its time is over."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    stop = threading.Event()

    def grow():
        with open(path, "wb", buffering=0) as f:
            for n in range(60):
                f.write(b"x" * 99_999 + b"\n")
                if n == 30:
                    f.write(b"MARKER\n")
                if stop.wait(0.01):
                    return
    writer = threading.Thread(target=grow)
    writer.start()
    s.patience = 40
    seen = wait(s, box, path, "MARKER", timeout_secs=30)
    stop.set()
    writer.join()
    assert seen["found"] is True


def test_a_file_that_is_not_there_yet_and_one_that_is_replaced(master, sandbox, tmp_path):
    """W2, W3."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    timer = later(0.3, lambda: path.write_text("here MARK\n"))
    assert wait(s, box, path, "MARK", timeout_secs=5, poll_interval_ms=50)["found"] is True
    timer.join()
    path.write_text("x" * 5000)
    id = s.start_call("wait_for_text", **proof(box), path=str(path), marker="AGAIN", poll_interval_ms=50)
    before = len(polls(m))
    wait_until(lambda: len(polls(m)) > before + 2, "it has read the first one")
    path.write_text("AGAIN and shorter")
    assert s.wait_value(id)["found"] is True


def test_the_excerpt(master, sandbox, tmp_path):
    """6.2: the last bytes of the file as last seen, valid text."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    path.write_text("\u20ac" * 1000 + "the end")
    seen = wait(s, box, path, "none", timeout_secs=0)
    assert list(seen) == ["found", "elapsed_ms", "last_excerpt"] and seen["found"] is False
    assert seen["last_excerpt"].endswith("\u20acthe end") and 200 < len(seen["last_excerpt"].encode()) <= 256
    assert "\ufffd" not in seen["last_excerpt"]
    assert wait(s, box, tmp_path / "none", "x", timeout_secs=0)["last_excerpt"] == ""


def test_no_time_is_one_look(master, sandbox, tmp_path):
    """P8, W4."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    path.write_text("MARK")
    assert wait(s, box, path, "MARK", timeout_secs=0)["found"] is True
    assert wait(s, box, path, "none", timeout_secs=0)["found"] is False
    assert len(polls(m)) == 2


def test_it_comes_back_in_time(master, sandbox, tmp_path):
    """P9, W4: a master that answers each poll after 3 s does not hold it up; nor does a long interval."""
    m, s, box = one_sandbox(master, sandbox)
    m.arm("delay", "POST", "/exec$", times=99, seconds=3)
    started = time.monotonic()
    seen = wait(s, box, tmp_path / "log", "x", timeout_secs=1)
    assert seen["found"] is False and 0.9 < time.monotonic() - started < 1.8 * busy()
    assert 900 < seen["elapsed_ms"] < 1800 * busy()
    m.disarm()
    seen = wait(s, box, tmp_path / "log", "x", timeout_secs=0.3, poll_interval_ms=60000)
    assert seen["found"] is False and seen["elapsed_ms"] < 1100 * busy()


def test_passing_troubles_are_not_the_end(master, sandbox, tmp_path):
    """P9, W5."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    for fault, told in (("status", {"status": 503, "text": "busy"}), ("close", {}), ("status", {"status": 429}),
                        ("cut_body", {})):
        m.arm(fault, "POST", "/exec$", **told)
    timer = later(0.5, lambda: path.write_text("MARK"))
    assert wait(s, box, path, "MARK", timeout_secs=10, poll_interval_ms=50)["found"] is True
    timer.join()
    m.arm("status", "POST", "/exec$", times=99, status=503, text="still busy")
    seen = wait(s, box, path, "none", timeout_secs=0.4)
    assert seen["found"] is False and "still busy" in seen["last_error"]


@pytest.mark.parametrize("status, text", [(401, "no"), (403, "no"), (404, "sandbox sb-9 not found")])
def test_a_refusal_is_the_end(master, sandbox, tmp_path, status, text):
    """W5."""
    m, s, box = one_sandbox(master, sandbox)
    m.arm("status", "POST", "/exec$", times=99, status=status, text=text)
    told = s.failure("wait_for_text", **proof(box), path="/x", marker="x", timeout_secs=20)
    assert str(status) in told and len(polls(m)) == 1


def test_one_connection_serves_all_polls(master, sandbox, tmp_path):
    """P26, W4, W6: 40 polls without the 40 ms that a delayed acknowledgement costs; each carries the token."""
    m, s, box = one_sandbox(master, sandbox)
    path = tmp_path / "log"
    id = s.start_call("wait_for_text", **proof(box), path=str(path), marker="MARK", poll_interval_ms=50)
    wait_until(lambda: len(polls(m)) >= 40, "40 polls", 20)
    path.write_text("MARK")
    assert s.wait_value(id)["found"] is True
    seen = polls(m)
    assert {r.connection.number for r in seen} == {1} and {r.get(SANDBOX_TOKEN) for r in seen} == {box["token"]}
    gaps = [b.at - a.at for a, b in zip(seen, seen[1:])]
    assert 0.045 < statistics.median(gaps) and statistics.quantiles(gaps)[0] < 0.060, gaps
    assert all(1 <= r.json()["timeout_secs"] <= 5 for r in seen)


def test_a_cancelled_wait_looks_no_more(master, sandbox, tmp_path):
    """W7."""
    m, s, box = one_sandbox(master, sandbox)
    id = s.start_call("wait_for_text", **proof(box), path=str(tmp_path / "x"), marker="x", poll_interval_ms=50)
    wait_until(lambda: len(polls(m)) > 2, "it polls")
    s.cancel(id)
    s.fence()
    time.sleep(0.2)
    before = len(polls(m))
    time.sleep(0.4)
    assert len(polls(m)) == before and not [v for v in s.fence() if v.get("id") == id]


def test_the_end_of_stdin_ends_a_wait(master, sandbox, tmp_path):
    """Decision 48."""
    m, s, box = one_sandbox(master, sandbox)
    s.start_call("wait_for_text", **proof(box), path=str(tmp_path / "x"), marker="x")
    wait_until(lambda: polls(m), "it polls")
    started = time.monotonic()
    assert s.close() == 0 and time.monotonic() - started < 3 * busy()


@pytest.mark.long(11)
def test_progress_while_it_waits(master, sandbox, tmp_path):
    """Section 6.4: what was read so far, every 5 s, for who asked."""
    m, s, box = one_sandbox(master, sandbox)
    (tmp_path / "log").write_text("12345\n")
    s.patience = 20
    asked = s.modern.with_meta(progressToken="w")
    arguments = {**proof(box), "path": str(tmp_path / "log"), "marker": "none", "timeout_secs": 11}
    ids = [asked.start_call("wait_for_text", **arguments), s.start_call("wait_for_text", **arguments)]
    assert all(s.wait_value(id)["found"] is False for id in ids)
    notes = [x.value["params"] for x in s.history if x.value.get("method") == "notifications/progress"]
    assert len(notes) == 2 and {n["progressToken"] for n in notes} == {"w"}
    assert notes[0]["progress"] < notes[1]["progress"]
    assert {n["message"] for n in notes} == {"the text is not there yet, 6 bytes read"}
