"""Tests of what surrounds the program: fetching, building, packing, documenting. They work on copies below tmp_path; only the
product that `make` has built is looked at in place."""
import os
import pathlib
import shutil
import subprocess

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = pathlib.Path(__file__).resolve().parents[2]

# as in tests/e2e: what takes long runs in CI
LONG = os.environ.get("SANDSTORM_LONG_TESTS") == "1"
long = pytest.mark.skipif(not LONG, reason="SANDSTORM_LONG_TESTS is not 1")

# What these make is made once for all their tests, in part in this very tree, so they run on one worker. (xdist 3.8 has
# groups for it, but pytest 9.2 hides them from it.)
ONE_WORKER = {"test_built_in_ca.py": "a CA", "test_dist.py": "tarballs", "test_manual.py": "tarballs",
              "test_release.py": "tarballs", "test_reproducible.py": "tarballs"}


class Scheduling(LoadScopeScheduling):
    def _split_scope(self, nodeid):
        return ONE_WORKER.get(nodeid.split("::")[0].split("/")[-1], nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)


def clean_env(**more):
    """The environment without what the make that started us has put there."""
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKE_TERMOUT", "MAKE_TERMERR", "TARGET", "SANDSTORM_BIN")
    env = {k: v for k, v in os.environ.items() if k not in drop and not k.startswith("VENDOR_")}
    return {**env, **more}


def run(*args, cwd, env=None, ok=True, timeout=300):
    """Runs a command to its end; with ok a failure shows what it said."""
    done = subprocess.run([str(a) for a in args], cwd=cwd, env=env or clean_env(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=timeout)
    if ok:
        assert done.returncode == 0, f"{args} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def target():
    return os.environ.get("TARGET") or os.uname().machine


@pytest.fixture(scope="session")
def build(target):
    """Where the objects of the product are."""
    return ROOT / "build" / target


@pytest.fixture(scope="session")
def binary():
    path = pathlib.Path(os.environ.get("SANDSTORM_BIN") or ROOT / "out/sandstorm-mcp")
    assert path.exists(), "build first: make"
    return path


def repository_files():
    """The files of the repository as they are now, committed or not."""
    listed = run("git", "-c", "safe.directory=*", "-c", "core.quotePath=off", "ls-files", "--cached", "--others",
                 "--exclude-standard", cwd=ROOT).stdout.splitlines()
    return sorted({name for name in listed if (ROOT / name).exists()})


@pytest.fixture(scope="session")
def copy_of_tree(tmp_path_factory):
    """A function that copies the repository's files and the fetched trees into a new folder, as a git clone would look; for
    those who only build, without a repository and the thousands of inputs of the fuzzers."""
    def copy(clone=True):
        new = tmp_path_factory.mktemp("tree") / "sandstorm-mcp"
        for name in repository_files():
            if not clone and name.startswith("tests/fuzz/corpus/"):
                continue
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, new / name, follow_symlinks=False)
        for name in ("bearssl", "musl", "jsmn"):
            shutil.copytree(ROOT / "vendor" / name, new / "vendor" / name, symlinks=True)
        if not clone:
            return new
        git = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org")
        run(*git, "init", "-q", cwd=new)
        run(*git, "add", "-A", cwd=new)
        run(*git, "commit", "-q", "-m", "as it is", cwd=new, env=clean_env(GIT_COMMITTER_DATE="2026-01-02T03:04:05Z",
                                                                          GIT_AUTHOR_DATE="2026-01-02T03:04:05Z"))
        return new
    return copy


@pytest.fixture(scope="session")
def add_libraries(build, target):
    """A function that puts the libraries of the product into a folder, and its objects too where they are wanted: all but
    tls/builtin.o, which depends on CA."""
    def add(tree, objects=False):
        new = tree / "build" / target
        new.mkdir(parents=True)
        shutil.copytree(build / "musl", new / "musl")
        for name in ("libbearssl.a", ".settings"):
            shutil.copy2(build / name, new / name)
        if objects:
            shutil.copytree(build / "obj", new / "obj", ignore=shutil.ignore_patterns("builtin.*"))
            if (build / "check-clang").exists():
                shutil.copytree(build / "check-clang", new / "check-clang")
        return tree
    return add


@pytest.fixture(scope="session")
def tarballs(copy_of_tree):
    """`make dist` in two clones in different folders."""
    found = []
    for _ in range(2):
        tree = copy_of_tree()
        run("make", "dist", cwd=tree)
        found.append(next((tree / "out").glob("sandstorm-mcp-*.tar.gz")))
    return found


@pytest.fixture(scope="session")
def offline_build(tarballs, add_libraries, tmp_path_factory):
    """The tarball unpacked elsewhere and built, where everything that could fetch writes down that it was called and fails:
    whole where long tests are wanted, else (they take a minute of two processors) with the libraries that are there already.
    Returns (folder, the calls)."""
    place = tmp_path_factory.mktemp("built-far-away-from-the-first-place")
    run("tar", "-xf", tarballs[0], "-C", place, cwd=place)
    tree = next(place.glob("sandstorm-mcp-*"))
    if not LONG:
        add_libraries(tree)
    calls = place / "calls"
    for name in ("apt-get", "curl", "wget", "git", "python3"):
        script(place / "bin" / name, f'echo "{name} $*" >> "{calls}"\nexit 1\n')
    run("make", cwd=tree, env=clean_env(PATH=f"{place / 'bin'}:{os.environ['PATH']}"), timeout=600)
    return tree, calls.read_text() if calls.exists() else ""
