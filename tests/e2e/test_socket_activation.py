"""Sockets that stay open while one server makes place for the next (issue 9, point 6): LISTEN_FDS and LISTEN_PID, as
systemd's socket units set them; what becomes of requests on their way; `serve --check` and `health /mcp`, which an
installer asks before and after.
"""

import contextlib
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from httpwire import Connection, request
from mcpwire import first_text, tool_params, wait_until
from process import busy, clean_environment
from test_http_process import complaint
from webserver import TOKEN, message

ACTIVATOR = str(pathlib.Path(__file__).with_name("activator.py"))


def wrap(*sockets):
    return [sys.executable, ACTIVATOR, ",".join(str(s.fileno()) for s in sockets)]


@pytest.fixture
def listening():
    """Makes listening sockets as systemd would; they live as long as the test."""
    with contextlib.ExitStack() as stack:
        def make(host="127.0.0.1", port=0):
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return stack.enter_context(socket.create_server((host, port), family=family, backlog=128))
        yield make


@pytest.fixture
def activated(web):
    """Starts a server on sockets that listen already; w.port is that of the first one."""
    def start(*sockets, **options):
        w = web(wrap=wrap(*sockets), fds=[s.fileno() for s in sockets], **options)
        configured, w.port = w.port, sockets[0].getsockname()[1]
        w.url = w.url.replace(f":{configured}/", f":{w.port}/")
        w.configured = configured
        return w
    return start


@pytest.fixture
def cli_activated(binary, workspace, tmp_path):
    def run(s, env=None):
        env = clean_environment(workspace, {"SANDSTORM_MCP_TOKEN": TOKEN, **(env or {})})
        done = subprocess.run([*wrap(s), binary, "serve"], env=env, cwd=tmp_path, pass_fds=[s.fileno()],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done
    return run


def urls(w, count=1):
    """Where it says that it serves; the log may come later than the first answer."""
    def told():
        return [line["url"] for line in w.log() if line["msg"] == "serving"]
    wait_until(lambda: len(told()) >= count, "its log")
    return told()


def exec_message(command, **more):
    return message("tools/call", tool_params("terminal_exec", {"command": command, **more}))


# -- where it serves -----------------------------------------------------------------------------


def test_the_address_told_is_that_of_the_socket(activated, listening):
    w = activated(listening())
    assert w.result("ping") == {}
    assert urls(w) == [w.url]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", w.configured), 1)
    page = w.exchange("GET", "/", {"Host": ""}).body.decode()
    assert f"http://127.0.0.1:{w.port}/mcp" in page


def test_several_sockets_are_served(activated, listening):
    sockets = [listening(), listening("::1"), listening()]
    w = activated(*sockets)
    for s in sockets:
        host, port = s.getsockname()[:2]
        with Connection(host, port) as c:
            c.send(w.bytes_of(message("ping")))
            assert c.answer().json()["result"] == {}
    assert [int(re.search(r":(\d+)/mcp$", url)[1]) for url in urls(w, 3)] == [s.getsockname()[1] for s in sockets]
    assert urls(w)[1].startswith("http://[0:0:0:0:0:0:0:1]:")


def test_tls_is_spoken_on_it(activated, listening, lan):
    w = activated(listening(), tls=lan)
    assert w.result("ping") == {} and urls(w) == [w.url] and w.url.startswith("https://")


def test_of_two_sockets_the_one_on_the_acme_port_is_plain(activated, listening, lan, tmp_path):
    challenges = tmp_path / "acme/.well-known/acme-challenge"
    challenges.mkdir(parents=True)
    (challenges / ("a" * 43)).write_text("proof")
    tls, plain = listening(), listening()
    port = plain.getsockname()[1]
    w = activated(tls, plain, tls=lan, env={"SANDSTORM_ACME_WEBROOT": tmp_path / "acme", "SANDSTORM_ACME_PORT": port})
    assert w.result("ping") == {} and len(urls(w)) == 1
    with Connection("127.0.0.1", port) as c:
        c.send(request("GET", f"/.well-known/acme-challenge/{'a' * 43}", {"Host": "127.0.0.1"}))
        assert c.answer("GET").body == b"proof"


def test_a_wide_socket_without_tls_is_warned_of(activated, listening):
    w = activated(listening("0.0.0.0"))
    wait_until(lambda: "in clear text" in w.stderr_text(), "the warning")


def test_variables_of_another_process_mean_nothing(web):
    w = web(env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert w.result("ping") == {}
    assert w.text("terminal_exec", command="env | grep ^LISTEN; echo none").startswith("stdout:\nnone")


def test_commands_get_neither_the_variables_nor_the_socket(activated, listening):
    w = activated(listening(), env={"LISTEN_FDNAMES": "web"})
    assert w.text("terminal_exec", command="env | grep ^LISTEN; echo none").startswith("stdout:\nnone")
    links = w.text("terminal_exec", command="ls -l /proc/self/fd")
    assert "socket:" not in links
    started = w.text("terminal_exec", command="tr '\\0' '\\n' < /proc/$PPID/environ | grep ^LISTEN_; echo end")
    assert not re.search(r"LISTEN_\w+=.", started)


@pytest.mark.parametrize("env, word", [
    ({"LISTEN_PID": "systemd"}, 'LISTEN_PID: "systemd" is not a number'),
    ({"LISTEN_FDS": "0"}, 'LISTEN_FDS: "0" is not a number of sockets from 1 to 4'),
    ({"LISTEN_FDS": "5"}, 'LISTEN_FDS: "5" is not a number of sockets from 1 to 4'),
    ({"LISTEN_FDS": "one"}, 'LISTEN_FDS: "one" is not'),
    ({"LISTEN_FDS": "2"}, "LISTEN_FDS: descriptor 4 is no listening TCP socket"),
])
def test_wrong_values_are_told_in_one_sentence(cli_activated, listening, env, word):
    complaint(cli_activated(listening(), env), 2, word)


def test_what_is_no_listening_tcp_socket_is_told(cli_activated, tmp_path):
    with socket.socket() as quiet, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, \
            socket.socket(socket.AF_UNIX) as local:
        quiet.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        local.bind(str(tmp_path / "socket"))
        local.listen()
        for s in (quiet, udp, local):
            complaint(cli_activated(s), 2, "descriptor 3 is no listening TCP socket", "ListenStream=")


# -- one server after the other -------------------------------------------------------------------


def ask(host, port, context, bytes_):
    with Connection(host, port, 20, context) as c:
        c.send(bytes_)
        return c.answer()


def test_who_connects_while_no_server_runs_is_answered_by_the_next(activated, listening):
    s = listening()
    first = activated(s)
    assert first.result("ping") == {}
    assert first.terminate() == 0
    with Connection("127.0.0.1", first.port, 10) as early:
        early.send(first.bytes_of(message("ping")))
        assert early.silent(0.2)
        second = activated(s)
        assert early.answer().json()["result"] == {}
    assert second.result("ping") == {}


def test_a_request_in_flight_is_answered_before_the_old_process_ends(activated, listening, workspace):
    """And who comes meanwhile is not refused, but waits for the new one."""
    s = listening()
    old = activated(s, env={"SANDSTORM_STOP_GRACE": "30"})
    running = old.start(exec_message("touch started; while ! [ -e go ]; do sleep 0.05; done; echo done by $PPID"))
    wait_until((workspace / "started").exists, "the command")
    old.signal(signal.SIGTERM)
    wait_until(lambda: not listens(old), "the old server to leave the socket")
    with Connection("127.0.0.1", old.port, 30) as newcomer:
        newcomer.send(old.bytes_of(exec_message("echo done by $PPID")))
        (workspace / "go").touch()
        answer = running.answer()
        assert f"done by {old.pid}" in first_text(answer.message()["result"]) and answer.closes
        assert old.wait_exit() == 0
        new = activated(s)
        assert f"done by {new.pid}" in first_text(newcomer.answer().message()["result"])


def listens(w):
    """Whether the process still holds a listening socket on its port."""
    inodes = {line.split()[9] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
              if line.split()[3] == "0A" and line.split()[1].endswith(f":{w.port:04X}")}
    for link in pathlib.Path(f"/proc/{w.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if any(str(link.readlink()) == f"socket:[{inode}]" for inode in inodes):
                return True
    return False


def test_requests_that_have_begun_to_come_are_still_taken(web):
    """A head, a body, and one on an idle connection that was sent before its client knew."""
    w = web(env={"SANDSTORM_STOP_GRACE": "10"})
    data = w.bytes_of(message("ping"))
    head = w.connect()
    head.send(data[:30])
    body = w.connect()
    body.send(data[:-5])
    idle = w.connect()
    idle.send(data)
    idle.answer()
    assert w.result("ping") == {}
    w.signal(signal.SIGSTOP)        # so that both are there at once
    w.signal(signal.SIGTERM)
    idle.send(data)
    w.signal(signal.SIGCONT)
    assert idle.answer().json()["result"] == {}
    body.send(data[-5:])
    assert body.answer().json()["result"] == {}
    time.sleep(0.6)         # longer than idle connections are kept
    head.send(data[30:])
    answer = head.answer()
    assert answer.json()["result"] == {} and answer.closes
    assert w.wait_exit() == 0


def test_the_end_does_not_wait_for_idle_clients(web):
    w = web(env={"SANDSTORM_STOP_GRACE": "10"})
    idle = [w.connect() for _ in range(20)]
    assert w.result("ping") == {}
    started = time.monotonic()
    assert w.terminate() == 0
    assert time.monotonic() - started < 2 * busy()
    assert all(c.closed() for c in idle)


def test_a_request_that_never_ends_holds_up_the_end_for_the_grace_at_most(web):
    w = web(env={"SANDSTORM_STOP_GRACE": "1"})
    slow = w.connect()
    slow.send(w.bytes_of(message("ping"))[:30])
    assert w.result("ping") == {}
    started = time.monotonic()
    assert w.terminate() == 0
    assert 0.9 < time.monotonic() - started < 2.5 * busy()


class Load(threading.Thread):
    """Asks again and again, each time on a new connection, and notes what is not answered."""

    def __init__(self, w, context):
        super().__init__(daemon=True)
        self.ask = lambda: ask("127.0.0.1", w.port, context, w.bytes_of(message("ping"), {"Connection": "close"}))
        self.answered, self.failures, self.go_on = 0, [], True

    def run(self):
        while self.go_on:
            try:
                assert self.ask().json()["result"] == {}
                self.answered += 1
            except Exception as e:      # whatever a client may see
                self.failures.append(repr(e))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_no_request_is_lost_while_servers_follow_one_another(activated, listening, lan, tls):
    s = listening()
    options = {"env": {"SANDSTORM_STOP_GRACE": "10", "SANDSTORM_RATE_LIMIT": "0"}, "tls": lan if tls else None}
    w = activated(s, **options)
    load = [Load(w, w.context) for _ in range(4)]
    for thread in load:
        thread.start()

    def some_more():
        enough = [thread.answered + 3 for thread in load]
        wait_until(lambda: all(thread.answered >= n for thread, n in zip(load, enough)), "each is served again", 20)
    for _ in range(3):
        some_more()
        assert w.terminate() == 0
        w = activated(s, **options)
    some_more()
    for thread in load:
        thread.go_on = False
    for thread in load:
        thread.join(25)
        assert not thread.failures
    print(f"\n{sum(t.answered for t in load)} answered over three restarts")


# -- before and after -----------------------------------------------------------------------------


@pytest.mark.parametrize("env, words", [
    ({"SANDSTORM_MCP_TOKEN": "too-short"}, ["SANDSTORM_MCP_TOKEN", "9 bytes"]),
    ({"SANDSTORM_MCP_TOKEN": None}, ["SANDSTORM_MCP_TOKEN"]),
    ({"SANDSTORM_MCP_PORT": "http"}, ["SANDSTORM_MCP_PORT"]),
    ({"SANDSTORM_TLS_CERT": "/nowhere/server.pem"}, ["SANDSTORM_TLS_KEY"]),
    ({"SANDSTORM_TOOLS": "everything"}, ["SANDSTORM_TOOLS"]),
    ({"SANDSTORM_PUBLIC_URL": "ftp://x"}, ["ftp://x"]),
])
def test_a_check_finds_what_serve_would_refuse(cli, env, words):
    complaint(cli("serve", "--check", env={"SANDSTORM_MCP_TOKEN": TOKEN, **env}), 2, *words)


def test_a_check_takes_no_port_and_says_nothing_when_all_is_well(cli, web, tmp_path):
    w = web()
    file = tmp_path / "env"
    file.write_text(f"SANDSTORM_MCP_TOKEN={TOKEN}\nSANDSTORM_MCP_PORT={w.port}\n")
    for args in (["serve", "--check"], ["serve", "--stdio", "--check"]):
        done = cli(*args, "--env-file", file)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_health_asks_mcp_with_the_token(cli, web, lan):
    for w in (web(), web(tls=lan)):
        env = {"SANDSTORM_MCP_PORT": str(w.port), "SANDSTORM_MCP_TOKEN": w.token}
        if w.context:
            env["SANDSTORM_TLS_CERT"] = lan / "server.pem"
        done = cli("health", "/mcp", env=env)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        complaint(cli("health", "/mcp", env={**env, "SANDSTORM_MCP_TOKEN": "another-token-0123456789"}), 1, "status 401")
        complaint(cli("health", "/mcp", env={**env, "SANDSTORM_MCP_TOKEN": None}), 1, "401", "the token is needed")
        assert cli("health", "/health", env=env).returncode == 0
        complaint(cli("health", "/nothing", env=env), 1, "status 404")


def test_health_takes_the_token_from_a_file(cli, web, tmp_path):
    w = web()
    (tmp_path / "token").write_text(w.token + "\n")
    (tmp_path / "env").write_text(f"SANDSTORM_MCP_TOKEN_FILE={tmp_path}/token\nSANDSTORM_MCP_PORT={w.port}\n")
    assert cli("health", "/mcp", "--env-file", tmp_path / "env").returncode == 0
