"""What comes back from the master: large, binary, strange, empty; and that our stdout stays clean.

sandbox-tools.md section 5.1; P10, P11, P22, P24.
"""

import os

import pytest

from mcpwire import wait_until
from sandbox import one_sandbox, proof, script


def cut(text, keep):
    return text[:keep // 2], text[-keep // 2:]


def peak_reset(s):
    with open(f"/proc/{s.pid}/clear_refs", "w") as f:
        f.write("5")


@pytest.mark.parametrize("stream, size", [("stdout", 10_000_000), ("stderr", 10_000_000), ("stdout", 60_000_000)])
def test_large_output_is_cut_and_costs_no_memory(master, sandbox, stream, size):
    """P10: halves joined by a marker, the count, the exit code; below 2 MiB of memory above idle."""
    m, s, box = one_sandbox(master, sandbox)
    idle = s.rss_kib()
    peak_reset(s)
    m.arm("large", "POST", stream=stream, size=size)
    s.patience = 60
    raw = s.wait_message(s.start_call("exec_command", **proof(box), args=["x"]))
    done = s.value_of(raw.value["result"])
    first, last = cut("x" * 65536, 65536)
    assert done[stream] == f"{first}\n[... {size - 65536} bytes omitted ...]\n{last}"
    assert done["exit_code"] == 7 and done["truncated"] == {stream: size}
    assert len(raw.raw) <= 2 * (2 * 65536 + 4096)
    assert s.peak_rss_kib() - idle < 2048, (idle, s.peak_rss_kib())
    assert s.exec(box, "echo", "on")["stdout"] == "on\n"
    wait_until(lambda: s.rss_kib() < idle + 256, "memory went back")


def test_a_reply_without_end_is_given_up(master, sandbox):
    """P10, H11: 65 MiB are too much."""
    m, s, box = one_sandbox(master, sandbox)
    m.arm("large", "POST", size=65 << 20)
    s.patience = 60
    text = s.failure("exec_command", **proof(box), args=["x"])
    assert "64 MiB" in text or "67108864" in text, text
    assert s.exec(box, "echo", "on")["stdout"] == "on\n"
    assert s.peak_rss_kib() < 4096


def test_the_bound_can_be_set(master, sandbox):
    """Section 1: SANDSTORM_MAX_OUTPUT, both streams apart; the member `truncated` names each."""
    m, s, box = one_sandbox(master, sandbox, env={"SANDSTORM_MAX_OUTPUT": "1024"})
    exact = s.value("exec_command", **script(box, "yes | head -c 1024"))
    assert exact["stdout"] == "y\n" * 512 and "truncated" not in exact
    done = s.value("exec_command", **script(box, "yes | head -c 1026; seq 1000 >&2"))
    numbers = "".join(f"{n}\n" for n in range(1, 1001))
    assert done["truncated"] == {"stdout": 1026, "stderr": len(numbers)}
    assert done["stdout"] == "y\n" * 256 + "\n[... 2 bytes omitted ...]\n" + "y\n" * 256
    assert done["stderr"].startswith(numbers[:512]) and done["stderr"].endswith(numbers[-512:])


@pytest.mark.parametrize("unit", ["\u20ac", "\U0001f600", '"', "\\", "\x01", "\u00e9x"])
def test_the_cut_spares_characters(master, sandbox, unit):
    """5.1: cut on the boundaries of characters and of escapes, wherever they fall."""
    m, s, box = one_sandbox(master, sandbox, env={"SANDSTORM_MAX_OUTPUT": "1024"})
    for shift in range(4):
        text = "a" * shift + unit * 2000
        done = s.value("exec_command", **proof(box), args=["printf", "%s", text])
        head, _, tail = done["stdout"].partition("\n[... ")
        tail = tail.partition(" bytes omitted ...]\n")[2]
        assert text.startswith(head) and text.endswith(tail)
        assert 300 < len(head.encode()) + len(tail.encode()) <= 1024, "an escape counts as three bytes at least"
        assert done["truncated"]["stdout"] == len(text.encode())


def test_every_byte_a_program_may_print(master, sandbox):
    """P22: as the master gives it, valid UTF-8 and JSON on our stdout (which mcpwire looks at)."""
    m, s, box = one_sandbox(master, sandbox)
    code = "import os\nfor b in range(256): os.write(1, bytes([b]))"
    done = s.value("eval_code", **proof(box), code=code)
    assert done["stdout"] == bytes(range(256)).decode("utf-8", "replace")
    for inside, seen in (("\xff\xfe", "\ufffd\ufffd"), ("\xe2\x82", "\ufffd"), ("\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
                         ("\\u0000\\ud83d", "\x00\ud83d"), ("\\ud83d\\ude00", "\U0001f600")):
        m.arm("raw_text", "POST", inside=inside)
        raw = s.wait_message(s.start_call("exec_command", **proof(box), args=["x"]))
        raw.raw.decode("utf-8")
        got = s.value_of(raw.value["result"])["stdout"]
        assert got == f"<{seen}>" or (set(seen) == {"\ufffd"} and set(got[1:-1]) == {"\ufffd"}), ascii(got)


def test_numbers_and_unknown_members_pass_unchanged(master, sandbox):
    """5.1: number text is copied, order is kept."""
    m, s, box = one_sandbox(master, sandbox)
    text = ('{"z":1.50e+3,"id":18446744073709551615,"a":[],"n":-0.0,"x":{"y":[null,true]},'
            '"d":0.1000000000000000055511151231257827}')
    m.arm("shape", "GET", text=text)
    raw = s.wait_message(s.start_call("get_sandbox", sandbox_id=box["id"]))
    assert raw.value["result"]["content"][0]["text"] == text
    assert text.encode() in raw.raw, "as structured content, too"


def test_lists_are_one_block_and_bounded(master, sandbox):
    """P11: [] when empty; 1,000 fit, 20,000 are an error that says so."""
    m, s, box = one_sandbox(master, sandbox)
    s.value("kill_sandbox", sandbox_id=box["id"])
    empty = s.call("list_sandboxes")
    assert empty["content"] == [{"type": "text", "text": "[]"}] and empty["structuredContent"] == {"result": []}
    m.arm("crowd", "GET", count=1000)
    assert len(s.value("list_sandboxes")) == 1000
    m.arm("crowd", "GET", count=20_000)
    text = s.failure("list_sandboxes")
    assert "1 MiB" in text or "1048576" in text, text
    m.arm("shape", "GET", text='["a","b"]')
    assert s.value("list_templates") == ["a", "b"]
    for strange in ('{"a":[],"b":[]}', '{"a":1}', "{}", '"x"'):
        m.arm("shape", "GET", text=strange)
        assert "invalid reply from the master" in s.failure("list_templates")


def test_stdout_holds_messages_only_also_without_stderr(master, sandbox):
    """P24: the descriptor 2 is not taken by something else."""
    m = master()
    s = sandbox(m, wrap=["sh", "-c", 'exec "$@" 2>&-', "sh"], env={"SANDSTORM_LOG_LEVEL": "DEBUG"})
    (box,) = s.spawn()
    assert s.exec(box, "echo", "hi")["stdout"] == "hi\n"
    s.failure("get_sandbox", sandbox_id="none")
    m.arm("cut_body", "GET")
    s.failure("list_templates")
    assert os.readlink(f"/proc/{s.pid}/fd/2").startswith("/"), "no socket, no pipe"
