"""scripts/need: what is missing is named, or installed, never left to the compiler to find out."""
import shutil

import pytest

from conftest import clean_env, run, script

# what the script itself and a POSIX shell use
TOOLS = ("sh", "cat", "dirname", "mkdir", "printf", "sort", "tr", "sed", "head", "tail", "find", "touch", "env", "rm", "true")


@pytest.fixture
def machine(root, tmp_path):
    """A copy of scripts/need, and a PATH on which only a few tools are: no compiler, no xz, no apt."""
    (tmp_path / "scripts").mkdir()
    shutil.copy2(root / "scripts/need", tmp_path / "scripts/need")
    path = tmp_path / "bin"
    path.mkdir()
    for name in TOOLS:
        (path / name).symlink_to(shutil.which(name))
    script(path / "id", "echo 1000\n")
    return tmp_path


def need(machine, *purposes, **env):
    return run("scripts/need", *purposes, cwd=machine, env={"PATH": str(machine / "bin"), "HOME": "/", **env}, ok=False)


def fake_apt(machine):
    """An apt-get that writes down how it was called and "installs" by making commands."""
    script(machine / "bin/apt-get", f'''
echo "$(id -u) $DEBIAN_FRONTEND $*" >> "{machine}/apt-calls"
case "$*" in
*install*) for p; do case $p in
	gcc) echo >> "{machine}/bin/gcc"; {shutil.which("chmod")} +x "{machine}/bin/gcc";;
	xz-utils) echo >> "{machine}/bin/xz"; {shutil.which("chmod")} +x "{machine}/bin/xz";; esac; done;;
esac
''')


def test_without_root_the_missing_packages_are_named_in_one_sentence(machine):
    fake_apt(machine)
    script(machine / "bin/sudo", "exit 1\n")
    done = need(machine, "build")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == ("need: missing for 'build': gcc xz-utils; install with: "
                           "sudo apt-get install -y --no-install-recommends gcc xz-utils\n")
    assert not (machine / "apt-calls").exists()


def test_without_apt_the_missing_packages_are_named_too(machine):
    script(machine / "bin/id", "echo 0\n")
    done = need(machine, "build")
    assert done.returncode == 1
    assert "gcc xz-utils" in done.stderr and done.stderr.count("\n") == 1


def test_only_what_is_missing_is_named(machine):
    script(machine / "bin/gcc", "")
    assert "build': xz-utils;" in need(machine, "build").stderr


def test_nothing_missing_says_nothing(machine):
    script(machine / "bin/gcc", "")
    script(machine / "bin/xz", "")
    done = need(machine, "build")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_cross_compiler_is_named_by_its_package(machine):
    script(machine / "bin/xz", "")
    assert "gcc-aarch64-linux-gnu;" in need(machine, "build", CC="aarch64-linux-gnu-gcc -mcpu=x").stderr
    assert "gcc-arm-linux-gnueabi;" in need(machine, "build", CC="arm-linux-gnueabi-gcc").stderr
    assert "': clang;" in need(machine, "build", CC="clang").stderr


def test_a_linker_that_has_to_be_a_newer_one(machine):
    """Debian 12 has lld-16 beside its lld, which is 14; later ones have an lld that will do."""
    for name in ("gcc", "xz"):
        script(machine / "bin" / name, "")
    assert need(machine, "build", LINKER="bfd").returncode == 0
    assert "': lld;" in need(machine, "build", LINKER="lld").stderr
    assert "': lld;" in need(machine, "build", LINKER="lld-16").stderr
    script(machine / "bin/apt-cache", '[ "$*" = "show lld-16" ]\n')
    assert "': lld-16;" in need(machine, "build", LINKER="lld-16").stderr
    script(machine / "bin/ld.lld", "echo 'Debian LLD 14.0.6 (compatible with GNU linkers)'\n")
    assert need(machine, "build", LINKER="lld").returncode == 0
    assert "': lld-16;" in need(machine, "build", LINKER="lld-16").stderr
    script(machine / "bin/ld.lld-16", "")
    assert need(machine, "build", LINKER="lld-16").returncode == 0
    (machine / "bin/ld.lld-16").unlink()
    script(machine / "bin/ld.lld", "echo 'LLD 19.1.7 (compatible with GNU linkers)'\n")
    assert need(machine, "build", LINKER="lld-16").returncode == 0


@pytest.mark.parametrize("user, calls_as", [("root", "0"), ("sudo", "1000")])
def test_root_and_sudo_install_what_is_missing_without_a_question(machine, user, calls_as):
    fake_apt(machine)
    script(machine / "bin/id", f"echo {calls_as}\n")
    script(machine / "bin/sudo", '[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n')
    done = need(machine, "build")
    assert done.returncode == 0, done.stderr
    update, install = (machine / "apt-calls").read_text().splitlines()
    assert update.startswith(f"{calls_as} noninteractive -q -y ") and update.endswith(" update")
    assert install.endswith(" install --no-install-recommends gcc xz-utils")


def test_lists_are_brought_up_to_date_only_once(machine):
    fake_apt(machine)
    script(machine / "bin/id", "echo 0\n")
    need(machine, "build")
    (machine / "bin/gcc").unlink()
    need(machine, "build")
    assert [c.split()[-1] for c in (machine / "apt-calls").read_text().splitlines()] == ["update", "xz-utils", "gcc"]


def test_a_failed_installation_shows_what_apt_said(machine):
    script(machine / "bin/id", "echo 0\n")
    script(machine / "bin/apt-get", 'case "$*" in *install*) echo "E: no such luck"; exit 100;; esac\n')
    done = need(machine, "build")
    assert done.returncode == 1
    assert "E: no such luck" in done.stderr


def test_an_unknown_purpose_is_refused(machine):
    assert need(machine, "world-peace").returncode == 2


def test_make_without_a_compiler_names_the_package_and_stops(copy_of_tree, machine):
    tree = copy_of_tree(clone=False)
    bin_ = machine / "bin"
    for name in ("make", "uname", "nproc", "cmp", "xz"):
        (bin_ / name).symlink_to(shutil.which(name))
    done = run("make", cwd=tree, env=clean_env(PATH=str(bin_)), ok=False)
    assert done.returncode == 2
    assert "missing for 'build': gcc; install with: sudo apt-get install" in done.stderr
    complaints = [l for l in done.stderr.splitlines() if not l.startswith(("need:", "make: ***"))]
    assert complaints == []
