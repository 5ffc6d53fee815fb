"""scripts/bench: what it says when no figures can be had. (The figures are no test: they need a quiet machine.)"""

import subprocess
import sys

import pytest
from conftest import ROOT


def bench(*args, **env):
    return subprocess.run([sys.executable, ROOT / "scripts/bench", *args], env=env, capture_output=True, text=True)


def test_missing_programs_are_named_with_the_remedy(tmp_path):
    done = bench(PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "taskset is not here" in done.stderr and "scripts/need bench" in done.stderr
    for name in ("taskset", "wrk"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert f"{name} is not here" not in bench(PATH=str(tmp_path), BENCH_FORCE="1", SANDSTORM_BIN="/none").stderr


@pytest.mark.parametrize("args", [["1", "2"], ["--help"]])
def test_other_words_are_refused(args):
    done = bench(*args, PATH="/none")
    assert done.returncode == 2 and "usage" in done.stderr
