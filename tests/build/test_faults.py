"""Each fault of the reference server (host-tools.md, section 9), each field case of the groups F, S, M, X, P, G, H and O,
and each raw check of the protocol notes (mcp.md, section 11) has a test.

A test says which it is by the number in its docstring: "fault 13", "faults 2, 8 and 19", "X3", "mcp.md 11.4". What must
hold over stdio and over HTTP has one test that takes the fixture `peer` or `peers`, or one for each of the two.
"""
import ast
import collections
import re

from conftest import ROOT

FAULTS = range(1, 66)
ROWS = {"F": 16, "S": 6, "M": 7, "X": 13, "P": 11, "G": 10, "H": 18, "O": 13}
NO_ROW = {
    "X13": "of wait_for_text: pitfall P6 of the sandbox tools, tests/e2e/test_sandbox_wait.py",
    "P5": "there is no tool that edits a part of a file",
}
RAW = [
    "what is not JSON", "an array where there are no batches", "the id null", "the id 1.5", "another Content-Type",
    "Content-Type with a parameter", "no Accept", "modern _meta, no version in the head", "a modern head, no params",
    "modern _meta and head of a legacy revision", "a modern notification", "an unknown revision in the head of tools/list",
    "the same of initialize", "initialize for an unknown or the modern revision", "batches of each revision",
    "a session id", "Origin null and evil", "lines that end with CR LF", "blank lines", "discover, then initialize",
    "initialize, then a modern call", "end of stdin with a running call", "SIGTERM", "a message of a megabyte",
    "split writes", "two calls in flight answered out of order", "cancel by a string id",
]
ONE_TRANSPORT = {
    "stdio": {"F1", "F12", "S2"} | {f"mcp.md 11.{n}" for n in (18, 19, 22, 25, 27)},        # lines, end of stdin
    "http": {"M2"} | {f"mcp.md 11.{n}" for n in (5, 6, 7, 8, 9, 10, 12, 13, 16, 17)},       # heads
}
BOTH = [row for row in [f"{group}{n}" for group in "FSM" for n in range(1, ROWS[group] + 1)]
        + [f"mcp.md 11.{n}" for n in range(1, len(RAW) + 1)] if row not in set().union(*ONE_TRANSPORT.values())]


def functions():
    """Of every test function that drives the binary: its file, itself. The sandbox tools have another list of their own,
    whose names are those of others here."""
    for path in sorted(path for folder in ("e2e", "interop") for path in (ROOT / "tests" / folder).glob("test_*.py")):
        if path.name.startswith("test_sandbox"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield path, node


def transports(path, node):
    """Over which of the two a test speaks to the server, by its fixtures."""
    fixtures = {argument.arg for argument in node.args.args}
    if fixtures & {"peer", "peers"}:
        return {"stdio", "http"}
    return {"http"} if fixtures & {"remote", "web", "proxy", "behind"} or "http" in path.name else {"stdio"}


def covered():
    """Numbers of faults and names of rows, each with its tests: (name, transports)."""
    found = collections.defaultdict(list)
    for path, node in functions():
        text = ast.get_docstring(node) or ""
        test = f"{path.name}::{node.name}", transports(path, node)
        for numbers in re.findall(r"\b[Ff]aults? (\d+(?:(?:, and |, | and )\d+)*)", text):
            for number in re.findall(r"\d+", numbers):
                found[int(number)].append(test)
        for row in re.findall(r"\b[FSMXPGHO]\d{1,2}\b", text):
            found[row].append(test)
        if "mcp.md" in text:
            for number in re.findall(r"\b11\.\d{1,2}\b", text):
                found[f"mcp.md {number}"].append(test)
    return found


def test_each_fault_has_a_test():
    found = covered()
    assert [n for n in FAULTS if n not in found] == []
    assert [n for n in found if isinstance(n, int) and n not in FAULTS] == []


def test_each_field_case_has_a_test():
    rows = [f"{group}{n}" for group, last in ROWS.items() for n in range(1, last + 1)]
    found = covered()
    assert [row for row in rows if row not in found and row not in NO_ROW] == []


def test_each_raw_check_has_a_test():
    found = covered()
    checks = [f"mcp.md 11.{n}" for n in range(1, len(RAW) + 1)]
    assert [(check, what) for check, what in zip(checks, RAW) if check not in found] == []
    assert [check for check in found if str(check).startswith("mcp.md") and check not in checks] == []


def test_messages_and_processes_are_tested_over_stdio_and_over_http():
    found = covered()
    spoken = {row: set().union(*(over for _, over in found[row])) for row in BOTH}
    assert {row: over for row, over in spoken.items() if len(over) < 2} == {}


def test_what_is_left_out_is_indeed_not_there():
    found = covered()
    assert [n for n in NO_ROW if n in found] == []
