"""A prompt with siblings shows its place among them at its right end; keys and clicks lead to the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Offset

from tests.app.billing_server import BillingServer
from tests.app.screen_stage import Screen, screen
from tests.app.test_cached_conversation import prepare
from tests.ui.stage import until
from tui.ui.transcript.transcript import Transcript


@asynccontextmanager
async def talking(home: Path, answers: int, **options: Any) -> AsyncIterator[Screen]:
    """The program with a model that gives this many short answers."""
    async with BillingServer((0,) * answers) as server:
        started = {**prepare(home, server), "size": (80, 40), "tools": False, **options}
        async with screen(home, **started) as s:
            yield s


def row_of(s: Screen, words: str) -> str:
    """The row of the screen that contains these words, without the sidebar."""
    [row] = [line for line in s.text().splitlines() if words in line]
    return row


async def marked(s: Screen, words: str, mark: str) -> None:
    """Wait until the prompt with these words has this mark, and the program is at rest."""
    await until(s.pilot, lambda: any(words in line and mark in line for line in s.text().splitlines()))
    # The mark is there as soon as the turn has begun; while it runs, nothing can be switched.
    await until(s.pilot, lambda: not s.app.chat.is_busy() and s.house.view().open_turn is None)
    await s.caught_up()
    await s.pilot.pause()


async def two_branches(s: Screen) -> None:
    await s.ask("First?")
    await s.ask("Second?")
    assert "‹" not in row_of(s, "▌ Second?")
    await s.enter("/retry")
    await marked(s, "▌ Second?", "‹ 2/2 ›")


async def click(s: Screen, words: str, sign: str) -> None:
    """Click a sign in the row with these words."""
    lines = s.text().splitlines()
    y = next(number for number, line in enumerate(lines) if words in line)
    await s.pilot.click(offset=Offset(lines[y].index(sign), y))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("no_save", [False, True], ids=["stored", "private"])
async def test_brackets_go_to_the_sibling_before_and_after(tmp_path: Path, *, no_save: bool) -> None:
    async with talking(tmp_path, 3, no_save=no_save) as s:
        await two_branches(s)
        ids = [turn.id for turn in s.house.view().turns]
        s.app.chat.transcript.focus()
        await until(s.pilot, lambda: s.app.chat.focused is s.app.chat.transcript)
        await s.pilot.press("[")
        await marked(s, "▌ Second?", "‹ 1/2 ›")
        other = [turn.id for turn in s.house.view().turns]
        assert (other[0], len(other)) == (ids[0], 2)
        assert other[1] != ids[1]
        assert s.app.ui_services.context().screen.chosen_turn() == other[1], "the next key is about the same prompt"
        await s.pilot.press("]")
        await marked(s, "▌ Second?", "‹ 2/2 ›")
        assert [turn.id for turn in s.house.view().turns] == ids
        s.app.chat.put_cursor_on(ids[0])
        await s.pilot.press("]")
        await s.until_toast("There is no other branch here.")


@pytest.mark.long
async def test_a_click_on_an_end_of_the_mark_goes_there(tmp_path: Path) -> None:
    async with talking(tmp_path, 4) as s:
        await two_branches(s)
        ids = [turn.id for turn in s.house.view().turns]
        await s.enter("/retry")
        await marked(s, "▌ Second?", "‹ 3/3 ›")
        await click(s, "▌ Second?", "‹")
        await marked(s, "▌ Second?", "‹ 2/3 ›")
        assert [turn.id for turn in s.house.view().turns] == ids
        await click(s, "▌ Second?", "›")
        await marked(s, "▌ Second?", "‹ 3/3 ›")
        await click(s, "▌ Second?", "›")
        await marked(s, "▌ Second?", "‹ 1/3 ›")


@pytest.mark.long
async def test_an_answer_that_is_kept_beside_the_conversation_counts_at_once(tmp_path: Path) -> None:
    async with talking(tmp_path, 3) as s:
        await s.ask("First?")
        side = s.house.services.side
        turn = await side.ask("What else?")
        assert turn.task is not None
        await until(s.pilot, turn.task.done)
        await s.ask("Second?")
        assert "‹" not in row_of(s, "▌ Second?")
        await side.keep(turn.id)
        await marked(s, "▌ Second?", "‹ 1/2 ›")


@pytest.mark.long
async def test_the_mark_is_not_part_of_the_prompt(tmp_path: Path) -> None:
    prompt = "many words " * 30
    async with talking(tmp_path, 2, size=(60, 50)) as s:
        await s.ask(prompt)
        await s.enter("/retry")
        await marked(s, "▌ many", "‹ 2/2 ›")
        transcript: Transcript = s.app.chat.transcript
        section = transcript.column.sections[0]
        rows = ["".join(run.text for run in section.line(number)[0]) for number in range(section.height(60) - 1)]
        assert " ".join(rows).split() == prompt.split(), "it is copied and searched without the mark"
        drawn = [line for line in s.text().splitlines() if "▌ " in line]
        assert [line.split("▌ ")[1].removesuffix("‹ 2/2 ›").strip() for line in drawn[: len(rows)]] == [
            row.strip() for row in rows
        ]
        assert len({len(line) for line in drawn[:1]}) == 1
        await s.pilot.press("ctrl+o")  # all sections of answers are made again
        await marked(s, "▌ many", "‹ 2/2 ›")


@pytest.mark.long
async def test_the_prompt_is_in_view_above_a_long_answer(tmp_path: Path) -> None:
    async with screen(tmp_path, size=(100, 30), stored_in="file") as s:
        await s.ask("Tell me about thinking")
        assert "▌ Tell me about" not in s.text(), "it has scrolled away"
        await s.enter("/retry")
        await until(s.pilot, lambda: not s.app.chat.is_busy() and s.house.view().open_turn is None)
        await s.caught_up()
        await s.enter("/branch previous")
        await marked(s, "▌ Tell me about", "‹ 1/2 ›")


@pytest.mark.long
async def test_asking_the_only_prompt_again_leaves_the_keys_to_the_conversation(tmp_path: Path) -> None:
    async with talking(tmp_path, 2) as s:
        await s.ask("First?")
        s.app.chat.transcript.focus()
        await s.pilot.press("k", "r")
        await marked(s, "▌ First?", "‹ 2/2 ›")
        assert s.app.focused is s.app.chat.transcript
        await s.pilot.press("left_square_bracket")
        await marked(s, "▌ First?", "‹ 1/2 ›")
        assert s.app.focused is s.app.chat.transcript


@pytest.mark.long
async def test_a_new_chat_from_the_conversation_gives_the_keys_to_the_composer(tmp_path: Path) -> None:
    async with screen(tmp_path, model="demo/fast", stored_in="file") as s:
        await s.ask("Hello")
        s.app.chat.transcript.focus()
        await s.pilot.press("ctrl+n")
        await s.until_it_says("Talk to models that think")
        await until(s.pilot, lambda: s.app.focused is s.app.chat.composer)
