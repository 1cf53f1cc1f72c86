"""The manual page lists what the command line takes, and roff reads it without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.cli.main import main, whole_parser
from tui.cli.man import EXIT_CODES
from tui.cli.parser_tree import ParserTree, parser_tree

HEADLESS = Path(__file__).resolve().parents[2] / "docs" / "headless.md"


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["man"]) == 0
    return capsys.readouterr().out


def _trees(path: str, tree: ParserTree) -> Iterator[tuple[str, ParserTree]]:
    yield path, tree
    for name, inner in tree.commands.items():
        yield from _trees(f"{path} {name}", inner)


def test_every_command_and_option_is_on_it(page: str) -> None:
    sections = dict(re.findall(r"^\.SS (.*)\n((?:(?!\.SS|\.SH).*\n)*)", page.replace("\\-", "-"), re.MULTILINE))
    sections["ponder"] = page.replace("\\-", "-").partition(".SH OPTIONS")[2].partition(".SH COMMANDS")[0]
    trees = dict(_trees("ponder", parser_tree(whole_parser())))
    missing = [
        (path, name)
        for path, tree in trees.items()
        for action in tree.arguments
        for name in action.option_strings
        if action.dest != "help" and f"\\fB{name}\\fR" not in sections[path]
    ]
    assert missing == []
    assert len(trees) > 25


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on this machine")
def test_roff_reads_it(page: str) -> None:
    command = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=100n"]
    done = subprocess.run(command, input=page.encode(), capture_output=True, timeout=PATIENCE_S, check=True)
    text = re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout.decode())
    assert done.stderr == b""
    assert "ponder sessions export" in text
    assert "--thinking-budget N" in text


def test_its_exit_codes_are_those_of_the_docs() -> None:
    table = HEADLESS.read_text("utf-8").partition("## Exit codes")[2].partition("\n\nCtrl+C")[0]
    codes = {int(code) for code in re.findall(r"\b(\d{1,3})\b", table)}
    assert {int(code) for codes_, _ in EXIT_CODES for code in codes_.split(", ")} == codes
