"""Each fault of the reference server (host-tools.md, section 9) and each field case of the groups X, P, G, H and O has one.

A test says which it is by the number in its docstring: "fault 13", "faults 2, 8 and 19", "X3".
"""
import ast
import collections
import re

from conftest import ROOT

FAULTS = range(1, 66)
ROWS = {"X": 13, "P": 11, "G": 10, "H": 18, "O": 13}
NO_ROW = {
    "X13": "of wait_for_text: pitfall P6 of the sandbox tools, tests/e2e/test_sandbox_wait.py",
    "P5": "there is no tool that edits a part of a file",
}


def docstrings():
    """Of every test function that drives the binary: its name and what it says. The sandbox tools have another list of their own."""
    for path in sorted(path for folder in ("e2e", "interop") for path in (ROOT / "tests" / folder).glob("test_*.py")):
        if path.name.startswith("test_sandbox"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", ast.get_docstring(node) or ""


def covered():
    """Numbers of faults and names of rows, each with its tests."""
    found = collections.defaultdict(list)
    for name, text in docstrings():
        for numbers in re.findall(r"\b[Ff]aults? (\d+(?:(?:, and |, | and )\d+)*)", text):
            for number in re.findall(r"\d+", numbers):
                found[int(number)].append(name)
        for row in re.findall(r"\b[XPGHO]\d{1,2}\b", text):
            found[row].append(name)
    return found


def test_each_fault_has_a_test():
    found = covered()
    assert [n for n in FAULTS if n not in found] == []
    assert [n for n in found if isinstance(n, int) and n not in FAULTS] == []


def test_each_field_case_of_commands_files_git_http_and_signing_in_has_a_test():
    rows = [f"{group}{n}" for group, last in ROWS.items() for n in range(1, last + 1)]
    found = covered()
    assert [row for row in rows if row not in found and row not in NO_ROW] == []


def test_what_is_left_out_is_indeed_not_there():
    found = covered()
    assert [n for n in NO_ROW if n in found] == []
