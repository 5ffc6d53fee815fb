"""Progress of long calls, over both transports and in both eras (X10 of the field cases; section 6 of the protocol notes).

What a stream looks like that carries it is tested in test_http_sse.py; that it gets through proxies, in
tests/interop/test_proxies.py.
"""

import os
import pathlib
import shutil
import signal
import tempfile
import time

import pytest

from fshelp import start_and_stop
from githelp import program
from mcpwire import first_text, same_id, tool_params
from peer import PROGRESS
from process import busy
from webserver import message, modern_message

LINES = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.35; done"      # about 2.1 s
MADE = {"legacy": message, "modern": modern_message}


def call(tool, token=..., era="legacy", id=1, **arguments):
    meta = {} if token is ... else {"_meta": {"progressToken": token}}
    return MADE[era]("tools/call", {**tool_params(tool, arguments), **meta}, id)


def run(command, token=..., era="legacy", id=1):
    return call("terminal_exec", token, era, id, command=command)


def texts(notes):
    return [n.value["params"].get("message") for n in notes]


def rises(notes, token, started):
    """That they carry the token in its type, rise, and come at most four times a second; how many there are. Each says how
    many milliseconds of its call, which began no earlier than `started`, were over: it may be read later, not earlier."""
    params = [n.value["params"] for n in notes]
    assert all(same_id(p["progressToken"], token) for p in params), params
    values = [p["progress"] for p in params]
    assert all(type(value) in (int, float) for value in values) and all(a < b for a, b in zip(values, values[1:])), values
    assert all(b - a >= 250 for a, b in zip(values, values[1:])), f"milliseconds at which they were sent: {values}"
    early = [n.at - started for n in notes if n.at - started < n.value["params"]["progress"] / 1000 - 0.2]
    assert not early, f"they came before they say they were sent, at {early} of {values}"
    return len(notes)


def test_progress_rises_echoes_its_token_and_shows_the_last_line_of_output(peer):
    """X10, mcp.md section 6: in both eras, for tokens of both types; nothing for the one who has not asked."""
    calls = [(7, "legacy"), ("7", "modern"), ("a\"\u20ac", "legacy"), (-12, "modern"), (..., "legacy"), (..., "modern")]
    started = time.monotonic()
    found = peer.watch(*(run(LINES, token, era, n) for n, (token, era) in enumerate(calls)))
    for (token, era), (notes, answer) in zip(calls, found):
        assert first_text(answer.value["result"]).startswith("stdout:\nline 1\n")
        assert ("resultType" in answer.value["result"]) == (era == "modern")
        if token is ...:
            assert notes == []
            continue
        assert rises(notes, token, started) >= 2
        assert 900 < notes[0].value["params"]["progress"] < 1700 * busy(), "the first comes after about a second (decision 57)"
        for note in notes:
            shown = note.value["params"]["progress"] // 350 + 1
            assert note.value["params"]["message"] in [f"line {n}" for n in (shown - 2, shown - 1, shown, shown + 1)]


def test_progress_comes_at_most_four_times_a_second(peer):
    """A command that writes all the time does not flood its client; two of them side by side get theirs each."""
    command = "end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do echo x; done"
    started = time.monotonic()
    for notes, _ in peer.watch(run(command, "t", id=1), run(command, 8, id=2)):
        assert 3 <= rises(notes, notes[0].value["params"]["progressToken"], started) <= 10


def test_what_makes_no_progress(peer):
    """mcp.md sections 4 and 6: rmcp puts a token on every request; one that is no string or integer is none."""
    slow = "echo a; sleep 1.4; echo b"
    found = peer.watch(
        run("echo a; sleep 0.2; echo b", "short"), message("tools/list", {"_meta": {"progressToken": "t"}}, 2),
        modern_message("tools/list", {"_meta": {"progressToken": 1}}, 3), call("workspace_info", 2, id=4),
        call("file_list", "l", "modern", 5), *(run(slow, bad, id=n) for n, bad in enumerate((None, True, {}, [], 1.5), 10)))
    for notes, answer in found:
        assert notes == [] and ("result" in answer.value or answer.value["error"]["code"] == -32602)


def test_a_silent_command_makes_progress_as_well(host):
    """X10: the client's own time limit is what has to be kept from striking."""
    id = host.start_request("tools/call", {**tool_params("terminal_exec", {"command": "sleep 2"}),
                                           "_meta": {"progressToken": "t"}})
    assert not host.wait(id)["result"].get("isError")
    assert rises([m for m in host.history if m.value.get("method") == PROGRESS], "t", host.started_at)


def test_no_progress_after_a_cancel(host):
    """mcp.md section 6: nothing more for that id."""
    id = host.start_request("tools/call", {
        **tool_params("terminal_exec", {"command": "trap '' TERM; while :; do echo on; sleep 0.1; done"}),
        "_meta": {"progressToken": "c"}})
    host.wait_notification(PROGRESS)
    host.cancel(id)
    host.fence()
    host.silence(1)
    host.wait_no_descendants()


# -- the text ------------------------------------------------------------------------------------

SHOWN = {       # what is printed first, and what of it is told
    "two lines": ("printf 'first\\nsecond\\n\\n  \\n'", "second"),
    "a line that goes on": ("printf 'first\\nsec'", "sec"),
    "a bar": ("printf '10%%\\r20%%\\r30%%\\r'", "30%"),
    "colours and movements": ("printf '\\033[2K\\033[1;31mred\\033[0m and \\a\\bplain\\n'", "red and plain"),
    "half a character": ("printf 'caf\\303'", "caf"),
    "no character": ("printf 'a\\377b\\0c\\n'", "a\ufffdbc"),
    "standard error": ("printf 'warned\\n' >&2", "warned"),
    "what looks like more fields": ("printf '\",\"progress\":\"\\\\n\\n'", '","progress":"\\n'),
}


def test_the_message_is_a_line_for_a_person(host):
    """mcp.md section 5: whole characters, without what a terminal would obey, of whatever a command prints."""
    found = {}
    for name, (command, _) in SHOWN.items():
        found[name] = host.start_request("tools/call", {
            **tool_params("terminal_exec", {"command": f"{command}; sleep 1.6"}), "_meta": {"progressToken": name}})
    for id in found.values():
        host.wait(id)
    notes = [m for m in host.history if m.value.get("method") == PROGRESS]
    shown = {name: set(texts(n for n in notes if n.value["params"]["progressToken"] == name)) for name in SHOWN}
    assert shown == {name: {text} for name, (_, text) in SHOWN.items()}


def test_a_long_last_line_is_cut_to_whole_characters(host):
    """A progress message is a line for a person, not the output."""
    id = host.start_request("tools/call", {
        **tool_params("terminal_exec", {"command": "yes '\u20ac' | head -c 300000 | tr -d '\\n'; sleep 1.6"}),
        "_meta": {"progressToken": "t"}})
    host.wait(id)
    told = texts(m for m in host.history if m.value.get("method") == PROGRESS)
    assert told and all(set(text) == {"\u20ac"} and 150 < len(text.encode()) <= 210 for text in told)


# -- tools that take their time ------------------------------------------------------------------

FETCH = """case "$*" in *config*) exit 0;; *--progress*|*install*) ;; *) exit 0;; esac
for n in 1 2 3 4 5; do printf 'Objects: %s from https://user:WORD@host/x\\r' $n >&2; sleep 0.5; done
for dir; do :; done
case "$*" in *clone*) mkdir "$dir/.git";; esac"""
FETCHERS = {
    "git_clone": {"repo_url": "https://127.0.0.1:1/x", "path": "c"}, "git_push": {"path": "r"}, "git_pull": {"path": "r"},
    "workspace_install": {"packages": "x", "manager": "npm"},
}


def test_tools_that_fetch_show_their_last_line_without_passwords(peers, workspace, tmp_path):
    """X10, G7: git with --progress, which is not asked of it for the one who has no token; a package manager."""
    (workspace / "r" / ".git").mkdir(parents=True)
    for name in ("git", "npm"):
        folder = program(tmp_path / "bin", name, FETCH)
    peer = peers(env={"PATH": f"{folder}:{os.environ['PATH']}"})
    calls = [call(tool, tool, id=tool, **arguments) for tool, arguments in FETCHERS.items()]
    silent = call("git_push", id="silent", path="r")
    started = time.monotonic()
    *found, (none, _) = peer.watch(*calls, silent)
    assert none == []
    for tool, (notes, answer) in zip(FETCHERS, found):
        assert not answer.value["result"].get("isError"), answer
        assert rises(notes, tool, started) >= 2
        assert all("Objects: " in text and "WORD" not in text and "https://***@host/x" in text for text in texts(notes))


def test_progress_goes_on_rising_when_a_second_command_follows(peers, tmp_path):
    """mcp.md section 6: a clone asks git for its configuration first; each program begins at 0, the call does not."""
    slow = "case \"$*\" in *config*) echo asking; sleep 1.6; exit 1;; esac; for i in 1 2 3 4 5; do echo $i; sleep 0.5; done; exit 1"
    folder = program(tmp_path / "bin", "git", slow)
    peer = peers(env={"PATH": f"{folder}:{os.environ['PATH']}"})
    started = time.monotonic()
    (notes, answer), = peer.watch(call("git_clone", "t", repo_url="ssh://127.0.0.1:1/x", path="c"))
    assert answer.value["result"]["isError"] is True
    assert rises(notes, "t", started) >= 3 and {"asking", "5"} <= set(texts(notes)), notes
    assert all(n.value["params"]["progress"] < n.value["params"]["total"] for n in notes)


SIZE = 48 << 20     # containers have 64 MiB of /dev/shm


@pytest.fixture
def elsewhere():
    """A directory on another file system than the workspace."""
    place = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield place
    shutil.rmtree(place)


def test_a_move_to_another_file_system_tells_how_far_it_is(server, tmp_path, elsewhere):
    """X10: the copying is done by a worker, stopped here for as long as a large file would take."""
    if os.stat(tmp_path).st_dev == os.stat(elsewhere).st_dev:
        pytest.fail("/dev/shm is no other file system than that of the tests")
    root = pathlib.Path(os.path.commonpath([tmp_path.resolve(), elsewhere]))
    (tmp_path / "big").write_bytes(b"x" * SIZE)
    s = server(root=root)
    id, worker, started = start_and_stop(s, elsewhere, str(tmp_path.resolve() / "big"), str(elsewhere / "big"),
                                         _meta={"progressToken": "t"})
    time.sleep(2.4)
    os.kill(worker, signal.SIGCONT)
    assert not s.wait(id)["result"].get("isError")
    notes = [m for m in s.history if m.value.get("method") == PROGRESS]
    assert rises(notes, "t", started) >= 2
    assert all(text.startswith("copying to another file system: ") and text.endswith(f" of {SIZE} bytes")
               for text in texts(notes))
    assert (elsewhere / "big").stat().st_size == SIZE
