"""Who may: the bearer token, where it comes from, how often a caller and a guesser may come.

mcp.md section 9; host-tools.md sections 1 and 3 with faults 7, 22, 24, 31; decisions 13, 25, 30, 56; H16.
"""

import os
import re
import signal
import time

import pytest

from httpwire import request
from mcpwire import MODERN, tool_params, wait_until
from webserver import TOKEN, message, notification

LONG = "another-token-0123456789abcdef"
WRITE = message("tools/call", tool_params("file_write", {"path": "made", "content": "x"}))


def ping(id=1):
    return message("ping", id=id)


def complaint(done, *words):
    """One line on stderr that holds the words, nothing on stdout, exit code 2."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("sandstorm-mcp: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def unauthorized(answer, url):
    """401 as clients know it, with where to learn how to sign in."""
    assert answer.status == 401, answer
    assert answer["www-authenticate"] == f'Bearer resource_metadata="{url}/.well-known/oauth-protected-resource/mcp"'
    if answer.body:
        assert answer.body == b'{"error":"Unauthorized"}' and answer.type == "application/json"
    return True


def authorized(web, value):
    return web.post(ping(), {"Authorization": value}).status == 200


def own_url(web):
    return web.url.removesuffix("/mcp")


# -- the bearer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["Bearer {}", "bearer {}", "BEARER {}", "bEaReR {}", "Bearer   {}", "Bearer {}  ",
                                   "  Bearer {}", "Bearer \t {}"])
def test_the_token_is_taken_in_every_spelling_of_its_scheme(remote, value):
    """Fault 24; blanks around it are dropped."""
    assert authorized(remote, value.format(TOKEN))


@pytest.mark.parametrize("value", [
    None, "", "Bearer", "Bearer ", "Bearer x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Bearer {TOKEN} x",
    f"Bearer {TOKEN[:-1]}X", f"Bearer {TOKEN.upper()}", f"Bearer{TOKEN}", f"Bearer: {TOKEN}", f"Bearer,{TOKEN}", TOKEN,
    f"Basic {TOKEN}", f"Token {TOKEN}", f"X Bearer {TOKEN}", f'Bearer "{TOKEN}"', f"Bearer {TOKEN},{TOKEN}",
    f"Bearer {TOKEN}====", f"Bearer {TOKEN}!!!!", "Bearer " + "a" * 8000, b"Bearer \xff\xfe\xe9",
    "Bearer \u20ac" + TOKEN,
    f"Bearer {TOKEN * 100}",
], ids=lambda value: ascii(value)[:40])
def test_anything_else_is_401_with_the_challenge_and_not_executed(remote, workspace, value):
    """mcp.md section 9, faults 22 and 31: never 500."""
    answer = remote.post(WRITE, {"Authorization": value})
    assert unauthorized(answer, own_url(remote))
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "POST"])
@pytest.mark.parametrize("target", ["/mcp", "/mcp/", "/mcp?x=1"])
def test_every_method_needs_the_token(remote, method, target):
    """H1, host-tools section 3."""
    assert unauthorized(remote.exchange(method, target, body=b"{}" if method == "POST" else None), own_url(remote))


@pytest.mark.parametrize("target", [f"/mcp?access_token={TOKEN}", f"/mcp?token={TOKEN}",
                                    f"/mcp?authorization=Bearer%20{TOKEN}"])
def test_a_token_in_the_query_is_not_read(remote, target):
    """mcp.md section 9."""
    assert unauthorized(remote.post(ping(), {"Authorization": None}, target), own_url(remote))


def test_every_request_of_a_connection_needs_the_token(remote):
    """mcp.md section 9: nothing is remembered."""
    with remote.connect() as c:
        for n in range(2):
            c.send(remote.bytes_of(ping(n)))
            assert c.answer().status == 200
            c.send(remote.bytes_of(ping(n), {"Authorization": None}))
            assert c.answer().status == 401


@pytest.mark.parametrize("more", [{"MCP-Protocol-Version": MODERN, "Mcp-Method": "x"}, {"Content-Type": "text/plain"},
                                  {"Accept": "text/html"}])
def test_the_token_is_looked_at_before_the_message(remote, more):
    """mcp.md section 8.2: the order of checks tells a stranger nothing."""
    for body in (b"", b"{", b"[]"):
        assert unauthorized(remote.post(body, {"Authorization": None, **more}), own_url(remote))


def test_a_body_is_not_waited_for_without_the_token(remote):
    """Decision 40: authenticate at the head."""
    with remote.connect() as c:
        c.send(request(fields=remote.fields({"Authorization": None, "Content-Length": 1_000_000})))
        answer = c.answer(timeout=1)
        assert unauthorized(answer, own_url(remote)) and answer.closes


# -- where it comes from -------------------------------------------------------------------------


def test_without_a_token_it_does_not_start_and_says_what_to_do(cli):
    """Decision 30; the names are those of the reference."""
    for env in ({}, {"SANDSTORM_MCP_TOKEN": ""}, {"SANDSTORM_MCP_TOKEN": "", "MCP_AUTH_TOKEN": ""}):
        complaint(cli("serve", env=env), "SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", "SANDSTORM_MCP_TOKEN_FILE",
                  "sandstorm-mcp token")


@pytest.mark.parametrize("name", ["SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN"])
def test_a_short_token_is_refused(cli, name):
    """Fault 23: under 16 bytes; it is not shown."""
    for short in ("x", "fifteen-bytes-x"):
        done = cli("serve", env={name: short})
        complaint(done, "16", "sandstorm-mcp token")
        assert len(short) == 1 or short not in done.stderr


def test_sixteen_bytes_are_enough(web):
    """Issue 4."""
    w = web(token="sixteen-bytes-xx")
    assert authorized(w, "Bearer sixteen-bytes-xx") and not authorized(w, "Bearer sixteen-bytes-x")


def test_the_other_name_is_used_where_the_first_is_unset_or_empty(web):
    """host-tools section 1."""
    for first in (None, ""):
        w = web(token=first, env={"MCP_AUTH_TOKEN": LONG})
        assert authorized(w, f"Bearer {LONG}")
    w = web(env={"MCP_AUTH_TOKEN": LONG})
    assert authorized(w, f"Bearer {TOKEN}") and not authorized(w, f"Bearer {LONG}")


@pytest.mark.parametrize("text", [LONG, LONG + "\n", LONG + "\r\n", LONG + " \t\n\n"])
def test_the_token_may_stand_in_a_file(web, tmp_path, text):
    """Decision 25: white space at its end is removed."""
    (tmp_path / "token").write_text(text)
    for name in ("SANDSTORM_MCP_TOKEN_FILE",):
        w = web(token=None, env={name: str(tmp_path / "token")})
        assert authorized(w, f"Bearer {LONG}") and not authorized(w, "Bearer " + "x" * 20)


@pytest.mark.parametrize("text", [f"{LONG}\r", f" {LONG} ", f"{LONG}\n"], ids=ascii)
def test_blanks_around_the_token_in_the_environment_are_none_of_it(web, cli, text):
    """`docker run --env-file` with a file of Windows: every client got 401, since no header can hold a CR."""
    assert authorized(web(token=None, env={"SANDSTORM_MCP_TOKEN": text}), f"Bearer {LONG}")
    complaint(cli("serve", env={"SANDSTORM_MCP_TOKEN": " " * 20}), "SANDSTORM_MCP_TOKEN", "0 bytes")


def test_the_token_may_come_from_the_env_file(web, tmp_path):
    """Decision 61: /etc/sandstorm-mcp.env of the reference."""
    (tmp_path / "env").write_text(f"SANDSTORM_MCP_TOKEN='{LONG}'\n")
    assert authorized(web(token=None, args=["--env-file", tmp_path / "env"]), f"Bearer {LONG}")


def test_a_token_file_that_cannot_be_used_is_told_by_name(cli, tmp_path):
    """Decision 25 and 30: missing, a directory, empty, short, long."""
    def start(path):
        return cli("serve", env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    complaint(start(tmp_path / "none"), str(tmp_path / "none"), "No such file or directory")
    (tmp_path / "long").write_text("x" * 5000)
    complaint(start(tmp_path / "long"), str(tmp_path / "long"), "too large")
    complaint(start(tmp_path), str(tmp_path), "Is a directory")
    for text in ("", "\n\n", "short\n", "x" * 100_000):
        (tmp_path / "f").write_text(text)
        complaint(start(tmp_path / "f"), "SANDSTORM_MCP_TOKEN")


def test_token_makes_a_new_one_each_time(cli, tmp_path, web):
    """`sandstorm-mcp token`: 256 bits in characters that need no quoting; the file is for its owner alone."""
    made = [cli("token") for _ in range(3)]
    assert all((m.returncode, m.stderr) == (0, "") for m in made)
    assert len({m.stdout for m in made}) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}\n", m.stdout) for m in made)
    path = tmp_path / "token"
    done = cli("token", path)
    assert (done.returncode, done.stdout) == (0, "") and path.stat().st_mode & 0o777 == 0o600
    w = web(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    assert authorized(w, f"Bearer {path.read_text().strip()}")
    w.token = path.read_text().strip()      # the fixture looks for it in the log


def test_token_rotates_a_file_in_place(cli, tmp_path, web):
    """Issue 7: the old token ends with the HUP, every sign-in with it."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    w = web(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    w.token = TOKEN
    done = cli("token", "--rotate", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    fresh = path.read_text().strip()
    assert fresh != TOKEN and len(fresh) == 43 and path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith("token")] == ["token"]
    w.signal(signal.SIGHUP)
    wait_until(lambda: authorized(w, f"Bearer {fresh}"), "the new token")
    assert not authorized(w, f"Bearer {TOKEN}")
    w.token = fresh
    assert cli("token", "--rotate").returncode == 2
    assert cli("token", "--rotate", tmp_path / "none" / "token").returncode == 1
    os.mkfifo(tmp_path / "fifo")
    assert "it is no regular file" in cli("token", "--rotate", tmp_path / "fifo").stderr
    assert (tmp_path / "fifo").is_fifo()


@pytest.mark.parametrize("before, after", [(0o640, 0o640), (0o440, 0o640), (0o660, 0o600), (0o644, 0o600), (0o400, 0o600)], ids=oct)
def test_a_rotated_token_is_for_the_group_that_alone_could_read_the_old_one(cli, tmp_path, before, after):
    """root:dev 640 became root:root 600: the server, which runs as dev, kept the old token at HUP and only its log said so."""
    path = tmp_path / "token"
    path.write_text(TOKEN)
    os.chown(path, -1, os.getgid() or 65534)
    path.chmod(before)
    group = path.stat().st_gid
    assert cli("token", "--rotate", path).returncode == 0
    assert path.read_text() != TOKEN and path.stat().st_mode & 0o777 == after
    assert after != 0o640 or path.stat().st_gid == group


def test_token_leaves_an_existing_file_alone(cli, tmp_path):
    """A token in use is not lost by a second call."""
    (tmp_path / "token").write_text("kept")
    done = cli("token", tmp_path / "token")
    assert done.returncode == 1 and str(tmp_path / "token") in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "token").read_text() == "kept"
    assert cli("token", tmp_path / "none" / "token").returncode == 1
    assert cli("token", "a", "b").returncode == 2


# -- the rate ------------------------------------------------------------------------------------


def too_many(answer):
    """429 in JSON that tells when to come again."""
    assert answer.status == 429 and answer.json()["error"], answer
    assert re.fullmatch("[0-9]+", answer["retry-after"]) and 1 <= int(answer["retry-after"]) <= 60
    return True


def test_requests_over_the_limit_are_429_and_not_executed(web, workspace):
    """H16, decision 13, fault 22; in both eras and for every kind of message."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "5"})
    for n in range(4):
        assert w.post(ping(n)).status == 200
    assert w.exchange("GET", "/mcp", w.fields()).status == 405
    for value in (ping(), WRITE, notification("notifications/initialized")):
        assert too_many(w.post(value))
    assert too_many(w.rpc("tools/list", era="modern"))
    assert not (workspace / "made").exists()


def test_what_is_not_counted(web):
    """H16: /health, preflights, well-known paths, requests without a good token."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "3"})
    preflight = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST"}
    for _ in range(6):
        assert w.exchange("GET", "/health").status == 200
        assert w.exchange("OPTIONS", "/mcp", preflight).status in (200, 204)
        assert w.exchange("GET", "/.well-known/oauth-protected-resource").status in (200, 404)
        assert w.post(ping(), {"Authorization": None}).status == 401
    assert [w.post(ping()).status for _ in range(4)] == [200, 200, 200, 429]
    assert w.exchange("GET", "/health", w.fields()).status == 200
    assert w.post(ping(), {"Authorization": None}).status == 401


def test_the_default_lets_a_busy_client_work(remote):
    """H16: 150 calls at once; 600 a minute."""
    answers = []
    with remote.connect() as c:
        for n in range(600):
            c.send(remote.bytes_of(ping(n)))
            answers.append(c.answer().status)
        assert answers == [200] * 600
        c.send(remote.bytes_of(ping()))
        assert too_many(c.answer())


def test_zero_is_no_limit(web):
    """Decision 13."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "0"})
    with w.connect() as c:
        for n in range(1500):
            c.send(w.bytes_of(ping(n)))
            assert c.answer().status == 200


@pytest.mark.parametrize("value", ["-1", "many", "1.5", "99999999999999"])
def test_a_wrong_limit_is_told(cli, value):
    """Decision 30."""
    complaint(cli("serve", env={"SANDSTORM_MCP_TOKEN": TOKEN, "SANDSTORM_RATE_LIMIT": value}), "SANDSTORM_RATE_LIMIT",
              value)


def test_callers_behind_a_trusted_proxy_are_told_apart(web):
    """Decision 56: a caller is credential and peer; the proxy on loopback says who the peer is."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "2"})

    def come(address):
        return w.post(ping(), {"X-Forwarded-For": address}).status
    assert [come("198.51.100.1") for _ in range(3)] == [200, 200, 429]
    assert [come("198.51.100.2") for _ in range(3)] == [200, 200, 429]
    assert come("203.0.113.9, 198.51.100.2") == 429, "what the client itself has put in front does not count"
    assert [come("2001:db8:1:2::1"), come("2001:db8:1:2::2"), come("2001:db8:1:2:ffff::3")] == [200, 200, 429]
    assert come("2001:db8:1:3::1") == 200
    assert w.post(ping()).status == 200, "the proxy's own requests are its own"


def test_others_cannot_say_who_they_are(web):
    """Decision 56: forwarded addresses count only from trusted peers."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "2", "SANDSTORM_TRUSTED_PROXIES": "10.0.0.0/8, fd00::/8"})
    assert [w.post(ping(), {"X-Forwarded-For": f"198.51.100.{n}"}).status for n in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("value", ["", ",", "unknown", "198.51.100.1:4711", "[2001:db8::1]:5", "x" * 500, "1.2.3",
                                   "::1, ::1"])
def test_forwarded_addresses_of_any_form_do_no_harm(remote, value):
    """H11."""
    assert remote.post(ping(), {"X-Forwarded-For": value}).status == 200


# -- guessing ------------------------------------------------------------------------------------


def test_wrong_tokens_are_slowed_down_and_the_right_one_is_not(remote):
    """Decision 56, fault 7: no lockout of who has the token."""
    statuses = []
    with remote.connect() as c:
        for n in range(150):
            c.send(remote.bytes_of(ping(), {"Authorization": f"Bearer guess-{n}-0123456789abcdef"}))
            answer = c.answer()
            statuses.append(answer.status)
            if answer.status == 429:
                assert too_many(answer)
            if n % 10 == 0:
                c.send(remote.bytes_of(ping(n)))
                assert c.answer().status == 200
    assert statuses[:3] == [401] * 3, "a mistake or two is nothing"
    assert statuses.count(401) < 30 and set(statuses) == {401, 429}
    assert remote.result("ping") == {}
    assert unauthorized(remote.post(ping(), {"Authorization": None}), own_url(remote)), "asking is not guessing"


def test_guessers_are_told_apart_by_peer(remote):
    """Decision 56: those behind one proxy do not stop each other."""
    def guess(address):
        return remote.post(ping(), {"Authorization": "Bearer wrong-0123456789abcdef",
                                    "X-Forwarded-For": address}).status
    assert 429 in [guess("198.51.100.1") for _ in range(40)]
    assert guess("198.51.100.2") == 401


def test_ten_thousand_peers_that_guess_do_not_fill_the_memory(remote):
    """Fault 22: the table is bounded."""
    with remote.connect() as c:
        for block in range(10):
            text = b"".join(remote.bytes_of(b"", {
                "Authorization": "Bearer wrong-0123456789abcdef",
                "X-Forwarded-For": f"198.{block}.{n // 250}.{n % 250}"})
                for n in range(1000))
            c.send(text)
            assert {c.answer().status for _ in range(1000)} <= {401, 429}
    assert remote.rss_kib() < 2048
    assert remote.result("ping") == {}


def test_a_wrong_token_takes_as_long_as_another(web):
    """No difference that could be measured over loopback: an early mismatch against a late one."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "0"})
    texts = [w.bytes_of(ping(), {"Authorization": f"Bearer {t}", "X-Forwarded-For": "127.0.0.1"})
             for t in ("X" + TOKEN[1:], TOKEN[:-1] + "X")]
    times = [[], []]
    with w.connect() as c:
        for n in range(400):
            started = time.perf_counter()
            c.send(texts[n % 2])
            c.answer()
            times[n % 2].append(time.perf_counter() - started)
    early, late = (sorted(t)[len(t) // 2] for t in times)
    assert 0.5 < early / late < 2, (early, late)


def test_the_token_is_not_in_the_log_whatever_is_logged(web):
    """Decision 16; the fixture looks at the end of each test, here at the highest level, with good and bad ones."""
    w = web(env={"SANDSTORM_LOG_LEVEL": "debug"})
    wrong = "Bearer wrong-secret-0123456789abcdef"
    w.text("terminal_exec", command="true")
    for fields in ({"Authorization": wrong}, {"Authorization": f"Basic {TOKEN}"},
                   {"Authorization": f"Bearer {TOKEN}x"}):
        assert w.post(ping(), fields).status == 401
    w.post(ping(), {"Authorization": wrong}, target=f"/mcp?access_token={TOKEN}")
    w.exchange("GET", f"/none?access_token={TOKEN}")
    assert w.terminate() == 0
    assert "wrong-secret" not in w.stderr_text() and TOKEN not in w.stderr_text()


def test_secrets_are_taken_out_of_the_environment(web, tmp_path):
    """Decision 15, fault 8: of /proc/PID/environ and of what commands see, whichever way the token came."""
    (tmp_path / "token").write_text(LONG)
    more = {"SESSION_AUTH_TOKEN": "session-0123456789abcdef", "SANDSTORM_TOKEN": "master-0123456789abcdef"}
    for w in (web(env={**more, "MCP_AUTH_TOKEN": LONG}),
              web(token=None, env={**more, "SANDSTORM_MCP_TOKEN_FILE": str(tmp_path / "token")})):
        w.token = TOKEN if authorized(w, f"Bearer {TOKEN}") else LONG
        with open(f"/proc/{w.pid}/environ", "rb") as f:
            environment = f.read()
        text = w.text("terminal_exec", command="env; tr '\\0' '\\n' < /proc/$PPID/environ")
        for secret in (TOKEN, LONG, "0123456789abcdef", str(tmp_path / "token")):
            assert secret.encode() not in environment and secret not in text
        for name in ("SANDSTORM_MCP_TOKEN", "MCP_AUTH_TOKEN", "SESSION_AUTH_TOKEN", "SANDSTORM_TOKEN"):
            assert name not in text
        assert os.path.exists(f"/proc/{w.pid}")
