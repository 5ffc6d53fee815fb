"""Each binary of `make targets` as a file: what it is, how large, what it was built with."""

import re
import subprocess

import pytest

from conftest import REPOSITORY, ROWS

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "i686": "Intel 80386", "aarch64": "AArch64", "armv7": "ARM", "armv5": "ARM",
            "riscv64": "RISC-V", "mips": "MIPS R3000", "mipsel": "MIPS R3000"}
FLOATS = """double half(long n) { return n / 2.0; }
int more(float a, float b) { return a > b; }
long whole(double d) { return (long)d; }
"""


def run(*words):
    return subprocess.run([str(w) for w in words], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)


def said(*words):
    done = run(*words)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@pytest.fixture
def elf(target):
    return said("readelf", "-Whld", target.file)


def test_it_is_of_that_machine_and_byte_order(target, elf):
    assert re.search(r"Machine:\s+" + re.escape(MACHINES[target.name]) + "$", elf, re.M)
    assert ("big endian" in elf) == (target.name == "mips")
    assert ("ELF32" in elf) == target.small


def test_it_is_static_position_independent_and_guarded(elf):
    assert "INTERP" not in elf and "(NEEDED)" not in elf
    assert re.search(r"Type:\s+DYN", elf)
    assert "GNU_RELRO" in elf and not re.search(r"LOAD.*\sRWE\s", elf)
    (flags,) = re.findall(r"GNU_STACK(?:\s+0x[0-9a-f]+){5}\s+(\S+)", elf)
    assert flags == "RW"


def test_segments_can_be_mapped_with_the_largest_pages_of_the_architecture(target, elf):
    largest = 0x10000 if target.name in ("aarch64", "mips", "mipsel") else 0x1000
    loads = re.findall(r"LOAD\s+(0x\w+) (0x\w+) .*(0x\w+)$", elf, re.M)
    assert len(loads) >= 2
    for offset, address, align in ([int(word, 16) for word in load] for load in loads):
        assert align >= largest and (address - offset) % align == 0


def test_it_is_stripped_and_not_above_its_limit(target):
    sections = said("readelf", "-SW", target.file)
    assert ".symtab" not in sections and ".comment" not in sections and ".debug" not in sections
    assert target.file.stat().st_size <= target.limit


def test_the_limit_is_near_to_what_is_there(target):
    assert target.limit - target.file.stat().st_size < 16_000, "lower it in scripts/targets"


def test_nothing_in_it_computes_with_floating_point(target):
    said("scripts/check-float", target.tool("objdump"), target.float, target.unstripped)


def test_floating_point_would_be_found(target, tmp_path):
    source, library = tmp_path / "float.c", tmp_path / "float.so"
    source.write_text(FLOATS)
    compiler = target.tool("gcc")
    said(compiler, *target.flags, "-Os", "-shared", "-nostdlib", "-fPIC", source, "-o", library,
         said(compiler, "-print-libgcc-file-name").strip())
    done = run("scripts/check-float", target.tool("objdump"), target.float, library)
    assert done.returncode == 1 and f"{library} computes with floating point" in done.stderr


def test_moving_bytes_through_such_registers_is_too_much_where_there_may_be_none(tmp_path):
    source, library = tmp_path / "move.S", tmp_path / "move.so"
    source.write_text("mtc1 $4, $f0\nswc1 $f0, 0($5)\n")
    said("mips-linux-gnu-gcc", "-shared", "-nostdlib", source, "-o", library)
    for kind in ("soft", "hard"):
        done = run("scripts/check-float", "mips-linux-gnu-objdump", kind, library)
        assert done.returncode == 1 and "mtc1, 1 times" in done.stderr and "swc1, 1 times" in done.stderr


def test_it_says_what_it_is(target, cli):
    done = cli("--version")
    assert done.returncode == 0 and f", {target})" in done.stdout, done


def test_the_sizes_in_the_readme_are_those_of_the_binaries():
    said("scripts/sizes")
    said("scripts/sizes", "--check", "README.md")


def test_a_wrong_size_in_the_readme_is_found_and_written_anew(tmp_path):
    readme = tmp_path / "README.md"
    good = (REPOSITORY / "README.md").read_text()
    row = re.search(r"\| `sandstorm-mcp-mips` \| \d+ KB", good)[0]
    readme.write_text(good.replace(row, "| `sandstorm-mcp-mips` | 5 KB"))
    done = run("scripts/sizes", "--check", readme)
    assert done.returncode == 1 and "`sandstorm-mcp-mips`" in done.stderr and "make docs" in done.stderr
    said("scripts/sizes", "--write", readme)
    said("scripts/sizes", "--check", readme)


def test_there_are_the_eight_targets():
    assert [row.name for row in ROWS] == list(MACHINES)
