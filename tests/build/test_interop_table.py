"""The table of clients in the README: what makes the last test of `make interop` fail."""

import json
import subprocess

import pytest

README = "before\n<!-- clients:begin -->\nold\n<!-- clients:end -->\nafter\n"


def client(transport, era, protocol, *steps):
    return {"client": "B", "version": "1.0", "transport": transport, "era": era, "protocol": protocol,
            "steps": {step: "ok" for step in steps}}


SEEN = [client("stdio", "auto", "2026-07-28", "list", "read"), client("http", "auto", "2026-07-28", "list", "read"),
        client("http", "legacy", "2025-11-25", "list")]
SUITE = {"what": "scenarios of 2026-07-28, shipped build", "version": "0.2", "passed": 3, "listed": 2, "failed": 0}
TABLE = """before
<!-- clients:begin -->

| Client | Version | Era | Revision | stdio | HTTP |
| --- | --- | --- | --- | --- | --- |
| B | 1.0 | legacy | 2025-11-25 | - | 1 of 1 |
| B | 1.0 | auto | 2026-07-28 | 2 of 2 | 2 of 2 |
| conformance suite | 0.2 | scenarios, shipped build | 2026-07-28 | - | 3 pass, 2 listed |

<!-- clients:end -->
after
"""


@pytest.fixture
def table(root, tmp_path):
    """Runs the script on what was seen and a README: (exit status, what it says, the README then)."""
    def run(*options, seen=(*SEEN, SUITE), readme=README):
        results = tmp_path / "results"
        results.mkdir(exist_ok=True)
        for old in results.iterdir():
            old.unlink()
        for number, said in enumerate(seen):
            name = "conformance-x" if "what" in said else f"client-{number}"
            (results / f"{name}.json").write_text(json.dumps(said))
        path = tmp_path / "README.md"
        path.write_text(readme)
        done = subprocess.run([root / "scripts" / "interop-table", *options, results, path], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, path.read_text()
    return run


def test_the_table_is_written_and_then_holds(table):
    assert table("--write") == (0, "", TABLE)
    assert table(readme=TABLE) == (0, "", TABLE)


@pytest.mark.parametrize("seen", [
    SEEN,
    [*SEEN[1:], SUITE],
    [*SEEN, {**SUITE, "passed": 4}],
    [{**SEEN[0], "version": "1.1"}, *SEEN[1:], SUITE],
    [{**SEEN[0], "steps": {"list": "ok"}}, *SEEN[1:], SUITE],
], ids=["no suite", "a client less", "another count", "another version", "a step less"])
def test_what_did_not_run_or_runs_otherwise_is_told(table, seen):
    status, said, readme = table(seen=seen, readme=TABLE)
    assert status == 1 and "make interop-table" in said and readme == TABLE


@pytest.mark.parametrize(("failed", "words"), [
    ({**SEEN[0], "steps": {"list": "ok", "read": "no such file"}}, "B 1.0, stdio, auto, read: no such file"),
    ({**SUITE, "failed": 1}, "scenarios of 2026-07-28, shipped build: 1 failed"),
], ids=["a client", "the suite"])
def test_a_failure_is_never_written_into_the_table(table, failed, words):
    for options in [], ["--write"]:
        status, said, readme = table(*options, seen=[*SEEN, failed], readme=TABLE)
        assert status == 1 and words in said and readme == TABLE
