"""Tests of the binary on each kind of machine it is built for. The helpers and fixtures are those of the end-to-end tests
(tests/e2e), with another `binary`:

target      a row of scripts/targets (Target), one after the other: a test that uses it, or a fixture made of it, runs once
            for each. SANDSTORM_TARGETS="mips armv5" takes some of them.
binary      a script that runs the target's binary in qemu-user, on the smallest processor it must run on. Children are
            programs of this machine.
server, host, web, remote, master, sandbox, lan, cli, workspace    as in tests/e2e/conftest.py
"""

import importlib.util
import os
import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
SPEC = importlib.util.spec_from_file_location("e2e_conftest", REPOSITORY / "tests/e2e/conftest.py")
e2e = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(e2e)
workspace, server, host, web, remote = e2e.workspace, e2e.server, e2e.host, e2e.web, e2e.remote
keys, master, sandbox, lan, cli = e2e.keys, e2e.master, e2e.sandbox, e2e.lan, e2e.cli
pytest_configure, pytest_collection_modifyitems = e2e.pytest_configure, e2e.pytest_collection_modifyitems


class Target:
    """One row of scripts/targets."""

    def __init__(self, line):
        (self.name, self.tools, self.linker, self.float, limit, emulator, flags, ours, self.machines) = line.split(None, 8)
        self.limit = int(limit)
        self.flags = [flag for flag in (flags, ours) if flag != "-"]
        program, cpu = emulator.split(":")
        self.emulator = [program, "-cpu", cpu]
        self.file = REPOSITORY / "out" / f"sandstorm-mcp-{self.name}"
        self.unstripped = REPOSITORY / "build" / self.name / "sandstorm-mcp.unstripped"
        self.small = self.name not in ("x86_64", "aarch64", "riscv64")      # pointers of 4 bytes

    def __str__(self):
        return self.name

    def tool(self, name):
        """The target's own objdump, say; the machine's where it is the machine's own."""
        return name if self.name == os.uname().machine else self.tools + name


ROWS = [Target(line) for line in (REPOSITORY / "scripts/targets").read_text().splitlines() if line and line[0] != "#"]
CHOSEN = [row for row in ROWS if row.name in os.environ.get("SANDSTORM_TARGETS", row.name).split()]


@pytest.fixture(scope="session", params=CHOSEN, ids=str)
def target(request):
    return request.param


@pytest.fixture(scope="session")
def binary(target, tmp_path_factory):
    if not target.file.exists():
        pytest.fail(f"{target.file} is missing: make targets")
    script = tmp_path_factory.mktemp("emulated") / f"sandstorm-mcp-{target}"
    script.write_text(f"#!/bin/sh\nexec {' '.join(target.emulator)} {target.file} \"$@\"\n")
    script.chmod(0o755)
    return str(script)
