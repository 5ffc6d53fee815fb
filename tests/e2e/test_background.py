"""terminal_exec_background and terminal_kill: what is answered, where the output is, what its file tells.

How background processes end is in test_background_end.py. "Fault" numbers are those of section 9 of the host tools'
contract, X rows those of the field cases.
"""

import os
import re
import time
from pathlib import Path

import pytest

from fshelp import mounts
from mcpwire import first_text, wait_until
from process import Pings, busy, pass_on

FIRST_LINE = 128    # bytes of the first line of an output file


class Started:
    """A background process of a test: its pid and what the answer said about its output."""

    def __init__(self, host, command, **arguments):
        self.host = host
        result = host.call("terminal_exec_background", command=command, **arguments)
        assert not result["isError"], result
        text, self.note = (block["text"] for block in result["content"])
        match = re.fullmatch(r"PID: (\d+)\nStarted background process (\d+)", text)
        assert match and match[1] == match[2], text
        self.pid = int(match[1])
        path = re.match(r"Its output is in (.*), which file_read shows; the first line tells whether it runs\.$", self.note)
        self.path = path and path[1]

    def file(self):
        """(state, command line, output) as file_read shows them."""
        text = self.host.text("file_read", path=self.path)
        state, command, output = text.split("\n", 2)
        assert len(state) == FIRST_LINE - 1
        match = re.fullmatch(rf"\[process {self.pid}, (.*)\] *", state)
        assert match and command.startswith("$ "), text
        return match[1], command[2:], output

    def state(self):
        return self.file()[0]

    def output(self):
        return self.file()[2]

    def wait_end(self):
        wait_until(lambda: "running" not in self.state() and "still holds" not in self.state(), "the end", 10)
        return self


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- the answer ----------------------------------------------------------------------------------


def test_the_answer_gives_the_pid_and_comes_at_once(host):
    began = time.monotonic()
    started = Started(host, "exec sleep 60")
    assert time.monotonic() - began < 0.5 * busy()
    wait_until(lambda: Path(f"/proc/{started.pid}/cmdline").read_text() == "sleep\x0060\x00", "the program itself")


def test_an_unknown_program_starts_well_and_its_file_tells_the_failure(host):
    """Fault 35: the shell runs, as in the reference, but now one can see what became of it."""
    started = Started(host, "no-such-program-at-all").wait_end()
    state, _, output = started.file()
    assert state.startswith("exit code 127 after ")
    assert "no-such-program-at-all" in output and output.splitlines()[-1].startswith("[exit code 127 after ")


def test_it_runs_where_it_is_told_to(host, workspace):
    assert Started(host, "pwd -P").wait_end().output().startswith(f"{workspace}\n")
    assert Started(host, "pwd -P", cwd="made/here").wait_end().output().startswith(f"{workspace}/made/here\n")
    assert host.failure("terminal_exec_background", command="touch ran", cwd="../x") == \
        f'Path "../x" is outside the allowed directory ({workspace})'
    assert not (workspace / "ran").exists()


def test_read_only_servers_have_neither(server):
    names = [tool["name"] for tool in server(args=["--read-only"]).result("tools/list")["tools"]]
    assert "terminal_exec_background" not in names and "terminal_kill" not in names


# -- its output ----------------------------------------------------------------------------------


def test_output_and_exit_code_can_be_read_while_it_runs_and_after(host, workspace):
    """Fault 35, X8: nothing could tell whether a background command worked."""
    os.mkfifo(workspace / "go")
    text = "echo 1; echo 2; cat go; echo error >&2; exit 7"
    started = Started(host, text)
    wait_until(lambda: started.output() == "1\n2\n", "two lines")
    assert re.fullmatch(r"running since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", started.state())
    pass_on(workspace / "go", "3\n")
    started.wait_end()
    state, command, output = started.file()
    assert re.fullmatch(r"exit code 7 after \d\.\d s", state)
    assert command == text
    assert output == f"1\n2\n3\nerror\n[{state}]\n"


def test_the_last_lines_of_its_file_tell_how_it_ended(host):
    """X8: by offset; one look at the end is enough."""
    started = Started(host, "seq 1000; kill -9 $$").wait_end()
    tail = host.text("file_read", path=started.path, offset=-3).splitlines()
    assert tail[:2] == ["999", "1000"] and re.fullmatch(r"\[signal 9 after \d\.\d s\]", tail[2])


def test_a_last_line_without_newline_stays_a_line_of_its_own(host):
    assert re.fullmatch(r"half\n\[exit code 0 after \d\.\d s\]\n", Started(host, "printf half").wait_end().output())


def test_what_the_program_leaves_running_still_goes_to_the_file(host, workspace):
    os.mkfifo(workspace / "go")
    started = Started(host, "cat go & echo early; exit 5")
    wait_until(lambda: started.state().startswith("exit code 5"), "the end of the shell")
    assert started.state().endswith("; a child still holds the output") and started.output() == "early\n"
    pass_on(workspace / "go", "late\n")
    started.wait_end()
    assert re.fullmatch(r"early\nlate\n\[exit code 5 after \d\.\d s\]\n", started.output())


def test_the_file_lies_in_the_state_directory_for_the_server_alone(host, workspace):
    path = Path(Started(host, "echo secret").wait_end().path)
    assert path.parent == workspace / ".sandstorm-mcp" / "background"
    assert re.fullmatch(r"\d{8}-\d{6}-\d+\.log", path.name)
    assert [p.stat().st_mode & 0o777 for p in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]


def test_a_workspace_that_is_a_repository_does_not_see_it(host):
    host.text("terminal_exec", command="git init -q . && git config user.email a@b.c && git config user.name a")
    Started(host, "echo x").wait_end()
    assert host.text("terminal_exec", command="git add -A && git status --porcelain") == "exit_code: 0"


def test_fifty_megabytes_of_output_stay_a_megabyte_on_disk_and_nothing_in_memory(host, server):
    """Fault 16, X4: the beginning and the end stay, and what is gone is told."""
    host.result("ping")
    before = host.rss_kib()
    started = Started(host, "yes 'a line of some length' | head -c 50000000; echo; echo the end")
    pings = Pings(host, server())
    while started.state().startswith("running"):
        pings.once()
        assert os.path.getsize(started.path) <= 1 << 20
    started.wait_end()
    output = started.output()
    assert output.startswith("a line of some length\na line") and "\nthe end\n[exit code 0 after" in output
    omitted = int(re.search(r"\n\[\.\.\. (\d+) bytes omitted \.\.\.\] *\n", output)[1])
    lines = re.findall("^a line of some length$", output, re.M)
    assert 300_000 < len(lines) * 22 < 1 << 20
    assert abs(omitted + len(lines) * 22 - 50_000_000) < 100
    print(f"\nresident {before} KiB before, at most {host.peak_rss_kib()} KiB; slowest ping {pings.delay() * 1000:.1f} ms")
    assert pings.delay() < 0.3 * busy()
    assert host.peak_rss_kib() < 8 * 1024, "file_read answers a megabyte in between"


def test_memory_of_the_server_does_not_grow_with_the_output(host):
    host.result("ping")
    before = host.peak_rss_kib()
    started = Started(host, "head -c 50000000 /dev/zero | tr '\\0' x; touch done")
    wait_until(lambda: os.path.exists(os.path.join(os.path.dirname(started.path), "../../done")), "all written", 30)
    print(f"\nmost resident memory: {before} KiB before, {host.peak_rss_kib()} KiB after 50 MB of output")
    assert host.peak_rss_kib() < before + 512


def test_a_smaller_output_limit_bounds_the_file_likewise(server):
    host = server(env={"SANDSTORM_MAX_OUTPUT": "8192"})
    started = Started(host, "seq 100000").wait_end()
    assert os.path.getsize(started.path) <= 8192
    output = started.output()
    assert output.startswith("1\n2\n3\n") and "\n100000\n[exit code 0" in output


@pytest.mark.parametrize("command", ["printf 'a\\xff\\xfeb\\n'", "printf 'tab\\tand \\x1b[1mescape\\n'"])
def test_any_bytes_are_kept_as_they_come(host, command):
    started = Started(host, command).wait_end()
    raw = Path(started.path).read_bytes()
    assert b"a\xff\xfeb\n" in raw or b"tab\tand \x1b[1mescape\n" in raw


# -- when no file can be written -----------------------------------------------------------------


def test_without_a_state_directory_the_output_is_kept_in_memory(server, tmp_path):
    """Fault 35: said in the answer and once in the log; workspace_info and terminal_kill show it."""
    (tmp_path / "plain").write_text("")
    host = server(env={"SANDSTORM_STATE_DIR": str(tmp_path / "plain" / "state")})
    started = Started(host, "echo one; echo two; exec sleep 60")
    Started(host, "true")
    assert started.note.startswith("Its output is kept in memory (Not a directory): ")
    wait_until(lambda: "(last line: two)" in host.text("workspace_info"), "the last line")
    result = host.call("terminal_kill", pid=started.pid)
    assert [block["text"] for block in result["content"]][-1] == "one\ntwo\n"
    assert host.close() == 0
    assert host.stderr_text().count("state directory cannot be written") == 1


def test_in_memory_the_beginning_and_the_end_are_kept(server):
    host = server(env={"SANDSTORM_STATE_DIR": "/proc/nowhere"})
    started = Started(host, "seq 100000")
    wait_until(lambda: not alive(started.pid), "its end")
    wait_until(lambda: "last line: 100000" in host.text("workspace_info"), "its output")
    result = host.call("terminal_kill", pid=started.pid)
    kept = result["content"][-1]["text"]
    assert kept.startswith("1\n2\n3\n") and kept.endswith("\n99999\n100000\n")
    assert re.search(r"\n\[\.\.\. \d+ bytes omitted of 588895 \.\.\.\]\n", kept) and len(kept) < 17000


def test_what_memory_keeps_may_hold_any_bytes(server):
    host = server(env={"SANDSTORM_STATE_DIR": "/proc/nowhere"})
    started = Started(host, "printf 'a\\0b\\377c\\n'")
    wait_until(lambda: "exit code 0" in host.text("workspace_info"), "its end")
    assert host.call("terminal_kill", pid=started.pid)["content"][-1]["text"] == "a\0b\ufffdc\n"


def test_on_a_read_only_workspace_it_still_runs(server):
    host = server(wrap=mounts('mount --bind "$W" "$W"; mount -o remount,ro,bind "$W"'))
    started = Started(host, "echo on; exit 2")
    assert started.note.startswith("Its output is kept in memory (Read-only file system): ")
    wait_until(lambda: "exit code 2" in host.text("workspace_info"), "its end")


def test_when_the_disk_fills_up_the_rest_is_kept_in_memory(server):
    """Fault 20's kin: the build that fills the disk says so in its last lines, of all things."""
    host = server(wrap=mounts('mkdir "$W/.sandstorm-mcp"; mount -t tmpfs -o size=40k tmpfs "$W/.sandstorm-mcp"'))
    started = Started(host, "seq 20000; echo No space left for the build; exec sleep 60")
    wait_until(lambda: "; rest in memory: No space left on device" in started.state(), "a full disk")
    assert started.output().startswith("1\n2\n3\n")
    wait_until(lambda: "last line: No space left for the build" in host.text("workspace_info"), "the last line")
    result = host.call("terminal_kill", pid=started.pid)
    notes = [block["text"] for block in result["content"][1:]]
    assert "The rest of it is kept in memory (No space left on device)." in notes[1]
    assert notes[2].endswith("\nNo space left for the build\n")


def test_a_disk_with_room_again_gets_the_rest_at_the_end(server):
    host = server(wrap=mounts('mkdir "$W/.sandstorm-mcp"; mount -t tmpfs -o size=64k tmpfs "$W/.sandstorm-mcp"'))
    host.text("terminal_exec", command="mkdir .sandstorm-mcp/background; head -c 52000 /dev/zero >.sandstorm-mcp/filler")
    started = Started(host, "seq 4000; until [ -e go ]; do sleep 0.05; done; echo the end")
    wait_until(lambda: "; rest in memory" in started.state(), "a full disk")
    host.text("terminal_exec", command="rm .sandstorm-mcp/filler; touch go")
    state, _, output = started.wait_end().file()
    assert re.fullmatch(r"exit code 0 after \d\.\d s", state)
    assert output.startswith("".join(f"{n}\n" for n in range(1, 1000)))
    assert "\n3999\n4000\nthe end\n[exit code 0" in output


def test_a_file_that_is_deleted_does_not_disturb_the_process(host):
    started = Started(host, "until [ -e go ]; do echo x; sleep 0.02; done; exec sleep 60")
    host.text("file_delete", path=started.path)
    host.text("terminal_exec", command="touch go; rm -rf .sandstorm-mcp")
    assert alive(started.pid)
    assert Started(host, "echo again").wait_end().output().startswith("again\n")
    assert host.text("terminal_kill", pid=started.pid) == f"Sent SIGTERM to {started.pid}"


def test_a_state_directory_outside_of_the_root_is_used_and_said(server, tmp_path):
    host = server(env={"SANDSTORM_STATE_DIR": str(tmp_path / "state")})
    started = Started(host, "echo there")
    path = re.match("Its output is in (.*), outside of the workspace root: show it with terminal_exec; ", started.note)[1]
    assert Path(path).parent == tmp_path / "state" / "background"
    wait_until(lambda: "\nthere\n[exit code 0" in host.text("terminal_exec", command=f"cat {path}"), "its output")


def test_old_files_make_room(host, workspace):
    """Bounded: 64 files."""
    Started(host, "true").wait_end()
    directory = workspace / ".sandstorm-mcp" / "background"
    for n in range(100):
        (directory / f"20200101-0000{n % 60:02}-{n + 1}.log").write_text("old")
    newest = Started(host, "true").wait_end()
    names = sorted(p.name for p in directory.iterdir())
    assert len(names) == 64 and names[-1] == Path(newest.path).name


# -- the list ------------------------------------------------------------------------------------


def test_workspace_info_lists_them_with_their_state(host):
    """Fault 35: a way without arguments."""
    assert "=== Background ===" not in host.text("workspace_info")
    ended, runs = Started(host, "echo x; exit 3").wait_end(), Started(host, "exec sleep 60")
    section = host.text("workspace_info").partition("=== Background ===\n")[2].splitlines()
    assert len(section) == 2
    assert re.fullmatch(rf"{ended.pid} exit code 3 after \d\.\d s, 2 bytes of output in {re.escape(ended.path)}: echo x; exit 3",
                        section[0])
    assert re.fullmatch(rf"{runs.pid} running for \d\.\d s, 0 bytes of output in {re.escape(runs.path)}: exec sleep 60", section[1])


def test_sixty_four_run_at_once_and_one_more_is_refused(host):
    for _ in range(64):
        Started(host, "exec sleep 60")
    assert host.failure("terminal_exec_background", command="touch ran").startswith("64 processes run in the background, ")
    lines = host.text("workspace_info").partition("=== Background ===\n")[2].splitlines()
    assert len(lines) == 64
    host.text("terminal_kill", pid=int(lines[5].split()[0]))
    Started(host, "exec sleep 60")


def test_two_hundred_that_end_leave_no_zombie_no_descriptor_and_no_memory(host):
    """X12."""
    Started(host, "true").wait_end()
    fds, rss = host.fd_count(), host.rss_kib()
    for n in range(200):
        Started(host, f"echo {n}; exit {n % 3}")
    wait_until(lambda: host.fd_count() == fds, "descriptors given back", 10)
    wait_until(lambda: host.zombies() == [] and host.descendants() == [], "all are collected")
    assert host.rss_kib() < rss + 200


def test_a_background_command_starts_while_all_places_for_commands_are_taken(host):
    ids = [host.start_call("terminal_exec", command="exec sleep 60", timeout=60) for _ in range(56)]
    host.wait_descendants(56)
    assert host.error("tools/call", {"name": "terminal_exec", "arguments": {"command": "true"}})["code"] == -32603
    assert host.text("terminal_kill", pid=Started(host, "exec sleep 60").pid)
    for id in ids:
        host.cancel(id)
    host.wait_no_descendants()


# -- what it gets --------------------------------------------------------------------------------


def test_secrets_are_not_in_its_environment(server):
    """Fault 8, X6."""
    names = ["SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", "SESSION_AUTH_TOKEN", "SANDSTORM_TOKEN"]
    s = server(env={**{name: f"secret-{name}-0123456789abcdef" for name in names}, "PLAIN": "kept"})
    output = Started(s, "env; tr '\\0' '\\n' </proc/$PPID/environ").wait_end().output()
    assert "PLAIN=kept\n" in output and "secret-" not in output


def test_it_gets_an_empty_input_one_pipe_and_nothing_else(host):
    """Fault 11: no descriptor of the server, also not while others run."""
    busy = [Started(host, "exec sleep 60") for _ in range(3)]
    output = Started(host, "readlink /proc/self/fd/0; cat; n=0; while [ $n -lt 200 ]; do [ -L /proc/$$/fd/$n ] && "
                     "printf '%s ' $n; n=$((n + 1)); done; [ /proc/$$/fd/1 -ef /proc/$$/fd/2 ] && echo one").wait_end().output()
    assert output.startswith("/dev/null\n0 1 2 one\n")
    for started in busy:
        host.text("terminal_kill", pid=started.pid)


def test_it_leads_a_session_of_its_own(host):
    output = Started(host, "set -- $(cat /proc/$$/stat); echo $(($1 - $5)) $(($1 - $6)) $7").wait_end().output()
    assert output.startswith("0 0 0\n")


# -- the command line ----------------------------------------------------------------------------


def test_call_on_the_command_line_ends_what_it_started(cli):
    began = time.monotonic()
    done = cli("call", "terminal_exec_background", '{"command":"sleep 60 & sleep 61"}')
    assert done.returncode == 0 and done.stdout.startswith("PID: ")
    assert time.monotonic() - began < 2 * busy()
    assert not alive(int(done.stdout.split()[1]))


def test_over_http_a_web_server_is_started_asked_and_ended(remote, workspace):
    """What people do with it."""
    (workspace / "index.html").write_text("<p>hello</p>")
    code = ("import http.server, sys; s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler); "
            "print(s.server_port, flush=True); s.serve_forever()")
    started = Started(remote, f'exec python3 -c "{code}"')
    wait_until(lambda: started.output(), "its port")
    port = started.output().strip()
    text = remote.text("terminal_exec", command=f"curl -s http://127.0.0.1:{port}/")
    assert "<p>hello</p>" in text
    wait_until(lambda: '"GET / HTTP/1.1" 200' in started.output(), "its log")
    assert remote.text("terminal_kill", pid=started.pid) == f"Sent SIGTERM to {started.pid}"
    assert "exit_code: 7" in remote.failure("terminal_exec", command=f"curl -s http://127.0.0.1:{port}/"), "nobody listens"
    assert first_text(remote.call("terminal_kill", pid=started.pid)).startswith(f"No such process {started.pid}: it has ended")
