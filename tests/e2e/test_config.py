"""Configuration: where values come from, which one wins, what a wrong one does; the choice of tools; read-only.

Decision 61: flags, then environment, then --env-file, then defaults. Every complaint is one line and exit code 2.
"""

import pytest

from contract import NAMES as ALL
from contract import READERS


def names(server):
    return [tool["name"] for tool in server.result("tools/list")["tools"]]


def complaint(done, *words):
    """One line on stderr that holds the words, nothing on stdout, exit code 2."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("sandstorm-mcp: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.fixture
def env_file(tmp_path):
    def write(text):
        path = tmp_path / "server.env"
        path.write_text(text)
        return ["--env-file", path]
    return write


@pytest.fixture
def roots(tmp_path):
    """Three directories, each with a file `which` that holds the directory's name."""
    made = {}
    for name in ("flag", "env", "file"):
        made[name] = tmp_path / name
        made[name].mkdir()
        (made[name] / "which").write_text(name)
    return made


# -- order ---------------------------------------------------------------------------------------


def test_a_flag_wins_over_the_environment_and_the_file(server, roots, env_file):
    """Decision 61."""
    s = server(args=["--workspace-root", roots["flag"], *env_file(f"SANDSTORM_WORKSPACE_ROOT={roots['file']}\n")],
               root=roots["env"])
    assert s.text("file_read", path="which") == "flag"


def test_the_environment_wins_over_the_file(server, roots, env_file):
    """Decision 61."""
    s = server(args=env_file(f"SANDSTORM_WORKSPACE_ROOT={roots['file']}\n"), root=roots["env"])
    assert s.text("file_read", path="which") == "env"


def test_the_file_wins_over_the_default(server, roots, env_file):
    """Decision 61."""
    s = server(args=env_file(f"SANDSTORM_WORKSPACE_ROOT={roots['file']}\n"), root=None)
    assert s.text("file_read", path="which") == "file"


def test_an_empty_variable_counts_as_unset(server, roots, env_file):
    """host-tools section 1: empty = unset."""
    s = server(args=env_file(f"SANDSTORM_WORKSPACE_ROOT={roots['file']}\n"),
               env={"SANDSTORM_WORKSPACE_ROOT": "", "SANDSTORM_READ_ONLY": "", "SANDSTORM_MAX_OUTPUT": ""}, root=None)
    assert s.text("file_read", path="which") == "file"
    assert names(s) == ALL


def test_the_default_root_is_home_dev(cli):
    """host-tools section 1: told by --help; the schema of file_list shows it."""
    assert "/home/dev" in cli("--help").stdout


def test_flags_may_be_written_with_an_equals_sign_and_stand_anywhere(server, roots):
    """Both forms of the usual command line."""
    s = server(tools=None, args=[f"--workspace-root={roots['flag']}", "--tools=host"], root=roots["env"])
    assert s.text("file_read", path="which") == "flag"


# -- the file ------------------------------------------------------------------------------------


def test_the_file_takes_comments_export_quotes_and_blanks(server, env_file):
    """Decision 61."""
    s = server(args=env_file("# a comment\n\n   # another\nexport ONE=1\nTWO = \"two words\"\nTHREE='a \"b\" c'\n"
                             "  FOUR=x=y # z\nEMPTY=\nFIVE=\"unclosed\nSANDSTORM_READ_ONLY=0"))
    text = s.text("terminal_exec", command='printf "[%s]" "$ONE" "$TWO" "$THREE" "$FIVE" "${EMPTY-unset}"')
    assert text.startswith('stdout:\n[1][two words][a "b" c]["unclosed][]')


def test_what_is_not_ours_in_the_file_goes_to_the_children_and_ours_does_not(server, env_file):
    """Decision 61."""
    s = server(args=env_file("EDITOR=ed\nSANDSTORM_MAX_OUTPUT=8192\n"))
    text = s.text("terminal_exec", command="env")
    assert "EDITOR=ed\n" in text and "SANDSTORM_MAX_OUTPUT" not in text


def test_the_environment_wins_for_children_too(server, env_file):
    """Decision 61."""
    s = server(args=env_file("WHO=file\n"), env={"WHO": "environment"})
    assert s.text("terminal_exec", command="echo $WHO") == "stdout:\nenvironment\n\n\nexit_code: 0"


def test_secrets_in_the_file_do_not_reach_the_children(server, env_file):
    """Decision 15."""
    s = server(args=env_file("SANDSTORM_MCP_TOKEN=hush-0123456789abcdef\nMY_KEY=hush-2\nSANDSTORM_SCRUB_ENV=MY_KEY\n"))
    assert "hush" not in s.text("terminal_exec", command="env")


def test_a_file_with_cr_lf_means_the_same(server, env_file, roots):
    """Edited on Windows."""
    s = server(args=env_file(f"SANDSTORM_WORKSPACE_ROOT={roots['file']}\r\nWHO=me\r\n"), root=None)
    assert s.text("file_read", path="which") == "file"
    assert s.text("terminal_exec", command="echo \"[$WHO]\"").startswith("stdout:\n[me]\n")


@pytest.mark.parametrize("text", ["nonsense\n", "=value\n", "A B=c\n", "OK=1\n1A=x\n"])
def test_a_line_that_is_no_assignment_is_told_by_file_and_line(cli, env_file, text):
    """One line, exit 2."""
    arguments = env_file(text)
    complaint(cli("--tools", "host", *arguments), str(arguments[1]), str(len(text.splitlines())))


def test_a_file_that_cannot_be_read_is_told_by_name(cli, tmp_path):
    """One line, exit 2."""
    complaint(cli("--tools", "host", "--env-file", tmp_path / "none"), "none", "No such file or directory")
    complaint(cli("--tools", "host", "--env-file", tmp_path), str(tmp_path), "Is a directory")


def test_a_huge_file_is_refused(cli, env_file):
    """Bounded memory."""
    complaint(cli("--tools", "host", *env_file("A=" + "x" * 100_000 + "\n")), "server.env", "limit")


# -- wrong values --------------------------------------------------------------------------------


@pytest.mark.parametrize("name, value", [
    ("SANDSTORM_MAX_OUTPUT", "abc"), ("SANDSTORM_MAX_OUTPUT", "-1"), ("SANDSTORM_MAX_OUTPUT", "1.5"),
    ("SANDSTORM_MAX_OUTPUT", "0x1000"), ("SANDSTORM_MAX_OUTPUT", "99999999999999999999"),
    ("SANDSTORM_MAX_OUTPUT", "10485761"), ("SANDSTORM_MAX_OUTPUT", "0"), ("SANDSTORM_READ_ONLY", "maybe"),
    ("SANDSTORM_LOG_LEVEL", "LOUD"), ("SANDSTORM_LOG_FORMAT", "xml"), ("SANDSTORM_STOP_GRACE", "soon"),
    ("SANDSTORM_STOP_GRACE", "-1"), ("SANDSTORM_STRUCTURED_RESULTS", "2"), ("SANDSTORM_TOOLS", "host,bogus"),
])
@pytest.mark.parametrize("by", ["environment", "flag", "file"])
def test_a_wrong_value_is_one_line_that_names_it_and_exit_2(cli, env_file, name, value, by):
    """Decision 30: every configuration error, wherever the value came from."""
    flag = "--" + name.removeprefix("SANDSTORM_").lower().replace("_", "-")
    arguments = ["serve", "--stdio"]
    if by == "flag":
        done = cli(*arguments, f"{flag}={value}")
    elif by == "file":
        done = cli(*arguments, *env_file(f"{name}={value}\n"))
    else:
        done = cli(*arguments, env={name: value})
    complaint(done, value.split(",")[-1])
    assert name in done.stderr or flag in done.stderr


def test_a_newline_in_a_value_does_not_make_a_second_line(cli):
    """One line, also then."""
    complaint(cli("serve", "--stdio", env={"SANDSTORM_LOG_LEVEL": "A\nB"}), "SANDSTORM_LOG_LEVEL")


def test_a_root_that_is_a_file_is_refused(cli, tmp_path):
    """Nothing could be served."""
    (tmp_path / "plain").write_text("")
    complaint(cli("serve", "--stdio", root=tmp_path / "plain"), "plain", "Not a directory")


# -- the choice of tools -------------------------------------------------------------------------


@pytest.mark.parametrize("choice, expected", [
    ("host", ALL), ("host,-terminal_exec", [n for n in ALL if n != "terminal_exec"]),
    ("file_list,file_read", ["file_read", "file_list"]), ("host,host,file_read", ALL),
    (" host , -file_delete ", [n for n in ALL if n != "file_delete"]),
    ("host," + ",".join(f"-{name}" for name in ALL if name not in READERS), READERS),
    ("workspace_info,-terminal_exec", ["workspace_info"]), ("host,-terminal_exec,terminal_exec", ALL),
])
@pytest.mark.parametrize("by", ["flag", "environment"])
def test_tools_are_chosen_by_sets_names_and_exceptions(server, choice, expected, by):
    """README: names and forms; each tool is listed once."""
    s = server(tools=choice) if by == "flag" else server(tools=None, env={"SANDSTORM_TOOLS": choice})
    assert sorted(names(s)) == sorted(expected)


def test_a_tool_left_out_is_unknown(server, workspace):
    """Listed and callable are the same."""
    s = server(tools="host,-terminal_exec")
    for speak in (s, s.modern):
        error = speak.error("tools/call", {"name": "terminal_exec", "arguments": {"command": "touch ran"}})
        assert (error["code"], error["message"]) == (-32602, "Unknown tool: terminal_exec")
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("choice, word", [
    ("bogus", "bogus"), ("host,bogus", "bogus"), ("host,-bogus", "bogus"), ("HOST", "HOST"),
    ("git_stash", "git_stash"), ("file_", "file_"), ("Sandbox", "Sandbox"), ("host,-host", ""), (",", ""),
])
def test_a_name_that_is_no_set_or_tool_is_refused(cli, choice, word):
    """Exit 2; so is a choice that leaves nothing."""
    complaint(cli("--tools", choice), word)


def test_the_flag_wins_over_the_variable(server):
    """Decision 61 for the choice of tools."""
    assert names(server(tools="file_read", env={"SANDSTORM_TOOLS": "file_write"})) == ["file_read"]


# -- read-only -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"args": ["--read-only"]}, {"env": {"SANDSTORM_READ_ONLY": "1"}},
                                 {"env": {"SANDSTORM_READ_ONLY": "true"}}])
def test_read_only_lists_and_serves_only_what_changes_nothing(server, workspace, how):
    """README: names and forms."""
    (workspace / "f").write_text("kept")
    s = server(**how)
    assert names(s) == READERS
    assert all(tool["annotations"]["readOnlyHint"] for tool in s.result("tools/list")["tools"])
    for name, arguments in (("file_write", {"path": "f", "content": ""}), ("file_delete", {"path": "f"}),
                            ("file_move", {"source": "f", "dest": "g"}), ("file_mkdir", {"path": "d"}),
                            ("terminal_exec", {"command": "rm f"})):
        error = s.error("tools/call", {"name": name, "arguments": arguments})
        assert (error["code"], error["message"]) == (-32602, f"Unknown tool: {name}")
    assert s.text("file_read", path="f") == "kept"
    assert [p.name for p in workspace.iterdir()] == ["f"]


@pytest.mark.parametrize("value", ["0", "false"])
def test_read_only_can_be_switched_off(server, value):
    """README: names and forms."""
    assert names(server(env={"SANDSTORM_READ_ONLY": value})) == ALL


def test_read_only_holds_for_tools_named_one_by_one(server):
    """A choice cannot bring back what read-only takes away."""
    assert names(server(tools="file_write,file_read", args=["--read-only"])) == ["file_read"]


# -- the output bound ----------------------------------------------------------------------------


def test_the_output_bound_holds_for_each_stream(server):
    """Decision 9: first and last half, with the number of bytes left out."""
    s = server(env={"SANDSTORM_MAX_OUTPUT": "4096"})
    text = s.text("terminal_exec", command="seq 1 100000; seq 1 100000 >&2")
    assert text.count("bytes omitted of 588895 ...]") == 2
    assert len(text) < 2 * 4096 + 300
    assert text.startswith("stdout:\n1\n2\n3\n") and "99999\n100000\n" in text


def test_the_output_bound_holds_for_files(server, workspace):
    """Decision 9: an error that gives size, line count and how to ask for a range."""
    (workspace / "f").write_text("123456789\n" * 410)
    s = server(args=["--max-output", "4096"])
    text = s.failure("file_read", path="f")
    assert text == (f"Error: {workspace}/f: file of 4100 bytes (410 lines) is over the limit of 4096 bytes; "
                    "ask for a part with offset and limit")
    assert s.text("file_read", path="f", offset=410) == "123456789\n"


def test_the_output_bound_takes_binary_multiples(server):
    """README: configuration."""
    assert "omitted of 20000 ..." in server(env={"SANDSTORM_MAX_OUTPUT": "16K"}).text(
        "terminal_exec", command="head -c 20000 /dev/zero | tr '\\0' x")
