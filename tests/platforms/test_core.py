"""The essential things on each target, in qemu-user: files, terminal, both eras on both transports, a master over TLS, our own
TLS, OAuth, sessions, git. They go where 32 bits, the other byte order and other processors differ: sizes and times beyond 32
bits, hashes and ciphers, structures of system calls, the smaller budgets."""

import hashlib
import os
import ssl
import time

import pytest

import githelp
from conftest import REPOSITORY
from httpwire import chunked
from mcpwire import LEGACY, MODERN
from oauthwire import sign_in
from process import end_all, wait_until
from sandbox import one_sandbox, script
from sessionhelp import Sessions
from webserver import WebStarter, message

TEXT = "zwölf Boxkämpfer jagen Viktor 🥊 über den großen Sylter Deich\n"
LATE = 2 ** 32 + 86400      # seconds: in the year 2106, when 32 bits of them are over


@pytest.fixture
def patient(server):
    """A server on stdio that may take its time: an emulator is not a fast machine."""
    s = server()
    s.patience = 30
    return s


@pytest.fixture
def slow_web(web):
    def start(**options):
        w = web(**options)
        w.patience = 30
        return w
    return start


@pytest.fixture
def native_web(workspace, tmp_path):
    """Servers of this machine's own binary, with the same workspace and state."""
    starter = WebStarter(str(REPOSITORY / "out/sandstorm-mcp"), workspace, tmp_path)
    yield starter
    end_all(starter.started)


# -- files -----------------------------------------------------------------------------------------------------------------


def test_files_come_back_as_they_were_written(patient, workspace):
    patient.text("file_write", path="a/b.txt", content=TEXT * 3)
    assert (workspace / "a/b.txt").read_text() == TEXT * 3
    assert patient.text("file_read", path="a/b.txt") == TEXT * 3
    patient.text("file_move", source="a/b.txt", dest="c.txt")
    assert "c.txt" in patient.text("file_list", path=".")
    patient.text("file_delete", path="c.txt")
    assert not (workspace / "c.txt").exists()
    assert "c.txt" in patient.failure("file_read", path="c.txt")


def test_a_megabyte_of_characters_that_need_escapes(patient, workspace):
    content = ('"\\\t\x01é€🥊' * 200_000)[:400_000]
    patient.text("file_write", path="big", content=content)
    assert (workspace / "big").read_text() == content
    assert patient.text("file_read", path="big") == content


def test_a_tree_is_copied_across_file_systems_by_a_worker(patient, workspace, tmp_path):
    (workspace / "tree/deep").mkdir(parents=True)
    (workspace / "tree/deep/file").write_bytes(os.urandom(300_000))
    (workspace / "tree/link").symlink_to("deep/file")
    os.utime(workspace / "tree/deep/file", (LATE, LATE))
    before = (workspace / "tree/deep/file").read_bytes()
    patient.text("file_move", source="tree", dest="moved")
    assert (workspace / "moved/link").read_bytes() == before


def test_sizes_and_times_beyond_32_bits(patient, workspace):
    with open(workspace / "huge", "wb") as f:
        f.truncate(5 * 2 ** 30)
        f.seek(5 * 2 ** 30 - 4)
        f.write(b"end\n")
    os.utime(workspace / "huge", (LATE, LATE))
    listed = patient.text("file_list", path=".")
    assert str(5 * 2 ** 30) in listed and time.strftime("%Y", time.gmtime(LATE)) in listed, listed
    assert "5368709120" in patient.failure("file_read", path="huge").replace(",", "")


def test_an_inode_and_a_directory_offset_of_64_bits_are_no_error(patient, workspace):
    for i in range(300):
        (workspace / f"file-{i:03}").touch()
    listed = patient.text("file_list", path=".")
    assert all(f"file-{i:03}" in listed for i in range(300))


# -- commands --------------------------------------------------------------------------------------------------------------


def test_a_command_its_output_and_its_code(patient):
    answer = patient.failure("terminal_exec", command="echo out; echo err >&2; exit 7")
    assert "out" in answer and "err" in answer and "exit_code: 7" in answer


def test_a_command_gets_its_input_limit_and_environment(patient, workspace):
    assert f"{workspace}\n" in patient.text("terminal_exec", command="pwd; cat; ulimit -n")


def test_a_program_that_is_not_there(patient):
    assert "exit_code: 127" in patient.failure("terminal_exec", command="no-such-program-here")


def test_a_command_over_its_time_ends_with_its_descendants(patient):
    begun = time.monotonic()
    assert "timeout after 1.0s" in patient.failure("terminal_exec", command="(setsid sleep 77 &) ; sleep 77", timeout=1)
    assert time.monotonic() - begun < 20
    patient.wait_no_descendants(10)


def test_much_output_is_cut_in_the_middle(patient):
    answer = patient.text("terminal_exec", command="seq 1 400000")
    assert "\n1\n" in answer and "400000" in answer and len(answer) < 1_200_000


def test_background(patient):
    answer = patient.text("terminal_exec_background", command="echo begun; sleep 99")
    (pid,) = [int(word) for word in answer.replace(",", " ").replace(".", " ").split() if word.isdigit()][:1]
    patient.text("terminal_kill", pid=pid)
    patient.wait_no_descendants(10)


def test_a_cancelled_command_is_gone(patient):
    id = patient.start_call("terminal_exec", command="sleep 88")
    patient.wait_descendants(1)
    patient.cancel(id)
    patient.wait_no_descendants(10)


# -- the protocol ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_revisions_on_stdio(patient, version):
    assert patient.initialize(version)["protocolVersion"] == version
    assert len(patient.result("tools/list")["tools"]) == 20


def test_the_modern_era_on_stdio(patient):
    assert patient.modern.result("server/discover")["supportedVersions"][0] == MODERN
    assert "exit_code: 0" in patient.modern.text("terminal_exec", command="true")


def test_numbers_of_all_sizes_as_ids(patient):
    for id in (0, -1, 2 ** 31, 2 ** 53, -2 ** 53, "text"):
        assert patient.request("ping", id=id)["id"] == id


def test_both_eras_over_http(slow_web):
    w = slow_web()
    assert w.exchange("GET", "/health").json()["ok"] is True
    assert w.post(message("ping"), {"Authorization": "Bearer wrong"}).status == 401
    for speaker in (w, w.modern):
        assert "exit_code: 3" in speaker.failure("terminal_exec", command="exit 3")
        assert len(speaker.result("tools/list")["tools"]) == 20


def test_progress_over_http_and_a_chunked_request(slow_web):
    w = slow_web()
    params = {"name": "terminal_exec", "arguments": {"command": "for i in 1 2 3; do echo $i; sleep 1; done"},
              "_meta": {"progressToken": "p"}}
    with w.start(message("tools/call", params)) as connection:
        events = [e for e in connection.stream().all() if e.kind == "message"]
    assert events[0].value["method"] == "notifications/progress" and "exit_code: 0" in str(events[-1].value["result"])
    with w.connect() as connection:
        head = "".join(f"{n}: {v}\r\n" for n, v in {**w.fields(), "Transfer-Encoding": "chunked"}.items())
        connection.send(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + chunked(b'{"jsonrpc":"2.0","id":9,"method":"ping"}', 7))
        assert connection.answer().message() == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_the_largest_message_and_one_that_is_too_large(target, slow_web):
    most = (8 if target.small else 16) * 2 ** 20
    w = slow_web()
    fill = "x" * (most - 4096)
    assert w.post(message("ping", {"fill": fill}), timeout=60).message()["result"] == {}
    refused = w.post(message("ping", {"fill": fill + "x" * 8192}), timeout=60)
    assert refused.status == 413 and f"at most {most >> 20} MiB" in refused.json()["error"]     # was 16 on every machine


def test_health_tells_of_the_machine(slow_web, workspace):
    w = slow_web()
    told = w.exchange("GET", "/health", {"Authorization": f"Bearer {w.token}"}).json()
    with open("/proc/meminfo") as f:
        (available,) = [int(line.split()[1]) // 1024 for line in f if line.startswith("MemAvailable:")]
    disk = os.statvfs(workspace)
    assert abs(told["memory_mb_available"] - available) < available / 3
    assert abs(told["disk_mb_available"] - disk.f_bavail * disk.f_frsize // 2 ** 20) < 2000
    assert abs(told["uptime_seconds"] - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60


# -- TLS, hashes, OAuth ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["full", "rsa"])
def test_sandboxes_of_a_master(master, sandbox, tmp_path, leaf):
    m, s, box = one_sandbox(master, sandbox, leaf=leaf)
    s.patience = 30
    done = s.value("exec_command", **script(box, "echo hello; exit 3"))
    assert done["exit_code"] == 3 and "hello" in done["stdout"]
    s.value("kill_sandbox", sandbox_id=box["id"])


def test_a_master_of_another_ca_is_refused(master, sandbox, tmp_path):
    m = master()
    other = tmp_path / "other.pem"
    other.write_text(m.keys.anchor("other").read_text())
    s = sandbox(m, ca=other)
    assert "not signed by the CA" in s.failure("list_sandboxes")


def test_the_fingerprint_of_a_masters_ca(master, cli, tmp_path):
    m = master()
    der = ssl.PEM_cert_to_DER_cert(m.ca.read_text())
    done = cli("ca", m.url, tmp_path / "ca.pem", "--fingerprint", hashlib.sha256(der).hexdigest(), timeout=60)
    assert done.returncode == 0 and (tmp_path / "ca.pem").read_text().strip() == m.ca.read_text().strip(), done.stderr


@pytest.mark.parametrize("cipher", ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
                                    "ECDHE-ECDSA-CHACHA20-POLY1305"])
def test_every_cipher_of_our_own_tls(slow_web, lan, cipher):
    w = slow_web(tls=lan)
    w.context.set_ciphers(cipher)
    w.context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert "exit_code: 0" in w.text("terminal_exec", command="true")
    assert w.text("terminal_exec", command="seq 1 20000").count("\n") > 19_000


def test_what_clients_and_the_state_directory_hold_may_move_to_another_machine(slow_web, native_web):
    """Registrations, tokens, sign-ins, sessions: none has a byte order or a word size."""
    w = native_web()
    client, tokens = sign_in(w)
    one = Sessions(w).create(type="build", ttl_minutes=90)
    assert w.terminate() == 0
    moved = slow_web()
    assert moved.post(message("ping"), {"Authorization": f"Bearer {tokens['access_token']}"}).status == 200
    new = client.refresh(moved, tokens["refresh_token"]).json()
    client.code(moved)
    assert Sessions(moved).call("GET", f"/session/{one.id}/status").json()["id"] == one.id
    assert moved.terminate() == 0
    back = native_web()
    assert client.refresh(back, new["refresh_token"]).status == 200
    assert client.refresh(back, tokens["refresh_token"]).status == 400, "two generations old"


# -- sessions and git ------------------------------------------------------------------------------------------------------


def test_sessions_live_over_a_restart(slow_web):
    w = slow_web()
    one = Sessions(w).create(type="build", ttl_minutes=90)
    assert one.exec("echo $((6 * 7))")["stdout"] == "42\n"
    w.signal(9)
    w.taken_over = True
    w.process.wait(10)
    again = slow_web()
    left = Sessions(again).call("GET", f"/session/{one.id}/status").json()
    assert left["id"] == one.id


def test_git(patient, workspace, tmp_path):
    git = githelp.Git(tmp_path / "home", workspace)
    git.repository("r")
    git.bare("bare", of=workspace / "r")
    patient.text("git_clone", repo_url=f"file://{workspace}/bare", path="copy")
    (workspace / "copy/new").write_text("new\n")
    assert "new" in patient.text("git_status", path="copy")
    for name, value in (("user.name", "T"), ("user.email", "t@example.org")):
        git("config", name, value, at=workspace / "copy")
    patient.text("git_commit", message="second", path="copy")
    patient.text("git_push", path="copy")
    assert "second" in git("log", "--oneline", at=workspace / "bare")


def test_it_ends_when_it_is_told_to(slow_web):
    w = slow_web()
    w.start(message("tools/call", {"name": "terminal_exec", "arguments": {"command": "sleep 66"}}))
    w.wait_descendants(1)
    assert w.terminate() == 0
    wait_until(lambda: not w.descendants(), "its children end")
