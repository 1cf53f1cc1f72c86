"""Folded turns on the screen: one line that opens to the summary and to the turns, which stay within reach."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, until
from tui.commands.registry import Copy, View
from tui.domain.compression import CompressionView
from tui.domain.events import CompressionChanged, CompressionFinished
from tui.ui.app import PonderApp
from tui.ui.transcript.section import Section

FIRST = CompressionView(
    summary="They **estimated** civilisations.", compressed_turns=frozenset({"t1"}), before=84_000, after=9_000
)
HEAD = "Compressed 1 turn into a summary · 84k → 9k tokens"


async def fold(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> None:
    services.chat.publish(CompressionChanged(FIRST), CompressionFinished(84_000, 9_000, FIRST.summary))
    await until(pilot, lambda: f"▸ {HEAD}" in top(app))


def top(app: PonderApp) -> str:
    app.chat.transcript.scroll_home(animate=False)
    return screen_text(app)


def rows(app: PonderApp) -> list[str]:
    return [line[:90] for line in top(app).splitlines()[1:34]]


def colours(app: PonderApp, section: Section) -> set[object]:
    strips = [section.strip(number, app.ui_services.theme_styles(), cursor=None) for number in range(3)]
    return {segment.style.color for strip in strips for segment in strip if segment.text.strip() and segment.style}


async def test_folded_turns_collapse_into_one_line_also_when_opened_again_and_uncompress_brings_them_back() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(130, 40)) as (app, services, pilot):
        before = rows(app)
        await fold(app, services, pilot)
        await until(pilot, lambda: "They **estimated** civilisations." in screen_text(app))
        assert "The Drake equation" not in screen_text(app)
        assert "And with L = 10,000 years?" in screen_text(app)
        live = rows(app)
        app.chat.open()
        await pilot.pause()
        await until(pilot, lambda: rows(app) == live)
        services.chat.publish(CompressionChanged(None))
        await until(pilot, lambda: rows(app) == before)


async def test_a_line_stays_where_the_compression_ran_and_opens_to_the_summary() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(130, 40)) as (app, services, pilot):
        view = replace(FIRST, finished=frozenset(turn.id for turn in scenes.CONVERSATION))
        services.chat.publish(CompressionChanged(view), CompressionFinished(84_000, 9_000, view.summary))
        line = "▸ 1 turn compressed: 84k → 9k   /uncompress undoes it"
        await until(pilot, lambda: line in screen_text(app))
        services.chat.publish(*scenes.begun("And now?"))
        await until(pilot, lambda: screen_text(app).find("And now?") > screen_text(app).find(line) > 0)
        app.chat.open()
        await until(pilot, lambda: line in screen_text(app))
        row = next(number for number, text in enumerate(screen_text(app).splitlines()) if line in text)
        await pilot.click(app.chat, offset=(10, row))
        await until(pilot, lambda: "┊ They estimated civilisations." in screen_text(app))
        services.chat.publish(CompressionChanged(None))
        await until(pilot, lambda: "1 turn compressed" not in screen_text(app))


async def test_enter_and_the_mouse_open_the_summary_with_the_turns_behind_it_dimmed_and_close_them() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(130, 40)) as (app, services, pilot):
        await fold(app, services, pilot)
        sections = app.chat.transcript.column.sections
        app.chat.transcript.focus()
        app.chat.transcript.put_cursor(3, 0)
        app.chat.transcript.move_cursor(-1)  # passes over what is folded away
        assert app.chat.transcript.cursor == (sections[0], 0)
        await pilot.press("enter")
        await until(pilot, lambda: "┊ They estimated civilisations." in screen_text(app))
        assert f"▾ {HEAD}" in screen_text(app)
        assert "The Drake equation" in screen_text(app)
        assert [section.presence.name for section in sections[:4]] == ["SHOWN", "DIMMED", "DIMMED", "SHOWN"]
        assert len(colours(app, sections[2])) == 1
        await pilot.press("enter")
        await until(pilot, lambda: f"▸ {HEAD}" in screen_text(app))
        assert "The Drake equation" not in screen_text(app)
        row = next(number for number, line in enumerate(screen_text(app).splitlines()) if HEAD in line)
        await pilot.click(app.chat, offset=(10, row))
        await until(pilot, lambda: "The Drake equation" in screen_text(app))


@pytest.mark.frames
@pytest.mark.long
async def test_finding_copying_and_branching_reach_folded_turns() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(130, 40)) as (app, services, pilot):
        await fold(app, services, pilot)
        await app.show_view(View.FIND, "the guesses")
        await until(pilot, lambda: "1 of 1" in screen_text(app))
        await until(pilot, lambda: "and the guesses multiply" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        app.chat.transcript.focus()
        await pilot.pause()
        assert app.ui_services.context().screen.chosen_turn() == "t1"
        copied: list[str] = []
        app.copying.put = lambda text: copied.append(text) or ""  # type: ignore[method-assign,func-returns-value]
        for what in (Copy.ANSWER, Copy.ALL):
            app.copying.copy(what)
        assert copied[0].startswith("The Drake equation")
        assert "The Drake equation" in copied[1]
        await until(pilot, lambda: f"▾ {HEAD}" in top(app))
        await app.ui_services.run_line("/branch")
        assert services.chat.asked[-1] == ("switch_branch", ("t1", 1))


async def test_the_view_of_all_thinking_leaves_the_fold_and_what_is_still_arriving_in_place() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(130, 14)) as (app, services, pilot):
        await fold(app, services, pilot)
        services.chat.publish(*scenes.begun("And now?"), *scenes.words("Still arriving.", index=0))
        await until(pilot, lambda: "Still arriving." in screen_text(app) or "↓ " in screen_text(app))
        await pilot.press("ctrl+o")
        app.chat.transcript.follow()
        assert "Still arriving." in screen_text(app)
        assert f"▸ {HEAD}" in top(app)
        assert not app.chat.transcript.column.following
        services.chat.publish(CompressionChanged(None))
        await until(pilot, lambda: "▸ Folded" not in screen_text(app) and "↓" in screen_text(app))
        assert re.search(r"↓ \d", screen_text(app)) is None
