"""terminal_exec: what is run, where, with what, and the form of the answer (section 4 of the host tools' contract)."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from process import busy

PATIENT = 0.9   # a short command that takes longer was held up by something


# -- the form of the answer ----------------------------------------------------------------------


@pytest.mark.parametrize("command, text", [
    ("echo hi", "stdout:\nhi\n\n\nexit_code: 0"),
    ("printf hi", "stdout:\nhi\n\nexit_code: 0"),
    ("echo hi >&2", "stderr:\nhi\n\n\nexit_code: 0"),
    ("echo out; echo err >&2", "stdout:\nout\n\n\nstderr:\nerr\n\n\nexit_code: 0"),
    ("true", "exit_code: 0"),
])
def test_the_blocks_of_an_answer(host, command, text):
    assert host.text("terminal_exec", command=command) == text


@pytest.mark.parametrize("command, text", [
    ("exit 3", "exit_code: 3"),
    ("echo some; false", "stdout:\nsome\n\n\nexit_code: 1"),
    ("kill -9 $$", "exit_code: -9"),
    ("kill -SEGV $$", "exit_code: -11"),
])
def test_a_failing_command_is_an_error_with_the_same_text(host, command, text):
    assert host.failure("terminal_exec", command=command) == text


def test_an_unknown_program_is_told_by_the_shell(host):
    text = host.failure("terminal_exec", command="no-such-program-at-all")
    assert "no-such-program-at-all" in text and text.endswith("\n\nexit_code: 127")


def test_an_answer_without_anything_to_say_has_one_block(host):
    assert host.notes("terminal_exec", command="echo hi") == []


# -- the command ---------------------------------------------------------------------------------


def test_bash_runs_the_command_where_there_is_one(host):
    assert host.text("terminal_exec", command="a=(x y); echo ${a[1]} ${0##*/}").startswith("stdout:\ny bash\n")


def test_quotes_newlines_and_non_ascii_reach_the_shell_unchanged(host):
    command = "printf '%s|' \"a b\" '$HOME' 'it'\\''s' \"\u20ac\U0001f389\"\nprintf '%s' \"$((1 + 1))\"\n"
    assert host.text("terminal_exec", command=command) == "stdout:\na b|$HOME|it's|\u20ac\U0001f389|2\n\nexit_code: 0"


def test_a_command_that_begins_with_a_dash_is_no_option_of_the_shell(host):
    text = host.failure("terminal_exec", command="-c 'echo option'")
    assert "stdout" not in text and text.endswith("exit_code: 127")


def test_an_empty_command_does_nothing(host):
    assert host.text("terminal_exec", command="") == "exit_code: 0"


def test_a_command_with_nul_is_refused(host):
    assert host.failure("terminal_exec", command="echo a\0b") == \
        "Invalid arguments for terminal_exec: command: must not contain a NUL character"


def test_a_command_of_100_kb_runs(host):
    assert host.text("terminal_exec", command="#" + "x" * 100_000 + "\necho end").startswith("stdout:\nend\n")


@pytest.mark.parametrize("size", [200_000, 10_000_000])
def test_a_command_too_long_for_the_kernel_is_refused_with_a_way_out(host, size):
    text = host.failure("terminal_exec", command="#" + "x" * size)
    assert "too long" in text and "file" in text or "no memory" in text
    assert host.text("terminal_exec", command="echo on").startswith("stdout:\non\n")


# -- where ---------------------------------------------------------------------------------------


def pwd(host, **arguments):
    return host.text("terminal_exec", command="pwd -P", **arguments).split("\n")[1]


@pytest.mark.parametrize("arguments", [{}, {"cwd": None}, {"cwd": ""}, {"cwd": "."}, {"cwd": "a/.."}])
def test_it_runs_in_the_root_by_default(host, workspace, arguments):
    assert pwd(host, **arguments) == str(workspace)


def test_it_runs_in_a_directory_below_the_root(host, workspace):
    (workspace / "a" / "b c").mkdir(parents=True)
    for cwd in ("a/b c", "a/../a/b c", str(workspace / "a" / "b c"), "a/b c/"):
        assert pwd(host, cwd=cwd) == str(workspace / "a" / "b c")


def test_a_missing_directory_is_made_with_its_parents(host, workspace):
    assert pwd(host, cwd="x/y/z") == str(workspace / "x" / "y" / "z")
    assert (workspace / "x" / "y" / "z").is_dir()


@pytest.mark.parametrize("cwd", ["/etc", "..", "../other", "a/../../b", "/"])
def test_a_directory_outside_the_root_is_refused_and_not_made(host, workspace, cwd):
    assert host.failure("terminal_exec", command="touch ran", cwd=cwd) == \
        f'Path "{cwd}" is outside the allowed directory ({workspace})'
    assert not (workspace.parent / "other").exists() and not (workspace / "ran").exists()


def test_a_link_out_of_the_root_is_refused(host, workspace):
    """Fault 2."""
    (workspace / "out").symlink_to("/etc")
    assert host.failure("terminal_exec", command="pwd", cwd="out") == \
        f'Path "out" is outside the allowed directory ({workspace})'


def test_a_link_within_the_root_is_followed(host, workspace):
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    assert pwd(host, cwd="link") == str(workspace / "real")


def test_a_file_is_no_directory_to_run_in(host, workspace):
    (workspace / "f").write_text("")
    assert host.failure("terminal_exec", command="pwd", cwd="f") == f"Error: {workspace}/f: Not a directory"


# -- with what (what children inherit in general is in test_process.py) --------------------------


def test_standard_input_is_dev_null(host):
    assert host.text("terminal_exec", command="readlink /proc/self/fd/0; cat; echo end") == \
        "stdout:\n/dev/null\nend\n\n\nexit_code: 0"


def test_descriptors_left_open_by_the_client_are_not_passed_on(server):
    """Fault 11: whoever starts the server may leave some open."""
    s = server(wrap=["bash", "-c", 'exec 7</etc/passwd 9>/dev/null 33</etc/group; exec "$@"', "bash"])
    assert s.text("terminal_exec", command="ls /proc/self/fd | tr '\\n' ' '") == "stdout:\n0 1 2 3 \n\nexit_code: 0"


def test_ignored_and_blocked_signals_of_the_client_are_not_passed_on(server):
    """Fault 11's kin: nohup and some runtimes ignore HUP, PIPE or CHLD."""
    s = server(wrap=["python3", "-c", "import os, signal, sys\n"
                     "for n in (signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT):\n"
                     "    signal.signal(n, signal.SIG_IGN)\n"
                     "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD})\n"
                     "os.execv(sys.argv[1], sys.argv[1:])\n"])
    text = s.text("terminal_exec", command="exec cat /proc/self/status")
    assert {line.split("\t")[1] for line in text.splitlines() if line.startswith(("SigBlk", "SigIgn"))} == {"0" * 16}
    assert s.failure("terminal_exec", command="exit 4") == "exit_code: 4", "SIGCHLD ignored would lose the status"


def test_it_leads_a_session_of_its_own(host):
    text = host.text("terminal_exec", command='set -- $(cat /proc/$$/stat); echo $(($1 - $5)) $(($1 - $6)) $7')
    assert text.startswith("stdout:\n0 0 0\n"), "group and session are its own, and there is no terminal"


def test_the_umask_of_the_server_holds(server, workspace):
    s = server(wrap=["sh", "-c", 'umask 027; exec "$@"', "sh"])
    s.text("terminal_exec", command="touch f; mkdir d", cwd="made")
    assert (workspace / "made" / "f").stat().st_mode & 0o777 == 0o640
    assert (workspace / "made").stat().st_mode & 0o777 == 0o750


def test_each_command_has_a_tag_of_its_own_and_not_that_of_a_server_above(server):
    s = server(env={"SANDSTORM_JOB": "f" * 32})
    tags = [s.text("terminal_exec", command="env | grep ^SANDSTORM_JOB=").split("\n")[1] for _ in range(3)]
    assert len(set(tags)) == 3
    assert all(re.fullmatch("SANDSTORM_JOB=[0-9a-f]{32}", tag) and "f" * 32 not in tag for tag in tags)


def test_a_large_environment_is_handed_on(server):
    s = server(env={f"VARIABLE_{n}": "x" * 1000 for n in range(500)})
    assert s.text("terminal_exec", command="env | grep -c ^VARIABLE_").startswith("stdout:\n500\n")


# -- time (ending is in test_terminal_end.py) ----------------------------------------------------


@pytest.mark.parametrize("timeout, shown", [(0.3, "0.3"), (0.25, "0.25"), ("0.5", "0.5"), (0.125, "0.125"),
                                            (0.0004, "0.001"), (1, "1.0"), (5e-1, "0.5")])
def test_the_time_limit_is_told_as_it_was_given(host, timeout, shown):
    assert host.failure("terminal_exec", command="sleep 60", timeout=timeout) == \
        f"stderr:\ntimeout after {shown}s\n\nexit_code: 124"


@pytest.mark.parametrize("timeout", [0, 0.0, None, "0", -0.0])
def test_zero_and_null_mean_the_default(host, timeout):
    """Fault 62, decision 64."""
    assert host.text("terminal_exec", command="sleep 0.2; echo done", timeout=timeout).startswith("stdout:\ndone\n")


@pytest.mark.parametrize("timeout", [-1, -0.0001, "-5", -1e3])
def test_a_negative_time_limit_is_refused(host, workspace, timeout):
    assert host.failure("terminal_exec", command="touch ran", timeout=timeout) == \
        "Invalid arguments for terminal_exec: timeout: must not be negative"
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("timeout", [300.001, 301, 100000])
def test_a_time_limit_over_300_is_300_and_says_so(host, timeout):
    assert host.notes("terminal_exec", command="true", timeout=timeout) == ["timeout was limited to 300 s"]
    assert host.notes("terminal_exec", command="true", timeout=300) == []


# -- boxes with less -----------------------------------------------------------------------------


@pytest.fixture
def bare_root(tmp_path, binary):
    """A root directory that holds the binary, at the same path, and nothing else."""
    if os.geteuid() != 0:
        pytest.fail("this test needs root for chroot, as the whole test run does")
    root = tmp_path / "bare"
    place = root / pathlib.Path(binary).relative_to("/")
    place.parent.mkdir(parents=True)
    shutil.copy2(binary, place)
    return root


def add_program(root, path, name):
    """Copies a program of this machine with the libraries it needs."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    for file in re.findall(r"(/\S+) \(0x", listed):
        target = root / file[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    (root / name[1:]).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(os.path.realpath(path), root / name[1:])


def test_without_any_shell_the_error_names_it(server, bare_root):
    """X7; no /dev, no /proc, no /etc either."""
    s = server(wrap=["chroot", bare_root], root="/w")
    assert s.failure("terminal_exec", command="echo hi") == "no shell here: neither /bin/bash nor /bin/sh exists"
    assert s.result("ping") == {}


def test_without_bash_sh_runs_the_command(server, bare_root):
    """X7; standard input is empty without /dev/null, too."""
    add_program(bare_root, "/bin/dash", "/bin/sh")
    s = server(wrap=["chroot", bare_root], root="/w")
    assert s.text("terminal_exec", command='echo "${BASH_VERSION-no bash} in $PWD"; read x || echo empty') == \
        "stdout:\nno bash in /w\nempty\n\n\nexit_code: 0"
    assert s.failure("terminal_exec", command="-c x").endswith("exit_code: 127")


def test_without_proc_a_command_is_still_ended(server, bare_root):
    """Descendants are found in /proc; the group does not need it."""
    add_program(bare_root, "/bin/dash", "/bin/sh")
    s = server(wrap=["chroot", bare_root], root="/w")
    began = time.monotonic()
    assert s.failure("terminal_exec", command="echo early; while :; do :; done | while :; do :; done", timeout=1.5) == \
        "stdout:\nearly\n\n\nstderr:\ntimeout after 1.5s\n\nexit_code: 124"
    assert time.monotonic() - began < (1.5 + PATIENT) * busy()
    s.wait_no_descendants()


def test_a_shell_that_cannot_be_run_is_told(server, bare_root):
    shell = bare_root / "bin" / "sh"
    shell.parent.mkdir()
    shell.write_text("not a program")
    shell.chmod(0o755)
    s = server(wrap=["chroot", bare_root], root="/w")
    assert s.failure("terminal_exec", command="echo hi") == "cannot start /bin/sh: Exec format error"


# -- listing -------------------------------------------------------------------------------------


def test_the_listing_warns_of_what_a_shell_can_do(host):
    """M3: all four hints."""
    tool = next(t for t in host.result("tools/list")["tools"] if t["name"] == "terminal_exec")
    hints = tool["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"], hints["openWorldHint"]) == \
        (False, True, False, True)
    assert tool["title"] and 20 < len(tool["description"]) < 400


def test_read_only_servers_have_no_shell(server):
    s = server(args=["--read-only"])
    assert "terminal_exec" not in [t["name"] for t in s.result("tools/list")["tools"]]
    assert s.error("tools/call", {"name": "terminal_exec", "arguments": {"command": "true"}})["code"] == -32602
