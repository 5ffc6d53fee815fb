"""MCP over HTTP: both eras on one endpoint, header checks, batches, statuses, JSON or a stream.

Section numbers are those of the protocol notes (mcp.md); the decisions those of the design. What a message means is
tested over stdio (test_methods.py, test_eras.py, test_framing.py); here is what HTTP adds.
"""

import base64
import json
import threading

import pytest

from httpwire import request
from mcpwire import ALL_VERSIONS, LEGACY, MODERN, MODERN_META, PREFIX, first_text, tool_params
from webserver import message, modern_fields, modern_message, notification

PARSE, INVALID, NO_METHOD, PARAMS, HEADER, VERSION = -32700, -32600, -32601, -32602, -32020, -32022
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
WRITE = tool_params("file_write", {"path": "made", "content": "x"})


def ping(id=1):
    return message("ping", id=id)


def failed(answer, status, code, id=1):
    """One JSON-RPC error in JSON, with that id in its type."""
    assert answer.status == status, answer
    value = answer.json()
    assert value["error"]["code"] == code and value["error"]["message"], answer
    assert "id" in value and value["id"] == id and type(value["id"]) is type(id), answer
    assert "http" not in value["error"]["message"] and len(value["error"]["message"]) < 300
    return value["error"]


def served(answer, id=1):
    assert answer.status == 200, answer
    value = answer.message()
    assert value["id"] == id and type(value["id"]) is type(id) and "result" in value, answer
    return value["result"]


def accepted(answer):
    """202 with an empty body."""
    assert (answer.status, answer.body, answer["content-length"]) == (202, b"", "0"), answer
    return True


# -- methods of HTTP -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_served(remote, target, method):
    """mcp.md section 8.1: clients open GET after initialize, DELETE at their end, and accept 405 in silence."""
    for more in ({}, {"Accept": "text/event-stream"}, {"MCP-Protocol-Version": MODERN}, {"Mcp-Session-Id": "a"}):
        answer = remote.exchange(method, target, remote.fields(more))
        assert answer.status == 405 and "post" in answer.list("allow") and answer.json()["error"], answer


def test_the_legacy_handshake(remote):
    """mcp.md sections 8.4 and 10, with the headers a client sends."""
    for target in ("/mcp", "/mcp/"):
        answer = remote.post(message("initialize", INITIALIZE, 0), target=target)
        result = served(answer, 0)
        assert (answer.type, result["protocolVersion"], result["serverInfo"]["name"]) == \
            ("application/json", "2025-06-18", "sandstorm")
        assert answer["mcp-session-id"] is None
        version = {"MCP-Protocol-Version": "2025-06-18"}
        assert accepted(remote.post(notification("notifications/initialized"), version, target))
        assert len(served(remote.post(message("tools/list"), version, target))["tools"]) > 5


def test_notifications_and_answers_of_a_client_are_202(remote):
    """mcp.md section 8.4: no body, whatever they say."""
    for value in (notification("notifications/initialized"), notification("notifications/unknown", {"a": 1}),
                  notification("notifications/cancelled", {"requestId": 1}), notification("tools/call", WRITE),
                  {"jsonrpc": "2.0", "id": 1, "result": {}},
                  {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}}):
        assert accepted(remote.post(value))
        assert accepted(remote.post(value, {"MCP-Protocol-Version": "2025-11-25"}))


def test_sessions_do_not_exist(remote):
    """mcp.md 11.16, H15, mcp.md section 8.4: a stale id and a last event id are ignored, none is given out."""
    for era in ("legacy", "modern"):
        answer = remote.rpc("tools/list", era=era, fields={"Mcp-Session-Id": "stale", "Last-Event-ID": "7"})
        assert served(answer) and answer["mcp-session-id"] is None


# -- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"{", b"[", b"nonsense", b'{"a":1,}', b"\xff", b'"\xc0\xaf"',
                                  b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', b"\0"], ids=ascii)
@pytest.mark.parametrize("more", [{}, {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": MODERN}],
                         ids=["absent", "legacy", "modern"])
def test_what_is_not_json_is_400_with_id_null(remote, body, more):
    """mcp.md 11.1, section 7, decision 1, fault 46, F2."""
    failed(remote.post(body, more), 400, PARSE, None)


@pytest.mark.parametrize("body, id", [
    (b"5", None), (b"null", None), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None), (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None), (b'{"id":7,"method":"ping"}', 7),
    (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a"), (b'{"jsonrpc":"2.0","id":7}', 7),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', 7), (b"[" * 65 + b"]" * 65, None), (b'{"a":' * 5000, None),
    (b"{}", None),
], ids=lambda value: ascii(value)[:40])
def test_what_is_no_request_is_400(remote, body, id):
    """mcp.md section 7, F3, F4: with and without a modern head."""
    for more in ({}, {"MCP-Protocol-Version": MODERN}):
        failed(remote.post(body, more), 400, INVALID, id)


def test_a_body_may_be_laid_out_over_many_lines(remote, workspace):
    """Only stdio ends a message with a newline."""
    text = json.dumps(message("tools/call", tool_params("file_write", {"path": "f", "content": "a\nb\r\n"}), "x"),
                      indent=4)
    for body in (text, "\r\n\t " + text.replace("\n", "\r\n") + "\n\n"):
        assert not served(remote.post(body.encode()), "x").get("isError")
    assert (workspace / "f").read_bytes() == b"a\nb\r\n"


@pytest.mark.parametrize("value", ["application/json; charset=utf-8", "Application/JSON",
                                   "application/json;charset=UTF-8",
                                   "application/json ; x=y"])
def test_json_under_its_spellings_is_taken(remote, value):
    """mcp.md 11.6, H9."""
    served(remote.post(ping(), {"Content-Type": value}))
    served(remote.rpc("tools/list", era="modern", fields={"Content-Type": value}))


@pytest.mark.parametrize("value", [None, "text/plain", "application/jsonx", "text/json",
                                   "application/x-www-form-urlencoded",
                                   "multipart/form-data; boundary=x", "", "application",
                                   "text/plain; application/json"])
def test_other_types_are_415_and_not_executed(remote, workspace, value):
    """mcp.md 11.5, H9, mcp.md section 8.2: what a page can post without asking first is never JSON."""
    answer = remote.post(message("tools/call", WRITE), {"Content-Type": value})
    assert answer.status == 415 and "application/json" in json.dumps(answer.json()["error"]), answer
    assert not (workspace / "made").exists()


# -- Accept --------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", [
    None, "*/*", "application/json", "application/*", "application/json, text/event-stream",
    "text/event-stream, application/json", "Application/JSON", "application/json;q=0.9, text/event-stream;q=1",
    "text/html, */*;q=0.1", "text/html,application/json",
])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_answers_are_json_for_whoever_takes_it(remote, accept, era):
    """mcp.md 11.7, Decision 5, mcp.md section 8.2: never 406 unless Accept admits neither type."""
    answer = remote.rpc("tools/list", era=era, fields={"Accept": accept})
    assert answer.type == "application/json" and served(answer)


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream;q=0.5", "text/*",
                                    "text/html, Text/Event-Stream"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_client_that_takes_a_stream_alone_gets_one(remote, accept, era):
    """Decision 57."""
    answer = remote.rpc("tools/list", era=era, fields={"Accept": accept})
    assert served(answer) and [e.kind for e in answer.events()] == ["message"]
    assert accepted(remote.post(notification("notifications/initialized"), {"Accept": accept}))


def test_two_accept_fields_count_together(remote):
    """RFC 9110 section 5.3."""
    fields = list(remote.fields({"Accept": None}).items()) + [("Accept", "text/html"), ("Accept", "application/json")]
    with remote.connect() as c:
        c.send(request(fields=fields, body=json.dumps(ping()).encode()))
        assert served(c.answer()) == {}


@pytest.mark.parametrize("accept", ["text/html", "image/*, text/plain", "application/xml", "json"])
def test_a_client_that_takes_neither_gets_406_and_nothing_is_executed(remote, workspace, accept):
    """Decision 5."""
    answer = remote.post(message("tools/call", WRITE), {"Accept": accept})
    assert answer.status == 406 and answer.json()["error"]
    assert not (workspace / "made").exists()


# -- the modern era: head against body (mcp.md section 8.3) --------------------------------------


def modern(method="tools/list", params=None, meta=None, fields=None, id=1):
    """A modern request with members of _meta and fields changed (None takes one out): (message, fields)."""
    value = modern_message(method, params, id)
    found = {**modern_fields(value), **(fields or {})}
    for name, change in (meta or {}).items():
        if change is None:
            del value["params"]["_meta"][PREFIX + name]
        else:
            value["params"]["_meta"][PREFIX + name] = change
    return value, found


CALL = {"method": "tools/call", "params": tool_params("file_list", {})}
OLD = "2025-11-25"

TABLE = [
    # row 3: _meta, before any header
    ({"meta": {"protocolVersion": None}}, 400, PARAMS), ({"meta": {"protocolVersion": 5}}, 400, PARAMS),
    ({"meta": {"clientCapabilities": None}}, 400, PARAMS), ({"meta": {"clientCapabilities": []}}, 400, PARAMS),
    ({"meta": {"clientCapabilities": "x"}}, 400, PARAMS),
    ({"meta": {"clientCapabilities": None}, "fields": {"MCP-Protocol-Version": OLD}}, 400, PARAMS),
    ({"meta": {"logLevel": "loud"}}, 400, PARAMS),
    # row 4: the version's header, before the version itself
    ({"fields": {"MCP-Protocol-Version": None}}, 400, HEADER), ({"fields": {"MCP-Protocol-Version": OLD}}, 400, HEADER),
    ({"fields": {"MCP-Protocol-Version": ""}}, 400, HEADER),
    ({"fields": {"MCP-Protocol-Version": "2031-01-01"}}, 400, HEADER),
    ({"meta": {"protocolVersion": OLD}}, 400, HEADER),
    ({"meta": {"protocolVersion": "2031-01-01"}, "fields": {"MCP-Protocol-Version": None}}, 400, HEADER),
    # row 5: the version, before the method's header
    ({"meta": {"protocolVersion": OLD}, "fields": {"MCP-Protocol-Version": OLD}}, 400, VERSION),
    ({"meta": {"protocolVersion": "2031-01-01"}, "fields": {"MCP-Protocol-Version": "2031-01-01"}}, 400, VERSION),
    ({"meta": {"protocolVersion": "x"}, "fields": {"MCP-Protocol-Version": "x", "Mcp-Method": "no"}}, 400, VERSION),
    # row 6: the method's header, before the name's and before the method itself
    ({"fields": {"Mcp-Method": None}}, 400, HEADER), ({"fields": {"Mcp-Method": "tools/call"}}, 400, HEADER),
    ({"fields": {"Mcp-Method": "Tools/List"}}, 400, HEADER), ({"fields": {"Mcp-Method": ""}}, 400, HEADER),
    ({"method": "no/such", "fields": {"Mcp-Method": "tools/list"}}, 400, HEADER),
    ({"method": "ping", "fields": {"Mcp-Method": None}}, 400, HEADER),
    # row 7: the name's header, before the name itself
    ({**CALL, "fields": {"Mcp-Name": None}}, 400, HEADER), ({**CALL, "fields": {"Mcp-Name": "file_read"}}, 400, HEADER),
    ({**CALL, "fields": {"Mcp-Name": "File_List"}}, 400, HEADER), ({**CALL, "fields": {"Mcp-Name": ""}}, 400, HEADER),
    ({"method": "tools/call", "params": tool_params("nope", {}), "fields": {"Mcp-Name": "file_list"}}, 400, HEADER),
    ({"method": "prompts/get", "params": {"name": "p"}, "fields": {"Mcp-Name": None}}, 400, HEADER),
    ({"method": "prompts/get", "params": {"name": "p"}, "fields": {"Mcp-Name": "q"}}, 400, HEADER),
    ({"method": "resources/read", "params": {"uri": "u"}, "fields": {"Mcp-Name": "v"}}, 400, HEADER),
    # row 9: the method
    ({"method": "no/such"}, 404, NO_METHOD), ({"method": "ping"}, 404, NO_METHOD),
    ({"method": "initialize", "params": INITIALIZE}, 404, NO_METHOD), ({"method": "logging/setLevel"}, 404, NO_METHOD),
    ({"method": "prompts/list"}, 404, NO_METHOD), ({"method": "resources/list"}, 404, NO_METHOD),
    ({"method": "prompts/get", "params": {"name": "p"}, "fields": {"Mcp-Name": "p"}}, 404, NO_METHOD),
    ({"method": "resources/read", "params": {"uri": "u:1"}, "fields": {"Mcp-Name": "u:1"}}, 404, NO_METHOD),
    ({"method": "completion/complete"}, 404, NO_METHOD), ({"method": "tasks/get"}, 404, NO_METHOD),
    # row 10: what the method says is 200
    ({"method": "tools/call", "params": tool_params("nope", {})}, 200, PARAMS),
    ({"params": {"cursor": "x"}}, 200, PARAMS), ({"params": {"cursor": ""}}, 200, PARAMS),
    ({"method": "tools/call", "params": {"name": "file_list", "arguments": []}}, 200, PARAMS),
]


@pytest.mark.parametrize("change, status, code", TABLE, ids=lambda v: ascii(v)[:70] if isinstance(v, dict) else None)
def test_a_modern_request_is_checked_in_order(remote, change, status, code):
    """mcp.md 11.8 and 11.10, mcp.md section 8.3, M2; each error carries the id."""
    value, fields = modern(**change, id="check")
    error = failed(remote.post(value, fields), status, code, "check")
    if code == VERSION:
        requested = value["params"]["_meta"][PREFIX + "protocolVersion"]
        assert error["data"] == {"supported": ALL_VERSIONS, "requested": requested}


def test_a_modern_header_without_meta_is_an_incomplete_request(remote):
    """mcp.md 11.9, section 8.3: params absent, empty, or without _meta; initialize as well."""
    for value in (message("tools/list"), message("tools/list", {}), message("tools/list", {"_meta": {}}),
                  message("initialize", INITIALIZE), message("ping"), message("no/such")):
        fields = {"MCP-Protocol-Version": MODERN, "Mcp-Method": value["method"]}
        failed(remote.post(value, fields), 400, PARAMS)


def test_modern_requests_that_pass_all_checks(remote):
    """mcp.md sections 3 and 4."""
    found = served(remote.rpc("server/discover", era="modern"))
    assert found["supportedVersions"] == ALL_VERSIONS and found["resultType"] == "complete"
    tools = served(remote.rpc("tools/list", era="modern"))
    assert tools["tools"] and tools["ttlMs"] >= 0 and tools["cacheScope"] == "private"
    called = served(remote.rpc("tools/call", CALL["params"], era="modern"))
    assert called["resultType"] == "complete" and not called.get("isError")
    assert called["_meta"][PREFIX + "serverInfo"]["name"] == "sandstorm"


def test_names_of_fields_are_of_any_case_and_blanks_around_values_do_not_count(remote):
    """mcp.md section 8.2."""
    value, fields = modern(**CALL)
    served(remote.post(value, {name.lower(): v for name, v in fields.items()}))
    served(remote.post(value, {name.upper(): f" \t{v}\t " for name, v in fields.items()}))


@pytest.mark.parametrize("encode, good", [
    (lambda b: f"=?base64?{b}?=", True), (lambda b: f"=?BASE64?{b}?=", False), (lambda b: f"=?base64?{b}", False),
    (lambda b: f"{b}?=", False), (lambda b: f"=?base64?{b.rstrip('=')}?=", False),
    (lambda b: f"=?base64?{b}=?=", False),
    (lambda b: f"=?base64?{b[:-1]}*?=", False), (lambda b: f"=?base64? {b}?=", False), (lambda b: "=?base64??=", False),
    (lambda b: f"=?base64?{b}?= x", False), (lambda b: "=?base64?" + b.replace("=", "") + "A?=", False),
    (lambda b: f"=?base64?{b}{b}?=", False), (lambda b: "=?base64?=", False),
])
def test_the_encoded_form_of_a_name(remote, encode, good):
    """M2, mcp.md section 8.3: standard base64 with padding, markers as they are."""
    encoded = encode(base64.b64encode(b"workspace_info").decode())     # it ends with a padding character
    value, fields = modern("tools/call", tool_params("workspace_info", {}), fields={"Mcp-Name": encoded})
    answer = remote.post(value, fields)
    served(answer) if good else failed(answer, 400, HEADER)


@pytest.mark.parametrize("name", ["h\u00e9llo \u20ac", "a b", "x" * 300, "=?base64?x?="])
def test_names_that_need_the_encoded_form(remote, name):
    """M2: the name matches its header, so that it is the tool that is unknown."""
    encoded = "=?base64?" + base64.b64encode(name.encode()).decode() + "?="
    value, fields = modern("tools/call", tool_params(name, {}), fields={"Mcp-Name": encoded})
    failed(remote.post(value, fields), 200, PARAMS)


def test_a_name_on_other_methods_is_ignored(remote):
    """mcp.md section 8.3."""
    served(remote.rpc("tools/list", era="modern", fields={"Mcp-Name": "=?base64?*?="}))


def test_a_call_whose_head_differs_is_not_executed(remote, workspace):
    """M2: what a proxy has let pass by its head must be what runs."""
    value, fields = modern("tools/call", WRITE, fields={"Mcp-Name": "file_read"})
    failed(remote.post(value, fields), 400, HEADER)
    assert not (workspace / "made").exists()


def test_modern_notifications_are_202_without_meta(remote):
    """mcp.md 11.11, mcp.md section 8.3 row 2: the Go client posts notifications/cancelled so."""
    value = notification("notifications/cancelled", {"requestId": 1})
    for fields in ({"MCP-Protocol-Version": MODERN, "Mcp-Method": "notifications/cancelled"},
                   {"MCP-Protocol-Version": MODERN}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "x"}):
        assert accepted(remote.post(value, fields))
    assert accepted(remote.post(notification("notifications/x", {"_meta": MODERN_META}),
                                {"MCP-Protocol-Version": MODERN}))


def test_a_subscription_is_acknowledged_and_ends(remote):
    """mcp.md section 6: two events, or the result alone for who takes JSON only."""
    params = {"notifications": {"toolsListChanged": True}}
    answer = remote.rpc("subscriptions/listen", params, era="modern", id="s")
    first, second = [e.value for e in answer.events()]
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"] == {"notifications": {}, "_meta": {PREFIX + "subscriptionId": "s"}}
    assert second["id"] == "s" and second["result"]["_meta"][PREFIX + "subscriptionId"] == "s"
    answer = remote.rpc("subscriptions/listen", params, era="modern", id=7, fields={"Accept": "application/json"})
    assert served(answer, 7)["_meta"][PREFIX + "subscriptionId"] == 7
    failed(remote.rpc("subscriptions/listen", params), 200, NO_METHOD)


# -- the legacy era (mcp.md section 8.4) ---------------------------------------------------------


@pytest.mark.parametrize("version", [None, *LEGACY])
def test_each_legacy_revision_is_served(remote, version):
    """M2, mcp.md section 8.4: absent means 2025-03-26; the value need not be what was negotiated."""
    fields = {"MCP-Protocol-Version": version}
    served(remote.post(message("tools/list"), fields))
    served(remote.post(ping(), fields))
    assert "resultType" not in served(remote.post(message("tools/call", CALL["params"]), fields))


@pytest.mark.parametrize("version", ["1999-01-01", "2025-06-19", "latest", "", "2025-11-25, 2025-11-25", "2026-07-29"])
def test_an_unknown_revision_is_400_except_on_initialize(remote, version):
    """mcp.md 11.12 and, for initialize, 11.13; section 8.4."""
    fields = {"MCP-Protocol-Version": version}
    failed(remote.post(message("tools/list"), fields), 400, INVALID)
    failed(remote.post(ping(), fields), 400, INVALID)
    assert served(remote.post(message("initialize", INITIALIZE), fields))["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("asked, given", [*((v, v) for v in LEGACY), (MODERN, "2025-11-25"),
                                          ("1999-01-01", "2025-11-25")])
def test_initialize_agrees_on_a_legacy_revision(remote, asked, given):
    """mcp.md 11.14, section 1: the Rust client asks for the modern one."""
    for fields in ({}, {"MCP-Protocol-Version": "2025-11-25"}):
        result = served(remote.post(message("initialize", {**INITIALIZE, "protocolVersion": asked}), fields))
        assert result["protocolVersion"] == given


def test_errors_of_dispatched_legacy_requests_are_200(remote):
    """mcp.md sections 3 and 7."""
    failed(remote.rpc("no/such"), 200, NO_METHOD)
    failed(remote.rpc("prompts/list"), 200, NO_METHOD)
    failed(remote.rpc("tools/call", tool_params("nope", {})), 200, PARAMS)
    failed(remote.rpc("tools/call", {"arguments": {}}), 200, PARAMS)
    failed(remote.rpc("initialize", {}), 200, PARAMS)
    assert served(remote.rpc("tools/call", tool_params("file_read", {"path": "none"})))["isError"] is True
    assert served(remote.rpc("tools/call", tool_params("file_read", {})))["isError"] is True


def test_a_probe_without_the_modern_header_is_an_unknown_method(remote):
    """mcp.md section 3: server/discover is -32601 in the legacy era; a client then falls back to initialize."""
    failed(remote.rpc("server/discover"), 200, NO_METHOD)


def test_modern_headers_on_legacy_messages_are_ignored(remote):
    """mcp.md section 1: mcp-remote sends Mcp-Method with every message."""
    for fields in ({"Mcp-Method": "initialize"}, {"Mcp-Method": "no", "Mcp-Name": "=?base64?*?="}):
        served(remote.post(message("initialize", INITIALIZE), fields))
        served(remote.post(ping(), {**fields, "MCP-Protocol-Version": "2025-11-25"}))


def test_both_eras_alternate_on_one_connection(remote):
    """M1, mcp.md section 1: decided for each message, nothing is remembered."""
    with remote.connect() as c:
        for n in range(3):
            value = modern_message("server/discover", id=f"d{n}")
            c.send(remote.bytes_of(value, modern_fields(value)))
            assert served(c.answer(), f"d{n}")["supportedVersions"]
            c.send(remote.bytes_of(message("initialize", INITIALIZE, n)))
            assert served(c.answer(), n)["protocolVersion"] == "2025-06-18"
            value = modern_message("ping", id=n)
            c.send(remote.bytes_of(value, modern_fields(value)))
            failed(c.answer(), 404, NO_METHOD, n)
            c.send(remote.bytes_of(ping(n)))
            assert served(c.answer(), n) == {}


def test_three_posts_at_once_are_served_side_by_side(remote):
    """mcp.md section 8.5; F15: a long call holds nobody up."""
    together = "touch $$; until [ $(ls | wc -l) = 3 ]; do sleep 0.02; done; echo over"
    running = [remote.start(message("tools/call", tool_params("terminal_exec", {"command": together}))) for _ in range(3)]
    for _ in range(10):
        assert remote.result("ping") == {}
    assert all("over" in first_text(served(c.answer())) for c in running)


def test_threads_of_clients_with_the_same_ids_get_their_own_answers(remote, workspace):
    """mcp.md section 6: ids of different clients collide."""
    problems = []

    def client(name):
        try:
            with remote.connect() as c:
                for n in range(30):
                    call = tool_params("terminal_exec", {"command": f"echo {name}-{n}"})
                    c.send(remote.bytes_of(message("tools/call", call, n)))
                    assert first_text(served(c.answer(), n)) == f"stdout:\n{name}-{n}\n\n\nexit_code: 0"
        except AssertionError as problem:
            problems.append(problem)
    threads = [threading.Thread(target=client, args=(f"c{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not problems


# -- batches (decisions 2 and 57) ----------------------------------------------------------------

BATCH_VERSIONS = [None, "2025-03-26"]


@pytest.mark.parametrize("version", BATCH_VERSIONS)
def test_a_batch_is_served_in_order(remote, workspace, version):
    """mcp.md 11.15. Decision 57: in sequence; errors stand at their places, notifications at none."""
    batch = [ping("a"), notification("notifications/initialized"), message("tools/call", WRITE, 2),
             message("tools/call", tool_params("file_read", {"path": "made"}), 3), message("no/such", id=4), 5,
             {"jsonrpc": "2.0", "id": None, "method": "ping"}, {"jsonrpc": "2.0", "id": 9, "result": {}}]
    answer = remote.post(batch, {"MCP-Protocol-Version": version})
    assert answer.status == 200
    values = answer.json()
    assert [v["id"] for v in values] == ["a", 2, 3, 4, None, None]
    assert values[0]["result"] == {} and first_text(values[2]["result"]) == "x"
    assert [v["error"]["code"] for v in values if "error" in v] == [NO_METHOD, INVALID, INVALID]


@pytest.mark.parametrize("version", [v for v in ALL_VERSIONS if v not in BATCH_VERSIONS])
def test_a_batch_in_other_revisions_is_400_and_not_executed(remote, workspace, version):
    """mcp.md 11.2 and 11.15. Decision 2: never silence."""
    batch = [message("tools/call", WRITE)]
    failed(remote.post(batch, {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call"}), 400, INVALID, None)
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("version", BATCH_VERSIONS)
def test_batches_of_nothing_of_notifications_and_of_too_many(remote, version):
    """mcp.md section 2, decision 57."""
    fields = {"MCP-Protocol-Version": version}
    failed(remote.post([], fields), 400, INVALID, None)
    assert accepted(remote.post([notification("notifications/initialized"), notification("notifications/x")], fields))
    assert accepted(remote.post([{"jsonrpc": "2.0", "id": 1, "result": {}}], fields))
    assert [v["id"] for v in remote.post([ping(n) for n in range(32)], fields).json()] == list(range(32))
    failed(remote.post([ping(n) for n in range(33)], fields), 400, INVALID, None)


def test_what_cannot_be_part_of_a_batch_is_an_error_at_its_place(remote, workspace):
    """mcp.md section 2: initialize; decision 57: modern messages."""
    values = remote.post([message("initialize", INITIALIZE, 1), modern_message("tools/call", WRITE, 2), ping(3)]).json()
    assert [("error" in v, v["id"]) for v in values] == [(True, 1), (True, 2), (False, 3)]
    assert not (workspace / "made").exists()


def test_a_batch_for_a_client_that_takes_a_stream_alone_is_one_event(remote):
    """Decision 57."""
    answer = remote.post([ping(1), ping(2)], {"Accept": "text/event-stream"})
    [event] = answer.events()
    assert [v["id"] for v in event.value] == [1, 2]
