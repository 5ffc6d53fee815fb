"""Reading files: byte for byte, by lines, and what is refused."""

import os

import pytest

MIB = 1 << 20
MAX = MIB               # the default of SANDSTORM_MAX_OUTPUT for host tools


def blocks(host, **arguments):
    """The text blocks of a file_read that succeeded."""
    result = host.call("file_read", **arguments)
    assert not result["isError"], result
    return [block["text"] for block in result["content"]]


def numbered(path, count, ending="\n"):
    path.write_bytes("".join(f"line {n}{ending}" for n in range(1, count + 1)).encode())
    return path


# -- whole files ----------------------------------------------------------------------------------

@pytest.mark.parametrize("content", [
    b"", b"\n", b"a", b"a\n", b"a\r\nb\r\n", b"a\rb\r", b"\xef\xbb\xbfbom\n", b"tab\tbell\x07del\x7f esc\x1b[0m",
    b"\\n \"'`$",
    "äöü € 😀 e\u0301\n".encode(), "\u2028\u2029\ufeff\uffff".encode(), b"x" * 70000, "€".encode() * 30000,
])
def test_text_comes_back_unchanged(host, workspace, content):
    """Fault 13: CR LF, lone CR and a byte order mark stay."""
    (workspace / "f").write_bytes(content)
    assert blocks(host, path="f") == [content.decode()]


@pytest.mark.parametrize("content", [
    "a\r\nb\rc\n", "\ufeffbom", "", "no newline at the end", "\u0000nul later" * 2, "€😀" * 100000,
    "\\ \" \u2028 \x01",
])
def test_what_was_written_is_read_back_byte_for_byte(host, workspace, content):
    written = host.text("file_write", path="f", content=content)
    assert written == f"Written {len(content.encode())} bytes to {workspace}/f"
    assert (workspace / "f").read_bytes() == content.encode()
    if "\0" not in content:
        assert blocks(host, path="f") == [content]


def test_invalid_utf8_is_shown_as_replacement_characters_and_told(host, workspace):
    """P8: never without a flag. Each ill-formed sequence counts once, as Unicode has it."""
    content = b"ok \xff\xfe then \xe2\x82 cut \xc0\x80 overlong \xed\xa0\x80 surrogate \xf0\x9f\x98"
    (workspace / "f").write_bytes(content)
    text, *notes = blocks(host, path="f")
    assert text == content.decode("utf-8", "replace")
    assert notes == [f"{text.count(chr(0xfffd))} invalid UTF-8 sequences are shown as U+FFFD"]


def test_a_character_across_two_reads_is_whole(host, workspace):
    content = "x" * 65535 + "€" + "y" * 65534 + "😀"
    (workspace / "f").write_bytes(content.encode())
    assert blocks(host, path="f") == [content]


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_not(host, workspace):
    """Decision 9."""
    (workspace / "f").write_bytes(b"x" * MAX)
    assert blocks(host, path="f") == ["x" * MAX]
    (workspace / "f").write_bytes(b"x" * MAX + b"\n")
    assert host.failure("file_read", path="f") == (
        f"Error: {workspace}/f: file of {MAX + 1} bytes (1 lines) is over the limit of {MAX} bytes;"
        " ask for a part with offset and limit")


def test_the_limit_is_the_configured_one_and_the_error_counts_lines(server, workspace):
    s = server(env={"SANDSTORM_MAX_OUTPUT": "5000"})
    numbered(workspace / "f", 1000)
    size = (workspace / "f").stat().st_size
    assert s.failure("file_read", path="f") == (
        f"Error: {workspace}/f: file of {size} bytes (1000 lines) is over the limit of 5000 bytes;"
        " ask for a part with offset and limit")


def test_a_huge_file_is_refused_at_once_without_counting(host, workspace):
    """Fault 17: 2 GB, sparse."""
    with open(workspace / "f", "wb") as f:
        f.write(b"text\n" * 2000)
        f.truncate(2 << 30)
    host.patience = 1
    assert host.failure("file_read", path="f") == (
        f"Error: {workspace}/f: file of {2 << 30} bytes is over the limit of {MAX} bytes;"
        " ask for a part with offset and limit")
    assert host.peak_rss_kib() < 8 * 1024


@pytest.mark.parametrize("name, content, kind", [
    ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
    ("jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
    ("gif", b"GIF89a\1\0\1\0", "image/gif"),
    ("pdf", b"%PDF-1.7\n\0", "application/pdf"),
    ("gz", b"\x1f\x8b\x08\0\0\0\0\0", "application/gzip"),
    ("zip", b"PK\3\4\x14\0\0\0", "application/zip"),
    ("elf", b"\x7fELF\2\1\1\0", "application/x-executable"),
    ("utf16", "\ufeffhello".encode("utf-16-le"), "text/plain; charset=utf-16"),
    ("utf16be", "\ufeffhello".encode("utf-16-be"), "text/plain; charset=utf-16"),
    ("other", b"a" * 8191 + b"\0", "application/octet-stream"),
])
def test_a_binary_file_is_named_as_such(host, workspace, name, content, kind):
    """P8."""
    (workspace / name).write_bytes(content)
    expected = f"Error: {workspace}/{name}: binary file ({kind}), {len(content)} bytes"
    assert host.failure("file_read", path=name) == expected
    assert host.failure("file_read", path=name, offset=1, limit=1) == expected


def test_random_bytes_are_binary(host, workspace):
    """P8."""
    (workspace / "f").write_bytes(bytes(range(256)) * 4)
    assert host.failure("file_read", path="f") == (
        f"Error: {workspace}/f: binary file (application/octet-stream), 1024 bytes")


def test_a_nul_far_inside_does_not_make_a_text_binary(host, workspace):
    content = "a" * 8192 + "\0b"
    (workspace / "f").write_bytes(content.encode())
    assert blocks(host, path="f") == [content]


def test_a_missing_file_and_a_directory_are_errors(host, workspace):
    (workspace / "d").mkdir()
    os.symlink("nowhere", workspace / "dangling")
    assert host.failure("file_read", path="nope") == f"Error: {workspace}/nope: No such file or directory"
    assert host.failure("file_read", path="no/pe") == f"Error: {workspace}/no/pe: No such file or directory"
    assert host.failure("file_read", path="dangling") == f"Error: {workspace}/dangling: No such file or directory"
    assert host.failure("file_read", path="d") == f"Error: {workspace}/d: Is a directory"
    assert host.failure("file_read", path="d", offset=1) == f"Error: {workspace}/d: Is a directory"


# -- ranges ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("offset, limit, first, last", [
    (1, 1, 1, 1), (1, 5, 1, 5), (3, 2, 3, 4), (10, 1, 10, 10), (10, 99, 10, 10), (7, None, 7, 10), (None, 4, 1, 4),
    (-1, None, 10, 10), (-3, None, 8, 10), (-3, 2, 8, 9), (-10, 3, 1, 3), (-11, 3, 1, 3), (2, 10 ** 15, 2, 10),
])
def test_a_range_shows_its_lines_and_says_which(host, workspace, offset, limit, first, last):
    numbered(workspace / "f", 10)
    assert blocks(host, path="f", offset=offset, limit=limit) == [
        "".join(f"line {n}\n" for n in range(first, last + 1)), f"Lines {first}-{last} of 10"]


@pytest.mark.parametrize("offset, limit", [(1, 10), (1, None), (-10, None), (-99, None), (None, 10), (None, 99),
                                           (-10, 10)])
def test_a_range_that_shows_everything_says_nothing(host, workspace, offset, limit):
    numbered(workspace / "f", 10)
    assert blocks(host, path="f", offset=offset, limit=limit) == ["".join(f"line {n}\n" for n in range(1, 11))]


@pytest.mark.parametrize("offset, limit", [(None, None), (1, None), (1, 1), (-1, None)])
def test_an_empty_file_is_shown_as_it_is(host, workspace, offset, limit):
    (workspace / "f").write_text("")
    assert blocks(host, path="f", offset=offset, limit=limit) == [""]


@pytest.mark.parametrize("content, offset, lines", [("a\nb\n", 3, 2), ("a\nb", 3, 2), ("", 2, 0), ("\n\n\n", 100, 3)])
def test_an_offset_past_the_end_is_told(host, workspace, content, offset, lines):
    (workspace / "f").write_text(content)
    assert blocks(host, path="f", offset=offset) == ["", f"Lines 0 of {lines}: offset {offset} is past the end"]


def test_a_last_line_without_newline_is_a_line(host, workspace):
    (workspace / "f").write_bytes(b"a\nb\nc")
    assert blocks(host, path="f", offset=-1) == ["c", "Lines 3-3 of 3"]
    assert blocks(host, path="f", offset=2) == ["b\nc", "Lines 2-3 of 3"]
    assert blocks(host, path="f", offset=3, limit=1) == ["c", "Lines 3-3 of 3"]


def test_lines_end_with_lf_and_cr_belongs_to_the_line(host, workspace):
    numbered(workspace / "f", 3, "\r\n")
    assert blocks(host, path="f", offset=2, limit=1) == ["line 2\r\n", "Lines 2-2 of 3"]
    (workspace / "g").write_bytes(b"old\rmac\r")
    assert blocks(host, path="g", offset=1, limit=1) == ["old\rmac\r"]


@pytest.mark.parametrize("arguments, rule", [
    ({"offset": 0}, "offset: must not be 0"), ({"limit": 0}, "limit: must be at least 1"),
    ({"limit": -5}, "limit: must be at least 1"), ({"offset": 1, "limit": 0}, "limit: must be at least 1"),
])
def test_a_range_that_cannot_be_is_an_argument_error(host, workspace, arguments, rule):
    numbered(workspace / "f", 3)
    assert host.failure("file_read", path="f", **arguments) == f"Invalid arguments for file_read: {rule}"


def test_a_range_gives_parts_of_a_file_that_is_too_large_to_be_read_whole(host, workspace):
    numbered(workspace / "f", 300000)
    assert blocks(host, path="f", offset=200000, limit=2) == [
        "line 200000\nline 200001\n", "Lines 200000-200001 of 300000"]
    assert blocks(host, path="f", offset=-1) == ["line 300000\n", "Lines 300000-300000 of 300000"]


def test_a_range_over_the_bound_is_cut_and_says_where_to_go_on(server, workspace):
    """Decision 9: a range is bounded too. Following the notes gives the whole file."""
    s = server(env={"SANDSTORM_MAX_OUTPUT": "5000"})
    content = "".join(f"line {n} €\n" for n in range(1, 1001))
    (workspace / "f").write_text(content)
    offset, together = 1, ""
    for _ in range(20):
        text, *notes = blocks(s, path="f", offset=offset)
        assert len(text.encode()) <= 5003 and "\ufffd" not in text
        if "cut at" not in notes[0]:
            break
        last = offset + text.count("\n") - text.endswith("\n")
        together += text[:text.rindex("\n") + 1]
        following = offset + text.count("\n")
        assert notes == [f"Lines {offset}-{last} of 1000; cut at 5000 bytes, continue with offset {following}"]
        offset = following
    assert together + text == content
    assert notes == [f"Lines {offset}-1000 of 1000"]


def test_a_line_longer_than_the_bound_does_not_stop_the_reader(server, workspace):
    s = server(env={"SANDSTORM_MAX_OUTPUT": "5000"})
    (workspace / "f").write_text("x" * 12000 + "\nnext\n")
    assert blocks(s, path="f", offset=1) == ["x" * 5000, "Lines 1-1 of 2; cut at 5000 bytes, continue with offset 2"]
    assert blocks(s, path="f", offset=2) == ["next\n", "Lines 2-2 of 2"]


@pytest.mark.parametrize("shift", range(4))
def test_a_cut_never_splits_a_character(server, workspace, shift):
    s = server(env={"SANDSTORM_MAX_OUTPUT": "65536"})
    (workspace / "f").write_text("x" * shift + "😀" * 40000)
    text, note = blocks(s, path="f", offset=1)
    assert set(text) <= {"x", "😀"}
    assert 65536 <= len(text.encode()) <= 65539
    assert note == "Lines 1-1 of 1; cut at 65536 bytes, continue with offset 2"


@pytest.fixture
def large(workspace):
    """A file over 64 MiB with lines of 64 bytes."""
    lines, size = 1100000, 1100000 * 64
    with open(workspace / "f", "wb") as f:
        for start in range(1, lines + 1, 50000):
            f.write(b"".join(b"%-63d\n" % n for n in range(start, start + 50000)))
    return lines, size


def row(number):
    return f"{number:<63}\n"


def test_lines_are_not_counted_in_a_file_above_64_mib(host, workspace, large):
    """Decision 46."""
    lines, size = large
    assert blocks(host, path="f", offset=2, limit=2) == [row(2) + row(3), f"Lines 2-3; the file has {size} bytes"]
    assert blocks(host, path="f", offset=lines - 1) == [
        row(lines - 1) + row(lines), f"Lines {lines - 1}-{lines} of {lines}"]
    assert blocks(host, path="f", offset=lines + 5) == ["", f"Lines 0 of {lines}: offset {lines + 5} is past the end"]


def test_the_last_lines_of_a_file_above_64_mib_are_found_from_its_end(host, workspace, large):
    lines, size = large
    assert blocks(host, path="f", offset=-2) == [
        row(lines - 1) + row(lines), f"Last 2 lines; the file has {size} bytes"]
    assert blocks(host, path="f", offset=-3, limit=2) == [
        row(lines - 2) + row(lines - 1), f"Lines -3 to -2; the file has {size} bytes"]
    text, note = blocks(host, path="f", offset=-20000)
    assert text == "".join(row(n) for n in range(lines - 19999, lines - 19999 + MAX // 64))
    assert note == (f"Last 20000 lines; the file has {size} bytes; cut at {MAX} bytes,"
                    f" continue with offset -{20000 - MAX // 64}")
    assert blocks(host, path="f", offset=-(lines + 7), limit=1) == [
        row(1), f"Lines -{lines} to -{lines}; the file has {size} bytes"]
    with open(workspace / "f", "ab") as f:
        f.write(b"unfinished")
    assert blocks(host, path="f", offset=-2)[0] == row(lines) + "unfinished"


def test_replaced_bytes_are_counted_beside_the_lines(host, workspace):
    (workspace / "f").write_bytes(b"ok\nbad \xff\nok\n")
    assert blocks(host, path="f", offset=2, limit=1) == [
        "bad \ufffd\n", "Lines 2-2 of 3", "1 invalid UTF-8 sequences are shown as U+FFFD"]
