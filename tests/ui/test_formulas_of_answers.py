"""Formulas of recorded answers and of the corpus: drawn or byte for byte, at every cut, and only when they are seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest

from tests.corpus_cases import WIRES, Case, recorded_cases
from tests.typeset.formula_corpus import cases
from tests.wires.recordings import read
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.typeset.math.typesetting import set_display, set_line
from tui.ui.markdown import set_formulas
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Line, line_width, plain, width_of
from tui.ui.markdown.set_formulas import BOLD

MARKS = (rb"\\(", rb"\\[", b"$$")
"""A formula in the JSON of a body."""
FORMULA = re.compile(r"\\\(.+?\\\)|\\\[.+?\\\]|\$\$.+?\$\$", re.DOTALL)


def squeezed(text: str) -> str:
    return "".join(text.split())


def as_shown(drawn: str) -> str:
    """A drawing whose bold letters are bold instead of characters of their own."""
    return BOLD.sub(lambda bold: normalize("NFKC", bold[0]), drawn)


def said_with_formulas(found: list[Case]) -> Iterator[str]:
    for case in found:
        if case.status >= 400 or not any(mark in case.body for mark in MARKS):
            continue
        answer = read(case, [case.body])
        for kind in (TextBlock, ThinkingBlock):
            text = answer.said(kind)
            if FORMULA.search(text):
                yield text


def test_every_formula_of_recorded_answers_is_drawn_or_shown_as_written(shared_corpus: Path) -> None:
    assert all((shared_corpus / wire).is_dir() for wire in WIRES)
    texts = list(said_with_formulas(recorded_cases()))
    formulas = [formula for text in texts for formula in FORMULA.findall(text)]
    assert len(formulas) >= 10
    for text in texts:
        lines = Document(text, closed=True).lines(100)
        shown = squeezed("".join(plain(line) for line in lines))
        sources = {squeezed(run.written) for line in lines for run in line if run.written}
        for formula in FORMULA.findall(text):
            assert squeezed(formula) in sources or squeezed(formula) in shown, formula
    drawn = [formula for formula in formulas if set_display(formula, width_of, 100) is not None]
    assert len(drawn) == len(formulas), sorted(set(formulas) - set(drawn))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long)])
def test_at_every_cut_a_formula_is_open_source_or_drawn_whole(every: int) -> None:
    for case in cases()[::every]:
        source, line = f"${case.source}$", set_line(f"${case.source}$")
        text = f"So {source} it is."
        document = Document()
        for at in range(1, len(text) + 1):
            document.append(text[at - 1])
            (shown,) = [plain(line) for line in document.lines(1_000)]
            whole = f"So {as_shown(line or source)} it is."
            closed = at > len(f"So {source}")
            assert shown == (whole[: len(whole) - len(text) + at] if closed else text[:at]).rstrip(), case.source
        display = f"$$\n{case.source}\n$$"
        document = Document("Words.\n\n")
        for at in range(1, len(display) + 1):
            document.append(display[at - 1])
            rows = [plain(line).strip() for line in document.lines(1_000)][2:]
            drawn = [as_shown(row).strip() for row in case.rows]
            assert rows == drawn or squeezed("".join(rows)) == squeezed(display[:at]), case.source


@pytest.mark.one_in(5)
@pytest.mark.parametrize("width", [20, 40, 79])
@pytest.mark.parametrize("frame", ["$$\n{}\n$$", "> - item\n>\n>   $$\n>   {}\n>   $$", "So ${}$ it is."])
def test_no_formula_is_wider_than_the_column(width: int, frame: str) -> None:
    for case in cases():
        lines = Document(frame.format(case.source), closed=True).lines(width)
        assert [plain(line) for line in lines if line_width(line) > width] == [], case.source


def test_only_formulas_that_are_looked_at_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(source: str, width: int, sideways: int | None = None) -> list[Line]:
        asked.append(source)
        return lines(source, width, sideways)

    lines = set_formulas.formula_lines
    monkeypatch.setattr("tui.ui.markdown.layout.formula_lines", counted)
    text = "\n\n".join(f"Let $x_{{{number}}}$ be.\n\n$$\n\\frac{{{number}}}{{2}}\n$$" for number in range(3_000))
    document = Document(text, closed=True)
    height = document.height(80)
    assert height > 6_000
    document.lay_out(4_000, 4_040)
    assert any("─" in plain(document.line(number)) for number in range(4_000, 4_040))
    assert 0 < len(asked) < 40
