"""The table in the README is what this run has seen. `make interop` runs this last, on the results of all the others."""

import subprocess

from conftest import REPOSITORY
from results import RESULTS


def test_the_readme_says_what_was_seen():
    """Issue 8, point 5: a client that did not run, another version or a step that failed makes it fail."""
    done = subprocess.run([REPOSITORY / "scripts" / "interop-table", RESULTS, REPOSITORY / "README.md"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
