"""Each fault of the reference server (host-tools.md, section 9) and each field case of the groups X, P and G has a test.

A test says which it is by the number in its docstring: "fault 13", "faults 2, 8 and 19", "X3".
"""
import ast
import collections
import re

from conftest import ROOT

FAULTS = range(1, 66)
# What they belong to is not served yet; the number goes from this list when its test comes.
NOT_SERVED = {
    3: "OAuth: the authorize page and its clients",
    4: "OAuth: codes",
    5: "OAuth: PKCE",
    6: "OAuth: the authorize form",
    25: "OAuth: metadata",
    26: "OAuth: fields of its answers",
    28: "OAuth: state in the location",
}
ROWS = {"X": 13, "P": 11, "G": 10}
NO_ROW = {
    "X13": "a sandbox tool, wait_for_text",
    "P5": "there is no tool that edits a part of a file",
}


def docstrings():
    """Of every end-to-end test function: its name and what it says."""
    for path in sorted((ROOT / "tests" / "e2e").glob("test_*.py")):
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
        for row in re.findall(r"\b[XPG]\d{1,2}\b", text):
            found[row].append(name)
    return found


def test_each_fault_of_what_is_served_has_a_test():
    found = covered()
    assert [n for n in FAULTS if n not in found and n not in NOT_SERVED] == []
    assert [n for n in found if isinstance(n, int) and n not in FAULTS] == []


def test_each_field_case_of_commands_files_and_git_has_a_test():
    rows = [f"{group}{n}" for group, last in ROWS.items() for n in range(1, last + 1)]
    found = covered()
    assert [row for row in rows if row not in found and row not in NO_ROW] == []


def test_what_is_left_out_is_indeed_not_there():
    found = covered()
    assert [n for n in [*NOT_SERVED, *NO_ROW] if n in found] == []
