"""What the README tells people to paste works on the real binary."""
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from process import wait_until
from webserver import message

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
INSTALLED = "/usr/local/bin/sandstorm-mcp"
ROOT = "/home/me/project"


def block(name):
    """The code block behind the marker <!-- test:name -->."""
    found = re.search(rf"<!-- test:{name} -->\n```\w*\n(.*?)```", README, re.S)
    assert found, f"the README has no block marked {name}"
    return found.group(1)


def first_answers(command, env, cwd):
    """initialize and tools/list over stdio, as a client that was registered so would send them."""
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    done = subprocess.run(command, input="".join(json.dumps(line) + "\n" for line in lines), env=env, cwd=cwd,
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def serves_the_host_tools(answers):
    names = [tool["name"] for tool in answers[1]["result"]["tools"]]
    return answers[0]["id"] == 1 and "file_read" in names and "terminal_exec" in names


def test_nobody_is_told_that_a_list_of_commands_is_a_boundary(binary, tmp_path):
    """X9: such lists are bypassed. Who may run commands has a shell, and a command is run however it is spelled."""
    assert re.search(r"Whoever may call `terminal_exec` has a shell with the rights of this process", README)
    assert not re.search(r"(forbidden|blocked|denied|dangerous) commands", README, re.I)
    (tmp_path / "f").touch()
    done = subprocess.run([str(binary), "call", "terminal_exec", json.dumps({"command": "$(echo r)m f; /bin/rm -f none"})],
                          env={"SANDSTORM_WORKSPACE_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"}, timeout=20)
    assert done.returncode == 0 and not (tmp_path / "f").exists()


def test_the_desktop_block_starts_a_server_with_the_host_tools(binary, tmp_path):
    entry = json.loads(block("claude-desktop"))["mcpServers"]["sandstorm"]
    assert (entry["command"], entry["env"]) == (INSTALLED, {"SANDSTORM_WORKSPACE_ROOT": ROOT})
    answers = first_answers([str(binary), *entry["args"]], {"SANDSTORM_WORKSPACE_ROOT": str(tmp_path)}, tmp_path)
    assert serves_the_host_tools(answers)


def test_the_claude_code_line_starts_a_server_with_the_host_tools(binary, tmp_path):
    words = shlex.split(block("claude-code"))
    assert words[:4] == ["claude", "mcp", "add", "sandstorm"]
    assert words[words.index("--env") + 1] == f"SANDSTORM_WORKSPACE_ROOT={ROOT}"
    command = words[words.index("--") + 1:]
    assert command[0] == INSTALLED
    answers = first_answers([str(binary), *command[1:]], {"SANDSTORM_WORKSPACE_ROOT": str(tmp_path)}, tmp_path)
    assert serves_the_host_tools(answers)


def test_the_lines_to_try_by_hand_work(binary, tmp_path):
    for line in block("shell").splitlines():
        words = shlex.split(line)
        assert words[0] == "sandstorm-mcp"
        done = subprocess.run([str(binary), *words[1:]], env={"SANDSTORM_WORKSPACE_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and done.stdout, line
    assert (tmp_path / "hello.txt").read_text() == "hello\n"


def test_the_lines_about_sessions_work(remote):
    script = block("sessions").replace("http://127.0.0.1:8080", f"http://127.0.0.1:{remote.port}").replace("TOKEN", remote.token)
    done = subprocess.run(["sh", "-ec", "curl() { command curl \"$@\"; echo; }\n" + script], capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 0, done.stderr
    ran, status, extended, deleted = (json.loads(line) for line in done.stdout.splitlines() if line)
    assert ran == {"exit_code": 0, "stdout": "log\n", "stderr": ""}
    assert (status["status"], status["type"], extended["ttl_remaining_minutes"]) == ("ready", "build", 45)
    assert deleted == {"success": True}


@pytest.mark.parametrize("client", ["Cursor", "VS Code", "Claude Desktop"])
def test_the_settings_of_clients_over_http_are_json_that_names_url_and_token(client):
    row = next(line for line in README.splitlines() if line.startswith(f"| {client} |"))
    text = next(part for part in re.findall(r"`([^`]*)`", row) if part.startswith("{"))
    flat = json.dumps(json.loads(text))
    assert "http://127.0.0.1:8080/mcp" in flat and "Bearer TOKEN" in flat


def test_the_tls_lines_make_a_server_that_its_clients_trust(binary, tmp_path, web):
    """Both commands as they stand there, but for the directory and the names."""
    made, served = block("tls").replace("\\\n", "").splitlines()
    place = tmp_path / "tls"
    words = shlex.split(made.replace("/etc/sandstorm-tls", str(place)), comments=True)
    assert words[:3] == ["sandstorm-mcp", "cert", "--host"]
    words[3] += ",localhost,127.0.0.1"
    subprocess.run([str(binary), *words[1:]], check=True, capture_output=True, timeout=20)
    words = shlex.split(served.replace("/etc/sandstorm-tls", str(place)))
    at = words.index("serve")
    w = web(args=words[at + 1:], address="0.0.0.0", tls=place)
    assert w.url.startswith("https://") and w.result("ping") == {}


def test_the_lines_that_change_the_token_end_the_old_one(web, binary, tmp_path):
    """Issue 7, point 7: as they stand there, but for the places of file and process."""
    path = tmp_path / "token"
    path.write_text("an-old-token-0123456789\n")
    w = web(token=None, env={"SANDSTORM_MCP_TOKEN_FILE": str(path)})
    w.token = "an-old-token-0123456789"
    assert w.result("ping") == {}
    pattern = re.search(r"pkill -HUP -o -f '(.+)'", block("rotate"))
    lines = block("rotate").replace("/etc/sandstorm-mcp.token", str(path)).replace(pattern[0], f"kill -HUP {w.pid}")
    subprocess.run(["sh", "-euc", lines.replace("sandstorm-mcp token", f"{shlex.quote(str(binary))} token")], check=True)
    wait_until(lambda: "token reread" in w.stderr_text(), "the new token")
    assert w.post(message("ping")).status == 401
    w.token = path.read_text().strip()
    assert w.post(message("ping")).status == 200
    # a server over stdio of the same machine would end at a HUP, and `kill "$(pidof ...)"` failed where there was one
    words = Path(f"/proc/{w.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    assert re.search(pattern[1], words) and not re.search(pattern[1], "/usr/local/bin/sandstorm-mcp --tools host ")
    assert not re.search(pattern[1], block("rotate")) and pattern[0] in block("acme-begin")
