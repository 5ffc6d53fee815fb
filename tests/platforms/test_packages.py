"""What packagers use (issue 9, points 5 and 6): `make install`, the recipes for OpenWrt and Alpine. The feed's Makefile is read
by make itself with stand-ins for what it includes, the APKBUILD by a shell; both install what this tree has built.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess

import pytest

from installing import REPOSITORY, native  # noqa: F401, a fixture

SCRIPTS = REPOSITORY / "scripts"
URL = "https://example.org/releases"


def run(*argv, env=None, **more):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")} | (env or {})
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, env=env, **more)
    assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tree(root):
    """Path below root -> mode, of files."""
    return {str(p.relative_to(root)): stat.S_IMODE(p.stat().st_mode) for p in sorted(root.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("init, files", [
    (None, {}),
    ("systemd", {"usr/lib/systemd/system/sandstorm-mcp.service": 0o644, "usr/lib/systemd/system/sandstorm-mcp.socket": 0o644}),
    ("openrc", {"usr/lib/sandstorm-mcp/run": 0o755, "etc/init.d/sandstorm-mcp": 0o755}),
    ("procd", {"etc/init.d/sandstorm-mcp": 0o755, "etc/config/sandstorm-mcp": 0o644}),
    ("busybox", {"usr/lib/sandstorm-mcp/run": 0o755}),
])
def test_make_install_puts_the_program_and_what_the_init_reads(tmp_path, init, files):
    run("make", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", *([f"INIT={init}"] if init else []), cwd=REPOSITORY)
    found = tree(tmp_path)
    assert found.pop("usr/bin/sandstorm-mcp") == 0o755
    assert {path: mode for path, mode in found.items() if "share/" not in path} == files
    for path in files:
        text = (tmp_path / path).read_text()
        assert "/usr/local" not in text and str(tmp_path) not in text


def test_an_unknown_init_is_told(tmp_path):
    done = subprocess.run([SCRIPTS / "install-init", "upstart", tmp_path, "/usr"], capture_output=True, text=True)
    assert done.returncode == 2 and "systemd, openrc, procd or busybox, not upstart" in done.stderr
    assert tree(tmp_path) == {}


# -- recipes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A tarball by name (its content matters to no recipe), and the recipes for it."""
    place = tmp_path_factory.mktemp("release")
    version = re.search(r'SERVER_VERSION "([^"]+)"', (REPOSITORY / "src/version.h").read_text())[1]
    tarball = place / f"sandstorm-mcp-{version}.tar.gz"
    tarball.write_bytes(b"the sources")
    run(SCRIPTS / "recipes", tarball, URL, place)
    return place, version, tarball


def test_recipes_have_the_sums_of_the_tarball(release):
    place, version, tarball = release
    feed, apk = (place / "openwrt/Makefile").read_text(), (place / "alpine/APKBUILD").read_text()
    assert f"PKG_VERSION:={version}\n" in feed and f"pkgver={version}\n" in apk
    assert f"PKG_HASH:={hashlib.sha256(b'the sources').hexdigest()}\n" in feed
    assert f"{hashlib.sha512(b'the sources').hexdigest()}  $pkgname-$pkgver.tar.gz\n" in apk
    for folder in ("openwrt", "alpine"):
        for path in (place / folder).iterdir():
            assert not re.search(r"@[A-Z0-9]+@", path.read_text()), path
            assert os.access(path, os.X_OK) == os.access(SCRIPTS / folder / path.name, os.X_OK)


# What OpenWrt's build system would do with the recipe: tell its variables, compile, install.
PACKAGE_MK = r"""
TARGET_CC := gcc
TARGET_AR := ar
TARGET_RANLIB := ranlib
TARGET_STRIP := strip
TARGET_CFLAGS := -Os -pipe -fno-caller-saves
define BuildPackage
$(eval $(Package/$(1)))
tell:
	@printf '%s\n' 'name $(PKG_NAME)' 'source $(PKG_SOURCE)' 'url $(PKG_SOURCE_URL)' 'hash $(PKG_HASH)' 'licence $(PKG_LICENSE)' \
		'title $(TITLE)' 'section $(SECTION)' 'category $(CATEGORY)' 'conffiles $(strip $(Package/$(1)/conffiles))' \
		'depends $(strip $(DEPENDS))'
compile:
	$$(Build/Compile)
install:
	$$(call Package/$(1)/install,$(DEST))
endef
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The tarball of `make dist`, unpacked: the recipe's flags are its own, so it does not build in this tree."""
    place = tmp_path_factory.mktemp("sources")
    run(SCRIPTS / "dist", place, cwd=REPOSITORY)
    run("tar", "-xzf", *place.glob("*.tar.gz"), "--strip-components=1", cwd=place)
    return place


@pytest.fixture
def feed(release, sources, tmp_path):
    (tmp_path / "top/include").mkdir(parents=True)
    (tmp_path / "top/rules.mk").write_text("INCLUDE_DIR := $(TOPDIR)/include\nARCH := " + os.uname().machine + "\n")
    (tmp_path / "top/include/package.mk").write_text(PACKAGE_MK)

    def make(target, *settings):
        return run("make", "-s", "--warn-undefined-variables", "-f", release[0] / "openwrt/Makefile", target, f"TOPDIR={tmp_path}/top",
                   f"PKG_BUILD_DIR={sources}", *settings, cwd=tmp_path)
    return make


def test_the_feed_recipe_is_read_by_make(feed, release):
    told = dict(line.split(" ", 1) for line in feed("tell").splitlines())
    _, version, tarball = release
    assert told["name"] == "sandstorm-mcp" and told["source"] == tarball.name and told["url"] == URL
    assert re.fullmatch(r"[0-9a-f]{64}", told["hash"])
    assert told["section"] == "net" and told["category"] == "Network" and told["depends"] == ""
    assert len(told["title"]) <= 60         # menuconfig cuts longer ones
    assert told["conffiles"].split() == ["/etc/config/sandstorm-mcp", "/etc/sandstorm-mcp.env", "/etc/sandstorm-mcp.tls/"]
    written = run("sh", SCRIPTS / "install.sh", "--init", "procd", "--print", "procd")
    assert "ENV_FILE=/etc/sandstorm-mcp.env" in written and "TLS=/etc/sandstorm-mcp.tls\n" in written


def test_the_feed_recipe_builds_and_installs(feed, tmp_path):
    feed("compile")
    feed("install", f"DEST={tmp_path}/root")
    found = {path: mode for path, mode in tree(tmp_path / "root").items() if "share/" not in path}
    assert found == {"usr/bin/sandstorm-mcp": 0o755, "etc/init.d/sandstorm-mcp": 0o755, "etc/config/sandstorm-mcp": 0o644}
    assert "BIN=/usr/bin/sandstorm-mcp\n" in (tmp_path / "root/etc/init.d/sandstorm-mcp").read_text()
    run(tmp_path / "root/usr/bin/sandstorm-mcp", "--version")


ASH = ["busybox", "ash"]
APK_FUNCTIONS = 'set -eu; . "$1"; shift; '


def apk(release, *functions, cwd=REPOSITORY, **env):
    """The recipe as abuild sources it, in busybox ash."""
    return run(*ASH, "-c", APK_FUNCTIONS + "; ".join(functions), "abuild", release[0] / "alpine/APKBUILD", cwd=cwd, env=env)


def test_the_apkbuild_has_what_abuild_asks_for(release):
    place, version, tarball = release
    run(*ASH, "-n", place / "alpine/APKBUILD")
    names = "pkgname pkgver pkgrel pkgdesc url arch license install subpackages source sha512sums".split()
    told = dict(line.split("=", 1) for line in apk(release, *(f'echo "{name}="$(echo ${name})' for name in names)).splitlines())
    assert told["pkgver"] == version and told["source"] == f"{URL}/{tarball.name}" and told["pkgrel"].isdigit()
    assert len(told["pkgdesc"]) < 128 and told["license"] == "Apache-2.0 AND MIT"
    digest, name = told["sha512sums"].split()
    assert (digest, name) == (hashlib.sha512(b"the sources").hexdigest(), tarball.name)
    for script in told["install"].split():
        run(*ASH, "-n", place / "alpine" / script)
    assert subprocess.run(["shellcheck", place / "alpine/APKBUILD"]).returncode == 0


def test_the_apkbuild_builds_checks_and_installs(release, tmp_path):
    apk(release, "build", "check", "package", pkgdir=str(tmp_path / "root"))
    found = {path: mode for path, mode in tree(tmp_path / "root").items() if "share/" not in path or "licenses" in path}
    assert found == {"usr/bin/sandstorm-mcp": 0o755, "usr/lib/sandstorm-mcp/run": 0o755, "etc/init.d/sandstorm-mcp": 0o755,
                     "usr/share/licenses/sandstorm-mcp/LICENSE": 0o644}
    assert "user=sandstorm-mcp\n" in (tmp_path / "root/usr/lib/sandstorm-mcp/run").read_text()


def test_each_machine_gets_a_token_of_its_own_and_keeps_it(release, native, tmp_path):
    """The scripts around the installation, in a root of their own with busybox alone."""
    root = tmp_path / "root"
    for name in ("bin", "etc", "usr/bin"):
        (root / name).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox"), root / "bin/busybox")
    shutil.copy2(native, root / "usr/bin/sandstorm-mcp")
    shutil.copytree(release[0] / "alpine", root / "recipe")

    def script(name):
        run("chroot", root, "/bin/busybox", "env", "-i", "PATH=/bin:/usr/bin", "/bin/busybox", "ash", f"/recipe/sandstorm-mcp.{name}")
    script("pre-install")
    script("post-install")
    settings = root / "etc/sandstorm-mcp.env"
    first = settings.read_text()
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert re.fullmatch(r"SANDSTORM_MCP_TOKEN=[\w-]{43}\nSANDSTORM_WORKSPACE_ROOT=/var/lib/sandstorm-mcp\n", first)
    script("post-install")
    assert settings.read_text() == first
