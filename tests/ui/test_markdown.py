"""Markdown by lines: what streams looks like what came whole; tables, fences and links keep their place."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui import scenes
from tui.ui.markdown.document import Document, lay_markdown
from tui.ui.markdown.highlight import highlight
from tui.ui.markdown.runs import Run, line_width, plain, wrap

PIECES = st.sampled_from(
    [
        *(
            "a",
            " ",
            "\n",
            "\n\n",
            "**",
            "*",
            "`",
            "```",
            "```python\n",
            "- ",
            "1. ",
            "> ",
            "# ",
            "|",
            "---",
            "| a | b |\n",
        ),
        *(
            "|---|---|\n",
            "[x](https://e.org)",
            "漢",
            "é",
            "word ",
            "    ",
            "\t",
            "~~~",
            "<b>",
            "&amp;",
            "\\",
            "[^1]",
            "---\n",
        ),
    ]
)
MARKDOWN = st.lists(PIECES, max_size=40).map("".join)


def shown(document: Document, width: int) -> list[str]:
    return [plain(line) for line in document.lines(width)]


@given(MARKDOWN, st.lists(st.integers(0, 200), max_size=6), st.integers(8, 100))
def test_streamed_in_any_pieces_it_is_what_it_is_whole(text: str, cuts: list[int], width: int) -> None:
    streamed = Document()
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    for start, end in itertools.pairwise(places):
        streamed.append(text[start:end])
        streamed.height(width)
    streamed.close()
    assert shown(streamed, width) == shown(Document(text, closed=True), width)


# In fewer columns, lists and code keep eight for their words and are cut at the edge.
@given(MARKDOWN, st.integers(16, 100))
def test_height_counts_the_lines_and_no_line_is_wider_than_the_page(text: str, width: int) -> None:
    document = Document(text)
    lines = [document.line(number) for number in range(document.height(width))]
    assert lines == list(document.lines(width))
    assert [plain(line) for line in lines if line_width(line) > width] == []


def test_an_answer_with_everything_in_it() -> None:
    assert [plain(line).rstrip() for line in lay_markdown(scenes.ANSWER, 60)] == [
        "The Drake equation gives a frame for the estimate: N = R* ·",
        "f_p · n_e · f_l · f_i · f_c · L.",
        "",
        "1. Rate of star formation is well known, about 1.5 a year.",
        "2. Planets are common: f_p is close to 1.",
        "3. Everything behind that is a guess, and the guesses",
        "   multiply.",
        "",
        "  python                                               copy",
        "  def civilisations(rate: float, *shares: float, lifetime:",
        "  ↪ float) -> float:",
        '      """How many there are now."""',
        "      n = rate * lifetime",
        "      for share in shares:",
        "          n *= share",
        "      return n",
        "",
        "factor    low  high",
        "──────  ─────  ────",
        "f_l     0.001     1",
        "f_i     0.001     1",
        "L         100   1e9",
        "",
        "See the original (https://example.org/drake) for where the",
        "numbers come from.",
    ]


@pytest.mark.parametrize("language", ["python", "js", "rust", "sh", "diff", "", "no-such-language"])
def test_highlighting_changes_no_character(language: str) -> None:
    code = ['def f(x):  # comment "s"', "", "    return x + 1", "-old", "+new"]
    assert ["".join(run.text for run in line) for line in highlight(code, language)] == code


@given(st.text(alphabet="ab 漢\n", max_size=80), st.integers(1, 30))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    lines = wrap([Run(text)], width)
    assert "".join("".join(plain(line).split()) for line in lines) == "".join(text.split())
