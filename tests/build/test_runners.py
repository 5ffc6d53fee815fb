"""The scripts that run and judge other programs do fail when they should."""
import shutil

import pytest

from conftest import ROOT, clean_env, run, script

PASSING = 'echo "[==========] 3 test(s) run."; echo "[  PASSED  ] 3 test(s)."\n'
FAILING = 'echo "seen here"; echo "[  PASSED  ] 2 test(s)."; echo "[  FAILED  ] 1 test(s), listed below:"; exit 1\n'


def test_unit_programs_that_pass_are_counted(tmp_path):
    done = run(ROOT / "scripts/run-unit", script(tmp_path / "a", PASSING), script(tmp_path / "b", PASSING), cwd=tmp_path)
    assert done.stdout.splitlines() == ["unit: 2 programs run", "unit: 6 passed, 0 failed"]


@pytest.mark.parametrize("text, closing", [
    (FAILING, "unit: 5 passed, 1 failed"),
    ("exit 0\n", "unit: 3 passed, 1 failed"),                    # ran no test
    ("kill -SEGV $$\n", "unit: 3 passed, 1 failed"),
    (PASSING + "exit 1\n", "unit: 6 passed, 1 failed"),          # a leak found at the end
])
def test_a_unit_program_that_fails_is_shown_and_fails_the_run(tmp_path, text, closing):
    done = run(ROOT / "scripts/run-unit", script(tmp_path / "a", PASSING), script(tmp_path / "b", text), cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == closing
    assert f"---- {tmp_path / 'b'}: exit" in done.stdout
    assert ("seen here" in done.stdout) == ("seen here" in text)


def test_no_unit_program_at_all_is_a_failure(tmp_path):
    assert run(ROOT / "scripts/run-unit", cwd=tmp_path, ok=False).returncode == 1


@pytest.fixture
def harness(tmp_path):
    """A stand-in for a libFuzzer program, with a corpus of one file."""
    def make(text, seed=b"x"):
        if seed is not None:
            folder = tmp_path / "tests/fuzz/corpus/thing"
            folder.mkdir(parents=True)
            (folder / "1").write_bytes(seed)
        return script(tmp_path / "build/fuzz/fuzz_thing", text)
    return make


def fuzz(tmp_path, program, **more):
    return run(ROOT / "scripts/run-fuzz", "1", program.relative_to(tmp_path), cwd=tmp_path, ok=False, env=clean_env(**{"FUZZ_SEED": "0", **more}))


def test_a_fuzz_harness_without_a_finding_passes(tmp_path, harness):
    done = fuzz(tmp_path, harness('echo "$*" > args; echo "stat::number_of_executed_units: 12345"\n'))
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["fuzz: fuzz_thing: 12345 runs in 1 s, no finding", "fuzz: 1 passed, 0 failed"]
    args = (tmp_path / "args").read_text().split()
    # new inputs go to the first folder named, which is not the committed one
    assert args[-2:] == ["build/fuzz/corpus/thing", "tests/fuzz/corpus/thing"] and "-max_total_time=1" in args


def test_with_a_seed_a_run_takes_so_many_inputs_in_the_same_order(tmp_path, harness):
    program = harness('echo "$*" > args\n')
    (tmp_path / "tests/fuzz/corpus/thing/a").write_text("another")
    assert fuzz(tmp_path, program, FUZZ_SEED="7").returncode == 0
    args = (tmp_path / "args").read_text().split()
    assert "-seed=7" in args and "-runs=50000" in args and not [a for a in args if a[0] != "-"]
    (inputs,) = [a.removeprefix("-seed_inputs=@") for a in args if a.startswith("-seed_inputs=@")]
    names = (tmp_path / inputs).read_text().split(",")
    assert names == sorted(names) and "tests/fuzz/corpus/thing/a" in names and len(names) > 1


def test_a_finding_is_shown_and_fails_the_run(tmp_path, harness):
    found = 'printf "a\\n\\377" > build/fuzz/findings/thing-crash-1; '
    done = fuzz(tmp_path, harness(found + 'echo "ERROR: AddressSanitizer"; exit 77\n'))
    assert done.returncode == 1
    assert "ERROR: AddressSanitizer" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["fuzz: thing-crash-1: YQr/", "fuzz: 0 passed, 1 failed"]


def test_a_harness_without_a_corpus_fails_the_run(tmp_path, harness):
    done = fuzz(tmp_path, harness("exit 0\n", seed=None))
    assert done.returncode == 1
    assert "no corpus in tests/fuzz/corpus/thing" in done.stdout


def test_every_harness_of_the_tree_has_a_corpus():
    names = [p.stem.removeprefix("fuzz_") for p in (ROOT / "tests/fuzz").glob("fuzz_*.c")]
    assert names
    assert [n for n in names if not list((ROOT / "tests/fuzz/corpus" / n).glob("*"))] == []


def test_size_tells_rooms_and_libraries_and_stops_over_the_limit(build, binary):
    args = (ROOT / "scripts/size", build / "rooms.map", binary)
    rows = {line.split()[0]: [int(n) for n in line.split()[1:]]
            for line in run(*args, 1 << 30, cwd=ROOT).stdout.splitlines()[1:-1]}
    assert {"src/", "src/base", "musl", "total"} <= set(rows)
    for column in range(3):
        assert rows["total"][column] == sum(row[column] for name, row in rows.items() if name != "total")
    over = run(*args, 4000, cwd=ROOT, ok=False)
    assert over.returncode == 1 and "over its limit" in over.stderr


def test_a_program_with_an_interpreter_is_not_taken_for_static(binary):
    assert run(ROOT / "scripts/check-static", binary, cwd=ROOT).stderr == ""
    done = run(ROOT / "scripts/check-static", shutil.which("ls"), cwd=ROOT, ok=False)
    assert done.returncode == 1 and "is not static" in done.stderr and "NEEDED" in done.stderr


DECODER, HELLO = "src/x509/skey_decoder.c", "src/ssl/ssl_hs_client.c"


@pytest.mark.parametrize("name, change, said", [
    (DECODER, lambda text: text.replace("BR_X509_BUFSIZE_KEY", "BR_X509_BUFSIZE_SIG"), "changed 0 lines instead of 1"),
    (DECODER, lambda text: text + "/* T0_INT2(3 * BR_X509_BUFSIZE_KEY) */\n", "changed 2 lines instead of 1"),
    (HELLO, lambda text: text.replace("0x1D, 0xDC, 0x26", "0x1D, 0xDC, 0x27"), "changed 1 lines instead of 2"),
])
def test_bearssl_is_not_built_unless_each_correction_changes_what_it_should(tmp_path, name, change, said):
    source = tmp_path / "bearssl"
    shutil.copytree(ROOT / "vendor/bearssl", source)
    (source / name).write_text(change((source / name).read_text()))
    done = run(ROOT / "scripts/build-bearssl", source, tmp_path / "out", cwd=tmp_path, ok=False)
    assert done.returncode == 1
    assert f"the correction of {name} {said}" in done.stderr
    assert not (tmp_path / "out.a").exists()


def test_a_warning_stops_the_check_but_not_the_build(copy_of_tree, add_libraries):
    tree = add_libraries(copy_of_tree(clone=False), objects=True)
    with open(tree / "src/base/percent.c", "a") as file:
        file.write("void nobody_declared_me(void)\n{\n}\n")
    run("make", "LINK_MORE=-fno-lto", cwd=tree)     # piece by piece, which is quick
    done = run("make", "check", cwd=tree, ok=False)
    assert done.returncode != 0
    assert "nobody_declared_me" in done.stdout and "check: a compiler has something to say" in done.stderr
