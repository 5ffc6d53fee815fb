"""Where a request may come from, what browsers are told, and under which name the server speaks of itself.

Decisions 6, 7, 12, 56; H2, H10, H11, H14, H17; mcp.md sections 8.1 and 8.2; host-tools.md section 2.
"""

import pytest

from httpwire import request
from mcpwire import tool_params
from webserver import message

WRITE = message("tools/call", tool_params("file_write", {"path": "made", "content": "x"}))
ASKED = "authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name,last-event-id"
CORS = ["access-control-allow-origin", "access-control-expose-headers", "access-control-allow-credentials",
        "access-control-allow-methods", "access-control-allow-headers"]


def complaint(done, *words):
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("sandstorm-mcp: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def preflight(web, origin, target="/mcp", **more):
    return web.exchange("OPTIONS", target, {"Origin": origin, "Access-Control-Request-Method": "POST",
                                            "Access-Control-Request-Headers": ASKED, **more})


def ping(web, **fields):
    return web.post(message("ping"), {name.replace("_", "-"): value for name, value in fields.items()})


def without_cors(answer):
    return all(answer[name] is None for name in CORS)


def refused(web, workspace, origin):
    """403 in JSON that lets no page read it; nothing was executed."""
    answer = web.post(WRITE, {"Origin": origin})
    assert answer.status == 403 and answer.json()["error"] and without_cors(answer), answer
    answer = preflight(web, origin)
    assert answer.status == 403 and without_cors(answer), answer
    assert not (workspace / "made").exists()
    return True


# -- origins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["http://localhost", "http://localhost:3000", "https://localhost:6274",
                                    "http://127.0.0.1",
                                    "http://127.0.0.1:8080", "https://127.0.0.1", "http://[::1]:5173", "http://[::1]"])
def test_pages_of_this_machine_may_call(remote, origin):
    """Decision 6: the inspector and local web clients. The answer names the origin, never *."""
    for answer in (ping(remote, Origin=origin), ping(remote, Origin=origin, Authorization=None),
                   ping(remote, Origin=origin, Content_Type="text/plain"), remote.post(b"{", {"Origin": origin}),
                   remote.post({"jsonrpc": "2.0", "method": "n"}, {"Origin": origin}),
                   remote.rpc("ping", era="modern", fields={"Origin": origin}),
                   remote.exchange("GET", "/mcp", remote.fields({"Origin": origin}))):
        assert answer.status in (200, 202, 400, 401, 404, 405, 415)
        assert answer["access-control-allow-origin"] == origin, answer
        assert {"mcp-session-id", "www-authenticate"} <= set(answer.list("access-control-expose-headers"))
        assert "origin" in answer.list("vary") and answer["access-control-allow-credentials"] is None
    assert preflight(remote, origin).status in (200, 204)


@pytest.mark.parametrize("origin", [
    "null", "http://evil.example", "https://evil.example", "http://localhost.evil.example", "http://evil.example:80",
    "http://127.0.0.1.evil.example", "http://evil.example/localhost", "http://localhost@evil.example",
    "http://evil.example#localhost", "http://evil.example?http://localhost", "http://localhost:80:80", "localhost",
    "http://", "http://localhost/", "file://", "chrome-extension://abcdef", "http://localhostx", "http://xlocalhost",
    "http://0.0.0.0", "http://192.0.2.7", "http://[::2]", "http://localhost\\.evil.example",
    "http://evil.example, http://localhost",
    "http://127.0.0.1:99999", b"http://localhost\xff", "ftp://localhost", "",
], ids=ascii)
def test_other_pages_may_not(remote, workspace, origin):
    """Decision 6, fault 1, mcp.md 11.17: 403 before anything else is looked at."""
    assert refused(remote, workspace, origin)


def test_the_origin_is_not_derived_from_the_host(remote, workspace):
    """Decision 6, fault 27: DNS rebinding makes them equal."""
    answer = remote.post(WRITE, {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"})
    assert answer.status == 403
    answer = remote.post(WRITE, {"Host": "evil.example", "Origin": "https://evil.example",
                                 "X-Forwarded-Host": "evil.example",
                                 "X-Forwarded-Proto": "https"})
    assert answer.status == 403 and not (workspace / "made").exists()


def test_without_an_origin_nothing_is_said_about_origins(remote):
    """host-tools section 2; Node clients send Sec-Fetch-Mode without Origin (mcp.md section 8.2)."""
    for answer in (ping(remote), ping(remote, Sec_Fetch_Mode="cors", Accept_Language="*"),
                   ping(remote, Authorization=None)):
        assert answer.status in (200, 401) and without_cors(answer)


def test_origins_can_be_listed(web, workspace):
    """Decision 6: compared by scheme, host and port."""
    w = web(env={"SANDSTORM_ALLOWED_ORIGINS": "https://app.example, http://other.example:8080,https://Third.example/"})
    for origin in ("https://app.example", "https://app.example:443", "http://other.example:8080",
                   "https://third.example",
                   "http://localhost:1"):
        answer = ping(w, Origin=origin)
        assert (answer.status, answer["access-control-allow-origin"]) == (200, origin)
    for origin in ("http://app.example", "https://app.example:8443", "http://other.example",
                   "https://other.example:8080",
                   "https://sub.app.example", "https://app.example.evil", "https://app.examplex"):
        assert refused(w, workspace, origin)


def test_the_public_url_is_an_allowed_origin(web, workspace):
    """Decisions 6 and 7."""
    for env in ({"SANDSTORM_PUBLIC_URL": "https://box.example/base"}, {"SANDSTORM_DOMAIN": "box.example"}):
        w = web(env=env)
        assert ping(w, Origin="https://box.example").status == 200
        assert refused(w, workspace, "http://box.example")


# -- preflights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/mcp", "/mcp/"])
def test_a_preflight_is_answered_without_a_token(remote, target):
    """H2: all fields a client sends are allowed, all methods, and no credentials."""
    answer = preflight(remote, "http://localhost:6274", target)
    assert answer.status in (200, 204)
    assert answer["access-control-allow-origin"] == "http://localhost:6274" and "origin" in answer.list("vary")
    assert set(ASKED.split(",")) <= set(answer.list("access-control-allow-headers"))
    assert {"get", "post", "delete", "options"} <= set(answer.list("access-control-allow-methods"))
    assert answer["access-control-allow-credentials"] is None
    assert int(answer["access-control-max-age"]) > 0


@pytest.mark.parametrize("asked", ["Accept", "accept , CONTENT-TYPE", "mcp-protocol-version", "Mcp-Param-City"])
def test_fields_asked_for_one_by_one_are_allowed(remote, asked):
    """H2; a parameter's field is not sent by our tools, and may be left out."""
    answer = preflight(remote, "http://localhost:1", **{"Access-Control-Request-Headers": asked})
    assert answer.status in (200, 204)
    if "param" not in asked.lower():
        words = {word.strip().lower() for word in asked.split(",")}
        assert words <= set(answer.list("access-control-allow-headers"))


def test_a_preflight_reflects_nothing_unknown(remote):
    """H11: what is asked for is not copied."""
    answer = preflight(remote, "http://localhost:1", **{"Access-Control-Request-Headers": "x-evil, authorization, <b>"})
    assert "evil" not in repr(answer) and "<b>" not in repr(answer)
    assert "authorization" in answer.list("access-control-allow-headers")


def test_preflights_keep_the_connection(remote):
    """A browser sends the real request right behind it."""
    with remote.connect() as c:
        for _ in range(2):
            c.send(request("OPTIONS", "/mcp", {"Host": "h", "Origin": "http://localhost",
                                               "Access-Control-Request-Method": "POST"}))
            assert c.answer("OPTIONS").status in (200, 204)
            c.send(remote.bytes_of(message("ping"), {"Origin": "http://localhost"}))
            assert c.answer().status == 200


# -- Host ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["mcp.example.com", "localhost", "evil.example:99", "[::1]:8080", "a.b",
                                  "UPPER.example", ""])
def test_host_is_no_reason_to_refuse(remote, host):
    """Decision 6: configured by the reference's env file behind its proxy."""
    assert ping(remote, Host=host).status in ((200,) if host else (200, 400))


def test_hosts_can_be_listed(web, workspace):
    """Decision 6: a port is not compared; /health never looks."""
    w = web(env={"SANDSTORM_ALLOWED_HOSTS": "mcp.example.com, 127.0.0.1,[::1]"})
    for host in ("mcp.example.com", "MCP.Example.com:8443", "127.0.0.1", f"127.0.0.1:{w.port}", "[::1]:1"):
        assert ping(w, Host=host).status == 200, host
    for host in ("evil.example", "mcp.example.com.evil.example", "xmcp.example.com", "localhost", 'a"b'):
        answer = w.post(WRITE, {"Host": host})
        assert answer.status in (403, 400) and answer.json()["error"], host
        for target in ("/", "/ca.pem"):
            assert w.exchange("GET", target, {"Host": host}).status in (403, 400), host
        assert w.exchange("GET", "/health", {"Host": host}).status in (200, 400)
    assert not (workspace / "made").exists()


# -- the public URL ------------------------------------------------------------------------------


def told(web, fields=None):
    """The URL in the challenge of a 401, without the path of the metadata."""
    answer = web.post(message("ping"), {"Authorization": None, **(fields or {})})
    assert answer.status == 401
    start, end = 'Bearer resource_metadata="', '/.well-known/oauth-protected-resource/mcp"'
    value = answer["www-authenticate"]
    assert value.startswith(start) and value.endswith(end) and value.count('"') == 2, value
    return value[len(start):-len(end)]


@pytest.mark.parametrize("fields, url", [
    ({"Host": "mcp.example.com"}, "http://mcp.example.com"),
    ({"Host": "mcp.example.com:8080"}, "http://mcp.example.com:8080"), ({"Host": "[::1]:8080"}, "http://[::1]:8080"),
    ({"Host": "mcp.example.com", "X-Forwarded-Proto": "https"}, "https://mcp.example.com"),
    ({"Host": "mcp.example.com", "X-Forwarded-Proto": "https, http"}, "https://mcp.example.com"),
    ({"Host": "mcp.example.com", "X-Forwarded-Proto": "HTTPS"}, "https://mcp.example.com"),
    ({"Host": "mcp.example.com", "X-Forwarded-Proto": "http, https"}, "http://mcp.example.com"),
    ({"Host": "127.0.0.1:8080", "X-Forwarded-Host": "mcp.example.com", "X-Forwarded-Proto": "https"},
     "https://mcp.example.com"),
    ({"Host": "h", "X-Forwarded-Host": "first.example:8443, second.example"}, "http://first.example:8443"),
], ids=lambda value: str(value)[:70])
def test_the_url_follows_the_request_through_a_proxy(remote, fields, url):
    """H10: no inner port; the first of a list."""
    assert told(remote, fields) == url


@pytest.mark.parametrize("fields", [
    {"X-Forwarded-Host": 'evil.example", error="x'}, {"X-Forwarded-Host": "evil.example/path"},
    {"X-Forwarded-Host": "user@evil.example"}, {"X-Forwarded-Host": "evil.example\\"}, {"X-Forwarded-Host": ""},
    {"X-Forwarded-Host": "evil example"}, {"X-Forwarded-Host": b"evil\xff"}, {"X-Forwarded-Host": "evil.example:99999"},
    {"X-Forwarded-Host": ","}, {"X-Forwarded-Proto": "javascript"}, {"X-Forwarded-Proto": ""},
    {"X-Forwarded-Proto": 'https", error="x'}, {"X-Forwarded-Host": "a" * 2000},
], ids=lambda value: ascii(value)[:60])
def test_forged_forwarded_fields_are_not_reflected(remote, fields):
    """H11: whoever is behind the proxy may have sent them."""
    assert told(remote, fields) == f"http://127.0.0.1:{remote.port}"


@pytest.mark.parametrize("host", ['a"b', "a b", "a/b", "user@evil", "evil\\", "a?b", "a#b", "[", "[::1", "a:b",
                                  "a:99999", "a" * 2000,
                                  b"\xff", "a,b", "<b>"], ids=lambda value: ascii(value)[:40])
def test_a_host_with_other_characters_is_replaced_or_refused(remote, host):
    """H11."""
    answer = remote.post(message("ping"), {"Authorization": None, "Host": host})
    assert answer.status in (400, 401)
    if answer.status == 401:
        assert told(remote, {"Host": host}) == f"http://127.0.0.1:{remote.port}"


@pytest.mark.parametrize("env, url", [
    ({"SANDSTORM_PUBLIC_URL": "https://box.example"}, "https://box.example"),
    ({"SANDSTORM_PUBLIC_URL": "https://box.example/"}, "https://box.example"),
    ({"SANDSTORM_PUBLIC_URL": "https://box.example:8443/base/"}, "https://box.example:8443/base"),
    ({"SANDSTORM_PUBLIC_URL": "http://[2001:db8::1]:8080"}, "http://[2001:db8::1]:8080"),
    ({"SANDSTORM_DOMAIN": "box.example"}, "https://box.example"),
    ({"SANDSTORM_DOMAIN": "no.example", "SANDSTORM_PUBLIC_URL": "https://box.example"}, "https://box.example"),
])
def test_the_configured_url_wins_over_the_request(web, env, url):
    """Decision 7, H17: also below a path."""
    w = web(env=env)
    for fields in ({}, {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"},
                   {"Host": 'a"b'}):
        if fields.get("Host") != 'a"b' or w.post(message("ping"), {"Authorization": None, **fields}).status == 401:
            assert told(w, fields) == url


def test_forwarded_fields_of_others_do_not_count(web):
    """Decision 56: loopback is a trusted proxy only by default."""
    w = web(env={"SANDSTORM_TRUSTED_PROXIES": "10.0.0.0/8"})
    assert told(w, {"Host": "h.example", "X-Forwarded-Proto": "https",
                    "X-Forwarded-Host": "evil.example"}) == "http://h.example"
    w = web(env={"SANDSTORM_TRUSTED_PROXIES": "10.0.0.0/8,127.0.0.0/8"})
    assert told(w, {"Host": "h", "X-Forwarded-Proto": "https",
                    "X-Forwarded-Host": "good.example"}) == "https://good.example"


@pytest.mark.parametrize("name, value", [
    ("SANDSTORM_PUBLIC_URL", "box.example"), ("SANDSTORM_PUBLIC_URL", "ftp://box.example"),
    ("SANDSTORM_PUBLIC_URL", "https://"), ("SANDSTORM_PUBLIC_URL", 'https://a"b'),
    ("SANDSTORM_PUBLIC_URL", "https://a?b"),
    ("SANDSTORM_PUBLIC_URL", "https://a b"), ("SANDSTORM_DOMAIN", "https://box.example"), ("SANDSTORM_DOMAIN", "a b"),
    ("SANDSTORM_ALLOWED_ORIGINS", "app.example"), ("SANDSTORM_ALLOWED_ORIGINS", "*"),
    ("SANDSTORM_ALLOWED_ORIGINS", "https://ok.example, nonsense"), ("SANDSTORM_ALLOWED_HOSTS", "a/b"),
    ("SANDSTORM_TRUSTED_PROXIES", "10.0.0.0/33"), ("SANDSTORM_TRUSTED_PROXIES", "::/129"),
    ("SANDSTORM_TRUSTED_PROXIES", "proxy.example"), ("SANDSTORM_TRUSTED_PROXIES", "10.0.0.0/8, nonsense"),
])
def test_a_wrong_value_is_told_and_ends_with_2(cli, name, value):
    """Decision 30."""
    complaint(cli("serve", env={"SANDSTORM_MCP_TOKEN": "0123456789abcdef", name: value}), name,
              value.split(",")[-1].strip())


# -- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("address, reached, not_reached", [
    ("127.0.0.1", ["127.0.0.1"], ["127.0.0.2", "::1"]), ("::1", ["::1"], ["127.0.0.1"]),
    ("[::1]", ["::1"], ["127.0.0.1"]),
    ("localhost", ["127.0.0.1", "::1"], ["127.0.0.2"]), ("LocalHost", ["127.0.0.1", "::1"], []),
    ("0.0.0.0", ["127.0.0.1", "127.0.0.2"], []), ("::", ["127.0.0.1", "::1"], []), ("[::]", ["127.0.0.1", "::1"], []),
])
def test_the_server_is_reached_where_it_was_told_to_listen(web, address, reached, not_reached):
    """H14: clients may try ::1 first; nothing else listens."""
    w = web(address=address, host=reached[0])
    for host in reached:
        with w.connect(host) as c:
            c.send(w.bytes_of(message("ping")))
            assert c.answer().status == 200
    for host in not_reached:
        with pytest.raises(OSError):
            w.connect(host)
    assert told(w, {"Host": f"[::1]:{w.port}"}) == f"http://[::1]:{w.port}"


@pytest.mark.parametrize("address, url", [("::1", "http://[::1]:{}/mcp"), ("127.0.0.1", "http://127.0.0.1:{}/mcp"),
                                          ("localhost", "http://localhost:{}/mcp"), ("[::1]", "http://[::1]:{}/mcp")])
def test_the_log_says_under_which_url_it_serves(web, address, url):
    """Issue 4: URLs bracket IPv6."""
    w = web(address=address, host="::1" if ":" in address else "127.0.0.1")
    assert url.format(w.port) in w.stderr_text()


@pytest.mark.parametrize("address, wide", [("127.0.0.1", False), ("::1", False), ("localhost", False),
                                           ("0.0.0.0", True),
                                           ("::", True)])
def test_listening_wider_than_loopback_without_tls_is_warned_about(web, address, wide):
    """Decision 12."""
    w = web(address=address, host="::1" if address == "::1" else "127.0.0.1")
    assert w.terminate() == 0       # then all of the log is there
    lines = [line for line in w.stderr_text().splitlines() if "TLS" in line]
    assert bool(lines) == wide, w.stderr_text()
    assert not wide or any("warn" in line.lower() for line in lines)


def test_a_peer_over_ipv4_on_an_ipv6_socket_is_loopback_too(web):
    """H11, decision 56: ::ffff:127.0.0.1 is a trusted proxy as 127.0.0.1 is."""
    w = web(address="::", host="127.0.0.1")
    assert told(w, {"Host": "h.example", "X-Forwarded-Proto": "https"}) == "https://h.example"


@pytest.mark.parametrize("host", ["nonsense.example", "127.0.0.256", "1.2.3", "", "[::1", "::g", "http://127.0.0.1",
                                  "127.0.0.1:80"])
def test_an_address_that_is_none_ends_with_2(cli, host):
    """Decision 30. An empty one is unset."""
    done = cli("serve", env={"SANDSTORM_MCP_TOKEN": "short", "SANDSTORM_MCP_HOST": host}) if not host else \
        cli("serve", env={"SANDSTORM_MCP_TOKEN": "0123456789abcdef", "SANDSTORM_MCP_HOST": host})
    complaint(done, "SANDSTORM_MCP_HOST" if host else "SANDSTORM_MCP_TOKEN")
    assert host in done.stderr
