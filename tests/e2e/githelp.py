"""What the tests of the git tools share: a home of their own, repositories, remotes that ask for a password or say nothing.

A test that uses `git` (the fixture) gets the real git, run outside of the server, with the same home.
"""

import base64
import contextlib
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import threading

import pytest

CONFIG = """[user]
\tname = Tester
\temail = tester@example.com
[init]
\tdefaultBranch = main
[safe]
\tdirectory = *
"""


def environment(home):
    """The environment of a server or of git that sees no configuration but that of `home`."""
    taken_out = {name: None for name in os.environ if name.startswith(("GIT_", "SSH_ASKPASS"))}
    return {**taken_out, "HOME": str(home), "XDG_CONFIG_HOME": None, "GIT_CONFIG_NOSYSTEM": "1"}


class Git:
    """Runs git in a directory: git("status", at=path) gives its standard output, stripped."""

    def __init__(self, home, workspace):
        self.home, self.workspace = home, workspace
        home.mkdir()
        self.configure(CONFIG)
        self.env = {k: v for k, v in {**os.environ, **environment(home)}.items() if v is not None}

    def configure(self, text):
        (self.home / ".gitconfig").write_text(text)

    def add_config(self, text):
        with open(self.home / ".gitconfig", "a") as f:
            f.write(text)

    def run(self, *words, at=None, **more):
        return subprocess.run(["git", *map(str, words)], cwd=at or self.workspace, env=self.env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, **more)

    def __call__(self, *words, at=None):
        done = self.run(*words, at=at)
        assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def repository(self, name, **files):
        """A repository with one commit of these files (default: f.txt), below the workspace or at an absolute path."""
        path = self.workspace / name
        path.mkdir(parents=True)
        self("init", "-q", at=path)
        self.commit(path, "first", **(files or {"f.txt": "one\n"}))
        return path

    def commit(self, path, message, **files):
        for file, text in files.items():
            (path / file).parent.mkdir(parents=True, exist_ok=True)
            (path / file).write_text(text)
        self("add", "-A", at=path)
        self("commit", "-q", "-m", message, at=path)

    def bare(self, name, of=None):
        """A bare repository, empty or a copy of another."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self("clone", "-q", "--bare", of, path) if of else self("init", "-q", "--bare", path)
        return path


# -- HTTP ------------------------------------------------------------------------------------------------------------


class _Backend(http.server.BaseHTTPRequestHandler):
    """Hands requests to git http-backend, once the password is right."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def _refuse(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="repositories"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _allowed(self):
        server = self.server
        self.server.seen.append(self.headers.get("Authorization"))
        if server.password is None:
            return True
        wanted = base64.b64encode(f"{server.user}:{server.password}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {wanted}"

    def _body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _serve(self):
        body = self._body()
        if not self._allowed():
            return self._refuse()
        path, _, query = self.path.partition("?")
        env = {**self.server.env, "GIT_PROJECT_ROOT": str(self.server.root), "GIT_HTTP_EXPORT_ALL": "1",
               "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_USER": "tester",
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1"}
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True)
        head, _, text = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in fields if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _serve


class GitServer(http.server.ThreadingHTTPServer):
    """Bare repositories of one directory over smart HTTP on loopback; password None: for everybody."""

    daemon_threads = True

    def __init__(self, root, env, user="user", password=None):
        super().__init__(("127.0.0.1", 0), _Backend)
        self.root, self.env, self.user, self.password, self.seen = root, env, user, password, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name, credentials=""):
        return f"http://{credentials}127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, request, client_address):
        pass    # a client that was ended


@contextlib.contextmanager
def silent_server():
    """Takes connections and never says a word; gives its port and the list of connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        taken = []

        def take():
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])
        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1], taken
        listener.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


# -- fixtures (imported by the tests that use them) ----------------------------------------------------------------------


@pytest.fixture
def git(tmp_path, workspace):
    return Git(tmp_path.resolve() / "home", workspace)


@pytest.fixture
def start(server, git):
    """Starts servers whose git has the tests' home: start(env={...}, ...) as `server`."""
    def with_home(env=None, **more):
        return server(env={**environment(git.home), **(env or {})}, **more)
    return with_home


@pytest.fixture
def host(start):
    return start()


@pytest.fixture
def web_git(tmp_path, git):
    """Starts GitServers over tmp_path/served: web_git(password="x")."""
    root = pathlib.Path(tmp_path).resolve() / "served"
    root.mkdir()
    started = []

    def serve(**more):
        started.append(GitServer(root, {**git.env, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.receivepack",
                                        "GIT_CONFIG_VALUE_0": "true"}, **more))
        return started[-1]
    yield serve
    for one in started:
        one.shutdown()
        one.server_close()


def program(directory, name, script):
    """An executable shell script; returns the directory, for PATH."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return directory


def tree(path):
    """Every name below a directory, relative, sorted; others may be removing it meanwhile."""
    return sorted(os.path.relpath(os.path.join(directory, name), path)
                  for directory, names, files in os.walk(path) for name in names + files)


def copied(source, target):
    shutil.copytree(source, target, symlinks=True)
    return target
