"""What README.md says of tools, settings and usage is what the binary says."""
import shutil

from conftest import run


def generated(readme):
    return readme.read_text().split("<!-- tools:begin -->")[1].split("<!-- tools:end -->")[0]


def test_the_tables_of_the_readme_are_those_of_the_binary(root, binary):
    run("scripts/tool-docs", binary, "README.md", cwd=root)


def test_a_table_that_was_edited_by_hand_is_found_and_written_anew(root, binary, tmp_path):
    readme = tmp_path / "README.md"
    shutil.copy(root / "README.md", readme)
    good = readme.read_text()
    assert "`file_read`" in good
    readme.write_text(good.replace("`file_read`", "`file_raed`"))
    done = run("scripts/tool-docs", binary, readme, cwd=root, ok=False)
    assert done.returncode == 1
    assert "make docs" in done.stderr and "file_raed" in done.stdout
    run("scripts/tool-docs", "--write", binary, readme, cwd=root)
    assert generated(readme) == generated(root / "README.md")


def test_a_readme_without_a_marker_is_refused(root, binary, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text((root / "README.md").read_text().replace("<!-- config:end -->", ""))
    done = run("scripts/tool-docs", binary, readme, cwd=root, ok=False)
    assert done.returncode == 1
    assert "config:end" in done.stderr
