"""The list of the 20 host tools against the contract of the reference server, host-tools.schema.json.

Names, order, types, required and defaults are the contract's. What may come on top: titles, descriptions and hints,
and the few arguments and values named here. M rows are those of the field cases, sections those of mcp.md.
"""

import json
import re

import jsonschema
import pytest

from contract import CONTRACT, NAMES, READERS

# Optional arguments that the reference lacks (decision 46), and managers it does not know.
ADDED = {"file_read": {"offset", "limit"}}
MANAGERS = ["opkg", "apk"]

#                            reads  destroys again  open world
HINTS = {
    "file_read":                (True, False, True, False),
    "file_write":               (False, True, True, False),
    "file_delete":              (False, True, True, False),
    "file_list":                (True, False, True, False),
    "file_move":                (False, True, False, False),
    "file_mkdir":               (False, False, True, False),
    "terminal_exec":            (False, True, False, True),
    "terminal_exec_background": (False, True, False, True),
    "terminal_kill":            (False, True, True, False),
    "git_clone":                (False, False, False, True),
    "git_status":               (True, False, True, False),
    "git_commit":               (False, False, False, False),
    "git_push":                 (False, True, True, True),
    "git_pull":                 (False, True, False, True),
    "git_branch":               (False, False, False, False),
    "git_checkout":             (False, True, False, False),   # "-" goes back
    "git_diff":                 (True, False, True, False),
    "git_log":                  (True, False, True, False),
    "workspace_info":           (True, False, True, False),
    "workspace_install":        (False, True, False, True),
}


@pytest.fixture
def tools(host):
    return {tool["name"]: tool for tool in host.result("tools/list")["tools"]}


def bare(property):
    """A property's schema without its description and without the managers that are ours."""
    schema = {key: value for key, value in property.items() if key != "description"}
    if "anyOf" in schema:
        schema["anyOf"] = [bare(choice) for choice in schema["anyOf"]]
    if "enum" in schema:
        assert schema["enum"][-len(MANAGERS):] == MANAGERS
        schema["enum"] = schema["enum"][:-len(MANAGERS)]
    return schema


def with_root(schema, root):
    """The contract with the root of this server in place of its variable."""
    return json.loads(json.dumps(schema).replace("${SANDSTORM_WORKSPACE_ROOT}", str(root)))


@pytest.mark.parametrize("expected", CONTRACT, ids=NAMES)
def test_the_schema_of_each_tool_is_that_of_the_contract(tools, workspace, expected):
    """Issue 5, point 1: name, type, required and default of each argument."""
    schema, wanted = tools[expected["name"]]["inputSchema"], expected["inputSchema"]
    properties = {name: bare(property) for name, property in schema["properties"].items()}
    for name in ADDED.get(expected["name"], ()):
        assert properties.pop(name) == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert {**schema, "properties": properties} == with_root(wanted, workspace)


def test_tools_are_listed_in_the_order_of_the_contract(tools):
    """Issue 5, point 1: 20 tools."""
    assert list(tools) == NAMES == list(HINTS) and len(NAMES) == 20


def test_all_four_hints_are_given_and_say_what_the_tool_does(peer):
    """M3."""
    for speak in (peer, peer.modern):
        listed = speak.result("tools/list")["tools"]
        assert [tool["name"] for tool in listed] == NAMES
        for tool in listed:
            name, hints = tool["name"], tool["annotations"]
            four = tuple(hints[hint] for hint in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"))
            assert four == HINTS[name], name
            assert hints["readOnlyHint"] == (name in READERS)
            assert hints["title"] == tool["title"]


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_valid_and_stay_within_what_both_dialects_share(tools, name):
    """mcp.md section 5: valid in draft-07 and in 2020-12, no $ref, no $schema."""
    schema = tools[name]["inputSchema"]
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    words = set()

    def walk(node, names_are_ours=False):
        for key, value in node.items() if isinstance(node, dict) else []:
            if not names_are_ours:
                words.add(key)
            walk(value, key == "properties" and not names_are_ours)
        for value in node if isinstance(node, list) else []:
            walk(value)
    walk(schema)
    assert words <= {"type", "properties", "required", "items", "enum", "default", "description", "minimum", "maximum",
                     "additionalProperties", "anyOf"}


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_and_argument_is_described_in_a_sentence_or_two(tools, name):
    """mcp.md section 5: the conformance suite fails a tool without description; long ones cost every client tokens."""
    assert re.fullmatch(r"[A-Za-z0-9_./-]{1,64}", name)
    assert 20 < len(tools[name]["description"]) < 400
    for argument, schema in tools[name]["inputSchema"]["properties"].items():
        assert 10 < len(schema["description"]) < 160, argument
