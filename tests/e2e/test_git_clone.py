"""git_clone: where it may clone from, where to, and that a failed one leaves nothing behind."""

import os
import shutil
import signal
import time

import pytest

from fshelp import OtherUser, outside
from githelp import copied, git, host, program, silent_server, start, tree  # noqa: F401 (fixtures)
from mcpwire import first_text, wait_until
from process import Pings, busy

GRACE = 1.0     # between TERM and KILL


@pytest.fixture
def silent():
    with silent_server() as (port, taken):
        yield f"http://127.0.0.1:{port}/x.git", taken


@pytest.fixture
def secret(git, tmp_path):
    """A repository beside the root."""
    git.repository(tmp_path.resolve() / "secret", word="hidden")
    return tmp_path.resolve() / "secret"


# -- from where ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "{}/", "{}/.git", "//{}", "../secret", "./../secret", "x/../../secret", "file://{}", "file:///{}",
                                  "file://{}/", "file:///.{}", "{root}/../secret"])
def test_a_repository_outside_of_the_root_is_not_cloned(host, workspace, secret, form):
    """Fault 65: any readable repository of the machine could be cloned, by path or by file://."""
    url = form.format(secret, root=workspace)
    text = host.failure("git_clone", repo_url=url, path="c")
    if form == "{root}/../secret" or not url.startswith("file:"):
        assert text == outside(url, workspace)
    else:
        assert text == outside(url.removeprefix("file://"), workspace)
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("form", ["file://{}/../secret", "file://{}/%2e%2e/secret", "file://{}%2f..%2fsecret", "file://localhost{}",
                                  "file://{}%00"])
def test_a_file_url_finds_no_way_around(host, workspace, secret, form):
    """Fault 65: git decodes escapes before it opens the path."""
    text = host.failure("git_clone", repo_url=form.format(workspace), path="c")
    assert text.startswith("Invalid arguments for git_clone: repo_url: must ")
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("link, url", [
    ("link", "link"), ("link", "./link"), ("link", "file://{}/link"), ("link", "file://{}/%6cink"), ("link.git", "link"),
    ("r/.git", "r"), ("up/r", "up/r"), ("a:b", "a:b"), ("https:", "https://x/y"),
    ("a:b.git", "a:b"), ("a:b.bundle", "a:b"), ("a:b.git/.git", "a:b"), ("me@a:b.git", "me@a:b"),
    ("link.git", "link/"), ("link.git", "link/."), ("link.git", "x/../link"), ("link.bundle", "link/."),
    ("link.git", "file://{}/link/"), ("link/..git", "file://{}/link/."), ("link/..git", "file://{}/link/%2e"),
])
def test_a_link_out_of_the_root_is_no_way_around(host, workspace, secret, link, url):
    """Fault 65, fault 2: also where git would try another name for the one given."""
    (workspace / link).parent.mkdir(parents=True, exist_ok=True)
    (workspace / link).symlink_to(secret / ".git" if link == "r/.git" else secret)
    text = host.failure("git_clone", repo_url=url.format(workspace), path="c")
    assert "is outside the allowed directory" in text or "must not begin with what is also a file" in text
    assert not (workspace / "c").exists()


@pytest.mark.parametrize("url", ["r", "./r", "r/", "r/.git", "{}/r", "x/../r", "file://{}/r", "file://{}/%72", "link", "{}//r/."])
def test_a_repository_inside_of_the_root_is_cloned(host, git, workspace, url):
    git.repository("r")
    (workspace / "link").symlink_to("r")
    host.text("git_clone", repo_url=url.format(workspace), path="c")
    assert (workspace / "c/f.txt").read_text() == "one\n"


def test_what_is_checked_is_what_git_gets(host, git, workspace, tmp_path):
    """".." behind a link means one thing as text and another to the kernel."""
    git.repository("r")
    git.repository(tmp_path.resolve() / "r2", word="hidden")
    (tmp_path / "deep").mkdir()
    (workspace / "sub").mkdir()
    (workspace / "sub/link").symlink_to(workspace)
    host.text("git_clone", repo_url="sub/link/../../r", path="c")       # the kernel's way leads out of the root
    assert (workspace / "c/f.txt").exists()


@pytest.mark.parametrize("url", [".", "{root}", "sub/..", "./", "file://{root}", "file://{root}/"])
def test_the_root_can_be_cloned_into_itself(start, git, workspace, url):
    """The text said that the root was outside of the root, or root.git beside it was cloned: git looks for that, too."""
    git("init", "-q")
    git.commit(workspace, "first", **{"f.txt": "one\n"})
    neighbour = git.bare(f"../{workspace.name}.git")
    (workspace / "sub").mkdir()
    s = start()
    s.text("git_clone", repo_url=url.format(root=workspace), path="new")
    assert (workspace / "new/f.txt").read_text() == "one\n"
    assert s.text("git_pull", remote=str(workspace), branch="main", path="new").startswith("Already up to date.")
    shutil.rmtree(workspace / ".git")
    assert neighbour.exists()
    assert "does not " in s.failure("git_clone", repo_url=url.format(root=workspace), path="other")


def test_a_bundle_is_cloned(host, git, workspace):
    git("bundle", "create", workspace / "r.bundle", "HEAD", "main", at=git.repository("r"))
    host.text("git_clone", repo_url="r.bundle", path="c")
    assert (workspace / "c/f.txt").exists()


def test_a_shallow_repository_works(host, git, workspace):
    path = git.repository("seed")
    git.commit(path, "second", g="x")
    git("clone", "-q", "--depth", "1", f"file://{path}", "r")
    host.text("git_clone", repo_url="r", path="c")
    assert host.text("git_log", path="c").count("\n") == 1


def test_a_submodule_is_not_fetched_by_itself(host, git, workspace, secret):
    """Its address may be any path of the machine."""
    path = git.repository("r")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", secret, "sub", at=path)
    git("commit", "-qm", "with a submodule", at=path)
    git.add_config("[submodule]\n\trecurse = true\n[protocol \"file\"]\n\tallow = always\n")
    host.text("git_clone", repo_url="r", path="c")
    assert list((workspace / "c/sub").iterdir()) == []
    assert "hidden" not in "".join(tree(workspace / "c"))
    assert host.text("git_diff", path="c") == "(no changes)" and "working tree clean" in host.text("git_status", path="c")


# -- to where --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.git", "r.git/", "./r.git", "{}/r.git", "file://{}/r.git", "file://{}/r.git/"])
def test_without_a_path_the_directory_gets_the_name_git_gives_it(host, git, workspace, name):
    git.bare("r.git", of=git.repository("seed"))
    assert host.text("git_clone", repo_url=name.format(workspace)).startswith("Cloning into 'r'...")
    assert (workspace / "r/f.txt").exists()


@pytest.mark.parametrize("url", ["r", "r.git", "a b.git", "deep/er/r.git", "r/.git", "r.git/.git", "./r/.git/"])
def test_the_name_is_that_of_git(host, git, workspace, tmp_path, url):
    """What git itself makes of the address, run elsewhere."""
    copied(git.repository("seed"), workspace / url.removesuffix("/").removesuffix("/.git"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git("clone", "-q", f"{workspace}/{url}", at=elsewhere)
    name, = os.listdir(elsewhere)
    if (workspace / name).exists():
        assert "already exists and is not an empty directory" in host.failure("git_clone", repo_url=url)
    else:
        host.text("git_clone", repo_url=url)
        assert (workspace / name / "f.txt").exists()


def test_an_address_without_a_name_needs_a_path(host, workspace):
    for url in ("https://", "https://:80/"):
        assert host.failure("git_clone", repo_url=url) == \
            "Invalid arguments for git_clone: path: must be given, the address ends with no name"
    assert list(workspace.iterdir()) == []


def test_parents_are_made_and_an_empty_directory_is_taken(host, git, workspace):
    git.repository("r")
    (workspace / "empty").mkdir()
    host.text("git_clone", repo_url="r", path="p/q/c")
    host.text("git_clone", repo_url="r", path="empty")
    assert (workspace / "p/q/c/f.txt").exists() and (workspace / "empty/f.txt").exists()


def test_the_path_rule_holds_for_where_it_clones_to(host, git, workspace, tmp_path):
    """Fault 2."""
    git.repository("r")
    (tmp_path / "out").mkdir()
    (workspace / "link").symlink_to(tmp_path / "out")
    for path in ("../c", "/tmp/c", "link", "link/c"):
        assert host.failure("git_clone", repo_url="r", path=path) == outside(path, workspace)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_directory_that_is_not_empty_stays_as_it_is(host, git, workspace):
    git.repository("r")
    (workspace / "c/sub").mkdir(parents=True)
    (workspace / "c/sub/mine").write_text("x")
    (workspace / "file").write_text("x")
    before = tree(workspace)
    assert "already exists and is not an empty directory" in host.failure("git_clone", repo_url="r", path="c")
    assert "already exists" in host.failure("git_clone", repo_url="r", path="file")
    assert tree(workspace) == before


def test_a_branch_or_a_tag_is_checked_out(host, git, workspace):
    path = git.repository("r")
    git("checkout", "-q", "-b", "dev", at=path)
    git.commit(path, "second", g="x")
    git("tag", "v1", at=path)
    git("checkout", "-q", "main", at=path)
    host.text("git_clone", repo_url="r", path="c", branch="dev")
    assert (workspace / "c/g").exists()
    assert "detached HEAD" in host.text("git_clone", repo_url="r", path="d", branch="v1")
    text = host.failure("git_clone", repo_url="r", path="e", branch="nope")
    assert "Remote branch nope not found" in text and not (workspace / "e").exists()


# -- failures leave nothing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [None, "c", "p/q/c", "there/c"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x.git", "nope", "file://{}/nope", "file.txt"])
def test_a_failed_clone_leaves_no_directory_behind(host, workspace, url, path):
    """Fault 39: the parents that were made for it go, too."""
    (workspace / "there").mkdir()
    (workspace / "file.txt").write_text("no repository")
    arguments = {} if path is None else {"path": path}
    text = host.failure("git_clone", repo_url=url.format(workspace), **arguments)
    assert text == f"Error: {workspace}/nope: No such file or directory" if url.startswith("file:") else "fatal: " in text
    assert tree(workspace) == ["file.txt", "there"]


def test_a_failed_clone_leaves_an_empty_directory_that_was_there(host, workspace):
    """Fault 39."""
    (workspace / "c").mkdir()
    inode = os.stat(workspace / "c").st_ino
    host.failure("git_clone", repo_url="http://127.0.0.1:1/x.git", path="c")
    assert tree(workspace) == ["c"] and os.stat(workspace / "c").st_ino == inode


def test_the_next_try_works(host, git, workspace):
    """Fault 39: it said that the directory exists."""
    host.failure("git_clone", repo_url="http://127.0.0.1:1/x.git", path="c")
    host.text("git_clone", repo_url=str(git.repository("r")), path="c")


def test_a_broken_repository_leaves_nothing(host, git, workspace):
    path = git.repository("r", **{f"f{n}": "x" * n for n in range(50)})
    for object in (path / ".git/objects").glob("[0-9a-f][0-9a-f]/*"):
        object.chmod(0o600)
        object.write_bytes(b"broken")
    host.failure("git_clone", repo_url=f"file://{path}", path="c")
    assert not (workspace / "c").exists()


def start_clone(host, workspace, silent, path="c", **more):
    """A clone from a server that never answers, up to where its request has arrived."""
    id = host.start_call("git_clone", repo_url=silent[0], path=path, **more)
    wait_until(lambda: silent[1] and (workspace / path / ".git").exists(), "the clone to connect")
    return id


def test_a_cancelled_clone_is_ended_and_leaves_nothing(host, workspace, silent):
    """Fault 39, G10: a server that never answers; git-remote-http ends with its group."""
    id = start_clone(host, workspace, silent, path="p/c")
    host.cancel(id)
    host.wait_no_descendants(GRACE + 1)
    wait_until(lambda: not tree(workspace), "nothing left")
    assert host.fence() == []
    assert host.zombies() == []


@pytest.mark.long(122)
def test_the_time_limit_of_a_clone_is_two_minutes_and_leaves_nothing(host, workspace, silent):
    """Fault 39: 120 s, KILL, half a .git stayed."""
    host.patience = 130
    began = time.monotonic()
    text = host.failure("git_clone", repo_url=silent[0], path="c")
    assert text == f"Cloning into '{workspace}/c'...\ntimeout after 120s"
    assert 119 < time.monotonic() - began < 120 + 4 * busy()
    assert tree(workspace) == []


STUBBORN = """case "$*" in *config*) exit 1 ;; esac
for dir; do :; done
trap '' TERM
mkdir -p "$dir/.git/objects/xx" && echo half > "$dir/.git/objects/xx/pack" && echo file > "$dir/file" && chmod 555 "$dir/.git/objects/xx"
echo "Cloning into '$dir'..." >&2
while :; do sleep 0.05; done"""


@pytest.mark.parametrize("was_there", [False, True])
def test_what_a_killed_git_leaves_is_removed(start, workspace, tmp_path, was_there):
    """Fault 39: a git that does not clean up, since KILL ends it."""
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', STUBBORN)}:{os.environ['PATH']}"})
    if was_there:
        (workspace / "c").mkdir()
    (workspace / "beside").write_text("x")
    id = s.start_call("git_clone", repo_url="https://127.0.0.1:1/x", path="c")
    wait_until(lambda: (workspace / "c/file").exists(), "half a clone")
    s.cancel(id)
    s.wait_no_descendants(GRACE + 2)
    wait_until(lambda: tree(workspace) == (["beside", "c"] if was_there else ["beside"]), "the rest to be removed")
    assert s.fence() == []


@pytest.mark.long(8)
def test_a_failing_git_that_leaves_much_is_cleaned_up_after_while_others_are_served(start, workspace, tmp_path):
    """Decision 41: removing a tree is not the loop's work."""
    script = STUBBORN.replace("while :; do sleep 0.05; done", "cd \"$dir\"; seq -f n%g 20000 | xargs touch; exit 3")
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', script)}:{os.environ['PATH']}"})
    id = s.start_call("git_clone", repo_url="https://127.0.0.1:1/x", path="c")
    pings = Pings(s, start())
    while not any(isinstance(m.value, dict) and m.value.get("id") == id for m in s.history):
        pings.once()
    assert first_text(s.wait(id)["result"]).startswith("Cloning into")
    assert pings.delay() < 0.3 * busy() and tree(workspace) == []


def test_a_directory_that_took_its_place_is_not_removed(start, workspace, tmp_path):
    """What another call has made meanwhile under the same name is not ours."""
    s = start(env={"PATH": f"{program(tmp_path / 'bin', 'git', STUBBORN)}:{os.environ['PATH']}"})
    id = s.start_call("git_clone", repo_url="https://127.0.0.1:1/x", path="p/c")
    wait_until(lambda: (workspace / "p/c/file").exists(), "half a clone")
    (workspace / "p/c").rename(workspace / "moved")
    (workspace / "p/c").mkdir()
    (workspace / "p/c/mine").write_text("x")
    s.cancel(id)
    s.wait_no_descendants(GRACE + 2)
    assert s.fence() == []
    assert (workspace / "p/c/mine").read_text() == "x"


def test_two_clones_into_one_directory_do_not_meet(host, git, workspace, silent):
    """The second is refused or told by git; the first goes on undisturbed."""
    git.repository("r")
    (workspace / "c").mkdir()
    first = start_clone(host, workspace, silent)
    text = host.failure("git_clone", repo_url="r", path="c")
    assert "already exists and is not an empty directory" in text or text == \
        f"Error: {workspace}/c: another git_clone is writing there"
    assert (workspace / "c/.git").exists()
    host.cancel(first)
    wait_until(lambda: not list((workspace / "c").iterdir()), "the clone to be taken back")


def test_many_clones_into_one_directory_leave_one_whole_one(host, git, workspace):
    git.repository("r")
    ids = [host.start_call("git_clone", repo_url=f"file://{workspace}/r", path="c") for _ in range(8)]
    results = [host.wait(id)["result"] for id in ids]
    assert sorted(r["isError"] for r in results) == [False] + [True] * 7
    assert git("status", "--porcelain", at=workspace / "c") == "" and (workspace / "c/f.txt").exists()


def test_a_clone_ends_with_the_server_and_leaves_nothing(start, workspace, silent):
    """Fault 33: TERM during a call."""
    s = start()
    id = start_clone(s, workspace, silent, path="p/c")
    s.signal(signal.SIGTERM)
    assert s.wait(id)["error"]["code"] == -32603
    assert s.wait_exit() == 0
    assert tree(workspace) == [] and s.descendants() == []


def test_where_nothing_can_be_made_the_reason_is_told(server, binary):
    """Fault 39: no half of the way is left either."""
    user = OtherUser(binary)
    try:
        os.chmod(user.root, 0o755)
        (user.root / "closed").mkdir(mode=0o755)
        s = user.start(server, env={"HOME": str(user.root)})
        text = s.failure("git_clone", repo_url="https://127.0.0.1:1/x", path="closed/p/c")
        assert text == f"Error: [Errno 13] Permission denied: '{user.root}/closed/p/c'"
        assert os.listdir(user.root / "closed") == []
    finally:
        user.remove()


def test_clones_give_back_their_descriptors(host, git, workspace):
    git.repository("r")
    host.text("git_clone", repo_url="r", path="warm")
    before = host.fd_count()
    for n in range(5):
        host.text("git_clone", repo_url="r", path=f"c{n}")
        host.failure("git_clone", repo_url="nope", path=f"d{n}")
        host.failure("git_clone", repo_url="../x", path=f"e{n}")
    wait_until(lambda: host.fd_count() == before, "descriptors given back")
