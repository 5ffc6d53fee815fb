"""Arguments of tools: what is taken, what is refused and with which words (decision 3).

A wrong argument is a result with isError: `Invalid arguments for <tool>: <argument>: <rule>`. The rest of each rule's
meaning is the tools' own and tested there.
"""

import json

import pytest

from mcpwire import first_text


@pytest.fixture
def lines(host, workspace):
    """A server whose workspace holds `f`, ten numbered lines."""
    (workspace / "f").write_text("".join(f"{n}\n" for n in range(1, 11)))
    return host


def refusal(server, tool, /, **arguments):
    """The part of the refusal after the tool's name; the same in both eras."""
    text = server.failure(tool, **arguments)
    assert server.modern.failure(tool, **arguments) == text
    start = f"Invalid arguments for {tool}: "
    assert text.startswith(start), text
    assert "\n" not in text
    return text[len(start):]


def refusal_of_raw(server, tool, arguments):
    """The same for arguments given as JSON text."""
    server.send_raw(b'{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"' + tool.encode() +
                    b'","arguments":' + arguments.encode() + b"}}\n")
    result = server.wait("raw")["result"]
    assert result["isError"] is True
    return first_text(result).removeprefix(f"Invalid arguments for {tool}: ")


# -- taken: lossless forms -----------------------------------------------------------------------


@pytest.mark.parametrize("offset", [9, 9.0, "9", -2, "-2", -2.0])
def test_an_integer_may_be_written_in_any_lossless_form(lines, offset):
    """Decision 3: "5" and 5.0 for an integer."""
    assert lines.text("file_read", path="f", offset=offset) == "9\n10\n"


@pytest.mark.parametrize("recursive", [True, "true"])
def test_true_may_be_a_string(lines, workspace, recursive):
    """Decision 3."""
    assert lines.text("file_list", recursive=recursive).splitlines() == [f"{workspace}", f"{workspace}/f"]


@pytest.mark.parametrize("recursive", [False, "false"])
def test_false_may_be_a_string(lines, recursive):
    """Decision 3."""
    assert lines.text("file_list", recursive=recursive).startswith("total ")


@pytest.mark.parametrize("timeout", [5, 5.0, "5", "5.0", 5.25, "5.25", 0.5e1, 0, None])
def test_seconds_may_be_any_number_or_one_in_a_string(host, timeout):
    """Decisions 3 and 64: 0 and null are the default."""
    assert host.text("terminal_exec", command="echo hi", timeout=timeout) == "stdout:\nhi\n\n\nexit_code: 0"


@pytest.mark.parametrize("written, told", [("0.2", "0.2"), ('"0.2"', "0.2"), ("0.20", "0.2"), ("2e-1", "0.2")])
def test_the_time_limit_is_told_as_given(host, written, told):
    """host-tools section 4: `timeout after <t>s`."""
    host.send_raw(b'{"jsonrpc":"2.0","id":"t","method":"tools/call","params":{"name":"terminal_exec","arguments":'
                  b'{"command":"sleep 5","timeout":' + written.encode() + b"}}}\n")
    result = host.wait("t")["result"]
    assert result["isError"] is True
    assert first_text(result) == f"stderr:\ntimeout after {told}s\n\nexit_code: 124"


@pytest.mark.parametrize("content", ["5", "true", "null", " x ", "[1]", '{"a":1}', "", "1.0", "\u20ac", "\0"])
def test_strings_are_never_touched(host, workspace, content):
    """Decision 3."""
    host.text("file_write", path="w", content=content)
    assert (workspace / "w").read_bytes() == content.encode()


@pytest.mark.parametrize("name", ["5", "true", "null", " "])
def test_a_path_that_looks_like_something_else_is_a_path(host, workspace, name):
    """Decision 3."""
    host.text("file_write", path=name, content="x")
    assert (workspace / name).read_text() == "x"


@pytest.mark.parametrize("tool, arguments", [
    ("file_read", {"path": "f", "offset": None, "limit": None}),
    ("terminal_exec", {"command": "echo", "cwd": None, "timeout": None}),
])
def test_null_is_taken_where_the_schema_has_it(lines, tool, arguments):
    """Decision 46, host-tools.schema.json."""
    lines.text(tool, **arguments)


def test_arguments_are_found_in_any_order_and_with_escaped_names(host, workspace):
    """JSON has no order, and a name may be written with escapes."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"content":"x",'
                  b'"p\\u0061th":"o"},"name":"file_write"}}\n')
    assert not host.wait(1)["result"].get("isError")
    assert (workspace / "o").read_text() == "x"


# -- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [True, False, "abc", "", " ", "0x10", "NaN", "Infinity", 1.5, "1.5", [], [1], {},
                                    "1e", "1 2", "--1", "5x", "\u0665", "007", "-05", "00", " 5", "+5"])
def test_what_is_no_integer_is_refused(lines, offset):
    """Decision 3: true is not an integer; "007" is a name that looks like one, and would not come back as it was."""
    assert refusal(lines, "file_read", path="f", offset=offset) == "offset: must be an integer"


@pytest.mark.parametrize("offset", ["9223372036854775808", "1" + "0" * 400, "-99999999999999999999", "1e400", "1e19"])
def test_an_integer_beyond_all_bounds_is_refused_by_name(lines, offset):
    """Decision 3: no wrap around."""
    assert refusal_of_raw(lines, "file_read", '{"path":"f","offset":' + offset + "}").startswith("offset: ")


@pytest.mark.parametrize("arguments, name", [({"offset": 0}, "offset"), ({"limit": 0}, "limit"),
                                             ({"limit": -1}, "limit")])
def test_lines_are_counted_from_one(lines, arguments, name):
    """Decision 46."""
    assert refusal(lines, "file_read", path="f", **arguments).startswith(f"{name}: ")


@pytest.mark.parametrize("recursive", ["yes", "no", "True", "", "1", "0", 1, 0, 1.0, [], {}, None])
def test_what_is_no_boolean_is_refused(host, recursive):
    """Decision 3, fault 12; file_list refuses null."""
    assert refusal(host, "file_list", recursive=recursive) == "recursive: must be true or false"


@pytest.mark.parametrize("timeout", [True, False, "abc", "", "0x10", "NaN", "Infinity", "-", "1,5", [], {}, "5s"])
def test_what_is_no_number_of_seconds_is_refused(host, timeout):
    """Decision 3, fault 12."""
    assert refusal(host, "terminal_exec", command="true", timeout=timeout) == "timeout: must be a number of seconds"


@pytest.mark.parametrize("timeout", [-1, -0.5, "-1", -1e9, -1e300])
def test_a_negative_time_limit_is_refused(host, workspace, timeout):
    """Decision 64, fault 12."""
    assert refusal(host, "terminal_exec", command="touch ran", timeout=timeout) == "timeout: must not be negative"
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("written", ["1e300", '"1e300"', "1e19", "9223372036854775808", "301"])
def test_a_time_limit_beyond_all_bounds_is_the_longest(host, workspace, written):
    """Decision 64: above 300 it is 300, and the answer says so, however far above."""
    host.send_raw(b'{"jsonrpc":"2.0","id":"t","method":"tools/call","params":{"name":"terminal_exec","arguments":'
                  b'{"command":"echo hi","timeout":' + written.encode() + b"}}}\n")
    first, second = host.wait("t")["result"]["content"]
    assert first["text"] == "stdout:\nhi\n\n\nexit_code: 0" and "300" in second["text"]


@pytest.mark.parametrize("path", [5, 1.5, True, None, [], ["f"], {}])
def test_what_is_no_string_is_refused(host, path):
    """Decision 3."""
    assert refusal(host, "file_read", path=path) == "path: must be a string"


def test_null_is_refused_where_the_schema_lacks_it(host):
    """host-tools.schema.json: the path of file_list."""
    assert refusal(host, "file_list", path=None) == "path: must be a string"


@pytest.mark.parametrize("tool, arguments, name", [
    ("file_read", {}, "path"), ("file_write", {"path": "x"}, "content"), ("file_write", {"content": "x"}, "path"),
    ("file_delete", {}, "path"), ("file_move", {"source": "x"}, "dest"), ("file_move", {"dest": "x"}, "source"),
    ("file_mkdir", {}, "path"), ("terminal_exec", {"cwd": "."}, "command"),
])
def test_a_missing_argument_is_named(host, tool, arguments, name):
    """Decision 3, M6."""
    assert refusal(host, tool, **arguments) == f"{name}: required"


@pytest.mark.parametrize("tool, arguments", [
    ("file_read", {"path": "f"}), ("workspace_info", {}), ("terminal_exec", {"command": "touch ran"}),
    ("file_list", {}),
])
@pytest.mark.parametrize("name", ["bogus", "Path", "path ", "", "_meta", "\u20ac"])
def test_an_unknown_argument_is_refused_by_name_and_nothing_is_done(lines, workspace, tool, arguments, name):
    """Decision 32, M6."""
    text = refusal(lines, tool, **arguments, **{name: 1})
    assert text in (f"{name}: unknown argument", f"{json.dumps(name)[1:-1]}: unknown argument")
    assert not (workspace / "ran").exists()


def test_only_one_problem_is_told_at_a_time(host):
    """One line, one argument."""
    text = refusal(host, "file_write", path=5, content=6, bogus=7)
    assert text in ("path: must be a string", "content: must be a string", "bogus: unknown argument")


def test_an_argument_given_twice_is_refused(host):
    """F7."""
    assert refusal_of_raw(host, "file_read", '{"path":"a","path":"a"}') == "path: given twice"
    assert refusal_of_raw(host, "file_read", '{"path":"a","p\\u0061th":"b"}') == "path: given twice"


@pytest.mark.parametrize("path", ["a\0b", "\0", "a\0"])
@pytest.mark.parametrize("tool, name", [("file_read", "path"), ("file_delete", "path"), ("file_mkdir", "path"),
                                        ("file_list", "path")])
def test_a_path_with_a_nul_is_refused_and_not_cut_there(host, workspace, tool, name, path):
    """P10."""
    (workspace / "a").write_text("x")
    assert refusal(host, tool, **{name: path}) == f"{name}: must not contain a NUL character"
    assert (workspace / "a").read_text() == "x"


def test_a_command_with_a_nul_is_refused(host):
    """A command is handed to execve, which would cut it there."""
    assert refusal(host, "terminal_exec", command="echo a\0b") == "command: must not contain a NUL character"


@pytest.mark.parametrize("arguments", [
    '{"path":"\\ud83d"}', '{"path":"a\\udc00b"}',
])
def test_half_a_surrogate_pair_is_refused_by_name(host, arguments):
    """Decision 55."""
    assert refusal_of_raw(host, "file_read", arguments).startswith("path: ")


def test_an_unknown_name_of_any_length_or_content_gives_a_bounded_refusal(host):
    """The name comes from the client and goes back into JSON."""
    host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_read","arguments":'
                  b'{"path":"f","\\ud800\\u0000' + b"n" * 100_000 + b'":1}}}\n')
    result = host.wait(1)["result"]
    assert result["isError"] is True
    assert len(json.dumps(result)) < 10_000
    assert host.result("ping") == {}


def test_a_refused_call_is_followed_by_good_ones(lines):
    """No state is left behind."""
    for _ in range(200):
        lines.failure("file_read", path="f", offset="x")
    assert lines.text("file_read", path="f", limit=1) == "1\n"
