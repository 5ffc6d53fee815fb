"""/health and its probe `sandstorm-mcp health [URL]` (host-tools.md section 6, fault 63; issue 4)."""

import http.server
import os
import socket
import threading
import time

import pytest

from httpwire import free_port, request
from process import busy
from webserver import TOKEN, message

FEW = {"ok", "server", "version", "uptime_seconds", "active_instances", "max_instances"}
ALL = FEW | {"cores_available", "memory_mb_available", "disk_mb_available", "tools"}


def health(web, fields=None, target="/health"):
    answer = web.exchange("GET", target, fields)
    assert answer.status == 200, answer
    return answer.json()


def bearer(token=TOKEN):
    return {"Authorization": f"Bearer {token}"}


# -- the page ------------------------------------------------------------------------------------


def test_without_the_token_it_says_no_more_than_that_it_lives(remote, cli):
    """Issue 4, fault 63: nothing about the machine, and never 401."""
    for fields in ({}, bearer("wrong-0123456789abcdef"), bearer(""), {"Authorization": "Basic x"}):
        value = health(remote, fields)
        assert set(value) == FEW
        assert value["ok"] is True and value["server"] == "sandstorm"
        assert (value["active_instances"], value["max_instances"]) == (0, 5)
        assert value["version"] in cli("--version").stdout
        assert type(value["uptime_seconds"]) is int and 0 <= value["uptime_seconds"] < 60, "of the server"


def check_detail(value):
    assert set(value) == ALL
    assert (value["ok"], value["server"]) == (True, "sandstorm")
    assert 1 <= value["cores_available"] <= os.cpu_count()
    with open("/proc/meminfo") as f:
        meminfo = {line.split()[0]: int(line.split()[1]) // 1024 for line in f}
    assert 0 < value["memory_mb_available"] <= meminfo["MemTotal:"]
    assert abs(value["memory_mb_available"] - meminfo["MemAvailable:"]) < meminfo["MemTotal:"] // 4
    with open("/proc/uptime") as f:
        assert abs(value["uptime_seconds"] - float(f.read().split()[0])) < 5, "of the machine, as the reference"


def test_with_the_token_it_tells_all(remote, workspace):
    """Issue 4; host-tools section 6."""
    value = health(remote, bearer())
    check_detail(value)
    disk = os.statvfs(workspace)
    assert abs(value["disk_mb_available"] - disk.f_bavail * disk.f_frsize // 2**20) < 2000


def test_the_detail_can_be_opened_to_all(web):
    """Issue 4."""
    check_detail(health(web(env={"SANDSTORM_HEALTH_DETAIL": "1"})))
    assert set(health(web(env={"SANDSTORM_HEALTH_DETAIL": "0"}))) == FEW


def test_the_tools_are_those_found_in_their_order(web, tmp_path):
    """host-tools section 6: node bun python3 git gh curl, as far as they can be run."""
    for name in ("gh", "bun", "curl", "node", "vim"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "git").write_text("no program")
    (tmp_path / "python3").mkdir()
    w = web(env={"PATH": str(tmp_path), "SANDSTORM_HEALTH_DETAIL": "1"})
    assert health(w)["tools"] == ["node", "bun", "gh", "curl"]
    assert health(web(env={"PATH": "/none", "SANDSTORM_HEALTH_DETAIL": "1"}))["tools"] == []


def test_max_instances_is_reported(web, cli):
    """host-tools section 1."""
    assert health(web(env={"MAX_INSTANCES": "9"}))["max_instances"] == 9
    done = cli("serve", env={"SANDSTORM_MCP_TOKEN": TOKEN, "MAX_INSTANCES": "many"})
    assert done.returncode == 2 and "MAX_INSTANCES" in done.stderr and done.stderr.count("\n") == 1


def test_it_is_read_natively_and_changes_nothing(remote, workspace):
    """Fault 63: the reference ran a shell, 60 ms each time."""
    before = remote.cpu_seconds()
    started = time.monotonic()
    with remote.connect() as c:
        for _ in range(200):
            c.send(request("GET", "/health", {"Host": "h", **bearer()}))
            assert c.answer("GET").status == 200
    assert time.monotonic() - started < 2 * busy() and remote.cpu_seconds() - before < 1
    assert remote.descendants() == [] and remote.zombies() == [] and list(workspace.iterdir()) == []


def test_no_field_of_a_request_stops_it(web):
    """Decision 6: /health looks at neither Host nor Origin; a page elsewhere cannot read it."""
    w = web(env={"SANDSTORM_ALLOWED_HOSTS": "mcp.example.com"})
    for fields in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                   {"Accept": "text/html"},
                   {"Content-Type": "text/plain"}):
        answer = w.exchange("GET", "/health", fields)
        assert answer.status == 200 and answer["access-control-allow-origin"] is None
    answer = w.exchange("GET", "/health", {"Origin": "http://localhost:3000"})
    assert answer["access-control-allow-origin"] == "http://localhost:3000"


def test_it_is_found_under_its_spellings_and_is_not_kept_by_caches(remote):
    """host-tools section 2, fault 45."""
    for target in ("/health", "/health/", "/health?probe=1", "/healt%68"):
        assert remote.exchange("GET", target)["cache-control"] == "no-store"
    for method in ("POST", "DELETE", "PUT"):
        answer = remote.exchange(method, "/health", body=b"{}")
        assert answer.status == 405 and "get" in answer.list("allow") and answer.json()["error"]
    assert remote.exchange("GET", "/health/x").status == 404


def test_it_answers_while_all_jobs_are_busy(remote, workspace):
    """F15: a container is not restarted because it works."""
    os.mkfifo(workspace / "go")
    go = os.open(workspace / "go", os.O_RDWR)
    running = [remote.start(message("tools/call", {"name": "terminal_exec", "arguments": {"command": "read x < go"}}, n))
               for n in range(70)]
    remote.wait_descendants(56)
    started = time.monotonic()
    assert health(remote)["ok"] is True
    assert time.monotonic() - started < 0.3 * busy()
    os.write(go, b"\n" * 56)
    for c in running:
        c.answer()
    os.close(go)


# -- the probe -----------------------------------------------------------------------------------


def answers_with(status, body, head=b""):
    """A server that answers one request so; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with listener, connection:
            connection.settimeout(5)
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 %s\r\n%sConnection: close\r\n\r\n" % (status, head) + body)
    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/health"


def one_line(done, code, *words):
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("sandstorm-mcp: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_the_probe_is_quiet_and_0_when_all_is_well(web, cli):
    """Issue 4: for containers; by URL, and by the port the server has."""
    w = web()
    url = w.url.removesuffix("/mcp")
    for target in ("/health", "/health/", "", "/"):
        done = cli("health", url + target)
        assert (done.returncode, done.stderr) == (0, ""), target
    done = cli("health", env={"SANDSTORM_MCP_PORT": str(w.port)})
    assert (done.returncode, done.stderr) == (0, "")
    done = cli("health", f"http://localhost:{w.port}/health")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_probe_takes_ipv6(web, cli):
    """H14."""
    w = web(host="::1")
    assert cli("health", f"http://[::1]:{w.port}/health").returncode == 0
    assert cli("health", f"http://localhost:{w.port}/health").returncode == 0, "localhost is both"


def test_the_probe_finds_the_server_where_the_same_environment_puts_it(web, cli):
    """Inside a container both have the same variables, the address among them."""
    for address, host in (("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"),
                          ("::", "::1")):
        w = web(address=address, host=host)
        done = cli("health", env={"SANDSTORM_MCP_PORT": str(w.port), "SANDSTORM_MCP_HOST": address})
        assert (done.returncode, done.stderr) == (0, ""), address


def test_the_probe_says_1_and_why_when_nobody_answers(cli):
    """Decision 30."""
    port = free_port()
    one_line(cli("health", f"http://127.0.0.1:{port}/health"), 1, str(port), "Connection refused")
    one_line(cli("health", env={"SANDSTORM_MCP_PORT": str(port)}), 1, str(port))


@pytest.mark.parametrize("status, body", [
    (b"404 Not Found", b'{"error":"Not found"}'), (b"500 No", b'{"ok":true}'), (b"200 OK", b'{"ok":false}'),
    (b"200 OK", b'{"ok":1}'), (b"200 OK", b"<html>"), (b"200 OK", b""), (b"200 OK", b'{"ok":true'), (b"301 Moved", b""),
    (b"2000 OK", b'{"ok":true}'), (b"", b""),
], ids=lambda value: ascii(value)[:30])
def test_the_probe_says_1_when_all_is_not_well(cli, status, body):
    """Issue 4: anything but 200 with ok true."""
    one_line(cli("health", answers_with(status, body)), 1)


def test_the_probe_understands_other_servers(cli, tmp_path):
    """An HTTP/1.0 server without a length, and one that is not this program."""
    assert cli("health", answers_with(b"200 OK", b'{"x":[1,{}],"ok":true}')).returncode == 0
    assert cli("health", answers_with(b"200 OK", b'{"ok":true}', b"Content-Length: 11\r\n")).returncode == 0

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass
    (tmp_path / "health").write_text('{"ok": true}')
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Handler(*a, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert cli("health", f"http://127.0.0.1:{server.server_port}/health").returncode == 0
        server.shutdown()


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://127.0.0.1/", "http://127.0.0.1:99999/", "http://a b/",
                                 "",
                                 "http://127.0.0.1:80/\r\nX: y", "https://127.0.0.1/health"])
def test_a_wrong_url_is_2(cli, url):
    """Decision 30; https needs the certificate of the server."""
    one_line(cli("health", url), 2)


def test_two_urls_are_2(cli):
    """Decision 30."""
    one_line(cli("health", "http://127.0.0.1/", "http://127.0.0.1/"), 2)


@pytest.mark.long(6)
def test_the_probe_gives_up_after_a_few_seconds(cli):
    """A container's own limit is 30 s: a server that accepts and says nothing is told before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        started = time.monotonic()
        one_line(cli("health", f"http://127.0.0.1:{listener.getsockname()[1]}/health"), 1)
        assert 3 < time.monotonic() - started < 8 * busy()
