"""The cursor of the conversation: where it stops, that it can always be seen, and the keys that move it."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import CommandScope
from tui.ui.app import PonderApp
from tui.ui.dialogs.find import FindBar
from tui.ui.dialogs.help import Help

pytestmark = pytest.mark.frames

LONG = "\n\n".join(f"Paragraph {number} says something." for number in range(1, 30))
TURNS = tuple(scenes.turn(f"Question {number}?", LONG, number, "Let me think.") for number in range(1, 6))


def marked(app: PonderApp) -> str:
    """What the block under the cursor says."""
    cursor = app.chat.transcript.cursor
    assert cursor is not None
    return cursor[0].blocks[cursor[1]].text()


def marks(app: PonderApp) -> list[str]:
    """The rows with the mark of the cursor: a bar beside what is not a prompt, or in another colour."""
    transcript = app.chat.transcript
    return [
        text
        for y in range(transcript.size.height)
        if (text := transcript.render_line(y).text).startswith(" ▌ ") and "Question" not in text
    ]


async def test_j_and_k_stop_at_prompts_thinking_and_answers_but_not_at_numbers() -> None:
    async with on_stage(scenes.turn("Why?", "Because.", 1, "Hm."), size=(100, 30)) as (app, _, pilot):
        app.chat.transcript.focus()
        await until(pilot, lambda: app.chat.transcript.cursor is not None)
        stops = [marked(app)]
        for _ in range(4):
            await pilot.press("k")
            await pilot.pause()
            stops.append(marked(app))
        assert stops == ["Because.", "Hm.", "Why?", "Why?", "Why?"]
        await pilot.press("j", "j", "j", "j")
        await until(pilot, lambda: marked(app) == "Because.")


async def test_the_keys_of_a_pager_go_to_both_ends() -> None:
    async with on_stage(*TURNS, size=(90, 24)) as (app, _, pilot):
        transcript = app.chat.transcript
        await pilot.press("alt+up", "g")
        await until(pilot, lambda: transcript.column.top == 0 and marked(app) == "Question 1?")
        await pilot.press("G")
        await until(pilot, lambda: transcript.column.following and marked(app) == LONG)
        assert transcript.cursor is not None
        assert transcript.cursor[0].key == "a5"


async def test_braces_go_from_prompt_to_prompt() -> None:
    async with on_stage(*TURNS, size=(90, 24)) as (app, _, pilot):
        await pilot.press("alt+up", "left_curly_bracket")
        await until(pilot, lambda: marked(app) == "Question 5?")
        await pilot.press("left_curly_bracket", "left_curly_bracket")
        await until(pilot, lambda: marked(app) == "Question 3?" and "Question 3?" in screen_text(app))
        await pilot.press("right_curly_bracket")
        await until(pilot, lambda: marked(app) == "Question 4?" and "Question 4?" in screen_text(app))
        await pilot.press(*["right_curly_bracket"] * 5)
        await until(pilot, lambda: marked(app) == "Question 5?")
        await pilot.press(*["left_curly_bracket"] * 9)
        await until(pilot, lambda: marked(app) == "Question 1?")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("key", "opened"), [("slash", FindBar), ("question_mark", Help)], ids=["find", "help"])
async def test_what_a_pager_has_on_these_keys_is_there_too(key: str, opened: type) -> None:
    async with on_stage(*TURNS, size=(90, 24)) as (app, _, pilot):
        await pilot.press("alt+up", key)
        await until(pilot, lambda: isinstance(app.screen, opened))


async def test_the_cursor_is_seen_whenever_its_keys_are_offered() -> None:
    async with on_stage(*TURNS, size=(90, 24)) as (app, services, pilot):
        transcript = app.chat.transcript
        transcript.focus()
        await until(pilot, lambda: transcript.has_focus and bool(marks(app)))
        for key in ("pageup", "pageup", "ctrl+u", "ctrl+home", "ctrl+d", "shift+down", "ctrl+end", "pageup"):
            await pilot.press(key)
            await until(pilot, lambda: bool(marks(app)) or "▌ Question" in screen_text(app))
            assert app.chat.transcript.cursor is not None
        await pilot.press("escape", "ctrl+home")
        await until(pilot, lambda: app.chat.composer.has_focus and transcript.column.top == 0)
        assert marks(app) == []
        transcript.focus()
        await until(pilot, lambda: bool(marks(app)) or marked(app) == "Question 1?")
        await pilot.press("ctrl+end")
        services.chat.publish(*scenes.begun("More?"), *scenes.words(LONG, index=0))
        await until(pilot, lambda: "Paragraph 29" in screen_text(app) and bool(marks(app)))


async def test_the_cursor_of_a_conversation_without_anything_is_nowhere() -> None:
    async with on_stage(size=(90, 24)) as (app, _, pilot):
        app.chat.transcript.focus()
        await pilot.press("j", "k", "g", "G", "left_curly_bracket", "right_curly_bracket", "y")
        assert app.chat.transcript.cursor is None


def test_every_key_of_the_conversation_is_one_press_of_a_letter_or_a_pager() -> None:
    from tui.commands.builtin import registry

    keys = {key for command in registry() if command.scope is CommandScope.TRANSCRIPT for key in command.keys}
    assert {"g", "G", "ctrl+u", "ctrl+d", "slash", "question_mark", "left_curly_bracket", "c", "o", "j", "k"} <= keys
