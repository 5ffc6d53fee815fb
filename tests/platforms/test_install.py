"""scripts/install.sh on empty machines (issue 9, point 6): a stranger's first call, the second one, an upgrade while clients
ask, the reference server's settings and Caddyfile, removal. systemd is played by installing.Systemd, which keeps the sockets
as systemd does; OpenRC and busybox init are the real ones.
"""

import contextlib
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import threading
import time

import pytest

from installing import REPOSITORY, Machines, Systemd, native, wait_until  # noqa: F401, a fixture

from httpwire import Connection, free_port, request  # noqa: E402, installing has named its folder
from webserver import message  # noqa: E402

INSTALL = str(REPOSITORY / "scripts/install.sh")
SERVICE = "sandstorm-mcp.service"
ENV = "/etc/sandstorm-mcp.env"


@pytest.fixture(scope="session")
def machines(native, tmp_path_factory):
    return Machines(tmp_path_factory.mktemp("machines"), native)


@pytest.fixture
def machine(machines):
    m = machines.debian()
    yield m
    machines.remove(m)


@pytest.fixture
def systemd(machine):
    s = Systemd(machine)
    yield s
    s.end()


def ask(port, token, method="ping", context=None, host="127.0.0.1", params=None):
    with Connection(host, port, 40, context) as c:
        c.send(request("POST", "/mcp", {"Host": f"{host}:{port}", "Authorization": f"Bearer {token}", "Connection": "close",
                                        "Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
                       json.dumps(message(method, params)).encode()))
        return c.answer().message()["result"]


def accepts(port, host="127.0.0.1"):
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
        return True
    return False


def shell(port, token, command, **more):
    return ask(port, token, "tools/call", params={"name": "terminal_exec", "arguments": {"command": command}}, **more)["content"][0]["text"]


def files(machine):
    """What an installation may have touched: path -> (mode, owner, bytes)."""
    found = {}
    for top in ("/etc", "/usr/local", "/home", "/root/kit"):
        for path in sorted(machine.path(top).rglob("*")):
            s = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(s.st_mode) else b""
            found[str(path.relative_to(machine.root))] = (oct(s.st_mode), s.st_uid, content)
    return found


def changed(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


# -- systemd -------------------------------------------------------------------------------------


def test_the_first_call_makes_all_and_the_second_changes_nothing(machine, systemd):
    port = free_port()
    done = machine.install(MCP_PORT=port)
    assert f"http://127.0.0.1:{port}/mcp; the token is in {ENV}" in done.stdout
    info = machine.path(ENV).stat()
    assert (stat.S_IMODE(info.st_mode), info.st_uid) == (0o600, 0)
    token = machine.token()
    assert len(token) == 43 and token not in done.stdout + done.stderr
    assert shell(port, token, "id -un; pwd; echo x > f; stat -c %U f").startswith("stdout:\ndev\n/home/dev\ndev\n")
    assert {SERVICE, "sandstorm-mcp.socket"} <= systemd.enabled
    before = files(machine)
    again = machine.install()
    assert changed(before, files(machine)) == []
    assert machine.token() == token and ask(port, token) == {}
    assert "made" not in again.stdout and systemd.codes == [0]
    assert machine.install("--help").stdout.startswith("install.sh [OPTION...]")


def test_the_units_are_what_systemd_understands_and_leave_the_shell_its_work(machine):
    machine.install("--init", "systemd", ok=False)      # nobody answers systemctl: files are there before it is asked
    for unit in ("service", "socket"):
        text = machine.run("sh", "/root/kit/install.sh", "--init", "systemd", "--print", unit).stdout
        machine.write(f"/etc/systemd/system/sandstorm-mcp.{unit}", text)
    machine.write("/usr/local/bin/sandstorm-mcp", "#!/bin/sh\n", 0o755)
    machine.write(ENV, "")
    done = machine.run("systemd-analyze", "verify", SERVICE, "sandstorm-mcp.socket")
    assert "sandstorm-mcp" not in done.stdout + done.stderr
    done = machine.run("systemd-analyze", "security", "--offline=true", "--no-pager", SERVICE)
    exposure = float(re.search(r"Overall exposure level.*: ([\d.]+)", done.stdout)[1])
    print(f"\nexposure {exposure}")
    assert exposure < 6.0
    service = machine.read(f"/etc/systemd/system/{SERVICE}")
    for breaks in ("MemoryDenyWriteExecute", "RestrictNamespaces", "RestrictSUIDSGID", "ProtectHome", "ProtectSystem=strict"):
        assert breaks not in service
    assert "KillMode=mixed\n" in service and "SANDSTORM_STOP_GRACE=30\n" in service


class Load(threading.Thread):
    """Clients that go on asking while the server is exchanged."""

    def __init__(self, port, token):
        super().__init__(daemon=True)
        self.port, self.token = port, token
        self.answered, self.failures, self.go_on = 0, [], True
        self.start()

    def run(self):
        while self.go_on:
            try:
                assert ask(self.port, self.token) == {}
                self.answered += 1
            except Exception as e:      # whatever a client may see
                self.failures.append(repr(e))
            time.sleep(0.01)


def test_an_upgrade_refuses_nobody_and_answers_what_is_in_flight(machine, systemd):
    port = free_port()
    machine.install(MCP_PORT=port, ALLOWED_ORIGINS="https://a.example")
    token, old = machine.token(), systemd.pid()
    load = Load(port, token)
    answers = []
    flight = threading.Thread(target=lambda: answers.append(shell(port, token, "touch begun; sleep 4; echo in flight, by $PPID")))
    flight.start()
    wait_until(machine.path("/home/dev/begun").exists, "the command")
    machine.another_version()
    machine.install()
    flight.join(40)
    load.go_on = False
    load.join(40)
    assert f"in flight, by {old}" in answers[0]
    assert load.failures == [] and load.answered > 3
    assert systemd.pid() != old and systemd.codes == [0]
    assert machine.path("/usr/local/bin/sandstorm-mcp").read_bytes().endswith(b"newer")
    assert "restart sandstorm-mcp.socket" not in systemd.calls[systemd.calls.index(f"restart {SERVICE}") + 1:]
    print(f"\n{load.answered} requests answered during the upgrade")


def test_another_port_moves_the_socket(machine, systemd):
    first, second = free_port(), free_port()
    machine.install(MCP_PORT=first)
    machine.write(ENV, machine.read(ENV).replace(str(first), str(second)), 0o600)
    machine.install()
    assert ask(second, machine.token()) == {}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", first), 1)


@pytest.mark.parametrize("text, why", [
    ("SANDSTORM_MCP_TOKEN=short\n", "5 bytes, at least 16"),
    ("MCP_AUTH_TOKEN='weak weak'\n", "9 bytes, at least 16"),
    ("SANDSTORM_MCP_TOKEN=0123456789abcdef\nSANDSTORM_MCP_PORT=http\n", "SANDSTORM_MCP_PORT"),
    ("SANDSTORM_MCP_TOKEN=0123456789abcdef\nthis is no setting\n", "line 2 is not NAME=value"),
])
def test_what_would_be_refused_is_found_while_the_old_server_still_runs(machine, systemd, text, why):
    machine.write(ENV, text, 0o640)
    before = files(machine)
    done = machine.install(ok=False)
    assert done.returncode == 1 and why in done.stderr and "nothing was changed" in done.stderr
    assert changed(before, files(machine)) == [] and systemd.calls == []


def test_a_program_that_does_not_serve_makes_place_for_the_one_before(machine, systemd):
    port = free_port()
    machine.install(MCP_PORT=port)
    good = machine.path("/usr/local/bin/sandstorm-mcp").read_bytes()
    machine.write("/root/kit/sandstorm-mcp", "#!/bin/sh\ncase $1:$2 in --version*|serve:--check) ;; health*) exit 1 ;; *) exit 3 ;; esac\n", 0o755)
    done = machine.install(ok=False)
    assert done.returncode == 1 and "the program that was here before runs again" in done.stderr
    assert machine.path("/usr/local/bin/sandstorm-mcp").read_bytes() == good
    assert ask(port, machine.token()) == {}


def readme_calls():
    block = re.search(r"### As a service.*?```sh\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.S)[1]
    return [line.partition("#")[0].strip() for line in block.splitlines()]


@pytest.mark.parametrize("line", readme_calls())
def test_what_the_readme_says_does_that(machine, systemd, line):
    port = free_port()
    done = machine.run("sh", "-c", line.replace("scripts/install.sh", "sh /root/kit/install.sh"), env={"SANDSTORM_MCP_PORT": str(port)})
    context = None
    if "0.0.0.0" in line:
        context = ssl.create_default_context(cafile=machine.path("/etc/sandstorm-mcp.tls/ca.pem"))
    assert ask(port, machine.token(), context=context) == {}
    promised = {"mcp.example.com": "https://mcp.example.com/mcp", "0.0.0.0": f"https://0.0.0.0:{port}/mcp"}
    url = next((url for word, url in promised.items() if word in line), f"http://127.0.0.1:{port}/mcp")
    assert f"serves /home/dev at {url};" in done.stdout


# -- the real systemd --------------------------------------------------------------------------------

WORK = """set -e
git --version > /dev/null 2>&1 && git init -q --shared shared
mkdir -p made && chmod g+s made && echo text > made/f && ln -s f made/link && mkfifo made/pipe
cp /bin/true made/program && made/program
sh -c 'sleep 0.1 & wait'
perl -e 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or die; socket(my $u, PF_UNIX, SOCK_STREAM, 0) or die'
unshare --user --map-root-user true
date > /tmp/here; mktemp > /dev/null; ps -e > /dev/null 2>&1 || ls /proc/self > /dev/null
id -un; cat /proc/self/status | grep -E '^(NoNewPrivs|CapEff)'; ls -l made | wc -l
cat /etc/sandstorm-mcp.env 2>&1 || echo secret
echo x > /usr/x 2> /dev/null || echo sealed
"""


@pytest.fixture
def container(machines):
    m = machines.systemd()
    yield m
    machines.remove(m)


def test_real_systemd_runs_it_and_a_shell_can_work_there(container):
    """The unit's settings in force, the socket kept through an upgrade under load, a reload, a crash, removal."""
    port = free_port()
    container.install(MCP_PORT=port)
    token = container.token()
    text = shell(port, token, WORK)
    assert text.startswith("stdout:\ndev\n") and "exit_code: 0" in text, text
    assert re.search(r"NoNewPrivs:\t1\nCapEff:\t0+\n", text) or re.search(r"CapEff:\t0+\nNoNewPrivs:\t1\n", text)
    assert "secret\nsealed\n" in text and token not in text
    assert not container.path("/tmp/here").exists()

    load = Load(port, token)
    answers = []
    flight = threading.Thread(target=lambda: answers.append(shell(port, token, "touch begun; sleep 3; echo in flight")))
    flight.start()
    wait_until(container.path("/home/dev/begun").exists, "the command")
    old = container.property(SERVICE, "MainPID")
    container.another_version()
    container.install()
    flight.join(40)
    assert "in flight" in answers[0] and container.property(SERVICE, "MainPID") != old
    container.run("systemctl", "stop", SERVICE)
    assert ask(port, token) == {}           # the socket has called it again
    container.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", SERVICE)
    wait_until(lambda: container.property(SERVICE, "NRestarts") == "1" and container.property(SERVICE, "ActiveState") == "active",
               "its restart", 20)
    container.run("systemctl", "reload", SERVICE)
    assert ask(port, token) == {}
    load.go_on = False
    load.join(40)
    print(f"\n{load.answered} answered, {len(load.failures)} not: {load.failures}")
    assert len(load.failures) <= 1          # the one that the kill has met
    assert container.property(SERVICE, "Result") == "success"
    container.install("--uninstall")
    assert not accepts(port) and container.run("systemctl", "status", SERVICE, ok=False).returncode == 4


# -- upgrading from the reference server ----------------------------------------------------------

REFERENCE_UNIT = """[Unit]
Description=Sandstorm MCP

[Service]
Type=simple
User=dev
EnvironmentFile=/etc/sandstorm-mcp.env
ExecStart=/usr/bin/perl /opt/reference.pl
Restart=on-failure
RestartSec=3
NoNewPrivileges=true
"""
# it holds the port itself
REFERENCE = """use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ENV{SANDSTORM_MCP_PORT}, Listen => 5, ReuseAddr => 1) or die;
while (1) { my $c = $s->accept; close $c if $c }
"""
REFERENCE_CADDYFILE = """mcp.example.com {
	encode gzip
	reverse_proxy 127.0.0.1:8080 {
		flush_interval -1
		transport http {
			read_timeout 300s
			write_timeout 300s
			dial_timeout 5s
		}
	}
}
"""


def test_settings_and_caddyfile_of_the_reference_server_are_kept(machine, systemd):
    port = free_port()
    settings = (f"# reference\nSANDSTORM_MCP_TOKEN=reference-token-0123456789\nSANDSTORM_MCP_PORT={port}\n"
                "SANDSTORM_WORKSPACE_ROOT=/srv/work\nSANDSTORM_DOMAIN=mcp.example.com\nMAX_INSTANCES=3\n"
                'SESSION_AUTH_TOKEN="session-token-0123456789"\n')
    machine.run("useradd", "-m", "dev")
    machine.write(ENV, settings, 0o600)
    machine.write("/etc/caddy/Caddyfile", REFERENCE_CADDYFILE)
    machine.write("/opt/reference.pl", REFERENCE)
    machine.write(f"/etc/systemd/system/{SERVICE}", REFERENCE_UNIT)
    machine.path("/srv/work").mkdir()
    (machine.path("/srv/work") / "kept").write_text("by the reference\n")
    assert systemd.start(SERVICE)
    wait_until(lambda: accepts(port), "the reference server", 20)
    done = machine.install()
    assert machine.read(ENV) == settings
    assert machine.read("/etc/caddy/Caddyfile") == REFERENCE_CADDYFILE
    assert not machine.path("/etc/caddy/sandstorm-mcp.caddy").exists()
    assert "https://mcp.example.com/mcp" in done.stdout and "left as it is" in done.stdout
    assert machine.read(f"/etc/systemd/system/{SERVICE}.before-sandstorm-mcp") == REFERENCE_UNIT
    assert "by the reference" in shell(port, "reference-token-0123456789", "cat kept")
    assert "listening beyond loopback" not in systemd.log()


def test_a_foreign_caddyfile_is_never_written(machine, systemd):
    foreign = "other.example.com {\n\trespond hello\n}\n"
    machine.write("/etc/caddy/Caddyfile", foreign)
    port = free_port()
    for _ in range(2):
        done = machine.install(MCP_PORT=port, DOMAIN="mcp.example.com")
        assert machine.read("/etc/caddy/Caddyfile") == foreign
        assert "add this line to it: import sandstorm-mcp.caddy" in done.stdout
    machine.write("/etc/caddy/Caddyfile", foreign + "import sandstorm-mcp.caddy\n")
    machine.run("caddy", "validate", "--adapter", "caddyfile", "--config", "/etc/caddy/Caddyfile")
    adapted = machine.run("caddy", "adapt", "--config", "/etc/caddy/Caddyfile").stdout
    assert "mcp.example.com" in adapted and f"127.0.0.1:{port}" in adapted


def test_a_domain_puts_caddy_in_front(machine, systemd):
    """The package's own Caddyfile is nobody's: it gets one line, once, and loses it again."""
    before = machine.read("/etc/caddy/Caddyfile")
    port = free_port()
    for _ in range(2):
        done = machine.install(MCP_PORT=port, DOMAIN="mcp.example.com")
        assert machine.read("/etc/caddy/Caddyfile") == before + "\nimport sandstorm-mcp.caddy\n"
    assert "https://mcp.example.com/mcp" in done.stdout
    assert "enable --now caddy" in systemd.calls and "reload caddy" in systemd.calls
    adapted = machine.run("caddy", "adapt", "--config", "/etc/caddy/Caddyfile").stdout
    assert "mcp.example.com" in adapted and f"127.0.0.1:{port}" in adapted
    early = machine.run("caddy", "version").stdout.removeprefix("v").startswith("2.6.")
    assert ("buffer_requests" in adapted) == early, "only Caddy 2.6 cuts answers without it"
    assert "SANDSTORM_TLS_CERT" not in machine.settings()
    machine.install("--uninstall")
    assert machine.read("/etc/caddy/Caddyfile").strip() == before.strip()
    assert not machine.path("/etc/caddy/sandstorm-mcp.caddy").exists()


def test_where_caddy_cannot_be_had_the_server_has_a_certificate_of_its_own(machine, systemd):
    machine.path("/usr/bin/caddy").unlink()
    machine.write("/usr/local/bin/apt-get", "#!/bin/sh\nexit 100\n", 0o755)
    port = free_port()
    done = machine.install(MCP_PORT=port, DOMAIN="mcp.example.com")
    assert f"https://mcp.example.com:{port}/mcp" in done.stdout
    context = ssl.create_default_context(cafile=machine.path("/etc/sandstorm-mcp.tls/ca.pem"))
    assert ask(port, machine.token(), context=context) == {}
    key = machine.path("/etc/sandstorm-mcp.tls/server.key").stat()
    assert stat.S_IMODE(key.st_mode) == 0o640 and key.st_uid == 0
    assert stat.S_IMODE(machine.path("/etc/sandstorm-mcp.tls/ca.key").stat().st_mode) == 0o600
    before = files(machine)
    machine.install()
    assert changed(before, files(machine)) == []
    # renewed as the README says: the service, which is not root, reads the new key
    machine.run("/usr/local/bin/sandstorm-mcp", "cert", "--host", "mcp.example.com,127.0.0.1", "/etc/sandstorm-mcp.tls")
    machine.run("systemctl", "restart", "sandstorm-mcp.service")
    wait_until(lambda: accepts(port), "the server with the new certificate", 20)
    assert ask(port, machine.token(), context=context) == {}
    with Connection("127.0.0.1", port, 10, context) as c:
        assert ("DNS", "mcp.example.com") in c.socket.getpeercert()["subjectAltName"]


def test_a_machine_that_is_opened_to_the_lan_later_is_not_left_without_a_word(machine, systemd):
    """The script said to change the address in the settings and to call it again, and then served the token in clear text."""
    port = free_port()
    assert "TLS" not in machine.install(MCP_PORT=port).stdout
    machine.write(ENV, machine.read(ENV) + "SANDSTORM_MCP_HOST=0.0.0.0\n", 0o600)
    said = machine.install().stdout
    assert "0.0.0.0 is served without TLS" in said
    cert = re.search(r"call (\S+) cert --host NAME,ADDRESS (\S+), add (\S+) and (\S+) to (\S+) and", said)
    machine.run(cert[1], "cert", "--host", "localhost,127.0.0.1", cert[2])
    machine.write(cert[5], machine.read(cert[5]) + f"{cert[3]}\n{cert[4]}\n", 0o600)
    assert "without TLS" not in machine.install().stdout
    context = ssl.create_default_context(cafile=machine.path(f"{cert[2]}/ca.pem"))
    assert ask(port, machine.token(), context=context) == {}


# what `ip addr` of busybox prints
IP_ADDR = """1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host
       valid_lft forever preferred_lft forever
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast qlen 1000
    inet 192.168.7.5/24 brd 192.168.7.255 scope global eth0
       valid_lft forever preferred_lft forever
    inet6 2001:db8::5/64 scope global dynamic flags 100
       valid_lft forever preferred_lft forever
    inet6 fe80::5/64 scope link
       valid_lft forever preferred_lft forever
"""


def test_the_lan_reaches_it_under_its_address_where_hostname_knows_none(machine, systemd):
    """The certificate of an Alpine box had 127.0.0.1 alone, so every other machine refused it; where no name was ever set there was
    none at all, since "(none)" is no name."""
    machine.write("/usr/local/bin/hostname", "#!/bin/sh\n[ $# = 0 ] && echo '(none)'\n", 0o755)
    machine.write("/usr/local/bin/ip", f"#!/bin/sh\ncat <<'EOF'\n{IP_ADDR}EOF\n", 0o755)
    port = free_port()
    machine.install(MCP_PORT=port, MCP_HOST="0.0.0.0")
    pem = machine.path("/etc/sandstorm-mcp.tls/server.pem")
    names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", pem], check=True, capture_output=True,
                           text=True).stdout
    assert sorted(re.findall(r"(?:DNS|Address):(\S+?)(?:,|$)", names, re.M)) == [
        "127.0.0.1", "192.168.7.5", "2001:DB8:0:0:0:0:0:5", "localhost"], names
    context = ssl.create_default_context(cafile=machine.path("/etc/sandstorm-mcp.tls/ca.pem"))
    assert ask(port, machine.token(), context=context) == {}


# -- other inits -----------------------------------------------------------------------------------

OPENRC_STATE = "daemons exclusive failed hotplugged inactive options scheduled started starting stopping tmp wasinactive"


@pytest.fixture
def openrc(machine):
    """As after a boot with OpenRC."""
    for name in OPENRC_STATE.split():
        machine.path(f"/run/openrc/{name}").mkdir(parents=True)
    machine.write("/run/openrc/softlevel", "default\n")
    yield machine
    machine.run("rc-service", "sandstorm-mcp", "stop", ok=False)


def test_openrc_supervises_it(openrc):
    """The real one. The server runs as dev, with settings that only root can read."""
    port = free_port()
    for _ in range(2):
        openrc.install(MCP_PORT=port, ALLOWED_ORIGINS="'https://a.example, https://b.example'")
        assert shell(port, openrc.token(), "id -un; pwd; cat /etc/sandstorm-mcp.env").startswith("stdout:\ndev\n/home/dev\n\n")
    assert "started" in openrc.run("rc-service", "sandstorm-mcp", "status").stdout
    assert openrc.run("rc-update", "show", "default").stdout.split() == ["sandstorm-mcp", "|", "default"]
    pid = int(openrc.read("/run/sandstorm-mcp.pid"))
    os.kill(pid, 9)
    wait_until(lambda: openrc.read("/run/sandstorm-mcp.pid").strip() not in ("", str(pid)) and accepts(port), "a new server", 20)
    openrc.run("rc-service", "sandstorm-mcp", "reload")
    wait_until(lambda: "no token file to reread" in openrc.read("/var/log/sandstorm-mcp.log"), "the reload")
    assert ask(port, openrc.token()) == {}
    openrc.install("--uninstall")
    assert not accepts(port) and not openrc.path("/etc/init.d/sandstorm-mcp").exists()


@pytest.fixture
def busybox(machines):
    m = machines.busybox()
    yield m
    machines.remove(m)


def test_busybox_init_keeps_it_alive(busybox):
    """The real one, on a machine that has nothing but busybox: no useradd, no bash, no setpriv that changes users."""
    port = free_port()
    for _ in range(2):
        busybox.install(MCP_PORT=port)
        assert busybox.read("/etc/inittab").count("sandstorm-mcp/run") == 1
        assert shell(port, busybox.token(), "id -un; pwd; cat /etc/sandstorm-mcp.env").startswith("stdout:\ndev\n/home/dev\n\n")
    assert stat.S_IMODE(busybox.path(ENV).stat().st_mode) == 0o600
    busybox.run("sh", "-c", "kill -9 $(cat /run/sandstorm-mcp.pid)")
    wait_until(lambda: accepts(port), "a new server", 20)
    busybox.another_version()
    busybox.install()
    assert busybox.path("/usr/local/bin/sandstorm-mcp").read_bytes().endswith(b"newer")
    assert ask(port, busybox.token()) == {}
    busybox.install("--purge")
    wait_until(lambda: not accepts(port), "its end", 10)
    assert "sandstorm" not in busybox.read("/etc/inittab") and "dev:" not in busybox.read("/etc/passwd")


# OpenWrt's /etc/rc.common, as far as the script asks for it; what procd would run is run at once.
RC_COMMON = r"""
config_load() { :; }
config_get() { eval "$1=\$(uci -q get sandstorm-mcp.$2.$3) || $1=\${4-}"; }
config_get_bool() { config_get "$@"; }
config_list_foreach() { :; }
procd_open_instance() { rm -f /tmp/env; }
procd_set_param() {
	case $1 in
	env) shift; for word; do echo "$word" >> /tmp/env; done ;;
	command) shift; echo "$*" > /tmp/command ;;
	esac
}
procd_append_param() { procd_set_param "$@"; }
procd_close_instance() {
	env -i PATH=/bin:/usr/bin $(cat /tmp/env) $(cat /tmp/command) > /tmp/log 2>&1 < /dev/null &
	echo $! > /tmp/pid
}
stop() { [ ! -e /tmp/pid ] || { kill "$(cat /tmp/pid)"; while [ -e "/proc/$(cat /tmp/pid)" ]; do sleep 0.1; done; rm /tmp/pid; }; }
start() { start_service; }
restart() { stop; start; }
enable() { touch /etc/enabled; }
disable() { rm -f /etc/enabled; }
. "$1"
"$2"
"""
UCI = r"""#!/bin/sh
[ "$*" != "-q get network.lan.ipaddr" ] || { echo 127.0.0.2/24; exit; }
option=${3##*.}
value=$(sed -n "s/^\toption $option '\(.*\)'$/\1/p" /etc/config/sandstorm-mcp)
[ -n "$value" ] && echo "$value"
"""


def test_on_openwrt_procd_and_uci_do_it(busybox):
    port = free_port()
    busybox.write("/etc/openwrt_release", "DISTRIB_ID='OpenWrt'\n")
    busybox.write("/etc/rc.common", RC_COMMON)
    busybox.write("/bin/uci", UCI, 0o755)
    busybox.write("/lib/functions/network.sh", 'network_get_ipaddr() { [ "$2" = lan ] && eval "$1=127.0.0.2"; }\n')
    text = busybox.run("sh", "/root/kit/install.sh", "--print", "uci").stdout
    busybox.write("/etc/config/sandstorm-mcp", text.replace("'8080'", f"'{port}'"))
    mine = busybox.read("/etc/config/sandstorm-mcp")
    for _ in range(2):
        assert f"serves /tmp/sandstorm-mcp at https://127.0.0.2:{port}/mcp" in busybox.install().stdout
        context = ssl.create_default_context(cafile=busybox.path("/etc/sandstorm-mcp.tls/ca.pem"))
        assert shell(port, busybox.token(), "pwd", host="127.0.0.2", context=context).startswith("stdout:\n/tmp/sandstorm-mcp\n")
        assert busybox.read("/etc/config/sandstorm-mcp") == mine and busybox.path("/etc/enabled").exists()
        assert not busybox.path("/home").exists()
    busybox.install("--uninstall")
    assert not accepts(port, "127.0.0.2") and not busybox.path("/etc/init.d/sandstorm-mcp").exists()
    assert busybox.read("/etc/config/sandstorm-mcp") == mine


# -- which program, which shell ---------------------------------------------------------------------


def elf(bits, big=False):
    return b"\x7fELF" + bytes([1 if bits == 32 else 2, 2 if big else 1, 1]) + bytes(57)


@pytest.mark.parametrize("machine_name, bits, big, cpu, loader, target", [
    ("x86_64", 64, False, "", "", "x86_64"),
    ("x86_64", 32, False, "", "", "i686"),
    ("i586", 32, False, "", "", "i686"),
    ("aarch64", 64, False, "fp asimd", "", "aarch64"),
    ("aarch64", 32, False, "fp asimd evtstrm", "", "armv7"),
    ("armv7l", 32, False, "half thumb fastmult vfp edsp neon vfpv3", "", "armv7"),
    ("armv7l", 32, False, "", "/lib/ld-linux-armhf.so.3", "armv7"),
    ("armv7l", 32, False, "swp half thumb edsp", "", "armv5"),
    ("armv8l", 32, False, "half thumb vfp neon", "/lib/ld-musl-armhf.so.1", "armv7"),
    ("armv6l", 32, False, "half thumb fastmult vfp edsp java tls", "/lib/ld-linux-armhf.so.3", "armv5"),
    ("armv5tel", 32, False, "swp half thumb edsp", "", "armv5"),
    ("mips", 32, True, "", "", "mips"),
    ("mips", 32, False, "", "", "mipsel"),
    ("mips64", 64, True, "", "", "mips"),
    ("riscv64", 64, False, "", "", "riscv64"),
    ("ppc64le", 64, False, "", "", "ppc64le"),
])
@pytest.mark.parametrize("interpreter", ["sh", "busybox ash"])
def test_which_file_is_mine(tmp_path, machine_name, bits, big, cpu, loader, target, interpreter):
    """The word size and byte order are those of what is installed, not of the kernel."""
    for name, content in {"bin/sh": elf(bits, big), "proc/cpuinfo": f"processor\t: 0\nFeatures\t: {cpu}\n".encode(),
                          **({loader[1:]: b""} if loader else {})}.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_bytes(content)
    asking = f'uname() {{ echo {machine_name}; }}; set -- --print target; . {INSTALL}'     # busybox has one of its own
    done = subprocess.run([*interpreter.split(), "-c", asking, INSTALL], capture_output=True, text=True, check=True,
                          env={**os.environ, "SANDSTORM_PROBE": str(tmp_path / "root")})
    assert done.stdout == f"{target}\n"


PARTS = {"openrc": ["SC2034"], "run": ["SC2016"], "procd": ["SC3043", "SC1091"]}


def test_the_script_and_what_it_writes_are_plain_shell():
    subprocess.run(["shellcheck", "-s", "sh", INSTALL], check=True)
    for part, known in PARTS.items():
        for shell_name in (["sh"], ["busybox", "ash"]):
            subprocess.run([*shell_name, "-n", INSTALL], check=True)
            text = subprocess.run([*shell_name, INSTALL, "--init", "systemd", "--print", part], capture_output=True, check=True).stdout
            subprocess.run([*shell_name, "-n"], input=text, check=True)
        done = subprocess.run(["shellcheck", "-s", "sh", "-e", ",".join(known), "-"], input=text, capture_output=True)
        assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize("args, code, words", [(["--bogus"], 2, "unknown option --bogus"), (["--user"], 2, "--user needs a value"),
                                               (["--print", "x"], 2, "nothing is called x"),
                                               (["--init", "upstart"], 2, "unknown init system upstart")])
def test_mistakes_are_told(args, code, words):
    done = subprocess.run(["sh", INSTALL, *args], capture_output=True, text=True)
    assert done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1


def test_what_the_tree_has_built_is_taken_else_it_is_built(machine, systemd):
    """As in a clone: the script in scripts/, programs in out/."""
    machine.run("sh", "-c", "mkdir /root/tree /root/tree/scripts && mv /root/kit/install.sh /root/tree/scripts && mv /root/kit/sandstorm-mcp /root/mine")
    machine.write("/root/tree/Makefile", "all:\n\tmkdir -p out && cp /root/mine out/sandstorm-mcp\n")
    machine.write("/usr/local/bin/make", "#!/bin/sh\ntouch /root/made\nmkdir -p $2/out && cp /root/mine $2/out/sandstorm-mcp\n", 0o755)
    port = free_port()
    env = {"SANDSTORM_MCP_PORT": str(port)}
    machine.run("sh", "/root/tree/scripts/install.sh", env=env)
    assert machine.path("/root/made").exists() and ask(port, machine.token()) == {}
    machine.path("/root/made").unlink()
    machine.run("sh", "-c", "mv /root/tree/out/sandstorm-mcp /root/tree/out/sandstorm-mcp-x86_64; echo bogus > /root/tree/out/sandstorm-mcp")
    machine.run("sh", "/root/tree/scripts/install.sh", env=env)
    assert not machine.path("/root/made").exists() and ask(port, machine.token()) == {}


def test_paths_and_limits_of_the_settings_are_those_of_the_unit(machine, systemd):
    machine.write(ENV, f"SANDSTORM_MCP_TOKEN=0123456789abcdef\nSANDSTORM_MCP_PORT={free_port()}\nSANDSTORM_STOP_GRACE=120\n"
                  "SANDSTORM_WORKSPACE_ROOT='/srv/my work 100%'\nSANDSTORM_STATE_DIR=/var/lib/state\n", 0o600)
    machine.install()
    unit = machine.read(f"/etc/systemd/system/{SERVICE}")
    assert 'ReadWritePaths="-/srv/my work 100%%" "-/var/lib/state"\n' in unit
    assert "TimeoutStopSec=135\n" in unit and "SANDSTORM_STOP_GRACE=120\n" in unit
    assert machine.path("/srv/my work 100%").is_dir()
    done = machine.run("systemd-analyze", "verify", SERVICE)
    assert "sandstorm-mcp" not in done.stdout + done.stderr


def test_a_program_for_another_machine_is_refused_by_name(machine, systemd):
    (machine.kit / "sandstorm-mcp").write_bytes(elf(32, True))
    done = machine.install(ok=False)
    assert done.returncode == 1 and "put sandstorm-mcp-x86_64 there" in done.stderr and systemd.calls == []
    (machine.kit / "sandstorm-mcp-x86_64").write_bytes(machine.binary.read_bytes())
    (machine.kit / "sandstorm-mcp-x86_64").chmod(0o755)
    port = free_port()
    machine.install(MCP_PORT=port)
    assert ask(port, machine.token()) == {}


# -- the end ---------------------------------------------------------------------------------------


def test_uninstall_keeps_settings_and_workspace_and_says_so(machine, systemd):
    before = files(machine)
    port = free_port()
    machine.install(MCP_PORT=port)
    assert "Written" in ask(port, machine.token(), "tools/call", params={"name": "file_write", "arguments": {
        "path": "work.txt", "content": "mine"}})["content"][0]["text"]
    token = machine.token()
    done = machine.install("--uninstall")
    assert f"the settings in {ENV} and the workspace /home/dev stay" in done.stdout
    assert machine.token() == token and machine.read("/home/dev/work.txt") == "mine"
    left = [p for p in changed(before, files(machine)) if not p.startswith(("home/", "etc/passwd", "etc/shadow", "etc/group",
                                                                         "etc/gshadow", "etc/subuid", "etc/subgid"))]
    assert left == ["etc/sandstorm-mcp.env", "usr/local/lib/sandstorm-mcp", "usr/local/lib/sandstorm-mcp/made-user",
                    "usr/local/lib/sandstorm-mcp/user"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
    machine.install()
    assert machine.token() == token and ask(port, token) == {}
    done = machine.install("--purge")
    assert "the workspace stays as it is: /home/dev" in done.stdout
    assert not machine.path(ENV).exists() and machine.read("/home/dev/work.txt") == "mine"
    assert "\ndev:" not in machine.read("/etc/passwd")
    assert not machine.path("/usr/local/lib/sandstorm-mcp").exists()
