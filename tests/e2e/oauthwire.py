"""OAuth as a client and a browser do it, with raw requests against a webserver.WebServer.

    client = register(web)                       Client: .id, .answer, .redirect
    client.ask(web)                              Answer to GET /oauth/authorize
    client.allow(web, password=...)              Answer to the form; .redirected(answer) -> {"code": ..., "iss": ...}
    client.redeem(web, code)                     Answer to the token request
    sign_in(web) -> tokens                       all of it, for tests that start behind it
Keyword arguments change single parameters; None leaves one out.
"""

import base64
import hashlib
import json
from urllib.parse import parse_qsl, urlencode, urlsplit

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


def challenge_of(verifier):
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def post_json(web, target, value, fields=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return web.exchange("POST", target, {**JSON, **(fields or {})}, body)


def post_form(web, target, params, fields=None):
    body = params if isinstance(params, bytes) else urlencode(params).encode()
    return web.exchange("POST", target, {**FORM, **(fields or {})}, body)


def known(params):
    return {name: value for name, value in params.items() if value is not None}


class Client:
    def __init__(self, answer, redirect):
        self.answer = answer.json()
        self.id = self.answer["client_id"]
        self.redirect = redirect

    def params(self, **changes):
        return known({"response_type": "code", "client_id": self.id, "redirect_uri": self.redirect, "state": "xyz",
                      "code_challenge": CHALLENGE, "code_challenge_method": "S256", **changes})

    def ask(self, web, fields=None, **changes):
        return web.exchange("GET", "/oauth/authorize?" + urlencode(self.params(**changes)), fields or {})

    def allow(self, web, password=..., fields=None, **changes):
        password = web.token if password is ... else password
        return post_form(web, "/oauth/authorize", known({**self.params(**changes), "password": password}), fields)

    def code(self, web, **changes):
        return redirected(self.allow(web, **changes), changes.get("redirect_uri", self.redirect))["code"]

    def redeem(self, web, code, fields=None, **changes):
        return post_form(web, "/oauth/token", known({
            "grant_type": "authorization_code", "code": code, "client_id": self.id, "code_verifier": VERIFIER,
            "redirect_uri": self.redirect, **changes}), fields)

    def refresh(self, web, token, **changes):
        return post_form(web, "/oauth/token", known({
            "grant_type": "refresh_token", "refresh_token": token, "client_id": self.id, **changes}))


def register(web, *redirects, **more):
    redirects = redirects or ("https://client.example/cb",)
    answer = post_json(web, "/oauth/register", {"redirect_uris": list(redirects), "client_name": "Test", **more})
    assert answer.status == 201, answer
    return Client(answer, redirects[0])


def redirected(answer, uri):
    """The parameters that a 302 to uri carries."""
    assert answer.status == 302 and answer.body == b"", answer
    location = answer["location"]
    assert location.startswith(uri + ("&" if "?" in uri else "?")), location
    return dict(parse_qsl(urlsplit(location).query, strict_parsing=True))


def sign_in(web):
    client = register(web)
    answer = client.redeem(web, client.code(web))
    assert answer.status == 200, answer
    return client, answer.json()
