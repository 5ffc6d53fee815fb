"""`make release`: what is in the files of a release, and that another folder gives the same bytes."""
import hashlib
import json
import re
import shutil
import stat
import tarfile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from conftest import LONG, clean_env, run

EPOCH = 1767323045      # as the clones of this folder's tests have it: 2026-01-02T03:04:05Z


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def version(root):
    return re.search(r'SERVER_VERSION "(.*)"', (root / "src/version.h").read_text())[1]


@pytest.fixture(scope="module")
def targets(root, target):
    """All in long runs, which CI does after `make release`; else the native one, which is there."""
    return re.findall(r"^([a-z]\w*)", (root / "scripts/targets").read_text(), re.M) if LONG else [target]


@pytest.fixture(scope="module")
def released(root, targets, tmp_path_factory):
    """A release of what `make` has built here."""
    folder = tmp_path_factory.mktemp("release") / "new"
    run("make", "release", f"RELEASE={folder}", f"RELEASE_TARGETS={' '.join(targets)}", cwd=root,
        env=clean_env(SOURCE_DATE_EPOCH=str(EPOCH)), timeout=1800)
    return folder


@pytest.fixture(scope="module")
def packed(released, version, target):
    """name -> member and content of the native tarball."""
    with tarfile.open(released / f"sandstorm-mcp-{version}-{target}.tar.gz") as tar:
        return {m.name: (m, tar.extractfile(m).read()) for m in tar.getmembers()}


@pytest.fixture(scope="module")
def bom_text(released, version):
    return (released / f"sandstorm-mcp-{version}.cdx.json").read_text()


@pytest.fixture(scope="module")
def bom(bom_text):
    return json.loads(bom_text)


def complaint(text):
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)


def test_a_release_is_a_tarball_a_target_the_sources_the_bill_and_the_sums(released, version, targets):
    names = {f"sandstorm-mcp-{version}.tar.gz", f"sandstorm-mcp-{version}.cdx.json",
             *(f"sandstorm-mcp-{version}-{target}.tar.gz" for target in targets)}
    assert {path.name for path in released.iterdir()} == names | {"SHA256SUMS"}
    said = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=released).stdout
    assert {line.split(": ")[0] for line in said.splitlines()} == names


def test_another_folder_gives_the_same_bytes(released, offline_build, root, target, targets):
    """The other folder is an unpacked source tarball, built anew; a commit of its own makes it a clone. The libraries of foreign
    targets are taken along: those of the native one are compared by test_reproducible.py."""
    tree = offline_build[0]
    for name in set(targets) - {target}:
        new = tree / "build" / name
        shutil.copytree(root / "build" / name / "musl", new / "musl")
        for file in ("libbearssl.a", ".settings"):
            shutil.copy2(root / "build" / name / file, new / file)
    git = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org")
    run(*git, "init", "-q", cwd=tree)
    run(*git, "add", "-A", cwd=tree)
    when = "2026-01-02T03:04:05Z"
    run(*git, "commit", "-q", "-m", "as it is", cwd=tree, env=clean_env(GIT_COMMITTER_DATE=when, GIT_AUTHOR_DATE=when))
    made = run("make", "release", f"RELEASE_TARGETS={' '.join(targets)}", cwd=tree, timeout=1800).stdout
    assert "BEARSSL" not in made
    again = tree / "out/release"
    assert {p.name: digest(p) for p in again.iterdir()} == {p.name: digest(p) for p in released.iterdir()}


def test_the_tarball_holds_what_a_user_or_a_packager_wants(packed, binary, version, target):
    top = f"sandstorm-mcp-{version}-{target}/"
    assert all(name.startswith(top) for name in packed)
    inside = {name.removeprefix(top): content for name, (_, content) in packed.items()}
    assert {"README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "THIRD-PARTY-LICENSES", "share/man/man1/sandstorm-mcp.1",
            "share/bash-completion/completions/sandstorm-mcp", "share/zsh/site-functions/_sandstorm-mcp",
            "share/fish/vendor_completions.d/sandstorm-mcp.fish"} <= set(inside)
    assert inside["sandstorm-mcp"] == binary.read_bytes()
    assert inside["THIRD-PARTY-LICENSES"] == run(binary, "--licenses", cwd="/").stdout.encode()
    for name in ("BearSSL", "jsmn", "musl"):
        assert f"=== {name} ===".encode() in inside["THIRD-PARTY-LICENSES"]
    assert inside["share/man/man1/sandstorm-mcp.1"].startswith(b".Dd January 2, 2026\n")


def test_the_tarball_names_neither_people_nor_times_of_packing(packed):
    members = [member for member, _ in packed.values()]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", EPOCH)}
    assert [m.name for m in members] == sorted(m.name for m in members)
    programs = {"sandstorm-mcp", "install.sh"}
    for m in members:
        assert stat.S_IMODE(m.mode) == (0o755 if m.name.split("/", 1)[1] in programs else 0o644), m.name


def test_the_bill_of_materials_is_valid_cyclonedx(bom_text):
    assert complaint(bom_text) is None
    assert complaint(bom_text.replace('"urn:uuid:', '"urn:uuid:x')) is not None
    assert complaint(bom_text.replace('"MIT"', '"MITT"')) is not None


def test_the_bill_has_the_libraries_as_they_are_pinned(bom, root):
    lines = [line.split(None, 1) for line in (root / "vendor/manifest").read_text().splitlines() if line and line[0] != "#"]
    names = [rest for word, rest in lines if word == "name"]
    libraries = {c["name"]: c for c in bom["components"] if c["name"] != "libgcc"}
    assert set(libraries) == set(names) == {"bearssl", "musl", "jsmn"}
    text = json.dumps(libraries)
    for word, rest in lines:
        if word in ("version", "tree", "origin"):
            assert f'"{rest}"' in text
        elif word == "direct":
            address, _, sha256 = rest.split()
            assert f'"url": "{address}", "hashes": [{{"alg": "SHA-256", "content": "{sha256}"}}]' in text
    assert [lib["licenses"] for lib in libraries.values()] == [[{"license": {"id": "MIT"}}]] * 3
    assert "src/x509/skey_decoder.c" in libraries["bearssl"]["pedigree"]["notes"]
    assert set(bom["dependencies"][0]["dependsOn"]) == {c["bom-ref"] for c in bom["components"]}


def test_the_bill_has_the_binaries_by_their_sums_and_the_time_of_the_commit(bom, binary, version, target, targets):
    program = bom["metadata"]["component"]
    assert (program["name"], program["version"]) == ("sandstorm-mcp", version)
    assert program["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    sums = {c["name"]: c["hashes"] for c in program["components"]}
    assert list(sums) == [f"sandstorm-mcp-{name}" for name in targets]
    assert sums[f"sandstorm-mcp-{target}"] == [{"alg": "SHA-256", "content": digest(binary)}]
    assert bom["metadata"]["timestamp"] == "2026-01-02T03:04:05Z"


def test_the_bill_has_libgcc_with_its_exception_for_targets_that_were_linked_with_it(root, tmp_path):
    tree = tmp_path / "tree"
    for name in ("scripts", "src/version.h", "vendor/manifest"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, tree / name)
    (tree / "a.c").write_text("int a;\n")
    for target, line in (("one", ""), ("two", "/usr/lib/gcc/x/12/libgcc.a(_udivdi3.o)\n")):
        (tree / "build" / target).mkdir(parents=True)
        (tree / "build" / target / "link.map").write_text(line)
        run("gcc", "-c", "a.c", "-o", f"build/{target}/sandstorm-mcp.unstripped", cwd=tree)
    made = json.loads(run("scripts/sbom", "one=a.c", "two=a.c", cwd=tree).stdout)
    (libgcc,) = [c for c in made["components"] if c["name"] == "libgcc"]
    assert libgcc["version"] == run("gcc", "-dumpfullversion", cwd="/").stdout.strip()
    assert libgcc["licenses"] == [{"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}]
    assert libgcc["properties"] == [{"name": "sandstorm-mcp:target", "value": "two"}]


def test_the_version_is_the_same_everywhere(root, binary, version):
    assert run(binary, "--version", cwd="/").stdout.startswith(f"sandstorm-mcp {version} (")
    assert run("scripts/stamp", "version", cwd=root).stdout == f"{version}\n"
    newest = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == version
