"""`serve` with the host tools on a small router (issue 9, point 5): a squashfs root that cannot be written, busybox ash alone,
64 MB of memory. And what the procd script of OpenWrt starts there.
"""

import pathlib
import re
import ssl
import subprocess

import pytest

from installing import REPOSITORY, native  # noqa: F401, a fixture
from routing import ROOT, Routers

from httpwire import free_port, request
from mcpwire import tool_params, wait_until
from process import end_all
from test_background import Started
from test_router_box import try_of
from webserver import TOKEN, message

INSTALL = str(REPOSITORY / "scripts/install.sh")
MIB = 1 << 20
PEAK_MAX = 4 * MIB      # of the whole server, promised in issue 9


@pytest.fixture
def router(native, tmp_path):
    made = Routers(str(native), tmp_path)
    yield made
    end_all([made])


@pytest.fixture(scope="session")
def certificates(native, tmp_path_factory):
    place = tmp_path_factory.mktemp("router") / "etc/tls"
    place.parent.mkdir()
    subprocess.run([native, "cert", "--host", "127.0.0.1", place], check=True, capture_output=True)
    return place


def told(w, what):
    print(f"\n{what}: most resident {w.peak_rss_kib()} KiB, peak of the box with its commands and files {w.group.peak()} bytes")


def in_session(w):
    """One session, from its creation to its end."""
    fields = {"Authorization": f"Bearer {w.token}", "Content-Type": "application/json"}
    made = w.exchange("POST", "/session/create", fields, b'{"type":"build"}')
    assert made.status == 201 or made.status == 200, made
    base = f"/session/{made.json()['id']}"
    done = w.exchange("POST", f"{base}/exec", fields, b'{"command":"echo here > f; cat f"}').json()
    assert (done["exit_code"], done["stdout"]) == (0, "here\n")
    assert w.exchange("DELETE", base, fields).status == 200


def test_all_tools_over_http_stay_under_the_promised_peak(router):
    w = router.start()
    for speak in (w, w.modern):
        names = [tool["name"] for tool in speak.result("tools/list")["tools"]]
        for name in names:
            speak.text("terminal_exec", command=f"rm -rf {ROOT}/*")
            try_of(name)(w)
    assert len(names) == 20
    in_session(w)
    assert w.exchange("GET", "/health").json()["ok"] is True
    assert w.exchange("GET", "/.well-known/oauth-protected-resource").json()["resource"] == w.url
    assert b"sandstorm" in w.exchange("GET", "/").body
    told(w, f"{len(names)} tools, twice")
    assert w.peak_rss_kib() * 1024 < PEAK_MAX
    assert w.terminate() == 0


def test_over_tls_as_well(router, certificates):
    w = in_tls(router, certificates)
    for _ in range(20):
        assert w.post(message("ping")).json()["result"] == {}
    assert w.text("file_write", path="f", content="x" * 100000).startswith("Written 100000 bytes")
    assert w.text("file_read", path="f") == "x" * 100000
    told(w, "TLS")
    assert w.peak_rss_kib() * 1024 < PEAK_MAX


def in_tls(router, certificates):
    port = free_port()
    env = {"SANDSTORM_MCP_PORT": str(port), "SANDSTORM_WORKSPACE_ROOT": ROOT, "SANDSTORM_MCP_TOKEN": TOKEN,
           "SANDSTORM_TLS_CERT": "/etc/tls/server.pem", "SANDSTORM_TLS_KEY": "/etc/tls/server.key"}
    context = ssl.create_default_context(cafile=certificates / "ca.pem")
    return router.exactly([str(router.program), "serve"], env, certificates.parents[1], "127.0.0.1", port, context)


def test_long_output_and_many_clients_do_not_fill_the_memory(router):
    """Eight clients at once, each with output over the bound."""
    w = router.start()
    waiting = [w.start(message("tools/call", tool_params("terminal_exec", {"command": "seq 400000"}))) for _ in range(8)]
    for c in waiting:
        assert "exit_code: 0" in c.answer(timeout=60).message()["result"]["content"][0]["text"]
    told(w, "8 x 2.7 MB of output")
    assert w.group.peak() is None or w.group.peak() < 56 * MIB
    assert w.result("ping") == {}


# -- OpenWrt ---------------------------------------------------------------------------------------

# What the procd script calls, written down instead of done; the rest is busybox ash as on the router.
RC_COMMON = r"""
config_load() { . /etc/uci-as-variables; }
config_get() { eval "$1=\${uci_$3:-\${4-}}"; }
config_get_bool() { eval "$1=\${uci_$3:-\${4-}}"; }
config_list_foreach() { for item in $uci_env; do "$3" "$item"; done; }
procd_open_instance() { echo open; }
procd_close_instance() { echo close; }
procd_set_param() { kind=$1; shift; for word; do echo "$kind $word"; done; }
procd_append_param() { procd_set_param "$@"; }
procd_add_reload_trigger() { echo "trigger $*"; }
. "$1"
shift
"$@"
"""
NETWORK = 'network_get_ipaddr() { [ "$2" = lan ] && eval "$1=127.0.0.2"; }\n'


@pytest.fixture
def openwrt(native, tmp_path):
    """A function: what `start_service` asks procd for, as a list of (kind, word); and the root it ran in."""
    root = tmp_path / "root"
    for name in ("bin", "dev", "etc", "lib/functions", "proc", "tmp", "usr/bin"):
        (root / name).mkdir(parents=True)
    (root / "bin/busybox").write_bytes(pathlib.Path("/bin/busybox").read_bytes())
    (root / "bin/busybox").chmod(0o755)
    (root / "usr/bin/sandstorm-mcp").write_bytes(native.read_bytes())
    (root / "usr/bin/sandstorm-mcp").chmod(0o755)
    (root / "lib/functions.sh").write_text("")
    (root / "lib/functions/network.sh").write_text(NETWORK)
    (root / "etc/rc.common").write_text(RC_COMMON)
    script = subprocess.run(["sh", INSTALL, "--init", "procd", "--print", "procd"], check=True, capture_output=True).stdout
    (root / "etc/service").write_bytes(script)
    (root / "tmp/meminfo").write_text("MemTotal:          60000 kB\n")

    def call(*function, **uci):
        """uci: options that differ from the file's."""
        options = {**uci_file(), **{name: str(value) for name, value in uci.items()}}
        (root / "etc/uci-as-variables").write_text("".join(f"uci_{k}='{v}'\n" for k, v in options.items()))
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-euc",
                               'mount --bind "$1/tmp/meminfo" /proc/meminfo; mount --rbind /proc "$1/proc"; root=$1; shift; '
                               'exec chroot "$root" /bin/busybox env -i PATH=/bin:/usr/bin "$@"', "sh", root,
                               "/bin/busybox", "ash", "/etc/rc.common", "/etc/service", *(function or ("start_service",))],
                              capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done
        return [tuple(line.split(" ", 1)) if " " in line else (line, "") for line in done.stdout.splitlines()]
    call.root = root
    return call


def uci_file():
    """The defaults that the package brings."""
    text = subprocess.run(["sh", INSTALL, "--init", "procd", "--print", "uci"], check=True, capture_output=True, text=True).stdout
    assert text.splitlines()[1] == "config sandstorm-mcp 'main'"
    return dict(re.findall(r"^\toption (\w+) '(.*)'$", text, re.M))


def words(asked, kind):
    return [word for k, word in asked if k == kind]


def variables(asked):
    return dict(word.split("=", 1) for word in words(asked, "env"))


def test_the_uci_file_spares_the_flash_and_serves_the_lan():
    options = uci_file()
    assert options == {"enabled": "1", "interface": "lan", "port": "8080", "tls": "1", "memory": "",
                       "workspace": "/tmp/sandstorm-mcp"}


def test_procd_is_asked_for_one_instance_that_respawns(openwrt):
    asked = openwrt()
    assert asked[0][0] == "open" and asked[-1][0] == "close"
    assert words(asked, "command") == ["/usr/bin/sandstorm-mcp", "serve", "--env-file", "/etc/sandstorm-mcp.env"]
    assert words(asked, "respawn") == ["3600", "5", "5"]
    assert words(asked, "stdout") == words(asked, "stderr") == ["1"]        # to logd, in memory
    env = variables(asked)
    assert env["SANDSTORM_MCP_HOST"] == "127.0.0.2" and env["SANDSTORM_MCP_PORT"] == "8080"
    assert env["SANDSTORM_MEMORY"] == "15000K"      # a quarter of 60000
    assert env["SANDSTORM_WORKSPACE_ROOT"].startswith("/tmp/") and "SANDSTORM_STATE_DIR" not in env
    assert openwrt("service_triggers") == [("trigger", "sandstorm-mcp network")]


@pytest.mark.parametrize("total, given", [(28000, "8192K"), (120000, "30000K"), (2000000, "65536K")])
def test_messages_may_take_a_quarter_of_the_memory(openwrt, total, given):
    (openwrt.root / "tmp/meminfo").write_text(f"MemTotal:          {total} kB\nMemFree:           10 kB\n")
    assert variables(openwrt())["SANDSTORM_MEMORY"] == given


def test_token_and_certificate_are_made_once(openwrt):
    openwrt()
    token = openwrt.root / "etc/sandstorm-mcp.env"
    assert token.stat().st_mode & 0o777 == 0o600
    first = token.read_text(), (openwrt.root / "etc/sandstorm-mcp.tls/server.pem").read_text()
    openwrt()
    assert (token.read_text(), (openwrt.root / "etc/sandstorm-mcp.tls/server.pem").read_text()) == first
    openwrt(interface="127.0.0.3")      # another address needs another certificate of the same CA
    assert token.read_text() == first[0] and (openwrt.root / "etc/sandstorm-mcp.tls/server.pem").read_text() != first[1]


@pytest.mark.parametrize("uci, expected", [
    ({"enabled": 0}, None),
    ({"interface": "wan"}, {"SANDSTORM_MCP_HOST": "127.0.0.1"}),         # an unknown interface is not served to the world
    ({"interface": "10.1.2.3", "port": 9000}, {"SANDSTORM_MCP_HOST": "10.1.2.3", "SANDSTORM_MCP_PORT": "9000"}),
    ({"memory": "9M"}, {"SANDSTORM_MEMORY": "9M"}),
    ({"env": "SANDSTORM_READ_ONLY=1 SANDSTORM_TOOLS=file_read"}, {"SANDSTORM_READ_ONLY": "1", "SANDSTORM_TOOLS": "file_read"}),
    ({"workspace": "/mnt/usb"}, {"SANDSTORM_WORKSPACE_ROOT": "/mnt/usb"}),
])
def test_options_reach_the_server(openwrt, uci, expected):
    asked = openwrt(**uci)
    if expected is None:
        assert asked == []
    else:
        assert expected.items() <= variables(asked).items()


def test_without_tls_there_is_no_certificate(openwrt):
    assert "SANDSTORM_TLS_CERT" not in variables(openwrt(tls=0)) and not (openwrt.root / "etc/sandstorm-mcp.tls").exists()


def test_exactly_that_is_started_in_the_box(openwrt, router, tmp_path):
    """On the address of the interface, with TLS, without anything but what procd was told."""
    port = free_port()
    asked = openwrt(port=port)
    files = tmp_path / "files"
    (files / "etc").mkdir(parents=True)
    subprocess.run(["cp", "-a", openwrt.root / "etc/sandstorm-mcp.env", openwrt.root / "etc/sandstorm-mcp.tls", files / "etc"], check=True)
    context = ssl.create_default_context(cafile=openwrt.root / "etc/sandstorm-mcp.tls/ca.pem")
    program, *args = words(asked, "command")
    w = router.exactly([str(openwrt.root) + program, *args], variables(asked), files, "127.0.0.2", port, context)
    assert w.text("terminal_exec", command="pwd").startswith("stdout:\n/tmp/sandstorm-mcp\n")
    started = Started(w, "echo from the router")
    wait_until(lambda: "from the router" in started.output(), "its output")
    assert started.path.startswith("/tmp/sandstorm-mcp/.sandstorm-mcp/")
    assert w.exchange("GET", "/health", {"Authorization": f"Bearer {w.token}"}).json()["ok"] is True
    told(w, "as procd starts it")
    assert w.peak_rss_kib() * 1024 < PEAK_MAX and w.token not in w.stderr_text()
