"""mcp-remote, which lends HTTP and a sign-in to clients that only speak stdio; the TypeScript client stands behind it.

conformance section 6 says how it behaves. `person.py` plays the browser it opens.
"""

import json
import sys

import pytest

from conftest import HERE
from contract import NAMES
from httpwire import free_port
from process import clean_environment
from test_interop import run, text_of


@pytest.fixture
def bridged(web, clients, workspace, tmp_path):
    """Runs the TypeScript client against a new mcp-remote with these further words; what the client found."""
    browser = tmp_path / "x-www-browser"
    browser.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'person.py'}' \"$1\"\n")
    browser.chmod(0o755)
    env = clean_environment(workspace, {
        "HOME": str(tmp_path), "MCP_REMOTE_CONFIG_DIR": str(tmp_path / "remote"), "BROWSER": str(browser),
        "PERSON_TOKEN": web.token, "PERSON_VISITS": str(tmp_path / "visits")})
    env["PATH"] = f"{tmp_path}:{env['PATH']}"

    def connect(*words):
        argv = ["node_modules/mcp-remote/dist/proxy.js", web.url, str(free_port()), "--allow-http",
                "--transport", "http-only", *words]
        told = {"command": "node", "args": argv, "env": env, "mode": "legacy"}
        return json.loads(run("node", "client.mjs", json.dumps(told), cwd=clients, env=env, timeout=120))
    connect.visits = lambda: (tmp_path / "visits").read_text().splitlines() if (tmp_path / "visits").exists() else []
    return connect


def good(found, workspace):
    assert found["tools"] == NAMES
    assert text_of(found["written"]).startswith("Written ") and (workspace / "ts.txt").exists()
    assert found["failed"]["isError"] and found["unknown"]["code"] == -32602
    assert "step 3" in text_of(found["long"]) and found["progress"]
    assert text_of(found["after"]) == "stdout:\non\n\n\nexit_code: 0" and found["ping"] == {}
    return True


def test_with_a_header(bridged, web, workspace):
    """README: no sign-in is asked for."""
    assert good(bridged("--header", f"Authorization: Bearer {web.token}"), workspace)
    assert bridged.visits() == []


def test_signing_in_once(bridged, web, workspace):
    """Issue 7, shown by: 401, metadata, registration, the page, the code at a loopback port, tokens; kept for next time."""
    assert good(bridged(), workspace)
    (asked,) = bridged.visits()
    assert "code_challenge_method=S256" in asked and "resource=" in asked
    assert good(bridged(), workspace) and len(bridged.visits()) == 1
