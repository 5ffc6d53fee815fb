"""As process 1 of a container: what nobody else does there is done, and nothing is left behind. Needs root, for namespaces."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from mcpwire import clean_environment
from process import busy, wait_until

FIRST = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
LONELY = [*FIRST, "--net"]
# Where a process with neither tag of ours waits for TERM, and writes down that it came
STRANGER = """
import pathlib, resource, signal, time
resource.setrlimit(resource.RLIMIT_RTTIME, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
def ended(number, frame):
    pathlib.Path("ended").write_text(str(number))
    raise SystemExit
signal.signal(signal.SIGTERM, ended)
pathlib.Path("waits").write_text("")
time.sleep(60)
"""
# An Ethernet interface, made as a driver's module would make it, perhaps late; then the program
TAP = """
import fcntl, os, struct, sys, time
def make():
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", b"tap0", 0x1002))
    fcntl.ioctl(fd, 0x400454cb, 1)
late = float(sys.argv[1])
if not late:
    make()
elif os.fork() == 0:
    time.sleep(late)
    make()
    os._exit(0)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def shell(server, command):
    text = server.text("terminal_exec", command=command)
    assert text.endswith("exit_code: 0"), text
    return text


def python(code):
    return f"'{sys.executable}' -c '{code}'"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_all_its_children(web, number):
    """A kernel drops signals to process 1 that it has no handler for."""
    w = web(wrap=FIRST)
    assert "\n1\n" in shell(w, 'echo; echo $PPID')
    w.text("terminal_exec_background", command="sleep 61")
    shell(w, "setsid sleep 62 > /dev/null 2>&1 &")
    w.wait_descendants(3)
    code, seconds = w.end_first(number)
    assert code == 0 and seconds < 3 * busy()
    assert w.descendants() == []


def test_what_has_no_tag_gets_a_second_for_its_last_words(web, workspace):
    w = web(wrap=FIRST)
    (workspace / "stranger.py").write_text(STRANGER)
    shell(w, f"env -i setsid '{sys.executable}' stranger.py > /dev/null 2>&1 &")
    wait_until((workspace / "waits").exists, "the stranger")
    code, seconds = w.end_first()
    assert code == 0 and seconds < 3 * busy()
    assert (workspace / "ended").read_text() == str(int(signal.SIGTERM))


def test_what_does_not_want_to_end_is_killed_after_a_second(web, workspace):
    w = web(wrap=FIRST)
    (workspace / "stranger.py").write_text(STRANGER.replace("raise SystemExit", "return"))
    shell(w, f"env -i setsid '{sys.executable}' stranger.py > /dev/null 2>&1 &")
    wait_until((workspace / "waits").exists, "the stranger")
    code, seconds = w.end_first()
    assert code == 0 and 0.9 < seconds < 4 * busy()


def test_orphans_are_reaped(server):
    s = server(wrap=FIRST)
    shell(s, "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.05' > /dev/null 2>&1 &); done; sleep 0.3")
    wait_until(lambda: "zombies: 0" in shell(s, "echo zombies: $(grep -l '^State:.Z' /proc/[0-9]*/status | wc -l)"), "their end")
    assert s.close() == 0


def test_the_end_of_stdin_ends_it_all(server):
    s = server(wrap=FIRST)
    s.text("terminal_exec_background", command="sleep 61")
    assert s.close() == 0
    assert s.descendants() == []


def test_the_loopback_interface_is_brought_up(server):
    look = python('import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())')
    assert "exit_code: 0" in shell(server(wrap=LONELY), look)
    down = server(wrap=["unshare", "--net"])
    assert "Network is unreachable" in down.failure("terminal_exec", command=look)


@pytest.fixture
def bare(tmp_path, binary):
    """A root with a shell, and neither /proc nor /dev nor /tmp."""
    root = tmp_path / "bare"
    (root / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for name in ("sh", "cat", "ls", "mkdir"):
        (root / "bin" / name).symlink_to("busybox")
    shutil.copy(binary, root / "sandstorm-mcp")
    return root


def in_bare(server, bare, flags=(), **more):
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount", *flags, f"--root={bare}"]
    return server(root="/work", wrap=["sh", "-c", f'shift; exec {" ".join(enter)} /sandstorm-mcp "$@"', "sh"],
                  **{"env": {"PATH": "/bin", **more.pop("env", {})}, **more})


def test_what_is_missing_is_mounted(server, bare):
    s = in_bare(server, bare)
    mounts = shell(s, "cat /proc/mounts")
    assert " /proc proc " in mounts and " /dev devtmpfs " in mounts and " /tmp tmpfs " in mounts
    shell(s, "echo x > /dev/null; echo x > /tmp/x")
    assert "exit_code: 124" in s.failure("terminal_exec", command="sleep 60 & setsid sleep 61 & wait", timeout=0.3)
    assert "sleep" not in shell(s, "cat /proc/[0-9]*/comm"), "found in the /proc that was mounted"
    assert s.close() == 0
    assert not list((bare / "tmp").iterdir()), "the mounts are of its own namespace"


def test_what_is_there_stays(server, bare):
    (bare / "tmp").mkdir(mode=0o777)
    (bare / "tmp/kept").write_text("x")
    (bare / "dev").mkdir()
    (bare / "dev/null").write_text("")
    s = in_bare(server, bare)
    assert "/proc proc" in shell(s, "cat /proc/mounts") and "kept" in shell(s, "ls /tmp")
    assert "/tmp" not in shell(s, "cat /proc/mounts") and "/dev" not in shell(s, "cat /proc/mounts")
    assert s.close() == 0


def test_another_process_than_the_first_mounts_nothing(server, bare):
    s = server(root="/work", env={"PATH": "/bin"},
               wrap=["sh", "-c", f'shift; exec unshare --mount --root={bare} /sandstorm-mcp "$@"', "sh"])
    assert s.text("file_write", path="f", content="x") == "Written 1 bytes to /work/f"
    assert s.close() == 0
    assert not (bare / "proc").exists() and not (bare / "tmp").exists() and not (bare / "dev").exists()


# -- SANDSTORM_IP ----------------------------------------------------------------------------------


def with_card(server, ip, late=0):
    return server(env={"SANDSTORM_IP": ip}, wrap=[*LONELY, sys.executable, "-c", TAP, str(late)])


def up(server):
    wait_until(lambda: "network is up" in server.stderr_text(), "the network")


def test_the_first_interface_gets_its_address_and_route(server):
    s = with_card(server, "10.9.8.7/22,10.9.11.254")
    up(s)
    assert "address=10.9.8.7 interface=tap0" in s.stderr_text()
    routes = shell(s, "cut -f 1,2,3,8 /proc/net/route")
    assert "tap0\t00000000\tFE0B090A\t00000000" in routes and "tap0\t0008090A\t00000000\t00FCFFFF" in routes
    assert "/32 host LOCAL" in shell(s, "grep -A1 10.9.8.7 /proc/net/fib_trie")
    assert s.close() == 0


@pytest.mark.parametrize("gateway", ["fd00::1", "fe80::1"])
def test_ipv6_as_well(server, gateway):
    s = with_card(server, f"fd00::15/64,{gateway}")
    up(s)
    assert "fd000000000000000000000000000015" in shell(s, "grep 'fd00.* 40 .*tap0' /proc/net/if_inet6")
    default = shell(s, "grep '^0\\{32\\} 00 .*tap0' /proc/net/ipv6_route")
    assert f"{int(gateway[:4], 16):04x}{1:028x}" in default
    assert s.close() == 0


def test_an_interface_that_comes_late_is_waited_for(server):
    s = with_card(server, "10.9.8.7/24", late=2)
    assert s.result("ping") == {}, "while it waits it serves"
    assert "network is up" not in s.stderr_text()
    up(s)
    assert "10.9.8.7" in shell(s, "grep 10.9.8.7 /proc/net/fib_trie")
    assert s.close() == 0


def test_the_dns_server_is_written_down(server, bare):
    (bare / "etc").mkdir()
    (bare / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n# an older one\n")
    s = in_bare(server, bare, env={"SANDSTORM_IP": "10.9.8.7/24,,9.9.9.9"}, flags=["--net"])
    assert s.result("ping") == {}
    assert (bare / "etc/resolv.conf").read_text().startswith("nameserver 127.0.0.1"), "there is no interface"
    assert s.close() == 0


def test_without_the_right_it_says_so_and_serves(server):
    less = ["setpriv", "--bounding-set=-net_admin"]
    s = server(env={"SANDSTORM_IP": "10.9.8.7/24"}, wrap=[*LONELY, sys.executable, "-c", TAP, "0", *less])
    assert s.result("ping") == {}
    told = "cannot set up the network address=10.9.8.7 interface=tap0 error=Operation not permitted"
    wait_until(lambda: told in s.stderr_text().replace(chr(34), ""), told)
    assert s.close() == 0


def test_elsewhere_it_is_ignored_with_a_word(server):
    s = server(env={"SANDSTORM_IP": "10.9.8.7/24"})
    assert s.result("ping") == {}
    wait_until(lambda: "SANDSTORM_IP is ignored: only process 1 sets up a network" in s.stderr_text(), "the word")


@pytest.mark.parametrize("wrap", [(), FIRST], ids=["elsewhere", "first"])
def test_what_cannot_be_meant_is_refused_before_it_serves(server, wrap):
    s = server(env={"SANDSTORM_IP": "10.9.8.7/24,10.9.9.1"}, wrap=wrap)
    assert s.wait_exit() == 2
    assert s.stderr_text() == ('sandstorm-mcp: SANDSTORM_IP: "10.9.8.7/24,10.9.9.1" names a gateway that is not another address '
                               "of that network; it is ADDRESS/LENGTH[,GATEWAY[,DNS]]\n")


# -- health, as a container's health check runs it -----------------------------------------------------


def beside(server, binary, *words, env=None):
    """Runs a command in the namespaces of process 1, as `docker exec` does."""
    pid = server.first()
    return subprocess.run(["nsenter", f"--target={pid}", "--pid", "--mount", "--root", binary, *words],
                          env=clean_environment(None, env), capture_output=True, text=True, timeout=20)


def test_health_finds_the_port_that_was_given_as_a_flag(web, binary):
    as_flag = ["sh", "-c", 'port=$SANDSTORM_MCP_PORT; unset SANDSTORM_MCP_PORT; exec "$@" --mcp-port $port', "sh"]
    w = web(wrap=[*FIRST, *as_flag])
    done = beside(w, binary, "health")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert beside(w, binary, "health", "--mcp-port", "1").returncode == 1, "its own words go first"
    os.kill(w.first(), signal.SIGSTOP)
    assert "timed out" in beside(w, binary, "health").stderr
    os.kill(w.first(), signal.SIGCONT)
    assert w.end_first()[0] == 0


@pytest.mark.parametrize("args", [[], ["serve", "--stdio"]], ids=["tools", "serve"])
def test_health_of_a_server_over_stdio_is_that_it_runs(server, binary, args):
    s = server(wrap=FIRST, args=args, **({"tools": None} if args else {}))
    assert s.result("ping") == {}
    assert beside(s, binary, "health", env={"SANDSTORM_MCP_PORT": "1"}).returncode == 0
    assert s.close() == 0


def test_health_beside_another_program_asks_the_port_of_its_own_settings(tmp_path, binary):
    done = subprocess.run([*FIRST, "sh", "-c", '"$0" health; exit $?', binary], capture_output=True, text=True, timeout=20,
                          env=clean_environment(None, {"SANDSTORM_MCP_PORT": "1"}))
    assert done.returncode == 1 and "http://127.0.0.1:1/health cannot be reached" in done.stderr
