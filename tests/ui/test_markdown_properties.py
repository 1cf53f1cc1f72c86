"""Markdown in pieces equals markdown in one; no line is wider than it may be; nothing takes long."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.ui.markdown.document import Document
from tui.ui.markdown.layout import text_of
from tui.ui.markdown.runs import line_width

ODD = "a é漢字ｱ👩‍👩‍👧 e\u0301\u0301 שלום \u200d\ufe0f🏴"
WORDS = st.sampled_from(
    [
        "word",
        "**bold**",
        "`code`",
        "*it*",
        "[a](http://b.c)",
        "漢字漢字",
        "👩‍👩‍👧",
        "e\u0301" * 5,
        "x" * 60,
        "|",
        "~~s~~",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
ROWS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |"), max_size=6)
BLOCKS = st.one_of(
    SENTENCES,
    SENTENCES.map(lambda text: f"## {text}"),
    SENTENCES.map(lambda text: f"> {text}\n> {text}"),
    st.lists(SENTENCES, min_size=1, max_size=5).map(lambda rows: "\n".join(f"- {row}" for row in rows)),
    st.lists(SENTENCES, min_size=1, max_size=5).map(
        lambda rows: "\n".join(f"{n}. {row}\n   - {row}" for n, row in enumerate(rows))
    ),
    st.tuples(st.sampled_from(["", "python", "json", "nonsense"]), SENTENCES).map(
        lambda two: f"```{two[0]}\n{two[1]}\n\n{two[1]}\n```"
    ),
    ROWS.map(lambda rows: "| a | b |\n|---|--:|\n" + "\n".join(rows)),
    st.tuples(st.sampled_from(["", " open"]), SENTENCES, SENTENCES).map(
        lambda three: f"<details{three[0]}>\n<summary>{three[1]}</summary>\n\n{three[2]}\n\n</details>"
    ),
    st.tuples(st.sampled_from("abc"), SENTENCES).map(lambda two: f"{two[1]}[^{two[0]}]"),
    st.tuples(st.sampled_from("abc"), SENTENCES).map(lambda two: f"[^{two[0]}]: {two[1]}\n\n    {two[1]}"),
    SENTENCES.map(lambda text: f"> [!TIP]\n> {text}"),
    SENTENCES.map(lambda text: f"{text}\n: {text}\n: {text}"),
    st.sampled_from(
        ["<details>", "</details>", "<summary>x", "- <details>\n  x", "[^a]:", "<details open>x</details>y"]
    ),
    st.just("---"),
    st.just("```\nnever closed"),
)
TEXTS = st.lists(BLOCKS, max_size=8).map("\n\n".join)
WIDTHS = st.integers(8, 120)


def whole(text: str, width: int) -> str:
    return text_of(Document(text, closed=True).lines(width))


@given(TEXTS, WIDTHS, st.lists(st.integers(0, 400), max_size=12))
def test_a_text_in_pieces_is_the_text_in_one(text: str, width: int, cuts: list[int]) -> None:
    document = Document()
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in pairwise(places):
        document.append(text[start:end])
        assert document.height(width) == len(document.lines(width))
    document.close()
    assert text_of(document.lines(width)) == whole(text, width)


@given(TEXTS, WIDTHS)
def test_a_text_character_by_character_is_the_text_in_one(text: str, width: int) -> None:
    document = Document()
    for character in text[:120]:
        document.append(character)
        document.height(width)
    document.close()
    assert text_of(document.lines(width)) == whole(text[:120], width)


@given(TEXTS, st.lists(WIDTHS, min_size=1, max_size=4))
def test_widths_one_after_the_other_are_as_if_each_were_the_first(text: str, widths: list[int]) -> None:
    document = Document(text)
    for width in widths:
        document.height(width)
    document.close()
    assert text_of(document.lines(widths[-1])) == whole(text, widths[-1])


@given(st.text(alphabet=ODD + "\n*`|#->1. ", max_size=200), st.integers(12, 100))
def test_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    assert [line for line in Document(text, closed=True).lines(width) if line_width(line) > width] == []


@given(st.text(max_size=120), st.integers(1, 40))
def test_any_text_at_any_width_is_laid_out(text: str, width: int) -> None:
    document = Document(text[:60])
    document.height(width)
    document.append(text[60:])
    document.close()
    assert document.height(width) == len(document.lines(width))


RUNAWAYS = {
    "a megabyte in one line": "x" * 1_000_000,
    "a megabyte of words": "word " * 200_000,
    "40 KB of digits in a fence": "```\n" + "7" * 40_000 + "\n```",
    "40 KB of digits in python": "```python\n" + "7" * 40_000 + "\n```",
    "40 KB of quotes in json": "```json\n" + "\"'" * 20_000 + "\n```",
    "deep quotes": ">" * 20_000 + " x",
    "deep lists": "\n".join(" " * depth + "- x" for depth in range(400)),
    "open brackets": "[" * 20_000,
    "stars": "*a" * 10_000,
    "backticks": "`" * 20_001 + "a" * 100,
    "a thousand rows": "| a | b |\n|---|---|\n" + "| x | y |\n" * 1_000,
}


@pytest.mark.parametrize("text", RUNAWAYS.values(), ids=RUNAWAYS)
def test_nothing_runs_away_in_a_stream_of_frames(text: str) -> None:
    document = Document()
    slowest = 0.0
    for start in range(0, len(text), 4_000):
        begun = time.process_time()
        document.append(text[start : start + 4_000])
        document.height(80)
        slowest = max(slowest, time.process_time() - begun)
    document.close()
    # A hundred milliseconds is the bound; a busy machine gets three times that before this cries wolf.
    assert slowest < 0.3


ENDLESS = {
    "digits": "```\n" + "7" * 40_000,
    "digits in python": "```python\n" + "7" * 40_000,
    "json": "```json\n" + '{"a": 1, "b": [2, 3]}, ' * 1_700,
    "emoji": "```\n" + "👩\u200d👩\u200d👧 x" * 5_000,
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_frame_of_an_endless_line_of_code_leaves_time_for_keys(text: str) -> None:
    document = Document()
    frames = []
    for start in range(0, len(text), 1_000):
        begun = time.process_time()
        document.append(text[start : start + 1_000])
        document.height(80)
        document.lay_out_end(40)
        document.height(80)
        frames.append(time.process_time() - begun)
    # 16 ms is a frame; these take one or two. The middle one is not disturbed by a collection of garbage.
    assert sorted(frames)[len(frames) // 2] < 0.016
