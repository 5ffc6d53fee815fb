"""`make dist` and `make install`."""
import hashlib
import os
import stat
import tarfile

from conftest import clean_env, run


def names(tarball):
    with tarfile.open(tarball) as tar:
        return [m.name for m in tar.getmembers()]


def test_two_clones_pack_the_same_bytes(tarballs):
    first, second = (hashlib.sha256(t.read_bytes()).hexdigest() for t in tarballs)
    assert first == second


def test_the_tarball_holds_the_third_party_sources_and_no_build_results(tarballs):
    inside = {name.split("/", 1)[1] for name in names(tarballs[0])}
    assert {"Makefile", "LICENSE", "src/main.c", "vendor/manifest", "vendor/fetch", "vendor/musl/configure",
            "vendor/bearssl/inc/bearssl.h", "vendor/jsmn/jsmn.h", "vendor/jsmn/LICENSE"} <= inside
    assert not [n for n in inside if n.startswith(("build/", "out/", ".git/", "vendor/dl/"))]


def test_the_tarball_names_neither_people_nor_times_of_packing(tarballs):
    with tarfile.open(tarballs[0]) as tar:
        members = tar.getmembers()
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert {m.mtime for m in members} == {1767323045}      # the commit's


def test_the_tarball_builds_without_fetching_anything(offline_build):
    tree, calls = offline_build
    assert calls == ""
    assert os.access(tree / "out/sandstorm-mcp", os.X_OK)


def test_a_changed_third_party_file_is_not_packed(copy_of_tree):
    tree = copy_of_tree()
    with open(tree / "vendor/jsmn/jsmn.h", "a") as file:
        file.write("/* changed */\n")
    done = run("make", "dist", cwd=tree, ok=False)
    assert done.returncode != 0
    assert "vendor/jsmn are not the pinned ones" in done.stderr
    assert not list(tree.glob("out/*.tar.gz"))


def test_install_puts_all_below_destdir_and_prefix(offline_build, tmp_path):
    tree, _ = offline_build
    run("make", "install", f"DESTDIR={tmp_path}", "PREFIX=/opt/x", cwd=tree, env=clean_env())
    top = tmp_path / "opt/x"
    installed = {str(p.relative_to(top)): stat.S_IMODE(p.stat().st_mode) for p in top.rglob("*") if p.is_file()}
    assert installed == {"bin/sandstorm-mcp": 0o755, "share/man/man1/sandstorm-mcp.1": 0o644,
                         "share/bash-completion/completions/sandstorm-mcp": 0o644,
                         "share/zsh/site-functions/_sandstorm-mcp": 0o644,
                         "share/fish/vendor_completions.d/sandstorm-mcp.fish": 0o644}
    assert (top / "bin/sandstorm-mcp").read_bytes() == (tree / "out/sandstorm-mcp").read_bytes()
    assert (top / "share/man/man1/sandstorm-mcp.1").read_text().startswith(".Dd January 2, 2026\n")
