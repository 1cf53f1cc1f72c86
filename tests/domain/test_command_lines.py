"""Which lines of a draft are commands for the shell, and what their output looks like in the draft."""

from __future__ import annotations

import pytest

from tui.domain.command_lines import command_at, console_block, plain_output, without_line


@pytest.mark.parametrize(
    ("text", "row", "command"),
    [
        ("!git status", 0, "git status"),
        ("!  git status  ", 0, None),
        ("!git status  ", 0, "git status"),
        ("why?\n!make test", 1, "make test"),
        ("why?\n!make test", 0, None),
        ("!", 0, None),
        ("!!", 0, None),
        ("!!important", 0, None),
        ("! not a command", 0, None),
        (" !ls", 0, None),
        ("![a picture](a.png)", 0, None),
        ("hello!", 0, None),
        ("```\n!ls\n```", 1, None),
        ("```\n!ls\n```\n!ls", 3, "ls"),
        ("~~~\n```\n!ls", 2, None),
        ("````\n```\n!ls", 2, None),
        ("!ls", 5, None),
    ],
)
def test_a_command_is_a_line_that_begins_with_an_exclamation_mark(text: str, row: int, command: str | None) -> None:
    assert command_at(text, row) == command


def test_the_other_lines_stay() -> None:
    assert without_line("a\n!ls\nb", 1) == "a\n\nb"


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://a.example\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]52;c;aGk=\x07", ""),
        ("\x1bP1$r0m\x1b\\ok\x1bc", "ok"),
        ("10 %\r50 %\r100 %\r\ndone\r\n", "100 %\ndone\n"),
        ("a\x07b\x00", "a␇b␀"),
        ("\u202egnp.exe", "\\u{202E}gnp.exe"),
        ("\x1b", "␛"),
    ],
)
def test_output_has_no_terminal_sequences(output: str, left: str) -> None:
    assert plain_output(output) == left


@pytest.mark.parametrize(
    ("output", "block"),
    [
        ("a\nb\n", "```console\n$ ls\na\nb\n```"),
        ("", "```console\n$ ls\n```"),
        ("```\n$ rm\n````x", "`````console\n$ ls\n```\n$ rm\n````x\n`````"),
    ],
)
def test_nothing_in_the_output_ends_the_block(output: str, block: str) -> None:
    assert console_block("ls", output) == block
