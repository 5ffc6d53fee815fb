"""Which revision a message belongs to, how one is agreed on, and what differs between the two eras.

Section numbers are those of the protocol notes (mcp.md); M rows those of the field cases.
"""

import pytest

from mcpwire import ALL_VERSIONS, LEGACY, MODERN, MODERN_META, PREFIX, first_text
from webserver import message, modern_message

NO_METHOD, PARAMS, VERSION = -32601, -32602, -32022
MODERN_ONLY = {"resultType", "ttlMs", "cacheScope", "_meta"}


def initialize_params(**changes):
    params = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "n", "version": "1"}, **changes}
    return {k: v for k, v in params.items() if v is not ...}


def meta(**changes):
    """Modern `_meta` with members (by their bare names) changed; `...` takes one out."""
    members = {**MODERN_META, **{PREFIX + name: value for name, value in changes.items()}}
    return {k: v for k, v in members.items() if v is not ...}


# -- the handshake of the legacy era -------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_initialize_agrees_to_every_legacy_revision(host, version):
    """mcp.md section 3."""
    assert host.initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", [MODERN, "1999-01-01", "2031-01-01", "", "latest", "2025-06-18 "])
def test_initialize_answers_the_latest_legacy_revision_to_any_other(host, version):
    """mcp.md 11.14, section 1: never 2026-07-28 (rmcp asks for exactly that)."""
    assert host.initialize(version)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", [..., None, 5, ["2025-06-18"], {}])
def test_initialize_without_a_version_is_refused(host, version):
    """mcp.md section 3."""
    assert host.error("initialize", initialize_params(protocolVersion=version))["code"] == PARAMS


def test_initialize_without_params_is_refused(host):
    """mcp.md section 3."""
    assert host.error("initialize")["code"] == PARAMS


@pytest.mark.parametrize("changes", [
    {"clientInfo": ...}, {"capabilities": ...}, {"clientInfo": None},
    {"capabilities": {"roots": {"listChanged": True}, "sampling": {}}}, {"extra": [1]},
])
def test_initialize_needs_nothing_but_the_version(host, changes):
    """mcp.md section 1: never require clientInfo."""
    result = host.result("initialize", initialize_params(**changes))
    assert result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", LEGACY)
def test_the_result_of_initialize_names_the_server_and_its_one_capability(host, version):
    """mcp.md section 3: tools, without listChanged; none of the modern members."""
    result = host.initialize(version)
    assert set(result["capabilities"]) == {"tools"}
    assert not result["capabilities"]["tools"].get("listChanged")
    assert result["serverInfo"]["name"] == "sandstorm"
    assert result["serverInfo"]["version"].count(".") == 2
    assert isinstance(result.get("instructions", ""), str)
    assert not MODERN_ONLY & set(result)


def test_initialize_may_be_repeated(host):
    """mcp.md section 1, CHOICE 4: nothing pins the process."""
    for version in LEGACY + LEGACY[:1]:
        assert host.initialize(version)["protocolVersion"] == version


def test_requests_before_initialize_are_served(host, workspace):
    """mcp.md section 1, CHOICE 3."""
    (workspace / "f").write_text("early")
    assert host.result("ping") == {}
    assert host.result("tools/list")["tools"]
    assert host.text("file_read", path="f") == "early"


# -- server/discover -----------------------------------------------------------------------------


def test_discover_lists_all_revisions_newest_first(host):
    """mcp.md sections 3 and 4."""
    result = host.modern.result("server/discover")
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == ALL_VERSIONS
    assert set(result["capabilities"]) == {"tools"}
    assert not result["capabilities"]["tools"].get("listChanged")
    assert isinstance(result.get("instructions", ""), str)
    assert type(result["ttlMs"]) is int and result["ttlMs"] >= 0
    assert result["cacheScope"] == "private"
    assert result["_meta"][PREFIX + "serverInfo"]["name"] == "sandstorm"


def test_both_eras_tell_the_same_name_version_and_instructions(host):
    """mcp.md section 3."""
    legacy, modern = host.initialize(), host.modern.result("server/discover")
    info = modern["_meta"][PREFIX + "serverInfo"]
    assert {k: legacy["serverInfo"][k] for k in ("name", "version")} == {k: info[k] for k in ("name", "version")}
    assert legacy.get("instructions") == modern.get("instructions")


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": None}])
def test_discover_is_always_modern_and_needs_its_meta(host, params):
    """mcp.md sections 1 and 4: never silence; params absent counts as `_meta` missing."""
    assert host.error("server/discover", params)["code"] == PARAMS


def test_a_client_that_probes_first_is_not_locked_out(peer):
    """M1, mcp.md 11.20: discover, then initialize."""
    assert peer.modern.result("server/discover")["supportedVersions"] == ALL_VERSIONS
    assert peer.agree("2025-06-18")["protocolVersion"] == "2025-06-18"
    assert "resultType" not in peer.ask(message("tools/list"))["result"]


def test_a_client_whose_probe_is_refused_falls_back(peer):
    """M1, mcp.md section 3: a probe without _meta gets an error, never silence; the legacy handshake then works."""
    assert peer.ask(message("server/discover"))["error"]["code"] == (PARAMS if peer.kind == "stdio" else NO_METHOD)
    assert peer.agree("2025-11-25")["protocolVersion"] == "2025-11-25"


def test_initialize_then_a_modern_call(peer):
    """M1, mcp.md 11.21, section 1."""
    peer.agree("2025-11-25")
    assert peer.ask(modern_message("tools/list"))["result"]["resultType"] == "complete"
    assert peer.modern.text("workspace_info")


def test_initialize_after_modern_calls_still_works(peer):
    """M1, mcp.md section 1, CHOICE 4."""
    assert peer.modern.call("workspace_info")["resultType"] == "complete"
    assert peer.agree("2025-11-25")["protocolVersion"] == "2025-11-25"


def test_the_era_is_that_of_each_message_alone(peer):
    """mcp.md section 1: nothing of an earlier request is remembered."""
    for _ in range(3):
        assert peer.modern.result("tools/list")["resultType"] == "complete"
        assert "resultType" not in peer.result("tools/list")
        assert peer.modern.error("ping")["code"] == NO_METHOD
        assert peer.result("ping") == {}


# -- what a modern request must carry ------------------------------------------------------------

MODERN_METHODS = [("server/discover", {}), ("tools/list", {}),
                  ("tools/call", {"name": "workspace_info", "arguments": {}}), ("subscriptions/listen", {})]


@pytest.mark.parametrize("method, params", MODERN_METHODS)
@pytest.mark.parametrize("capabilities", [..., None, [], "x", 1, True])
def test_client_capabilities_are_required_as_an_object(host, method, params, capabilities):
    """mcp.md section 4."""
    error = host.error(method, {**params, "_meta": meta(clientCapabilities=capabilities)})
    assert error["code"] == PARAMS
    assert "clientCapabilities" in error["message"]


@pytest.mark.parametrize("version", [None, 5, [MODERN], {}, True])
def test_a_version_that_is_no_string_is_refused(host, version):
    """mcp.md section 4."""
    error = host.error("tools/list", {"_meta": meta(protocolVersion=version)})
    assert error["code"] == PARAMS


@pytest.mark.parametrize("method, params", MODERN_METHODS)
@pytest.mark.parametrize("version", ["2031-01-01", "1999-01-01", "", "2026-07-28 ", "\u20ac\"\\"] + LEGACY)
def test_any_other_version_in_meta_is_unsupported_with_the_list_of_those_that_are(host, method, params, version):
    """mcp.md sections 3, 4 and 7: also a modern-shaped request that names a legacy revision."""
    error = host.error(method, {**params, "_meta": meta(protocolVersion=version)})
    assert error["code"] == VERSION
    assert error["data"]["requested"] == version
    assert error["data"]["supported"] == host.modern.result("server/discover")["supportedVersions"]


@pytest.mark.parametrize("level", ["trace", "DEBUG", "", None, 5, [], {}])
def test_an_unknown_log_level_is_refused(host, level):
    """mcp.md section 4."""
    assert host.error("tools/list", {"_meta": meta(logLevel=level)})["code"] == PARAMS


@pytest.mark.parametrize("level", ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"])
def test_every_log_level_is_taken_and_no_log_message_is_sent(host, level):
    """mcp.md sections 4 and 6: no logging feature."""
    assert host.result("tools/list", {"_meta": meta(logLevel=level)})["tools"]
    assert host.fence() == []


@pytest.mark.parametrize("members", [
    {"clientInfo": {"name": "n", "version": "1"}}, {"clientInfo": None},
    {"clientCapabilities": {"sampling": {}, "extensions": {"x/y": {}}}},
])
def test_client_info_is_not_needed_and_capabilities_decide_nothing(host, members):
    """mcp.md section 4."""
    assert host.result("tools/list", {"_meta": meta(**members)})["resultType"] == "complete"


def test_other_members_of_meta_are_ignored(host):
    """mcp.md section 4: trace headers and what is not known."""
    result = host.modern.with_meta(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                   tracestate="a=b", baggage="c=d", other={"x": [1]}).result("tools/list")
    assert result["tools"]


@pytest.mark.parametrize("params", [{}, {"_meta": {}}, {"_meta": {"progressToken": 1}},
                                    {"_meta": {PREFIX + "clientCapabilities": {}}}])
def test_without_a_version_in_meta_a_request_is_legacy(host, params):
    """mcp.md section 1."""
    assert not MODERN_ONLY & set(host.result("tools/list", params))


def test_initialize_and_ping_with_modern_meta_are_unknown_methods(host):
    """mcp.md sections 1 and 3."""
    assert host.modern.error("initialize", initialize_params())["code"] == NO_METHOD
    assert host.modern.error("ping")["code"] == NO_METHOD


# -- what results carry --------------------------------------------------------------------------


@pytest.mark.parametrize("method, params", MODERN_METHODS + [
    ("tools/call", {"name": "file_read", "arguments": {"path": "none"}}),
    ("tools/call", {"name": "file_read", "arguments": {}}),
])
def test_every_modern_result_is_complete_and_names_the_server(host, method, params):
    """mcp.md section 4: also results with isError and those of subscriptions/listen."""
    result = host.modern.result(method, params)
    assert result["resultType"] == "complete"
    info = result["_meta"][PREFIX + "serverInfo"]
    assert info["name"] == "sandstorm" and isinstance(info["version"], str)


def test_only_lists_and_discover_say_how_long_they_may_be_kept(host):
    """mcp.md section 4."""
    listed = host.modern.result("tools/list")
    assert type(listed["ttlMs"]) is int and listed["ttlMs"] >= 0
    assert listed["cacheScope"] == "private"
    assert not {"ttlMs", "cacheScope"} & set(host.modern.call("workspace_info"))


@pytest.mark.parametrize("version", [None] + LEGACY)
def test_no_legacy_result_has_a_modern_member(server, version):
    """mcp.md section 2, CHOICE: they stand in modern answers only."""
    s = server()
    if version:
        s.initialize(version)
    for result in (s.result("ping"), s.result("tools/list"), s.call("workspace_info"), s.call("file_read"),
                   s.call("file_read", path="none")):
        assert not MODERN_ONLY & set(result)


def test_every_revision_gets_the_same_tools(host):
    """mcp.md sections 2 and 5: one static array; a list does not vary by connection or revision."""
    lists = [host.modern.result("tools/list")["tools"], host.result("tools/list")["tools"]]
    for version in LEGACY:
        host.initialize(version)
        lists.append(host.result("tools/list")["tools"])
    assert all(tools == lists[0] for tools in lists)


def test_both_eras_give_the_same_text(host, workspace):
    """mcp.md section 5."""
    (workspace / "f").write_text("same")
    assert host.text("file_read", path="f") == host.modern.text("file_read", path="f") == "same"
    assert first_text(host.call("file_read", path="x")) == first_text(host.modern.call("file_read", path="x"))
