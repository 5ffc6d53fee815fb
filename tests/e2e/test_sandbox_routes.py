"""SANDSTORM_ROUTES: a newer master's routes and names without a rebuild.

Issue 6, point 6; decision 31.
"""

import pytest

from sandbox import one_sandbox, proof


def corrected(master, sandbox, tmp_path, text, **settings):
    path = tmp_path / "routes"
    path.write_text(text)
    m = master(**settings)
    return m, sandbox(m, env={"SANDSTORM_ROUTES": str(path)})


def test_a_row_is_another(master, sandbox, tmp_path):
    """Method, path and the names in the body; rows that are not named stay as they are."""
    m, s = corrected(master, sandbox, tmp_path, "# our master is newer\n\n"
                     "list_templates GET /v1/snapshots?kind=template\r\n"
                     "exec_command PUT /v2/boxes/{id}/run?x=1 args=argv timeout_secs=limit\n"
                     "delete_snapshot POST /v2/forget/{tag}\n")
    assert [t["tag"] for t in s.value("list_templates")] == ["base"]
    (box,) = s.spawn()
    s.failure("exec_command", sandbox_id="a b", args=["true"], timeout_secs=7, sandbox_token="t")
    s.failure("delete_snapshot", tag="t1")
    seen = [r for r in m.requests() if r.path.startswith("/v2")]
    assert [(r.method, r.target) for r in seen] == [("PUT", "/v2/boxes/a%20b/run?x=1"), ("POST", "/v2/forget/t1")]
    assert seen[0].json() == {"argv": ["true"], "limit": 7}
    assert s.value("ping_sandbox", **proof(box))["pong"] is True


def test_wait_for_text_goes_by_the_row_of_exec(master, sandbox, tmp_path):
    m, s = corrected(master, sandbox, tmp_path, "exec_command POST /v2/{id}/run\n")
    (box,) = s.spawn()
    assert "/v2/{id}/run" in s.failure("wait_for_text", **proof(box), path="/dev/null", marker="x")
    assert [r.path for r in m.requests("POST")[1:]] == [f"/v2/{box['id']}/run"]


def test_words_are_others(master, sandbox, tmp_path):
    """The second table: what a state is called, the header of the sandbox's token."""
    m, s = corrected(master, sandbox, tmp_path, "started = starting\nheader = x-box-token\n", fate="stuck")
    (box,) = s.spawn()
    assert box["state"] == "starting" and m.requests("GET") == []
    assert "missing sandbox token" in s.failure("ping_sandbox", **proof(box))
    assert m.requests("POST", "/ping$")[0].get("x-box-token") == box["token"]


@pytest.mark.parametrize("text, line", [
    ("list_templates GET v1/x", 1), ("\nno_such_tool GET /x", 2), ("list_templates FETCH /x", 1),
    ("get_sandbox GET /{tag}", 1), ("list_templates GET /{id}", 1), ("# fine\n\nexec_command POST /x nothing=x", 3),
    ("colours = red", 1), ("started =", 1), ("list_templates", 1), ("wait_for_text POST /x", 1),
    ("get_sandbox GET /a{id", 1), ("exec_command POST /x args=a:b", 1)])
def test_a_mistake_stops_the_start(cli, tmp_path, text, line):
    """With the file, the line and what to do."""
    path = tmp_path / "routes"
    path.write_text(text + "\n")
    done = cli(env={"SANDSTORM_ROUTES": str(path)})
    assert done.returncode == 2 and f"{path} line {line}: " in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_stops_the_start(cli, tmp_path):
    done = cli(env={"SANDSTORM_ROUTES": str(tmp_path / "none")})
    assert done.returncode == 2 and "SANDSTORM_ROUTES" in done.stderr and "No such file" in done.stderr


def test_without_one_nothing_differs(master, sandbox):
    m, s, box = one_sandbox(master, sandbox, env={"SANDSTORM_ROUTES": ""})
    assert s.exec(box, "echo", "hi")["stdout"] == "hi\n"
