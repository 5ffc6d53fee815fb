"""Fixtures of the tests with clients of other languages; servers are started as in tests/e2e.

clients     the folder in which `make interop` has installed them (build/interop).
master      a test master, see tests/master.
"""

import os
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent)]

import webserver  # noqa: E402, its folder had to be named first
from master.server import Master  # noqa: E402


@pytest.fixture(scope="session")
def binary():
    path = pathlib.Path(os.environ.get("SANDSTORM_BIN") or REPOSITORY / "out" / "sandstorm-mcp").absolute()
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing or not executable: build it first (make)")
    return str(path)


@pytest.fixture(scope="session")
def clients():
    folder = REPOSITORY / "build" / "interop"
    if not (folder / "node_modules").is_dir():
        pytest.fail(f"{folder} has no clients: run make interop")
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, folder)
    return folder


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def servers(binary, workspace, tmp_path):
    starter = webserver.WebStarter(binary, workspace, tmp_path)
    yield starter
    complaints = [text for server in starter.started for text in server.end()]
    assert not complaints, "; ".join(complaints)


@pytest.fixture
def master(tmp_path):
    with Master(tmp_path / "master") as m:
        yield m


@pytest.fixture
def web(servers):
    return servers.start()
