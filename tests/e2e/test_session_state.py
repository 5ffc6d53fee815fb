"""What survives of sessions, and what does not come back (issue 5, point 7; decisions 8 and 59; faults 40, 50, 55)."""

import contextlib
import json
import os
import random
import threading
import time

import pytest

from fshelp import OtherUser, mounts, seen_by
from process import busy, wait_until
from sessionhelp import Sessions, created, lines_of, now_ms, ok, refused, write_log
from test_http_health import health


def files(path):
    """Everything below, as text; what goes away meanwhile is left out."""
    return sorted(os.path.relpath(os.path.join(at, name), path)
                  for at, directories, plain in os.walk(path) for name in directories + plain)


# -- a restart -----------------------------------------------------------------------------------


def test_sessions_survive_a_restart(web, workspace):
    """Section 1."""
    w = web()
    s = Sessions(w)
    kept, gone = s.create("kept", ttl_minutes=20), s.create()
    kept.exec("echo data > file")
    kept.extend(30)
    before = kept.status()
    gone.delete()
    assert w.terminate() == 0
    again = Sessions(web())
    assert again.session(kept.id).status() == before
    assert again.session(kept.id).exec("cat file")["stdout"] == "data\n"
    assert again.session(gone.id).status()["status"] == "cleaned"
    assert health(again.web)["active_instances"] == 1


def test_the_state_file_is_small_private_and_written_anew_at_start(web, workspace):
    """Decision 8: append-only, compacted at start. Fault 55: the reference's database is readable to all."""
    w = web()
    one = Sessions(w).create()
    for _ in range(20):
        one.extend(1)
    path = workspace / ".sandstorm-mcp" / "sessions.jsonl"
    assert [line["op"] for line in lines_of(workspace)] == ["create"] + ["extend"] * 20
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert w.terminate() == 0
    last = lines_of(workspace)[-1]
    w = web()
    (line,) = lines_of(workspace)
    assert (line["op"], line["id"], line["end"]) == ("create", one.id, last["end"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert "sessions.jsonl.new" not in os.listdir(path.parent)


def test_nothing_is_written_before_there_is_a_session(remote, workspace):
    """A workspace stays as it is."""
    s = Sessions(remote)
    refused(s.session("x").try_status(), 404)
    refused(s.call("POST", "/session/create", {}), 400)
    assert not (workspace / "sessions").exists() and not (workspace / ".sandstorm-mcp" / "sessions.jsonl").exists()


def test_commands_are_not_in_the_state_file(remote, workspace):
    """Decision 59: only create, extend and cleaned."""
    one = Sessions(remote).create(context={"env": {"SECRET": "s3cret"}})
    one.exec("echo s3cret")
    assert b"s3cret" not in (workspace / ".sandstorm-mcp" / "sessions.jsonl").read_bytes()
    assert len(lines_of(workspace)) == 1


# -- kill -9 -------------------------------------------------------------------------------------


class Client:
    """Makes, extends and deletes sessions until the server dies under it; knows what was acknowledged."""

    def __init__(self):
        self.ends, self.ended = {}, set()       # of living ones: {id: expires_at or None}
        self.asked = None                       # what was asked for last and not acknowledged: (verb, id)
        self.steps = 0                          # that were acknowledged
        self._rng = random.Random()

    def run(self, w):
        s = Sessions(w)
        with contextlib.suppress(OSError, AssertionError, EOFError):
            while True:
                self._step(s)

    def _step(self, s):
        verb = self._rng.choice(["create", "extend", "delete"]) if self.ends else "create"
        one = s.session(self._rng.choice(list(self.ends))) if verb != "create" else None
        self.asked = verb, one and one.id
        if verb == "create" and len(self.ends) < 5:
            self.ends[s.create(ttl_minutes=60).id] = None
        elif verb == "extend":
            self.ends[one.id] = one.extend(1)["expires_at"]
        elif verb == "delete":
            one.delete()
            self._note_end(one.id)
        self.asked = None
        self.steps += 1

    def _note_end(self, id):
        del self.ends[id]
        self.ended.add(id)

    def check(self, s, alive, cleaned, directories):
        """Every acknowledged session is there, none resurrected; what was not acknowledged is there or not."""
        verb, id = self.asked or (None, None)
        if verb == "delete" and id not in alive:
            self._note_end(id)
        assert self.ends.keys() <= alive and not self.ended & alive
        assert self.ends.keys() <= directories and not self.ended & directories
        for id, end in self.ends.items():
            assert s.session(id).status()["status"] == "ready"
            if end:
                assert s.session(id).extend(1)["expires_at"] >= end, "an extension was lost"
        for id in list(self.ended)[-3:]:
            assert s.session(id).status()["status"] == "cleaned"
        self.ends = dict.fromkeys(self.ends)


def check(w, clients, workspace):
    made, cleaned = [], set()
    if (workspace / ".sandstorm-mcp" / "sessions.jsonl").exists():
        for line in lines_of(workspace):
            made += [line["id"]] * (line["op"] == "create")
            cleaned |= {line["id"]} if line["op"] == "clean" else set()
    assert len(made) == len(set(made)), "a session stands there twice"
    wait_until(lambda: not cleaned & directories_of(workspace), "the reaper has removed what a delete began")
    for client in clients:
        client.check(Sessions(w), set(made) - cleaned, cleaned, directories_of(workspace))


def directories_of(workspace):
    return set(os.listdir(workspace / "sessions")) if (workspace / "sessions").exists() else set()


def kill_during_writes(web, workspace, times):
    clients, rng = [Client() for _ in range(3)], random.Random(4)
    env = {"SANDSTORM_RATE_LIMIT": "0", "MAX_INSTANCES": "1000"}
    for _ in range(times):
        w = web(env=env)
        check(w, clients, workspace)
        threads = [threading.Thread(target=client.run, args=(w,)) for client in clients]
        for thread in threads:
            thread.start()
        enough = sum(client.steps for client in clients) + rng.randint(0, 16)
        while sum(client.steps for client in clients) < enough:
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.003))
        w.process.kill()
        for thread in threads:
            thread.join(10)
        w.wait_exit()
    assert sum(len(client.ended) for client in clients) > times, "the kills came too early to tell anything"
    check(web(env=env), clients, workspace)


@pytest.mark.parametrize("kills", [40, pytest.param(200, marks=pytest.mark.long(16))])
def test_no_kill_loses_an_acknowledged_session_or_brings_one_back(web, workspace, kills):
    """Issue 5: kill -9 at 200 points during writes, and the state read back after each."""
    kill_during_writes(web, workspace, kills)


def test_a_torn_last_line_is_ignored(web, workspace):
    """A kill in the middle of a write."""
    line, torn = created(), json.dumps(created()).encode()
    write_log(workspace, line, torn[:len(torn) // 2])
    s = Sessions(web())
    assert s.session(line["id"]).status()["status"] == "ready"
    one = s.create()
    assert {n["id"] for n in lines_of(workspace)} == {line["id"], one.id}


def test_lines_that_are_none_are_passed_over_and_told(web, workspace):
    """Whatever stands there, the rest of it is good."""
    line = created()
    write_log(workspace, b"\0\xff\n", b"{}\n", {**created(), "id": "../../../etc"}, b"x" * 10_000 + b"\n", line, line,
              {"op": "clean", "id": created()["id"], "at": 1}, dirs=False)
    (workspace / "sessions" / line["id"]).mkdir(parents=True)
    w = web()
    assert Sessions(w).session(line["id"]).status()["status"] == "ready"
    wait_until(lambda: "could not be used" in w.stderr_text(), "it is told")
    assert len(lines_of(workspace)) == 1


def test_a_session_whose_files_are_gone_is_not_brought_back(web, workspace):
    """Fault 50: killed between the removal of the files and the line that says so."""
    line = created()
    write_log(workspace, line, dirs=False)
    one = Sessions(web()).session(line["id"])
    assert one.status()["status"] == "cleaned"
    refused(one.try_exec("true"), 404)
    assert not (workspace / "sessions").exists()


# -- the reaper ----------------------------------------------------------------------------------


def test_the_reaper_removes_at_start_what_has_ended_meanwhile(web, workspace):
    """Section 7: at start and every 300 s."""
    ended, alive, cleaned = created(end=-1000), created(), created()
    write_log(workspace, ended, alive, cleaned, {"op": "clean", "id": cleaned["id"], "at": now_ms() - 5000})
    (workspace / "sessions" / ended["id"] / "workspace" / "deep" / "er").mkdir(parents=True)
    (workspace / "sessions" / "not-a-session").mkdir()
    s = Sessions(web())
    wait_until(lambda: files(workspace / "sessions") == [
        alive["id"], *(f"{alive['id']}/{n}" for n in ("context", "outputs", "workspace")), "not-a-session"],
        "the trees of what has ended go, and nothing else")
    assert [s.session(line["id"]).status()["status"] for line in (ended, alive, cleaned)] == [
        "cleaned", "ready", "cleaned"]
    wait_until(lambda: {"op": "clean", "id": ended["id"]}.items() <= lines_of(workspace)[-1].items(), "it is noted")


def test_what_was_cleaned_a_day_ago_is_forgotten(web, workspace):
    """Section 7: cleaned rows are deleted 24 h after the last change."""
    day = 24 * 3600 * 1000
    old, young = created(at=-day - 60_000), created(at=-day)
    write_log(workspace, old, {"op": "clean", "id": old["id"], "at": now_ms() - day - 30_000},
              young, {"op": "clean", "id": young["id"], "at": now_ms() - day + 3_600_000}, dirs=False)
    s = Sessions(web())
    assert s.session(young["id"]).status()["status"] == "cleaned"
    wait_until(lambda: s.session(old["id"]).try_status().status == 404, "it is forgotten", timeout=2)


@pytest.mark.long(370)
def test_a_session_of_one_minute_ends_and_is_reaped(web, workspace):
    """The real clock: a minute to its end, at most five more until its files go."""
    s = Sessions(web())
    one = s.create(ttl_minutes=1)
    began = time.monotonic()
    run = one.start_exec("sleep 300", timeout_ms=300_000)
    refused(run.answer(timeout=70), 410, "Session expired")
    assert 58 < time.monotonic() - began < 60 + 3 * busy()
    refused(one.try_exec("true"), 404)
    assert one.status()["status"] == "expired" and one.path.exists()
    wait_until(lambda: not one.path.exists(), "the reaper comes by", timeout=310)
    assert one.status()["status"] == "cleaned"


def test_a_machine_that_starts_without_the_time_keeps_its_sessions(web, workspace):
    """A router asks for the time after its start: what seems to come from the future begins now, and cannot stay for
    years."""
    year = 365 * 24 * 3600 * 1000
    line = created(at=year, end=year + 30 * 60_000)
    write_log(workspace, line)
    value = Sessions(web()).session(line["id"]).status()
    assert value["status"] == "ready" and 29 <= value["ttl_remaining_minutes"] <= 31


# -- without a place -----------------------------------------------------------------------------


def test_without_a_place_for_it_sessions_live_in_memory(web, workspace, tmp_path):
    """Issue 5: they work, a warning at start says what is missing."""
    (tmp_path / "plain").write_text("")
    w = web(env={"SANDSTORM_STATE_DIR": str(tmp_path / "plain" / "state")})
    wait_until(lambda: "nothing will survive a restart" in w.stderr_text(), "the warning")
    one = Sessions(w).create()
    assert one.exec("echo x")["stdout"] == "x\n" and one.extend()["ttl_remaining_minutes"] == 45
    assert w.terminate() == 0
    assert "sessions are kept in memory" in w.stderr_text()
    refused(Sessions(web()).session(one.id).try_status(), 404)


def test_a_state_directory_of_somebody_else(web, server, binary):
    """Not writable for the server's user."""
    other = OtherUser(binary)
    try:
        (other.root / ".sandstorm-mcp").mkdir(mode=0o755)
        w = other.start(web)
        assert Sessions(w).create().exec("echo x")["stdout"] == "x\n"
        wait_until(lambda: "sessions are kept in memory" in w.stderr_text(), "it is told")
    finally:
        other.remove()


def test_two_servers_with_one_state_directory(web, workspace):
    """The second one leaves the file alone, and says so."""
    first = web()
    one = Sessions(first).create()
    second = web()
    wait_until(lambda: "another server has it" in second.stderr_text(), "it is told")
    two = Sessions(second).create()
    assert two.exec("echo x")["stdout"] == "x\n"
    refused(Sessions(second).session(one.id).try_status(), 404)
    assert [line["id"] for line in lines_of(workspace)] == [one.id]
    one.extend(5)
    first.process.kill()
    first.wait_exit()
    assert Sessions(web()).session(one.id).status()["ttl_remaining_minutes"] == 35, "the lock went with its owner"


def test_a_removed_state_directory_is_made_again(web, workspace):
    """It lies in the workspace, where commands may remove it."""
    w = web()
    s = Sessions(w)
    one = s.create()
    one.exec(f"rm -rf {workspace}/.sandstorm-mcp")
    two = s.create()
    assert {line["id"] for line in lines_of(workspace)} == {one.id, two.id}
    w.process.kill()
    w.wait_exit()
    again = Sessions(web())
    assert [again.session(x.id).status()["status"] for x in (one, two)] == ["ready", "ready"]


@pytest.mark.parametrize("link", ["sessions.jsonl", "sessions.jsonl.new", "sessions.lock"])
def test_links_among_the_state_are_not_followed(web, workspace, tmp_path, link):
    """Commands can put one there; the server must not write where it leads."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (workspace / ".sandstorm-mcp").mkdir()
    (workspace / ".sandstorm-mcp" / link).symlink_to(victim)
    w = web()
    assert Sessions(w).create().exec("echo x")["stdout"] == "x\n"
    wait_until(lambda: "in memory" in w.stderr_text(), "it is told")
    assert victim.read_text() == "untouched"


# -- a full disk ---------------------------------------------------------------------------------


def test_a_full_disk_makes_no_half_session(web, workspace):
    """507 with a sentence; once there is room all goes on."""
    w = web(wrap=mounts('mount -t tmpfs -o size=512k none "$W"'))
    s = Sessions(w)
    root = seen_by(w, workspace)
    kept = s.create()
    w.text("terminal_exec", command="head -c 1M /dev/zero > fill; true")
    for context in ({"x": "y" * 5000}, {"x": "y" * 200_000}):
        text = refused(s.try_create(context=context), 507)
        assert "No space left on device" in text
    wait_until(lambda: os.listdir(root / "sessions") == [kept.id], "nothing half-made stays")
    assert health(w)["active_instances"] == 1
    assert kept.exec("echo on")["stdout"] == "on\n"
    w.text("file_delete", path="fill")
    made = s.create(context={"x": "y" * 5000})
    lines = lines_of(root)
    assert kept.status()["status"] == made.status()["status"] == "ready"
    assert {n["id"] for n in lines if n["op"] == "create"} - {n["id"] for n in lines if n["op"] == "clean"} == {
        kept.id, made.id}


def test_a_state_file_that_takes_nothing_is_507(web, workspace, tmp_path):
    """The disk of the state directory alone is full: no session is made, those that are there can be ended."""
    state = tmp_path / "state"
    state.mkdir()
    w = web(env={"SANDSTORM_STATE_DIR": str(state)}, wrap=mounts(f"mount -t tmpfs -o size=64k none {state}"))
    s = Sessions(w)
    one, two = s.create(), s.create()
    inside = seen_by(w, state)
    with contextlib.suppress(OSError), open(inside / "fill", "wb") as f:
        while True:
            f.write(bytes(512))
            f.flush()
    status = 201
    while status == 201:        # what is left of the file's last page
        answer = s.try_create() if health(w)["active_instances"] < 5 else one.try_extend(1)
        status = 201 if answer.status == 200 else answer.status
        if health(w)["active_instances"] == 5 and one.status()["ttl_remaining_minutes"] == 120:
            break
    text = refused(answer, 507)
    assert "state file" in text and "No space left on device" in text
    before = two.status()["ttl_remaining_minutes"]
    refused(two.try_extend(5), 507)
    assert two.status()["ttl_remaining_minutes"] == before
    assert two.delete() == {"success": True} and two.status()["status"] == "cleaned"
    (inside / "fill").unlink()
    assert ok(one.try_extend(1))["status"] == "ready"
