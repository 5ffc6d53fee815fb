"""The official conformance suite: the authorization server's two scenarios, and the server's that apply to tools alone.

conformance sections 1 to 5. The suite needs Node 22, which `make interop` installs beside it where the machine's is older.
"""

import json
import os
import subprocess

import pytest

import person
from conftest import HERE
from httpwire import free_port
from oauthwire import register
from test_interop import run

NODE = 22
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"


@pytest.fixture
def node(clients):
    """A Node that is new enough for the suite."""
    for path in ["node", *clients.glob("node_modules/node-linux-*/bin/node")]:
        version = subprocess.run([path, "--version"], capture_output=True).stdout.decode()
        if int(version.lstrip("v").split(".")[0] or 0) >= NODE:
            return path
    pytest.fail(f"no Node {NODE} here, and none in {clients}: run make interop")


@pytest.fixture
def open_web(servers):
    """A run of the suite is more requests a minute than a client sends."""
    return servers.start(env={"SANDSTORM_RATE_LIMIT": "0"})


def checks(folder):
    found = [check for path in folder.rglob("checks.json") for check in json.loads(path.read_text())]
    assert found
    return found


# -- the authorization server --------------------------------------------------------------------


def test_the_metadata_of_the_authorization_server(node, clients, open_web, tmp_path):
    """The one warning is about client-metadata documents, which decision 14 leaves out."""
    issuer = open_web.url.removesuffix("/mcp")
    run(node, SUITE, "authorization", "--url", issuer, "--scenario", "authorization-server-metadata-endpoint",
        "-o", tmp_path / "results", cwd=clients)
    assert [check["status"] for check in checks(tmp_path / "results")] == ["SUCCESS", "WARNING"]


def test_the_authorization_code_grant(node, clients, open_web, tmp_path, monkeypatch):
    """Code and token as the RFCs want them; a script plays the browser."""
    monkeypatch.setenv("PERSON_TOKEN", open_web.token)
    port = str(free_port())
    client = register(open_web, f"http://127.0.0.1:{port}/callback")
    suite = subprocess.Popen([node, SUITE, "authorization", "--url", open_web.url.removesuffix("/mcp"), "--client-id",
                              client.id, "--port", port, "-o", tmp_path / "results"],
                             cwd=clients, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = ""
        while "/oauth/authorize?" not in said:
            line = suite.stdout.readline().decode()
            assert line, f"it has asked nobody to sign in: {said}"
            said += line
        person.visit(line.strip())
        said += suite.communicate(timeout=60)[0].decode()
    finally:
        suite.kill()
    assert suite.wait() == 0, said
    found = checks(tmp_path / "results")
    assert {check["status"] for check in found} <= {"SUCCESS", "WARNING", "INFO"}, found
    assert any("code-grant" in path.name for path in (tmp_path / "results").iterdir())


# -- the server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_scenarios_for_tools(node, clients, open_web, revision):
    """All that apply to a server of tools alone; the list of the others is exact, one that passes is an error."""
    run(node, "--import", "./bearer.mjs", SUITE, "server", "--url", open_web.url, "--requirements", revision,
        "--expected-failures", HERE / f"conformance-{revision}.yml", cwd=clients,
        env={**os.environ, "MCP_BEARER": open_web.token}, timeout=120)
