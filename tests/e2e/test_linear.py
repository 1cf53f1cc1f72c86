"""The program line by line on a terminal: nothing is rewritten, and everything can be answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.line_terminal import LineTerminal


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_a_prompt_is_answered_in_lines_that_are_only_appended(tmp_path: Path, term: str) -> None:
    with LineTerminal(tmp_path, "-m", "demo/fast", term=term) as terminal:
        said = terminal.ask("Hello")
        assert re.search(r"^Thinking…\nThought [\d.]+ s, about \d+ tokens\. /thinking show prints it\.$", said, re.M)
        assert "\nAnswer by the demo, not a real model, thinking med:\nHeading 2: Welcome to ponder\n" in said
        assert re.search(r"^Took [\d.]+ s, 1\.2k tokens in, \d+ out, \d+ thinking, \$0\. Context: ", said, re.M)
        said = terminal.ask("/thinking show")
        assert 'Thinking:\nThe user says: "Hello".' in said
        terminal.hear("you> ")
        terminal.enter("/quit")
        assert terminal.exit_code() == 0
        assert b"\x1b" not in terminal.raw
