"""`sandstorm-mcp doctor`: one line a check, the remedy in it, exit 0 only when nothing failed.

The lines are `ok|note|failed|skipped  check  text`.
"""

import calendar
import os
import socket
import subprocess
import time

import pytest

from fshelp import mounts
from httpwire import free_port
from process import busy
from sandbox import environment
from webserver import TOKEN

CHECKS = ["SANDSTORM_URL", "SANDSTORM_CA", "clock", "name", "TCP", "TLS", "token", "version", "templates"]


class Report:
    def __init__(self, done):
        self.status, self.errors, self.text = done.returncode, done.stderr, done.stdout
        self.lines = [(line[:7].strip(), line[9:24].strip(), line[26:]) for line in done.stdout.splitlines()]
        assert all(word in ("ok", "note", "failed", "skipped") and check and text for word, check, text in self.lines), done

    def checks(self):
        return [check for _, check, _ in self.lines]

    def of(self, check):
        (line,) = [(word, text) for word, name, text in self.lines if name == check]
        return line

    def failed(self, check, *words):
        """Only this check failed, and its line has the words."""
        assert [c for word, c, _ in self.lines if word == "failed"] == [check], self.text
        assert all(word in self.of(check)[1] for word in words), self.of(check)
        assert self.status == 1
        return True


@pytest.fixture
def doctor(cli):
    """doctor(m, "--probe", host=..., ca=..., token=..., env=...): as the fixture `sandbox` has them."""
    def run(m, *args, env=None, **options):
        given = environment(m, env=env, **options) if m else env
        ours = {name: value for name, value in given.items() if os.environ.get(name) != value}
        report = Report(cli("doctor", *args, env=ours, timeout=40))
        for secret in m.secrets() if m else []:
            assert secret not in report.text + report.errors
        return report
    return run


# -- all is well ---------------------------------------------------------------------------------


def test_a_healthy_master_passes_every_check(doctor, master):
    """Issue 6, point 6."""
    m = master()
    report = doctor(m)
    assert (report.status, report.errors) == (0, "")
    assert report.checks() == CHECKS
    assert {word for word, _, _ in report.lines} == {"ok"}
    assert report.of("SANDSTORM_URL")[1] == m.url
    assert "the certificate names 127.0.0.1" in report.of("TLS")[1]
    assert report.of("token")[1] == "accepted"
    assert report.of("version")[1].startswith("the master is ")
    assert report.of("templates")[1].split()[0].isdigit()
    assert m.violations() == []
    assert len(m.connections()) == 1, "one connection serves all of it"


def test_names_are_resolved_without_etc_files(doctor, master):
    """localhost needs neither hosts nor resolv.conf: both addresses are told, the second one answers."""
    report = doctor(master(), host="localhost")
    assert report.status == 0
    assert report.of("name") == ("ok", "localhost is 0:0:0:0:0:0:0:1, 127.0.0.1")


@pytest.fixture
def elsewhere(binary, tmp_path):
    """elsewhere(m, "script", host=...): doctor in a mount namespace in which a shell script was run before."""
    def run(m, script, **options):
        wrap = mounts(script)
        env = {**environment(m, **options), "SANDSTORM_WORKSPACE_ROOT": "/"}
        return Report(subprocess.run([*wrap, binary, "doctor"], env=env, cwd=tmp_path, capture_output=True, text=True,
                                     timeout=40))
    return run


def test_a_name_in_the_hosts_file_needs_no_name_server(elsewhere, master):
    """A box or an image may have /etc/hosts and no /etc/resolv.conf."""
    etc = 'mount -t tmpfs none /etc; echo "127.0.0.1 master.test" > /etc/hosts'
    report = elsewhere(master(), etc, host="master.test")
    assert report.of("name") == ("ok", "master.test is 127.0.0.1")
    assert report.status == 0


def test_localhost_needs_no_etc_at_all(elsewhere, master):
    report = elsewhere(master(), "mount -t tmpfs none /etc", host="localhost")
    assert report.of("name")[0] == "ok" and report.status == 0


@pytest.mark.long(12)
def test_a_silent_name_server_is_waited_for_within_the_deadline(elsewhere, master):
    """Ten seconds, whatever resolv.conf says."""
    began = time.monotonic()
    etc = 'mount -t tmpfs none /etc; echo "nameserver 127.0.0.77\noptions timeout:30" > /etc/resolv.conf'
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.77", 53))
        report = elsewhere(master(), etc, host="master.test")
        assert silent.recv(512)
    assert report.failed("name", "cannot resolve master.test", "no answer in time")
    assert 9 < time.monotonic() - began < 10 + 3 * busy()


def test_a_machine_without_a_name_server_is_told_at_once(elsewhere, master):
    """Nobody is on that port, which the kernel says: there is nothing to wait for."""
    began = time.monotonic()
    etc = 'mount -t tmpfs none /etc; echo "nameserver 127.0.0.78" > /etc/resolv.conf'
    assert elsewhere(master(), etc, host="master.test").failed("name", "cannot resolve master.test", "no name server answers")
    assert time.monotonic() - began < 4 * busy()


def test_the_ca_is_told_with_its_fingerprint(doctor, master):
    """Issue 6, point 1."""
    word, text = doctor(master()).of("SANDSTORM_CA")
    assert word == "ok" and "valid " in text and len(text.split("SHA-256 ")[1]) == 64


def test_a_ca_whose_time_is_over_is_told_though_it_still_serves(doctor, master, sandbox):
    m = master(leaf="old-ca")
    report = doctor(m)
    word, text = report.of("SANDSTORM_CA")
    assert word == "note" and "not now" in text and "sandstorm-mcp ca" in text
    assert report.of("TLS")[0] == "ok" and report.status == 0
    assert sandbox(m).value("list_sandboxes") == []


# -- what can be wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("url, words", [
    ("http://127.0.0.1:8080", "only https:// is spoken"), ("127.0.0.1", "must begin with https://"),
    ("https://u@h", "user name"), ("https://h?q", "query"),
])
def test_a_url_that_is_none_is_a_mistake_in_the_configuration(cli, url, words):
    """Exit 2, as for every command."""
    done = cli("doctor", env={"SANDSTORM_URL": url})
    assert (done.returncode, done.stdout) == (2, "")
    assert "SANDSTORM_URL" in done.stderr and words in done.stderr


def test_a_ca_that_cannot_be_read_is_a_mistake_in_the_configuration(cli):
    done = cli("doctor", env={"SANDSTORM_CA": "/nowhere/ca.pem"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "/nowhere/ca.pem" in done.stderr and "No such file" in done.stderr


def test_words_and_flags_it_does_not_know_are_mistakes(cli):
    assert cli("doctor", "now").returncode == 2
    assert cli("doctor", "--prob").returncode == 2


def test_no_ca_is_told_with_what_gets_one(doctor, master):
    """And no connection of TLS is opened."""
    m = master()
    report = doctor(m, ca=None)
    assert report.failed("SANDSTORM_CA", "is not set", "sandstorm-mcp ca")
    assert report.of("master")[0] == "skipped"
    assert m.requests() == []


def test_an_unknown_name_is_told(doctor, master):
    """A name with a label of 64 letters is refused by every resolver, without asking anybody."""
    name = "x" * 64 + ".example"
    report = doctor(master(), host=name)
    assert report.failed("name", f"cannot resolve {name}", "there is no such name", "/etc/resolv.conf")


def test_nobody_listening_is_told(doctor, master):
    m = master()
    report = doctor(m, env={"SANDSTORM_URL": f"https://127.0.0.1:{free_port()}"})
    assert report.failed("TCP", "connection refused by 127.0.0.1:", "is the master running?", "SANDSTORM_URL")
    assert report.of("master")[0] == "skipped"


@pytest.mark.parametrize("leaf, words", [
    ("dns", ["CERTIFICATE_VERIFY_FAILED", "does not name 127.0.0.1", "--tls-san 127.0.0.1"]),
    ("expired", ["CERTIFICATE_VERIFY_FAILED", "not valid at this host's date", "set the clock"]),
])
def test_a_certificate_that_does_not_verify_is_told_with_the_remedy(doctor, master, leaf, words):
    m = master(leaf=leaf)
    assert doctor(m).failed("TLS", *words)
    assert m.requests() == [], "nothing was asked"


def test_another_ca_is_told_with_the_remedy(doctor, master, keys):
    assert doctor(master(), ca=keys.anchor("rsa")).failed("TLS", "not signed by the CA in SANDSTORM_CA",
                                                          "sandstorm-mcp ca")


@pytest.mark.parametrize("speaks, words", [("plain", "not a TLS server"), ("1.3", "refused TLS 1.2")])
def test_another_protocol_is_told_with_the_remedy(doctor, master, speaks, words):
    report = doctor(master(speaks=speaks))
    assert report.failed("TLS", words)
    assert ";" in report.of("TLS")[1]


def test_no_token_and_a_wrong_one_are_told_apart(doctor, master):
    m = master()
    assert doctor(m, token=None).failed("token", "answered 401", "SANDSTORM_TOKEN is not set", "pki/api-token")
    assert doctor(m, token="wrong-token").failed("token", "answered 401", "is not the master's", "pki/api-token")
    assert doctor(m, token="wrong-token").of("templates")[0] == "skipped"


def test_a_token_with_a_line_inside_is_a_mistake_in_the_configuration(cli, master):
    m = master()
    done = cli("doctor", env={"SANDSTORM_URL": m.url, "SANDSTORM_CA": str(m.ca), "SANDSTORM_TOKEN": "a\nb"})
    assert done.returncode == 2 and "SANDSTORM_TOKEN" in done.stderr
    assert m.requests() == []


def test_a_path_in_the_url_that_the_master_does_not_have_is_told(doctor, master):
    """Seen with the address of ca.pem in SANDSTORM_URL."""
    m = master()
    report = doctor(m, env={"SANDSTORM_URL": m.url + "/ca.pem"})
    assert report.failed("token", "404", "SANDSTORM_URL has a path")


def test_an_older_master_has_no_templates_and_that_is_no_failure(doctor, master):
    """sandbox-tools.md section 8."""
    report = doctor(master(flavour="v05"))
    assert report.status == 0
    assert report.of("templates") == ("note", "this master knows none; spawn_sandboxes then needs a tag")


@pytest.mark.parametrize("fault, words", [
    ("html", ["is no list"]), ("cut_body", ["closed the connection"]), ("bare", ["invalid reply from the master"]),
])
def test_answers_that_are_none_are_told(doctor, master, fault, words):
    m = master()
    m.arm(fault, "GET", "/v1/templates")
    assert doctor(m).failed("templates", *words)


def test_the_clock_is_told(doctor, master):
    """Boards without a battery start in 1970 (test_clock.c has the judgement about that)."""
    word, text = doctor(master()).of("clock")
    told = calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    assert word == "ok" and abs(told - time.time()) < 60


def test_our_own_server_behind_the_url_is_recognised(doctor, web, tmp_path, master):
    """Both default to port 8080."""
    w = web()
    ca = str(master().ca)
    began = time.monotonic()
    url = {"SANDSTORM_URL": f"https://127.0.0.1:{w.port}"}
    for given in ({**url, "SANDSTORM_CA": ca}, url):
        report = doctor(None, env={**given, "SANDSTORM_TOKEN": "master-token"})
        assert "sandstorm-mcp serve answers there" in report.text and "SANDSTORM_MCP_PORT" in report.text
        assert report.status == 1
    assert time.monotonic() - began < 5 * busy(), "nobody waited for a deadline"
    assert "master-token" not in w.stderr_text() and TOKEN not in report.text


def test_a_silent_service_is_told_after_its_deadline(doctor, master):
    """Something takes connections and says nothing, as some other program on that port may."""
    m = master()
    m.mute = True
    report = doctor(m, env={"SANDSTORM_HTTP_TIMEOUT": "2"})
    assert report.failed("TLS", "timed out after 2 s (TLS)", "does not speak TLS")


# -- what must not decide ------------------------------------------------------------------------


def test_proxies_and_other_trust_stores_are_not_heard_of(doctor, master, keys):
    """P12, P13: a proxy would get the token, another store would let somebody else in."""
    m = master()
    proxy = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    env = {name: url for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")}
    assert doctor(m, env=env).status == 0
    proxy.settimeout(0.2)
    with pytest.raises(TimeoutError):
        proxy.accept()
    proxy.close()
    store = {"SSL_CERT_FILE": str(m.ca), "SSL_CERT_DIR": str(m.ca.parent)}
    assert doctor(m, ca=None, env=store).failed("SANDSTORM_CA")
    assert doctor(m, ca=keys.anchor("rsa"), env=store).failed("TLS", "CERTIFICATE_VERIFY_FAILED")


def test_a_redirect_is_not_followed(doctor, master):
    """H6, P17."""
    m, other = master(), master()
    m.arm("redirect", "GET", "/v1/sandboxes", to=other.url + "/v1/sandboxes")
    assert doctor(m).failed("token", "answered 302", other.url)
    assert other.connections() == []


# -- --probe -------------------------------------------------------------------------------------


def test_probe_tries_each_route_that_only_reads_and_shows_shapes_without_values(doctor, master, sandbox):
    """Issue 6, point 6."""
    m = master()
    (box,) = sandbox(m).spawn()
    m.forget()
    report = doctor(m, "--probe")
    assert report.status == 0
    probed = {check: text for _, check, text in report.lines[len(CHECKS):]}
    assert set(probed) == {"version", "list_templates", "list_snapshots", "list_sandboxes", "get_sandbox"}
    assert "array of 1, the first: object with id" in probed["list_sandboxes"]
    assert "GET /v1/sandboxes/{id}: answered 200 OK, object with id" in probed["get_sandbox"]
    assert box["id"] not in report.text and box["token"] not in report.text
    assert {r.method for r in m.requests()} == {"GET"}


def test_probe_without_a_sandbox_leaves_its_route_out(doctor, master):
    report = doctor(master(), "--probe")
    assert report.of("get_sandbox") == ("skipped", "/v1/sandboxes/{id}: there is no sandbox to ask about")
    assert report.status == 0


def test_probe_tells_of_a_route_that_is_missing_and_what_corrects_it(doctor, master, tmp_path):
    """Decision 31."""
    m = master(flavour="v05")
    report = doctor(m, "--probe")
    assert report.failed("list_templates", "answered 404", "SANDSTORM_ROUTES")
    routes = tmp_path / "routes"
    routes.write_text("list_templates GET /v1/snapshots\n")
    assert doctor(m, "--probe", env={"SANDSTORM_ROUTES": str(routes)}).status == 0
