"""How background processes end: by terminal_kill, by themselves, with the server; and what is never signalled.

"Fault" numbers are those of section 9 of the host tools' contract, X and S rows those of the field cases.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fshelp import OtherUser
from mcpwire import describe, first_text, wait_until
from process import busy, pass_on
from test_background import Started, alive
from webserver import message

GRACE = 1.0     # between TERM and KILL

# What escapes from a shell: its own session, a double fork, nohup, no environment, all of them.
ESCAPES = [
    "setsid sleep 60 & wait",
    "(setsid sh -c 'sleep 60; true' >/dev/null 2>&1 </dev/null &); sleep 60",
    "nohup sh -c 'sleep 60 & sleep 61' >/dev/null 2>&1 & sleep 60",
    "env -i sleep 60 & wait",
    "env -i setsid sleep 60 & wait",
    "(env -i setsid sh -c 'sleep 60 & sleep 61' >/dev/null 2>&1 </dev/null &); exit 0",
    "ssh-agent -a $PWD/agent.sock >/dev/null; sleep 60" if shutil.which("ssh-agent") else "setsid -f sleep 60; sleep 61",
]


def blocks(result):
    return [block["text"] for block in result["content"]]


def kill(host, pid):
    """The text blocks of terminal_kill and how long it took."""
    began = time.monotonic()
    result = host.call("terminal_kill", pid=pid)
    assert not result["isError"], result
    return blocks(result), time.monotonic() - began


def marked(host):
    """Processes of the server's commands, found by a name that env -i does not take away."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if limit_of(pid) == "marked" and
            descends(pid, host.pid)]


def limit_of(pid):
    try:
        limits = Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return None
    return "marked" if re.search(r"Max realtime timeout +\d{19} ", limits) else None


def descends(pid, server):
    """Is the server among its ancestors? Orphans come to it."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == server:
            return True
    return False


def stubborn(host):
    """One that ignores TERM and says when it does."""
    started = Started(host, "trap '' TERM; echo up; while :; do sleep 1; done")
    wait_until(lambda: started.output() == "up\n", "it to run")
    return started


# -- terminal_kill -------------------------------------------------------------------------------


def test_the_answer_comes_when_it_is_gone_and_tells_how_it_ended(host):
    started = Started(host, "exec sleep 60")
    texts, took = kill(host, started.pid)
    assert texts[0] == f"Sent SIGTERM to {started.pid}"
    assert re.fullmatch(r"It ended: signal 15 after \d\.\d s", texts[1])
    assert texts[2].startswith(f"Its output is in {started.path}, ")
    assert took < 0.5 * busy() and not alive(started.pid)
    assert started.state().startswith("signal 15 after")


def test_it_can_clean_up_and_its_last_words_are_in_the_file(host):
    started = Started(host, "trap 'echo bye; exit 4' TERM; echo up; sleep 60 & wait")
    wait_until(lambda: started.output() == "up\n", "it to run")
    texts, took = kill(host, started.pid)
    assert texts[1].startswith("It ended: exit code 4 after ") and took < GRACE * busy()
    assert started.output().startswith("up\nbye\n[exit code 4 after ")


def test_the_children_of_a_background_command_die_with_it(host):
    """Fault 10: only the shell died; its children lived on."""
    started = Started(host, "sleep 60 & sleep 61 & (sleep 62; true) & wait")
    host.wait_descendants(5)
    _, took = kill(host, started.pid)
    assert host.descendants() == [] and took < 0.5 * busy()


@pytest.mark.parametrize("command", ["trap '' TERM; echo up; sleep 60", "trap '' TERM; echo up; while :; do :; done",
                                     "setsid sh -c \"trap '' TERM; echo up; sleep 60\" & wait"])
def test_what_ignores_sigterm_is_killed_a_second_later(host, command):
    """Fault 10: it lived on, and the answer was still "Sent"."""
    started = Started(host, command)
    wait_until(lambda: started.output() == "up\n", "it to run")
    texts, took = kill(host, started.pid)
    assert "; SIGTERM was not enough, it got SIGKILL" in texts[1]
    assert GRACE <= took < (GRACE + 0.9) * busy()
    assert host.descendants() == []


@pytest.mark.parametrize("command", ESCAPES)
def test_descendants_end_wherever_they_went(host, command):
    """Fault 21, X2: their own session, a double fork, nohup, also without the environment they were given."""
    started = Started(host, command)
    time.sleep(0.4)
    assert marked(host)
    kill(host, started.pid)
    wait_until(lambda: not marked(host), "all of them gone", 1)
    assert host.descendants() == [] and host.zombies() == []


@pytest.mark.parametrize("command", ESCAPES)
def test_descendants_of_a_timed_out_command_end_wherever_they_went(host, command):
    """Fault 21."""
    if "exit 0" in command:
        command = command.replace("exit 0", "sleep 60")
    assert host.failure("terminal_exec", command=command, timeout=0.5).endswith("exit_code: 124")
    assert marked(host) == [] and host.descendants() == []


@pytest.mark.parametrize("command", ESCAPES[-3:])
def test_descendants_of_a_cancelled_command_end_wherever_they_went(host, command):
    """Fault 34: a client that goes away takes its command along."""
    id = host.start_call("terminal_exec", command=command.replace("exit 0", "sleep 60"), timeout=100)
    wait_until(lambda: marked(host), "the command to run")
    time.sleep(0.3)
    host.cancel(id)
    wait_until(lambda: not marked(host), "all of them gone", GRACE + 1)
    assert host.fence() == []


def test_a_daemon_that_let_go_of_its_starter_can_still_be_ended(host):
    """The shell ended long ago; the daemon writes to nobody."""
    started = Started(host, "setsid sleep 60 >/dev/null 2>&1 </dev/null & exit 0").wait_end()
    assert started.state().startswith("exit code 0")
    assert len(host.descendants()) == 1
    texts, _ = kill(host, started.pid)
    assert texts[0] == f"Sent SIGTERM to {started.pid}" and "exit code 0" in texts[1]
    assert host.descendants() == []
    assert host.failure("terminal_kill", pid=started.pid).startswith(f"No such process {started.pid}: it has ended")


def test_what_holds_the_output_after_the_shell_ended_is_ended_too(host):
    started = Started(host, "sleep 60 & exit 3")
    wait_until(lambda: started.state().startswith("exit code 3"), "the end of the shell")
    texts, took = kill(host, started.pid)
    assert "exit code 3" in texts[1] and took < 0.6 * busy()
    assert host.descendants() == [] and "still holds" not in started.state()


def test_other_processes_are_not_touched(host, workspace):
    one, two = Started(host, "setsid sleep 60 & wait"), Started(host, "setsid sleep 61 & wait")
    os.mkfifo(workspace / "go")
    busy = host.start_call("terminal_exec", command="cat go; echo on")
    host.wait_descendants(6)
    kill(host, one.pid)
    assert alive(two.pid) and len(host.descendants()) == 4
    pass_on(workspace / "go")
    assert first_text(host.wait(busy)["result"]).startswith("stdout:\non\n")


def test_two_kills_at_once_are_both_answered(host):
    started = stubborn(host)
    ids = [host.start_call("terminal_kill", pid=started.pid) for _ in range(2)]
    for id in ids:
        assert first_text(host.wait(id)["result"]) == f"Sent SIGTERM to {started.pid}"
    assert not alive(started.pid)


def test_a_kill_does_not_hold_others_up(host):
    started = stubborn(host)
    id = host.start_call("terminal_kill", pid=started.pid)
    began = time.monotonic()
    host.result("ping")
    assert time.monotonic() - began < 0.3 * busy()
    host.wait(id)


def test_a_cancelled_kill_still_kills(host):
    started = stubborn(host)
    id = host.start_call("terminal_kill", pid=started.pid)
    host.cancel(id)
    wait_until(lambda: not alive(started.pid), "its end", GRACE + 1)
    assert host.fence() == []


def test_one_that_has_ended_is_no_process_and_the_text_tells_how_it_ended(host):
    """Fault 35."""
    started = Started(host, "exit 6").wait_end()
    result = host.call("terminal_kill", pid=started.pid)
    assert result["isError"]
    assert re.fullmatch(rf"No such process {started.pid}: it has ended, exit code 6 after \d\.\d s", blocks(result)[0])
    assert started.path in blocks(result)[1]


# -- what is never signalled ---------------------------------------------------------------------


@pytest.fixture
def bystander():
    """A process that the server has not started, in the group of nobody else."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("pid", [0, -1, 1, 2, -2, 2**31 - 1, 2**31, 2**32, -2**31, 2**63 - 1, -2**63])
def test_numbers_that_kill_everything_elsewhere_reach_nobody_here(host, bystander, pid):
    """Fault 9: 0 ended the server, -1 every process of the user."""
    mine = Started(host, "exec sleep 60")
    assert host.failure("terminal_kill", pid=pid) == f"No such process {pid}"
    time.sleep(0.05)
    assert alive(mine.pid) and bystander.poll() is None and host.result("ping") == {}


def test_processes_the_server_did_not_start_are_never_signalled(host, bystander):
    """Fault 9: the server itself, its parent, strangers, the negative of one's own."""
    mine = Started(host, "exec sleep 60")
    for pid in (host.pid, os.getpid(), bystander.pid, -bystander.pid, -mine.pid, mine.pid + 2**32):
        assert host.failure("terminal_kill", pid=pid) == f"No such process {pid}"
    assert alive(mine.pid) and bystander.poll() is None and host.result("ping") == {}


def test_what_terminal_exec_left_running_is_not_in_the_table(host):
    """Fault 9."""
    pid = int(host.text("terminal_exec", command="sleep 60 & echo $!").split("\n")[1])
    assert host.failure("terminal_kill", pid=pid) == f"No such process {pid}"
    assert alive(pid)


@pytest.mark.parametrize("pid, rule", [(True, "must be an integer"), ("abc", "must be an integer"), (1.5, "must be an integer"),
                                       ("", "must be an integer"), ("0x10", "must be an integer"), (2**63, "is out of range"),
                                       (-2**63 - 1, "is out of range"), (None, "must be an integer")])
def test_what_is_no_number_is_refused_by_name(host, pid, rule):
    """Faults 9 and 12: true was pid 1."""
    assert host.failure("terminal_kill", pid=pid) == f"Invalid arguments for terminal_kill: pid: {rule}"


def test_the_pid_may_be_written_as_text(host):
    """Decision 3: lossless forms are taken."""
    started = Started(host, "exec sleep 60")
    assert host.text("terminal_kill", pid=str(started.pid)) == f"Sent SIGTERM to {started.pid}"


def test_a_process_that_runs_as_somebody_else_is_told_as_such(binary, server):
    """The reference's words; nothing is claimed that did not happen."""
    user = OtherUser(binary)
    try:
        helper = user.root / "setpriv"
        shutil.copy(shutil.which("setpriv"), helper)
        helper.chmod(0o4755)
        host = user.start(server)
        host.allow_leftovers = True
        started = Started(host, "exec ./setpriv --reuid=0 --regid=0 --clear-groups sleep 60")
        wait_until(lambda: Path(f"/proc/{started.pid}/cmdline").read_text().startswith("sleep"), "it to change its user")
        assert host.failure("terminal_kill", pid=started.pid) == \
            f"Permission denied killing {started.pid}: Operation not permitted"
        assert alive(started.pid)
        os.kill(started.pid, signal.SIGKILL)
        started.wait_end()
        assert started.state().startswith("signal 9 after")
    finally:
        user.remove()


# -- the end of the server -----------------------------------------------------------------------


def run_some(host):
    """A polite one, a stubborn one, one that escaped, one that let go of everything."""
    polite = Started(host, "trap 'echo bye; exit 4' TERM; echo up; sleep 60 & wait")
    Started(host, "trap '' TERM; while :; do sleep 1; done")
    Started(host, "env -i setsid sleep 60 & setsid sleep 61 & wait")
    Started(host, "setsid sleep 60 >/dev/null 2>&1 & exit 0").wait_end()
    wait_until(lambda: polite.output() == "up\n", "it to run")
    return polite


def ended_well(polite):
    text = Path(polite.path).read_text()
    return text.startswith(f"[process {polite.pid}, exit code 4 after ") and "\nup\nbye\n[exit code 4 after " in text


def test_they_end_with_the_end_of_stdin_and_can_clean_up(server):
    """Fault 33, S3: nothing a server has started outlives it."""
    host = server()
    polite = run_some(host)
    began = time.monotonic()
    assert host.close() == 0
    assert time.monotonic() - began < (GRACE + 0.9) * busy()
    assert host.descendants() == [] and marked(host) == [] and ended_well(polite)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_they_end_with_a_signal_to_the_server(server, number):
    """Fault 33."""
    host = server()
    polite = run_some(host)
    began = time.monotonic()
    host.signal(number)
    assert host.wait_exit() == 0
    assert time.monotonic() - began < 2 * busy()
    assert host.descendants() == [] and ended_well(polite)


def test_they_end_with_the_http_server(web):
    """Fault 33: also while calls run."""
    w = web()
    polite = run_some(w)
    w.start(message("tools/call", {"name": "terminal_exec", "arguments": {"command": "sleep 63"}}))
    wait_until(lambda: [pid for pid in w.descendants() if "sleep 63" in describe(pid)], "the call to run")
    began = time.monotonic()
    assert w.terminate() == 0
    assert time.monotonic() - began < 2.5 * busy()
    assert w.descendants() == [] and ended_well(polite)


def test_a_second_signal_ends_them_at_once(server):
    """Decision 29."""
    host = server()
    stubborn(host)
    began = time.monotonic()
    host.signal(signal.SIGTERM)
    time.sleep(0.2)
    host.signal(signal.SIGTERM)
    assert host.wait_exit() == 0
    assert time.monotonic() - began < 0.8 * busy()
    assert host.descendants() == []


def test_no_file_says_that_a_process_runs_after_the_server_ended(server):
    host = server()
    started = [Started(host, "trap '' TERM; while :; do sleep 1; done") for _ in range(3)]
    host.signal(signal.SIGTERM)
    time.sleep(0.1)
    host.signal(signal.SIGTERM)
    host.wait_exit()
    for one in started:
        assert "running" not in Path(one.path).read_text().split("\n")[0]


@pytest.mark.parametrize("tool", ["terminal_exec_background", "terminal_exec"])
def test_what_a_killed_server_had_started_itself_ends_with_it(server, tool):
    """kill -9 leaves no time for anything: the kernel ends the program itself, not what that had started in turn."""
    host = server()
    host.start_call(tool, command="exec sleep 60")
    wait_until(lambda: [pid for pid in host.descendants() if "sleep 60" in describe(pid)], "the program itself")
    host.signal(signal.SIGKILL)
    assert host.wait_exit() == -signal.SIGKILL
    host.wait_no_descendants(1)


def test_as_pid_1_it_ends_them_too(server):
    """Decision 22."""
    host = server(wrap=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
    started = Started(host, "setsid sleep 60 & trap '' TERM; sleep 61 & wait; sleep 62")
    host.wait_descendants(3)
    assert host.text("terminal_kill", pid=started.pid) == f"Sent SIGTERM to {started.pid}"
    Started(host, "exec sleep 60")
    assert host.close() == 0
    assert host.descendants() == []


def test_two_servers_in_one_workspace_leave_each_others_processes_alone(server):
    one, two = server(), server()
    mine, other = Started(one, "exec sleep 60"), Started(two, "exec sleep 60")
    assert one.failure("terminal_kill", pid=other.pid) == f"No such process {other.pid}"
    assert one.close() == 0
    assert not alive(mine.pid) and alive(other.pid)
    assert two.text("file_read", path=mine.path).startswith(f"[process {mine.pid}, signal 15 after")
