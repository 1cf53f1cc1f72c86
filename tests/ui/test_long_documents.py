"""Long texts are laid out only where they are looked at, and are the same whichever way one went through them."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.printable import printable
from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.chunk_store import KEPT, ChunkStore, SharedText
from tui.ui.markdown.chunks import Splitter
from tui.ui.markdown.document import Document, code_blocks
from tui.ui.markdown.runs import Line, plain
from tui.ui.transcript.blocks import Answer, Fold, Prompt
from tui.ui.transcript.column import Column
from tui.ui.transcript.row_painter import with_selection
from tui.ui.transcript.search_hits import hits_in, reveal
from tui.ui.transcript.section import Section, Speaker
from tui.ui.transcript.thinking import Thinking

BLOCKS = {
    "a paragraph": "Some **bold** words, a [link](http://e.org/x) and `code`, again and again. " * 9,
    "lines without a blank one": "\n".join(f"short line {number}" for number in range(400)),
    "a long list": "\n".join(f"{number}. item *{number}*\n   and more of it" for number in range(1, 150)),
    "a table": "| name | value |\n|---|---:|\n" + "\n".join(f"| row `{n}` | {n * 7919} |" for n in range(90)),
    "a wide table": "| a | b |\n|---|---|\n" + "\n".join(f"| {'w ' * (n % 70)} | {n} |" for n in range(150)),
    "no table after all": "| a | b |\n|---|\n" + "\n".join(f"| {n} | {n} |" for n in range(90)),
    "code": "```python\n" + "\n".join(f'def f{n}(x):  # {n}\n    """Says\n    {n}."""\n' for n in range(60)) + "\n```",
    "unlabelled code": "```\n" + "\n".join(f"row {n} " * (n % 30) for n in range(120)) + "\n```",
    "an endless line of code": "```json\n" + '{"a": 1},' * 1_200 + "\n```",
    "an endless line": "word " * 1_900 + "x" * 4_500,
    "a definition": "[far]: http://far.example/away\n\nWords before [a far link][far] and after.",
    "a heading": "## Heading\n\n> quoted\n> words\n\n---",
    "notes": "A note[^n] and a later one[^m].\n\n[^n]: Words of the note.\n\n    And more.",
    "a note alone": "[^m]: " + "Later words. " * 40,
    "folded": "<details>\n<summary>Folded</summary>\n\n" + "Words[^m]. " * 90 + "\n\n- a\n- b\n\n</details>",
    "open": "<details open>\n<summary>Open</summary>\n\n| a | b |\n|---|---|\n" + "| c | d |\n" * 90 + "\n</details>",
    "never closed": "<details open>\n\n```python\n" + "x = 1\n" * 50 + "```",
    "nothing": "",
}
LONG = st.lists(st.sampled_from(list(BLOCKS.values())), min_size=2, max_size=6).map("\n\n".join)
WIDTHS = st.sampled_from([24, 60, 96])
FEW = settings(max_examples=settings().max_examples // 3)


def whole(text: str, width: int) -> list[Line]:
    return list(Document(text, closed=True).lines(width))


@FEW
@given(LONG, WIDTHS, st.lists(st.tuples(st.floats(0, 1), st.integers(1, 60)), max_size=8))
def test_lines_are_the_same_whatever_order_they_are_visited_in(
    text: str, width: int, visits: list[tuple[float, int]]
) -> None:
    true = whole(text, width)
    document = Document(text, closed=True)
    for share, count in visits:
        first = int(share * document.height(width))
        first += document.lay_out(first, first + count)
        seen = [document.line(number) for number in range(first, min(first + count, document.height(width)))]
        assert any(true[at : at + len(seen)] == seen for at in range(len(true) - len(seen) + 1))
    assert list(document.lines(width)) == true


@FEW
@given(LONG, WIDTHS, st.lists(st.integers(0, 12_000), max_size=10))
def test_a_long_text_in_pieces_is_the_text_in_one_colours_included(text: str, width: int, cuts: list[int]) -> None:
    document = Document()
    for start, end in pairwise(sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})):
        document.append(text[start:end])
        document.height(width)
        document.lay_out_end(20)
    document.close()
    assert list(document.lines(width)) == whole(text, width)


def column_of(text: str, width: int = 60, height: int = 12) -> Column:
    column = Column()
    column.resize(width, height)
    sections = [
        Section("q", Speaker.USER, lambda: [Prompt(text)], len(text)),
        Section("a", Speaker.MODEL, lambda: [Answer(text, closed=True)], len(text)),
    ]
    column.replace_all(sections)
    return column


def seen(column: Column) -> list[str]:
    rows = []
    for line in range(column.top, min(column.top + column.height, column.total)):
        found = column.find(line)
        assert found is not None
        rows.append(plain(column.sections[found[0]].line(found[1])[0]))
    return rows


@FEW
@given(LONG, st.lists(st.tuples(st.floats(0, 1), st.lists(st.integers(-11, 11), max_size=12)), max_size=4))
def test_scrolling_within_a_message_has_no_seam_wherever_one_jumped_to(
    text: str, walks: list[tuple[float, list[int]]]
) -> None:
    column = column_of(text)
    assert not text.strip() or seen(column)[-2:] == [plain(whole(text, 55)[-1]), ""]
    for share, steps in walks:
        column.scroll_to(int(share * column.last_top))
        column.shifted = 0
        for step in steps:
            before, top = seen(column), column.top
            column.scroll_to(top + step)
            now = seen(column)
            moved = column.top - top - column.shifted if column.top not in (0, column.last_top) else None
            column.shifted = 0
            if moved is not None and 0 <= moved < len(before):
                assert now[: len(before) - moved] == before[moved:]
            elif moved is not None and -len(now) < moved < 0:
                assert now[-moved:] == before[: len(now) + moved]


def test_from_the_end_to_the_top_every_line_is_seen_once() -> None:
    text = "\n\n".join([BLOCKS["a wide table"], BLOCKS["code"], BLOCKS["lines without a blank one"]])
    column = Column()
    column.resize(60, 12)
    column.replace_all([Section("a", Speaker.MODEL, lambda: [Answer(text, closed=True)], len(text))])
    rows = seen(column)
    while column.top > 0:
        column.shifted = 0
        column.scroll_to(column.top - 5)
        rows = [*seen(column)[: len(seen(column)) - 12 + 5], *rows] if column.top else rows
    whole_rows = ["", *(plain(line) for line in whole(text, 55)), ""]
    assert rows == whole_rows[len(whole_rows) - len(rows) :]
    assert len(whole_rows) - len(rows) < 5


@pytest.mark.parametrize("width", [40, 90, 140])
def test_what_is_read_in_a_long_message_stays_at_another_width(width: int) -> None:
    column = column_of("\n\n".join(f"[{number}] " + "word " * (number % 23) for number in range(600)))
    column.scroll_to(column.total * 3 // 4)
    first = next(row for row in seen(column) if row.startswith("["))
    column.resize(width, 12)
    assert first.split()[0] in " ".join(seen(column))


def test_words_nobody_looked_at_are_found() -> None:
    text = "\n\n".join([*["Words before. " * 40] * 50, "And **there** is the needle, at last.", *["More. " * 90] * 50])
    for block in (Answer(text, closed=True), Thinking(text, folded=Fold.FULL)):
        assert block.count(SearchTerms("there is the needle")) == 1
        found = block.find(SearchTerms("there is the needle"), 0, 60)
        assert found.column is not None
        assert plain(block.line(found.line))[found.column : found.end] == "there is the needle"
        assert found.line > 300


def test_of_a_long_text_little_is_laid_out_to_show_its_end_or_any_place_in_it() -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(5_000))
    column = column_of(text)
    answer = column.sections[1].blocks[0]
    assert isinstance(answer, Answer)
    for place in (column.total, 0, column.total // 2):
        column.scroll_to(place)
    assert sum(answer.document()._lazy_lines._true) < 100


def test_code_is_copied_whole_however_it_was_cut() -> None:
    blocks = ["\n".join(f"line {n}" for n in range(200)), "x" * 9_000 + "\nend", "", "a\n\nb"]
    text = "\n\n".join(f"```\n{block}\n```" for block in blocks)
    assert code_blocks(Document(text, closed=True).chunks) == blocks


async def test_what_is_selected_stays_selected_when_what_is_above_turns_out_taller() -> None:
    text = "\n\n".join(
        [*["| a |\n|---|\n" + "| wide words in a cell " * 1 + "|\n"] * 3, *["Tall. " * 300] * 30, "Here."]
    )
    async with on_stage(scenes.turn("q", text), size=(80, 24)) as (app, _, pilot):
        transcript = app.chat.transcript
        rows = screen_text(app).splitlines()
        line = transcript.column.top + next(y for y, row in enumerate(rows) if "Here." in row) - transcript.region.y
        app.screen.selections = {transcript: Selection(Offset(3, line), Offset(8, line))}
        for _ in range(6):
            await pilot.press("pageup")
        await until(pilot, lambda: "Here." not in screen_text(app))
        assert app.screen.get_selected_text() == "Here."


async def test_a_selection_survives_a_window_that_becomes_narrower() -> None:
    async with on_stage(scenes.turn("q", "Words that fill a row of a wide window. " * 20), size=(100, 24)) as stage:
        app, _, pilot = stage
        transcript = app.chat.transcript
        app.screen.selections = {transcript: Selection(Offset(90, 5), Offset(95, 8))}
        for width in (60, 20, 1, 100):
            await pilot.resize_terminal(width, 24)
            await until(pilot, lambda width=width: transcript.size.width <= width)  # type: ignore[misc]
            assert all(strip.cell_length == transcript.size.width for strip in map(transcript.render_line, range(12)))


@pytest.mark.parametrize("text", ["", "a", "some words"])
@pytest.mark.parametrize("start", [0, 1, 4, 10, 90])
@pytest.mark.parametrize("end", [0, 1, 4, 10, 95])
def test_a_selection_within_and_beyond_a_row_leaves_its_text(text: str, start: int, end: int) -> None:
    strip = Strip([Segment(text)] if text else [])
    shown = with_selection(strip, Selection(Offset(start, 0), Offset(end, 0)), 0, Style(reverse=True))
    assert shown.text == text
    assert "".join(part.text for part in shown if part.style) == text[start:end]


async def test_a_search_brings_words_into_sight_that_were_never_laid_out() -> None:
    before, after = ["Tall. " * 200] * 60, ["More. " * 200] * 60
    text = "\n\n".join([*before, "```\n" + "row\n" * 300 + "```", "The **needle** is here.", *after])
    async with on_stage(scenes.turn("q", text), size=(80, 24)) as (app, _, pilot):
        transcript, view = app.chat.transcript, app.chat.view()
        assert view is not None
        wanted = SearchTerms("needle")
        hits = hits_in(transcript.column.sections, view, wanted)
        marked = [reveal(transcript, hit, wanted) for hit in hits]
        await until(pilot, lambda: "The needle is here." in screen_text(app))
        assert len(marked) == 1
        assert marked[0] is not None
        start, end = marked[0]
        app.screen.selections = {transcript: Selection(start, end)}
        assert app.screen.get_selected_text() == "needle"


async def test_links_far_inside_a_long_message_can_be_clicked() -> None:
    text = "\n\n".join([*["Tall. " * 200] * 60, "[**here**](http://far.example)", *["More. " * 200] * 60])
    async with on_stage(scenes.turn("q", text), size=(80, 24)) as (app, _, pilot):
        transcript = app.chat.transcript
        answer = transcript.column.sections[1].blocks[1]
        line = answer.find(SearchTerms("here"), 0, 75).line
        transcript.column.show(1, 1)
        transcript.scroll_to(y=transcript.column.top + line, animate=False)
        await until(pilot, lambda: "here (http://far.example)" in screen_text(app))
        row = next(y for y, words in enumerate(screen_text(app).splitlines()) if "http://far.example" in words)
        assert app.screen.get_style_at(4, row).meta["href"] == "http://far.example"


def test_pieces_kept_together_are_the_pieces_that_came() -> None:
    code, table = "```py\nx = 1\n```\n\n", "| a |\n|---|\n| 1 |\n\n"
    text = "".join(
        f"paragraph {number}\n\n{'' if number % 7 else code}{'' if number % 11 else table}"
        for number in range(4 * KEPT)
    )
    pieces = Splitter().feed(text)
    shared = SharedText()
    shared.append(text)
    for kept in (ChunkStore(), ChunkStore(shared)):
        for piece in pieces:
            kept.extend([piece])
        assert len(kept) == len(pieces) > 4 * KEPT
        assert list(kept) == [kept[place] for place in range(len(kept))] == pieces
        assert kept[5:-5] == pieces[5:-5]
        assert kept[-1] == pieces[-1]


ODD = {
    "a list with blank lines": "- one\n  \n\t\n- two\n   \n  more\n\n",
    "a formula with blank lines": "$$\nx\n   \ny\n$$\n\n",
    "control characters": "a\x1b[31m b\tc\r\nd\r\n\r\n",
    "clusters": "e\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u4e2d\u6587\u202e\n\n",
    "the same again": "word\n\nword\n\n```\nword\n\nword\n```\nword\n\n",
}


@FEW
@given(
    st.lists(st.sampled_from([*BLOCKS.values(), *ODD.values()]), min_size=1, max_size=8).map("\n\n".join),
    st.lists(st.integers(0, 9_000), max_size=12),
    st.booleans(),
)
def test_chunks_read_from_the_shared_text_are_the_chunks_that_were_cut(text: str, cuts: list[int], share: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui.ui.markdown.chunk_store.KEPT", 1)
        document = Document()
        for start, end in pairwise(sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})):
            document.append(text[start:end])
        document.close()
        if share:
            document.adopt(text)
        splitter = Splitter()
        assert list(document._chunks) == splitter.feed(printable(text)) + splitter.finish()


PIECES = 40


@pytest.mark.long
def test_short_paragraphs_take_little_more_than_their_words() -> None:
    text = "lorem ipsum dolor sit amet, *consectetur* `elit` sed do.\n\n" * 1_000
    pieces = [f"{number:03}{text}" for number in range(PIECES)]
    first = Document(text)  # what is loaded with the first document
    first.height(80)
    first.lay_out_end(20)
    tracemalloc.start()
    try:
        document = Document()
        for number in range(PIECES):
            document.append(pieces[number])
            document.height(80)
            document.lay_out_end(20)
        gc.collect()  # a test that ran the whole program may have left the collector slow
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # The text itself is the caller's; the document keeps where its chunks are.
    assert held < 1.1 * PIECES * len(text)
