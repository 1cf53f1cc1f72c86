"""What the pages tell the user to type works: commands, slash commands, settings and files."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tui.cli.main import main, whole_parser
from tui.cli.parser_tree import parser_tree
from tui.commands.builtin import registry
from tui.linear.app import LinearApp
from tui.linear.own_commands import OwnCommands

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
COMMAND = re.compile(r"(?:\$ )?(ponder (?:[a-z-].*))")
SIGNATURE = re.compile(r"…|\[|\b[A-Z]{2,}\b|\b[A-Z]\b|bash\|")
"""Words that stand for others: such a line shows how a command is written."""

RUN = {"completions", "config", "cost", "doctor", "local", "man", "models", "plan", "price", "themes"}
"""Commands that need neither a network nor a terminal nor what only the user has."""
NOT_RUN = {"config init", "local get", "local show", "local add", "local remove", "models --refresh"}
NO_COMMANDS = {"/etc", "/props", "/v1", "/NAME", "/SERVER:PROMPT"}
"""Inline code that begins with a slash and is something else."""


def _typed(page: Path) -> Iterator[str]:
    """Every command line of a page, without its comment."""
    text = page.read_text("utf-8")
    lines = [line.strip() for _, block in BLOCK.findall(text) for line in block.splitlines()]
    for line in [*lines, *(code.replace("\\|", "|") for code in INLINE.findall(BLOCK.sub("", text)))]:
        if found := COMMAND.fullmatch(line):
            yield re.sub(r"\s+#.*", "", found[1])


def _words(line: str) -> list[str]:
    """The words after ``ponder``, up to a pipe or a redirection."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words = list(reader)[1:]
    ends = [index for index, word in enumerate(words) if word in {"|", ">", ";", "&&"}]
    return words[: ends[0]] if ends else words


TREE = parser_tree(whole_parser())


def _path(words: list[str]) -> list[str]:
    """The words that are the command and its subcommands."""
    tree = TREE
    for place, word in enumerate(words):
        if word not in tree.commands:
            return words[:place]
        tree = tree.commands[word]
    return words


def _is_whole(line: str) -> bool:
    """Whether it can be typed as it stands; otherwise it speaks of a command or an option, without its arguments."""
    words = line.split()[1:]
    return not SIGNATURE.search(line) and _path(words) != words and words != ["-r"]


LINES = sorted({line for page in PAGES for line in _typed(page)})


@pytest.mark.parametrize("line", [line for line in LINES if _is_whole(line)])
def test_a_command_is_understood(line: str) -> None:
    whole_parser().parse_args(_words(line))


@pytest.mark.parametrize("line", [line for line in LINES if not _is_whole(line)])
def test_a_signature_names_commands_and_options_that_exist(line: str) -> None:
    words = re.sub(r"[\[\]…]", " ", line).split()[1:]
    path = _path(words)
    tree = TREE
    for word in path:
        tree = tree.commands[word]
    known = {name for action in tree.arguments for name in action.option_strings}
    assert {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)} - known == set()
    assert path or words[0].startswith("-")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", None)
    (tmp_path / "config").mkdir()
    return tmp_path


def _runs(line: str) -> bool:
    words = line.split()
    return (not SIGNATURE.search(line)) and words[1] in RUN and not any(name in line for name in NOT_RUN)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("line", [line for line in LINES if _runs(line)])
def test_a_command_runs(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_words(line)) == 0
    said = capsys.readouterr()
    assert said.out or said.err


def _blocks(language: str, pages: list[Path]) -> list[str]:
    return [text for page in pages for found, text in BLOCK.findall(page.read_text("utf-8")) if found == language]


DOCS = ROOT / "docs"
KEYS, THEMES = DOCS / "keys.md", DOCS / "themes.md"
CONFIGURATION = _blocks("toml", [page for page in PAGES if page not in (KEYS, THEMES)])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("text", CONFIGURATION, ids=lambda text: text.strip().partition("\n")[0])
def test_a_configuration_is_read_without_a_complaint(
    text: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = tomllib.loads(text)
    is_profile = "description" in content
    (home / "config" / "profiles").mkdir()
    (home / "config" / ("profiles/shown.toml" if is_profile else "config.toml")).write_text(text, "utf-8")
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, "a-value-for-the-test")
    if "mcp" in content:  # a prompt would start the servers, whose programs are not on every machine
        assert main(["models", "demo", "--json"]) == 0
    else:
        assert main(["-p", "hi", "-m", "demo/fast", *(["--profile", "shown"] if is_profile else [])]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", _blocks("toml", [KEYS]))
def test_keys_are_of_commands(text: str) -> None:
    assert tomllib.loads(text).keys() <= {command.id for command in registry()}


@pytest.mark.parametrize("text", _blocks("toml", [THEMES]))
def test_a_theme_is_listed(text: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config" / "themes").mkdir()
    (home / "config" / "themes" / "mine.toml").write_text(text, "utf-8")
    assert main(["themes"]) == 0
    said = capsys.readouterr()
    assert "My colours" in said.out
    assert said.err == ""


@pytest.mark.parametrize("text", _blocks("json", PAGES))
def test_a_json_block_is_json(text: str) -> None:
    assert json.loads(text if text.lstrip().startswith("{") else f"{{{text}}}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_slash_command_exists(page: Path) -> None:
    line_by_line = OwnCommands(cast("LinearApp", None)).commands()
    known = {f"/{command.slash}" for command in (*registry(), *line_by_line) if command.slash}
    text = page.read_text("utf-8")
    named = {code.split()[0] for code in INLINE.findall(BLOCK.sub("", text)) if re.match(r"/[\w-]+(?![\w/.?-])", code)}
    assert named - known - NO_COMMANDS == set()
