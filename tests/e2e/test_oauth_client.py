"""The official Python client signs in by itself, as connectors do; a script plays the person at the browser."""

from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from oauthwire import post_form

CALLBACK = "http://localhost:19999/callback"


class Storage:
    """Where the client keeps what it got, as its interface asks for."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """Opens the page the client sends one to, types the token and follows the way back."""

    def __init__(self, web):
        self.web, self.visits, self.location = web, 0, None

    async def open(self, url):
        self.visits += 1
        parts = urlsplit(url)
        page = self.web.exchange("GET", f"{parts.path}?{parts.query}")
        assert page.status == 200, page
        form = {**dict(parse_qsl(parts.query)), "password": self.web.token}
        self.location = post_form(self.web, "/oauth/authorize", form)["location"]
        assert self.location.startswith(CALLBACK + "?"), self.location

    async def come_back(self):
        query = dict(parse_qsl(urlsplit(self.location).query))
        return AuthorizationCodeResult(**query)


def provider_of(web, storage, person):
    return OAuthClientProvider(
        web.url, OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="Python", scope="openid offline_access"),
        storage, person.open, person.come_back)


def connected(web, provider, work):
    async def main():
        with anyio.fail_after(30):
            async with httpx2.AsyncClient(auth=provider, trust_env=False, timeout=30) as http:
                async with Client(streamable_http_client(web.url, http_client=http)) as client:
                    return await work(client)
    return anyio.run(main)


async def tool_names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


def test_a_client_signs_in_by_itself_and_calls_tools(remote):
    """The issue's flow: 401, metadata, registration, page, code, token, tools; the second time without the page."""
    storage, person = Storage(), Person(remote)
    for _ in range(2):
        provider = provider_of(remote, storage, person)
        assert "file_read" in connected(remote, provider, tool_names)
        assert storage.tokens.refresh_token and person.visits == 1


def test_a_client_whose_token_has_expired_refreshes_it(remote):
    """O8: within one session, and without asking the person again."""
    storage, person = Storage(), Person(remote)
    provider = provider_of(remote, storage, person)

    async def work(client):
        before = storage.tokens
        provider.context.token_expiry_time = 1.0      # long ago
        assert "file_read" in await tool_names(client)
        return before, storage.tokens
    before, after = connected(remote, provider, work)
    assert after.refresh_token != before.refresh_token and after is not before
    assert person.visits == 1
