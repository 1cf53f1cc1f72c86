"""MathML of every formula of the corpus: well-formed, with nothing lost, and with the source beside it."""

from __future__ import annotations

from unicodedata import normalize
from xml.etree import ElementTree

import pytest
from hypothesis import given

from tests.typeset.formula_corpus import cases
from tests.typeset.test_math import PARTS_OF_FORMULAS
from tui.typeset.math.typesetting import set_display, set_mathml
from tui.ui.markdown.runs import width_of

CASES = cases()


def letters(text: str) -> list[str]:
    """Letters and digits, without what only the form of a character says."""
    plain = normalize("NFKD", text.replace("⊤", "T").replace("⊺", "T").replace("∛", "3").replace("ˇ", ""))
    return sorted(character for character in plain if character.isalnum())


def test_every_formula_is_whole_in_mathml() -> None:
    for case in CASES:
        source = f"$${case.source}$$"
        drawn = set_mathml(source, is_display=True)
        drawing = set_display(source, width_of, 1_000)
        assert drawn is not None
        assert drawing is not None
        root = ElementTree.fromstring(drawn)
        formula, annotation = root[0]
        assert (root.tag, root.get("display"), annotation.text) == ("math", "block", source)
        assert letters("".join(formula.itertext())) == letters(drawing.text), source


def test_the_parts_of_mathml() -> None:
    got = set_mathml(r"$\sum_{i=1}^{n} \frac{x_i^2}{12} \le \text{a < b}$", is_display=False)
    assert got == (
        "<math><semantics><mrow><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
        "<mfrac><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mrow><mn>12</mn></mrow></mfrac>"
        "<mo>≤</mo><mtext>a&#160;&lt;&#160;b</mtext></mrow>"
        r'<annotation encoding="application/x-tex">$\sum_{i=1}^{n} \frac{x_i^2}{12} \le \text{a &lt; b}$</annotation>'
        "</semantics></math>"
    )


@pytest.mark.parametrize("source", [r"$\weird{x}$", "$x", "$$$$", r"$\frac{a}$"])
def test_what_cannot_be_set_has_no_mathml(source: str) -> None:
    assert set_mathml(source, is_display=False) is None


@given(PARTS_OF_FORMULAS)
def test_whatever_is_set_is_well_formed(source: str) -> None:
    drawn = set_mathml(f"$${source}$$", is_display=True)
    if drawn is not None:
        formula, annotation = ElementTree.fromstring(drawn)[0]
        assert annotation.text == f"$${source}$$".replace("\r\n", "\n").replace("\r", "\n")
        assert {each.tag for each in formula.iter()} <= ELEMENTS


ELEMENTS = {
    *("mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder"),
    *("mover", "munderover", "mtable", "mtr", "mtd", "menclose", "mphantom"),
}
