"""Every occurrence of a search is counted and can be pointed at, wherever lines break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import View
from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.runs import plain, width_of
from tui.ui.transcript.blocks import Answer, Fold
from tui.ui.transcript.thinking import Thinking

pytestmark = pytest.mark.frames

WORDS = st.sampled_from(
    ["needle", "the", "hay", "**needle**", "needle,", "nee**dle**", "`needle`", "é漢", "👨‍👩‍👧", "long" * 9]
)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=20).map(" ".join), min_size=1, max_size=6).map("\n\n".join)


@given(TEXTS, st.integers(20, 90), st.booleans())
def test_every_occurrence_is_counted_and_has_its_place(text: str, width: int, thinking: bool) -> None:
    wanted = SearchTerms("needle")
    block = Thinking(text, folded=Fold.FULL) if thinking else Answer(text, closed=True)
    count = text.replace("*", "").replace("`", "").count("needle")
    assert block.count(wanted) == count
    places = [block.find(wanted, number, width) for number in range(count)]
    assert places == sorted(set(places))
    for place in places:
        assert place.column is not None
        row = plain(block.line(place.line))
        assert cut(row, place.column, place.end) == "needle" if place.last == place.line else True


def cut(text: str, first: int, last: int) -> str:
    """The characters between two columns."""
    return "".join(c for at, c in enumerate(text) if first <= width_of(text[:at]) < last and width_of(c))


def test_a_phrase_is_found_across_rows_and_in_code_that_is_wrapped() -> None:
    text = "> " + "word " * 12 + "great filter here.\n\n```\n" + "value = " + "other_name + " * 9 + "last_name\n```"
    for width in range(24, 60):
        block = Answer(text, closed=True)
        for phrase in ("great filter here", "word great", "other_name + last_name"):
            found = block.find(SearchTerms(phrase), 0, width)
            assert found.column is not None, (phrase, width)
            assert plain(block.line(found.line)).find(phrase.split()[0], found.column) >= 0


def test_terms_are_found_at_the_beginning_of_words_without_accents() -> None:
    assert SearchTerms("cafe zebra", ("cafe", "zebra")).spans("Café, cafés; a zebra, décafé") == [
        (0, 4),
        (6, 10),
        (15, 20),
    ]
    assert SearchTerms("x", ("great filter",)).spans("a Great-Filter") == [(2, 14)]
    assert SearchTerms("->", ("->",)).spans("a -> b") == [(2, 4)]
    assert SearchTerms().spans("anything") == []
    assert SearchTerms("a.b").spans("a.b A.B axb") == [(0, 3), (4, 7)]


@pytest.mark.long
async def test_folded_occurrences_count_and_open_when_they_are_stepped_to() -> None:
    text = "One needle. Two needle.\n\nThree **nee**dle."
    async with on_stage(scenes.turn("the needle?", text, thought="A needle in thinking, needle."), size=(100, 30)) as (
        app,
        _,
        pilot,
    ):
        await app.show_view(View.FIND, "needle")
        await until(pilot, lambda: "of 6" in screen_text(app))
        await pilot.press("enter")
        for _ in range(6):
            if "A needle in thinking" in screen_text(app) and "┊" in screen_text(app):
                break
            await pilot.press("n")
            await pilot.pause()
        assert "┊ A needle in thinking, needle." in screen_text(app)
        seen: set[str] = set()
        for _ in range(6):
            assert app.chat.get_selected_text() == "needle"
            seen.add(str(list(app.chat.selections.values())))
            await pilot.press("n")
            await pilot.pause()
        assert len(seen) == 6
