"""Output of terminal_exec: how much of it comes back, in which form, and when the answer does not wait for more."""

import json
import re
import time

import pytest

from mcpwire import first_text, wait_until
from process import Pings, busy

MIB = 1 << 20
HELD = "a background process still holds the output; what it writes from now on is dropped"


def parts(text):
    """The kept head, (omitted, total), the kept tail of a stdout that was cut."""
    found = re.fullmatch(r"stdout:\n(.*)\n\[\.\.\. (\d+) bytes omitted of (\d+) \.\.\.\]\n(.*)\n\nexit_code: 0", text, re.S)
    assert found, text[:200] + " ... " + text[-200:]
    return found[1], (int(found[2]), int(found[3])), found[4]


# -- bytes ---------------------------------------------------------------------------------------


def test_a_character_split_between_two_writes_arrives_whole(host):
    """X3."""
    assert host.text("terminal_exec", command=r"printf '\342'; sleep .2; printf '\211\244'") == \
        "stdout:\n\u2264\n\nexit_code: 0"


def test_nul_and_control_bytes_arrive(host):
    """X3."""
    assert host.text("terminal_exec", command=r"printf 'a\0b\033[1m\177\r\n'") == \
        "stdout:\na\0b\x1b[1m\x7f\r\n\n\nexit_code: 0"


def test_invalid_bytes_become_replacement_characters(host):
    """X3: one for each ill-formed sequence, as everywhere."""
    raw = bytes.fromhex("61ff62c3e282 63ed a080 f09f8e 64 e2")
    assert host.text("terminal_exec", command="printf '" + "".join(f"\\{b:03o}" for b in raw) + "'") == \
        "stdout:\n" + raw.decode("utf-8", "replace") + "\n\nexit_code: 0"


def test_random_bytes_are_always_valid_json(host):
    """X3; the client of these tests parses strictly."""
    for _ in range(5):
        assert "\ufffd" in host.text("terminal_exec", command="head -c 100000 /dev/urandom")


def test_both_streams_keep_their_own_text(host):
    text = host.text("terminal_exec", command=r"printf '\342'; printf '\211\244' >&2")
    assert text == "stdout:\n\ufffd\n\nstderr:\n\ufffd\ufffd\n\nexit_code: 0"


# -- too much of it ------------------------------------------------------------------------------


def test_a_long_output_keeps_its_head_and_its_tail(host):
    """X4: what failed is told at the end."""
    full = "".join(f"{n}\n" for n in range(1, 2_000_001))
    head, (omitted, total), tail = parts(host.text("terminal_exec", command="seq 1 2000000"))
    assert total == len(full) and len(head) + len(tail) == MIB and omitted == total - MIB
    assert full.startswith(head) and full.endswith(tail)


@pytest.mark.parametrize("size, cut", [(4096, 0), (4097, 1), (10_000, 5904)])
def test_the_bound_is_exact(server, size, cut):
    """Decision 9."""
    s = server(env={"SANDSTORM_MAX_OUTPUT": "4096"})
    text = s.text("terminal_exec", command=f"head -c {size} /dev/zero | tr '\\0' x")
    if cut:
        assert parts(text) == ("x" * 2048, (cut, size), "x" * 2048)
    else:
        assert text == "stdout:\n" + "x" * size + "\n\nexit_code: 0"


def test_each_stream_has_its_own_bound(host):
    """X5."""
    text = host.failure("terminal_exec", command="echo short; yes >&2", timeout=1.5)
    assert text.startswith("stdout:\nshort\n\n\nstderr:\ny\ny\n")
    assert text.endswith("\ny\ntimeout after 1.5s\n\nexit_code: 124")
    assert re.search(r"\n\[\.\.\. \d+ bytes omitted of \d+ \.\.\.\]\n", text)
    assert len(text) < 1.1 * MIB


def test_the_cut_never_splits_a_character(server):
    """Fault 16."""
    for limit in (4096, 4097, 4098, 4099):
        s = server(env={"SANDSTORM_MAX_OUTPUT": str(limit)})
        head, (omitted, total), tail = parts(s.text("terminal_exec", command="yes '\u20ac\U0001f389' | head -c 1600000"))
        assert "\ufffd" not in head + tail
        assert len(head.encode()) + len(tail.encode()) + omitted == total == 1_600_000


def test_fifty_megabytes_are_read_to_the_end_within_the_memory_budget(host):
    """Fault 16."""
    host.result("ping")
    before = host.rss_kib()
    text = host.text("terminal_exec", command="head -c 25000000 /dev/zero | tr '\\0' a; head -c 25000000 /dev/zero | tr '\\0' b; echo end")
    head, (omitted, total), tail = parts(text)
    assert set(head) == {"a"} and set(tail) == {*"bend\n"} and tail.endswith("bend\n")
    assert total == 50_000_004 and len(text) < 1.1 * MIB
    assert host.peak_rss_kib() < 8 * 1024
    assert host.text("terminal_exec", command="echo on").startswith("stdout:\non\n")
    assert host.rss_kib() < before + 1024, "what a call took is given back"


def test_fifty_megabytes_of_control_bytes_on_both_streams_fit_too(host):
    """Each becomes six when escaped."""
    result = host.call("terminal_exec", command="head -c 25000000 /dev/zero & head -c 25000000 /dev/zero >&2; wait")
    text = first_text(result)
    assert text.count("\0") == 2 * MIB and text.count("bytes omitted of 25000000") == 2


def test_many_large_outputs_at_once_stay_within_the_budget(server):
    """Each call is answered: whole, with less kept, or with an error that says why; the server lives on."""
    s = server(env={"SANDSTORM_MEMORY": str(8 * MIB)})
    s.patience = 30
    ids = [s.start_call("terminal_exec", command="yes 0123456789 | head -c 3000000") for _ in range(12)]
    served = 0
    for id in ids:
        answer = s.wait(id)
        if "result" in answer:
            head, (omitted, total), tail = parts(first_text(answer["result"]))
            assert total == 3_000_000 and len(head) + len(tail) + omitted == total
            served += 1
        else:
            assert answer["error"]["code"] == -32603
    assert served >= 1
    assert s.peak_rss_kib() < 14 * 1024
    assert s.text("terminal_exec", command="echo on").startswith("stdout:\non\n")


def test_ping_is_answered_while_a_command_floods(host, server):
    """F15."""
    id = host.start_call("terminal_exec", command="yes", timeout=2)
    pings = Pings(host, server())
    for _ in range(10):
        pings.once()
        time.sleep(0.1)
    assert pings.median_delay() < 0.1 * busy() and pings.delay(2) < 0.3 * busy()
    assert "bytes omitted" in first_text(host.wait(id)["result"])


# -- who else holds the pipe ---------------------------------------------------------------------


@pytest.mark.parametrize("command", [
    "sleep 30 & echo started",
    "(setsid sleep 30 &) ; echo started",
    "nohup sleep 30 >/dev/null & echo started",        # keeps stderr
    "sleep 30 >&2 & disown; echo started",
])
def test_a_background_process_does_not_keep_the_call(host, command):
    """X1."""
    began = time.monotonic()
    result = host.call("terminal_exec", command=command)
    assert time.monotonic() - began < busy()
    assert [block["text"] for block in result["content"]] == ["stdout:\nstarted\n\n\nexit_code: 0", HELD]
    assert result["isError"] is False
    assert len(host.wait_descendants(1)) == 1, "it lives on"


def test_a_daemon_that_let_go_of_the_output_is_not_mentioned(host):
    """Fault 11."""
    result = host.call("terminal_exec", command="setsid sleep 60 </dev/null >/dev/null 2>&1 & "
                       "until [ $(readlink /proc/$!/fd/2) = /dev/null ]; do sleep 0.01; done; echo started")
    assert [block["text"] for block in result["content"]] == ["stdout:\nstarted\n\n\nexit_code: 0"]
    assert len(host.wait_descendants(1)) == 1


def speak(host, workspace, times, pause, **more):
    """The result of a command that leaves a program behind which speaks so often, with such pauses: the first at which the
    machine let it speak in time."""
    (workspace / "speak.py").write_text(f"""
import pathlib, time
pathlib.Path("ready").touch()
last = time.monotonic()
for n in range(1, {times} + 1):
    time.sleep({pause})
    print(n, flush=True)
    if time.monotonic() - last > {pause} + 0.03:
        pathlib.Path("late").touch()
    last = time.monotonic()
""")
    while True:
        for name in ("ready", "late"):
            (workspace / name).unlink(missing_ok=True)
        result = host.call("terminal_exec", command="python3 speak.py & until [ -e ready ]; do sleep 0.005; done; echo 0", **more)
        time.sleep(0.2 * busy())        # who is late may not have been let say so yet
        if not (workspace / "late").exists():
            return result


def test_what_comes_shortly_after_the_end_still_belongs_to_the_answer(host, workspace):
    """X1: silence counts from the last output."""
    text = first_text(speak(host, workspace, 5, 0.05))
    assert sorted(re.fullmatch("stdout:\n(.*)\n\n\nexit_code: 0", text, re.S)[1].split()) == ["0", "1", "2", "3", "4", "5"]


def test_a_background_process_that_never_falls_silent_is_left_after_two_seconds(host, workspace):
    """X1."""
    result = speak(host, workspace, 300, 0.03, timeout=20)
    spoken = first_text(result).split()
    assert "0" in spoken and 30 < len(spoken) < 100, "for two seconds of nine"
    assert result["content"][1]["text"] == HELD


def test_a_daemon_goes_on_writing_after_the_answer(host, workspace):
    """X1: what it writes is read and dropped; neither a full pipe nor SIGPIPE stops it."""
    host.call("terminal_exec", command="(sleep 0.4; head -c 3000000 /dev/zero && echo wrote >done; sleep 30) & echo started")
    assert wait_until((workspace / "done").exists, "3 MB written by the daemon")
    assert len(host.wait_descendants(1)) >= 1


def test_many_held_pipes_cost_a_bounded_number_of_descriptors(host):
    """Decision 44: 32 pipes are drained, then the oldest is closed."""
    host.result("ping")     # it has opened all its own
    before = host.fd_count()
    ids = [host.start_call("terminal_exec", command="sleep 60 & echo started") for _ in range(45)]
    for id in ids:
        assert "started" in json.dumps(host.wait(id))
    assert host.fd_count() <= before + 32
    assert len(host.wait_descendants(45)) == 45
    assert host.text("terminal_exec", command="echo on").startswith("stdout:\non\n")


def test_drained_pipes_are_closed_when_their_process_ends(host):
    host.result("ping")     # it has opened all its own
    before = host.fd_count()
    for _ in range(5):
        host.call("terminal_exec", command="sleep 2 & echo started")
    assert host.fd_count() > before
    wait_until(lambda: host.fd_count() == before, "all pipes closed")
    assert host.zombies() == []


def test_a_command_that_closes_its_output_is_waited_for(host):
    began = time.monotonic()
    assert host.failure("terminal_exec", command="exec >/dev/null 2>&1; sleep 0.5; exit 6") == "exit_code: 6"
    assert time.monotonic() - began >= 0.5
