"""SANDSTORM_TRACE=FILE: the exchanges with the master as a person reads them, and no token in it (decision 31)."""

import os
import stat

import pytest

from sandbox import call_of, environment, proof, script


@pytest.fixture
def traced(sandbox, tmp_path):
    """traced(m): a server that traces, and a function that gives the file's text."""
    path = tmp_path / "trace"

    def start(m, **env):
        return sandbox(m, env={"SANDSTORM_TRACE": str(path), **env}), path.read_text
    return start


def test_the_file_belongs_to_its_owner_alone_also_where_it_was_there_before(traced, master, tmp_path):
    path = tmp_path / "trace"
    path.write_text("before\n")
    path.chmod(0o644)
    s, text = traced(master())
    s.value("list_templates")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text().startswith("before\n--- 1 ")


def test_requests_and_replies_are_told_whole(traced, master):
    m = master()
    s, text = traced(m)
    (box,) = s.spawn()
    s.exec(box, "echo", "hello there")
    for part in ("\nPOST /v1/sandboxes HTTP/1.1\n", f"\nHost: 127.0.0.1:{m.port}\n", "\nAuthorization: Bearer ***\n",
                 '\n{"template":"sh"}\n', "\nHTTP/1.1 201 ", f"\nPOST /v1/sandboxes/{box['id']}/exec HTTP/1.1\n",
                 "\nx-sandstorm-sandbox-token: ***\n", '"args":["echo","hello there"]', "hello there\\n"):
        assert part in text(), part


def test_no_token_stands_in_it_wherever_it_was_sent_or_echoed(traced, master):
    """All 13 tools, an error that repeats what it was sent, a reply that is cut inside of a token."""
    m = master()
    s, text = traced(m)
    (box,) = s.spawn()
    for tool in ("list_templates", "list_snapshots", "list_sandboxes", "get_sandbox", "exec_command", "eval_code",
                 "wait_for_text", "ping_sandbox", "touch_sandbox", "branch_sandbox"):
        s.call(tool, **call_of(tool, box))
    m.arm("echo", "POST", "/exec$")
    s.failure("exec_command", **script(box, "true"))
    m.arm("cut_body", "POST", "/v1/sandboxes$", after=60)
    s.failure("spawn_sandboxes", template="sh")
    m.arm("bare", "POST", "/exec$", text=f"{m.token} {box['token']}\r\n")
    s.failure("exec_command", **script(box, "true"))
    s.call("kill_sandbox", sandbox_id=box["id"])
    s.call("delete_snapshot", tag="t")
    found = [secret for secret in m.secrets() if secret in text()]
    assert found == []
    for secret in m.secrets():      # nor the first half of one
        assert secret[:len(secret) // 2] not in text()


def test_a_failed_call_says_what_came_and_why_there_is_no_more(traced, master):
    m = master()
    s, text = traced(m)
    m.arm("cut_body", "GET", "/v1/templates", after=9)
    s.failure("list_templates")
    assert " ms: the master closed the connection before the reply was complete (got 9 of " in text()


def test_a_long_reply_is_cut_in_the_trace_alone(traced, master):
    m = master()
    s, text = traced(m)
    (box,) = s.spawn()
    m.arm("large", "POST", "/exec$", size=1 << 20)
    s.value("exec_command", **proof(box), args=["true"])
    assert "[... " in text() and " bytes left out ...]" in text()
    assert len(text()) < 100_000


@pytest.mark.parametrize("kind", ["directory", "link", "missing folder", "device"])
def test_what_cannot_be_a_trace_is_a_mistake_in_the_configuration(cli, master, tmp_path, kind):
    path = {"directory": tmp_path, "link": tmp_path / "link", "missing folder": tmp_path / "no" / "trace",
            "device": "/dev/null"}[kind]
    if kind == "link":
        os.symlink(tmp_path / "elsewhere", path)
    m = master()
    ours = {name: value for name, value in environment(m).items() if os.environ.get(name) != value}
    done = cli(env={**ours, "SANDSTORM_TRACE": str(path)})
    assert done.returncode == 2 and "SANDSTORM_TRACE" in done.stderr and str(path) in done.stderr
    assert not (tmp_path / "elsewhere").exists()
    assert m.connections() == []
