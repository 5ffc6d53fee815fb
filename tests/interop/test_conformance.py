"""The official conformance suite, with the bearer on: the server's scenarios at each revision it knows, and the two of the
authorization server.

Two builds are tested: the one that is shipped, and the same objects with the suite's own tools in front of them (make
fixtures). What a server of tools alone does not have stands in conformance-REVISION.yml, entry by entry with its reason;
everything else must pass, and nothing of the list may.

What the suite does not cover: stdio; revision 2024-11-05; at 2025-03-26 all but server-session-lifecycle, which says
nothing of a server without sessions (the others are forced here, and their messages are held against that revision's
schema); at any legacy revision its own client would ask for 2025-11-25 (revision.mjs makes it ask for the right one). The
argument that a header field repeats is checked by the fixture tool itself: no tool that is shipped has one.
"""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import person
from conftest import REPOSITORY
from httpwire import free_port
from oauthwire import register
from suite import HERE, Baseline, Run, Suite

REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"]
TOOL_CALLS = [f"tools-call-{kind}" for kind in
              ["simple-text", "image", "audio", "embedded-resource", "mixed-content", "error", "with-progress"]]

# scenarios that say nothing of a server without sessions; the tasks' one is left out by the suite itself
NOT_APPLICABLE = {"server-session-lifecycle", "tasks-status-notifications"}

# checks that pass on the build with the fixture tools, where a scenario has many
PASSED_WITH_FIXTURES = {"server-stateless": 28, "http-header-validation": 14, "http-custom-header-server-validation": 10,
                        "json-schema-2020-12": 8, "caching": 4}


@pytest.fixture
def suite(node, clients, tmp_path):
    return Suite(node, clients, tmp_path)


@pytest.fixture(params=["shipped", "fixtures"])
def build(request):
    """Which build is tested."""
    return request.param


@pytest.fixture
def binary(request, binary):
    if "build" not in request.fixturenames or request.getfixturevalue("build") == "shipped":
        return binary
    path = REPOSITORY / "build" / os.environ.get("TARGET", os.uname().machine) / "sandstorm-mcp-fixtures"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing: run make fixtures")
    return str(path)


@pytest.fixture
def open_web(request, servers):
    """A run of the suite is more requests a minute than a client sends."""
    fixtures = "build" in request.fixturenames and request.getfixturevalue("build") == "fixtures"
    return servers.start(args=["--tools", "host,fixture"] if fixtures else [], env={"SANDSTORM_RATE_LIMIT": "0"})


@pytest.fixture
def note(clients, suite):
    """Writes what a run has come to into build/interop/results, for the table of all clients."""
    def write(name, what, run, baseline=()):
        folder = clients / "results"
        folder.mkdir(exist_ok=True)
        verdicts = {scenario.name: scenario.verdict for scenario in run.scenarios.values()}
        listed = {entry.split(":")[0] for entry in baseline}
        row = {"what": what, "version": suite.version, "passed": len(run.named("passed")), "listed": len(baseline),
               "not_applicable": len(run.named("not applicable")), "failed": len(run.named("failed") - listed),
               "checks": sum(scenario.count("SUCCESS") for scenario in run.scenarios.values()), "scenarios": verdicts}
        (folder / f"conformance-{name}.json").write_text(json.dumps(row, indent=1) + "\n")
    return write


# -- the baselines -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(HERE.glob("conformance-*.yml")), ids=lambda path: path.stem)
def test_each_entry_of_a_baseline_has_its_reason(path):
    baseline = Baseline.read(path)
    assert baseline and [entry for entry, reason in baseline.items() if not reason or len(reason.split()) < 2] == []


def test_there_is_a_baseline_for_each_revision_and_no_other():
    assert [path.stem for path in sorted(HERE.glob("conformance-*.yml"))] == [f"conformance-{each}" for each in REVISIONS]


@pytest.mark.parametrize("line", ["  - ping", "  - ping  #", "  - ping  # no"])
def test_an_entry_without_a_reason_would_be_found(tmp_path, line):
    path = tmp_path / "conformance-none.yml"
    path.write_text(f"server:\n{line}\n")
    with pytest.raises(AssertionError):
        test_each_entry_of_a_baseline_has_its_reason(path)


def test_an_entry_that_is_missing_or_passes_is_found(tmp_path):
    """Also where the suite does not look: it compares only what it scores for the revision."""
    for name, status in {"ping": "SUCCESS", "good": "SUCCESS", "bad": "FAILURE", "worse": "WARNING"}.items():
        folder = tmp_path / f"server-{name}-2026-11-29T22-24-55-639Z"
        folder.mkdir()
        (folder / "checks.json").write_text(json.dumps([{"id": f"sep-{name}", "status": status}]))
    run = Run(tmp_path, "", set())
    assert run.unlike({"bad": "", "worse:sep-worse": ""}) == set()
    assert run.unlike({"good": "", "ping:sep-ping": ""}) == {"good", "ping:sep-ping", "bad:sep-bad", "worse:sep-worse"}


# -- the server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_all_scenarios_of_a_revision(suite, note, open_web, build, revision, tmp_path):
    """All that apply to a server of tools alone; the list of the others is exact, one that passes is an error."""
    baseline = Baseline.of(revision)
    if build == "fixtures":
        baseline = baseline.without_fixtures()
    # the suite has no set of what 2025-06-18 requires: there, all that it has for that revision
    chosen = ["--suite", "all", "--spec-version"] if revision == "2025-06-18" else ["--requirements"]
    run = suite.server(open_web, revision, *chosen, revision,
                       "--expected-failures", baseline.write(tmp_path / "baseline.yml"))
    note(f"{revision}-{build}", f"scenarios of {revision}, {build} build", run, baseline)
    assert run.unlike(baseline) == set() and not run.skipped
    assert run.named("not applicable") == NOT_APPLICABLE & run.scenarios.keys()
    if revision < "2026":
        assert run.spoken == {revision}
    if build == "fixtures":
        many = PASSED_WITH_FIXTURES.keys() & run.scenarios.keys()
        assert {name: run.scenarios[name].count("SUCCESS") for name in many} == \
               {name: PASSED_WITH_FIXTURES[name] for name in many}
        assert set(TOOL_CALLS) <= run.named("passed")


def test_scenarios_at_2025_03_26(suite, note, open_web, build):
    """Each forced: to the suite only server-session-lifecycle belongs to this revision."""
    revision = "2025-03-26"
    run = suite.server(open_web, revision, "--suite", "all", "--spec-version", revision)
    assert run.named("not applicable") == run.scenarios.keys() == {"server-session-lifecycle"}
    names = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection", *(TOOL_CALLS if build == "fixtures" else [])]
    with ThreadPoolExecutor(2) as pool:     # most of the time a Node starts
        for one in pool.map(lambda name: suite.server(open_web, revision, "--scenario", name, "--spec-version", revision,
                                                      "--force"), names):
            run.join(one)
    note(f"{revision}-{build}", f"scenarios of {revision}, {build} build", run)
    assert run.named("failed") == set() and not run.skipped and run.spoken == {revision}
    assert run.named("passed") == run.scenarios.keys() - {"server-session-lifecycle"}
    for name in run.named("passed"):
        assert "wire-schema-valid" in run.scenarios[name].ids("SUCCESS") or name == "dns-rebinding-protection"


def test_a_scenario_that_was_skipped_has_not_passed(suite, open_web):
    """Outside its revisions a scenario prints one line and ends with 0, without a check."""
    run = suite.server(open_web, "2025-03-26", "--scenario", "server-initialize", "--spec-version", "2025-03-26")
    assert run.skipped == {"server-initialize"} and not run.scenarios and "SKIPPED" in run.said


# -- the authorization server --------------------------------------------------------------------


def test_the_metadata_of_the_authorization_server(suite, open_web):
    """The one warning is about client-metadata documents, which decision 14 leaves out."""
    run = suite.run("authorization", "--url", open_web.url.removesuffix("/mcp"),
                    "--scenario", "authorization-server-metadata-endpoint")
    (metadata,) = run.scenarios.values()
    assert [check["status"] for check in metadata.checks] == ["SUCCESS", "WARNING"]
    assert metadata.name == "authorization-server-metadata-endpoint"


def test_the_authorization_code_grant(suite, note, open_web, monkeypatch):
    """Code and token as the RFCs want them; a script plays the browser. The suite runs both scenarios then."""
    monkeypatch.setenv("PERSON_TOKEN", open_web.token)
    port = free_port()
    client = register(open_web, f"http://127.0.0.1:{port}/callback")
    argv, results = suite.argv("authorization", "--url", open_web.url.removesuffix("/mcp"),
                               "--client-id", client.id, "--port", port)
    process = subprocess.Popen(argv, cwd=suite.clients, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        said = ""
        while "/oauth/authorize?" not in said:
            line = process.stdout.readline().decode()
            assert line, f"it has asked nobody to sign in: {said}"
            said += line
        person.visit(line.strip())
        said += process.communicate(timeout=60)[0].decode()
    finally:
        process.kill()
    assert process.wait() == 0, said
    run = Run(results, said, set())
    note("authorization", "the authorization server", run, ["authorization-server-metadata-endpoint"])
    assert run.scenarios.keys() == {"authorization-server-metadata-endpoint", "authorization-code-grant"}
    assert run.named("passed") == {"authorization-code-grant"}
    assert not run.scenarios["authorization-server-metadata-endpoint"].ids("FAILURE")
