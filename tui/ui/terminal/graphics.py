"""What the terminal can draw besides text: asked with the first picture, answered while keys are read."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tui.domain.lazy_regex import lazy_regex

KITTY_QUESTION = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
NAME_QUESTION = "\x1b[>q"
CELL_QUESTION = "\x1b[16t"
COLOURS_QUESTION = "\x1b[?1;1;0S"
"""XTSMGRAPHICS: how many colours a sixel picture may have."""
QUESTIONS = KITTY_QUESTION + NAME_QUESTION + CELL_QUESTION + COLOURS_QUESTION
KITTY_ANSWER = lazy_regex(r"\x1b_Gi=31[^;]*;OK\x1b\\")
NAME_ANSWER = lazy_regex(r"\x1bP>\|([A-Za-z]+)[ (]?v?([0-9.]*)")
CELL_ANSWER = lazy_regex(r"\x1b\[6;([0-9]{1,4});([0-9]{1,4})t")
COLOURS_ANSWER = lazy_regex(r"\x1b\[\?1;0;([0-9]{1,6})S")
ATTRIBUTES = lazy_regex(r"\x1b\[\?([0-9;]+)c")
SIXEL_ATTRIBUTE = "4"
PLACEHOLDERS_FROM = {"kitty": (0, 28), "ghostty": (1, 0)}
"""Terminals that draw pictures in the place of characters. Others know the protocol, but not this part of it."""
WITHOUT_GRAPHICS = ("tmux", "screen", "linux")
"""Beginnings of TERM: multiplexers keep graphics from the terminal, and the console has none."""


class Graphics(NamedTuple):
    """What a terminal can draw."""

    placeholders: bool = False
    """Kitty's protocol with Unicode placeholders."""
    sixel: bool = False
    cell: tuple[int, int] | None = None
    """Width and height of a cell in pixels."""
    colours: int = 256
    """Colours of a sixel picture."""


def can_be_asked(environment: Mapping[str, str]) -> bool:
    """Whether the questions reach a terminal that may have graphics."""
    term = environment.get("TERM", "")
    inside = "TMUX" in environment or term.startswith(WITHOUT_GRAPHICS)
    return not inside and environment.get("TERM_PROGRAM") != "Apple_Terminal"


def graphics_in(answers: str) -> Graphics:
    """What the answers say."""
    name = NAME_ANSWER.search(answers)
    needed = PLACEHOLDERS_FROM.get(name[1].lower()) if name is not None else None
    version = tuple(int(part) for part in name[2].split(".") if part) if name is not None else ()
    cell, colours = CELL_ANSWER.search(answers), COLOURS_ANSWER.search(answers)
    attributes = {number for found in ATTRIBUTES.finditer(answers) for number in found[1].split(";")[1:]}
    return Graphics(
        placeholders=KITTY_ANSWER.search(answers) is not None and needed is not None and version >= needed,
        sixel=SIXEL_ATTRIBUTE in attributes,
        cell=(int(cell[2]), int(cell[1])) if cell is not None and int(cell[1]) and int(cell[2]) else None,
        colours=min(256, max(2, int(colours[1]))) if colours is not None else 256,
    )


def cell_of(terminal: int) -> tuple[int, int] | None:
    """A cell in pixels as the kernel knows it: xterm does not answer the question, unless it is allowed to."""
    import fcntl
    import termios

    try:
        rows, columns, wide, high = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return None
    cell = (wide // columns, high // rows) if columns and rows else (0, 0)
    return cell if all(cell) else None


class GraphicsAnswers:
    """Collects what the terminal says until it has answered everything."""

    def __init__(self, terminal: int, answered: Callable[[Graphics], None]) -> None:
        self._terminal = terminal
        self._answered = answered
        self._heard = ""

    def take(self, text: str, *, is_last: bool) -> bool:
        """Hand on what was heard once it is the last; returns whether it was."""
        self._heard += text
        if is_last:
            found = graphics_in(self._heard)
            self._answered(found._replace(cell=found.cell or cell_of(self._terminal)))
        return is_last
