"""Names of branches, remotes and repositories: what is no name is refused before git sees it."""

import pytest

from githelp import git, host, start, tree  # noqa: F401 (fixtures)

NAMES = ["main", "feature/x", "a.b", "v1.0-rc1", "a-b", "a+b", "+a", "a@b", "@a", "a{b}", "café", "测试", "🎉", "a'b", 'a"b',
         "a$(touch no)", "a;b", "a|b", "a&b", "lock", "a.locks", "refs/heads/a", "0123456", "a%b", "a=b", "#1", "a/-b", "~", "",
         "-", "-f", "--edit-description", "-v", "--list", "--mirror", ":dev", "a:b", "+a:b", "a b", " a", "a\t", "a\nb", "a\x7f",
         "a~1", "^a", "a?", "a*", "a[b", "a\\b", "..", "a..b", "a/../b", "@", "a@{b", "@{-1}", ".", "a.", "a/", "/", "/a", "a//b",
         ".a", "a/.b", ".lock", "a.lock", "a.lock/b", "a/b.lock", "a..", "...", "a.b.", "HEAD", "@{u}", "a^{}", "x/@", "@/x"]
TRICKS = [":dev", "+a:b", "+main", "a:b", "-f", "--force", "--delete", "--mirror", "--all", "--tags", "^main", "main:", "*",
          "refs/heads/*", "a b", ""]


def refused(tool, argument, text):
    return text.startswith(f"Invalid arguments for {tool}: {argument}: must ")


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_are_those_of_git(host, git, workspace, name):
    """git check-ref-format --branch is asked about each name, too."""
    git.repository("r")
    git("checkout", "-q", "--detach", at=workspace / "r")
    git("branch", "-q", "-D", "main", at=workspace / "r")
    known = git.run("check-ref-format", "--branch", name, at=git.home).returncode == 0 and name != "@"   # it means HEAD
    result = host.call("git_branch", path="r", name=name)
    text = result["content"][0]["text"]
    assert result["isError"] == (not known)
    assert refused("git_branch", "name", text) == (not known), text
    made = git("for-each-ref", "--format=%(refname)", at=workspace / "r").splitlines()
    assert made == ([f"refs/heads/{name}"] if known else [])


@pytest.mark.parametrize("name", ["--edit-description", "-v", "--list", "--mirror", "-D", "-m", ":dev", "+a:b"])
def test_branch_options_do_nothing(host, git, workspace, name):
    """Fault 38: the editor waited 30 seconds, options ran."""
    path = git.repository("r")
    git("branch", "dev", at=path)
    assert refused("git_branch", "name", host.failure("git_branch", path="r", name=name))
    assert git("branch", "--format=%(refname:short)", at=path).split() == ["dev", "main"]


@pytest.mark.parametrize("name", ["-f", ".", "-bX", "--", "--ours", "f.txt", "./f.txt", "*.txt", ":/", ":(top)", "no-such"])
def test_checkout_never_throws_changes_away(host, git, workspace, name):
    """Fault 38: "." threw local changes away and said success."""
    path = git.repository("r")
    (path / "f.txt").write_text("mine\n")
    host.failure("git_checkout", path="r", branch=name)
    assert (path / "f.txt").read_text() == "mine\n"
    assert git("branch", "--format=%(refname)", at=path) == "refs/heads/main"


def test_checkout_refuses_what_would_overwrite_changes_in_gits_words(host, git, workspace):
    path = git.repository("r")
    git("checkout", "-q", "-b", "dev", at=path)
    git.commit(path, "second", **{"f.txt": "two\n"})
    (path / "f.txt").write_text("mine\n")
    assert "would be overwritten by checkout" in host.failure("git_checkout", path="r", branch="main")


def test_a_file_and_a_branch_of_the_same_name_are_no_question(host, git, workspace):
    """Decision 54: "--" stands at the end."""
    path = git.repository("r", main="x", dev="x")
    git("branch", "dev", at=path)
    (path / "dev").write_text("mine")
    assert "Switched to branch 'dev'" in host.text("git_checkout", path="r", branch="dev")
    assert (path / "dev").read_text() == "mine"


def test_a_branch_that_only_the_remote_has_is_made(host, git, workspace):
    git("branch", "dev", at=git.repository("seed"))
    git("clone", "-q", "seed", "r")
    assert "Switched to a new branch 'dev'" in host.text("git_checkout", path="r", branch="dev")


@pytest.mark.parametrize("tool", ["git_push", "git_pull"])
@pytest.mark.parametrize("branch", TRICKS)
def test_a_refspec_deletes_and_forces_nothing(host, git, workspace, tool, branch):
    """Fault 38: ":dev" deleted the branch of the remote."""
    git("branch", "dev", at=git.repository("seed"))
    bare = git.bare("origin.git", of="seed")
    git("clone", "-q", "origin.git", "r")
    before = git("for-each-ref", at=bare), git("for-each-ref", at=workspace / "r")
    assert refused(tool, "branch", host.failure(tool, path="r", branch=branch))
    assert (git("for-each-ref", at=bare), git("for-each-ref", at=workspace / "r")) == before


@pytest.mark.parametrize("tool, remote, branch", [
    ("git_push", "--receive-pack=touch ran;", "../origin.git"), ("git_pull", "--upload-pack=touch ran;", "../origin.git"),
    ("git_push", "--exec=touch ran;", None), ("git_push", "ext::sh -c touch% ran", None), ("git_pull", "ext::touch ran", None),
    ("git_pull", "fd::0", None), ("git_push", "-o", "x"), ("git_pull", "--all", None),
])
def test_a_remote_is_no_option_and_no_command(host, git, workspace, tool, remote, branch):
    """Fault 37: the command ran."""
    git.repository("r")
    git.bare("origin.git", of="r")
    arguments = {"remote": remote} if branch is None else {"remote": remote, "branch": branch}
    text = host.failure(tool, path="r", **arguments)
    assert refused(tool, "remote", text) or refused(tool, "branch", text)
    assert not [name for name in tree(workspace) if name.endswith("ran")]


@pytest.mark.parametrize("branch", ["-b", "--upload-pack=touch ran", "", "a b", "a:b", "HEAD"])
def test_clone_takes_no_option_for_a_branch(host, git, workspace, branch):
    git.repository("r")
    assert refused("git_clone", "branch", host.failure("git_clone", repo_url="r", path="c", branch=branch))
    assert not (workspace / "c").exists()


@pytest.mark.parametrize("url", ["--upload-pack=touch ran", "-u", "ext::sh -c touch% ran", "ext::", "fd::0", "https::x",
                                 "foo://x", "HTTPS://x", "transport::x", "ssh://-oProxyCommand=touch ran/x", "-h:x",
                                 "u@-oProxyCommand=touch:x", "", "~/r", "https://h/a\nb", "file://host/r"])
def test_clone_takes_no_option_and_no_helper_for_an_address(host, git, workspace, url):
    """host-tools.md section 8: ext:: was refused by git's default, which a configuration changes."""
    git.add_config("[protocol]\n\tallow = always\n")
    git.repository("r")
    assert refused("git_clone", "repo_url", host.failure("git_clone", repo_url=url, path="c"))
    assert not [name for name in tree(workspace) if name.endswith("ran")] and not (workspace / "c").exists()


def test_a_remote_may_have_any_name_git_gives_it(host, git, workspace):
    git.bare("origin.git", of=git.repository("seed"))
    git("clone", "-q", "origin.git", "r")
    git("remote", "rename", "origin", "team/mine.1", at=workspace / "r")
    assert "Already up to date." in host.text("git_pull", path="r", remote="team/mine.1", branch="main")
    assert host.text("git_push", path="r", remote="team/mine.1", branch="main") == "Everything up-to-date"


def test_a_remote_that_is_not_there_is_told_in_gits_words(host, git):
    git.repository("r")
    assert "'origin' does not appear to be a git repository" in host.failure("git_push", path="r", branch="main")
    assert "'nope' does not appear to be a git repository" in host.failure("git_pull", path="r", remote="nope", branch="main")


def test_head_can_be_pushed(host, git, workspace):
    git.bare("origin.git")
    git("clone", "-q", "origin.git", "r")
    git.commit(workspace / "r", "first", f="x")
    assert "[new branch]      HEAD -> main" in host.text("git_push", path="r", branch="HEAD")
