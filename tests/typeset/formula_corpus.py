"""Formulas with the drawings that were judged by eye; ``PONDER_UPDATE=1`` writes them anew, to be judged again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tui.typeset.math.typesetting import set_display, set_line
from tui.ui.markdown.runs import width_of

CORPUS = Path(__file__).with_name("formulas.txt")
WIDTH = 100


class Case(NamedTuple):
    """``$`` begins the source, ``|`` a row of the display, ``>`` the form for a line of text."""

    source: str
    rows: tuple[str, ...]
    line: str


def cases() -> list[Case]:
    found: list[Case] = []
    for text in CORPUS.read_text("utf-8").split("\n$ ")[1:]:
        source, *lines = text.split("\n")
        rows = tuple(line[2:] for line in lines if line.startswith("|"))
        found.append(Case(source, rows, "".join(line[2:] for line in lines if line.startswith(">"))))
    return found


def drawn(source: str) -> Case:
    """What is drawn now."""
    drawing = set_display(f"$${source}$$", width_of, WIDTH)
    rows = tuple(row.rstrip() for row in drawing.text.split("\n")) if drawing is not None else ()
    return Case(source, rows, set_line(f"${source}$") or "")


def write() -> None:
    lines: list[str] = []
    for line in CORPUS.read_text("utf-8").split("\n"):
        if line.startswith("$ "):
            case = drawn(line[2:])
            lines += ["", line, *(f"| {row}".rstrip() for row in case.rows), *([f"> {case.line}"] if case.line else [])]
        elif line.startswith("#"):
            lines += ["", line]
    CORPUS.write_text("\n".join(lines).strip() + "\n", "utf-8")
