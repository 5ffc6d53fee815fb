"""--acme-webroot: what a certificate authority is shown, and what nobody is.

Issue 7, point 6; RFC 8555 section 8.3.
"""

import os

import pytest

from httpwire import Connection, free_port, request
from webserver import message

TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr_oA"
PATH = f"/.well-known/acme-challenge/{TOKEN}"
AUTHORIZATION = f"{TOKEN}.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "web" / ".well-known" / "acme-challenge"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def public(web, folder):
    return web(args=["--acme-webroot", folder.parents[1]])


def hidden(server, target=PATH):
    answer = server.exchange("GET", target)
    assert answer.status == 404 and answer.json()["error"], answer
    return True


def test_a_challenge_is_answered_as_the_client_has_left_it(public, folder):
    """Without a credential, under whatever name the authority came by; gone with the file."""
    assert hidden(public)
    (folder / TOKEN).write_text(AUTHORIZATION)
    answer = public.exchange("GET", PATH, {"Host": "mcp.example.com"})
    assert answer.status == 200 and answer.body == AUTHORIZATION.encode() and answer.type == "text/plain"
    assert answer["x-content-type-options"] == "nosniff" and answer["cache-control"] == "no-store"
    assert public.exchange("POST", PATH).status == 405
    with public.connect() as c:
        c.send(request("HEAD", PATH, {"Host": "h"}))
        assert c.answer("HEAD").status == 200
    (folder / TOKEN).unlink()
    assert hidden(public)


def test_the_folders_may_come_later_and_change(web, tmp_path):
    """ACME clients make them for each order and take them away again."""
    w = web(env={"SANDSTORM_ACME_WEBROOT": str(tmp_path)})
    for _ in range(2):
        assert hidden(w)
        folder = tmp_path / ".well-known" / "acme-challenge"
        folder.mkdir(parents=True)
        (folder / TOKEN).write_text(AUTHORIZATION)
        assert w.exchange("GET", PATH).body == AUTHORIZATION.encode()
        (folder / TOKEN).unlink()
        folder.rmdir()


@pytest.mark.parametrize("name", ["", ".", "..", "../secret", "..%2fsecret", "%2e%2e/secret", "a/b", "a%2Fb", "secret.txt",
                                  "secret%00", "%73ecret", "secret/", "a" * 129, "s\u00e9cret", "secret?x=1/../../y"])
def test_nothing_else_is_served_from_there(public, folder, name):
    """One component of base64url characters, as it came."""
    for path in (folder, folder.parent, folder.parents[1]):
        for secret in ("secret", "secret.txt"):
            (path / secret).write_text("hidden")
    (folder / "a").mkdir()
    (folder / "a" / "b").write_text("hidden")
    (folder / ("a" * 129)).write_text("hidden")
    answer = public.exchange("GET", f"/.well-known/acme-challenge/{name}".encode().decode("latin-1"))
    if name.startswith("secret?"):
        assert answer.status == 200         # a query is no part of the name
    else:
        assert answer.status in (400, 404) and b"hidden" not in answer.body, answer


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "directory", "fifo", "large", "folder is a link",
                                  "above is a link", "unreadable"])
def test_what_is_not_a_small_file_of_its_own_is_not_served(public, folder, tmp_path, kind):
    """Whoever can write into the webroot cannot show the authority's visitors other files of the machine."""
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    place = folder / TOKEN
    if kind in ("link", "dangling link"):
        place.symlink_to(secret if kind == "link" else tmp_path / "none")
    elif kind == "hard link":
        place.hardlink_to(secret)
    elif kind == "directory":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "large":
        place.write_text("hidden" * 1000)
    elif kind == "unreadable":
        place.mkdir(0)
    else:
        moved = folder if kind == "folder is a link" else folder.parent
        moved.rename(tmp_path / "moved")
        moved.symlink_to(tmp_path / "moved")
        (folder / TOKEN).write_text("hidden")
    assert hidden(public)
    assert public.post(message("ping")).status == 200


def test_without_a_webroot_there_is_nothing(remote, folder):
    (folder / TOKEN).write_text(AUTHORIZATION)
    assert hidden(remote)


def test_a_webroot_that_is_none_stops_the_start(cli, tmp_path):
    """Decision 30."""
    (tmp_path / "file").write_text("")
    for path, why in ((tmp_path / "none", "No such file"), (tmp_path / "file", "Not a directory")):
        done = cli("serve", env={"SANDSTORM_MCP_TOKEN": "0123456789abcdef", "SANDSTORM_ACME_WEBROOT": str(path)})
        assert done.returncode == 2 and str(path) in done.stderr and why in done.stderr and done.stderr.count("\n") == 1


# -- beside TLS ----------------------------------------------------------------------------------


class PlainPort:
    """The port beside TLS of a server."""

    def __init__(self, web, lan, folder, **options):
        self.port = free_port()
        self.web = web(tls=lan, args=["--acme-webroot", folder.parents[1], "--acme-port", self.port], **options)

    def ask(self, method, target, host="mcp.example.com", body=None):
        with Connection("127.0.0.1", self.port) as c:
            c.send(request(method, target, {"Host": host, "Authorization": f"Bearer {self.web.token}"}, body))
            return c.answer(method)


@pytest.fixture
def plain(web, lan, folder):
    return PlainPort(web, lan, folder)


def test_beside_tls_challenges_come_by_plain_http(plain, folder):
    """Authorities begin at port 80, whatever the server speaks elsewhere; there by TLS it is served as well."""
    (folder / TOKEN).write_text(AUTHORIZATION)
    assert plain.ask("GET", PATH).body == AUTHORIZATION.encode()
    assert plain.ask("GET", PATH + "x").status == 404
    assert plain.web.exchange("GET", PATH).body == AUTHORIZATION.encode()


@pytest.mark.parametrize("target", ["/", "/mcp", "/health", "/oauth/authorize?client_id=x&state=a%20b", "//evil.example/",
                                    "/ca.pem", "/.well-known/acme-challenge"])
def test_all_else_there_leads_to_https(plain, target):
    """Nothing of the server itself is served in the clear."""
    for method in ("GET", "HEAD"):
        answer = plain.ask(method, target)
        assert answer.status == 301 and answer["location"] == f"https://mcp.example.com:{plain.web.port}{target}", answer


@pytest.mark.parametrize("method, target, host", [
    ("POST", "/mcp", "h"), ("DELETE", "/mcp", "h"), ("OPTIONS", "/mcp", "h"), ("POST", "/oauth/token", "h"),
    ("GET", "*", "h"), ("GET", "/", 'h"x'), ("GET", "/", "evil.example/x"), ("POST", PATH, "h")])
def test_what_has_gone_in_the_clear_is_refused(plain, method, target, host):
    """A client that posts there has shown its token to the network: it is told, not helped on."""
    answer = plain.ask(method, target, host, b"{}")
    assert answer.status in (400, 405) and answer["location"] is None and answer.json()["error"], answer


def test_the_way_to_https_is_the_public_address(web, lan, folder):
    plain = PlainPort(web, lan, folder, env={"SANDSTORM_PUBLIC_URL": "https://mcp.example.com/box"})
    assert plain.ask("GET", "/x", "other.example")["location"] == "https://mcp.example.com/box/x"


def test_without_a_webroot_nothing_listens_beside_tls(web, lan):
    port = free_port()
    web(tls=lan, args=["--acme-port", port])
    with pytest.raises(OSError):
        Connection("127.0.0.1", port)


def test_a_port_beside_tls_that_is_taken_is_told_by_its_name(web, lan, folder, cli):
    """Decision 30: at run time, so 1."""
    plain = PlainPort(web, lan, folder)
    done = cli("serve", "--acme-webroot", folder.parents[1], "--acme-port", plain.port, env={
        "SANDSTORM_MCP_TOKEN": "0123456789abcdef", "SANDSTORM_TLS_CERT": lan / "server.pem",
        "SANDSTORM_TLS_KEY": lan / "server.key", "SANDSTORM_MCP_PORT": str(free_port())})
    assert done.returncode == 1 and "SANDSTORM_ACME_PORT" in done.stderr and str(plain.port) in done.stderr
    assert "serving" not in done.stderr, "it says so when all ports are open: who waited for that found this one closed"
