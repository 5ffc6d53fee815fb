"""The process that serves HTTP: start, signals, end, log, what becomes of calls whose clients leave.

S3, F15, X11, X12 and H rows are those of the field cases; decisions those of the design.
"""

import os
import signal
import socket
import threading
import time

import pytest

from contract import NAMES, READERS
from httpwire import Connection, free_port
from mcpwire import first_text, tool_params, wait_until
from process import busy
from webserver import TOKEN, message, notification

STUBBORN = "trap '' TERM INT HUP; touch ready; while :; do sleep 0.05; done"
INTERNAL = -32603


def run(command, id=1, **more):
    return message("tools/call", tool_params("terminal_exec", {"command": command, **more}), id)


def complaint(done, code, *words):
    """One line on stderr that holds the words, nothing on stdout."""
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("sandstorm-mcp: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def start(cli, **env):
    return cli("serve", env={"SANDSTORM_MCP_TOKEN": TOKEN, **{f"SANDSTORM_{name}": v for name, v in env.items()}})



# -- start ---------------------------------------------------------------------------------------


def test_a_taken_port_is_told_with_the_remedy(cli):
    """Issue 4: exit 1 and the variable; the master only where its port is meant."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = start(cli, MCP_PORT=port)
        complaint(done, 1, "SANDSTORM_MCP_PORT", port)
        assert "master" not in done.stderr
        complaint(start(cli, MCP_PORT=port, MCP_HOST="localhost"), 1, "SANDSTORM_MCP_PORT")
        complaint(start(cli, MCP_PORT=port, MCP_HOST="0.0.0.0"), 1, "SANDSTORM_MCP_PORT")


def test_a_taken_port_8080_may_be_a_sandstorm_master(cli):
    """Issue 4: its own port is the default here, too."""
    try:
        taken = socket.create_server(("127.0.0.1", 8080))
    except OSError:
        taken = None        # somebody has it already
    try:
        complaint(start(cli), 1, "SANDSTORM_MCP_PORT", "8080", "Sandstorm master")
    finally:
        if taken:
            taken.close()


def test_a_port_taken_on_ipv6_alone_is_told_for_localhost(cli):
    """H14: half a server would be found by half of the clients."""
    port = free_port()
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        complaint(start(cli, MCP_PORT=str(port), MCP_HOST="localhost"), 1, "SANDSTORM_MCP_PORT")


@pytest.mark.parametrize("name, value", [("MCP_PORT", "0"), ("MCP_PORT", "65536"), ("MCP_PORT", "http"),
                                         ("MCP_PORT", "-1"),
                                         ("MAX_CONNECTIONS", "0"), ("MAX_CONNECTIONS", "16385"),
                                         ("MAX_CONNECTIONS", "x"),
                                         ("STOP_GRACE", "soon"), ("HEALTH_DETAIL", "maybe"), ("LOG_LEVEL", "loud")])
def test_a_wrong_value_is_told_with_2(cli, name, value):
    """Decision 30."""
    complaint(start(cli, **{name: value}), 2, f"SANDSTORM_{name}", value)


def test_an_address_that_is_not_of_this_machine_is_1(cli):
    """Decision 30: it may be there at the next start."""
    complaint(start(cli, MCP_HOST="203.0.113.77", MCP_PORT=str(free_port())), 1, "203.0.113.77")


def test_words_and_flags(cli, web):
    """Decision 61: each variable is a flag, too."""
    complaint(cli("serve", "now", env={"SANDSTORM_MCP_TOKEN": TOKEN}), 2, "now")
    complaint(cli("serve", "--bogus", env={"SANDSTORM_MCP_TOKEN": TOKEN}), 2, "--bogus")
    port = free_port()
    w = web(env={"SANDSTORM_MCP_PORT": "1"}, args=["--mcp-port", port, "--mcp-host=127.0.0.1", "--rate-limit", "0"])
    w.port = port
    assert w.result("ping") == {}


@pytest.mark.parametrize("how, names", [
    ({"args": ["--read-only"]}, set(READERS)),
    ({"env": {"SANDSTORM_READ_ONLY": "1"}}, set(READERS)),
    ({"args": ["--tools", "host,-terminal_exec,-file_delete"]}, set(NAMES) - {"terminal_exec", "file_delete"}),
    ({"env": {"SANDSTORM_TOOLS": "file_read"}}, {"file_read"}),
])
def test_tools_are_chosen_as_over_stdio(web, workspace, how, names):
    """README: either transport takes any list."""
    w = web(**how)
    for speak in (w, w.modern):
        assert {tool["name"] for tool in speak.result("tools/list")["tools"]} == names
        assert speak.error("tools/call", tool_params("terminal_exec", {"command": "touch ran"}))["code"] == -32602
    assert not (workspace / "ran").exists()


def test_a_restart_takes_the_port_at_once(web):
    """Connections of the last run are still in TIME_WAIT."""
    w = web()
    for _ in range(5):
        with w.connect() as c:
            c.send(w.bytes_of(message("ping"), {"Connection": "close"}))
            assert c.answer().status == 200 and c.closed()
    waiting = w.connect()
    assert w.terminate() == 0
    again = web(args=["--mcp-port", w.port])
    again.port = w.port
    assert again.result("ping") == {}
    waiting.close()


def test_without_a_writable_state_directory_it_serves_and_says_what_is_missing(web, tmp_path):
    """Issue 4: a directory that cannot be made, here below a file."""
    (tmp_path / "plain").write_text("")
    w = web(env={"SANDSTORM_STATE_DIR": str(tmp_path / "plain" / "state")})
    assert w.text("file_write", path="f", content="x")
    assert w.terminate() == 0
    lines = [line for line in w.stderr_text().splitlines() if "plain/state" in line]
    assert lines and any("warn" in line.lower() for line in lines), w.stderr_text()


def test_nothing_is_written_at_start(web, workspace):
    """Issue 4: a workspace stays as it is until a tool is called."""
    w = web()
    w.result("tools/list")
    w.exchange("GET", "/health")
    assert [p.name for p in workspace.iterdir() if p.name != ".sandstorm-mcp"] == []


def test_few_descriptors_are_enough(web):
    """Decision 23: the table holds no more than the descriptor limit; the server goes on when they are gone."""
    w = web(wrap=["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"])
    crowd = []
    for _ in range(60):
        crowd.append(w.connect())
    time.sleep(0.1)
    before = w.cpu_seconds()
    time.sleep(0.3)
    assert w.cpu_seconds() - before < 0.1, "it does not spin"
    assert w.post(message("ping")).status == 200
    for c in crowd:
        c.close()
    assert "on" in w.text("terminal_exec", command="echo on")


# -- end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_ends_at_once_with_0(web, number):
    """Decision 29: also with connections that wait, have sent half a head, or half a body."""
    w = web()
    waiting = [w.connect() for _ in range(3)]
    waiting[0].send(b"POST /mcp HT")
    waiting[1].send(w.bytes_of(message("ping"))[:-3])
    w.result("ping")
    started = time.monotonic()
    w.signal(number)
    assert w.wait_exit() == 0
    assert time.monotonic() - started < 0.5 * busy()
    for c in waiting:
        assert c.closed()
    with pytest.raises(OSError):
        w.connect()


def test_a_call_that_runs_is_ended_with_an_error_and_its_processes_are_gone(web):
    """mcp.md 11.23, Decision 48, fault 33, S3: without a grace time."""
    w = web()
    calls = [w.start(run("sleep 60")), w.start(run("sleep 60 & sleep 60; wait", "x")), w.start_modern(
        "tools/call", tool_params("terminal_exec", {"command": "sleep 60"}), id="m")]
    w.wait_descendants(4)
    started = time.monotonic()
    w.signal(signal.SIGTERM)
    for c, id in zip(calls, (1, "x", "m")):
        answer = c.answer()
        assert answer.status == 200 and answer.message()["id"] == id, answer
        assert answer.message()["error"]["code"] == INTERNAL
        assert answer.closes and c.closed()
    assert w.wait_exit() == 0 and time.monotonic() - started < 1.5 * busy()
    w.wait_no_descendants()


def turned_away(w):
    """Whether new connections are no longer taken."""
    try:
        w.connect()
    except OSError:
        return True
    return False


def test_a_call_may_end_within_the_grace_time(web, workspace):
    """Decision 48: the connection is not cut, new ones are not taken, the exit comes right after."""
    w = web(env={"SANDSTORM_STOP_GRACE": "30"})
    c = w.start(run("touch runs; until [ -e go ]; do sleep 0.05; done; echo done"))
    wait_until((workspace / "runs").exists, "it runs")
    w.signal(signal.SIGTERM)
    wait_until(lambda: turned_away(w), "new connections are not taken")
    assert w.alive()
    started = time.monotonic()
    (workspace / "go").touch()
    answer = c.answer()
    assert "done" in first_text(answer.message()["result"]) and answer.closes and c.closed()
    assert w.wait_exit() == 0 and time.monotonic() - started < 1.5 * busy()


def test_the_grace_time_has_an_end(web):
    """Decision 48."""
    w = web(env={"SANDSTORM_STOP_GRACE": "1"})
    c = w.start(run("sleep 60"))
    w.wait_descendants(1)
    started = time.monotonic()
    w.signal(signal.SIGTERM)
    assert c.answer().message()["error"]["code"] == INTERNAL
    assert w.wait_exit() == 0 and 0.8 < time.monotonic() - started < 2.5 * busy()
    w.wait_no_descendants()


def test_a_process_that_ignores_term_is_killed(web, workspace):
    """S3: TERM, a second later KILL, then the exit."""
    w = web()
    w.start(run(STUBBORN))
    wait_until((workspace / "ready").exists, "the trap is set")
    started = time.monotonic()
    w.signal(signal.SIGTERM)
    assert w.wait_exit() == 0 and time.monotonic() - started < 2.5 * busy()
    w.wait_no_descendants()


def test_a_second_signal_ends_at_once(web, workspace):
    """Decision 29."""
    w = web(env={"SANDSTORM_STOP_GRACE": "60"})
    w.start(run(STUBBORN))
    wait_until((workspace / "ready").exists, "the trap is set")
    w.signal(signal.SIGTERM)
    time.sleep(0.2)
    assert w.alive()
    started = time.monotonic()
    w.signal(signal.SIGTERM)
    assert w.wait_exit() == 0 and time.monotonic() - started < 0.5 * busy()
    w.wait_no_descendants()


def test_a_client_that_does_not_read_does_not_hold_up_the_end(web, workspace):
    """Decision 29: an answer that cannot be sent is given up."""
    (workspace / "f").write_text("x" * (1 << 20))
    w = web()
    for _ in range(3):
        w.start(message("tools/call", tool_params("file_read", {"path": "f"})))
    time.sleep(0.2)
    started = time.monotonic()
    w.signal(signal.SIGTERM)
    assert w.wait_exit() == 0 and time.monotonic() - started < 3 * busy()


def test_hup_rereads_the_token_file(web, tmp_path):
    """Decision 29, issue 4: a rotated token works at once, the old one no more, calls go on."""
    path = tmp_path / "token"
    path.write_text("first-token-0123456789\n")
    w = web(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    w.token = "first-token-0123456789"
    c = w.start(run("sleep 0.5; echo done"))
    w.wait_descendants(1)

    def status(token):
        return w.post(message("ping"), {"Authorization": f"Bearer {token}"}).status
    path.write_text("second-token-0123456789")
    assert status("second-token-0123456789") == 401
    w.signal(signal.SIGHUP)
    wait_until(lambda: status("second-token-0123456789") == 200, "the new token")
    assert status("first-token-0123456789") == 401
    assert "done" in first_text(c.answer().message()["result"])


@pytest.mark.parametrize("spoil, why", [(lambda path: path.write_text("short"), "the token is too short"),
                                        (lambda path: path.unlink(), "No such file or directory"),
                                        (lambda path: (path.unlink(), path.mkdir()), "Is a directory"),
                                        (lambda path: path.write_text("x" * 100_000), "it is too large")],
                         ids=["short", "missing", "directory", "long"])
def test_a_token_file_that_got_unusable_changes_nothing_and_is_told(web, tmp_path, spoil, why):
    """Issue 4: nobody is locked out by a mistake, and the log says which one it was."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    w = web(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    w.token = TOKEN
    spoil(path)
    w.signal(signal.SIGHUP)
    (line,) = wait_until(lambda: [line for line in w.log() if "token file" in line["msg"]], "a line about it")
    assert line["level"] == "warn" and line["variable"] == "SANDSTORM_MCP_TOKEN" and line["why"] == why, line
    assert w.result("ping") == {}


def test_hup_without_a_token_file_is_harmless(remote):
    """Decision 29: under serve it does not end."""
    remote.signal(signal.SIGHUP)
    time.sleep(0.1)
    assert remote.result("ping") == {}


# -- clients that leave --------------------------------------------------------------------------


def test_a_modern_client_that_closes_ends_its_command(remote):
    """Decision 4, X11, fault 34; the next request is served."""
    for half in (False, True):
        c = remote.start_modern("tools/call", tool_params("terminal_exec", {"command": "sleep 60 & sleep 60; wait"}))
        remote.wait_descendants(3)
        c.half_close() if half else c.close()       # decision 35: a half-closed peer counts as gone
        remote.wait_no_descendants()
        assert remote.modern.text("terminal_exec", command="echo on") == "stdout:\non\n\n\nexit_code: 0"
    wait_until(lambda: remote.zombies() == [], "all are collected")


def test_a_modern_client_that_closes_while_events_come_ends_its_command(remote):
    """X11: in the middle of a stream."""
    c = remote.start_modern("tools/call", tool_params("terminal_exec",
                                                      {"command": "while :; do echo on; sleep 0.1; done"}),
                            progressToken="t")
    assert c.stream().next().value["method"] == "notifications/progress"
    c.close()
    remote.wait_no_descendants()


def test_a_modern_client_that_closes_ends_a_command_that_ignores_term(remote, workspace):
    """X11: KILL after a second."""
    c = remote.start_modern("tools/call", tool_params("terminal_exec", {"command": STUBBORN}))
    wait_until((workspace / "ready").exists, "the trap is set")
    c.close()
    remote.wait_no_descendants(2.5)


def test_a_client_that_will_send_no_more_is_answered_without_burning_cpu(remote):
    """S1 over HTTP: the end of the client's side stays readable for as long as its call runs (legacy era)."""
    remote.result("ping")
    running = [remote.start(run("sleep 0.7; echo over")) for _ in range(3)]
    remote.wait_descendants(3)
    before = remote.cpu_seconds()
    for c in running:
        c.half_close()
    for c in running:
        assert "over" in first_text(c.answer().message()["result"])
    assert remote.cpu_seconds() - before < 0.05


def test_the_command_of_a_legacy_client_that_closes_runs_on_to_its_own_limit(remote, workspace):
    """Decision 4, mcp.md section 6: a disconnect does not cancel there."""
    remote.start(run("sleep 1.5; touch over")).close()
    limited = remote.start(run("touch begun; sleep 60; touch never", timeout=1.5))
    remote.wait_descendants(2)
    limited.close()
    wait_until((workspace / "over").exists, "the command goes on")
    wait_until((workspace / "begun").exists, "the other one began")
    remote.wait_no_descendants()
    assert not (workspace / "never").exists()
    assert remote.result("ping") == {}


def test_a_legacy_client_that_closes_before_its_progress_costs_nothing(remote, workspace):
    """S1 over HTTP: what is sent to it is answered with a reset, and that is all that is ever heard of it."""
    call = run("echo on; sleep 2; touch over")
    call["params"]["_meta"] = {"progressToken": "t"}
    before = remote.fd_count()
    remote.start(call).close()
    wait_until((workspace / "over").exists, "the command runs on")
    assert remote.cpu_seconds() < 0.05
    wait_until(lambda: remote.fd_count() <= before, "its descriptors are closed")
    assert remote.result("ping") == {}


@pytest.mark.parametrize("fields", [{}, {"MCP-Protocol-Version": "2025-11-25"},
                                    {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/cancelled"}])
def test_a_posted_cancel_is_202_and_stops_nobody_s_call(remote, fields):
    """Decision 4, mcp.md section 6: ids of different clients are the same."""
    modern = remote.start_modern("tools/call", tool_params("terminal_exec", {"command": "sleep 0.6; echo one"}), id=5)
    legacy = remote.start(run("sleep 0.6; echo two", 5))
    remote.wait_descendants(2)
    answer = remote.post(notification("notifications/cancelled", {"requestId": 5}), fields)
    assert (answer.status, answer.body) == (202, b"")
    assert "one" in first_text(modern.answer().message()["result"])
    assert "two" in first_text(legacy.answer().message()["result"])


def test_the_go_client_closes_first_and_posts_its_cancel_then(remote):
    """conformance section 6."""
    c = remote.start_modern("tools/call", tool_params("terminal_exec", {"command": "sleep 60"}), id=5)
    remote.wait_descendants(1)
    c.close()
    answer = remote.post(notification("notifications/cancelled", {"requestId": 5}),
                         {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/cancelled"})
    assert answer.status == 202
    remote.wait_no_descendants()


def test_a_batch_whose_client_leaves_is_run_or_ended_by_its_era(remote, workspace):
    """Decision 4: batches are legacy."""
    remote.start([run("sleep 0.3; touch one"), run("touch two", 2)]).close()
    wait_until((workspace / "two").exists, "the batch goes on")
    assert (workspace / "one").exists()


# -- many calls ----------------------------------------------------------------------------------


def test_when_all_jobs_are_busy_it_says_so_and_ping_is_served(remote, workspace):
    """Decision 28: 64 jobs, eight kept for calls that start no child. With 200, since the TypeScript client shows the text
    of an error only then (mcp.md section 7)."""
    os.mkfifo(workspace / "go")
    go = os.open(workspace / "go", os.O_RDWR)       # open, whoever reads from it and when
    calls = [remote.start(run("read x < go; echo ok", n)) for n in range(70)]
    remote.wait_descendants(56)
    assert remote.result("ping") == {} and remote.modern.result("tools/list")["tools"]
    assert remote.text("file_write", path="f", content="x")
    os.write(go, b"\n" * 56)
    good = busy = 0
    for n, c in enumerate(calls):
        answer = c.answer()
        value = answer.message()
        assert value["id"] == n
        if "result" in value:
            good += "ok" in first_text(value["result"])
        else:
            busy += 1
            assert value["error"]["code"] == INTERNAL and "busy" in value["error"]["message"].lower()
            assert answer.status == 200
    os.close(go)
    assert (good, busy) == (56, 14)
    assert "again" in remote.text("terminal_exec", command="echo again")


def test_many_connections_and_commands_leave_nothing(remote):
    """X12: descriptors, zombies and memory after 400 commands on 200 connections."""
    remote.text("terminal_exec", command="true")
    before, kept = remote.fd_count(), []

    def client():
        for _ in range(25):
            with Connection(remote.host, remote.port) as c:
                for n in range(2):
                    c.send(remote.bytes_of(run("exit 0", n)))
                    kept.append(c.answer().status)
    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert kept == [200] * 400
    wait_until(lambda: remote.fd_count() <= before + 1, "descriptors are closed")
    wait_until(lambda: remote.zombies() == [], "all are collected")
    assert remote.rss_kib() < 2048


# -- the log -------------------------------------------------------------------------------------


def test_the_log_is_json_by_default_one_line_an_event(web):
    """Decision 16: a tool call has an audit line; arguments never in full."""
    w = web()
    w.text("file_write", path="f", content="the-whole-content")
    w.failure("file_read", path="none\nFORGED")
    w.post(message("tools/call", tool_params("nope\n", {})))
    w.post(message("ping"), {"Authorization": None})
    w.exchange("GET", "/no\x7fne")
    assert w.terminate() == 0
    log = w.log()
    assert all({"ts", "level", "msg"} <= set(entry) for entry in log)
    calls = [entry for entry in log if entry.get("tool")]
    assert [entry["tool"] for entry in calls] == ["file_write", "file_read"]
    for entry in calls:
        assert {"outcome", "ms", "bytes", "peer"} <= set(entry) and "127.0.0.1" in entry["peer"]
    assert calls[0]["outcome"] != calls[1]["outcome"]
    assert "the-whole-content" not in w.stderr_text() and "FORGED" not in w.stderr_text().replace("\\nFORGED", "")


def test_the_peer_behind_a_proxy_is_in_the_audit_line(web):
    """Decisions 16 and 56."""
    w = web()
    w.post(run("true"), {"X-Forwarded-For": "198.51.100.7"})
    w.terminate()
    assert any("198.51.100.7" in entry.get("peer", "") for entry in w.log() if entry.get("tool"))


def test_nothing_is_printed_at_the_highest_log_level(web):
    """S4 over HTTP: what is read from a container's stdout is nothing, the log is on stderr, one object a line."""
    w = web(env={"SANDSTORM_LOG_LEVEL": "DEBUG"})
    w.text("terminal_exec", command="echo to-stdout; echo to-stderr >&2")
    w.failure("file_read", path="none")
    assert w.post(b"{").status == 400
    assert w.terminate() == 0
    assert w.process.stdout.read() == b"" and w.log()


@pytest.mark.parametrize("level", ["INFO", "info", "Debug"])
def test_levels_of_any_case_in_the_text_form(web, level):
    """Issue 4: DEBUG, INFO, WARNING, ERROR, CRITICAL."""
    w = web(env={"SANDSTORM_LOG_LEVEL": level, "SANDSTORM_LOG_FORMAT": "text"})
    w.text("terminal_exec", command="true")
    assert w.terminate() == 0
    assert "terminal_exec" in w.stderr_text() and "{" not in w.stderr_text()


@pytest.mark.parametrize("level, refusal", [("Warning", True), ("ERROR", False), ("critical", False)])
def test_higher_levels_leave_out_what_is_below(web, level, refusal):
    """Issue 4: not even the line that it serves."""
    w = web(env={"SANDSTORM_LOG_LEVEL": level})
    w.text("terminal_exec", command="true")
    assert w.post(message("ping"), {"Origin": "http://evil.example"}).status == 403
    assert w.terminate() == 0
    assert ("refused" in w.stderr_text()) == refusal and "terminal_exec" not in w.stderr_text()


def test_a_full_stderr_that_nobody_reads_does_not_stop_the_server(web):
    """S5."""
    w = web(env={"SANDSTORM_LOG_LEVEL": "DEBUG", "SANDSTORM_RATE_LIMIT": "0"})
    w.read_log.clear()
    try:
        with w.connect() as c:
            for n in range(3000):
                c.send(w.bytes_of(message("ping", id=n), {"Content-Type": "text/plain"}))
                assert c.answer().status == 415
        assert w.result("ping") == {}
    finally:
        w.read_log.set()
