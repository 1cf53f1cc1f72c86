"""Sources that took seconds or for ever are drawn or refused at once."""

from __future__ import annotations

import contextlib

import pytest

from tui.typeset.diagrams.diagram import LONGEST, READERS, draw
from tui.typeset.diagrams.graph import DiagramError

ROOM = LONGEST - 100


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "part", [" ", "\t ", "\n", "\n ", "%%{", "%%{ ", "a--", "a->", "a : ", "accDescr {\n", '"`', "b ~c~"]
)
def test_a_source_of_repeated_characters_is_drawn_or_refused_at_once(kind: str, part: str) -> None:
    """The patterns hold the interpreter's lock: 4,000 blanks in `erDiagram` stopped the screen for 18 seconds."""
    with contextlib.suppress(DiagramError):
        draw(f"{kind}\na{part * (ROOM // len(part))}b", 80, len)


def test_blanks_between_words_mean_one_blank() -> None:
    wide = "classDiagram\n  title    : x\n  Animal    <|--    Dog   :   is"
    assert draw(wide, 80, len) == draw(wide.replace("   ", " ").replace("  ", " "), 80, len)


def test_a_statement_that_is_too_long_is_named() -> None:
    with pytest.raises(DiagramError, match="Line 2 is too long to draw"):
        draw("classDiagram\n" + "a--" * 2_000, 80, len)
