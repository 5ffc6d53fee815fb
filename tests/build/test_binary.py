"""The binary as it is shipped, and the objects of src/ it is made of."""
import re

import pytest

from conftest import run


# allocation, printf and number parsing (they bring floating point), sorting by libc, threads, directory streams and users
FORBIDDEN = """malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign strdup strndup asprintf vasprintf
    printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf dprintf vdprintf
    scanf sscanf fscanf vsscanf strtod strtof strtold atof qsort qsort_r opendir fdopendir readdir scandir getpwuid getpwnam getgrgid
    getaddrinfo gethostbyname pthread_create thrd_create iconv iconv_open""".split()
# libgcc's helpers for floating point, on machines that have none of their own
SOFT_FLOAT = re.compile(r"^__(add|sub|mul|div|neg|cmp|eq|ne|lt|le|gt|ge|unord|pow.*)?(float|fix|extend|trunc)?[a-z]*[sdtx]f[a-z0-9]*$"
                        r"|^__aeabi_(d|f)[a-z0-9]*$|^__aeabi_[a-z0-9]*2(d|f)$")


@pytest.fixture(scope="session")
def objects(build):
    found = sorted((build / "obj").rglob("*.o"))
    assert found
    return found


@pytest.fixture(scope="session")
def readelf(binary):
    return run("readelf", "-Wlhd", binary, cwd="/").stdout


@pytest.fixture(scope="session")
def linked(build):
    """Names of all symbols of the binary before it was stripped."""
    text = run("nm", build / "sandstorm-mcp.unstripped", cwd="/").stdout
    return {line.split()[-1] for line in text.splitlines()}


def test_the_binary_needs_no_interpreter_and_no_library(readelf):
    assert "INTERP" not in readelf and "NEEDED" not in readelf


def test_the_binary_is_position_independent(readelf):
    assert re.search(r"Type:\s+DYN", readelf)


def test_the_stack_is_not_executable(readelf):
    (flags,) = re.findall(r"GNU_STACK(?:\s+0x[0-9a-f]+){5}\s+(\S+)", readelf)
    assert flags == "RW"


def test_relocated_data_lies_apart(readelf):
    assert "GNU_RELRO" in readelf and "BIND_NOW" in readelf


def test_no_segment_is_writable_and_executable(readelf):
    assert not re.search(r"LOAD.*\sRWE\s", readelf)


def test_functions_with_arrays_guard_the_stack(linked, build):
    assert "__stack_chk_fail" in linked
    # libc's own that sets the guard, not the empty one which stands in for it
    assert re.search(r" [tT] __init_ssp$", run("nm", build / "sandstorm-mcp.unstripped", cwd="/").stdout, re.M)


def test_the_shipped_binary_is_stripped(binary):
    assert run("nm", binary, cwd="/", ok=False).stdout == ""


@pytest.mark.parametrize("name, file", [("BearSSL", "bearssl/LICENSE.txt"), ("jsmn", "jsmn/LICENSE"), ("musl", "musl/COPYRIGHT")])
def test_the_licenses_printed_are_those_of_the_sources(binary, root, name, file):
    """Word by word: the permission, which all three share, is in the binary once."""
    said = run(binary, "--licenses", cwd="/").stdout.split(f"\n=== {name} ===\n\n")[1].split("\n=== ")[0]
    assert said.split() == (root / "vendor" / file).read_text().split()


def test_the_shipped_binary_has_none_of_the_fixture_tools(binary, build, linked, root):
    """`make fixtures` links them (tests/fixture) in front of the same objects, for the conformance suite."""
    sources = "".join(path.read_text() for path in (root / "tests/fixture").glob("*.[ch]"))
    tools = set(re.findall(r"ROW\((\w+_\w+)", sources))
    assert len(tools) == 12
    content = binary.read_bytes()
    assert [name for name in {*tools, "For the conformance suite", "Mcp-Param-"} if name.encode() in content] == []
    assert [name for name in linked if name in tools or name.startswith(("fixture_", "__wrap_", "__real_"))] == []
    assert "/fixture/" not in (build / "link.map").read_text()


@pytest.mark.parametrize("name", ["malloc", "calloc", "realloc", "free", "getaddrinfo", "fopen", "vfprintf", "printf_core", "fmt_fp", "strtod", "__floatscan",
                                  "pthread_create", "iconv"])
def test_the_linked_binary_lacks(linked, name):
    assert name not in linked and f"__libc_{name}" not in linked


def test_no_object_of_ours_asks_for_allocation_printf_sorting_or_threads(objects):
    asked = [line.strip() for line in run("nm", "-A", "-u", *objects, cwd="/").stdout.splitlines()
             if line.split()[-1] in FORBIDDEN]
    assert asked == []


def test_no_object_of_ours_asks_for_floating_point_helpers(objects):
    asked = [line.strip() for line in run("nm", "-A", "-u", *objects, cwd="/").stdout.splitlines()
             if SOFT_FLOAT.match(line.split()[-1])]
    assert asked == []


def test_no_instruction_of_the_linked_binary_computes_with_floating_point(root, build):
    run("scripts/check-float", "objdump", "hard", build / "sandstorm-mcp.unstripped", cwd=root)


def test_the_checks_above_do_find_what_they_look_for(root, tmp_path):
    source = tmp_path / "float.c"
    source.write_text("""#include <stdlib.h>
        double half(long n) { return n / 2.0; }
        int more(float a, float b) { return a > b; }
        long double sum(long double a, long double b) { return a + b; }
        void *get(int n) { return malloc(n); }
        __float128 wide(__float128 a, __float128 b) { return a * b; }""")
    run("gcc", "-Os", "-c", source, "-o", tmp_path / "float.o", cwd=tmp_path)
    run("gcc", "-shared", "-nostdlib", tmp_path / "float.o", "-o", tmp_path / "float.so", cwd=tmp_path)
    done = run("scripts/check-float", "objdump", "hard", tmp_path / "float.so", cwd=root, ok=False)
    found = set(re.findall(r"check-float: (\w+), \d+ times", done.stderr))
    assert done.returncode == 1 and {"mulsd", "comiss"} <= found and found & {"fadd", "faddp"} and "cvtsi2sd" in str(found)
    assert not [o for o in found if re.match(r"mov|p|cmp|call|sub$|div$", o)]
    assert "cannot read" in run("scripts/check-float", "objdump", "hard", root / "Makefile", cwd=root, ok=False).stderr
    symbols = [line.split()[-1] for line in run("nm", "-u", tmp_path / "float.o", cwd="/").stdout.splitlines()]
    assert "malloc" in symbols and "malloc" in FORBIDDEN
    assert [s for s in symbols if SOFT_FLOAT.match(s)] == ["__multf3"]
    for name in ("__adddf3", "__floatsidf", "__fixdfsi", "__extendsfdf2", "__aeabi_dadd", "__aeabi_ui2d", "__ledf2", "__floatunditf"):
        assert SOFT_FLOAT.match(name), name
    for name in ("__stack_chk_fail", "__udivdi3", "__aeabi_uldivmod", "__divdi3", "__errno_location", "__memcpy_chk", "__popcountdi2"):
        assert not SOFT_FLOAT.match(name), name


def test_a_relocation_by_name_which_nobody_would_carry_out_is_found(root, build, tmp_path):
    """On RISC-V `sandstorm-mcp --tools host` ended at once: the linker had left the addresses of two functions to be looked up."""
    source, library = tmp_path / "name.c", tmp_path / "name.so"
    source.write_text("int shared; int *address = &shared; static int own; int *known = &own;")
    for more, code in ((), 1), (("-Wl,--version-script=scripts/no-exports",), 0):
        run("gcc", "-shared", "-nostdlib", "-fPIC", *more, source, "-o", library, cwd=root)
        done = run("scripts/check-static", library, cwd=root, ok=False)
        assert done.returncode == code and ("stay undone" in done.stderr) == bool(code), done
    run("scripts/check-static", build / "sandstorm-mcp.unstripped", cwd=root)
