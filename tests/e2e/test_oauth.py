"""The authorization server: what clients and browsers send, what thieves send.

mcp.md section 9; field-cases O1-O13; host-tools.md section 5 and faults 3-7, 22-28, 31, 32.
"""

import base64
import hashlib
import hmac
import json
import signal
import time
from urllib.parse import urlencode

import pytest

from mcpwire import wait_until
from process import busy
from oauthwire import VERIFIER, post_json, redirected, register, sign_in
from webserver import TOKEN, message

RESOURCE = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]
SERVER = ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp",
          "/mcp/.well-known/oauth-authorization-server"]


def origin(web):
    return web.url.removesuffix("/mcp")


def works(web, token):
    return web.post(message("ping"), {"Authorization": f"Bearer {token}"}).status == 200


def refused(answer, status, error):
    assert answer.status == status and answer.json()["error"] == error, answer
    assert answer["cache-control"] == "no-store", answer
    return True


# -- metadata ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", RESOURCE)
def test_every_path_clients_probe_names_the_resource(remote, target):
    """O5 and fault 25: the path with /mcp was 404, and the resource was the origin alone."""
    answer = remote.exchange("GET", target)
    assert answer.status == 200, answer
    assert answer.json() == {"resource": remote.url, "authorization_servers": [origin(remote)],
                             "bearer_methods_supported": ["header"], "resource_name": "Sandstorm MCP"}


@pytest.mark.parametrize("target", SERVER)
def test_every_path_clients_probe_describes_the_authorization_server(remote, target):
    """RFC 8414: what a client must find to go on; S256 alone (fault 5)."""
    meta = remote.exchange("GET", target).json()
    assert meta["issuer"] == origin(remote)
    assert {meta[f"{name}_endpoint"] for name in ("authorization", "token", "registration")} == {
        f"{origin(remote)}/oauth/{name}" for name in ("authorize", "token", "register")}
    assert meta["code_challenge_methods_supported"] == ["S256"]
    assert meta["token_endpoint_auth_methods_supported"] == ["none"]
    assert meta["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert meta["scopes_supported"] == ["offline_access"]
    assert meta["authorization_response_iss_parameter_supported"] is True


@pytest.mark.parametrize("target", ["/.well-known/openid-configuration", "/mcp/.well-known/openid-configuration",
                                    "/.well-known/oauth-protected-resource/other"])
def test_what_is_not_there_is_told_in_json(remote, target):
    """O5: an HTML page, a redirect or a 401 there breaks clients."""
    answer = remote.exchange("GET", target)
    assert answer.status == 404 and answer.json() == {"error": "Not found"} and answer["cache-control"] == "no-store"


def test_behind_a_proxy_all_urls_are_the_public_ones(remote):
    """H10: metadata that said http:// behind a TLS proxy was refused by clients."""
    fields = {"Host": "mcp.example.com", "X-Forwarded-Proto": "https, http"}
    for target in RESOURCE + SERVER:
        text = remote.exchange("GET", target, fields).body.decode()
        assert "https://mcp.example.com" in text and "http://" not in text and str(remote.port) not in text


def test_a_forged_host_does_not_reach_the_metadata(remote):
    """H11, fault 27."""
    text = remote.exchange("GET", RESOURCE[0], {"Host": 'evil"x', "X-Forwarded-Host": 'a", error="b'}).body.decode()
    assert "evil" not in text and "error" not in text


def test_metadata_may_be_read_by_web_pages_of_this_machine(remote):
    answer = remote.exchange("GET", RESOURCE[0], {"Origin": "http://localhost:6274"})
    assert answer["access-control-allow-origin"] == "http://localhost:6274"
    for target in [*RESOURCE, "/oauth/register", "/oauth/token"]:
        answer = remote.exchange("OPTIONS", target, {"Origin": "http://localhost:6274",
                                                     "Access-Control-Request-Method": "POST"})
        assert answer.status == 204 and answer["access-control-allow-methods"], answer


def test_the_challenge_leads_to_the_metadata(remote):
    answer = remote.exchange("POST", "/mcp", {"Content-Type": "application/json"}, b"{}")
    url = answer["www-authenticate"].split('resource_metadata="')[1].rstrip('"')
    assert remote.exchange("GET", url.removeprefix(origin(remote))).json()["resource"] == remote.url


# -- registration --------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["http://localhost:19876/callback", "http://127.0.0.1/", "http://[::1]:9/cb",
                                 "cursor://anysphere.cursor-retrieval/oauth/user-cursor/callback",
                                 "https://claude.ai/api/mcp/auth_callback"])
def test_the_redirects_of_real_clients_are_registered(remote, uri):
    """O1."""
    assert register(remote, uri).answer["redirect_uris"] == [uri]


@pytest.mark.parametrize("more", [
    {}, {"token_endpoint_auth_method": "none"}, {"token_endpoint_auth_method": "client_secret_post"},
    {"token_endpoint_auth_method": "client_secret_basic", "grant_types": ["authorization_code", "refresh_token"]},
    {"scope": "openid email profile", "logo_uri": "https://x/y.png", "jwks": {"keys": []}, "contacts": ["a@b"]},
    {"application_type": "native", "response_types": ["code"], "software_id": "2e6dc280"},
    {"client_name": None, "client_uri": None, "scope": None, "token_endpoint_auth_method": None}])
def test_the_bodies_of_real_clients_are_registered(remote, more):
    """O6: what differs by client is answered with the values in force."""
    answer = register(remote, **more).answer
    assert answer["token_endpoint_auth_method"] == "none" and "client_secret" not in answer
    assert answer["grant_types"] == ["authorization_code", "refresh_token"]
    assert abs(answer["client_id_issued_at"] - time.time()) < 60


CODE_AND_REFRESH = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
                    "token_endpoint_auth_method": "none"}


@pytest.mark.parametrize("body", [
    {"client_name": "Claude", "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"], "scope": "claudeai",
     **CODE_AND_REFRESH},
    {"client_name": "ChatGPT", "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
     **CODE_AND_REFRESH},
    {"client_name": "Cursor", "redirect_uris": ["cursor://anysphere.cursor-retrieval/oauth/user-cursor/callback"],
     **CODE_AND_REFRESH},
    {"client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com", "application_type": "native",
     "redirect_uris": ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://127.0.0.1/",
                       "http://127.0.0.1:33418/", "http://localhost/", "http://localhost:33418/"], **CODE_AND_REFRESH},
    {"client_name": "MCP CLI Proxy", "client_uri": "https://github.com/modelcontextprotocol/mcp-cli",
     "redirect_uris": ["http://localhost:14262/oauth/callback"], "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
     "software_version": "0.15.1", **CODE_AND_REFRESH},
    {"client_name": "MCP Inspector", "client_uri": "https://github.com/modelcontextprotocol/inspector", "scope": "",
     "redirect_uris": ["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
     **CODE_AND_REFRESH},
    {"client_name": "Claude Code (sandstorm)", "redirect_uris": ["http://localhost:51234/callback"], **CODE_AND_REFRESH},
], ids=lambda body: body["client_name"])
def test_each_of_these_clients_comes_all_the_way(remote, body):
    """O1, O6: from its registration to a token, over each of its addresses."""
    client = register(remote, *body["redirect_uris"], **{k: v for k, v in body.items() if k != "redirect_uris"})
    for uri in body["redirect_uris"]:
        code = redirected(client.allow(remote, redirect_uri=uri), uri)["code"]
        assert works(remote, client.redeem(remote, code, redirect_uri=uri).json()["access_token"])
    assert body["client_name"] in client.ask(remote).body.decode()


@pytest.mark.parametrize("body, error", [
    (b"", "invalid_client_metadata"), (b"{", "invalid_client_metadata"), (b"[]", "invalid_client_metadata"),
    ({"redirect_uris": []}, "invalid_redirect_uri"), ({"redirect_uris": "https://a"}, "invalid_redirect_uri"),
    ({"redirect_uris": [{}]}, "invalid_redirect_uri"), ({"redirect_uris": ["javascript:x"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["http://evil.example/"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["https://a/"], "client_name": ["x"]}, "invalid_client_metadata")])
def test_a_wrong_registration_says_what_is_wrong(remote, body, error):
    """Fault 32: arrays and wrong types were a server error."""
    answer = post_json(remote, "/oauth/register", body)
    assert refused(answer, 400, error) and answer.json()["error_description"]


def test_client_ids_tell_nothing_about_the_token(remote):
    """Fault 23: they were HMACs of known text under the token itself."""
    id = register(remote).id
    _, mac = id.split(".")
    payload = base64.urlsafe_b64decode(id.split(".")[0] + "===")
    for text in (payload, id.split(".")[0].encode(), b"client:Test:https://client.example/cb"):
        assert base64.urlsafe_b64encode(hmac.new(TOKEN.encode(), text, hashlib.sha256).digest()).rstrip(b"=") != mac


# -- authorize -----------------------------------------------------------------------------------


def test_the_page_says_who_asks_and_where_the_answer_goes(remote):
    """O11: and it cannot be framed, cached, or run script (fault 26)."""
    answer = register(remote, "https://client.example/cb", client_name="A <b>client</b>").ask(remote)
    text = answer.body.decode()
    assert answer.status == 200 and answer.type == "text/html"
    assert "A &lt;b&gt;client&lt;/b&gt;" in text and "https://client.example" in text
    assert "<script" not in text and "<b>client" not in text and "http-equiv" not in text
    assert answer["cache-control"] == "no-store" and answer["x-frame-options"] == "DENY"
    assert answer["referrer-policy"] == "same-origin"
    policy = answer["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script" not in policy


def test_an_unregistered_redirect_uri_gets_a_page_and_no_redirect(remote):
    """Fault 3, O2: the code went to any site a link named."""
    client = register(remote, "https://client.example/cb")
    for uri in ["https://evil.example/cb", "https://client.example/cb/", "https://client.example/cb?x", "javascript:x",
                "https://client.example/cb#frag"]:
        for answer in (client.ask(remote, redirect_uri=uri), client.allow(remote, redirect_uri=uri)):
            assert answer.status == 400 and answer["location"] is None and answer.type == "text/html", answer


@pytest.mark.parametrize("id", [None, "", "x", "abc.def", "a" * 3000])
def test_an_unknown_client_gets_a_page_and_no_redirect(remote, id):
    """O2, O9."""
    client = register(remote)
    for answer in (client.ask(remote, client_id=id), client.allow(remote, client_id=id)):
        assert answer.status == 400 and answer["location"] is None and answer.type == "text/html", answer


@pytest.mark.parametrize("changes, error", [
    ({"response_type": None}, "invalid_request"), ({"response_type": "token"}, "unsupported_response_type"),
    ({"code_challenge": None}, "invalid_request"), ({"code_challenge": "short"}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"), ({"code_challenge_method": "S512"}, "invalid_request"),
    ({"resource": "https://other.example/mcp"}, "invalid_target")])
def test_other_errors_go_back_to_the_client(remote, changes, error):
    """Faults 5 and 6, O3: at the form as well as at the page; no page is shown for what would fail at the end."""
    client = register(remote)
    for answer in (client.ask(remote, **changes), client.allow(remote, **changes)):
        got = redirected(answer, client.redirect)
        assert got["error"] == error and got["state"] == "xyz" and got["iss"] == origin(remote) and "code" not in got


def test_a_parameter_twice_is_refused(remote):
    client = register(remote)
    answer = remote.exchange("GET", "/oauth/authorize?" + urlencode(client.params()) + "&state=other")
    assert answer.status == 400 and answer["location"] is None


def test_the_state_comes_back_as_it_was(remote):
    """Fault 28: `s&admin=1` added a parameter to the address."""
    client = register(remote, "https://client.example/cb?keep=1")
    state = "s&admin=1 \u00e4%0d%0a\r\n+"
    got = redirected(client.allow(remote, state=state), client.redirect)
    assert got["state"] == state and got["keep"] == "1" and got["iss"] == origin(remote)


def test_no_state_is_made_up(remote):
    client = register(remote)
    assert set(redirected(client.allow(remote, state=None), client.redirect)) == {"code", "iss"}


@pytest.mark.parametrize("password", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], "\u00e4\u00f6", "a\x00b"])
def test_a_wrong_token_shows_the_page_again(remote, password):
    """O11, fault 31: bytes that are no ASCII were a server error."""
    answer = register(remote).allow(remote, password=password)
    assert answer.status in (400, 401) and answer["location"] is None and answer.type == "text/html"
    if answer.status == 401:
        assert 'role="alert"' in answer.body.decode() and remote.token not in answer.body.decode()


def test_guessing_is_slowed_down_and_the_right_token_is_not(remote):
    """Fault 7: 500 wrong passwords in 0.8 s were all answered alike."""
    client = register(remote)
    answers = [client.allow(remote, password=f"guess-{i}") for i in range(12)]
    assert {a.status for a in answers} == {401, 429}
    assert all(int(a["retry-after"]) >= 1 for a in answers if a.status == 429)
    assert client.allow(remote).status == 302


def test_another_site_cannot_post_the_form(remote):
    """Decision 6."""
    client = register(remote)
    for foreign in ("https://evil.example", "null", "http://localhost.evil.example"):
        assert client.allow(remote, fields={"Origin": foreign}).status == 400
    assert client.allow(remote, fields={"Origin": origin(remote)}).status == 302


def test_the_redirect_uri_may_be_left_out_when_there_is_one(remote):
    client = register(remote)
    assert redirected(client.allow(remote, redirect_uri=None), client.redirect)["code"]
    client = register(remote, "https://a.example/", "https://b.example/")
    assert client.allow(remote, redirect_uri=None).status == 400


# -- token ---------------------------------------------------------------------------------------


def test_a_code_becomes_a_token_that_works(remote):
    """O13: then initialize, GET /mcp and initialized go through."""
    client = register(remote)
    answer = client.redeem(remote, client.code(remote))
    tokens = answer.json()
    assert answer.status == 200 and answer["cache-control"] == "no-store" and answer["pragma"] == "no-cache"
    assert tokens["token_type"] == "Bearer" and tokens["expires_in"] == 30 * 24 * 3600 and tokens["refresh_token"]
    assert works(remote, tokens["access_token"])
    began = time.monotonic()
    fields = {"Authorization": f"Bearer {tokens['access_token']}", "Accept": "text/event-stream"}
    assert remote.exchange("GET", "/mcp", fields).status == 405 and time.monotonic() - began < busy()


def test_a_code_is_good_once_and_a_second_time_ends_the_sign_in(remote):
    """Fault 4: one code gave two tokens."""
    client = register(remote)
    code = client.code(remote)
    tokens = client.redeem(remote, code).json()
    assert refused(client.redeem(remote, code), 400, "invalid_grant")
    assert refused(client.refresh(remote, tokens["refresh_token"]), 400, "invalid_grant")


@pytest.mark.parametrize("changes, error", [
    ({"code_verifier": None}, "invalid_request"), ({"code": None}, "invalid_request"),
    ({"code_verifier": "a" * 43}, "invalid_grant"), ({"code_verifier": "x"}, "invalid_grant"),
    ({"code_verifier": "\u00e4" * 43}, "invalid_grant"), ({"redirect_uri": "https://other.example/"}, "invalid_grant"),
    ({"code": "\u00e4"}, "invalid_grant"), ({"grant_type": "password"}, "unsupported_grant_type"),
    ({"grant_type": None}, "invalid_request"), ({"resource": "https://other.example/mcp"}, "invalid_target")])
def test_a_wrong_redemption_says_what_is_wrong_in_json(remote, changes, error):
    """O3, O4, O10, fault 31."""
    client = register(remote)
    code = changes.pop("code", ...)
    code = client.code(remote) if code is ... else code
    assert refused(client.redeem(remote, code, **changes), 400, error)


def test_the_redirect_uri_may_be_left_out_of_the_redemption(remote):
    """O4."""
    client = register(remote)
    assert client.redeem(remote, client.code(remote), redirect_uri=None).status == 200


def test_a_code_of_one_client_is_no_good_to_another(remote):
    thief, client = register(remote, "https://thief.example/"), register(remote)
    code = client.code(remote)
    assert refused(thief.redeem(remote, code), 400, "invalid_grant")
    assert client.redeem(remote, code).status == 200


def test_a_loopback_port_may_change_between_runs(remote):
    """A native client listens on another port each time it is started (RFC 8252)."""
    client = register(remote, "http://127.0.0.1:1/cb")
    uri = "http://127.0.0.1:50999/cb"
    code = redirected(client.allow(remote, redirect_uri=uri), uri)["code"]
    assert client.redeem(remote, code, redirect_uri=uri).status == 200


@pytest.mark.parametrize("resource", ["", "/", "/mcp", "/mcp/"])
def test_the_resource_may_be_this_server_in_any_spelling(remote, resource):
    client = register(remote)
    named = origin(remote) + resource
    assert client.redeem(remote, client.code(remote, resource=named), resource=named).status == 200


def test_a_client_may_name_itself_in_basic(remote):
    """O7."""
    client = register(remote)

    def basic(id, secret=""):
        return {"Authorization": "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()}
    assert client.redeem(remote, client.code(remote), basic(client.id), client_id=None).status == 200
    assert client.redeem(remote, client.code(remote), basic(client.id)).status == 200
    assert refused(client.redeem(remote, client.code(remote), basic("other")), 401, "invalid_client")
    assert refused(client.redeem(remote, "x", {"Authorization": "Basic !"}, client_id=None), 401, "invalid_client")


def test_a_client_of_an_earlier_token_is_told_to_register_again(web):
    """O9: it got a server error or HTML and never recovered."""
    old = register(web.start(token="an-earlier-token-0123456789"))
    now = web.start()
    assert refused(old.redeem(now, "x"), 401, "invalid_client")
    assert old.ask(now).status == 400


def test_the_token_request_may_be_json(remote):
    """The reference took JSON; clients written for it send it."""
    client = register(remote)
    answer = post_json(remote, "/oauth/token", {
        "grant_type": "authorization_code", "code": client.code(remote), "client_id": client.id,
        "code_verifier": VERIFIER, "redirect_uri": client.redirect, "resource": None})
    assert answer.status == 200
    for body in (b"[]", b"{", b'{"grant_type":1}', b""):
        assert post_json(remote, "/oauth/token", body).status == 400


@pytest.mark.parametrize("method, target", [("GET", "/oauth/register"), ("GET", "/oauth/token"),
                                            ("DELETE", "/oauth/authorize"), ("POST", RESOURCE[0])])
def test_a_wrong_method_is_told_with_the_right_ones(remote, method, target):
    """Fault 45, O10: and no cache keeps it, as it may a 405 (RFC 9110 section 15.1)."""
    answer = remote.exchange(method, target, {"Content-Length": "0"})
    assert answer.status == 405 and answer["allow"] and answer.json()["error"] and answer["cache-control"] == "no-store"


# -- tokens --------------------------------------------------------------------------------------


def test_a_refresh_token_rotates(remote):
    """O8: connectors died after 30 days, since there was none."""
    client, first = sign_in(remote)
    second = client.refresh(remote, first["refresh_token"]).json()
    assert works(remote, second["access_token"]) and second["refresh_token"] != first["refresh_token"]
    third = client.refresh(remote, second["refresh_token"]).json()
    assert refused(client.refresh(remote, first["refresh_token"]), 400, "invalid_grant")
    assert refused(client.refresh(remote, third["refresh_token"]), 400, "invalid_grant")   # the sign-in has ended


def test_an_answer_that_got_lost_can_be_asked_for_again(remote):
    client, first = sign_in(remote)
    second = client.refresh(remote, first["refresh_token"]).json()
    again = client.refresh(remote, first["refresh_token"]).json()
    assert again["refresh_token"] == second["refresh_token"] and works(remote, again["access_token"])


def test_a_refresh_token_is_for_its_client_and_no_bearer(remote):
    client, tokens = sign_in(remote)
    other = register(remote, "https://other.example/")
    assert refused(other.refresh(remote, tokens["refresh_token"]), 400, "invalid_grant")
    assert not works(remote, tokens["refresh_token"])
    assert refused(client.refresh(remote, tokens["access_token"]), 400, "invalid_grant")
    assert refused(client.refresh(remote, None), 400, "invalid_request")


def test_sign_ins_survive_a_restart(web):
    """The state directory has them, for its owner's eyes alone."""
    first = web.start()
    client, tokens = sign_in(first)
    first.terminate()
    second = web.start()
    assert works(second, tokens["access_token"])
    assert client.refresh(second, tokens["refresh_token"]).status == 200


def test_the_file_of_sign_ins_is_private_and_holds_no_token(remote, workspace):
    _, tokens = sign_in(remote)
    path = workspace / ".sandstorm-mcp" / "sign-ins"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    text = path.read_text()
    assert text and all(value not in text for value in (tokens["refresh_token"], tokens["access_token"], remote.token))


def test_without_a_state_directory_there_are_no_refresh_tokens(web, tmp_path):
    """Decision 36: and nobody is promised any."""
    (tmp_path / "file").write_text("")
    w = web.start(env={"SANDSTORM_STATE_DIR": str(tmp_path / "file")})
    assert w.exchange("GET", SERVER[0]).json()["grant_types_supported"] == ["authorization_code"]
    client, tokens = sign_in(w)
    assert client.answer["grant_types"] == ["authorization_code"]
    assert "refresh_token" not in tokens and works(w, tokens["access_token"])


def reference_token(token, **changes):
    """As the reference server makes it, host-tools.md section 5."""
    payload = json.dumps({"t": int(time.time() * 1000), "c": "abc", "k": "access", **changes},
                         separators=(",", ":")).encode()
    mac = hmac.new(token.encode(), payload, hashlib.sha256).digest()
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (mac, payload))


def test_tokens_of_the_reference_server_live_on(remote):
    """Whoever was signed in there stays signed in here."""
    assert works(remote, reference_token(TOKEN))
    assert not works(remote, reference_token("another-token-0123456789"))
    assert not works(remote, reference_token(TOKEN, k="code"))
    assert not works(remote, reference_token(TOKEN, t=int((time.time() - 31 * 24 * 3600) * 1000)))


@pytest.mark.parametrize("more", ["!!!!", "====", "=", "A", "."])
def test_nothing_may_stand_behind_a_token(remote, more):
    """Fault 22: each such tail was a new caller with a new rate."""
    _, tokens = sign_in(remote)
    assert not works(remote, tokens["access_token"] + more)
    assert not works(remote, reference_token(TOKEN) + more)


def test_rotation_ends_every_token(web, tmp_path):
    """O8, decision 36: codes, access and refresh tokens, client ids, and the reference's tokens."""
    path = tmp_path / "token"
    path.write_text("the-first-token-0123456789")
    w = web.start(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    w.token = path.read_text()
    client, tokens = sign_in(w)
    code = client.code(w)
    path.write_text("the-second-token-0123456789")
    w.signal(signal.SIGHUP)
    wait_until(lambda: not works(w, tokens["access_token"]), "the end of the old token")
    assert not works(w, reference_token("the-first-token-0123456789"))
    assert refused(client.redeem(w, code), 401, "invalid_client")
    assert refused(client.refresh(w, tokens["refresh_token"]), 401, "invalid_client")
    w.token = path.read_text()
    assert works(w, sign_in(w)[1]["access_token"])


def test_the_log_of_a_sign_in_holds_no_secret(remote):
    client = register(remote)
    code = client.code(remote)
    tokens = client.redeem(remote, code).json()
    client.refresh(remote, tokens["refresh_token"])
    client.allow(remote, password="a-wrong-password")
    log = remote.stderr_text()
    for secret in (code, tokens["access_token"], tokens["refresh_token"], remote.token, "a-wrong-password", VERIFIER):
        assert secret not in log


def test_the_pages_of_oauth_are_rate_limited_and_metadata_is_not(web):
    """H16."""
    w = web.start(env={"SANDSTORM_RATE_LIMIT": "5"})
    answers = [post_json(w, "/oauth/register", {}) for _ in range(8)]
    assert [a.status for a in answers].count(429) == 3 and int(answers[-1]["retry-after"]) >= 1
    assert all(w.exchange("GET", target).status == 200 for target in RESOURCE + SERVER)


# -- the page at / -------------------------------------------------------------------------------


def test_a_person_who_opens_the_address_is_told_how_to_connect(remote):
    answer = remote.exchange("GET", "/", {"Host": "box.example", "X-Forwarded-Proto": "https"})
    text = answer.body.decode()
    assert answer.status == 200 and answer.type == "text/html" and "<script" not in text
    assert "claude mcp add --transport http sandstorm https://box.example/mcp" in text
    assert "connection is encrypted" in text and remote.token not in text
    assert "not encrypted" in remote.exchange("GET", "/").body.decode()
    assert remote.exchange("POST", "/", {"Content-Length": "0"}).status == 405
