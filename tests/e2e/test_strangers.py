"""What somebody without the token can do to a server, and what whoever has it notices of that.

Issue 7, point 5; decisions 6, 40, 56; host-tools.md faults 4, 7, 22, 29, 30; field-cases H3, H8, H11, H17, O4, O8, O11.
"""

import json
import pathlib
import re
import socket
import time
from urllib.parse import urlencode

import pytest

from httpwire import chunked, request
from mcpwire import wait_until
from oauthwire import FORM, VERIFIER, post_form, post_json, redirected, register, sign_in
from webserver import message

OPEN_TO_ALL = ["/oauth/register", "/oauth/authorize", "/oauth/token"]
SMALL, KIB = 16 * 1024, 1024


def ping(id=1):
    return message("ping", id=id)


def origin(web):
    return web.url.removesuffix("/mcp")


def works(web, token):
    return web.post(ping(), {"Authorization": f"Bearer {token}"}).status == 200


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", OPEN_TO_ALL)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_large_bodies_are_refused_where_no_token_is_asked_for(remote, target, framing):
    """Fault 29, H3: at the head where it tells, else while they come; the limit is named."""
    with remote.connect() as c:
        if framing == "length":
            c.send(request("POST", target, {"Host": "h", **FORM, "Content-Length": SMALL + 1}))
        else:
            c.send(request("POST", target, {"Host": "h", **FORM, "Transfer-Encoding": "chunked"})
                   + chunked(b"a" * (SMALL + 1), 4000))
        answer = c.answer()
        assert answer.status == 413 and answer.closes and "16 KiB" in answer.json()["error"], answer


@pytest.mark.parametrize("how", ["whole", "head first", "byte by byte"])
def test_a_client_may_register_with_a_chunked_body(remote, how):
    """Some HTTP libraries know no other way to send JSON; what is pipelined behind it is answered as well."""
    body = json.dumps({"redirect_uris": ["https://client.example/cb"]}).encode()
    head = request("POST", "/oauth/register", {"Host": "h", "Content-Type": "application/json",
                                               "Transfer-Encoding": "chunked"})
    rest = chunked(body, 7, b";x=y", b"Trailer: z\r\n") + request("GET", "/health", {"Host": "h"})
    with remote.connect() as c:
        if how == "whole":
            c.send(head + rest)
        elif how == "head first":
            c.send(head)
            time.sleep(0.05)
            c.send(rest)
        else:
            c.send_slowly(head + rest, 1, 0)
        assert c.answer().json()["redirect_uris"] == ["https://client.example/cb"]
        assert c.answer().json()["ok"] is True


def test_bodies_of_strangers_take_no_place_of_those_with_the_token(remote):
    """Decision 40: eight large uploads at once, for whoever has shown the token."""
    waiting = [remote.connect() for _ in range(20)]
    for n, c in enumerate(waiting):
        fields = {"Content-Length": SMALL} if n % 2 else {"Transfer-Encoding": "chunked"}
        c.send(request("POST", OPEN_TO_ALL[n % 3], {"Host": "h", **fields}) + b"10\r\n")
    time.sleep(0.1)
    assert "Written 100000" in remote.text("file_write", path="f", content="x" * 100_000)


def slow_readers(web, count):
    """Connections that ask for pages and take none of them."""
    pages = request("GET", "/", {"Host": "h"}) * 40
    found = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.connect((web.host, web.port))
        s.setblocking(False)
        found.append(s)
        try:
            for _ in range(60):
                s.send(pages)
        except (BlockingIOError, ConnectionError):
            pass        # nothing more goes in, or what it holds was given up already
    time.sleep(0.3)
    return found


def kernel_kib(web):
    """What the kernel holds of answers that were not taken, of the connection of which it holds most: it gives a connection the
    more room the faster acknowledgements come, up to megabytes."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines if line.split()[1].endswith(f":{web.port:04X}")]
    return max(int(row[4].split(":")[0], 16) for row in rows) // KIB


def test_a_table_full_of_slow_readers_takes_new_clients(web):
    """Decision 40: an answer that a stranger does not take is given up for somebody new."""
    w = web(env={"SANDSTORM_MAX_CONNECTIONS": "16"})
    readers = slow_readers(w, 16)
    for n in range(10):
        assert w.post(ping(n)).message()["id"] == n
    for s in readers:
        s.close()


def test_what_strangers_leave_half_done_is_bounded_and_calls_have_their_memory(web):
    """300 bodies that do not end, 300 readers that do not read: a large answer still goes through."""
    w = web(env={"SANDSTORM_MEMORY": "8M", "SANDSTORM_RATE_LIMIT": "0"})
    half = [w.connect() for _ in range(300)]
    for c in half:
        c.send(request("POST", "/oauth/token", {"Host": "h", **FORM, "Content-Length": SMALL, "X-Pad": "x" * 8000},
                       b"a" * (SMALL - 100)))
    assert "x" * 100 in w.text("terminal_exec", command="head -c 900000 /dev/zero | tr '\\0' x")
    readers = slow_readers(w, 300)
    assert "x" * 100 in w.text("terminal_exec", command="head -c 900000 /dev/zero | tr '\\0' x")
    assert w.rss_kib() < 4 * KIB and kernel_kib(w) < 128 + 96, (w.rss_kib(), kernel_kib(w))
    for s in readers:
        s.close()


# -- rates ---------------------------------------------------------------------------------------


def test_strangers_do_not_use_up_the_requests_of_who_has_the_token(web):
    """Decision 56: behind one proxy, or from the machines of one connector, all have the same address."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "10"})
    statuses = [post_json(w, "/oauth/register", {}).status for _ in range(30)]
    assert statuses == [400] * 10 + [429] * 20
    assert [w.post(ping(n)).status for n in range(11)] == [200] * 10 + [429]


def test_guesses_on_the_page_cost_as_guesses_at_the_endpoint(remote):
    """Fault 7: one count for both, so that changing between them wins nothing."""
    client = register(remote)
    for n in range(20):
        client.allow(remote, password=f"guess-{n}")
    answer = remote.post(ping(), {"Authorization": "Bearer guess-0123456789"})
    assert answer.status == 429 and int(answer["retry-after"]) >= 1


def test_refusals_do_not_fill_a_disk(web):
    """A line says who and why; of thousands a second it says how many."""
    w = web(env={"SANDSTORM_RATE_LIMIT": "0"})
    text = w.bytes_of(ping(), {"Authorization": "Bearer wrong-0123456789abcdef", "X-Forwarded-For": "198.51.100.7"})
    with w.connect() as c:
        for _ in range(20):
            c.send(text * 100)
            for _ in range(100):
                c.answer()

    def refusals():
        w.post(ping(), {"Authorization": "Bearer wrong-0123456789abcdef"})
        return [line for line in w.log() if "refused" in line["msg"]]
    wait_until(lambda: sum(1 + line.get("unlogged", 0) for line in refusals()) >= 2000, "all of them are told of")
    lines = refusals()
    assert 1 <= len(lines) < 200
    assert lines[0]["peer"] == "198.51.100.7" and lines[0]["why"] and lines[0]["path"] == "/mcp"


# -- sign-ins ------------------------------------------------------------------------------------


def test_a_sign_in_is_logged_with_who_and_where(remote):
    """And a wrong token on the page, too; the token itself is not (the fixture looks)."""
    client = register(remote, "https://client.example/cb", client_name="Friend\n\x1b[31m")
    client.allow(remote, password="wrong-guess")
    client.allow(remote)
    wait_until(lambda: "sign-in allowed" in [line["msg"] for line in remote.log()], "the line")
    lines = remote.log()
    wrong = next(line for line in lines if line["msg"] == "refused")
    assert wrong["why"] == "wrong token on the sign-in page" and wrong["peer"] == "127.0.0.1"
    right = next(line for line in lines if line["msg"] == "sign-in allowed")
    assert right["client"].startswith("Friend") and right["goes_to"] == "https://client.example"
    assert "wrong-guess" not in remote.stderr_text() and "\x1b" not in remote.stderr_text()


def test_a_copied_refresh_token_ends_the_access_tokens_of_the_thief_too(web):
    """O8, RFC 9700 section 4.14: they would have lived for 30 days more; also over a restart."""
    w = web()
    client, first = sign_in(w)
    _, other = sign_in(w)
    second = client.refresh(w, first["refresh_token"]).json()
    third = client.refresh(w, second["refresh_token"]).json()
    assert client.refresh(w, first["refresh_token"]).status == 400      # an old one again: somebody has copied it
    for tokens in (first, second, third):
        assert not works(w, tokens["access_token"])
    w.terminate()
    w = web()
    assert not works(w, third["access_token"]) and works(w, other["access_token"])


def test_a_copied_code_ends_the_access_token_it_gave(remote):
    """Fault 4, RFC 6749 section 4.1.2."""
    client = register(remote)
    code = client.code(remote)
    tokens = client.redeem(remote, code).json()
    assert works(remote, tokens["access_token"])
    assert client.redeem(remote, code, code_verifier="x" * 43).status == 400
    assert not works(remote, tokens["access_token"])


def test_a_wrong_verifier_does_not_end_what_others_have(remote):
    """O3: the code is spent, and that is all."""
    _, tokens = sign_in(remote)
    client = register(remote)
    code = client.code(remote)
    assert client.redeem(remote, code, code_verifier="x" * 43).status == 400
    assert client.redeem(remote, code).json()["error"] == "invalid_grant"
    assert works(remote, tokens["access_token"])


# -- the page ------------------------------------------------------------------------------------


def test_a_long_state_comes_back(remote):
    """Some clients seal all they know into it; one that is too long is told on a page, not cut, and before the token is typed."""
    client = register(remote)
    for state in ("s" * 5000, "\u00e4" * 800):
        assert redirected(client.allow(remote, state=state), client.redirect)["state"] == state
    for state in ("s" * 9000, "\u00e4" * 2000):
        for answer in (client.ask(remote, state=state), client.allow(remote, state=state), client.ask(remote, state=state,
                                                                                                      response_type="token")):
            assert answer.status == 400 and answer["location"] is None and answer.type == "text/html", answer
            assert "request is too long" in answer.body.decode() and "<form" not in answer.body.decode()


@pytest.mark.parametrize("fields, env, page", [
    ({"Host": "127.0.0.1:8080"}, {"SANDSTORM_PUBLIC_URL": "https://mcp.example.com"}, "https://mcp.example.com"),
    ({"Host": "127.0.0.1:8080"}, {"SANDSTORM_DOMAIN": "mcp.example.com"}, "https://mcp.example.com"),
    ({"Host": "127.0.0.1:8080", "X-Forwarded-Host": "mcp.example.com", "X-Forwarded-Proto": "https"}, {},
     "https://mcp.example.com"),
    ({"Host": "mcp.example.com"}, {}, "https://mcp.example.com"),
    ({"Host": "box.lan:8080"}, {"SANDSTORM_PUBLIC_URL": "https://mcp.example.com"}, "http://box.lan:8080"),
], ids=str)
def test_the_form_is_taken_under_every_name_of_the_server(web, fields, env, page):
    """Decision 6: nginx sends its own Host unless it is told not to."""
    w = web(env=env)
    client = register(w)
    assert client.allow(w, fields={**fields, "Origin": page}).status == 302
    for foreign in ("https://evil.example", page + ".evil.example", "null", "https://mcp.example.com:8443"
                    if "SANDSTORM_PUBLIC_URL" in env and "box" not in page else "https://evil.example:443"):
        assert client.allow(w, fields={**fields, "Origin": foreign}).status == 400


def test_the_form_goes_back_where_the_page_came_from(remote):
    """H17: below a path of the proxy, too, so its address is relative."""
    text = register(remote).ask(remote).body.decode()
    assert re.search(r'<form method="post" action="authorize">', text)


@pytest.mark.parametrize("args, text", [
    ([], "run commands"), (["--tools", "file_read,file_write"], "read, change and delete the files"),
    (["--read-only"], "change nothing"), (["--tools", "file_read"], "change nothing"),
    (["--tools", "git_commit"], "run commands")])
def test_the_page_says_what_the_client_will_be_able_to_do(web, args, text):
    """Issue 7, point 2: what this server serves, not what such servers can."""
    w = web(args=args)
    page = register(w).ask(w).body.decode()
    assert text in page
    titles = {tool["title"] for tool in w.result("tools/list")["tools"]}
    assert set(re.findall("<li>([^<]*)</li>", page)) == titles


@pytest.mark.parametrize("resource, good", [
    ("https://MCP.example.com/mcp", True), ("https://mcp.example.com:443/mcp", True), ("https://mcp.example.com", True),
    ("https://mcp.example.com/mcp?x=1", True), ("https://mcp.example.com/mcp/", True),
    ("http://mcp.example.com/mcp", False), ("https://mcp.example.com:8443/mcp", False),
    ("https://mcp.example.com/other", False), ("https://mcp.example.com/mcp#frag", False),
    ("https://mcp.example.com.evil.example/mcp", False), ("https://mcp.example.com@evil.example/mcp", False),
    ("mcp.example.com/mcp", False)])
def test_the_resource_is_compared_as_an_address(web, resource, good):
    """RFC 8707, H17: clients send what was typed."""
    w = web(env={"SANDSTORM_PUBLIC_URL": "https://mcp.example.com"})
    client = register(w)
    got = redirected(client.allow(w, resource=resource), client.redirect)
    assert ("code" in got) == good and got.get("error") == (None if good else "invalid_target")


def test_a_web_page_is_not_made_to_ask_for_a_password(remote):
    """RFC 6749 section 5.2: the Basic challenge is for clients that have tried Basic."""
    params = {"grant_type": "authorization_code", "code": "x", "code_verifier": VERIFIER, "client_id": "unknown"}
    assert post_form(remote, "/oauth/token", params)["www-authenticate"] is None
    tried = post_form(remote, "/oauth/token", params, {"Authorization": "Basic dW5rbm93bjo="})
    assert tried.status == 401 and tried["www-authenticate"].startswith("Basic ")


def test_a_query_with_broken_escapes_is_a_page_not_a_crash(remote):
    """H11, fault 31."""
    client = register(remote)
    for more in ("&state=%", "&state=%zz", "&state=%00", "&state=%ff", "&code_challenge=" + "a" * 9000, "&" * 5000):
        answer = remote.exchange("GET", "/oauth/authorize?" + urlencode({"client_id": client.id}) + more)
        assert answer.status in (302, 400), answer


@pytest.mark.parametrize("how", ["plain", "TLS"])
def test_pipelined_requests_take_turns_and_are_all_answered(web, lan, how):
    """H7: many at once by one peer do not keep others waiting, and none is lost meanwhile."""
    w = web(tls=lan if how == "TLS" else None)
    with w.connect() as c:
        for _ in range(2):
            c.send(b"".join(w.bytes_of(ping(n)) for n in range(250)))
            assert w.result("ping") == {}
            for n in range(250):
                assert c.answer().message()["id"] == n
