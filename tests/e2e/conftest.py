"""Fixtures of the end-to-end tests: they drive the real static binary, over its pipes, as a client would.

binary      path of the binary: $SANDSTORM_BINARY, else $SANDSTORM_BIN (set by make), else out/sandstorm-mcp.
            Missing: the test fails, it is never skipped.
workspace   a fresh, empty directory (pathlib.Path, links resolved): the workspace root of the test's servers.
server      starts servers for the test:
                s = server()                                      sandstorm-mcp --tools host
                s = server(args=["--read-only"], env={"NAME": "value"}, root=other_directory)
                s = server(tools=None, args=["serve", "--stdio"])  without `--tools host`
                s = server(wrap=["sh", "-c", 'ulimit -n 32; exec "$@"', "sh"])  through another program
            SANDSTORM_WORKSPACE_ROOT is set to `root` (default: workspace; root=None: left unset). The environment is
            the one of the tests without any variable of ours; env={"NAME": None} takes a variable out. The server's
            working directory is the test's tmp_path. `server.start` is the same function. What comes back is an
            `mcpwire.Server`; see there for request, call, text, failure, notes, modern, close, ...
host        one such server, started with the defaults.
web         starts servers over HTTP on a free port: w = web(), web(env=..., args=..., root=..., wrap=..., host="::1",
            token="..."); token=None leaves SANDSTORM_MCP_TOKEN unset, address="..." is what SANDSTORM_MCP_HOST gets
            where it is not the host to connect to, tls=directory (with ca.pem, server.pem, server.key, as `lan` is)
            makes it speak TLS, fds are descriptors it inherits. What comes back is a `webserver.WebServer` that serves.
            At the end of a test it gets TERM and must exit with 0; its stdout must be empty, its log without the token.
remote      one such server, started with the defaults.
peers       starts a server over stdio in one run of the test and over HTTP in another: p = peers(tools="sandbox",
            args=..., env=..., root=...). What comes back is a `peer.Peer`.
peer        one such server, started with the defaults.
lan         a directory with what `sandstorm-mcp cert` makes for localhost, 127.0.0.1 and ::1, the same for all tests.
master      starts test masters (tests/master) on free ports: m = master(), m = master(leaf="ip", state="nested"); see
            master/server.py. Their keys are made once a run.
sandbox     starts stdio servers with the sandbox tools for a master: s = sandbox(m), s = sandbox(m, host="localhost",
            ca=path, token=None, env=..., args=..., wrap=...). What comes back is a `sandbox.Sandbox`.
cli         runs the binary to its end: cli("call", "workspace_info", env={...}, input=b"...") -> completed process with
            .returncode, .stdout, .stderr (text); `root` and `env` as for server.

At the end of a test each server's stdin is closed and it must exit with 0 (unless the test has called close() or
wait_exit() and so looked at the exit code itself), its stdout must have held messages only, and no process it started
may be alive. A test that starts daemons on purpose sets `s.allow_leftovers = True`; they are ended all the same.

Tests marked `long` wait for real time limits or move very much; they run only with SANDSTORM_LONG_TESTS=1, as in CI. The
mark says about how many seconds they take: the longest begin first, one for each worker.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import mcpwire
import webserver
from peer import HttpPeer, StdioPeer
from process import end_all
from sandbox import SandboxStarter

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from master.keys import Keys  # noqa: E402, its folder had to be named first
from master.server import Master  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long(seconds): takes from 5 s to minutes, runs with SANDSTORM_LONG_TESTS=1")


def pytest_collection_modifyitems(items):
    long = [item for item in items if item.get_closest_marker("long")]
    if os.environ.get("SANDSTORM_LONG_TESTS") != "1":
        for item in long:
            item.add_marker(pytest.mark.skip(reason="SANDSTORM_LONG_TESTS is not 1"))
        return
    # each worker begins with an equal share of the list; who is done early takes from the others
    long.sort(key=lambda item: -(item.get_closest_marker("long").args or [10])[0])
    short = [item for item in items if not item.get_closest_marker("long")]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [item for n in range(workers)
                for item in long[n::workers] + short[n * len(short) // workers:(n + 1) * len(short) // workers]]


@pytest.fixture(scope="session")
def binary():
    named = os.environ.get("SANDSTORM_BINARY") or os.environ.get("SANDSTORM_BIN")
    path = pathlib.Path(named or REPOSITORY / "out" / "sandstorm-mcp").absolute()
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing or not executable: build it first (make), or set SANDSTORM_BINARY")
    return str(path)


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    return path


class Starter:
    """Starts servers and remembers them, so that each is looked after at the end of the test."""

    def __init__(self, binary, workspace, cwd):
        self._binary, self._workspace, self._cwd = binary, workspace, cwd
        self.started = []

    def start(self, args=(), env=None, root=..., tools="host", stderr=None, wrap=()):
        argv = [*wrap, self._binary] + (["--tools", tools] if tools is not None else []) + [str(a) for a in args]
        root = self._workspace if root is ... else root
        server = mcpwire.Server(argv, mcpwire.clean_environment(root, env), self._cwd, stderr)
        self.started.append(server)
        return server

    __call__ = start


@pytest.fixture
def server(binary, workspace, tmp_path):
    starter = Starter(binary, workspace, tmp_path)
    yield starter
    end_all(starter.started)


@pytest.fixture
def host(server):
    return server.start()


@pytest.fixture
def web(binary, workspace, tmp_path):
    starter = webserver.WebStarter(binary, workspace, tmp_path)
    yield starter
    end_all(starter.started)


@pytest.fixture
def remote(web):
    return web.start()


@pytest.fixture(params=["stdio", "http"])
def peers(request, server, web):
    def start(tools="host", args=(), **options):
        if request.param == "stdio":
            return StdioPeer(server.start(tools=tools, args=args, **options))
        return HttpPeer(web.start(args=["--tools", tools, *args], **options))
    return start


@pytest.fixture
def peer(peers):
    return peers()


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def master(keys, tmp_path):
    started = []

    def start(**options):
        started.append(Master(tmp_path / f"master-{len(started)}", keys=keys, **options))
        return started[-1]
    yield start
    for m in started:
        m.end()


@pytest.fixture
def sandbox(binary, tmp_path, master):      # masters outlive the servers
    starter = SandboxStarter(binary, tmp_path)
    yield starter
    end_all([starter])


@pytest.fixture(scope="session")
def lan(binary, tmp_path_factory):
    place = tmp_path_factory.mktemp("tls") / "lan"
    subprocess.run([binary, "cert", "--host", "localhost,127.0.0.1,::1", place], env=mcpwire.clean_environment(None, {}),
                   check=True, capture_output=True)
    return place


@pytest.fixture
def cli(binary, workspace, tmp_path):
    def run(*args, env=None, root=..., input=b"", timeout=20):
        root = workspace if root is ... else root
        done = subprocess.run([binary, *map(str, args)], env=mcpwire.clean_environment(root, env), cwd=tmp_path,
                              input=input, capture_output=True, timeout=timeout)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done
    return run
