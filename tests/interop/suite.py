"""The official conformance suite: runs of it, what its checks have said, and what is expected of them.

    suite.run("server", "--url", ...) -> Run       a run that ends well, with a baseline or without
    run.scenarios["tools-list"]                    Scenario; one that was skipped is not among them
    run.skipped                                    names of scenarios outside the revision asked for: also an exit of 0
    run.spoken                                     legacy revisions that the heads of its requests have named
    run.unlike(baseline)                           scenarios and checks that are in one of the two alone
    Baseline.of("2026-07-28")                      entries of conformance-2026-07-28.yml, with their reasons

The suite itself compares only what it scores for a revision with the baseline; `unlike` compares all that it runs.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INDEX = pathlib.Path("node_modules/@modelcontextprotocol/conformance")
ENTRY = re.compile(r"  - (?P<entry>\S+)(?: +# (?P<reason>.*))?$")
FIXTURE = "fixture tool "       # begins the reason of an entry that the fixture build does not need


class Scenario:
    """One scenario's checks: the list in its checks.json."""

    def __init__(self, name, checks):
        self.name, self.checks = name, checks

    def ids(self, *statuses):
        return {check["id"] for check in self.checks if check["status"] in statuses}

    def count(self, status):
        return sum(check["status"] == status for check in self.checks)

    @property
    def failing(self):
        return self.ids("FAILURE", "WARNING")       # as the suite counts where there is a baseline

    @property
    def verdict(self):
        if self.failing:
            return "failed"
        return "passed" if self.ids("SUCCESS") - {"wire-schema-valid"} else "not applicable"    # that one comes with any message


class Run:
    def __init__(self, folder, said, spoken):
        self.said, self.spoken = said, spoken
        self.scenarios, self.skipped = {}, set()
        for path in sorted(folder.iterdir()):
            name = re.fullmatch(r"(?:server-|authorization-server-)(.+?)-\d{4}-\d\d-\d\dT.*", path.name)[1]
            if (path / "checks.json").exists():
                self.scenarios[name] = Scenario(name, json.loads((path / "checks.json").read_text()))
            else:
                self.skipped.add(name)

    def join(self, other):
        assert not self.scenarios.keys() & other.scenarios.keys()
        self.scenarios.update(other.scenarios)
        self.skipped |= other.skipped
        self.spoken |= other.spoken

    def named(self, verdict):
        return {scenario.name for scenario in self.scenarios.values() if scenario.verdict == verdict}

    def unlike(self, baseline):
        found = set()
        for name, scenario in self.scenarios.items():
            found |= {name} if name in baseline and scenario.failing else {f"{name}:{id}" for id in scenario.failing}
        return found ^ baseline.keys()


class Suite:
    """Runs the suite with a Node that is new enough, in the folder of `make interop`."""

    def __init__(self, node, clients, folder):
        self.node, self.clients, self.folder = node, clients, folder
        self.version = json.loads((clients / INDEX / "package.json").read_text())["version"]

    def argv(self, *words, preload=()):
        """The command, and the folder for what its checks say."""
        results = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        loads = [word for script in preload for word in ("--import", f"./{script}")]
        return [str(word) for word in (self.node, *loads, INDEX / "dist/index.js", *words, "-o", results)], results

    def run(self, *words, preload=(), env=None, timeout=120):
        argv, results = self.argv(*words, preload=preload)
        spoken = results.with_suffix(".spoken")
        done = subprocess.run(argv, cwd=self.clients, env={**os.environ, "MCP_SPOKEN": str(spoken), **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        said = done.stdout.decode()
        assert done.returncode == 0, said[-3000:]
        return Run(results, said, set(json.loads(spoken.read_text())) if spoken.exists() else set())

    def server(self, web, revision, *words):
        """A run against a server; a legacy revision is really spoken."""
        legacy = revision < "2026"
        return self.run("server", "--url", web.url, *words, preload=["bearer.mjs", *(["revision.mjs"] if legacy else [])],
                        env={"MCP_BEARER": web.token, "MCP_REVISION": revision})


class Baseline(dict):
    """Entry to reason: what a server of tools alone does not have of a revision."""

    @classmethod
    def of(cls, revision):
        return cls.read(HERE / f"conformance-{revision}.yml")

    @classmethod
    def read(cls, path):
        baseline = cls()
        for line in path.read_text().splitlines():
            if line.startswith("#") or line == "server:":
                continue
            entry = ENTRY.match(line)
            assert entry, f"{path.name}: not an entry: {line!r}"
            assert entry["entry"] not in baseline, f"{path.name}: twice: {entry['entry']}"
            baseline[entry["entry"]] = entry["reason"]
        return baseline

    def without_fixtures(self):
        return Baseline({entry: reason for entry, reason in self.items() if not reason.startswith(FIXTURE)})

    def write(self, path):
        path.write_text("server:\n" + "".join(f"  - {entry}\n" for entry in self))
        return path
