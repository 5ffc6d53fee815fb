"""What the README tells about the sandbox tools works as it stands there, on the real binary and a test master.

Only addresses, paths and tokens are put in. `ssh` and `docker` are stand-ins that do on this machine what the real ones
would do on another: the environment does not travel, a volume's path is its path outside.
"""

import json
import re
import shlex
import subprocess
import sys

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from master.routes import SANDBOX_TOKEN
from mcpwire import clean_environment
from sandbox import CALLS, NAMES, call_of
from test_readme import README, Path, block

SCRIPTS = Path(__file__).parents[2] / "scripts"
SSH = """#!/bin/sh
[ "$1" = -T ] && [ "$2" = me@linux-host ] || exit 64
shift 2
exec env -i PATH="$PATH" sh -c "$*"
"""
DOCKER = """
import os, sys
words, volumes, env = sys.argv[1:], {}, {"PATH": os.environ["PATH"]}
assert words.pop(0) == "run"
while words[0].startswith("-"):
    option = words.pop(0)
    if option == "-v":
        outside, inside, _ = words.pop(0).split(":")
        volumes[inside] = outside
    elif option == "-e":
        name, _, value = words.pop(0).partition("=")
        env[name] = value or os.environ[name]
    else:
        assert option in ("-i", "--rm")
os.execvpe(words[0], words, {name: volumes.get(value, value) for name, value in env.items()})
"""


@pytest.fixture
def place(tmp_path, binary):
    """A folder with what a client finds on its PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sandstorm-mcp").symlink_to(binary)
    for name, text in (("ssh", SSH), ("docker", f"#!{sys.executable}\n{DOCKER}")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def filled(text, m):
    """The block with this master's address, CA and token."""
    text = re.sub(r"https://(127\.0\.0\.1|master\.example):8080", m.url, text)
    text = text.replace("<content of the master's pki/api-token>", m.token).replace("TOKEN=TOKEN", f"TOKEN={m.token}")
    return text.replace("/absolute/path/to/ca.pem", str(m.ca))


def first_answers(command, env, place):
    """A client's first messages: the tools and the templates."""
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                 "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
             {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list_templates", "arguments": {}}}]
    env = clean_environment(None, {"PATH": f"{place}:/usr/bin:/bin", **env})
    done = subprocess.run(command, input="".join(json.dumps(line) + "\n" for line in lines), env=env, cwd=place,
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
    return [tool["name"] for tool in answers[2]["tools"]], answers[3]["structuredContent"]["result"]


WORKS = (NAMES, [{"name": "python"}, {"name": "sh"}])


@pytest.mark.parametrize("name", ["sandbox-desktop", "sandbox-cline", "sandbox-docker"])
def test_a_block_registers_a_server_that_reaches_its_master(master, place, name):
    m = master()
    (entry,) = json.loads(filled(block(name), m))["mcpServers"].values()
    assert first_answers([entry["command"], *entry.get("args", [])], entry["env"], place) == WORKS


def test_the_ssh_block_finds_its_settings_on_the_host(master, place, tmp_path):
    m = master()
    (entry,) = json.loads(block("sandbox-ssh"))["mcpServers"].values()
    settings = tmp_path / "settings"
    settings.write_text(f"SANDSTORM_URL={m.url}\nSANDSTORM_CA={m.ca}\nSANDSTORM_TOKEN={m.token}\n")
    settings.chmod(0o600)
    at = entry["args"].index("--env-file") + 1
    entry["args"][at] = str(settings)
    assert "env" not in entry
    assert first_answers([entry["command"], *entry["args"]], {}, place) == WORKS


def test_the_claude_code_line(master, place):
    words = shlex.split(filled(block("sandbox-claude-code"), master()))
    assert words[:4] == ["claude", "mcp", "add", "sandstorm"]
    env = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--env")
    assert first_answers(words[words.index("--") + 1:], env, place) == WORKS


def test_what_is_approved_beforehand_only_reads(master, sandbox):
    """Section 11: exactly the tools with readOnlyHint."""
    (entry,) = json.loads(block("sandbox-cline"))["mcpServers"].values()
    tools = sandbox(master()).result("tools/list")["tools"]
    assert entry["disabled"] is False
    assert entry["autoApprove"] == [tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]]


def test_over_http(master, web, tmp_path):
    """The line that starts the server and the client's block fit together."""
    m = master()
    line = re.search(r"^(SANDSTORM_CA=.* sandstorm-mcp serve --tools sandbox)$", README, re.M).group(1)
    words = shlex.split(line)
    told = dict(word.split("=", 1) for word in words[:words.index("sandstorm-mcp")])
    for name, text in (("SANDSTORM_TOKEN_FILE", m.token), ("SANDSTORM_MCP_TOKEN_FILE", "s3cret-of-the-client")):
        path = tmp_path / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        told[name] = str(path)
    told["SANDSTORM_CA"], port = str(m.ca), told.pop("SANDSTORM_MCP_PORT")
    w = web(args=words[words.index("serve") + 1:], token=None, env={**told, "SANDSTORM_URL": m.url})
    (entry,) = json.loads(block("sandbox-http"))["mcpServers"].values()
    assert entry["url"] == f"http://127.0.0.1:{port}/mcp"
    w.token = entry["headers"]["Authorization"].removeprefix("Bearer ").replace("TOKEN", "s3cret-of-the-client")
    assert json.loads(w.text("list_templates")) == WORKS[1]


def test_the_line_that_fetches_the_ca(master, place):
    m = master()
    line = re.search(r"^(sandstorm-mcp ca https.* HEX)$", README, re.M).group(1)
    print_ = x509.load_pem_x509_certificate(m.ca.read_bytes()).fingerprint(hashes.SHA256()).hex()
    words = shlex.split(filled(line, m).replace("HEX", print_))
    assert words[0] == "sandstorm-mcp"
    env = clean_environment(None, {"PATH": f"{place}:/usr/bin:/bin"})
    done = subprocess.run(words, env=env, cwd=place, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert (place / "ca.pem").read_bytes() == m.ca.read_bytes()


def test_the_smoke_test(master, place):
    """It says so, and fails when the master is not there."""
    m = master()
    words = shlex.split(block("sandbox-smoke"))
    assert words[0] == "scripts/smoke"
    env = clean_environment(None, {"PATH": f"{place}:/usr/bin:/bin", "SANDSTORM_URL": m.url, "SANDSTORM_CA": str(m.ca),
                                   "SANDSTORM_TOKEN": m.token})
    command = [SCRIPTS / "smoke", *words[1:]]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "13 tools" in done.stdout and m.requests("GET", "/v1/templates"), done.stderr
    m.end()
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "connection refused" in done.stderr


def test_the_table_of_requests(master, sandbox):
    """Each tool asks for what is said there, with the tokens that are said there."""
    table = README.split("<!-- routes:begin -->")[1].split("<!-- routes:end -->")[0]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    assert [row[0] for row in rows] == NAMES == list(CALLS)
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    for tool, request, tokens in rows:
        if tool == "delete_snapshot":
            request = request.replace("{tag}", "base")
        m.forget()
        s.value(tool, **call_of(tool, box))
        first = m.requests()[0]
        assert f"{first.method} {first.target}" == request.replace("{id}", box["id"])
        assert (first.get("authorization") is not None) == ("API token" in tokens)
        assert (first.get(SANDBOX_TOKEN) is not None) == ("sandbox token" in tokens), tool


def test_the_example_of_other_routes(cli, tmp_path):
    found = re.search(r"```\n(# TOOL METHOD PATH.*?)```", README, re.S)
    path = tmp_path / "routes"
    path.write_text(found.group(1))
    done = cli(env={"SANDSTORM_ROUTES": str(path)})
    assert done.returncode == 0, done.stderr
