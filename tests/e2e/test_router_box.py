"""All host tools in a box like a small router's (scripts/router-box): busybox alone, a root file system that cannot be
written, 16 MB of /tmp, 64 MB of memory. No bash, git, python, package manager; in one more box no shell at all.
"""

import contextlib
import pathlib
import re

import pytest

from mcpwire import wait_until
from test_background import Started

BOX = str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "router-box")
ROOT = "/tmp/w"
GROUPS = [pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")]

NO_GIT = "git is not installed here"
NO_SHELL = "no shell here: neither /bin/bash nor /bin/sh exists"
NEEDED = {"git_clone": {"repo_url": "https://example.com/a.git"}, "git_commit": {"message": "m"}, "git_checkout": {"branch": "b"}}


class Group:
    """The memory control group of a box, if one could be made."""

    def __init__(self, pid):
        self.path = next((g / f"router-box.{pid}" for g in GROUPS if (g / f"router-box.{pid}").is_dir()), None)

    def peak(self):
        """Most bytes of memory of the whole box so far, its files in /tmp included; None where nothing is counted."""
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            if self.path and (self.path / name).exists():
                return int((self.path / name).read_text())
        return None

    def remove(self):
        """Its processes have ended, though the kernel may not have noticed yet."""
        if self.path:
            wait_until(self._removed, f"{self.path} to be empty")

    def _removed(self):
        with contextlib.suppress(OSError):
            self.path.rmdir()
        return not self.path.exists()


@pytest.fixture
def groups():
    """Groups to be removed when their servers have ended."""
    found = []
    yield found
    for group in found:
        group.remove()


@pytest.fixture
def router(groups, server):
    def start(env=None, **more):
        s = server(wrap=[BOX], root=ROOT, env=env, **more)
        s.result("ping")
        s.group = Group(s.pid)
        groups.append(s.group)
        return s
    return start


@pytest.fixture
def box(router):
    return router()


def inside(box, path):
    """A path of the box as this test sees it."""
    return pathlib.Path(f"/proc/{box.pid}/root{path}")


# -- one try a tool ------------------------------------------------------------------------------


def file_write(box):
    assert box.text("file_write", path="a/f", content="text\n") == f"Written 5 bytes to {ROOT}/a/f"
    assert inside(box, f"{ROOT}/a/f").read_text() == "text\n"
    assert "Read-only file system" in box.failure("terminal_exec", command="echo x >/x")


def file_read(box):
    inside(box, f"{ROOT}/f").write_text("one\ntwo\n")
    assert box.text("file_read", path="f") == "one\ntwo\n"


def file_delete(box):
    inside(box, f"{ROOT}/f").write_text("x")
    assert box.text("file_delete", path="f") == f"Deleted {ROOT}/f"
    assert not inside(box, f"{ROOT}/f").exists()


def file_list(box):
    inside(box, f"{ROOT}/f").write_text("x")
    assert re.search(r"^-rw\S+ +1 root +(root|0) .* f$", box.text("file_list"), re.M)
    assert f"{ROOT}/f" in box.text("file_list", recursive=True).splitlines()


def file_move(box):
    inside(box, f"{ROOT}/f").write_text("x")
    assert box.text("file_move", source="f", dest="d/g") == f"Moved {ROOT}/f \u2192 {ROOT}/d/g"
    assert inside(box, f"{ROOT}/d/g").read_text() == "x"


def file_mkdir(box):
    assert box.text("file_mkdir", path="d/e") == f"Created directory {ROOT}/d/e"
    assert inside(box, f"{ROOT}/d/e").is_dir()


def terminal_exec(box):
    assert box.text("terminal_exec", command='echo "$0 ${BASH_VERSION-no bash}"; for p in git python3; do command -v $p; done; pwd') == \
        f"stdout:\n/bin/sh no bash\n{ROOT}\n\n\nexit_code: 0"
    assert box.failure("terminal_exec", command="sleep 60 & setsid sleep 61 & wait", timeout=0.3).endswith("exit_code: 124")
    assert box.descendants() == []


def terminal_exec_background(box):
    started = Started(box, "echo up; env -i sleep 1; exit 3").wait_end()
    assert started.path.startswith(f"{ROOT}/.sandstorm-mcp/background/")
    assert started.state().startswith("exit code 3") and started.output().startswith("up\n[exit code 3 after ")


def terminal_kill(box):
    started = Started(box, "setsid sleep 60 & sleep 61 & wait")
    box.wait_descendants(3)
    assert box.text("terminal_kill", pid=started.pid) == f"Sent SIGTERM to {started.pid}"
    assert box.descendants() == []


def workspace_info(box):
    text = box.text("workspace_info")
    assert 'NAME="Router"' in text and "node not installed\n" in text and "git not installed\n" in text
    assert "=== Memory ===\n" in text and "/bin/wget\n" in text


def workspace_install(box):
    text = box.failure("workspace_install", packages="tcpdump")
    assert text and "\n" not in text and len(text) < 200


def no_git(name):
    def attempt(box):
        assert box.failure(name, **NEEDED.get(name, {})) == NO_GIT
    return attempt


TRIES = {f.__name__: f for f in (
    file_write, file_read, file_delete, file_list, file_move, file_mkdir, terminal_exec, terminal_exec_background,
    terminal_kill, workspace_info, workspace_install)}


def try_of(name):
    return no_git(name) if name.startswith("git_") else TRIES[name]     # a new tool wants a try here


def test_every_tool_works_or_says_in_one_sentence_what_is_missing(box):
    """Issue 5, points 6 and 9."""
    names = [tool["name"] for tool in box.result("tools/list")["tools"]]
    assert len(names) >= 10
    for name in names:
        box.text("terminal_exec", command=f"rm -rf {ROOT}/*")
        try_of(name)(box)
    print(f"\n{len(names)} tools tried, resident {box.rss_kib()} KiB, peak of the box {box.group.peak()} bytes")
    assert box.rss_kib() < 1024
    if box.group.peak() is not None:
        assert box.group.peak() < 12 << 20
    assert box.close() == 0
    assert "no shell here" not in box.stderr_text()


def test_what_is_missing_is_said_at_start_and_to_the_client(box):
    """Issue 5, point 9."""
    tools = [tool["name"] for tool in box.result("tools/list")["tools"]]
    instructions = box.initialize()["instructions"]
    assert "shell" in instructions.split(".")[0] and "There is no shell" not in instructions
    assert ("git is not installed" in instructions) == any(name.startswith("git_") for name in tools)
    assert box.close() == 0
    assert ("git is not installed here" in box.stderr_text()) == any(name.startswith("git_") for name in tools)


def test_git_is_looked_for_along_path(server):
    """Issue 5, point 9: said at start, to the client, and by each tool."""
    s = server(env={"PATH": "/nowhere"})
    tools = [tool["name"] for tool in s.result("tools/list")["tools"] if tool["name"].startswith("git_")]
    for name in tools:
        no_git(name)(s)
    assert ("git is not installed" in s.initialize()["instructions"]) == bool(tools)
    assert s.text("terminal_exec", command="echo a shell all the same").startswith("stdout:\na shell")
    assert s.close() == 0
    assert s.stderr_text().count("git is not installed here: the git tools cannot work") == bool(tools)


def test_without_a_shell_commands_say_so_in_one_sentence_and_files_work(router):
    """Issue 5, points 6 and 9."""
    s = router(env={"NOSHELL": "1"})
    instructions = s.initialize()["instructions"]
    assert instructions.startswith("Files of the machine ") and "There is no shell on this machine" in instructions
    assert s.failure("terminal_exec", command="echo hi") == NO_SHELL
    assert s.failure("terminal_exec_background", command="echo hi") == NO_SHELL
    assert s.failure("terminal_kill", pid=1) == "No such process 1"
    assert s.text("file_write", path="f", content="x") == f"Written 1 bytes to {ROOT}/f"
    assert "=== Memory ===" in s.text("workspace_info")
    assert s.close() == 0
    assert s.stderr_text().count("no shell here: the terminal tools cannot run commands") == 1


def test_a_server_without_terminal_tools_does_not_miss_a_shell(router):
    s = router(env={"NOSHELL": "1"}, args=["--tools", "host,-terminal_exec,-terminal_exec_background"])
    assert "There is no shell" not in s.initialize()["instructions"]
    assert s.close() == 0
    assert "no shell here" not in s.stderr_text()


def test_fifty_megabytes_of_background_output_fit_into_the_box(box):
    """Under the memory limit, to which files in /tmp count as well."""
    started = Started(box, "yes 'a line of some length' | head -c 50000000; echo; echo the end")
    wait_until(lambda: "running" not in started.state() and "still holds" not in started.state(), "its end", 30)
    assert "\nthe end\n[exit code 0 after" in started.output()
    print(f"\nmost resident memory {box.peak_rss_kib()} KiB, peak of the box {box.group.peak()} bytes")
    if box.group.peak() is not None:
        assert box.group.peak() < 20 << 20


def test_a_full_tmp_does_not_lose_the_end_of_the_output(box):
    """16 MB are soon full."""
    started = Started(box, "head -c 20000000 /dev/zero >filler; seq 20000; echo the end; exec sleep 60")
    wait_until(lambda: "last line: the end" in box.text("workspace_info"), "its output", 20)
    blocks = box.call("terminal_kill", pid=started.pid)["content"]
    assert blocks[0]["text"] == f"Sent SIGTERM to {started.pid}"
    assert blocks[-1]["text"].endswith("\nthe end\n")


def test_it_serves_over_http_there(web, groups):
    w = web(wrap=[BOX], root=ROOT)
    groups.append(Group(w.pid))
    assert '"server":"sandstorm"' in w.text("terminal_exec", command=f"wget -q -O - http://127.0.0.1:{w.port}/health")
    started = Started(w, "echo up; setsid sleep 60 & wait")
    wait_until(lambda: started.output() == "up\n", "it to run")
    assert w.terminate() == 0
    assert w.descendants() == []
