"""The binary as process 1 of a machine: Debian's kernel under qemu (TCG) with an initramfs that holds little else.

Its settings come from the kernel's command line. On each machine: a round trip of the tools, what process 1 has to do, its
network, and an end that turns the machine off or restarts it.
"""

import os
import pathlib
import re
import time

import pytest

from vm import GATEWAY, GUEST, NAME_SERVER, ROOT, Kernel, Machine, Serial, initramfs
from process import end_all, wait_until  # of tests/e2e, which vm has put on the path
from test_readme import block
from webserver import TOKEN

NETWORK = {"SANDSTORM_IP": f"{GUEST},{GATEWAY},{NAME_SERVER}"}
TARGETS = ["x86_64", "aarch64", "armv7"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}


def built(target):
    """The binary for a target; the machine's own has no name behind it."""
    path = ROOT / f"out/sandstorm-mcp-{target}"
    if target == os.uname().machine:
        path = pathlib.Path(os.environ.get("SANDSTORM_BIN") or ROOT / "out/sandstorm-mcp")
    assert path.exists(), f"build it first: make TARGET={target}"
    return path


@pytest.fixture
def machine(tmp_path):
    started = []

    def start(target, settings=None, **more):
        m = Machine(target, built(target), tmp_path, {**NETWORK, **(settings or {})}, **more)
        started.append(m)
        assert m.wait_ready(), m.console()
        print(f"\n{target}: answers after {time.monotonic() - m.began:.1f} s")
        return m
    yield start
    end_all(started)


@pytest.fixture
def serial(tmp_path):
    started = []

    def start(target, settings=None, **more):
        started.append(Serial(target, built(target), tmp_path, settings, **more))
        return started[-1]
    yield start
    for s in started:
        s.end()


def round_trip(m):
    names = [tool["name"] for tool in m.result("tools/list")["tools"]]
    assert len(names) >= 20 and len(m.modern.result("tools/list")["tools"]) == len(names)
    assert m.result("initialize", HELLO)["serverInfo"]["name"] == "sandstorm"
    assert m.text("file_write", path="a/f", content="one\ntwo\n") == "Written 8 bytes to /work/a/f"
    assert m.text("file_read", path="a/f") == "one\ntwo\n"
    assert "/work/a/f" in m.text("file_list", recursive=True)
    assert m.text("file_move", source="a/f", dest="g") == "Moved /work/a/f \u2192 /work/g"
    assert m.text("file_delete", path="g") == "Deleted /work/g"
    assert m.failure("terminal_exec", command="sleep 60 & setsid sleep 61 & wait", timeout=0.5).endswith("exit_code: 124")
    started = int(re.search(r"\b(?:PID|pid)\D*(\d+)", m.text("terminal_exec_background", command="sleep 62"))[1])
    assert m.text("terminal_kill", pid=started) == f"Sent SIGTERM to {started}"
    assert "git is not installed" in m.failure("git_status")
    assert "=== Memory ===" in m.text("workspace_info")


def duties(m):
    """What process 1 has done before it serves, and does meanwhile."""
    mounts = m.shell("cat /proc/mounts")
    assert "proc /proc proc " in mounts and "devtmpfs /dev devtmpfs " in mounts and "tmpfs /tmp tmpfs " in mounts
    assert "inet 127.0.0.1/8" in m.shell("ip addr show dev lo")
    m.shell("for i in 1 2 3; do (setsid sleep 0.05 > /dev/null 2>&1 &); done; sleep 0.5")

    def all_collected():
        left = m.shell("cat /proc/[0-9]*/stat")
        return "(sleep)" not in left and ") Z " not in left
    wait_until(all_collected, "no orphan is left", 20)
    assert m.shell("cat /proc/1/cmdline | grep -c sandstorm-mcp") == "1"


def network(m):
    assert f"inet {GUEST} " in m.shell("ip addr show dev eth0")
    assert f"default via {GATEWAY} dev eth0" in m.shell("ip route")
    assert m.shell("cat /etc/resolv.conf") == f"nameserver {NAME_SERVER}"
    wait_until(lambda: '"msg":"network is up","address":"10.0.2.15","interface":"eth0"' in m.console(), "the word about it")


def settings_came(m):
    assert m.exchange("GET", "/health").json()["max_instances"] == 7
    assert m.exchange("POST", "/mcp", body=b"{}").status == 401
    assert "SANDSTORM_MCP_TOKEN" not in m.shell("env"), "no command is told"


def end(m, signal, words):
    """What a command inside makes of it; the answer may be lost on the way."""
    m.start({"jsonrpc": "2.0", "id": 99, "method": "tools/call",
             "params": {"name": "terminal_exec", "arguments": {"command": f"kill -{signal} 1; sleep 60"}}})
    assert m.wait_exit(60) == 0
    assert words in m.console() and "panic" not in m.console()


def of_the_readme():
    """The line of the README, with the addresses of qemu's network: settings and words."""
    start, *line = block("initramfs").split()
    assert start == "rdinit=/sandstorm-mcp"
    settings = dict(word.split("=", 1) for word in line[:line.index("--")])
    assert re.fullmatch(r"192\.168\.1\.5/24,192\.168\.1\.1,9\.9\.9\.9", settings["SANDSTORM_IP"])
    return {**settings, **NETWORK}, line[line.index("--") + 1:]


@pytest.mark.parametrize("target", TARGETS)
def test_it_serves_from_the_start_of_the_kernel_to_the_power_off(machine, target):
    settings, words = of_the_readme()
    m = machine(target, {"SANDSTORM_MCP_TOKEN": None, **settings, "MAX_INSTANCES": "7"}, words=words, files={"token": f"{TOKEN}\n"})
    round_trip(m)
    duties(m)
    network(m)
    settings_came(m)
    if target == "aarch64":
        end(m, "INT", "reboot: Restarting system")
    else:
        end(m, "TERM", "reboot: Power down")


def test_a_driver_that_comes_late_is_waited_for_while_it_serves(machine):
    m = machine("armv7", late=3)
    network(m)
    assert m.console().index('"serving"') < m.console().index("network is up")
    end(m, "TERM", "reboot: Power down")


def test_a_lone_binary_is_enough(serial):
    """It is /init, the initramfs holds no other file, and its client is at the serial line."""
    s = serial("x86_64", NETWORK)
    s.wait_for(lambda console: "no shell here" in console, "the server")
    assert s.result("initialize", HELLO)["serverInfo"]["name"] == "sandstorm"
    assert s.text("file_write", path="f", content="x") == "Written 1 bytes to /work/f"
    assert s.text("file_read", path="f") == "x"
    assert s.failure("terminal_exec", command="true") == "no shell here: neither /bin/bash nor /bin/sh exists"
    assert re.search(r"^Mem: +\d+", s.text("workspace_info"), re.M), "from the /proc that it has mounted"
    s.wait_for(lambda console: "no network interface yet: still looking for one" in console, "the word about the network")
    s.send(b"\x04")     # end of input
    assert s.wait_exit() == 0
    assert "reboot: Power down" in s.console()


def test_a_setting_that_cannot_be_meant_is_on_the_screen_when_the_kernel_panics(serial):
    s = serial("x86_64", {"SANDSTORM_IP": "10.0.2.15"})
    assert s.wait_exit() == 0, "panic=-1 restarts"
    said = s.console()
    assert 'SANDSTORM_IP: "10.0.2.15" does not begin with an address and the length of its prefix' in said
    assert "Attempted to kill init! exitcode=0x00000200" in said


def test_an_address_of_ipv6(serial):
    """qemu's network answers to fec0::2."""
    kernel = Kernel("x86_64")
    s = serial("x86_64", {"SANDSTORM_IP": "fec0::15/64,fec0::2,fec0::3"}, archive=initramfs(kernel, built("x86_64")))
    s.wait_for(lambda console: "network is up" in console, "the network")
    assert "inet6 fec0::15/64" in s.text("terminal_exec", command="ip addr show dev eth0")
    assert "default via fec0::2 dev eth0" in s.text("terminal_exec", command="ip -6 route")
    assert "nameserver fec0:0:0:0:0:0:0:3" in s.text("terminal_exec", command="cat /etc/resolv.conf")
    assert "1 packets received" in s.text("terminal_exec", command="for i in 1 2 3 4 5; do ping -c 1 -w 4 fec0::2 && break; done")
