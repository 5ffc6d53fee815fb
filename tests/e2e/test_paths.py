"""Where paths lead: the grammar, the two spellings of the root, and that no tool ever gets out of it.

P rows are those of the field cases, faults those of the list of the reference's faults.
"""

import ctypes
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from fshelp import OtherUser, outside
from mcpwire import first_text

PATH_TOO_LONG = "x/" * 2500
TOO_LONG = "Filename too long"      # as musl words it
LOOP = "Symbolic link loop"         # likewise
RENAME_EXCHANGE = 2


@pytest.fixture
def elsewhere(tmp_path):
    """A directory beside the workspace, with a secret."""
    path = tmp_path.resolve() / "elsewhere"
    path.mkdir()
    (path / "secret").write_text("secret")
    return path


def untouched(elsewhere):
    return sorted(os.listdir(elsewhere)) == ["secret"] and (elsewhere / "secret").read_text() == "secret"


# Every way to name a path to every tool: (tool, arguments with the path as {}).
CALLS = [
    ("file_read", {"path": "{}"}),
    ("file_write", {"path": "{}", "content": "x"}),
    ("file_delete", {"path": "{}"}),
    ("file_list", {"path": "{}"}),
    ("file_list", {"path": "{}", "recursive": True}),
    ("file_move", {"source": "{}", "dest": "moved"}),
    ("file_move", {"source": "mine", "dest": "{}"}),
    ("file_mkdir", {"path": "{}"}),
]
CALL_IDS = ["read", "write", "delete", "list", "list-recursive", "move-from", "move-to", "mkdir"]


def fill(arguments, path):
    return {k: v.format(path) if isinstance(v, str) else v for k, v in arguments.items()}


# -- the grammar ----------------------------------------------------------------------------------

@pytest.mark.parametrize("spelling", [
    "d/f", "./d/f", "d//f", "d/./f", "d/../d/f", "x/../d/f", "d/f/", "{root}/d/f", "{root}//d//f", "//{root}/d/f",
    "{root}/../workspace/d/f", "/..{root}/d/f", "{root}/d/../../workspace/d/f",
])
def test_spellings_of_a_path_are_normalised_as_text(host, workspace, spelling):
    """P1."""
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("here")
    assert host.text("file_read", path=spelling.format(root=workspace)) == "here"


def test_texts_name_the_normalised_absolute_path(host, workspace):
    assert host.text("file_write", path="a//./b/../c", content="") == f"Written 0 bytes to {workspace}/a/c"
    assert host.failure("file_read", path="x/../nope/") == f"Error: {workspace}/nope: No such file or directory"


@pytest.mark.parametrize("path", ["~", "~/x", "$HOME", " blank ", "a b", "q\"'", "-rf", "e\u0301", "*", "a\\b", "a:b"])
def test_characters_that_shells_care_about_are_literal(host, workspace, path):
    """P7."""
    host.text("file_write", path=path, content="x")
    assert (workspace / path).read_text() == "x"
    assert host.text("file_read", path=path) == "x"


@pytest.mark.parametrize("path", ["", ".", "./", "{root}", "{root}/"])
def test_the_empty_path_and_the_dot_are_the_root(host, workspace, path):
    """P10."""
    path = path.format(root=workspace)
    assert host.text("file_list", path=path).startswith("total ")
    assert host.text("file_mkdir", path=path) == f"Created directory {workspace}"
    assert host.failure("file_read", path=path) == f"Error: {workspace}: Is a directory"
    assert host.failure("file_write", path=path, content="") == f"Error: {workspace}: Is a directory"
    assert host.failure("file_delete", path=path) == f"Error: {workspace}: Is a directory"
    assert "into itself" in host.failure("file_move", source=path, dest="x")
    assert workspace.is_dir()


@pytest.mark.parametrize("tool, arguments", CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "..", "/", "{root}2/x", "{root}/../x", "d/../../x", "//etc"])
def test_a_path_outside_is_refused_by_every_tool(host, workspace, tool, arguments, path):
    """P1, host-tools.md section 4: the path is named as it was given."""
    (workspace.parent / (workspace.name + "2")).mkdir()
    (workspace / "mine").write_text("mine")
    path = path.format(root=workspace)
    assert host.failure(tool, **fill(arguments, path)) == outside(path, workspace)
    assert os.listdir(workspace) == ["mine"]
    assert not os.listdir(f"{workspace}2")


@pytest.mark.parametrize("tool, arguments", CALLS, ids=CALL_IDS)
def test_names_and_paths_that_are_too_long_are_errors(host, workspace, tool, arguments):
    """P10: a name of 300 bytes, a path of 5,000."""
    (workspace / "mine").write_text("mine")
    name = "n" * 300
    assert host.failure(tool, **fill(arguments, name)) == f"Error: {workspace}/{name}: {TOO_LONG}"
    text = host.failure(tool, **fill(arguments, PATH_TOO_LONG))
    assert text == f"Error: {PATH_TOO_LONG[:2048]}...: {TOO_LONG}"
    assert os.listdir(workspace) == ["mine"]


def test_a_long_path_that_normalises_to_a_short_one_is_fine(host, workspace):
    host.text("file_write", path="./" * 4000 + "f", content="x")
    assert (workspace / "f").read_text() == "x"
    assert host.failure("file_read", path="./" * 9000 + "../f").endswith(f"outside the allowed directory ({workspace})")


def test_the_deepest_path_the_system_allows_is_reachable(host, workspace):
    """Each step is taken from the directory before, so that only the text is bounded."""
    names = ["d" * 200] * ((4000 - len(str(workspace))) // 201)
    path = "/".join(names)
    host.text("file_write", path=path + "/f", content="deep")
    assert host.text("file_read", path=path + "/f") == "deep"
    assert host.text("file_move", source=path + "/f", dest=path + "/g").endswith("/g")
    assert host.text("file_delete", path=path + "/g").startswith("Deleted ")


# -- links ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("tool, arguments", CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("target", ["{elsewhere}", "../elsewhere", "sub/../../elsewhere"])
def test_no_tool_goes_through_a_link_to_a_directory_outside(host, workspace, elsewhere, tool, arguments, target):
    """Fault 2."""
    (workspace / "mine").write_text("mine")
    (workspace / "sub").mkdir()
    os.symlink(target.format(elsewhere=elsewhere), workspace / "link")
    for path in ("link/secret", "link/new", "link/new/deep"):
        assert host.failure(tool, **fill(arguments, path)) == outside(path, workspace)
    assert untouched(elsewhere)
    assert (workspace / "mine").read_text() == "mine"


@pytest.mark.parametrize("target", ["{elsewhere}/secret", "../elsewhere/secret", "/etc/passwd", "/proc/self/environ"])
def test_a_link_to_a_file_outside_is_not_followed(host, workspace, elsewhere, target):
    """Faults 2, 8 and 19."""
    (workspace / "mine").write_text("mine")
    os.symlink(target.format(elsewhere=elsewhere), workspace / "link")
    for tool, arguments in (("file_read", {}), ("file_write", {"content": "x"}), ("file_list", {}), ("file_mkdir", {})):
        assert host.failure(tool, path="link", **arguments) == outside("link", workspace)
    assert host.failure("file_move", source="mine", dest="link") == outside("link", workspace)
    assert untouched(elsewhere)


def test_a_link_to_an_endless_device_is_not_followed(host, workspace):
    """Fault 19."""
    os.symlink("/dev/zero", workspace / "zero")
    assert host.failure("file_read", path="zero") == outside("zero", workspace)


def test_a_link_that_leads_outside_can_be_deleted_and_moved_itself(host, workspace, elsewhere):
    """P11: the link, not its target."""
    os.symlink(elsewhere, workspace / "link")
    assert host.text("file_move", source="link", dest="other") == f"Moved {workspace}/link → {workspace}/other"
    assert os.readlink(workspace / "other") == str(elsewhere)
    assert host.text("file_delete", path="other") == f"Deleted {workspace}/other"
    assert not os.path.lexists(workspace / "other")
    assert untouched(elsewhere)


@pytest.mark.parametrize("target", [
    "d/f", "./d//f", "d/../d/f", "d/e/../f", "{root}/d/f", "{root}//d/./f", "/{root}/d/e/../f", "other", "back/d/f",
])
def test_links_that_stay_inside_are_followed(host, workspace, target):
    """Fault 2: inside links may resolve, absolute ones too."""
    (workspace / "d" / "e").mkdir(parents=True)
    (workspace / "d" / "f").write_text("found")
    os.symlink("d/f", workspace / "other")
    os.symlink("..", workspace / "d" / "up")
    os.symlink("d/up", workspace / "back")
    os.symlink(target.format(root=workspace), workspace / "link")
    assert host.text("file_read", path="link") == "found"


def test_dots_in_a_link_go_up_from_where_it_leads_not_from_where_it_lies(host, workspace):
    """As the kernel resolves them: `far` is a link, `far/..` is the parent of its target."""
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "f").write_text("beside b")
    (workspace / "f").write_text("at the top")
    os.symlink("a/b", workspace / "far")
    os.symlink("far/../f", workspace / "link")
    assert host.text("file_read", path="link") == "beside b"
    assert host.text("file_read", path="far/../f") == "at the top"      # the client's own dots are text


def test_links_that_go_round_are_an_error(host, workspace):
    os.symlink("b", workspace / "a")
    os.symlink("a", workspace / "b")
    assert host.failure("file_read", path="a") == f"Error: {workspace}/a: {LOOP}"
    assert host.failure("file_write", path="a/x", content="") == f"Error: {workspace}/a/x: {LOOP}"


def test_forty_links_are_followed_and_no_more(host, workspace):
    (workspace / "l0").write_text("end")
    for n in range(41):
        os.symlink(f"l{n}", workspace / f"l{n + 1}")
    assert host.text("file_read", path="l40") == "end"
    assert host.failure("file_read", path="l41") == f"Error: {workspace}/l41: {LOOP}"


def test_a_write_through_a_dangling_link_makes_its_target(host, workspace):
    os.symlink("not/yet", workspace / "link")
    host.text("file_write", path="link", content="now")
    assert (workspace / "not" / "yet").read_text() == "now"
    assert (workspace / "link").is_symlink()


# -- the root -------------------------------------------------------------------------------------

def test_a_root_that_is_a_link_works_in_both_spellings(server, workspace, tmp_path):
    """P2."""
    given = tmp_path.resolve() / "given"
    os.symlink(workspace, given)
    (workspace / "f").write_text("here")
    os.symlink(f"{given}/f", workspace / "by-given")
    os.symlink(f"{workspace}/f", workspace / "by-resolved")
    s = server(root=given)
    for path in ("f", f"{given}/f", f"{workspace}/f", "by-given", "by-resolved"):
        assert s.text("file_read", path=path) == "here"
    assert s.text("file_write", path=f"{given}/g", content="") == f"Written 0 bytes to {given}/g"
    assert s.text("file_write", path="g", content="") == f"Written 0 bytes to {workspace}/g"
    assert s.failure("file_read", path=f"{given}2/f") == outside(f"{given}2/f", workspace)


def test_a_root_given_relative_to_the_working_directory_works(server, workspace):
    (workspace / "f").write_text("here")
    s = server(root="workspace")        # servers start beside it
    assert s.text("file_read", path=f"{workspace}/f") == "here"


def test_a_missing_root_is_made_with_its_parents(server, tmp_path):
    s = server(root=tmp_path / "not" / "there")
    assert s.text("file_write", path="f", content="x").startswith("Written 1 bytes")
    assert (tmp_path / "not" / "there" / "f").read_text() == "x"


@pytest.mark.parametrize("gone", ["removed", "renamed", "not made again"])
def test_a_root_that_was_removed_and_cloned_again_is_worked_in(host, workspace, gone):
    """`rm -rf project; git clone ... project`: nothing was found any more, or the old one was written to under the new name."""
    host.text("file_write", path="f", content="old")
    workspace.rename(workspace.parent / "old") if gone == "renamed" else shutil.rmtree(workspace)
    if gone != "not made again":
        workspace.mkdir()
    assert host.failure("file_read", path="f") == f"Error: {workspace}/f: No such file or directory"
    assert host.text("file_write", path="f", content="new") == f"Written 3 bytes to {workspace}/f"
    assert (workspace / "f").read_text() == "new"
    assert host.text("terminal_exec", command="pwd; cat f") == f"stdout:\n{workspace}\nnew\n\nexit_code: 0"
    assert gone != "renamed" or (workspace.parent / "old" / "f").read_text() == "old"


def test_a_link_in_the_place_of_the_root_leads_nowhere(host, workspace, tmp_path):
    (tmp_path / "other").mkdir()
    workspace.rename(tmp_path / "old")
    workspace.symlink_to(tmp_path / "other")
    host.text("file_write", path="f", content="x")
    assert (tmp_path / "old" / "f").exists() and not (tmp_path / "other" / "f").exists()


def test_the_root_of_the_machine_can_be_the_root(server, workspace):
    """P2, fault 59."""
    s = server(root="/")
    (workspace / "f").write_text("here")
    os.symlink(f"{workspace}/f", workspace / "absolute")
    os.symlink("../../../../../../../../../../.." + str(workspace / "f"), workspace / "above")
    for path in (str(workspace / "f"), str(workspace / "f")[1:], str(workspace / "absolute"), str(workspace / "above"),
                 "../../.." + str(workspace / "f")):
        assert s.text("file_read", path=path) == "here"
    lines = s.text("file_list", path="/").splitlines()
    assert lines[1].endswith(" .") and any(line.endswith(" etc") for line in lines)
    assert s.text("file_list", path=str(workspace), recursive=True).splitlines()[0] == str(workspace)
    assert s.text("file_list", path="/", recursive=True).splitlines()[1].count("/") == 1
    assert s.failure("file_delete", path="/") == "Error: /: Is a directory"


def test_with_the_machine_as_root_devices_and_kernel_files_do_not_hang(server):
    """Faults 18 and 19; a file of /proc says that it is empty, yet it is read."""
    s = server(root="/")
    assert s.failure("file_read", path="/dev/zero") == "Error: /dev/zero: Not a regular file"
    assert s.failure("file_write", path="/dev/null", content="x") == "Error: /dev/null: Not a regular file"
    comm = Path(f"/proc/{s.pid}/comm").read_text()
    assert s.text("file_read", path="/proc/self/comm") == comm
    assert s.failure("file_read", path=f"/proc/{s.pid}/fd/0").startswith("Error: /proc/")


def test_a_root_that_cannot_be_opened_ends_with_code_2_and_one_sentence(cli, tmp_path):
    (tmp_path / "file").write_text("")
    done = cli("--tools", "host", root=tmp_path / "file")
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1 and str(tmp_path / "file") in done.stderr


# -- what is neither file nor directory -----------------------------------------------------------

@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_fifo_or_socket_is_refused_at_once(host, workspace, kind):
    """Fault 18."""
    path = workspace / "it"
    held = socket.socket(socket.AF_UNIX)
    os.mkfifo(path) if kind == "fifo" else held.bind(str(path))
    host.patience = 2
    assert host.failure("file_read", path="it") == f"Error: {path}: Not a regular file"
    assert host.failure("file_write", path="it", content="x") == f"Error: {path}: Not a regular file"
    assert host.text("file_list", path="it")[0] == ("p" if kind == "fifo" else "s")
    assert host.text("file_move", source="it", dest="moved") == f"Moved {path} → {workspace}/moved"
    assert host.text("file_delete", path="moved") == f"Deleted {workspace}/moved"
    held.close()


def test_a_fifo_with_a_writer_and_a_reader_is_refused_too(host, workspace):
    os.mkfifo(workspace / "it")
    held = os.open(workspace / "it", os.O_RDWR)
    os.write(held, b"for somebody else")
    assert host.failure("file_read", path="it") == f"Error: {workspace}/it: Not a regular file"
    assert host.failure("file_write", path="it", content="x") == f"Error: {workspace}/it: Not a regular file"
    assert os.read(held, 100) == b"for somebody else"
    os.close(held)


@pytest.mark.parametrize("tool, arguments", CALLS, ids=CALL_IDS)
def test_a_file_where_a_directory_should_be_is_named(host, workspace, tool, arguments):
    (workspace / "mine").write_text("mine")
    (workspace / "f").write_text("")
    assert host.failure(tool, **fill(arguments, "f/x")) == f"Error: {workspace}/f/x: Not a directory"


# -- permission -----------------------------------------------------------------------------------

@pytest.fixture
def other(binary):
    user = OtherUser(binary)
    yield user
    user.remove()


@pytest.mark.parametrize("tool, arguments", CALLS, ids=CALL_IDS)
def test_what_permission_forbids_has_the_text_of_the_reference(server, other, tool, arguments):
    (other.root / "mine").write_text("mine")
    (other.root / "closed").mkdir()
    (other.root / "closed" / "f").write_text("f")
    other.own(other.root / "mine", other.root / "closed", other.root / "closed" / "f")
    (other.root / "closed").chmod(0)
    s = other.start(server)
    expected = f"Error: [Errno 13] Permission denied: '{other.root}/closed/f'"
    assert s.failure(tool, **fill(arguments, "closed/f")) == expected


# -- races ----------------------------------------------------------------------------------------

def test_a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere_outside(host, workspace, elsewhere):
    """Fault 2 with somebody who is quick: what was a directory at the look is a link at the open."""
    (workspace / "d").mkdir()
    (workspace / "d" / "secret").write_text("inside")
    (workspace / "d" / "marker").write_text("")
    os.symlink(elsewhere, workspace / "link")
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    names = os.fsencode(workspace / "d"), os.fsencode(workspace / "link")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            assert exchange(-1, names[0], -1, names[1], RENAME_EXCHANGE) == 0, os.strerror(ctypes.get_errno())

    swapper = threading.Thread(target=swap)
    swapper.start()
    served = refused = 0
    try:
        for _ in range(300):
            ids = [host.start_call("file_read", path="d/secret"), host.start_call("file_list", path="d"),
                   host.start_call("file_write", path="d/new", content="x"),
                   host.start_call("file_mkdir", path="d/sub/deep"),
                   host.start_call("file_delete", path="d/secret-not")]
            read, listed, *others = [host.wait(id)["result"] for id in ids]
            assert read["isError"] or first_text(read) == "inside"
            assert listed["isError"] or " secret\n" not in first_text(listed) or " marker\n" in first_text(listed)
            served += sum(not answer["isError"] for answer in others)
            refused += sum(answer["isError"] for answer in others)
    finally:
        stop.set()
        swapper.join()
    assert untouched(elsewhere)
    assert served and refused, "the race never came about"
