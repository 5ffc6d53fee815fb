"""The command line: help, version, licences, tools, call, and what is said after a mistake.

Exit codes: 0 done, 1 failed at run time, 2 usage or configuration (decision 30).
"""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from contract import NAMES
from mcpwire import clean_environment
from process import busy, wait_until

HOST = {"SANDSTORM_TOOLS": "host"}


def mistake(done, *words):
    """Exit 2, nothing on stdout, `sandstorm-mcp: ...` with those words on stderr."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("sandstorm-mcp: ")
    assert all(word in done.stderr for word in words), done.stderr
    return done.stderr


# -- texts ---------------------------------------------------------------------------------------


def test_help_goes_to_stdout_fits_80_columns_and_lists_commands_and_variables(cli):
    """style section 6."""
    done = cli("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    for word in ("serve", "tools", "call", "--version", "--licenses", "--tools", "SANDSTORM_WORKSPACE_ROOT",
                 "/home/dev", "SANDSTORM_TOOLS", "SANDSTORM_READ_ONLY", "SANDSTORM_MAX_OUTPUT",
                 "1048576", "SANDSTORM_LOG_LEVEL", "INFO", "--env-file"):
        assert word in done.stdout, word
    assert len(done.stdout.splitlines()) < 60


def test_help_works_anywhere_and_with_a_broken_configuration(cli):
    """Whoever asks for help has a problem already."""
    text = cli("--help").stdout
    assert cli("--tools", "host", "--help").stdout == text
    done = cli("--help", env={"SANDSTORM_MAX_OUTPUT": "nonsense"})
    assert (done.returncode, done.stdout) == (0, text)


def test_version_says_what_is_inside(cli):
    """style section 6."""
    done = cli("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"sandstorm-mcp \d+\.\d+\.\d+ \(BearSSL 0\.6, musl 1\.2\.5 static, [a-z0-9_]+\)\n", done.stdout)


def test_the_version_is_the_one_told_on_the_wire(cli, host):
    """One number everywhere."""
    assert f"sandstorm-mcp {host.initialize()['serverInfo']['version']} " in cli("--version").stdout


def test_licenses_hold_the_notices_of_all_that_is_linked_in(cli):
    """MIT asks for the copyright and permission notice in all copies."""
    done = cli("--licenses")
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("Thomas Pornin", "Serge A. Zaitsev", "Rich Felker", "Apache License", "BearSSL", "jsmn", "musl"):
        assert words in done.stdout, words
    assert " ".join(done.stdout.split()).count("Permission is hereby granted, free of charge") >= 3


@pytest.mark.parametrize("argument", ["--help", "--version", "--licenses"])
def test_a_text_that_cannot_be_written_is_a_failure(binary, argument):
    """A full disk or a closed pipe is exit 1, not silence."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary, argument], stdout=full, stderr=subprocess.PIPE, timeout=10)
    assert done.returncode == 1


SANDBOX = ["list_templates", "list_snapshots", "spawn_sandboxes", "branch_sandbox", "touch_sandbox", "list_sandboxes",
           "get_sandbox", "exec_command", "eval_code", "wait_for_text", "ping_sandbox", "kill_sandbox",
           "delete_snapshot"]

# -- tools and call ------------------------------------------------------------------------------


def test_tools_lists_a_line_a_tool(cli):
    """README: subcommands. All there are, whichever a server would serve without --tools."""
    done = cli("tools")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == SANDBOX + NAMES
    assert all(len(line.split()) > 1 for line in lines)


def test_tools_as_json_are_those_of_the_wire(cli, host):
    """README: the documentation is made from it."""
    done = cli("tools", "--json", "--tools", "host")
    assert done.returncode == 0
    assert json.loads(done.stdout) == host.result("tools/list")["tools"]


def test_tools_obeys_the_choice_of_tools(cli):
    """One rule for every command."""
    assert cli("tools", "--tools", "host,-terminal_exec", "--read-only").stdout.split()[0] == "file_read"
    names = [line.split()[0] for line in cli("tools", env={"SANDSTORM_TOOLS": "file_move"}).stdout.splitlines()]
    assert names == ["file_move"]


def test_call_prints_the_text_and_ends_with_0(cli, workspace):
    """README: call TOOL [JSON]."""
    (workspace / "f").write_text("line one\nline two\n")
    done = cli("call", "file_read", '{"path":"f"}', env=HOST)
    assert (done.returncode, done.stdout) == (0, "line one\nline two\n")
    assert cli("call", "terminal_exec", '{"command":"echo hi"}').stdout == "stdout:\nhi\n\n\nexit_code: 0\n"


def test_call_takes_no_arguments_as_an_empty_object(cli):
    """README: call TOOL [JSON]."""
    done = cli("call", "workspace_info")
    assert done.returncode == 0 and "=== OS ===" in done.stdout


@pytest.mark.parametrize("tool, arguments, words", [
    ("file_read", '{"path":"none"}', "No such file or directory"),
    ("terminal_exec", '{"command":"exit 7"}', "exit_code: 7"),
    ("file_read", "{}", "Invalid arguments for file_read: path: required"),
    ("file_read", '{"path":"../x"}', "outside the allowed directory"),
])
def test_call_ends_with_1_when_the_tool_fails(cli, tool, arguments, words):
    """Exit code 1: failed at run time."""
    done = cli("call", tool, arguments)
    assert done.returncode == 1
    assert words in done.stdout


def test_call_of_an_unknown_tool_fails_and_names_it(cli):
    """Nothing on stdout that could be taken for a result."""
    done = cli("call", "nope", "{}")
    assert done.returncode in (1, 2)
    assert done.stdout == "" and "Unknown tool: nope" in done.stderr


@pytest.mark.parametrize("arguments", ["{", "", "nonsense", "[]", "5", '"x"', "{} x", "null"])
def test_call_with_arguments_that_are_no_json_object_is_a_mistake(cli, arguments):
    """Exit code 2."""
    mistake(cli("call", "workspace_info", arguments), "JSON")


@pytest.mark.parametrize("words", [[], ["a", "{}", "more"]])
def test_call_with_too_few_or_too_many_words_is_a_mistake(cli, words):
    """Exit code 2."""
    mistake(cli("call", *words))


def test_call_prints_a_large_text_whole(cli, workspace):
    """A mebibyte through a pipe."""
    (workspace / "f").write_text("0123456789abcde\n" * 65536)
    assert len(cli("call", "file_read", '{"path":"f"}').stdout) == 1 << 20


def test_call_obeys_the_choice_of_tools(cli, workspace):
    """--read-only holds for every command."""
    done = cli("call", "file_write", '{"path":"f","content":"x"}', "--read-only")
    assert done.returncode != 0 and not (workspace / "f").exists()


def test_a_signal_ends_call_and_its_command(binary, workspace, tmp_path):
    """Decision 29 for the command line as well."""
    process = subprocess.Popen([binary, "call", "terminal_exec", '{"command":"echo $$ > pid; exec sleep 60"}'],
                               env=clean_environment(workspace, {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    file = workspace / "pid"
    pid = wait_until(lambda: file.exists() and file.read_text().strip(), "the command")
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert time.monotonic() - started < 2 * busy()
    assert not os.path.exists(f"/proc/{int(pid)}")


# -- serving and mistakes ------------------------------------------------------------------------


def test_without_an_argument_the_sandbox_tools_are_served(server, tmp_path):
    """Names and forms: no argument = stdio, sandbox tools. Nothing of the host tools is set up."""
    s = server(tools=None, root=tmp_path / "not" / "made")
    assert [tool["name"] for tool in s.result("tools/list")["tools"]] == SANDBOX
    assert "CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set" in s.failure("list_templates")
    assert not (tmp_path / "not").exists()


def test_call_takes_a_sandbox_tool_without_a_choice_of_tools(cli, tmp_path):
    """The set is the one that has the tool."""
    done = cli("call", "list_sandboxes", root=tmp_path / "not" / "made")
    assert (done.returncode, done.stdout) == (
        1, "Error executing tool list_sandboxes: CERTIFICATE_VERIFY_FAILED: SANDSTORM_CA is not set\n")
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("env, words", [
    ({"SANDSTORM_URL": "http://127.0.0.1:8080"}, ["SANDSTORM_URL", "https://"]),
    ({"SANDSTORM_CA": "/does/not/exist.pem"}, ["SANDSTORM_CA", "/does/not/exist.pem", "No such file"]),
    ({"SANDSTORM_TOKEN": "a b"}, ["SANDSTORM_TOKEN", "printable"]),
    ({"SANDSTORM_TOKEN_FILE": "/does/not/exist"}, ["SANDSTORM_TOKEN_FILE", "/does/not/exist"]),
    ({"SANDSTORM_ROUTES": "/does/not/exist"}, ["SANDSTORM_ROUTES", "/does/not/exist"]),
    ({"SANDSTORM_TRACE": "/does/not/exist/trace"}, ["SANDSTORM_TRACE", "/does/not/exist/trace"]),
    ({"SANDSTORM_TRACE": "/dev/null"}, ["SANDSTORM_TRACE", "regular file"]),
    ({"SANDSTORM_MAX_OUTPUT": "2M"}, ["SANDSTORM_MAX_OUTPUT", "1048576"]),
])
def test_a_master_that_is_configured_wrongly_stops_the_start(cli, env, words):
    """Exit 2, one line, before anything is read: a client shows it at once."""
    text = mistake(cli(env=env), *words)
    assert text.count("\n") == 1


def test_the_line_of_a_bad_routes_file_is_told(cli, tmp_path):
    """Decision 31: errors name the line and the remedy."""
    path = tmp_path / "routes"
    path.write_text("# ours\ntouch_sandbox PUT /v2/{id}/wake\nlist_templates GET v2/templates\n")
    text = mistake(cli(env={"SANDSTORM_ROUTES": str(path)}), str(path), "line 3", "begins with /")
    assert text.count("\n") == 1


def test_a_master_that_the_host_tools_do_not_need_is_not_looked_at(server):
    """Whoever serves files has no use for SANDSTORM_CA, whatever it says."""
    s = server(env={"SANDSTORM_CA": "/does/not/exist.pem", "SANDSTORM_URL": "http://x"})
    assert s.text("file_list") is not None


def test_serve_without_a_token_names_the_variable_and_the_command_that_makes_one(cli):
    """Issue 4, point 3."""
    text = mistake(cli("serve"), "SANDSTORM_MCP_TOKEN", "sandstorm-mcp token")
    assert text.count("\n") == 1


def test_serve_stdio_serves_the_host_tools(server):
    """README: names and forms."""
    s = server(tools=None, args=["serve", "--stdio"])
    assert "file_read" in [tool["name"] for tool in s.result("tools/list")["tools"]]


def test_tools_may_be_chosen_by_the_environment_alone(server):
    """README: --tools LIST / SANDSTORM_TOOLS."""
    s = server(tools=None, env={"SANDSTORM_TOOLS": "host"})
    assert s.text("terminal_exec", command="echo hi").startswith("stdout:\nhi\n")


@pytest.mark.parametrize("arguments, words", [
    (["bogus"], ["bogus"]), (["--bogus"], ["--bogus"]), (["--tools", "host", "--bogus"], ["--bogus"]),
    (["--tools", "host", "bogus"], ["bogus"]), (["serve", "--stdio", "bogus"], ["bogus"]), (["-x"], ["-x"]),
    (["tools", "bogus"], ["bogus"]), (["--tools"], ["--tools"]), (["--tools", "host", "--env-file"], ["--env-file"]),
    (["--tools", "host", "--read-only=maybe"], ["--read-only", "maybe"]), ([""], []),
    (["tool"], ["tool"]), (["--vers"], ["--vers"]),
])
def test_a_mistake_is_told_on_stderr_with_exit_code_2(cli, arguments, words):
    """style section 6: program: what: on what: why."""
    mistake(cli(*arguments), *words)
