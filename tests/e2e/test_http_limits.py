"""HTTP/1.1: bodies that are announced with Expect, and the limits of bodies, heads and uploads.

H rows are those of the field cases; decisions those of the design.
"""

import json
import subprocess
import time

import pytest

from httpwire import chunked, request
from mcpwire import first_text, wait_until
from process import busy
from test_http_framing import LIMIT, MIB, ping, ping_body, pong, refused, write_call


# -- Expect --------------------------------------------------------------------------------------


def test_expect_100_continue_is_answered_at_once(remote, workspace):
    """H5: the interim answer comes before any of the body."""
    body = json.dumps(write_call(1, "f", "z" * (2 * MIB))).encode()
    text = request(fields=remote.fields({"Expect": "100-continue"}), body=body)
    end = text.index(b"\r\n\r\n") + 4
    with remote.connect() as c:
        c.send(text[:end])
        assert c._until(b"\r\n\r\n", time.monotonic() + 2 * busy(), "100") == b"HTTP/1.1 100 Continue"
        c.send(text[end:])
        assert "Written 2097152" in first_text(c.answer().message()["result"])
    assert (workspace / "f").stat().st_size == 2 * MIB


def test_expect_with_the_body_right_behind_is_served(remote):
    """RFC 9110 section 10.1.1: the interim answer may be left out then."""
    with remote.start(ping(), {"Expect": "100-Continue"}) as c:
        answer = c.answer()
        assert pong(answer) and answer.interim in ([], [100])


@pytest.mark.parametrize("fields, status", [
    ({"Authorization": "Bearer wrong-0123456789abcdef"}, 401), ({"Authorization": None}, 401),
    ({"Content-Length": LIMIT + 1}, 413), ({"Origin": "http://evil.example"}, 403),
])
def test_a_request_that_is_refused_gets_its_status_instead_of_100(remote, fields, status):
    """H5: the body is never asked for."""
    with remote.connect() as c:
        c.send(request(fields={**remote.fields({"Content-Length": 50_000, "Expect": "100-continue"}), **fields}))
        answer = c.answer(timeout=2)
        assert (answer.status, answer.interim) == (status, []) and answer.closes


def test_an_unknown_expectation_is_417_or_ignored(remote):
    """H5."""
    with remote.start(ping(), {"Expect": "x-magic"}) as c:
        assert c.answer().status in (200, 417)


def test_http_1_0_gets_no_interim_answer(remote):
    """RFC 9110 section 10.1.1."""
    body = ping_body()
    text = request("POST", "/mcp", remote.fields({"Expect": "100-continue"}), body, "HTTP/1.0")
    with remote.connect() as c:
        c.send(text[:-len(body)])
        assert c.silent(0.2)
        c.send(body)
        answer = c.answer("HTTP/1.0")
        assert pong(answer) and answer.interim == []


def test_curl_posts_two_megabytes_without_waiting(remote, tmp_path, workspace):
    """H5: curl waits a second for 100 Continue when none comes."""
    (tmp_path / "body").write_bytes(json.dumps(write_call(1, "f", "z" * (2 * MIB))).encode())
    fields = [word for name, value in remote.fields().items() for word in ("-H", f"{name}: {value}")]
    started = time.monotonic()
    done = subprocess.run(["curl", "-sS", "--max-time", "10", *fields, "-H", "Expect: 100-continue", "--data-binary",
                           f"@{tmp_path}/body", remote.url], capture_output=True)
    assert "Written 2097152" in done.stdout.decode(), done
    assert time.monotonic() - started < 0.9 * busy()


# -- limits --------------------------------------------------------------------------------------


def test_a_length_over_the_limit_is_413_before_any_of_the_body(remote):
    """F10, H18, fault 29: the limit is named; with a token or without the body is not waited for."""
    for length in (LIMIT + 1, 10**12, 2**63 - 1):
        with remote.connect() as c:
            c.send(request(fields=remote.fields({"Content-Length": length})))
            answer = refused(c, 413)
            assert "16 MiB" in json.dumps(answer.json())
        with remote.connect() as c:
            c.send(request(fields=remote.fields({"Content-Length": length, "Authorization": None})))
            refused(c, 413, 401)


def test_a_body_of_exactly_the_limit_is_served_and_one_byte_more_is_not(remote, workspace):
    """The bound of a body is 16 MiB."""
    frame = len(json.dumps(write_call(1, "f", "")))
    body = json.dumps(write_call(1, "f", "x" * (LIMIT - frame))).encode()
    assert len(body) == LIMIT
    answer = remote.post(body)
    assert f"Written {LIMIT - frame} bytes" in first_text(answer.message()["result"])
    assert remote.post(body + b" ").status == 413
    with remote.connect() as c:
        c.send(request(fields=remote.fields({"Transfer-Encoding": "chunked"}), body=chunked(body, MIB)))
        assert f"Written {LIMIT - frame} bytes" in first_text(c.answer().message()["result"])


def test_a_chunked_body_without_end_is_413_while_it_comes(remote):
    """F10 over HTTP, H3: refused and closed while reading, memory bounded."""
    with remote.connect() as c:
        c.send(request(fields=remote.fields({"Transfer-Encoding": "chunked"})))
        piece = b"100000\r\n" + b"x" * MIB + b"\r\n"
        for _ in range(17):
            c.send(piece)
        assert c.answer().status == 413
        with pytest.raises(OSError):        # and is not read for long
            for _ in range(100):
                c.send(piece)
                time.sleep(0.05)
    assert remote.peak_rss_kib() < 24 * 1024
    wait_until(lambda: remote.rss_kib() < 2048, "memory of the body given back")


def test_the_413_of_a_chunked_body_is_read_by_a_client_that_sends_on(remote):
    """H3: the answer arrives before the connection is reset."""
    with remote.connect() as c:
        c.send(request(fields=remote.fields({"Transfer-Encoding": "chunked"}),
                       body=b"1000001\r\n" + b"x" * (LIMIT + 1)))
        answer = c.answer()
        assert answer.status == 413 and answer.closes


@pytest.mark.parametrize("fields", [{"X": "a" * 16_384}, {f"X-{n}": "v" for n in range(101)}], ids=["long", "many"])
def test_a_head_over_its_limits_is_431(remote, fields):
    """16 KiB and 100 fields."""
    with remote.connect() as c:
        c.send(request(fields={**remote.fields(), **fields}, body=ping_body()))
        refused(c, 431)


def test_a_head_without_end_is_431_while_it_comes(remote):
    """One line without its end, in pieces."""
    with remote.connect() as c:
        c.send(b"GET /health HTTP/1.1\r\nX: ")
        for _ in range(20):
            c.send(b"a" * 1000)
            time.sleep(0.001)
        refused(c, 431)


def test_a_long_target_is_refused_with_a_status_of_its_own(remote):
    """RFC 9110 section 15.5.15, or the limit of the head."""
    with remote.connect() as c:
        c.send(request("GET", "/" + "a" * 20_000, {"Host": "h"}))
        refused(c, 414, 431)


def test_a_head_within_its_limits_is_served(remote):
    """Clients behind a login send cookies of several kilobytes."""
    assert pong(remote.post(ping(), {"Cookie": "c=" + "a" * 15_000}))
    assert pong(remote.post(ping(), {f"X-{n}": "v" for n in range(90)}))
    assert pong(remote.post(ping(), {"X": ""}))
    assert pong(remote.post(ping(), {"X": b"\xe9\xff and \xe2\x82\xac\tand more"}))


def test_more_than_eight_large_uploads_at_once_are_503_and_small_requests_are_served(remote, workspace):
    """Decision 40."""
    body = json.dumps(write_call(1, "f", "x" * 100_000)).encode()
    text = request(fields=remote.fields(), body=body)
    waiting = [remote.connect() for _ in range(8)]
    for c in waiting:
        c.send(text[:-10])
    time.sleep(0.05)
    with remote.connect() as c:
        c.send(text)
        answer = refused(c, 503)
        assert 1 <= int(answer["retry-after"]) <= 60
    assert remote.result("ping") == {}
    assert remote.text("file_write", path="small", content="x" * 10_000)
    for c in waiting[:2]:
        c.send(text[-10:])
        assert "Written 100000" in first_text(c.answer().message()["result"])
    assert "Written 100000" in first_text(remote.post(body).message()["result"])
    for c in waiting[2:]:
        c.close()
    wait_until(lambda: remote.post(body).status == 200, "the upload buffers are free again")
