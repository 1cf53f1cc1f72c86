"""Words on the screen, chosen with the mouse, come to the clipboard; links say where they lead and go nowhere alone."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from tests.e2e.terminal import Terminal
from tests.e2e.test_living import talking

FAR = {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}
CLIPBOARD = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")
ENDED = re.compile(r"^ *\d+\.\d s\b", re.MULTILINE)
"""How long an answer took is said below it once it is whole and has taken its lasting place; on a busy machine with the
time to the first token behind it."""


def _place(terminal: Terminal, words: str) -> tuple[int, int]:
    """Column and row of words on the screen, from one, as the mouse counts."""
    for row, line in enumerate(terminal.text().split("\n"), start=1):
        if words in line:
            return line.index(words) + 1, row
    raise AssertionError(f"{words!r} is not on the screen")


def _mouse(terminal: Terminal, button: int, place: tuple[int, int], *, up: bool = False) -> None:
    terminal.type(f"\x1b[<{button};{place[0]};{place[1]}{'m' if up else 'M'}")


def test_words_are_chosen_by_dragging_and_copied_by_ctrl_c(tmp_path: Path) -> None:
    with talking(tmp_path, **FAR) as (terminal, model):
        model.say("first words of it\n\nlast \x1b]0;x\x07words of it")
        model.finish()
        terminal.until(lambda: ENDED.search(terminal.text()) is not None, "the end of the answer")
        begin, end = _place(terminal, "words of it"), _place(terminal, "last")
        _mouse(terminal, 0, begin)
        for row in range(begin[1], end[1] + 1):
            _mouse(terminal, 32, (end[0] + 3, row))
        _mouse(terminal, 0, (end[0] + 3, end[1]), up=True)
        terminal.type("\x03")
        terminal.wait_for("Copied")
        assert [base64.b64decode(found) for found in CLIPBOARD.findall(terminal.raw)] == [b"words of it\n\nlast"]


def test_a_link_tells_its_address_first_and_one_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    with talking(tmp_path, **FAR) as (terminal, model):
        model.say("[good](https://a.example/path) and [bad](ssh://b.example)")
        model.finish()
        terminal.wait_for("bad")
        for words, answer in (("bad", "Only http and https"), ("good", "Click again to copy it")):
            place = _place(terminal, words)
            _mouse(terminal, 0, place)
            _mouse(terminal, 0, place, up=True)
            terminal.wait_for(answer)
        assert CLIPBOARD.findall(terminal.raw) == []
        assert b"\x1b]8;" not in terminal.raw
        _mouse(terminal, 0, place)
        _mouse(terminal, 0, place, up=True)
        terminal.wait_for("Copied the address")
        assert [base64.b64decode(found) for found in CLIPBOARD.findall(terminal.raw)] == [b"https://a.example/path"]
