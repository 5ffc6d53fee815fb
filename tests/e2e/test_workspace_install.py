"""workspace_install: packages by a manager of the machine, without a shell (fault 42).

Stand-in managers stand first on PATH; they say how they were called. A real pip is used once, without a network.
"""

import os
import subprocess
import sys
import time
import zipfile

import pytest

from fshelp import OtherUser, outside
from mcpwire import first_text, tool_params
from process import busy

# Says its name and each of its words in <>, and where it stands.
SAYS = """#!/bin/sh
printf "%s:" "${0##*/}"
for word in "$@"; do printf " <%s>" "$word"; done
printf " in %s\\n" "$(pwd -P)"
"""
# Runs what it is given, as sudo does; says so on standard error.
SUDO = '#!/bin/sh\necho "by sudo <$1>" >&2\nshift\nexec /usr/bin/env -u DEBIAN_FRONTEND "$@"\n'
# As sudo with a rule for apt-get alone.
NO_VARIABLES = """#!/bin/sh
case $2 in
*=*) echo "sudo: sorry, you are not allowed to set the following environment variables: ${2%%=*}" >&2; exit 1 ;;
esac
""" + SUDO.partition("\n")[2]
BAD = "Invalid arguments for workspace_install: "


class Box:
    """A directory of programs that is the whole PATH of the servers started with it."""

    def __init__(self, place):
        self.place = place
        self.place.mkdir()

    def has(self, *names, text=SAYS):
        for name in names:
            path = self.place / name
            path.write_text(text)
            path.chmod(0o755)
        return self

    @property
    def env(self):
        return {"PATH": str(self.place)}


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path / "bin")


@pytest.fixture
def user(binary):
    """A server that is not root, with a PATH of its own."""
    other = OtherUser(binary)
    other.box = Box(other.base / "bin")
    yield other
    other.remove()


def install(server, packages, manager=...):
    arguments = {} if manager is ... else {"manager": manager}
    return server.call("workspace_install", packages=packages, **arguments)


def ran(server, packages, manager=...):
    """What the stand-in says of a call that must succeed."""
    result = install(server, packages, manager)
    assert not result.get("isError") and len(result["content"]) == 1, result
    return first_text(result)


# -- how each manager is called -------------------------------------------------------------------


@pytest.mark.parametrize("manager, said", [
    ("npm", "npm: <install> <a> <b>"),
    ("bun", "bun: <add> <a> <b>"),
    ("pip", "pip: <install> <a> <b>"),
    ("pip3", "pip3: <install> <a> <b>"),
    ("dnf", "dnf: <install> <-y> <a> <b>"),
    ("apt", "apt-get: <install> <-y> <a> <b>"),
    ("opkg", "opkg: <install> <a> <b>"),
    ("apk", "apk: <add> <a> <b>"),
])
def test_each_manager_gets_the_packages_as_words(server, workspace, box, manager, said):
    """Fault 42: an argument vector, in the workspace root."""
    box.has("npm", "bun", "pip", "pip3", "dnf", "apt-get", "opkg", "apk")
    assert ran(server(env=box.env), " a\t\n b ", manager) == f"{said} in {workspace}"


@pytest.mark.parametrize("manager, packages", [
    ("npm", ["@scope/name@^1.2.3", "left-pad@>=1.0", "user/repository#semver:^1", "https://127.0.0.1/x.tgz?a=b&c=d"]),
    ("bun", ["name@npm:@other/name@1"]),
    ("pip", ["name[extra,more]>=1.0,<2,!=1.5", "name==1.*", "git+https://127.0.0.1/x.git@v1#egg=x"]),
    ("apt", ["name=1.2-3", "name:arm64", "name/bookworm", "libstdc++6"]),
    ("dnf", ["name-1.2*", "@group"]),
    ("apk", ["name=~1.2", "name>1"]),
    ("opkg", ["kmod-usb-*"]),
])
def test_each_world_has_its_forms_and_none_is_changed_on_the_way(server, workspace, box, manager, packages):
    """No shell: > and * are nothing but letters of a version. A file whose name would match lies there."""
    (workspace / "kmod-usb-x").touch()
    box.has("npm", "bun", "pip", "apt-get", "dnf", "apk", "opkg")
    words = "".join(f" <{word}>" for word in packages)
    assert f"{words} in " in ran(server(env=box.env), " ".join(packages), manager)
    assert os.listdir(workspace) == ["kmod-usb-x"]


@pytest.mark.parametrize("here, said", [
    (["pip", "pip3", "python3"], "pip: <install> <x>"),
    (["pip3", "python3"], "pip3: <install> <x>"),
    (["python3"], "python3: <-m> <pip> <install> <x>"),
])
def test_pip_is_found_under_any_of_its_names(server, box, here, said):
    assert ran(server(env=box.has(*here).env), "x", "pip").startswith(said)


@pytest.mark.parametrize("here, said", [
    (["bun", "npm", "opkg", "apk"], "bun: <add> <x>"),
    (["npm", "opkg", "apk"], "npm: <install> <x>"),
    (["opkg", "apk"], "opkg: <install> <x>"),
    (["apk", "apt-get", "pip"], "apk: <add> <x>"),
])
@pytest.mark.parametrize("manager", [..., None, "auto"])
def test_auto_takes_bun_then_npm_then_that_of_a_small_box(server, box, here, said, manager):
    assert ran(server(env=box.has(*here).env), "x", manager).startswith(said)


def test_auto_without_any_of_them_says_what_was_looked_for(server, box):
    """The reference's words; apt, dnf and pip are used only when they are named."""
    s = server(env=box.has("apt-get", "dnf", "pip").env)
    assert s.failure("workspace_install", packages="x") == \
        "No package manager found: looked for bun, npm, opkg and apk; others have to be named"


@pytest.mark.parametrize("manager", ["npm", "bun", "pip", "pip3", "dnf", "apt", "opkg", "apk"])
def test_a_manager_that_is_not_here_is_named(server, box, manager):
    assert server(env=box.env).failure("workspace_install", packages="x", manager=manager) == \
        f"{manager} is not installed here"


def test_a_manager_that_cannot_be_run_is_told(server, box):
    s = server(env=box.has("npm", text="#!/no/such/interpreter\n").env)
    assert s.failure("workspace_install", packages="x", manager="npm") == "npm is not installed here"
    box.has("npm", text="neither script nor program")
    assert s.failure("workspace_install", packages="x", manager="npm") == "cannot start npm: Exec format error"


def test_apt_asks_no_questions(server, box):
    box.has("apt-get", "npm", text='#!/bin/sh\necho "${DEBIAN_FRONTEND-not set}"; read line || echo no input\n')
    s = server(env={**box.env, "DEBIAN_FRONTEND": "readline"})
    assert ran(s, "x", "apt") == "noninteractive\nno input"
    assert ran(s, "x", "npm") == "readline\nno input"


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("packages", ["", " ", "\t\r\n "])
def test_no_package_is_an_error(server, box, packages):
    s = server(env=box.has("npm").env)
    assert s.failure("workspace_install", packages=packages) == BAD + "packages: must name one"
    assert s.failure("workspace_install") == BAD + "packages: required"


@pytest.mark.parametrize("packages, word, rule", [
    ("; touch ran", ";", "must begin with a letter or a digit"),
    ("a;touch${IFS}ran", "a;touch${IFS}ran", 'must not hold ";"'),
    ("a&&touch", "a&&touch", 'must not hold "&"'),
    ("a|sh", "a|sh", 'must not hold "|"'),
    ("$(touch ran)", "$(touch", "must begin with a letter or a digit"),
    ("a`touch ran`", "a`touch", 'must not hold "`"'),
    ("a > ran", ">", "must begin with a letter or a digit"),
    ("a>ran", "a>ran", 'must not hold ">"'),
    ("'a'", "'a'", "must begin with a letter or a digit"),
    ("a \"b\"", '"b"', "must begin with a letter or a digit"),
    ("a\\b", "a\\b", 'must not hold "\\"'),
    ("-g a", "-g", "must not begin with '-': options are not taken"),
    ("a --prefix=/", "--prefix=/", "must not begin with '-': options are not taken"),
    ("caf\u00e9", "caf\u00e9", 'must not hold "\u00e9"'),
    ("file:///etc/x", "file:///etc/x", "must be a URL of http, https or git, or no URL"),
    ("a@file:../x", "a@file:../x", "must not lead to a file: a local file stands alone, as ./file"),
    ("file:x", "file:x", "must not hold ':' but after npm, github, gitlab, bitbucket, gist or semver"),
])
def test_a_word_that_is_no_package_is_refused_with_its_rule_and_nothing_is_run(server, workspace, box, packages, word,
                                                                               rule):
    """Fault 42: `; cmd` ran."""
    s = server(env=box.has("npm", text="#!/bin/sh\n: > ran\n").env)
    assert s.failure("workspace_install", packages=packages) == f"{BAD}packages: {word}: {rule}"
    assert s.failure("workspace_install", packages=f"good {packages} good") == f"{BAD}packages: {word}: {rule}"
    assert os.listdir(workspace) == []


def test_a_long_word_is_shown_in_part_and_many_words_are_refused(server, box):
    s = server(env=box.has("npm").env)
    assert s.failure("workspace_install", packages="a" * 5000) == \
        BAD + "packages: " + "a" * 200 + ": must not be longer than a path"
    assert s.failure("workspace_install", packages="a " * 201) == BAD + "packages: at most 200 at once"
    assert ran(s, "a " * 200).count("<a>") == 200


@pytest.mark.parametrize("manager", ["cargo", "NPM", "", "npm ", "apt-get", "npm|bun"])
def test_another_manager_is_refused_by_name(server, box, manager):
    """The schema has them as an enum."""
    assert server(env=box.has("npm").env).failure("workspace_install", packages="x", manager=manager) == \
        BAD + "manager: must be one of npm, bun, pip, pip3, dnf, apt, auto, opkg, apk"


def test_a_trailing_dash_removes_nothing(server, box):
    """`apt-get install -y name-` removes a package."""
    s = server(env=box.has("apt-get").env)
    assert s.failure("workspace_install", packages="jq-", manager="apt").endswith(
        "must not end with '-', with which apt removes a package")


# -- local files ----------------------------------------------------------------------------------


def test_a_local_file_is_given_with_its_absolute_path(server, workspace, box):
    (workspace / "dir").mkdir()
    (workspace / "dir" / "x.tgz").touch()
    s = server(env=box.has("npm", "pip").env)
    for word in ("./dir/x.tgz", "dir/x.tgz", "dir/../dir//x.tgz", f"{workspace}/dir/x.tgz"):
        assert ran(s, word, "npm" if word != "dir/x.tgz" else "pip").split(" ")[2] == f"<{workspace}/dir/x.tgz>"
    assert ran(s, ". .[test] ./dir[a,b]", "pip") == \
        f"pip: <install> <{workspace}> <{workspace}[test]> <{workspace}/dir[a,b]> in {workspace}"


def test_a_local_file_has_to_be_there_and_inside_the_root(server, workspace, tmp_path, box):
    """P1: the path rule of all tools, links resolved."""
    (tmp_path / "x.whl").touch()
    (workspace / "link.whl").symlink_to(tmp_path / "x.whl")
    (workspace / "up").symlink_to(tmp_path)
    s = server(env=box.has("pip").env)
    for word in ("../x.whl", "/etc/x.whl", "link.whl", "./up/x.whl", "a/../../x.whl"):
        assert s.failure("workspace_install", packages=word, manager="pip") == outside(word, workspace)
    assert s.failure("workspace_install", packages="./none.whl", manager="pip") == \
        f"Error: {workspace}/none.whl: No such file or directory"


# -- failure, time, progress ----------------------------------------------------------------------


def test_a_failure_is_an_error_with_all_that_was_said(server, box):
    """Fault 42: pip's failure was hidden."""
    s = server(env=box.has("pip", text="#!/bin/sh\necho Collecting; echo 'ERROR: no such thing' >&2; exit 1\n").env)
    result = install(s, "x", "pip")
    assert result["isError"] is True
    assert [block["text"] for block in result["content"]] == ["Collecting\n\nERROR: no such thing"]


@pytest.mark.parametrize("manager, program, remedy", [
    ("apt", "apt-get", "apt-get update"), ("opkg", "opkg", "opkg update"), ("apk", "apk", "apk update")])
def test_the_remedy_for_missing_lists_of_packages_is_told(server, box, manager, program, remedy):
    """A fresh container or a router after its start has none."""
    s = server(env=box.has(program, text="#!/bin/sh\necho 'unable to locate' >&2; exit 3\n").env)
    assert s.notes("workspace_install", packages="x", manager=manager) == \
        [f"if a package is not known: `{remedy}` fetches the lists of packages"]


def test_both_streams_are_one_text_without_blanks_at_its_ends(server, box):
    s = server(env=box.has("npm", text="#!/bin/sh\nprintf '\\n added 1\\n\\n'; printf 'warning\\n\\n' >&2\n").env)
    assert ran(s, "x") == "added 1\n\n\nwarning"


def test_a_password_in_a_url_is_not_shown(server, box):
    """G7."""
    s = server(env=box.has("pip", text='#!/bin/sh\necho "cannot reach $2" >&2; exit 1\n').env)
    text = s.failure("workspace_install", packages="git+https://me:SECRET@127.0.0.1/x.git", manager="pip")
    assert "SECRET" not in text and text.startswith("cannot reach git+https://")


def test_it_can_be_cancelled(server, box):
    """X11: the manager and what it has started are gone, no answer comes."""
    s = server(env=box.has("npm", text="#!/bin/sh\n/bin/sleep 60 & /bin/sleep 60\n").env)
    id = s.start_call("workspace_install", packages="x")
    s.wait_descendants(3)
    s.cancel(id)
    s.wait_no_descendants()
    assert s.fence() == []


def test_progress_shows_the_last_line(server, box):
    """X10."""
    text = "#!/bin/sh\nfor i in 1 2 3 4 5; do echo step $i of 5; /bin/sleep 0.4; done\n"
    s = server(env=box.has("npm", text=text).env)
    params = {**tool_params("workspace_install", {"packages": "x"}), "_meta": {"progressToken": "t"}}
    assert not s.result("tools/call", params).get("isError")
    shown = [m.value["params"]["message"] for m in s.history if m.value.get("method") == "notifications/progress"]
    assert shown and all(line.startswith("step ") for line in shown)


@pytest.mark.long(120)
def test_after_120_seconds_it_is_ended_and_what_it_said_is_told(server, box, user):
    """Fault 15 for this tool; what runs by sudo may not have ended, and that is told, too."""
    slow = "#!/bin/sh\necho fetching; /bin/sleep 600\n"
    user.box.has("apt-get").has("sudo", text=slow)
    servers = [(server(env=box.has("npm", text=slow).env), "npm"), (user.start(server, env=user.box.env), "apt")]
    began = time.monotonic()
    ids = [s.start_call("workspace_install", packages="x", manager=manager) for s, manager in servers]
    results = [s.wait(id, 140)["result"] for (s, _), id in zip(servers, ids)]
    assert 119 < time.monotonic() - began < 120 + 5 * busy()
    assert all(result["isError"] and first_text(result) == "fetching\n\ntimeout after 120s" for result in results)
    assert [len(result["content"]) for result in results] == [1, 2]
    assert "it may still be at work" in results[1]["content"][1]["text"]
    for s, _ in servers:
        s.wait_no_descendants()


# -- who is root ----------------------------------------------------------------------------------


SYSTEM = [("dnf", "dnf", "install"), ("apt", "apt-get", "install"), ("opkg", "opkg", "install"), ("apk", "apk", "add")]


@pytest.mark.parametrize("manager, program, verb", SYSTEM)
def test_who_is_not_root_goes_through_sudo(server, user, manager, program, verb):
    """Not root: `sudo -n`, which never asks."""
    user.box.has(program).has("sudo", text=SUDO)
    text = ran(user.start(server, env=user.box.env), "jq", manager)
    assert text.startswith(f"{program}: <{verb}> ") and text.endswith(f"<jq> in {user.root}\n\nby sudo <-n>")


@pytest.mark.parametrize("sudo, frontend", [(SUDO, "noninteractive"), (NO_VARIABLES, "not set")])
def test_apt_asks_no_questions_by_sudo_either_where_its_rules_allow_the_variable(server, user, sudo, frontend):
    """sudo passes none of our variables on; a rule for apt-get alone refuses them, and is tried without."""
    user.box.has("apt-get", text='#!/bin/sh\necho "${DEBIAN_FRONTEND-not set}: $*"; read line || echo no input\n')
    user.box.has("sudo", text=sudo)
    assert ran(user.start(server, env=user.box.env), "jq", "apt") == \
        f"{frontend}: install -y jq\nno input\n\nby sudo <-n>"


def test_managers_of_the_workspace_need_no_sudo(server, user):
    user.box.has("npm", "bun", "pip").has("sudo", text=SUDO)
    s = user.start(server, env=user.box.env)
    for manager in ("npm", "bun", "pip"):
        assert "sudo" not in ran(s, "x", manager)


@pytest.mark.parametrize("manager, program, verb", SYSTEM)
def test_without_sudo_the_reason_is_told(server, user, manager, program, verb):
    s = user.start(server, env=user.box.has(program).env)
    assert s.failure("workspace_install", packages="jq", manager=manager) == \
        f"{manager} needs root: this server runs as uid {user.uid}, and sudo is not installed here"


@pytest.mark.parametrize("said", [
    "sudo: a password is required",
    'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.',
    "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set",
    "Sorry, user dev is not allowed to execute /usr/bin/apt-get install -y jq as root on box.",
])
def test_where_sudo_cannot_work_its_reason_and_the_remedy_are_told(server, user, said):
    user.box.has("apt-get").has("sudo", text=f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    result = install(user.start(server, env=user.box.env), "jq", "apt")
    assert result["isError"] is True
    assert [block["text"] for block in result["content"]] == [
        said, f"apt needs root: run this server as root, or let uid {user.uid} run apt-get by sudo without a password"]


def test_a_warning_of_sudo_is_not_taken_for_its_refusal(server, user):
    """A host without a name: sudo complains, apt-get runs and fails."""
    user.box.has("apt-get", text="#!/bin/sh\necho 'E: broken' >&2; exit 100\n")
    user.box.has("sudo", text='#!/bin/sh\necho "sudo: unable to resolve host box" >&2\nshift; exec /usr/bin/env "$@"\n')
    result = install(user.start(server, env=user.box.env), "jq", "apt")
    texts = [block["text"] for block in result["content"]]
    assert texts == ["sudo: unable to resolve host box\nE: broken",
                     "if a package is not known: `apt-get update` fetches the lists of packages"]


# -- a real pip -----------------------------------------------------------------------------------


def wheel(path, name, version="1.0"):
    """The smallest wheel there is."""
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path / f"{name}-{version}-py3-none-any.whl", "w") as z:
        z.writestr(f"{name}.py", "ANSWER = 42\n")
        z.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        z.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{about}/RECORD", "".join(f"{n},,\n" for n in (f"{name}.py", f"{about}/METADATA", f"{about}/WHEEL",
                                                                  f"{about}/RECORD")))


@pytest.mark.long(12)
def test_a_real_pip_installs_a_local_wheel_and_says_what_it_cannot(server, workspace, tmp_path):
    """Fault 42: its failure is an error."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True)
    s = server(env={"PATH": f"{venv}/bin:/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"})
    s.patience = 60
    wheel(workspace, "tiny_thing")
    assert ran(s, "./tiny_thing-1.0-py3-none-any.whl", "pip").endswith("Successfully installed tiny-thing-1.0")
    assert s.text("terminal_exec", command="python -c 'import tiny_thing; print(tiny_thing.ANSWER)'") == \
        "stdout:\n42\n\n\nexit_code: 0"
    assert "Requirement already satisfied" in ran(s, "tiny_thing>=1.0,<2", "pip3")
    assert "No matching distribution found for no-such-thing" in \
        s.failure("workspace_install", packages="no-such-thing==1.*", manager="pip")


# -- listing --------------------------------------------------------------------------------------


def test_it_is_listed_as_something_that_changes_the_machine(host):
    """M3."""
    tool = next(t for t in host.result("tools/list")["tools"] if t["name"] == "workspace_install")
    hints = tool["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"], hints["openWorldHint"]) == (False, True, True)


def test_read_only_servers_install_nothing(server, box):
    s = server(args=["--read-only"], env=box.has("npm").env)
    assert s.error("tools/call", tool_params("workspace_install", {"packages": "x"}))["code"] == -32602
