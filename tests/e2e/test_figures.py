"""The figures that are promised: time to the first answer, memory, size, processor time.

Each test prints what it measured (`pytest -s` shows it). The limits stand with slack where a busy test machine would
blur them.
"""

import json
import os
import statistics
import subprocess
import time

import pytest

from mcpwire import clean_environment, wait_until

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}}).encode() + b"\n"
SLACK = 4


def start_to_answer_ms(binary, env):
    """From before the process exists to the whole answer of `initialize`."""
    started = time.perf_counter()
    with subprocess.Popen([binary, "--tools", "host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, bufsize=0, env=env) as process:
        process.stdin.write(INITIALIZE)
        answer = b""
        while not answer.endswith(b"\n"):
            answer += process.stdout.read(65536)
        took = (time.perf_counter() - started) * 1000
        process.stdin.close()
        assert process.wait(10) == 0
    assert b'"protocolVersion":"2025-11-25"' in answer
    return took


def test_from_start_to_the_first_answer_it_takes_less_than_five_milliseconds(binary, workspace):
    """S6 (there 50 ms on an ARM board), issue 3: under 5 ms on the developers' machine; the least of 9, slack for busy ones."""
    env = clean_environment(workspace, {})
    times = sorted(start_to_answer_ms(binary, env) for _ in range(9))
    print(f"\nstart to first answer: median {statistics.median(times):.2f} ms, least {times[0]:.2f} ms")
    assert times[0] < 5 * SLACK


def test_over_http_as_well(web):
    """S6: from start to the first answer, whose client asks again and again for as long as nobody listens."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        w = web()
        w.result("initialize", json.loads(INITIALIZE)["params"])
        times.append((time.perf_counter() - started) * 1000)
    print(f"\nstart to first answer over HTTP: {sorted(times)}")
    assert min(times) < 50 * SLACK


def test_next_to_nothing_is_read_before_the_first_answer(host):
    """S6: nothing but its configuration, on a board where each read costs."""
    host.initialize()
    with open(f"/proc/{host.pid}/io") as f:
        read = dict(line.split(": ") for line in f.read().splitlines())
    print(f"\nread before the first answer: {read['rchar']} bytes in {read['syscr']} reads")
    assert int(read["rchar"]) < 16 * 1024 and int(read["syscr"]) < 40


def test_a_server_that_has_answered_holds_less_than_a_megabyte(host):
    """Issue 3: idles below 1 MB of resident memory."""
    host.initialize()
    host.result("tools/list")
    print(f"\nresident after the first answers: {host.rss_kib()} KiB")
    assert host.rss_kib() < 1024


def test_memory_goes_back_after_work(host, workspace):
    """Decision 24: what lies above the first pages goes back."""
    (workspace / "big").write_text("x" * (1 << 20))
    ids = [host.start_call("file_read", path="big") for _ in range(8)]
    for id in ids:
        host.wait(id)
    host.text("file_write", path="copy", content="y" * (4 << 20))
    wait_until(lambda: host.rss_kib() < 1536, f"memory is given back, {host.rss_kib()} KiB are held")
    print(f"\nresident after 8 answers of 1 MiB: {host.rss_kib()} KiB, most so far {host.peak_rss_kib()} KiB")


def test_fifty_megabytes_of_output_cost_a_few_megabytes_of_memory(host):
    """Issue 3: output of 50 MB is bounded, memory under the budget."""
    host.patience = 30
    text = host.text("terminal_exec", command="head -c 50000000 /dev/zero | tr '\\0' x")
    assert "bytes omitted of 50000000" in text
    print(f"\nmost resident memory during 50 MB of output: {host.peak_rss_kib()} KiB, after it {host.rss_kib()} KiB")
    assert host.peak_rss_kib() < 16 * 1024
    wait_until(lambda: host.rss_kib() < 1536, "memory is given back")


def test_many_large_answers_at_once_stay_under_the_budget(host, workspace):
    """Decision 28: MEM_BUDGET is 64 MiB at most; what does not fit is refused, never an exit."""
    (workspace / "f").write_text("\n" * (1 << 20))      # each byte takes two in JSON
    host.pause_reading()
    ids = [host.start_call("file_read", path="f") for _ in range(60)]
    time.sleep(0.5)
    host.resume_reading()
    good = 0
    for id in ids:
        answer = host.wait(id, 20)
        good += "result" in answer and not answer["result"].get("isError")
    print(f"\n{good} of 60 answers of 2 MiB, most resident memory {host.peak_rss_kib()} KiB")
    assert good >= 8
    assert host.peak_rss_kib() < 80 * 1024
    assert host.result("ping") == {}


def test_what_does_not_fit_into_a_small_budget_is_refused_and_the_server_goes_on(server, workspace):
    """Decision 28: the smallest budget, 8 MiB, against a request of 12 MiB and many large answers."""
    (workspace / "f").write_text("x" * (1 << 20))
    s = server(env={"SANDSTORM_MEMORY": "8388608"})
    s.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "file_write", "arguments": {"path": "big", "content": "y" * (12 << 20)}}})
    assert [list(answer) for answer in s.fence()] == [["jsonrpc", "id", "error"]]
    assert not (workspace / "big").exists()
    s.pause_reading()
    ids = [s.start_call("file_read", path="f") for _ in range(40)]
    time.sleep(0.3)
    s.resume_reading()
    answers = [s.wait(id) for id in ids]
    good = [a for a in answers if "result" in a and not a["result"].get("isError")]
    print(f"\n{len(good)} of 40 answers of 1 MiB, most resident memory {s.peak_rss_kib()} KiB")
    assert good and s.peak_rss_kib() < 12 * 1024
    assert "Written 1 bytes" in s.text("file_write", path="small", content="z")
    assert s.text("terminal_exec", command="echo on").startswith("stdout:\non\n")


def test_a_ping_takes_less_than_a_millisecond(host):
    """The way through all layers and back, two context switches included."""
    times = []
    for _ in range(6):
        started = time.perf_counter()
        for _ in range(100):
            host.result("ping")
        times.append((time.perf_counter() - started) * 1000 / 100)
    each = min(times)       # of a hundred: other programs can only add to it
    print(f"\nping: {each:.3f} ms")
    assert each < 1 * SLACK


def test_an_idle_server_sleeps(host):
    """S1: no timer ticks, no polling."""
    host.text("terminal_exec", command="true")
    time.sleep(0.3)

    def wakes():
        with open(f"/proc/{host.pid}/status") as f:
            return [int(line.split()[1]) for line in f if "ctxt_switches" in line]
    before = wakes()
    time.sleep(1)
    assert wakes() == before
    assert host.cpu_seconds() < 0.1


def test_the_binary_is_small(binary):
    """Under 428 KB with both toolsets, both transports, OAuth, sessions and TLS on either side."""
    if os.environ.get("TARGET", "x86_64") != "x86_64":
        pytest.fail("this figure is that of x86_64; run this test on the native binary")
    size = os.path.getsize(binary)
    print(f"\nbinary: {size} bytes")
    assert size < 428 * 1000
