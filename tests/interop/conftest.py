"""Fixtures of the tests with clients of other languages; servers are started as in tests/e2e.

clients     where `make interop` has installed and built them (build/interop).
node        a Node of version 22 or newer, which some of them need.
master      a test master, see tests/master.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
NODE = 22
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent)]

import webserver  # noqa: E402, its folder had to be named first
from master.server import Master  # noqa: E402
from process import end_all  # noqa: E402


@pytest.fixture(scope="session")
def binary():
    path = pathlib.Path(os.environ.get("SANDSTORM_BIN") or REPOSITORY / "out" / "sandstorm-mcp").absolute()
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing or not executable: build it first (make)")
    return str(path)


@pytest.fixture(scope="session")
def clients():
    path = REPOSITORY / "build" / "interop"
    if not (path / "node_modules").is_dir():
        pytest.fail(f"{path} has no clients: run make interop")
    for script in HERE.glob("*.mjs"):       # moved into place: the tests of another process may be about to run it
        shutil.copy(script, path / f"{script.name}.{os.getpid()}")
        os.replace(path / f"{script.name}.{os.getpid()}", path / script.name)
    return path


@pytest.fixture(scope="session")
def node(clients):
    """Some programs start `node` themselves: this one comes first on the path."""
    for path in ["node", *clients.glob("node_modules/node-linux-*/bin/node")]:
        with contextlib.suppress(OSError):      # where the machine has none
            version = subprocess.run([path, "--version"], capture_output=True).stdout.decode()
            if int(version.lstrip("v").split(".")[0] or 0) >= NODE:
                if path != "node":
                    os.environ["PATH"] = f"{path.parent}:{os.environ['PATH']}"
                return str(path)
    pytest.fail(f"no Node {NODE} here, and none in {clients}: run make interop")


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def servers(binary, workspace, tmp_path):
    starter = webserver.WebStarter(binary, workspace, tmp_path)
    yield starter
    end_all(starter.started)


@pytest.fixture
def master(tmp_path):
    with Master(tmp_path / "master") as m:
        yield m


@pytest.fixture
def web(servers):
    return servers.start()
