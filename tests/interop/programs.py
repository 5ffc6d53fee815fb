"""The clients of others: which there are, in which eras, how each is started, and the version that is installed.

    REAL                                    (client, era) of each program that walks the course
    program(folder, client) -> argv         folder: build/interop, where `make interop` has put them
    Inspector(...)                          the inspector's command line
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TYPESCRIPT, PYTHON, OLD_PYTHON, GO, RUST = "TypeScript SDK", "Python SDK", "Python SDK 1", "Go SDK", "Rust SDK (rmcp)"
INSPECTOR, REMOTE = "inspector, command line", "mcp-remote"
ERAS = {
    TYPESCRIPT: ["legacy", "auto", "pinned"],
    PYTHON: ["legacy", "auto", "pinned"],
    OLD_PYTHON: ["legacy"],
    GO: ["legacy", "auto"],
    RUST: ["legacy", "auto", "discover"],
    INSPECTOR: ["legacy", "auto", "modern"],
    REMOTE: ["legacy", "auto"],
}
REAL = [(client, era) for client in (TYPESCRIPT, PYTHON, OLD_PYTHON, GO, RUST) for era in ERAS[client]]


def npm_version(folder, package):
    return json.loads((folder / "node_modules" / package / "package.json").read_text())["version"]


def pip_version(python):
    return run(python, "-c", "import importlib.metadata as m; print(m.version('mcp'), end='')", cwd="/")


def locked(path, pattern):
    return re.search(pattern, (HERE / path).read_text())[1]


def version(folder, client):
    """As installed; Go and Rust build what their lock files say and nothing else."""
    return {
        TYPESCRIPT: lambda: npm_version(folder, "@modelcontextprotocol/client"),
        PYTHON: lambda: pip_version(sys.executable),
        OLD_PYTHON: lambda: pip_version(folder / "python-1" / "bin" / "python"),
        GO: lambda: locked("go/go.mod", r"modelcontextprotocol/go-sdk v(\S+)"),
        RUST: lambda: locked("rust/Cargo.lock", r'name = "rmcp"\nversion = "([^"]+)"'),
        INSPECTOR: lambda: npm_version(folder, "@modelcontextprotocol/inspector"),
        REMOTE: lambda: npm_version(folder, "mcp-remote"),
    }[client]()


def program(folder, node, client):
    return {
        TYPESCRIPT: [node, "client.mjs"],
        PYTHON: [sys.executable, HERE / "client.py"],
        OLD_PYTHON: [folder / "python-1" / "bin" / "python", HERE / "client.py"],
        GO: [folder / "go" / "client"],
        RUST: [folder / "rust" / "debug" / "interop"],
    }[client]


def run(*argv, cwd, env=None, code=0, timeout=60):
    done = subprocess.run([*map(str, argv)], cwd=cwd, env=env, capture_output=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (done.returncode, done.stdout.decode()[-2000:], done.stderr.decode()[-2000:])
    return done.stdout.decode()


def text_of(result):
    return result["content"][0]["text"]


class Inspector:
    """Runs the inspector's command line against a server and reads the JSON it prints."""

    def __init__(self, folder, node, target, env, *options):
        self.argv = [node, "node_modules/.bin/mcp-inspector", "--cli", *target, *options]
        self.cwd, self.env = folder, env

    def __call__(self, *words, code=0):
        said = run(*self.argv, *words, cwd=self.cwd, env=self.env, code=code)
        return json.loads(said) if said else None

    def call(self, tool, arguments, code=0):
        return self("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments), code=code)

    def start(self, *words):
        return subprocess.Popen([*map(str, self.argv), *words], cwd=self.cwd, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
