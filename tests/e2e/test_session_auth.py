"""Who may use the sessions API (decisions 6, 8, 13, 56, 59; faults 1, 7, 31)."""

import signal

import pytest

from process import wait_until
from sessionhelp import JSON, Sessions, refused
from test_http_auth import complaint, too_many
from webserver import TOKEN

SECRET = "session-0123456789abcdef"
OFF = "Sessions are off: set SESSION_AUTH_TOKEN, or present the MCP token"


@pytest.fixture
def guarded(web):
    """A server with a token for sessions."""
    return web(env={"SESSION_AUTH_TOKEN": SECRET})


def create(web, fields=None, body=b'{"type":"x"}'):
    return web.exchange("POST", "/session/create", {**JSON, **(fields or {})}, body)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


# -- the credential ------------------------------------------------------------------------------


def test_without_a_credential_there_is_no_sessions_api(remote, workspace):
    """Fault 1: in its default configuration the reference runs any local caller's commands."""
    for method, target in (("POST", "/session/create"), ("POST", "/session/x/exec"), ("GET", "/session/x/status"),
                           ("DELETE", "/session/x"), ("GET", "/session/nothing")):
        refused(remote.exchange(method, target, JSON, b"{}"), 404, OFF)
    assert not (workspace / "sessions").exists()


def test_the_mcp_token_opens_it_where_it_has_none_of_its_own(remote):
    """Decision 8."""
    assert create(remote, bearer(TOKEN)).status == 201
    refused(create(remote, bearer(TOKEN + "x")), 404, OFF)
    assert create(remote, {"Authorization": f"bearer  {TOKEN} "}).status == 201, "fault 24"


def test_its_own_token_is_the_only_one(guarded):
    """Decision 59, section 7: 401 without WWW-Authenticate."""
    assert create(guarded, bearer(SECRET)).status == 201
    for n, fields in enumerate(({}, bearer(TOKEN), bearer(SECRET + "x"), bearer(SECRET[:-1]), bearer(""),
                                {"Authorization": f"Basic {SECRET}"}, {"Authorization": SECRET})):
        answer = create(guarded, {**fields, "X-Forwarded-For": f"198.51.100.{n}"})
        refused(answer, 401, "Unauthorized")
        assert answer["www-authenticate"] is None
    assert guarded.exchange("POST", "/mcp", {**guarded.fields(), **bearer(SECRET)}, b"{}").status == 401


@pytest.mark.parametrize("value", [b"Bearer \xff\xfe", "Bearer ä".encode(), "Bearer ä".encode("latin-1"),
                                   b"Bearer " + "😀".encode() * 20])
def test_a_bearer_that_is_not_ascii_is_401(guarded, value):
    """Fault 31: the reference answers 500."""
    refused(create(guarded, {"Authorization": value}), 401, "Unauthorized")


def test_the_token_may_stand_in_a_file_and_be_changed(web, tmp_path):
    """Decisions 25 and 29."""
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    w = web(env={"SESSION_AUTH_TOKEN_FILE": str(path)})
    assert create(w, bearer(SECRET)).status == 201
    path.write_text("another-0123456789abcdef")
    w.signal(signal.SIGHUP)
    wait_until(lambda: create(w, bearer("another-0123456789abcdef")).status == 201, "the new token is taken")
    refused(create(w, bearer(SECRET)), 401)


def test_an_empty_token_is_none(web):
    """Section 1: empty is unset."""
    refused(create(web(env={"SESSION_AUTH_TOKEN": ""}), bearer("")), 404, OFF)


def test_a_token_that_cannot_be_used_is_told(cli, tmp_path):
    """Decision 30; the value is not shown."""
    env = {"SANDSTORM_MCP_TOKEN": TOKEN}
    done = cli("serve", env={**env, "SESSION_AUTH_TOKEN": "short-secret"})
    complaint(done, "SESSION_AUTH_TOKEN", "16")
    assert "short-secret" not in done.stderr
    complaint(cli("serve", env={**env, "SESSION_AUTH_TOKEN_FILE": str(tmp_path / "none")}), str(tmp_path / "none"))


def test_the_token_is_kept_from_commands(web, tmp_path):
    """Decision 15, fault 8."""
    (tmp_path / "token").write_text(SECRET)
    for env in ({"SESSION_AUTH_TOKEN": SECRET}, {"SESSION_AUTH_TOKEN_FILE": str(tmp_path / "token")}):
        w = web(env=env)
        one = Sessions(w, token=SECRET).create()
        text = one.exec("env; tr '\\0' '\\n' < /proc/$PPID/environ")["stdout"]
        assert "PATH=" in text
        for word in (SECRET, TOKEN, "SESSION_AUTH_TOKEN", "SANDSTORM_MCP_TOKEN", str(tmp_path / "token")):
            assert word not in text
        one.delete()
        assert w.terminate() == 0
        assert SECRET not in w.stderr_text()


# -- how often -----------------------------------------------------------------------------------


def test_guesses_are_slowed_down_and_the_right_token_is_not(guarded):
    """Fault 7, decision 56."""
    statuses = [create(guarded, bearer(f"guess-{n}-0123456789abcdef")).status for n in range(30)]
    assert statuses[:3] == [401] * 3 and statuses.count(401) < 12 and set(statuses) == {401, 429}
    assert create(guarded, bearer(SECRET)).status == 201
    refused(create(guarded), 401, "Unauthorized")


def test_guesses_are_slowed_down_where_it_is_off(remote):
    """The MCP token could be guessed here as well as at /mcp: both count together."""
    statuses = [create(remote, bearer(f"guess-{n}-0123456789abcdef")).status for n in range(30)]
    assert set(statuses) == {404, 429}
    assert remote.post(b"{}", bearer("guess-0123456789abcdef")).status == 429


def test_calls_are_counted_as_those_of_mcp(web, workspace):
    """Decision 13: one limit for a caller, whichever way it comes."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "5"})
    s = Sessions(w)
    one = s.create()
    for _ in range(2):
        one.status()
    assert w.result("ping") == {} and one.exec("true")["exit_code"] == 0
    too_many(one.try_exec("touch made"))
    too_many(s.try_create())
    assert w.post(b"{}").status == 429
    assert not (one.workspace / "made").exists() and len(list((workspace / "sessions").iterdir())) == 1


# -- where it comes from -------------------------------------------------------------------------


def test_other_pages_may_not(remote, workspace):
    """Fault 1: a web page could run commands, since the reference answers any origin."""
    for origin in ("https://evil.example", "http://localhost.evil.example", "null"):
        answer = create(remote, {**bearer(TOKEN), "Origin": origin})
        refused(answer, 403)
        assert answer["access-control-allow-origin"] is None
    assert not (workspace / "sessions").exists()


def test_pages_of_this_machine_may(remote):
    """Decision 6."""
    answer = create(remote, {**bearer(TOKEN), "Origin": "http://localhost:3000"})
    assert answer.status == 201 and answer["access-control-allow-origin"] == "http://localhost:3000"
    preflight = remote.exchange("OPTIONS", "/session/create", {
        "Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type"})
    assert preflight.status == 204 and "authorization" in preflight.list("access-control-allow-headers")
    assert remote.exchange("OPTIONS", "/session/create", {
        "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}).status == 403


def test_hosts_are_looked_at_where_they_are_listed(web):
    """Decision 6, fault 27."""
    w = web(env={"SANDSTORM_ALLOWED_HOSTS": "good.example"})
    refused(create(w, {**bearer(TOKEN), "Host": "evil.example"}), 403)
    assert create(w, {**bearer(TOKEN), "Host": "good.example"}).status == 201


@pytest.mark.parametrize("type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_a_body_must_say_that_it_is_json(remote, type):
    """Fault 1: a form or a script of any page could send text/plain."""
    s = Sessions(remote)
    one = s.create()
    refused(s.call("POST", "/session/create", {"type": "x"}, {"Content-Type": type}), 415)
    refused(s.call("POST", f"/session/{one.id}/exec", {"command": "touch made"}, {"Content-Type": type}), 415)
    refused(s.call("POST", f"/session/{one.id}/extend", {}, {"Content-Type": type}), 415)
    assert list(one.workspace.iterdir()) == []
    assert s.call("POST", f"/session/{one.id}/extend", None, {"Content-Type": type}).status == 200, "no body"


def test_a_type_may_have_parameters(remote):
    """RFC 9110 section 8.3.1."""
    s = Sessions(remote)
    assert s.call("POST", "/session/create", {"type": "x"},
                  {"Content-Type": "Application/JSON; charset=utf-8"}).status == 201


# -- where there are none ------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["--read-only"], ["--tools", "host,-terminal_exec"], ["--tools", "file_read"]])
def test_who_serves_no_shell_serves_no_sessions(web, workspace, args):
    """A session runs any command: it would open what --read-only or --tools has closed."""
    w = web(args=args, env={"SESSION_AUTH_TOKEN": SECRET})
    for fields in ({}, bearer(SECRET), bearer(TOKEN)):
        text = refused(create(w, fields), 404)
        assert "terminal_exec" in text
    assert not (workspace / "sessions").exists()
