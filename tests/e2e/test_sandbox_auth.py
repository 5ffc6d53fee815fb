"""Both tokens: where they are sent, what is said when one is wrong, and that neither turns up anywhere else.

sandbox-tools.md section 5.2; E3, P14, P15, P25. That no log holds a token is asserted at the end of every test with the
fixture `sandbox`.
"""

import pytest

from master.routes import SANDBOX_TOKEN
from sandbox import CALLS, INSIDE, NAMES, call_of, proof

REFUSED = "the API token or the sandbox token was refused"


@pytest.mark.parametrize("status", [401, 403])
def test_the_api_token_is_needed_by_all_thirteen(master, sandbox, status):
    """E3: wrong, then missing."""
    m = master(auth=status)
    for token, told in (("wrong", REFUSED), (None, "SANDSTORM_TOKEN is not set"), ("", "SANDSTORM_TOKEN is not set")):
        s = sandbox(m, token=token)
        for tool in NAMES:
            text = s.failure(tool, **call_of(tool, {"id": "sb-1", "token": "t0ken"}))
            assert told in text and f" {status} " in text, (tool, text)
    assert m.world.living() == []
    assert {r.get("authorization") for r in m.requests()} == {"Bearer wrong", None}


@pytest.mark.parametrize("tool", INSIDE)
def test_the_sandbox_token_is_needed_inside(master, sandbox, tool):
    """E3: missing, wrong, that of another sandbox."""
    m = master()
    s = sandbox(m)
    one, two = s.spawn(2)
    given = call_of(tool, one)
    assert "sandbox_token is missing: pass the token that spawn_sandboxes returned for this sandbox" in s.failure(
        tool, **{**given, "sandbox_token": None})
    for token in ("wrong", two["token"]):
        assert REFUSED in s.failure(tool, **{**given, "sandbox_token": token})
    s.value(tool, **given)


def test_each_token_is_sent_where_it_belongs(master, sandbox):
    """H2: the sandbox's token on four tools, never on others, also when a client passes it along."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    for tool in NAMES:
        if tool != "kill_sandbox":
            m.forget()
            s.value(tool, **{**call_of(tool, box), "sandbox_token": box["token"]})
            tokens = [r.all(SANDBOX_TOKEN) for r in m.requests() if r.target != "/version"]
            assert tokens and all(t == ([box["token"]] if tool in INSIDE else []) for t in tokens), tool
            assert all(r.all("authorization") == [f"Bearer {m.token}"] for r in m.requests())


def test_a_sandbox_token_is_not_kept(master, sandbox):
    """P15: an exec without it carries none."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    s.exec(box, "true")
    s.failure("exec_command", sandbox_id=box["id"], args=["true"])
    assert m.requests("POST", "/exec$")[-1].get(SANDBOX_TOKEN) is None


def test_a_sandbox_token_does_not_stay_in_memory(master, sandbox):
    """P15: gone once the next call has finished."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    s.exec(box, "true")
    s.value("ping_sandbox", **proof(box))
    s.value("list_sandboxes")
    assert s.memory_holds(m.token.encode()), "what is looked for can be found"
    assert not s.memory_holds(box["token"].encode())


def test_a_master_that_echoes_headers_gives_no_token_away(master, sandbox):
    """P14, for each tool."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    for tool in CALLS:
        # no poll follows: wait_for_text takes a 500 for a passing trouble, so that it shows as last_error
        m.arm("echo", times=1)
        if tool == "wait_for_text":
            text = s.value(tool, **call_of(tool, box))["last_error"]
        else:
            text = s.failure(tool, **call_of(tool, box))
        assert "cannot handle" in text and "***" in text, (tool, text)
        assert m.token not in text and box["token"] not in text


@pytest.mark.parametrize("where", ["page", "text", "reason", "location", "retry"])
def test_nor_does_one_that_has_them_elsewhere(master, sandbox, where):
    """P14: in a page, in plain text, in the status line, in fields that are told."""
    m = master()
    s = sandbox(m)
    (box,) = s.spawn()
    for tool in ("exec_command", "ping_sandbox", "get_sandbox", "spawn_sandboxes"):
        m.arm("echo", where=where)
        text = s.failure(tool, **call_of(tool, box))
        for secret in (m.token, box["token"]):
            assert secret not in text and secret[:12] not in text, text


def test_a_part_of_a_token_at_the_cut_is_not_shown_either(master, sandbox):
    """P14: error texts are cut at 1 KiB; the mask comes before the cut."""
    m = master()
    s = sandbox(m)
    for filling in range(960, 1030, 7):
        m.arm("status", status=500, text="x" * filling + m.token)
        text = s.failure("list_sandboxes")
        assert m.token[:12] not in text, filling


# -- the variable -------------------------------------------------------------------------------------------------


def test_white_space_around_the_token_is_removed(master, sandbox):
    """P25: a token file ends in a newline."""
    m = master()
    assert sandbox(m, token=f"  {m.token}\r\n").value("list_snapshots")


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "left right", "caf\u00e9", "left\tright", "a" * 1025],
                         ids=["line ends", "blank", "not ASCII", "tab", "too long"])
def test_other_bytes_in_the_token_stop_the_start(master, cli, token):
    """P25: exit status 2, the variable is named, the value is not."""
    m = master()
    done = cli(env={"SANDSTORM_URL": m.url, "SANDSTORM_CA": str(m.ca), "SANDSTORM_TOKEN": token})
    assert done.returncode == 2 and "SANDSTORM_TOKEN" in done.stderr and done.stdout == ""
    assert token not in done.stderr and "X-Evil" not in done.stderr


def test_the_token_may_come_from_a_file(master, sandbox, tmp_path):
    """Decision 25."""
    m = master()
    path = tmp_path / "api-token"
    path.write_text(m.token + "\n")
    s = sandbox(m, token=None, env={"SANDSTORM_TOKEN_FILE": str(path)})
    assert s.value("list_templates")


def test_the_token_is_not_in_the_process_environment(master, sandbox):
    """Decision 15: taken out at start."""
    m = master()
    s = sandbox(m)
    s.value("list_templates")
    with open(f"/proc/{s.pid}/environ", "rb") as f:
        assert m.token.encode() not in f.read()


def test_the_trace_masks_both(master, sandbox, tmp_path):
    """Issue 6: SANDSTORM_TRACE writes each exchange, secrets masked."""
    m = master()
    trace = tmp_path / "trace"
    s = sandbox(m, env={"SANDSTORM_TRACE": str(trace)})
    (box,) = s.spawn()
    s.exec(box, "echo", "traced-words")
    s.failure("get_sandbox", sandbox_id="none")
    text = trace.read_text()
    assert "POST /v1/sandboxes" in text and f"/v1/sandboxes/{box['id']}/exec" in text and "/v1/sandboxes/none" in text
    assert "404" in text
    assert not [secret for secret in m.secrets() if secret in text]
    assert trace.stat().st_mode & 0o077 == 0
