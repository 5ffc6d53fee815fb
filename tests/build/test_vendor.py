"""vendor/fetch: each source can fail and the next is taken; nothing that is not pinned is ever unpacked."""
import gzip
import hashlib
import http.server
import lzma
import pathlib
import shutil
import threading

import pytest

from conftest import clean_env, run, script

JSMN = "jsmn_1.1.0.orig.tar.gz"         # as Debian names it
JSMN_DIRECT = "jsmn-1.1.0.tar.gz"       # the same bytes under the project's name


@pytest.fixture(scope="session")
def archives(root, tmp_path_factory):
    """The folder with the pinned archives as Debian has them: those fetched for this tree, or fetched now."""
    if (root / "vendor/dl" / JSMN).exists() and len(list((root / "vendor/dl").iterdir())) >= 3:
        return root / "vendor/dl"
    place = tmp_path_factory.mktemp("archives") / "vendor"
    place.mkdir()
    for name in ("apt", "fetch", "manifest"):
        shutil.copy2(root / "vendor" / name, place / name)
    run("./fetch", cwd=place, env=clean_env(VENDOR_ROUTES="debian"))
    return place / "dl"


class Vendor:
    """A vendor/ folder of its own, with tools that fail unless a test gives it better ones."""

    def __init__(self, root, place):
        self.dir = place / "vendor"
        self.dir.mkdir()
        for name in ("apt", "fetch", "manifest"):
            shutil.copy2(root / "vendor" / name, self.dir / name)
        self.bin = place / "bin"
        self.calls_file = place / "calls"
        for name in ("apt-get", "curl", "wget"):
            self.tool(name, "exit 100")

    def tool(self, name, text):
        script(self.bin / name, f'echo "{name} $*" >> "{self.calls_file}"\n{text}\n')

    def real(self, *names):
        for name in names:
            (self.bin / name).unlink()

    def calls(self, word=""):
        text = self.calls_file.read_text() if self.calls_file.exists() else ""
        return [line for line in text.splitlines() if word in line]

    def manifest(self, change):
        path = self.dir / "manifest"
        path.write_text(change(path.read_text()))

    def only_jsmn(self):
        self.manifest(lambda text: text[text.index("name jsmn"):])
        return self

    def fetch(self, *args, ok=True, **env):
        path = f"{self.bin}:{clean_env()['PATH']}"
        return run("./fetch", *args, cwd=self.dir, env=clean_env(**{"PATH": path, **env}), ok=ok)

    def dropped(self, source, name=None):
        (self.dir / "dl").mkdir(exist_ok=True)
        shutil.copy(source, self.dir / "dl" / (name or pathlib.Path(source).name))

    def has_jsmn(self):
        return "JSMN_PARENT_LINKS" in (self.dir / "jsmn/jsmn.h").read_text()


@pytest.fixture
def vendor(root, tmp_path):
    return Vendor(root, tmp_path)


@pytest.fixture
def project(tmp_path):
    """Stands in for the projects' own addresses: serves what is in .files, first what is queued in .wrong; counts requests."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rsplit("/", 1)[1]
            project.asked.append(name)
            body = project.wrong.pop(0) if project.wrong else project.files.get(name)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    project = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    project.files, project.wrong, project.asked = {}, [], []
    project.base = f"http://127.0.0.1:{project.server_port}/releases/"
    thread = threading.Thread(target=project.serve_forever, args=(0.02,))
    thread.start()
    yield project
    project.shutdown()
    thread.join()
    project.server_close()


# Debian's source packages

def test_debians_source_packages_give_all_pinned_trees_without_touching_the_machines_apt(vendor, root):
    vendor.real("apt-get")
    lists = pathlib.Path("/var/lib/apt/lists")
    before = sorted((p.name, p.stat().st_mtime_ns) for p in lists.iterdir())
    vendor.fetch()
    for name in ("bearssl", "musl", "jsmn"):
        assert (vendor.dir / name / ".tree").read_text() == (root / "vendor" / name / ".tree").read_text()
    vendor.fetch("--check")
    assert sorted((p.name, p.stat().st_mtime_ns) for p in lists.iterdir()) == before
    assert vendor.calls() == []
    assert sorted(p.name for p in vendor.dir.iterdir()) == ["apt", "bearssl", "dl", "fetch", "jsmn", "manifest", "musl"]


APT = '''case "$*" in
*indextargets*) echo "http://mirror.invalid/debian bookworm" ;;
*source*) {source} ;;
esac'''


def test_only_the_upstream_archive_is_asked_of_apt(vendor, archives):
    vendor.only_jsmn().tool("apt-get", APT.format(source=f'cp "{archives / JSMN}" .'))
    vendor.fetch()
    assert vendor.has_jsmn()
    (call,) = vendor.calls(" source ")
    assert call.endswith(" source --download-only --tar-only jsmn")


def test_a_wrong_archive_from_apt_is_fetched_once_more(vendor, archives):
    flag = vendor.dir / "../second"
    vendor.only_jsmn().tool("apt-get", APT.format(
        source=f'if [ -e "{flag}" ]; then cp "{archives / JSMN}" .; else echo junk > {JSMN}; : > "{flag}"; fi'))
    done = vendor.fetch()
    assert f"{JSMN}: wrong SHA-256" in done.stderr and f"{JSMN}: one more try" in done.stderr
    assert vendor.has_jsmn() and len(vendor.calls(" source ")) == 2


def test_when_apt_gives_a_wrong_archive_twice_the_projects_address_is_asked(vendor, project, archives):
    vendor.only_jsmn().real("curl", "wget")
    vendor.tool("apt-get", APT.format(source=f"echo junk > {JSMN}"))
    project.files[JSMN_DIRECT] = (archives / JSMN).read_bytes()
    done = vendor.fetch(VENDOR_DIRECT_BASE=project.base)
    assert len(vendor.calls(" source ")) == 2
    assert "from direct" in done.stderr and vendor.has_jsmn()


# the projects' own addresses

@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_when_apt_fails_all_archives_come_from_the_projects_addresses(vendor, project, archives, tool):
    vendor.real(tool)
    if tool == "wget":      # a machine without curl: a PATH on which nothing else has that name
        for folder in clean_env()["PATH"].split(":"):
            for path in pathlib.Path(folder).glob("*") if pathlib.Path(folder).is_dir() else []:
                if path.name not in ("curl", "apt-get") and not (vendor.bin / path.name).exists():
                    (vendor.bin / path.name).symlink_to(path)
        (vendor.bin / "curl").unlink()
    # Debian took one file out of BearSSL's archive: its own stands in here as a .tar.gz, under the name of the project's
    bearssl = gzip.compress(lzma.decompress((archives / "bearssl_0.6+dfsg.1.orig.tar.xz").read_bytes()), 1)
    pin = "bearssl-0.6.tar.gz " + hashlib.sha256(bearssl).hexdigest()
    vendor.manifest(lambda text: "\n".join(
        line.rsplit(" ", 2)[0] + " " + pin if line.startswith("direct https://www.bearssl") else line
        for line in text.splitlines()) + "\n")
    project.files = {"bearssl-0.6.tar.gz": bearssl, JSMN_DIRECT: (archives / JSMN).read_bytes(),
                     "musl-1.2.5.tar.gz": (archives / "musl_1.2.5.orig.tar.gz").read_bytes()}
    env = {"PATH": str(vendor.bin)} if tool == "wget" else {}
    done = vendor.fetch(VENDOR_DIRECT_BASE=project.base, **env)
    assert project.asked == ["bearssl-0.6.tar.gz", "musl-1.2.5.tar.gz", JSMN_DIRECT]
    assert done.stderr.count("from direct") == 3
    vendor.fetch("--check")


def test_a_wrong_archive_is_deleted_and_fetched_once_more(vendor, project, archives):
    vendor.only_jsmn().real("curl", "wget")
    project.files[JSMN_DIRECT] = (archives / JSMN).read_bytes()
    project.wrong = [b"<html>please log in</html>"]
    done = vendor.fetch(VENDOR_ROUTES="direct", VENDOR_DIRECT_BASE=project.base)
    assert project.asked == [JSMN_DIRECT] * 2
    assert "deleted" in done.stderr and vendor.has_jsmn()


def test_a_wrong_archive_twice_ends_with_a_clear_error(vendor, project):
    vendor.only_jsmn().real("curl", "wget")
    project.files[JSMN_DIRECT] = b"not what was pinned"
    done = vendor.fetch(VENDOR_ROUTES="dl direct", VENDOR_DIRECT_BASE=project.base, ok=False)
    assert done.returncode == 1
    assert project.asked == [JSMN_DIRECT] * 2
    assert done.stderr.splitlines()[-1].startswith("vendor: jsmn 1.1.0: no source gave the pinned archive; put ")
    assert not (vendor.dir / "jsmn").exists()
    assert list((vendor.dir / "dl").iterdir()) == []


def test_when_every_source_fails_the_error_says_what_to_do(vendor):
    done = vendor.only_jsmn().fetch(ok=False)
    assert done.returncode == 1
    assert "no luck with the source 'debian'" in done.stderr and "no luck with the source 'direct'" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert JSMN in last and JSMN_DIRECT in last and str(vendor.dir / "dl") in last


def test_a_source_that_is_switched_off_is_not_asked(vendor):
    done = vendor.only_jsmn().fetch(VENDOR_ROUTES="dl", ok=False)
    assert done.returncode == 1 and vendor.calls() == []


# a file put into vendor/dl

@pytest.mark.parametrize("name", [JSMN, JSMN_DIRECT])
def test_a_dropped_file_of_either_name_is_used_offline(vendor, archives, name):
    vendor.only_jsmn().dropped(archives / JSMN, name)
    vendor.fetch()
    assert vendor.has_jsmn() and vendor.calls() == []


def test_a_wrong_dropped_file_is_deleted_and_the_next_source_asked(vendor, project, archives):
    vendor.only_jsmn().real("curl", "wget")
    vendor.dropped(__file__, JSMN_DIRECT)
    project.files[JSMN_DIRECT] = (archives / JSMN).read_bytes()
    done = vendor.fetch(VENDOR_DIRECT_BASE=project.base)
    assert f"{JSMN_DIRECT}: wrong SHA-256" in done.stderr and "from direct" in done.stderr
    assert (vendor.dir / "dl" / JSMN_DIRECT).read_bytes() == (archives / JSMN).read_bytes()


# what is unpacked

def test_files_that_are_not_the_pinned_ones_stop_the_fetch(vendor, archives):
    vendor.only_jsmn().dropped(archives / JSMN)
    vendor.manifest(lambda text: text.replace("tree f4e3", "tree 0000"))
    done = vendor.fetch(ok=False)
    assert done.returncode == 1
    assert "have the tree SHA-256 f4e3" in done.stderr and "pinned is 0000" in done.stderr
    assert not (vendor.dir / "jsmn").exists() and not (vendor.dir / "jsmn.new").exists()


def test_a_fetched_tree_is_not_fetched_again(vendor, archives):
    vendor.only_jsmn().dropped(archives / JSMN)
    vendor.fetch()
    shutil.rmtree(vendor.dir / "dl")
    before = (vendor.dir / "jsmn/jsmn.h").stat()
    vendor.fetch()
    after = (vendor.dir / "jsmn/jsmn.h").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert vendor.calls() == []


def test_a_new_pin_replaces_the_fetched_tree(vendor, archives):
    vendor.only_jsmn().dropped(archives / JSMN)
    vendor.fetch()
    (vendor.dir / "jsmn/.tree").write_text("of an older release\n")
    (vendor.dir / "jsmn/left-over.h").write_text("")
    vendor.fetch()
    assert vendor.has_jsmn() and not (vendor.dir / "jsmn/left-over.h").exists()


def test_check_finds_a_tree_that_was_changed(vendor, archives):
    vendor.only_jsmn().dropped(archives / JSMN)
    vendor.fetch()
    with open(vendor.dir / "jsmn/jsmn.h", "a") as file:
        file.write("\n")
    done = vendor.fetch("--check", ok=False)
    assert done.returncode == 1
    assert "vendor/jsmn are not the pinned ones" in done.stderr


def test_make_vendor_fetches_and_builds_nothing(copy_of_tree, archives):
    tree = copy_of_tree(clone=False)
    for name in ("bearssl", "musl", "jsmn"):
        shutil.rmtree(tree / "vendor" / name)
    shutil.copytree(archives, tree / "vendor/dl")
    run("make", "vendor", cwd=tree)
    assert (tree / "vendor/jsmn/jsmn.h").exists()
    assert not list(tree.glob("build/**/*.[oa]")) and not (tree / "out").exists()


def test_no_third_party_file_is_committed(root):
    listed = run("git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "vendor", cwd=root)
    assert listed.stdout.split() == ["vendor/.gitignore", "vendor/apt", "vendor/fetch", "vendor/manifest"]
