"""The official SDKs' clients against the real binary, over stdio and over HTTP with the bearer on, in each era they know.

Issue 8, points 2 and 5. What each does and how it is judged stands in course.py; conformance section 6 tells how they behave.
"""

import pytest

import programs
from course import Client, Course
from process import clean_environment
from results import record


@pytest.fixture
def target(request, binary, workspace):
    """Words that lead a program to the server over one transport, and its environment."""
    def lead(transport):
        env = clean_environment(workspace, {})
        if transport == "stdio":
            return ["--", binary, "--tools", "host"], env
        web = request.getfixturevalue("web")
        return [web.url], {**env, "MCP_TOKEN": web.token}
    return lead


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("name", "era"), programs.REAL)
def test_the_course(clients, node, target, workspace, tmp_path, name, era, transport):
    """Lists, calls with non-ASCII text, errors, an unknown tool, progress, an abort in flight, ping: by content."""
    with record(name, programs.version(clients, name), transport, era) as r:
        words, env = target(transport)
        client = Client([*programs.program(clients, node, name), era, *words], clients, env, tmp_path / "client.log")
        try:
            Course(client, workspace, era, lasting=transport == "http" and era == "legacy").walk(r)
        finally:
            client.end()
