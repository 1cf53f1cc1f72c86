"""Lines that begin with ``!`` in drafts and templates: commands for the shell, and the block their output becomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import printable

_COMMAND = lazy_regex(r"!(?![!\[\s`])(.+)")
_FENCE = lazy_regex(r" {0,3}(`{3,}|~{3,})(.*)")
_TERMINAL_SEQUENCES = lazy_regex(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")


def command_at(text: str, row: int) -> str | None:
    """The command in this line of a draft; None if the line is text.

    ``![`` begins an image in markdown, and what is within a fence is quoted.
    """
    if "!" not in text:
        return None
    lines = text.split("\n")
    if row >= len(lines) or (command := command_of(lines[row])) is None:
        return None
    return None if list(fenced_lines(lines[: row + 1]))[row] else command


def command_of(line: str) -> str | None:
    """The command in a line outside of fences; None if the line is text."""
    found = _COMMAND.fullmatch(line)
    return found[1].strip() if found is not None else None


def fenced_lines(lines: Iterable[str]) -> Iterator[bool]:
    """For each line, whether it is a fence or within one."""
    opened = ""
    for line in lines:
        found = _FENCE.fullmatch(line)
        yield bool(opened or found)
        if found is None:
            continue
        if not opened:
            opened = found[1]
        elif found[1].startswith(opened) and not found[2].strip():
            opened = ""


def without_line(text: str, row: int) -> str:
    """The draft with this line empty."""
    lines = text.split("\n")
    lines[row] = ""
    return "\n".join(lines)


def plain_output(output: str) -> str:
    """The output as a terminal would leave it: without colours, and lines that were written over left out."""
    plain = _TERMINAL_SEQUENCES.sub("", output).replace("\r\n", "\n")
    return printable("\n".join(line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")))


def console_block(command: str, output: str) -> str:
    """The command and its output as a block of markdown, which nothing in it can end."""
    block = f"$ {printable(command)}\n{plain_output(output)}".rstrip("\n")
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}console\n{block}\n{fence}"
