"""The manual page and the completions: they say what the binary says, readers and shells take them."""
import json
import re

import pytest

from conftest import long, run
from shells import Fish, Terminal

COMPLETIONS = {"bash": "sandstorm-mcp", "zsh": "_sandstorm-mcp", "fish": "sandstorm-mcp.fish"}


@pytest.fixture(scope="module")
def options(binary):
    return json.loads(run(binary, "tools", "--config-json", cwd="/").stdout)


@pytest.fixture(scope="module")
def tools(binary):
    return {row["name"] for row in json.loads(run(binary, "tools", "--json", "--tools", "sandbox,host", cwd="/").stdout)}


@pytest.fixture(scope="module")
def usage(binary):
    """The rows of --help about commands."""
    return re.findall(r"^  sandstorm-mcp(.*)", run(binary, "--help", cwd="/").stdout, re.M)


@pytest.fixture(scope="module")
def commands(usage):
    return {row.split()[0] for row in usage if re.match(r" [a-z]", row)}


@pytest.fixture(scope="module")
def page(root, binary, tmp_path_factory):
    path = tmp_path_factory.mktemp("man") / "sandstorm-mcp.1"
    path.write_text(run("scripts/man-page", binary, cwd=root).stdout)
    return path


@pytest.fixture(scope="module")
def completions(root, binary, tmp_path_factory):
    """shell -> a folder with its completion."""
    folders = {}
    for shell, name in COMPLETIONS.items():
        folders[shell] = tmp_path_factory.mktemp(shell)
        (folders[shell] / name).write_text(run("scripts/completions", shell, binary, cwd=root).stdout)
    return folders


def test_the_page_has_every_command(page, commands, usage):
    text = page.read_text()
    assert len(commands) == 8
    assert [c for c in commands if not re.search(rf"^\.It Cm {c}\b", text, re.M)] == []
    words = [row.split()[0] for row in usage if row.startswith(" --")]
    assert [w for w in words if f".It Fl {w[1:]}" not in text] == []


def test_the_page_has_every_option_with_its_variable_and_default(page, options):
    text = page.read_text().split("\n.Sh OPTIONS\n")[1]
    for row in options:
        item = re.search(rf"^\.It Fl {row['flag'][1:]}\b.*?(?=^\.It|^\.El)", text, re.M | re.S)
        assert item, row["flag"]
        assert not row["name"] or item[0].split("\n")[0].endswith(f" , Ev {row['name']}"), row["name"]
        if row["default"] not in ("", "0"):
            assert re.search(rf"\.Ql {re.escape(row['default'])} \.", item[0]), row


def test_the_page_has_every_flag_of_one_command_alone(page, usage):
    text = page.read_text().replace(r"\-", "-")
    flags = {f for row in usage for f in re.findall(r"--[a-z]+", row)}
    assert {"--rotate", "--fingerprint", "--print", "--probe", "--host", "--json", "--verbose", "--stdio"} <= flags
    assert [f for f in flags if not re.search(rf"{f}\b|Fl {f[1:]}\b", text)] == []


def test_the_page_has_every_variable_that_the_sources_know(page, root):
    known = set()
    for path in (root / "src").rglob("*.c"):
        known |= set(re.findall(r'"((?:SANDSTORM|MCP|SESSION|MAX|LISTEN)_[A-Z_]+)\b', path.read_text()))
    assert {"SANDSTORM_TOKEN", "SANDSTORM_TOKEN_FILE", "SESSION_AUTH_TOKEN", "MAX_INSTANCES", "SANDSTORM_JOB"} <= known
    told = {name for line in re.findall(r"\bEv ([A-Z_ ,Ev]+)", page.read_text()) for name in re.findall(r"[A-Z_]{3,}", line)}
    assert known - told == set()


def test_the_page_has_every_tool_with_what_it_does(page, tools):
    assert set(re.findall(r"^\.It Li (\w+)\n[A-Z].*", page.read_text(), re.M)) == tools


def test_the_page_has_the_version_and_the_day_of_the_last_commit(root, binary):
    text = run("env", "SOURCE_DATE_EPOCH=1767323045", "scripts/man-page", binary, cwd=root).stdout
    assert text.startswith(".Dd January 2, 2026\n")
    version = run(binary, "--version", cwd="/").stdout.split()[1]
    assert f"version {version}.\n" in text


def test_a_help_text_in_another_form_is_refused_not_misread(root, binary, tmp_path):
    fake = tmp_path / "sandstorm-mcp"
    fake.write_text(f'#!/bin/sh\n[ "$1" = --help ] || exec {binary} "$@"\n{binary} --help | sed "s/serve   */serve --with-a-long-word /"\n')
    fake.chmod(0o755)
    done = run("scripts/man-page", fake, cwd=root, ok=False)
    assert done.returncode == 1
    assert "what does this line of --help say" in done.stderr and "serve" in done.stderr


@long
def test_readers_of_manual_pages_have_nothing_to_complain_of(page):
    assert run("mandoc", "-Tlint", page, cwd="/").stdout == ""
    shown = run("man", "--warnings", "-P", "cat", "-l", page, cwd="/")
    assert shown.stderr == ""
    assert "SANDSTORM_WORKSPACE_ROOT" in shown.stdout


@pytest.fixture(scope="module", params=["bash", pytest.param("zsh", marks=long), pytest.param("fish", marks=long)])
def shell(request, completions, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for name in ("notes.pem", "notes.key"):
        (home / name).touch()
    folder = completions[request.param]
    opened = Fish(folder, home) if request.param == "fish" else Terminal(request.param, folder, home)
    yield opened
    opened.close()


def test_tab_after_the_program_lists_the_commands(shell, commands):
    assert shell.completed("sandstorm-mcp ", "serve") == commands


def test_tab_after_two_dashes_lists_the_flags(shell, options):
    assert shell.completed("sandstorm-mcp serve --", "--tls-key") == {row["flag"] for row in options} | {"--help"}


def test_tab_lists_flags_of_the_command_besides(shell):
    assert shell.completed("sandstorm-mcp token --ro", "--rotate") == {"--rotate", "--routes"}
    assert {"--fingerprint", "--print", "--ca"} <= shell.completed("sandstorm-mcp ca --", "--fingerprint")


def test_tab_lists_the_words_that_a_flag_takes(shell):
    assert shell.completed("sandstorm-mcp serve --log-format ", "json") == {"json", "text"}
    assert shell.completed("sandstorm-mcp --log-level=", "INFO") == {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}


def test_tab_after_call_lists_the_tools(shell, tools):
    assert shell.completed("sandstorm-mcp call ", "file_read") == tools


def test_tab_after_a_flag_that_takes_a_file_lists_files(shell):
    assert shell.completed("sandstorm-mcp serve --tls-cert notes.", "notes.pem") == {"notes.pem", "notes.key"}
