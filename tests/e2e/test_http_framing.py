"""HTTP/1.1 as bytes: heads and bodies in any pieces, pipelining, chunks, what two parsers could read in two ways.

H rows are those of the field cases; section numbers those of the protocol notes (mcp.md). `httpwire` checks the framing
of each answer to the byte.
"""

import json
import time

import pytest

from httpwire import chunked, request
from mcpwire import first_text, tool_params, wait_until
from process import busy
from webserver import message

MIB = 1 << 20
LIMIT = 16 * MIB        # of a body


def ping(id=1):
    return message("ping", id=id)


def ping_body(id=1):
    return json.dumps(ping(id)).encode()


def write_call(id, path="made", content="x"):
    return message("tools/call", tool_params("file_write", {"path": path, "content": content}), id)


def smuggled(web):
    """A request that would leave a file behind if it were served."""
    return web.bytes_of(write_call("smuggled"))


def pong(answer, id=1):
    assert (answer.status, answer.message()) == (200, {"jsonrpc": "2.0", "id": id, "result": {}}), answer
    return True


def refused(connection, *statuses, to="POST"):
    """One JSON answer with one of these statuses, which says that the connection ends, and its end."""
    answer = connection.answer(to)
    assert answer.status in statuses, answer
    assert answer.closes and connection.closed()
    if to != "HEAD":
        assert isinstance(answer.json()["error"], (str, dict)) and answer.json()["error"], answer
    return answer


# -- pieces --------------------------------------------------------------------------------------


def test_a_request_in_single_bytes_is_served(remote):
    """Every byte in its own write."""
    with remote.connect() as c:
        c.send_slowly(remote.bytes_of(ping("slow")), 1, 0.0005)
        assert pong(c.answer(), "slow")
        c.send_slowly(remote.bytes_of(ping(2)), 7, 0.0005)
        assert pong(c.answer(), 2)


def test_a_request_cut_at_any_place_is_served(remote):
    """Two writes, at each place around the ends of lines, head and body; all on one connection."""
    text = remote.bytes_of(ping(), {"X-Long": "a" * 50})
    end = text.index(b"\r\n\r\n")
    places = {1, 4, 5, end, end + 1, end + 2, end + 3, end + 4, end + 5, len(text) - 1}
    places |= {i + k for i in range(end) if text[i:i + 1] == b"\r" for k in (0, 1, 2)}
    with remote.connect() as c:
        for place in sorted(places):
            c.send(text[:place])
            time.sleep(0.001)
            c.send(text[place:])
            assert pong(c.answer()), place


@pytest.mark.parametrize("size", [0, 1, 16_383, 16_384, 16_385, 32_767, 65_535, 65_536, 65_537, 131_072, MIB])
def test_bodies_around_the_sizes_of_buffers_arrive_whole(remote, workspace, size):
    """H18: by Content-Length and chunked, at once and in pieces."""
    content = ("0123456789abcde\n" * (size // 16 + 1))[:size]
    body = json.dumps(write_call(1, "f", content)).encode()
    chunks = {"Transfer-Encoding": "chunked"}
    whole = [request(fields=remote.fields(), body=body),
             request(fields=remote.fields(chunks), body=chunked(body, 5000)),
             request(fields=remote.fields(chunks), body=chunked(body, len(body)))]
    with remote.connect() as c:
        for text in whole:
            for piece in (len(text), len(text) // 3 + 1):
                c.send_slowly(text, piece, 0.003)
                result = c.answer().message()["result"]
                assert first_text(result) == f"Written {size} bytes to {workspace}/f"
                assert (workspace / "f").read_text() == content
                (workspace / "f").unlink()


def test_ten_megabytes_of_content_are_written_whole(remote, workspace):
    """H18."""
    content = "0123456789abcde\n" * (10 * MIB // 16)
    assert f"Written {10 * MIB} bytes" in remote.text("file_write", path="big", content=content)
    assert (workspace / "big").read_text() == content
    wait_until(lambda: remote.rss_kib() < 2048, "memory of the upload given back")


def test_an_answer_of_a_megabyte_waits_for_a_slow_reader_and_others_are_served(remote, workspace):
    """F11 over HTTP: nothing cut, nobody else held up."""
    (workspace / "f").write_text("0123456789abcde\n" * (MIB // 16))
    with remote.start(message("tools/call", tool_params("file_read", {"path": "f"}))) as c:
        for n in range(20):
            assert remote.result("ping") == {}
            time.sleep(0.02)
        assert first_text(c.answer().message()["result"]) == (workspace / "f").read_text()
        c.send(remote.bytes_of(ping()))
        assert pong(c.answer())


def test_empty_lines_before_a_request_are_skipped(remote):
    """RFC 9112 section 2.2: old clients end a POST with one CR LF too many."""
    with remote.connect() as c:
        c.send(b"\r\n" + remote.bytes_of(ping()) + b"\r\n" + remote.bytes_of(ping(2)))
        assert pong(c.answer()) and pong(c.answer(), 2)


# -- several requests on a connection ------------------------------------------------------------


def test_requests_in_a_row_keep_the_connection_and_its_framing(remote):
    """H6: with idle times between, a 202 and an error among them."""
    with remote.connect() as c:
        for n in range(3):
            c.send(remote.bytes_of(ping(n)))
            assert pong(c.answer(), n)
            assert c.silent(0.25)
            c.send(remote.bytes_of({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            answer = c.answer()
            assert (answer.status, answer.body, answer["content-length"]) == (202, b"", "0")
            c.send(remote.bytes_of(b"{"))
            assert c.answer().status == 400
            c.send(request("GET", "/none", {"Host": "h"}))
            assert c.answer("GET").status == 404


def test_pipelined_requests_are_answered_in_order(remote):
    """H7, decision 35: two POSTs in one packet, the slow one first."""
    slow = message("tools/call", tool_params("terminal_exec", {"command": "sleep 0.3; echo slow"}), "a")
    with remote.connect() as c:
        c.send(remote.bytes_of(slow) + remote.bytes_of(ping("b")) + request("GET", "/health", {"Host": "h"})
               + remote.bytes_of(ping("c")))
        assert "slow" in first_text(c.answer().message()["result"])
        assert pong(c.answer(), "b")
        assert c.answer("GET").json()["ok"] is True
        assert pong(c.answer(), "c")
        assert c.silent(0.1)


@pytest.mark.parametrize("cut", [None, 1000, 4000])
def test_a_hundred_pipelined_requests_are_answered_in_order(remote, cut):
    """H7; in one write or in pieces."""
    text = b"".join(remote.bytes_of(ping(n)) for n in range(100))
    with remote.connect() as c:
        c.send_slowly(text, cut or len(text))
        assert all(pong(c.answer(), n) for n in range(100))


def test_pipelined_bodies_of_all_kinds_are_told_apart(remote, workspace):
    """H7: chunked and large ones with something behind them in the same packet."""
    big = json.dumps(write_call(1, "big", "y" * 100_000)).encode()
    text = (request(fields=remote.fields({"Transfer-Encoding": "chunked"}), body=chunked(ping_body("x"), 9))
            + remote.bytes_of(big) + remote.bytes_of(ping("p"))
            + request(fields=remote.fields({"Transfer-Encoding": "chunked"}), body=chunked(big, 40_000))
            + remote.bytes_of(ping("q")))
    with remote.connect() as c:
        c.send(text)
        assert pong(c.answer(), "x")
        assert "Written 100000" in first_text(c.answer().message()["result"])
        assert pong(c.answer(), "p")
        assert "Written 100000" in first_text(c.answer().message()["result"])
        assert pong(c.answer(), "q")


def test_connection_close_is_honoured(remote):
    """H6."""
    for value in ("close", "Close", "keep-alive, close", "x, CLOSE"):
        with remote.start(ping(), {"Connection": value}) as c:
            answer = c.answer()
            assert pong(answer) and answer.closes and c.closed()


def test_what_follows_a_request_with_connection_close_is_not_served(remote, workspace):
    """RFC 9112 section 9.6."""
    with remote.connect() as c:
        c.send(remote.bytes_of(ping(), {"Connection": "close"}) + smuggled(remote))
        assert pong(c.answer()) and c.closed()
    assert not (workspace / "made").exists()


def test_http_1_0_is_answered_and_closed(remote):
    """H6; Host is not needed there."""
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields({"Host": None}), ping_body(), "HTTP/1.0"))
        assert pong(c.answer("HTTP/1.0")) and c.closed()


def test_http_1_0_keeps_the_connection_when_asked(remote):
    """H6: as nginx and old proxies ask."""
    with remote.connect() as c:
        for n in range(2):
            c.send(request("POST", "/mcp", remote.fields({"Connection": "Keep-Alive"}), ping_body(n), "HTTP/1.0"))
            answer = c.answer("HTTP/1.0")
            assert pong(answer, n) and "keep-alive" in answer.list("connection")


def test_a_client_that_has_sent_all_and_half_closes_is_answered(remote):
    """Decision 35: `printf ... | nc`, legacy."""
    call = message("tools/call", tool_params("terminal_exec", {"command": "sleep 0.3; echo late"}))
    for value, check in ((ping(), pong), (call, lambda a: "late" in first_text(a.message()["result"]))):
        with remote.start(value) as c:
            c.half_close()
            assert check(c.answer()) and c.closed()


def test_a_client_that_goes_away_in_the_middle_of_a_request_leaves_nothing(remote):
    """H6: descriptors do not pile up."""
    before = remote.fd_count()
    for text in (b"P", b"POST /mcp HTTP/1.1\r\nHost: h\r\n", remote.bytes_of(ping())[:-5],
                 request(fields=remote.fields({"Content-Length": MIB}), body=b"x" * 70_000)):
        for _ in range(20):
            with remote.connect() as c:
                c.send(text)
    wait_until(lambda: remote.fd_count() <= before, "descriptors are closed")
    assert remote.result("ping") == {}


# -- methods and targets -------------------------------------------------------------------------


def test_head_is_get_without_the_body(remote):
    """host-tools section 2."""
    with remote.connect() as c:
        c.send(request("HEAD", "/health", {"Host": "h"}) + request("GET", "/health", {"Host": "h"}))
        head, get = c.answer("HEAD"), c.answer("GET")
    assert (head.status, head.body, head.type) == (200, b"", "application/json")
    assert abs(int(head["content-length"]) - int(get["content-length"])) <= 2      # the uptime may have grown


@pytest.mark.parametrize("target, status", [("/mcp", 405), ("/none", 404)])
def test_head_elsewhere_is_an_answer_without_a_body(remote, target, status):
    """mcp.md section 8.1."""
    with remote.connect() as c:
        c.send(request("HEAD", target, remote.fields()) + remote.bytes_of(ping()))
        assert c.answer("HEAD").status == status
        assert pong(c.answer())


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "BREW", "get", "M-SEARCH"])
def test_other_methods_are_405_with_what_is_allowed(remote, method):
    """mcp.md section 8.1. The method is case-sensitive."""
    assert "POST" in remote.exchange(method, "/mcp", remote.fields())["allow"]
    answer = remote.exchange(method, "/health")
    assert answer.status == 405 and "GET" in answer["allow"] and answer.json()["error"]


def test_options_without_a_preflight_is_answered(remote):
    """host-tools section 2."""
    for target in ("/mcp", "/health", "*"):
        assert remote.exchange("OPTIONS", target, remote.fields()).status in (200, 204, 404, 405)


@pytest.mark.parametrize("target", ["/mcp", "/mcp/", "/mcp?x=1", "/mcp/?a=/b&c", "/%6dcp", "/m%63p",
                                    "http://127.0.0.1/mcp", "HTTP://elsewhere:99/mcp?x"])
def test_the_endpoint_is_found_under_its_spellings_without_a_redirect(remote, target):
    """H1, H17, with and without a token: same answer."""
    assert pong(remote.post(ping(), target=target))
    answer = remote.post(ping(), {"Authorization": None}, target=target)
    assert answer.status == 401 and answer["www-authenticate"], answer


@pytest.mark.parametrize("target", ["/MCP", "//mcp", "/mcp/x", "/mcp//", "/mcpx", "/mc", "/none", "/%", "/%6",
                                    "/mcp%2fx",
                                    "/mcp%00", "/../mcp", "/.well-known/oauth-protected-resource/x",
                                    "/mcp/.well-known/openid-configuration", "/session"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_paths_are_404_in_json(remote, workspace, method, target):
    """mcp.md section 8.2; with and without a token, never 401, a redirect or HTML."""
    for fields in (remote.fields(), {}):
        answer = remote.exchange(method, target, fields, json.dumps(write_call(1)).encode())
        assert answer.status in (404, 400) and answer.json()["error"], answer
    assert not (workspace / "made").exists()


# -- two readings of one request -----------------------------------------------------------------


@pytest.mark.parametrize("fields", [
    [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
    [("Transfer-Encoding", "chunked"), ("Content-Length", "5")],
    [("Content-Length", "5"), ("Content-Length", "6")], [("Content-Length", "5"), ("Content-Length", "5")],
    [("Content-Length", "5, 6")], [("Content-Length", "5,5")], [("Content-Length", "+5")], [("Content-Length", "-5")],
    [("Content-Length", "0x5")], [("Content-Length", "5e0")], [("Content-Length", "5 5")], [("Content-Length", "5.0")],
    [("Content-Length", "")], [("Content-Length", "a")], [("Content-Length", "\uff15")],
    [("Content-Length", "99999999999999999999")], [("Content-Length", "18446744073709551621")],
    [("Content-Length ", "5")], [(" Content-Length", "5")], [("Content-Length\t", "5")], [("Content-Length\0", "5")],
    [("Transfer-Encoding", "gzip, chunked")], [("Transfer-Encoding", "chunked, chunked")],
    [("Transfer-Encoding", "chunked, identity")], [("Transfer-Encoding", "identity")],
    [("Transfer-Encoding", "xchunked")], [("Transfer-Encoding", "chunked;q=1")], [("Transfer-Encoding", "")],
    [("Transfer-Encoding", b"\x0bchunked")], [("Transfer-Encoding", '"chunked"')],
    [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
    [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")],
    [("Transfer-Encoding ", "chunked")], [("X", "y\r\n Transfer-Encoding: chunked"), ("Content-Length", "5")],
    [("X", "a\rContent-Length: 5"), ("Content-Length", "6")], [("X", "a\0b"), ("Content-Length", "5")],
    [("X", "a\x01b"), ("Content-Length", "5")], [("X\xe9", "a"), ("Content-Length", "5")], [("", "a")], [("a b", "c")],
    [("Host", "second")], [("Authorization", "Bearer second-token-0123456789")], [("Content-Type", "text/plain")],
    [("Origin", "http://localhost"), ("Origin", "http://localhost")],
], ids=lambda fields: ascii(fields)[:60])
def test_a_head_that_could_be_read_in_two_ways_is_refused_and_the_connection_ends(remote, workspace, fields):
    """H4: 400 (501 for a coding we do not know), nothing behind it is served."""
    usual = list(remote.fields().items())
    body = b"0\r\n\r\n" if any(name.strip() == "Transfer-Encoding" for name, _ in fields) else ping_body()
    with remote.connect() as c:
        c.send(request("POST", "/mcp", usual + fields, body) + smuggled(remote) * 2)
        refused(c, 400, 501, 413)
    assert not (workspace / "made").exists()
    assert remote.result("ping") == {}


@pytest.mark.parametrize("value", ["{} ", "  {}", "{}\t", "0{}", "000{}"])
def test_blanks_around_a_length_and_leading_zeros_do_no_harm(remote, value):
    """RFC 9110 sections 5.5 and 8.6: blanks around a value are not part of it, a length is any digits."""
    body = ping_body()
    with remote.connect() as c:
        c.send(request(fields=remote.fields({"Content-Length": value.format(len(body))}), body=body))
        assert pong(c.answer())
        c.send(remote.bytes_of(ping(2)))
        assert pong(c.answer(), 2)


@pytest.mark.parametrize("line", [
    b"POST /mcp", b"POST /mcp HTTP/1", b"POST /mcp HTTP/1.", b"POST /mcp http/1.1", b"POST /mcp HTTP/1.1 ",
    b"POST /mcp HTTP/11", b"POST  /mcp HTTP/1.1", b"POST /m cp HTTP/1.1", b"POST\t/mcp HTTP/1.1",
    b" POST /mcp HTTP/1.1",
    b"POST mcp HTTP/1.1", b"POST \xc3\xa9 HTTP/1.1", b"POST /mcp\x01 HTTP/1.1", b"PO(ST /mcp HTTP/1.1", b"GET", b"\0",
    b"POST /mcp HTTP/1.1\rX: y", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"CONNECT h:80 HTTP/1.1",
], ids=ascii)
def test_a_broken_request_line_is_400_and_the_connection_ends(remote, line):
    """Also what a TLS client sends, and CONNECT, which names no path."""
    with remote.connect() as c:
        c.send(line + b"\r\nHost: h\r\n\r\n")
        refused(c, 400, 405, 501)


def test_a_tls_client_is_refused_at_once(remote):
    """It never ends a line, and would otherwise wait ten seconds to be told that nothing here speaks TLS."""
    hello = bytes.fromhex("16030100050100000100")
    with remote.connect() as c:
        began = time.monotonic()
        c.send(hello)
        refused(c, 400)
        assert time.monotonic() - began < 2 * busy()


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "HTTP/9.9"])
def test_other_major_versions_are_505(remote, version):
    """RFC 9110 section 15.6.6."""
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields(), ping_body(), version))
        refused(c, 505)


def test_the_preface_of_http_2_is_refused(remote):
    """A client that knows beforehand tries HTTP/2 in clear."""
    with remote.connect() as c:
        c.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        refused(c, 505, 400)


def test_a_later_minor_version_is_served_as_1_1(remote):
    """RFC 9110 section 2.5."""
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields(), ping_body(), "HTTP/1.2"))
        assert pong(c.answer())


def test_http_1_1_without_a_host_is_refused(remote):
    """RFC 9112 section 3.2."""
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields({"Host": None}), ping_body()))
        refused(c, 400)


def test_chunks_with_http_1_0_are_refused(remote, workspace):
    """RFC 9112 section 6.1: whoever passed it on cannot have understood it."""
    with remote.connect() as c:
        c.send(request("POST", "/mcp", remote.fields({"Transfer-Encoding": "chunked"}), chunked(ping_body()),
                       "HTTP/1.0")
               + smuggled(remote))
        refused(c, 400)
    assert not (workspace / "made").exists()


def test_the_body_of_a_get_is_not_taken_for_a_request(remote, workspace):
    """A body is read or the connection ends; on refusals, too."""
    body = smuggled(remote)
    for method, target, fields in (("GET", "/health", {}), ("GET", "/mcp", {}), ("POST", "/none", {}),
                                   ("POST", "/mcp", {"Authorization": None}), ("POST", "/mcp", {"Content-Type": "a/b"}),
                                   ("POST", "/mcp", {"Origin": "http://evil.example"}), ("DELETE", "/mcp", {})):
        for chunks in (False, True):
            how = {"Transfer-Encoding": "chunked"} if chunks else {}
            text = request(method, target, remote.fields({**fields, **how}), chunked(body) if chunks else body)
            for cut in (len(text), text.index(b"\r\n\r\n") + 4):
                with remote.connect() as c:
                    c.send(text[:cut])
                    time.sleep(0.005)
                    c.send(text[cut:])
                    answer = c.answer(method)
                    assert answer.status in (200, 400, 401, 403, 404, 405, 415), answer
                    if answer.closes:
                        assert c.closed()
                    else:
                        c.send(remote.bytes_of(ping()))
                        assert pong(c.answer())
    assert not (workspace / "made").exists()


# -- chunks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    chunked(ping_body(), 1), chunked(ping_body(), 1000), chunked(ping_body(), 7, b";a=b"),
    chunked(ping_body(), 7, b';name="quoted; text";x'), chunked(ping_body(), 7, b" ;a"),
    chunked(ping_body(), 1000, trailer=b"X-Checksum: 1\r\nAuthorization: Bearer no\r\n"),
    b"000" + chunked(ping_body(), 1000), chunked(ping_body(), 1000).upper().replace(ping_body().upper(), ping_body()),
], ids=["bytes", "one", "extension", "quoted", "blank", "trailers", "zeros", "capitals"])
def test_chunked_bodies_are_read(remote, text):
    """mcp.md section 8.2: any HTTP/1.1 client may send them; whole, and byte by byte."""
    whole = request(fields=remote.fields({"Transfer-Encoding": "Chunked"}), body=text)
    with remote.connect() as c:
        c.send(whole + remote.bytes_of(ping("next")))
        assert pong(c.answer()) and pong(c.answer(), "next")
        c.send_slowly(whole, 1, 0.0003)
        assert pong(c.answer())
        assert c.silent(0.05)


@pytest.mark.parametrize("text", [
    b"g\r\n", b"\r\n", b"-1\r\n", b"+5\r\n", b"0x5\r\nhello\r\n", b"5 5\r\nhello\r\n", b"5\nhello\r\n",
    b"5\r\nhello0\r\n\r\n", b"5\r\nhelloXX0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n", b" 5\r\nhello\r\n",
    b"fffffffffffffffff\r\n", b"10000000000000005\r\nhello\r\n", b"5;\n\r\nhello\r\n", b"5;\0\r\nhello\r\n",
    b"0\r\nX: y\n\r\n", b"5;" + b"a" * 20_000 + b"\r\nhello\r\n", b"0\r\n" + b"X: y\r\n" * 10_000,
], ids=lambda text: ascii(text)[:40])
def test_broken_chunks_are_refused_and_the_connection_ends(remote, workspace, text):
    """H4; extensions and trailers are bounded."""
    for fields in (remote.fields(), remote.fields({"Authorization": None})):
        with remote.connect() as c:
            c.send(request(fields={**fields, "Transfer-Encoding": "chunked"}, body=text) + smuggled(remote))
            refused(c, 400, 401, 413, 431)
    assert not (workspace / "made").exists()
