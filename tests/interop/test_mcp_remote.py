"""mcp-remote, which lends HTTP and a sign-in to clients that only speak stdio; the TypeScript client stands behind it.

Issue 8, point 2; conformance section 6 says how it behaves. `person.py` plays the browser it opens.
"""

import sys

import pytest

import programs
from conftest import HERE
from course import Client, Course
from httpwire import free_port
from process import clean_environment
from results import record


@pytest.fixture
def bridged(web, clients, node, workspace, tmp_path):
    """Walks the course through a new mcp-remote with these further words."""
    browser = tmp_path / "x-www-browser"
    browser.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'person.py'}' \"$1\"\n")
    browser.chmod(0o755)
    env = clean_environment(workspace, {
        "HOME": str(tmp_path), "MCP_REMOTE_CONFIG_DIR": str(tmp_path / "remote"), "BROWSER": str(browser),
        "PERSON_TOKEN": web.token, "PERSON_VISITS": str(tmp_path / "visits")})
    env["PATH"] = f"{tmp_path}:{env['PATH']}"

    def walk(way, era, *words):
        (workspace / "pid").unlink(missing_ok=True)
        argv = [node, "node_modules/mcp-remote/dist/proxy.js", web.url, str(free_port()), "--allow-http",
                "--transport", "http-only", *words]
        name = f"{programs.REMOTE}, {way}"
        with record(name, programs.version(clients, programs.REMOTE), "http", era) as r:
            client = Client([*programs.program(clients, node, programs.TYPESCRIPT), era, "--", *argv], clients, env,
                            tmp_path / "client.log")
            try:
                Course(client, workspace, era, lasting=True).walk(r)
            finally:
                client.end()
    walk.visits = lambda: (tmp_path / "visits").read_text().splitlines() if (tmp_path / "visits").exists() else []
    return walk


@pytest.mark.parametrize("era", programs.ERAS[programs.REMOTE])
def test_with_a_header(bridged, web, era):
    """README: no sign-in is asked for."""
    bridged("header", era, "--header", f"Authorization: Bearer {web.token}")
    assert bridged.visits() == []


@pytest.mark.parametrize("era", programs.ERAS[programs.REMOTE])
def test_signing_in_once(bridged, era):
    """Issue 7, shown by: 401, metadata, registration, the page, the code at a loopback port, tokens; kept for next time."""
    bridged("sign-in", era)
    (asked,) = bridged.visits()
    assert "code_challenge_method=S256" in asked and "resource=" in asked
    bridged("sign-in", era)
    assert len(bridged.visits()) == 1
