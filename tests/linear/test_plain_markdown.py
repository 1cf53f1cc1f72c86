"""Markdown becomes lines that are spoken well, and the same ones however the text arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.linear.plain_markdown import SOFT_LIMIT, PlainMarkdown, cells, plain_lines

CASES: dict[str, tuple[str, list[str]]] = {
    "words": ("one\ntwo\n\nthree", ["one two", "", "three"]),
    "emphasis": ("a **b\nc** and _d_ and `e_f`", ["a b c and d and e_f"]),
    "hard break": ("one  \ntwo", ["one", "two"]),
    "deleted": ("~~old~~ new", ["[deleted: old] new"]),
    "link": ("see [the page](https://x.org/a) now", ["see the page (https://x.org/a) now"]),
    "bare link": ("see <https://x.org>", ["see https://x.org"]),
    "picture": ("![a cat](cat.png)", ["image: a cat (cat.png)"]),
    "entities": ("a &lt; b \\* c", ["a < b * c"]),
    "heading": ("# One\ntext\n## Two ##\n", ["Heading 1: One", "text", "", "Heading 2: Two"]),
    "underlined": ("One\n===\nTwo\n---\n", ["Heading 1: One", "", "Heading 2: Two"]),
    "rule": ("a\n\n---\n\nb", ["a", "", "b"]),
    "list": ("- a\n- b\n  goes on\n  - c\n1. d\n", ["- a", "- b goes on", "  - c", "1. d"]),
    "tasks": ("* [ ] a\n* [x] b", ["- to do: a", "- done: b"]),
    "quote": ("> said *so*\n\nx", ["Quote: said so", "", "x"]),
    "long quote": ("> a\n>\n> b\nand on\n\nx", ["Quote:", "a", "b and on", "End of the quote.", "", "x"]),
    "alert": ("> [!WARNING]\n> Hot.\n", ["Warning: Hot."]),
    "code": (
        "so:\n```python\ndef f():\n\n\n    return 1\n```\nx",
        ["so:", "Code, python:", "def f():", "", "", "    return 1", "End of code.", "x"],
    ),
    "open code": ("```\na", ["Code:", "a", "End of code."]),
    "code in a list": ("- a\n  ```sh\n  ls **\n  ```\n- b", ["- a", "Code, sh:", "ls **", "End of code.", "- b"]),
    "diagram": (
        "```mermaid\ngraph TD\nA-->B\n```",
        ["Source of a diagram, mermaid:", "graph TD", "A-->B", "End of the diagram."],
    ),
    "table": (
        "| a | b | c |\n|---|:-:|---|\n| 1 | **2** | 3 |\n| x | | z |\n\nend",
        ["Table with 3 columns: a, b, c.", "1: b 2, c 3", "x: c z", "End of the table, 2 rows.", "", "end"],
    ),
    "narrow table": (
        "a | b\n--|--\n1 | 2 \\| 3",
        ["Table with 2 columns: a, b.", "1: 2 | 3", "End of the table, 1 row."],
    ),
    "formula": ("so $a^2 + b$ and\n\n$$\\frac{a}{b}$$\n\nx", ["so a² + b and", "", "Formula: a/b", "", "x"]),
    "long formula": ("$$\nx = 1\n$$", ["Formula: x = 1"]),
    "fenced formula": ("```math\n\\alpha\n```", ["Formula: α"]),
    "unknown formula": ("$\\nosuch{a}$", ["$\\nosuch{a}$"]),
    "price": ("it costs $5 and $6", ["it costs $5 and $6"]),
    "details": (
        "<details>\n<summary>More</summary>\n\ntext\n\n</details>\nx",
        ["Details: More", "", "text", "", "End of details.", "x"],
    ),
    "details in a line": (
        "a<details><summary>S</summary>b\nc</details>d",
        ["a<details><summary>S</summary>b c", "End of details.", "d"],
    ),
    "details with text": ("<details><summary>S</summary>b", ["Details: S", "b"]),
    "a row with more cells": (
        "a|b\n-|-\n1|2|3",
        ["Table with 2 columns: a, b.", "1: 2, 3", "End of the table, 1 row."],
    ),
    "footnote": ("a[^1]\n\n[^1]: because", ["a[^1]", "", "Note 1: because"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_given_in_lines(name: str) -> None:
    text, lines = CASES[name]
    assert plain_lines(text) == lines


def _fed(pieces: list[str]) -> list[str]:
    plain = PlainMarkdown()
    return [line for piece in pieces for line in plain.feed(piece)] + plain.close()


@given(st.data())
def test_how_a_text_arrives_changes_nothing(data: st.DataObject) -> None:
    texts = st.sampled_from([text for text, _ in CASES.values()] + ["word " * 1_000])
    text = "\n\n".join(data.draw(st.lists(texts, min_size=1, max_size=4)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert _fed(pieces) == plain_lines(text)


@given(st.text("ab*_`#>|-\\\\[]!~\n 1.", max_size=80))
def test_no_word_is_lost(text: str) -> None:
    said = "\n".join(plain_lines(text))
    assert all(said.count(letter) >= text.count(letter) for letter in "ab1")


def test_a_line_without_an_end_is_given_in_parts() -> None:
    plain = PlainMarkdown()
    given_lines = plain.feed("word " * SOFT_LIMIT)
    assert [len(line) for line in given_lines][:2] == [SOFT_LIMIT - 1, SOFT_LIMIT - 1]
    assert " ".join([*given_lines, *plain.close()]).split() == ["word"] * SOFT_LIMIT


def test_a_line_is_given_when_it_is_complete_and_not_before() -> None:
    plain = PlainMarkdown()
    assert plain.feed("- one\n- tw") == []
    assert plain.feed("o\n- thr") == ["- one"]
    assert plain.feed("ee\n\n") == ["- two", "- three", ""]
    assert plain.feed("```\ncode") == ["Code:"]
    assert plain.feed("\nmore\n") == ["code", "more"]


@pytest.mark.parametrize(
    ("line", "found"), [("| a | b |", ["a", "b"]), ("a|b", ["a", "b"]), ("|a\\|b|", ["a|b"]), ("| |x|", ["", "x"])]
)
def test_cells(line: str, found: list[str]) -> None:
    assert cells(line) == found
