"""workspace_info: seven sections, each for itself (fault 43), read without a shell."""

import os
import shutil
import stat
import subprocess
import time

import pytest

from process import busy, wait_until
from test_terminal import bare_root  # noqa: F401 (a fixture)

SECTIONS = ["OS", "Node", "Git", "Disk", "CWD", "Tools", "Memory"]


def sections(text):
    """Names in order, and each one's lines."""
    found = {}
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("=== ") and line.endswith(" ==="):
            name = line[4:-4]
            assert name not in found
            found[name] = []
        else:
            found[name].append(line)
    assert list(found) == SECTIONS
    return found


def info(server):
    return sections(server.text("workspace_info"))


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_it_tells_of_this_machine(host, workspace):
    found = info(host)
    with open("/etc/os-release") as f:
        assert found["OS"] == f.read().split("\n")[:5]
    assert found["CWD"] == [str(workspace)]
    for section, name in (("Node", "node"), ("Git", "git")):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout.strip()
            assert found[section] == [said]
        else:
            assert found[section] == [f"{name} not installed"]


def test_tools_are_told_with_their_full_paths(server, tmp_path):
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("bun", "curl", "wget"):
        program(place / name, "#!/bin/sh\n")
    (place / "npm").write_text("not executable")
    (place / "yarn").mkdir()
    assert info(server(env={"PATH": f"/nowhere:relative::{place}"}))["Tools"] == [f"{place}/bun", f"{place}/curl", f"{place}/wget"]


def test_without_git_and_node_the_other_sections_are_there(server):
    """Fault 43."""
    found = info(server(env={"PATH": "/nowhere"}))
    assert found["Node"] == ["node not installed"] and found["Git"] == ["git not installed"]
    assert found["Tools"] == []
    assert len(found["Disk"]) == 2 and len(found["Memory"]) == 3


@pytest.mark.parametrize("text, line", [
    ("#!/bin/sh\necho broken >&2; exit 3\n", "node fails with exit code 3"),
    ("#!/bin/sh\nkill -9 $$\n", "node fails with exit code -9"),
    ("#!/no/such/interpreter\n", "node cannot be run: No such file or directory"),
    ("", None),
    ("#!/bin/sh\nprintf 'v1\\n\\377\\n\\n'\n", "v1"),
])
def test_a_program_that_does_not_say_its_version(server, tmp_path, text, line):
    program(tmp_path / "node", text)
    found = info(server(env={"PATH": f"{tmp_path}:/bin:/usr/bin"}))
    if line:
        assert found["Node"][0] == line
    assert len(found["Node"]) >= 1 and found["Git"][0].startswith("git ")


def test_a_program_that_may_not_be_run_is_told(server, tmp_path):
    (tmp_path / "git").write_text("")
    assert info(server(env={"PATH": str(tmp_path)}))["Git"] == ["git cannot be run: Permission denied"]


def test_a_program_that_hangs_costs_five_seconds_and_its_line(server, tmp_path):
    program(tmp_path / "git", "#!/bin/sh\nsleep 60\n")
    s = server(env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
    began = time.monotonic()
    id = s.start_call("workspace_info")
    time.sleep(0.3)
    assert s.result("ping") == {}
    found = sections(s.wait(id)["result"]["content"][0]["text"])
    assert 5 <= time.monotonic() - began < 5 + 2 * busy()
    assert found["Git"] == ["git does not answer"] and found["CWD"]
    s.wait_no_descendants(1)


def test_it_can_be_cancelled(server, tmp_path):
    program(tmp_path / "node", "#!/bin/sh\nsleep 60\n")
    s = server(env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
    id = s.start_call("workspace_info")
    s.wait_descendants(1)
    s.cancel(id)
    s.wait_no_descendants()
    assert s.fence() == []


def kib(text):
    """1.5G -> KiB."""
    number, unit = float(text.rstrip("KMGTPiB")), text.rstrip("iB")[-1:]
    return number * 1024.0 ** "KMGTP".index(unit) if unit in "KMGTP" and unit else number / 1024


def test_disk_is_the_file_system_of_the_root(host, workspace):
    heading, row = info(host)["Disk"]
    assert heading.split() == ["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted", "on"]
    source, size, used, available, percent, point = row.split()
    v = os.statvfs(workspace)
    assert kib(size) == pytest.approx(v.f_blocks * v.f_frsize / 1024, rel=0.1)
    assert kib(available) == pytest.approx(v.f_bavail * v.f_frsize / 1024, rel=0.1)
    assert percent.endswith("%") and 0 <= int(percent[:-1]) <= 100
    df = subprocess.run(["df", "--output=source,target", workspace], capture_output=True, text=True).stdout
    assert [source, point] == df.split("\n")[1].split()


def test_disk_of_a_mount_with_a_blank_in_its_name(server, tmp_path):
    place = tmp_path / "a b"
    place.mkdir()
    s = server(root=place, wrap=["unshare", "--mount", "sh", "-c",
                                 f"mount -t tmpfs -o size=1m none '{place}' && exec \"$@\"", "sh"])
    row = info(s)["Disk"][1]
    assert row.startswith("none ") and row.endswith(f"% {place}") and row.split()[1] == "1.0M"


def test_memory_is_that_of_the_machine(host):
    heading, memory, swap = info(host)["Memory"]
    assert heading.split() == ["total", "used", "free", "shared", "buff/cache", "available"]
    values = {}
    with open("/proc/meminfo") as f:
        for line in f:
            values[line.split(":")[0]] = int(line.split()[1])
    assert memory.split()[0] == "Mem:" and swap.split()[0] == "Swap:"
    assert kib(memory.split()[1]) == pytest.approx(values["MemTotal"], rel=0.1)
    assert kib(memory.split()[6]) == pytest.approx(values["MemAvailable"], rel=0.3)
    assert kib(swap.split()[1]) == pytest.approx(values["SwapTotal"], rel=0.1)


def test_an_empty_box_is_described_as_far_as_it_goes(server, bare_root):  # noqa: F811
    """No /proc, no /etc, no programs."""
    found = info(server(wrap=["chroot", bare_root], root="/w"))
    assert found["OS"] == ["not available"]
    assert found["Node"] == ["node not installed"] and found["Git"] == ["git not installed"]
    assert found["CWD"] == ["/w"] and found["Tools"] == []
    source, size, *_, point = found["Disk"][1].split()
    assert (source, point) == ("-", "-") and kib(size) > 0
    assert len(found["Memory"]) == 3 and kib(found["Memory"][1].split()[1]) > 1000


def test_it_takes_no_arguments_and_none_may_be_missing(host):
    """F14."""
    assert host.failure("workspace_info", path="x") == "Invalid arguments for workspace_info: path: unknown argument"
    for params in ({"name": "workspace_info"}, {"name": "workspace_info", "arguments": None}):
        sections(host.result("tools/call", params)["content"][0]["text"])


def test_it_is_listed_as_a_local_read(host):
    """M3."""
    tool = next(t for t in host.result("tools/list")["tools"] if t["name"] == "workspace_info")
    hints = tool["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"], hints["openWorldHint"]) == (True, False, False)
    assert tool["inputSchema"]["properties"] == {}


def test_it_leaves_nothing_behind(host):
    host.result("ping")     # it has opened all its own
    before = host.fd_count()
    for _ in range(20):
        host.text("workspace_info")
    wait_until(lambda: host.fd_count() == before and host.zombies() == [], "all is closed and collected")
    assert host.descendants() == []


def test_the_workspace_is_not_touched(host, workspace):
    before = stat.S_IMODE(workspace.stat().st_mode), workspace.stat().st_mtime_ns
    host.text("workspace_info")
    assert (stat.S_IMODE(workspace.stat().st_mode), workspace.stat().st_mtime_ns) == before and os.listdir(workspace) == []
