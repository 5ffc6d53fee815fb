"""The methods in both eras, and the list of tools; their schemas are in test_schemas.py.

Section numbers are those of the protocol notes (mcp.md); M rows those of the field cases.
"""

import json

import jsonschema
import pytest

from mcpwire import LEGACY, PREFIX, first_text, same_id
from sandbox import NAMES as SANDBOX_NAMES
from sandbox import call_of, variables
from webserver import message, modern_message

NO_METHOD, PARAMS = -32601, -32602
UNKNOWN = ["prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
           "resources/subscribe", "completion/complete", "tasks/list", "tasks/get", "logging/setLevel", "no/such",
           "", "tools", "tools/list/", "Tools/List", "PING", "rpc.discover", "notifications/initialized",
           "notifications/cancelled"]


@pytest.fixture
def tools(host):
    return {tool["name"]: tool for tool in host.result("tools/list")["tools"]}


# -- methods -------------------------------------------------------------------------------------


def test_ping_is_answered_with_an_empty_object_also_before_initialize(peer):
    """M5, mcp.md section 3."""
    for params in (None, {}):
        assert peer.ask(message("ping", params))["result"] == {}
        assert b'"result":{}' in peer.raw
        peer.agree("2025-11-25")


@pytest.mark.parametrize("method", UNKNOWN + ["subscriptions/listen"])
def test_what_the_legacy_era_does_not_serve_is_an_unknown_method_by_name(host, method):
    """Fault 47, mcp.md section 3. A notification's name with an id is a request."""
    host.initialize()
    error = host.error(method)
    assert error["code"] == NO_METHOD
    assert error["message"] == f"Method not found: {method}"


@pytest.mark.parametrize("method", UNKNOWN + ["ping", "initialize"])
def test_what_the_modern_era_does_not_serve_is_an_unknown_method_by_name(host, method):
    """mcp.md section 3."""
    error = host.modern.error(method, {"level": "debug"} if method == "logging/setLevel" else None)
    assert error["code"] == NO_METHOD
    assert error["message"] == f"Method not found: {method}"


def test_there_is_no_logging_to_set(peer):
    """M5: -32601 in both eras."""
    for make in (message, modern_message):
        error = peer.refuses(make("logging/setLevel", {"level": "debug"}), NO_METHOD, 1)
        assert error["message"] == "Method not found: logging/setLevel"


def test_a_long_unknown_method_is_answered_with_a_short_sentence(host):
    """mcp.md section 7: message is one short sentence."""
    error = host.error("m" * 100_000)
    assert error["code"] == NO_METHOD and len(error["message"]) < 1000


@pytest.mark.parametrize("id", [7, "listen-1", "a\"b"])
def test_listen_is_acknowledged_and_ended_at_once(host, id):
    """mcp.md sections 6 and 10: two lines, both with the request's id as subscription id."""
    host.modern.start_request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=id)
    first, second = host.read_message(), host.read_message()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {}
    assert same_id(first["params"]["_meta"][PREFIX + "subscriptionId"], id)
    assert same_id(second["id"], id)
    assert second["result"]["resultType"] == "complete"
    assert same_id(second["result"]["_meta"][PREFIX + "subscriptionId"], id)
    assert host.fence() == []


@pytest.mark.parametrize("cursor", ["", "abc", "0", "eyJhIjoxfQ==", 5, {}, []])
def test_any_cursor_is_refused_because_there_is_one_page(host, cursor):
    """mcp.md section 5: an empty string is a cursor."""
    assert host.error("tools/list", {"cursor": cursor})["code"] == PARAMS
    assert host.modern.error("tools/list", {"cursor": cursor})["code"] == PARAMS


def test_the_list_has_one_page(host):
    """mcp.md section 5."""
    assert "nextCursor" not in host.result("tools/list")
    assert "nextCursor" not in host.modern.result("tools/list")


# -- the list of tools ---------------------------------------------------------------------------


def test_the_list_is_the_same_bytes_every_time(host):
    """mcp.md section 5: deterministic order."""
    for _ in range(3):
        host.request("tools/list", id="same")
    assert len({message.raw for message in host.history}) == 1


def test_the_first_tool_is_harmless_and_answers_a_call_without_arguments(host):
    """mcp.md section 5: the conformance suite calls it so."""
    first = host.result("tools/list")["tools"][0]
    assert first["annotations"]["readOnlyHint"] is True
    assert isinstance(host.call(first["name"])["content"], list)


# -- tools/call ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nope", "", "File_read", "file_read ", "file", "git", "fork_sandbox", "\u20ac",
                                  "file_read\0"])
def test_an_unknown_tool_is_an_error_that_names_it(peer, name):
    """M6, mcp.md section 5: never a result; names are case-sensitive."""
    for speak in (peer, peer.modern):
        error = speak.error("tools/call", {"name": name, "arguments": {}})
        assert error["code"] == PARAMS
        assert error["message"] == f"Unknown tool: {name}" or "\0" in name


def test_an_unknown_tool_comes_before_its_arguments(peer):
    """M6."""
    assert peer.error("tools/call", {"name": "nope", "arguments": {"x": 1}})["message"] == "Unknown tool: nope"


@pytest.mark.parametrize("arguments, told", [
    ({"path": "f", "bogus": 1}, "bogus: unknown argument"), ({"path": 5}, "path: must be a string"),
    ({"path": "f", "offset": "x"}, "offset: must be an integer"), ({}, "path: required"),
])
def test_a_bad_argument_is_a_result_that_names_it_and_the_rule(peer, arguments, told):
    """M6, decision 3; each rule by itself is tested in test_arguments.py."""
    for speak in (peer, peer.modern):
        assert speak.failure("file_read", **arguments) == f"Invalid arguments for file_read: {told}"


def test_results_have_text_content_and_a_flag(peer, workspace):
    """Fault 64, mcp.md section 5, M4: the text goes out once, no structuredContent without a schema."""
    (workspace / "f").write_text("t")
    good, bad = peer.call("file_read", path="f"), peer.call("file_read", path="g")
    assert good["content"] == [{"type": "text", "text": "t"}]
    assert good.get("isError", False) is False
    assert bad["isError"] is True
    assert bad["content"] == [{"type": "text", "text": f"Error: {workspace}/g: No such file or directory"}]
    assert "structuredContent" not in good and "structuredContent" not in bad


def test_an_empty_text_is_still_a_content_block(host, workspace):
    """mcp.md section 5: content is required, also when empty."""
    (workspace / "empty").write_text("")
    assert host.call("file_read", path="empty")["content"] == [{"type": "text", "text": ""}]


@pytest.mark.parametrize("version", LEGACY)
def test_calls_work_in_every_legacy_revision(host, version):
    """mcp.md section 2: one result shape for all."""
    host.initialize(version)
    assert host.text("terminal_exec", command="echo hi") == "stdout:\nhi\n\n\nexit_code: 0"


def test_without_structured_results_no_tool_has_an_output_schema(tools):
    """Decision 10, M4."""
    assert all("outputSchema" not in tool for tool in tools.values())


def test_structured_results_match_their_schema_and_repeat_the_text(peers, workspace):
    """Decision 10, M4, M7: the text stays complete; {"result": text} for code that reads it."""
    (workspace / "f").write_bytes("quote \" back \\ one \1 \u20ac\r\n".encode())
    s = peers(env={"SANDSTORM_STRUCTURED_RESULTS": "1"})
    listed = {tool["name"]: tool for tool in s.result("tools/list")["tools"]}
    for tool in listed.values():
        assert tool["outputSchema"]["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
    for speak in (s, s.modern):
        for name, arguments in (("file_read", {"path": "f"}), ("terminal_exec", {"command": "echo hi"}),
                                ("workspace_info", {}), ("file_list", {})):
            result = speak.call(name, **arguments)
            assert result["structuredContent"] == {"result": first_text(result)}
            jsonschema.validate(result["structuredContent"], listed[name]["outputSchema"])
        failed = speak.call("file_read", path="none")
        if "structuredContent" in failed:
            jsonschema.validate(failed["structuredContent"], listed["file_read"]["outputSchema"])


def test_results_of_the_sandbox_tools_match_their_schemas_and_are_whole_as_text(peers, master):
    """M4, M7: each tool, in both eras; hosts that show only the text miss nothing. An error has no structuredContent."""
    m = master()
    peer = peers(tools="sandbox", env=variables(m))
    schemas = {tool["name"]: tool["outputSchema"] for tool in peer.result("tools/list")["tools"]}
    assert list(schemas) == SANDBOX_NAMES
    for speak in (peer, peer.modern):
        (box,) = json.loads(speak.text("spawn_sandboxes", template="sh"))
        for name in schemas:
            arguments = call_of(name, box)
            if "tag" in arguments:
                arguments["tag"] = box["id"]        # the one that branch_sandbox has made
            result = speak.call(name, **arguments)
            assert result["isError"] is False, result
            jsonschema.validate(result["structuredContent"], schemas[name])
            value = json.loads(first_text(result))
            assert result["structuredContent"] == (value if isinstance(value, dict) else {"result": value})
        failed = speak.call("get_sandbox", sandbox_id="none")
        assert failed["isError"] is True and "structuredContent" not in failed
