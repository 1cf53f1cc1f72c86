"""The outline lists prompts, headings and turns of thought, and jumps to them."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.ui.dialogs.outline import Outline, places_of_thinking
from tui.ui.markdown.outline import chunks_of, outline
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, Speaker
from tui.ui.transcript.thinking import Thinking

ANSWER = (
    "# First *part*\n\n"
    + "Words. " * 300
    + "\n\n```python\n# no heading\n```\n\nSecond part\n===========\n\n"
    + "More words.\n\n" * 40
    + "<details>\n<summary>More</summary>\n\n### Hidden `part`\n\nSecret.\n\n</details>\n\n"
    + "- # in a list\n\n## Last part ##\n\nEnd."
)
THOUGHT = (
    "**Reading the question**\n\nThe user wants a sum. Wait, is it a product? Let me check the text: it says add.\n\n"
    "So it is a sum. And so on, so what. I could actually stop here.\n\n## Plan\n\nActually, no. "
    "Alternatively I count. Hmm... But wait, there is more.\n```\nWait, this is code.\n```\n"
    "Now let's verify that. awaiting nothing."
)


def titles(text: str, *, thinking: bool = False) -> list[tuple[int, str]]:
    return [(entry.level, entry.title) for entry in outline(chunks_of(text), thinking=thinking)]


def test_the_headings_of_an_answer() -> None:
    assert titles(ANSWER) == [(1, "First part"), (1, "Second part"), (3, "Hidden part"), (2, "Last part")]
    assert titles("#hashtag\n\n| # | a |\n|---|---|\n| # | b |\n\n> # quoted\n\n---\n\na\n\n---") == []


def test_thinking_turns_at_the_beginnings_of_sentences() -> None:
    assert titles(THOUGHT, thinking=True) == [
        (1, "Reading the question"),
        (7, "Wait, is it a product"),
        (7, "Let me check the text: it says add"),
        (7, "So it is a sum"),
        (2, "Plan"),
        (7, "Actually, no"),
        (7, "Alternatively I count"),
        (7, "Hmm"),
        (7, "But wait, there is more"),
        (7, "Now let's verify that"),
    ]


def test_parts_of_thinking_have_the_durations_that_were_measured() -> None:
    thinking = Thinking(live=True)
    for second, text in ((1.0, "Words. " * 10), (2.0, "Wait, no. " + "Words. " * 9), (10.0, "So. " + "Words. " * 10)):
        thinking.append(text + "\n\n")
        thinking.seconds = second
        thinking.note_pace()
    column = Column()
    section = Section("a", Speaker.MODEL, lambda: [thinking])
    column.append(section)
    places = places_of_thinking(column, (0, 0))
    assert [place.title for place in places] == ["Beginning", "Wait, no", "So"]
    assert [place.time for place in places] == ["1.0 s", "1.0 s", "8.0 s"]


def test_durations_are_estimated_where_nothing_was_measured() -> None:
    thinking = Thinking("Words. " * 10 + "\n\nWait, no. " + "Words. " * 29)
    thinking.seconds = 8.0
    column = Column()
    column.append(Section("a", Speaker.MODEL, lambda: [thinking]))
    assert [place.time for place in places_of_thinking(column, (0, 0))] == ["≈2.0 s", "≈6.0 s"]


async def test_o_lists_prompts_and_headings_and_enter_goes_there() -> None:
    turns = (scenes.turn("The first question", ANSWER, 1, THOUGHT), scenes.turn("The second question", "Short.", 2))
    async with on_stage(*turns, size=(80, 24)) as (app, _, pilot):
        app.chat.transcript.focus()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Outline) and "Last part" in screen_text(app))
        shown = screen_text(app)
        for words in (
            "The first question",
            "Thinking",
            "First part",
            "Second part",
            "Hidden part",
            "The second question",
        ):
            assert words in shown
        assert "no heading" not in shown
        await pilot.press(*"second part", "enter")
        await until(pilot, lambda: app.screen is app.chat and "Second part" in screen_text(app))
        assert app.chat.transcript.has_focus
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Outline) and app.screen.row_list.chosen is not None)
        assert isinstance(app.screen, Outline)
        await until(pilot, lambda: app.screen.row_list.chosen == "2")  # type: ignore[attr-defined]  # of the same answer
        await pilot.press(*"hidden", "enter")
        await until(pilot, lambda: app.screen is app.chat and "Secret." in screen_text(app))


@pytest.mark.long
async def test_on_thinking_its_own_turns_are_listed_and_it_is_unfolded() -> None:
    async with on_stage(scenes.turn("q", "Answer.", 1, THOUGHT * 3), size=(80, 24)) as (app, _, pilot):
        await app.ui_services.run_line("/outline thinking")
        await until(pilot, lambda: isinstance(app.screen, Outline) and "Reading the question" in screen_text(app))
        assert "≈" in screen_text(app)
        await pilot.press(*"alternatively", "enter")
        await until(pilot, lambda: app.screen is app.chat and "Alternatively I count" in screen_text(app))
        assert app.chat.transcript.cursor is not None
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Outline) and "Reading the question" in screen_text(app))


async def test_without_anything_to_list_it_says_so() -> None:
    async with on_stage(scenes.turn("q", "Answer."), size=(80, 24)) as (app, _, pilot):
        await app.ui_services.run_line("/outline thinking")
        await until(pilot, lambda: "no thinking to list" in screen_text(app))
        await app.ui_services.run_line("/outline everything")
        await until(pilot, lambda: "takes only thinking" in screen_text(app))
