"""The process: its end, its signals, its descriptors, its log, what it hands to its children.

S, X and F rows are those of the field cases; section numbers those of the protocol notes (mcp.md).
"""

import json
import mmap
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import mcpwire
from mcpwire import clean_environment, first_text, tool_params, wait_until
from process import busy

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
STUBBORN = "trap '' TERM INT HUP; touch ready; while :; do sleep 0.05; done"


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def parsed(data):
    return [mcpwire.parse_line(line) for line in data.splitlines()]


# -- end of stdin --------------------------------------------------------------------------------


def test_an_idle_server_ends_at_once_with_0_when_stdin_ends(host):
    """mcp.md section 2."""
    host.result("ping")
    started = time.monotonic()
    assert host.close() == 0
    assert time.monotonic() - started < 0.5 * busy()


def test_a_server_that_was_never_spoken_to_ends_with_0(host):
    """mcp.md section 1: tolerate being started twice."""
    assert host.close() == 0


def test_calls_in_flight_are_answered_before_the_end_without_burning_cpu(host, workspace):
    """mcp.md 11.22, S1, decision 48: stdin closed while calls run."""
    ids = [host.start_call("terminal_exec", command=f"touch {n}; until [ -e go ]; do sleep 0.05; done; sleep 0.{n}; echo over {n}")
           for n in (4, 6, 8)]
    wait_until(lambda: len(list(workspace.iterdir())) == 3, "all run")
    host.close_stdin()
    (workspace / "go").touch()
    used = 0
    while host.alive():
        try:
            used = max(used, host.cpu_seconds())
        except OSError:
            break
        time.sleep(0.02)
    assert host.wait_exit() == 0
    assert used < 0.05
    answered = {m.value["id"]: first_text(m.value["result"]) for m in host.history}
    assert [answered[id] for id in ids] == [f"stdout:\nover {n}\n\n\nexit_code: 0" for n in (4, 6, 8)]


def test_a_call_in_flight_at_the_end_of_stdin_keeps_its_own_time_limit(host):
    """S1: bounded."""
    id = host.start_call("terminal_exec", command="sleep 60", timeout=1.5)
    host.wait_descendants(1)
    assert host.close(5) == 0
    assert first_text(host.history[-1].value["result"]) == "stderr:\ntimeout after 1.5s\n\nexit_code: 124"
    assert host.history[-1].value["id"] == id


def piped(argv, env, cwd):
    """The answers to two requests, and the least seconds that it took to get them, of five times."""
    least = 60
    for _ in range(5):
        started = time.monotonic()
        done = subprocess.run(argv, input=lines(INITIALIZE, LIST), capture_output=True, timeout=10, env=env, cwd=cwd)
        least = min(least, time.monotonic() - started)
        answers = parsed(done.stdout)
        assert done.returncode == 0 and [a["id"] for a in answers] == [0, 1] and all("result" in a for a in answers)
    return answers, least


def test_a_pipe_of_requests_is_answered_before_the_exit(binary, workspace):
    """S2: `printf … | sandstorm-mcp`; nothing else is needed for it."""
    _, took = piped([binary, "--tools", "host"], clean_environment(workspace, {}), workspace)
    assert took < 0.2 * busy(), "the row asks for 50 ms; four times that here for busy machines"


def test_a_pipe_of_requests_needs_no_master(binary, tmp_path):
    """S2 as it stands: no argument, the sandbox tools, nobody listens where the master should be."""
    answers, took = piped([binary], clean_environment(None, {"SANDSTORM_URL": "https://127.0.0.1:9"}), tmp_path)
    assert "spawn_sandboxes" in [tool["name"] for tool in answers[1]["result"]["tools"]]
    assert took < 0.2 * busy()


def test_a_last_line_without_newline_is_served(binary, workspace):
    """S2: `printf '{...}' | sandstorm-mcp`, as people write it."""
    done = subprocess.run([binary, "--tools", "host"], input=lines(INITIALIZE, LIST)[:-1], capture_output=True,
                          timeout=10, env=clean_environment(workspace, {}))
    assert done.returncode == 0
    assert [a["id"] for a in parsed(done.stdout)] == [0, 1]


def test_a_pipe_of_many_calls_is_answered_to_the_last(binary, workspace):
    """S2: more requests than there are jobs, and stdin ends right behind them."""
    calls = [{"jsonrpc": "2.0", "id": n, "method": "tools/call",
              "params": tool_params("file_write", {"path": f"f{n}", "content": "x" * 100})} for n in range(500)]
    done = subprocess.run([binary, "--tools", "host"], input=lines(*calls), capture_output=True, timeout=30,
                          env=clean_environment(workspace, {}))
    assert done.returncode == 0
    answers = {a["id"]: a for a in parsed(done.stdout)}
    assert sorted(answers) == list(range(500))
    served = [n for n, a in answers.items() if "result" in a]
    assert all(a["error"]["code"] == -32603 for a in answers.values() if "error" in a)
    assert sorted(os.listdir(workspace)) == sorted(f"f{n}" for n in served)


def test_requests_from_a_file_are_answered_into_a_file(binary, workspace, tmp_path):
    """S2 with `< requests > answers`: neither can be waited for with epoll."""
    (tmp_path / "in").write_bytes(lines(INITIALIZE, LIST, {
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": tool_params("terminal_exec", {"command": "sleep 0.2; echo done"})}))
    with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as sink:
        code = subprocess.run([binary, "--tools", "host"], stdin=source, stdout=sink, stderr=subprocess.PIPE,
                              env=clean_environment(workspace, {}), timeout=10).returncode
    answers = parsed((tmp_path / "out").read_bytes())
    assert code == 0 and [a["id"] for a in answers] == [0, 1, 2]
    assert "done" in first_text(answers[2]["result"])


def test_a_socket_pair_serves_as_stdin_and_stdout(binary, workspace):
    """Some clients give their servers sockets instead of pipes (Node does)."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        process = subprocess.Popen([binary, "--tools", "host"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
                                   env=clean_environment(workspace, {}))
        theirs.close()
        ours.sendall(lines(INITIALIZE, LIST))
        ours.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := ours.recv(65536):
            received += chunk
        assert process.wait(10) == 0
        process.stderr.close()
    assert [a["id"] for a in parsed(received)] == [0, 1]


def test_dev_null_as_stdin_is_the_end(binary, workspace):
    """What a service manager gives by default."""
    done = subprocess.run([binary, "--tools", "host"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10,
                          env=clean_environment(workspace, {}))
    assert (done.returncode, done.stdout) == (0, b"")


# -- signals and a client that is gone -----------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["TERM", "INT", "HUP"])
@pytest.mark.parametrize("command, count", [
    ("sleep 100", 1), ("setsid sleep 100 & sleep 100", 2), (STUBBORN, 1),
], ids=["plain", "own session", "ignores it"])
def test_a_signal_ends_the_server_and_all_it_has_started_within_two_seconds(host, number, command, count):
    """mcp.md 11.23, S3, decision 29; the fixture looks for survivors as well."""
    host.start_call("terminal_exec", command=command)
    host.wait_descendants(count)
    time.sleep(0.1)
    started = time.monotonic()
    host.signal(number)
    assert host.wait_exit() == 0
    assert time.monotonic() - started < 2 * busy()
    host.wait_no_descendants(0.3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["TERM", "INT", "HUP"])
def test_a_signal_ends_an_idle_server_at_once_with_0(host, number):
    """S3."""
    host.result("ping")
    started = time.monotonic()
    host.signal(number)
    assert host.wait_exit() == 0
    assert time.monotonic() - started < 0.5 * busy()


def test_a_call_ended_by_a_signal_is_answered_with_an_error(host):
    """Decision 48, fault 33: TERM ends the calls and answers -32603."""
    id = host.start_call("terminal_exec", command="sleep 100")
    host.wait_descendants(1)
    host.signal(signal.SIGTERM)
    assert host.wait_exit() == 0
    answers = [m.value for m in host.history if m.value.get("id") == id]
    assert [a["error"]["code"] for a in answers] == [-32603]


def test_a_second_signal_ends_at_once(host, workspace):
    """Decision 29: no grace time any more. (A command that ignores TERM would take 1 s.)"""
    host.allow_leftovers = True
    host.start_call("terminal_exec", command=STUBBORN)
    wait_until((workspace / "ready").exists, "the command ignores signals")
    started = time.monotonic()
    host.signal(signal.SIGTERM)
    time.sleep(0.1)
    host.signal(signal.SIGTERM)
    host.wait_exit()
    assert time.monotonic() - started < 0.8 * busy()


def test_a_stop_grace_lets_calls_finish(server):
    """Decision 48: SANDSTORM_STOP_GRACE seconds; then the server ends as without."""
    s = server(env={"SANDSTORM_STOP_GRACE": "5"})
    id = s.start_call("terminal_exec", command="sleep 0.5; echo finished")
    s.wait_descendants(1)
    started = time.monotonic()
    s.signal(signal.SIGTERM)
    assert s.wait_exit() == 0
    assert time.monotonic() - started < 3 * busy()
    answers = {m.value["id"]: m.value for m in s.history}
    assert "finished" in first_text(answers[id]["result"])


@pytest.mark.parametrize("order", [(signal.SIGHUP, signal.SIGTERM), (signal.SIGTERM, signal.SIGHUP)])
def test_a_hang_up_along_with_term_leaves_calls_their_grace(server, order):
    """Decision 29: a session manager sends both; only a second TERM or INT ends at once."""
    s = server(env={"SANDSTORM_STOP_GRACE": "5"})
    id = s.start_call("terminal_exec", command="sleep 0.5; echo finished")
    s.wait_descendants(1)
    for number in order:
        s.signal(number)
    assert s.wait_exit() == 0
    answers = {m.value["id"]: m.value for m in s.history}
    assert "finished" in first_text(answers[id]["result"])


def test_a_client_that_goes_away_ends_the_server_and_its_commands(host):
    """Issue: a closed pipe ends it and its children, before it has anything to write; decision 48: an error on stdout
    cancels all."""
    host.start_call("terminal_exec", command="sleep 100")
    host.wait_descendants(1)
    host.close_stdout()
    assert host.wait_exit(3) == 0
    host.wait_no_descendants(0.3)


def test_a_client_that_is_killed_ends_the_commands_it_waits_for(host):
    """The inspector at Control-C: both its pipes close, it sends nothing more."""
    host.start_call("terminal_exec", command="sleep 100")
    host.wait_descendants(1)
    host.close_stdin()
    host.close_stdout()
    assert host.wait_exit(3) == 0
    host.wait_no_descendants(0.3)


def test_a_client_on_a_socket_that_will_send_no_more_still_gets_its_answer(binary, workspace):
    """Decision 48: calls finish at the end of input; only the other direction is closed."""
    ours, theirs = socket.socketpair()
    with subprocess.Popen([binary, "--tools", "host"], env=clean_environment(workspace, {}), stdin=theirs, stdout=theirs,
                          stderr=subprocess.DEVNULL) as process, ours:
        theirs.close()
        call = {"name": "terminal_exec", "arguments": {"command": "sleep 0.5; echo done"}}
        ours.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        ours.settimeout(10)
        answer = b"".join(iter(lambda: ours.recv(65536), b""))
        assert "done" in first_text(json.loads(answer)["result"])
        assert process.wait(10) == 0


def test_a_killed_server_leaves_nothing_that_hinders_the_next(server, workspace):
    """mcp.md section 1: started twice, killed, started again; no lock."""
    first, second = server(), server()
    assert first.text("file_write", path="f", content="1") and second.text("file_read", path="f") == "1"
    first.signal(signal.SIGKILL)
    assert first.wait_exit() == -signal.SIGKILL
    assert server().text("file_read", path="f") == "1"


def test_tables_of_addresses_are_read_only_once_it_runs(host, binary):
    """The linker's PT_GNU_RELRO is a wish: without a dynamic linker nobody fulfils it but the program."""
    host.request("ping")
    headers = subprocess.run(["readelf", "-lW", binary], capture_output=True, text=True, check=True).stdout
    _, address, _, _, size = (int(x, 16) for x in re.search(r"GNU_RELRO((?:\s+0x[0-9a-f]+){5})", headers)[1].split())
    with open(f"/proc/{host.pid}/maps") as f:
        spans = [(*(int(x, 16) for x in line.split()[0].split("-")), line.split()[1], line) for line in f]
    first = min(start for start, _, _, line in spans if os.path.basename(binary) in line)
    tables = range(first + address, first + address + size, mmap.PAGESIZE)
    assert len(tables) > 3
    assert {rights for at in tables for start, end, rights, _ in spans if start <= at < end} == {"r--p"}


def test_a_stdio_server_opens_no_listening_port(host):
    """mcp.md section 1."""
    host.result("tools/list")
    sockets = {os.readlink(f"/proc/{host.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{host.pid}/fd")}
    listening = set()
    for name in ("tcp", "tcp6"):
        if os.path.exists(f"/proc/net/{name}"):
            with open(f"/proc/net/{name}") as f:
                rows = [line.split() for line in f.readlines()[1:]]
            listening |= {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    assert not sockets & listening


# -- stderr --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["DEBUG", "debug"])
def test_stdout_holds_messages_only_at_the_highest_log_level(server, level):
    """S4: the harness parses every line; the log is on stderr."""
    s = server(env={"SANDSTORM_LOG_LEVEL": level})
    s.initialize()
    s.text("file_write", path="f", content="x")
    s.failure("file_read", path="none")
    s.send_raw(b"{\n")
    s.text("terminal_exec", command="echo to-stdout; echo to-stderr >&2")
    s.error("no/such")
    assert s.close() == 0
    assert s.stderr_text().strip()


def test_every_call_leaves_one_line_that_tells_the_tool_and_not_the_content(server):
    """Decision 16: arguments never in full."""
    s = server()
    s.text("file_write", path="f", content="very-private-text")
    s.failure("file_read", path="none")
    assert s.close() == 0
    log = s.stderr_text().splitlines()
    assert len([line for line in log if "file_write" in line]) == 1
    assert len([line for line in log if "file_read" in line]) == 1
    assert "very-private-text" not in s.stderr_text()


def test_failing_calls_cost_next_to_nothing_and_one_line_each(server):
    """Fault 36: 0.2 s of processor time and 6 kB of log that is no JSON for each."""
    s = server(env={"SANDSTORM_LOG_FORMAT": "json"})
    s.result("ping")
    before, lines = s.cpu_seconds(), len(s.stderr_text().splitlines())
    for n in range(200):
        s.failure("file_read", path=f"none{n}")
    assert s.cpu_seconds() - before < 0.5
    assert s.close() == 0
    log = [json.loads(line) for line in s.stderr_text().splitlines()[lines:]]
    assert len([entry for entry in log if entry.get("tool") == "file_read"]) == 200 and len(log) < 205
    assert len(s.stderr_text()) < 200 * 300


def test_a_json_log_is_one_object_a_line(server):
    """Decision 16: SANDSTORM_LOG_FORMAT=json."""
    s = server(env={"SANDSTORM_LOG_FORMAT": "json", "SANDSTORM_LOG_LEVEL": "DEBUG"})
    s.text("file_write", path="quote \" and\nnewline", content="x")
    assert s.close() == 0
    log = [json.loads(line) for line in s.stderr_text().splitlines()]
    assert log and all({"ts", "level", "msg"} <= set(entry) for entry in log)


def test_a_newline_in_an_argument_makes_no_second_line_in_the_log(server):
    """Decision 16: one line an event, also when a client tries to forge one."""
    s = server(env={"SANDSTORM_LOG_LEVEL": "DEBUG"})
    s.failure("file_read", path="x\nFORGED line")
    s.error("no\nFORGED such")
    assert s.close() == 0
    assert not [line for line in s.stderr_text().splitlines() if line.startswith("FORGED")]


def test_a_full_stderr_that_nobody_reads_does_not_stop_the_server(server):
    """S5."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 65536)
    except BlockingIOError:
        os.set_blocking(writer, True)
    s = server(env={"SANDSTORM_LOG_LEVEL": "DEBUG"}, stderr=writer)
    os.close(writer)
    for n in range(300):
        s.text("file_write", path="f", content=str(n))
    assert s.text("file_read", path="f") == "299"
    assert s.close() == 0
    os.close(reader)


def test_a_closed_stderr_does_not_stop_the_server(server):
    """S5: its reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    s = server(env={"SANDSTORM_LOG_LEVEL": "DEBUG"}, stderr=writer)
    os.close(writer)
    for _ in range(20):
        s.failure("file_read", path="none")
    assert s.close() == 0


def test_without_descriptor_2_nothing_is_logged_into_a_file_that_takes_its_number(server, workspace):
    """S5, started with 2>&-: the next descriptor opened would be number 2."""
    s = server(env={"SANDSTORM_LOG_LEVEL": "DEBUG"}, wrap=["sh", "-c", 'exec "$@" 2>&-', "sh"])
    for _ in range(5):
        s.text("file_write", path="f", content="clean")
        s.failure("file_read", path="none")
    assert (workspace / "f").read_text() == "clean"
    assert s.text("terminal_exec", command="echo err >&2; echo out") == \
        "stdout:\nout\n\n\nstderr:\nerr\n\n\nexit_code: 0"


# -- what children get ---------------------------------------------------------------------------


def test_children_do_not_read_the_protocol(host):
    """Decision 15: /dev/null or a closed pipe as stdin."""
    assert host.text("terminal_exec", command="cat; echo end") == "stdout:\nend\n\n\nexit_code: 0"


def test_children_have_default_signals_and_an_empty_mask(host):
    """Decision 15. (Children of a client that ignores a signal itself may see that one ignored.)"""
    text = host.text("terminal_exec", command="exec cat /proc/self/status")
    values = dict(line.split(":\t") for line in text.splitlines() if line.startswith("Sig"))
    assert int(values["SigBlk"], 16) == 0
    assert not int(values["SigIgn"], 16) & 1 << (signal.SIGPIPE - 1)
    assert not int(values["SigIgn"], 16) & 1 << (signal.SIGTERM - 1)


def test_children_get_no_descriptor_but_the_three(host, workspace):
    """Decision 15, fault 11: all close-on-exec, also while other calls run."""
    busy = [host.start_call("terminal_exec", command="sleep 0.3") for _ in range(5)]
    text = host.text("terminal_exec", command="n=0; while [ $n -lt 200 ]; do [ -L /proc/$$/fd/$n ] && echo $n; "
                     "n=$((n + 1)); done; true")
    assert [int(n) for n in text.splitlines() if n.isdigit()] == [0, 1, 2]
    for id in busy:
        host.wait(id)


def test_children_get_back_the_original_descriptor_limit(server):
    """Decision 42."""
    s = server(wrap=["sh", "-c", 'ulimit -S -n 99; exec "$@"', "sh"])
    assert s.text("terminal_exec", command="ulimit -S -n").startswith("stdout:\n99\n")


def test_secrets_are_taken_out_of_the_environment(server):
    """X6, decision 15: of children's environment and of /proc/PID/environ."""
    names = ["SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", "SESSION_AUTH_TOKEN", "SANDSTORM_TOKEN", "MY_KEY", "OTHER_KEY"]
    s = server(env={**{name: f"secret-{name}-0123456789abcdef" for name in names}, "PLAIN": "kept",
                    "SANDSTORM_SCRUB_ENV": "MY_KEY,OTHER_KEY"})
    text = s.text("terminal_exec", command="env")
    assert "PLAIN=kept" in text
    assert "secret-" not in text
    assert "secret-" not in s.text("terminal_exec", command=f"tr '\\0' '\\n' </proc/{s.pid}/environ; true")
    with open(f"/proc/{s.pid}/environ", "rb") as f:
        assert b"secret-" not in f.read()


def test_few_descriptors_are_enough_and_their_lack_is_told(server):
    """A box with a small limit: calls fail with a reason, the server goes on."""
    s = server(wrap=["sh", "-c", 'ulimit -n 24; exec "$@"', "sh"])
    ids = [s.start_call("terminal_exec", command="sleep 0.5; echo ok") for _ in range(20)]
    answers = [s.wait(id) for id in ids]
    good = [a for a in answers if "result" in a and "ok" in first_text(a["result"])]
    bad = [a for a in answers if a not in good]
    assert good
    assert all(a["result"]["isError"] if "result" in a else a["error"]["code"] == -32603 for a in bad)
    assert s.text("terminal_exec", command="echo still") == "stdout:\nstill\n\n\nexit_code: 0"
