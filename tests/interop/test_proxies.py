"""Behind Caddy and nginx as the README says, and behind a proxy as the reference server's installer sets it up.

Issue 7, point 6; decisions 6, 7, 56; field-cases H10, H12, H13, H17, O12.
"""

import concurrent.futures
import json
import time
import zlib
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

import person
import proxies
from httpwire import free_port, request
from mcpwire import first_text, tool_params, wait_until
from test_oauth_client import Storage
from test_readme import block
from webserver import message, modern_fields, modern_message

# as the reference server's installer leaves it: no name of the server in the environment, a proxy with its own limits
REFERENCE_ENV = """\
SANDSTORM_MCP_TOKEN={token}
SANDSTORM_MCP_HOST=127.0.0.1
SANDSTORM_MCP_PORT={port}
SANDSTORM_WORKSPACE_ROOT={root}
SANDSTORM_LOG_LEVEL=INFO
MAX_INSTANCES=5
"""
REFERENCE_PROXY = """\
mcp.example.com {
	encode gzip zstd
	reverse_proxy 127.0.0.1:8080 {
		flush_interval -1
		transport http {
			dial_timeout 5s
			read_timeout 300s
			write_timeout 300s
		}
	}
}
"""


@pytest.fixture
def behind(servers, tmp_path):
    """Starts a server and a proxy before it: the proxy, with the server as .web."""
    started = []

    def start(kind, recipe, web, port=None):
        folder = tmp_path / f"proxy-{len(started)}"
        folder.mkdir()
        proxy = getattr(proxies, kind)(folder, recipe, web.port, port or free_port())
        proxy.web, proxy.recipe = web, recipe
        started.append(proxy)
        return proxy
    yield start
    for proxy in started:
        proxy.end()


def start_as_the_reference(servers, workspace, folder):
    """A server that is told by its env file alone."""
    port, token = free_port(), "reference-token-0123456789"
    (folder / "env").write_text(REFERENCE_ENV.format(token=token, port=port, root=workspace))
    web = servers.start(token=None, root=None, args=["--env-file", folder / "env"],
                        env={"SANDSTORM_MCP_HOST": None, "SANDSTORM_MCP_PORT": None})
    web.port, web.token, web.url = port, token, f"http://127.0.0.1:{port}/mcp"
    return web


@pytest.fixture(params=["caddy", "nginx", "reference"])
def proxy(request, behind, servers, workspace, tmp_path):
    if request.param == "reference":
        return behind("caddy", REFERENCE_PROXY, start_as_the_reference(servers, workspace, tmp_path))
    return behind(request.param, block(request.param), servers.start())


def fields(proxy, more=()):
    return {**proxy.web.fields({"Host": urlsplit(proxy.url).netloc}), **dict(more)}


def post(proxy, value, more=()):
    return proxy.answer(request(fields=fields(proxy, more), body=json.dumps(value).encode()))


def call(tool, **arguments):
    return message("tools/call", tool_params(tool, arguments))


def test_calls_go_through(proxy, workspace):
    """Also large ones, in both directions, several on one connection."""
    content = "0123456789abcde\n" * 200_000      # 3.2 MB
    with proxy.connect() as c:
        for value, text in ((call("file_write", path="f", content=content), "Written 3200000 bytes"),
                            (call("terminal_exec", command="wc -c < f"), "3200000"),
                            (call("terminal_exec", command="seq 200000"), "199999")):
            c.send(request(fields=fields(proxy), body=json.dumps(value).encode()))
            assert text in first_text(c.answer(timeout=30).message()["result"])
    assert (workspace / "f").read_text() == content


def stream_of(connection, timeout=None):
    """The stream that comes, plain again where the proxy has compressed it."""
    stream = connection.stream(timeout=timeout)
    if stream.head["content-encoding"]:
        unzip = zlib.decompressobj(wbits=31)
        stream._pieces = map(unzip.decompress, stream._pieces)
    return stream


def test_the_recipes_leave_the_buffers_of_the_proxies_as_they_are():
    """Issue 8, point 4: what the tests below show, they show with the defaults."""
    for recipe in (block("nginx"), block("caddy")):
        assert not [word for word in ("buffer", "flush", "gzip", "encode", "Accept-Encoding") if word in recipe]


@pytest.mark.parametrize("compressed", [False, True])
def test_progress_comes_while_the_call_runs(proxy, compressed):
    """H12: with the proxies' own buffering, and for a client that would take compressed answers."""
    value = modern_message("tools/call", tool_params("terminal_exec", {
        "command": "for i in 1 2 3 4; do echo step $i; sleep 0.8; done"}), progressToken="p")
    more = {**modern_fields(value), **({"Accept-Encoding": "gzip"} if compressed else {})}
    with proxy.connect() as c:
        began = time.monotonic()
        c.send(request(fields=fields(proxy, more), body=json.dumps(value).encode()))
        events = stream_of(c).all(timeout=20)
    progress = [e for e in events if e.kind == "message" and e.value.get("method") == "notifications/progress"]
    assert len(progress) >= 2 and "step 4" in first_text(events[-1].value["result"])
    assert progress[0].at - began < 2.4, "it came with the answer"
    assert progress[-1].at - progress[0].at > 0.5


def test_comments_in_silence_get_through(behind, servers):
    """H13: after 15 s, in both eras, while the call still runs; so that an nginx that waits for 16.5 s waits on."""
    web = servers.start()
    ways = {"caddy": behind("caddy", block("caddy"), web), "compressing caddy": behind("caddy", REFERENCE_PROXY, web),
            "nginx": behind("nginx", block("nginx").replace("proxy_read_timeout 330s", "proxy_read_timeout 16500ms"), web)}
    params = tool_params("terminal_exec", {"command": "sleep 18; echo over", "timeout": 60})
    asked = [(way, make("tools/call", params)) for way in ways for make in (message, modern_message)]

    def heard(way, value):
        more = modern_fields(value) if "_meta" in value["params"] else {}
        with ways[way].connect() as c:
            began = time.monotonic()
            c.send(request(fields=fields(ways[way], {**more, "Accept-Encoding": "gzip"}), body=json.dumps(value).encode()))
            return [(e.at - began, e.kind, e.value) for e in stream_of(c, timeout=20).all()]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as threads:
        found = list(threads.map(heard, *zip(*asked)))
    for (way, _), events in zip(asked, found):
        (heard_at, kind, _), (answered_at, _, answer) = events
        assert kind == "comment" and 14.5 < heard_at < 17.5 and answered_at > 17.9, (way, events)
        assert "over" in first_text(answer["result"])


def test_a_client_that_leaves_ends_its_command(proxy):
    """Decision 4: the proxy hands the closing on, at once, or with `flush_interval -1` when it next writes to the client: one of
    the next two messages about progress, 10 s apart."""
    value = modern_message("tools/call", tool_params("terminal_exec", {"command": "echo on; sleep 90"}), progressToken=1)
    with proxy.connect() as c:
        c.send(request(fields=fields(proxy, modern_fields(value)), body=json.dumps(value).encode()))
        proxy.web.wait_descendants(1)
    proxy.web.wait_no_descendants(10 if "flush_interval -1" not in proxy.recipe else 30)


def test_the_challenge_and_the_metadata_name_the_public_address(proxy):
    """H10, O12: and never the inner port or http; all endpoints are on the one public name."""
    answer = post(proxy, message("ping"), {"Authorization": "Bearer wrong-0123456789abcdef"})
    assert answer.status == 401
    assert f'resource_metadata="{proxy.url}/.well-known/oauth-protected-resource/mcp"' in answer["www-authenticate"]
    for path in ("oauth-protected-resource/mcp", "oauth-protected-resource", "oauth-authorization-server",
                 "oauth-authorization-server/mcp"):
        answer = proxy.answer(request("GET", f"/.well-known/{path}", {"Host": urlsplit(proxy.url).netloc}), "GET")
        text = answer.body.decode()
        assert answer.status == 200 and proxy.url in text and "http://" not in text and str(proxy.web.port) not in text


def test_nobody_behind_the_proxy_can_say_who_he_is(proxy):
    """Decision 56: what a client writes into X-Forwarded-For is not what the proxy has seen."""
    post(proxy, message("ping"), {"Authorization": "Bearer wrong-0123456789abcdef", "X-Forwarded-For": "198.51.100.1"})
    wait_until(lambda: "refused" in [line["msg"] for line in proxy.web.log()], "a line about it")
    assert [line["peer"] for line in proxy.web.log() if line["msg"] == "refused"] == ["127.0.0.1"]


def signed_in(proxy, monkeypatch, url=None):
    """The official client signs in through the proxy, the person by the page's form; the names of the tools."""
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.ca))
    url, storage, came = url or f"{proxy.url}/mcp", Storage(), []

    async def open_page(address):
        assert address.startswith(url.removesuffix("/mcp") + "/oauth/authorize?"), address
        came.append(person.allow(address, proxy.web.token))

    async def come_back():
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(came[-1]).query)))

    async def main():
        provider = OAuthClientProvider(url, OAuthClientMetadata(
            redirect_uris=["http://localhost:19999/callback"], client_name="Python"), storage, open_page, come_back)
        with anyio.fail_after(40):
            async with httpx2.AsyncClient(auth=provider, trust_env=False, verify=proxy.context, timeout=30) as http:
                async with Client(streamable_http_client(url, http_client=http)) as client:
                    return [tool.name for tool in (await client.list_tools()).tools]
    names = anyio.run(main)
    assert storage.tokens.refresh_token and len(came) == 1
    return names


def test_a_connector_signs_in(proxy, monkeypatch):
    """The issue: a server configured by the reference's own file works without a change, sign-in included."""
    assert "file_read" in signed_in(proxy, monkeypatch)


def test_below_a_path_of_the_name(behind, servers, monkeypatch):
    """H17: metadata, the page's form and the way back all stay below the path."""
    port = free_port()
    web = servers.start(env={"SANDSTORM_PUBLIC_URL": f"https://localhost:{port}/box"})
    proxy = behind("caddy", block("caddy-path"), web, port)
    assert "file_read" in signed_in(proxy, monkeypatch, f"{proxy.url}/box/mcp")


def test_a_proxy_that_tells_nothing_needs_the_public_address(behind, servers, monkeypatch):
    """Decision 7: nginx sends a Host of its own unless it is told not to."""
    recipe = "\n".join(line for line in block("nginx").splitlines() if "proxy_set_header" not in line)
    port = free_port()
    web = servers.start(env={"SANDSTORM_PUBLIC_URL": f"https://localhost:{port}"})
    assert "file_read" in signed_in(behind("nginx", recipe, web, port), monkeypatch)
