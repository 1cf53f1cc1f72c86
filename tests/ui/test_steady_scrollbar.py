"""The transcript's scrollbar: painted where it looks different, and only there."""

from __future__ import annotations

import random

import pytest
from rich.segment import Segment
from textual.geometry import Offset, Region
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.stage import on_stage, until
from tui.ui.app import PonderApp
from tui.ui.terminal.steady_scrollbar import SteadyScrollBar

pytestmark = pytest.mark.frames

TURNS = [scenes.turn(f"Question {number}?", "Words of an answer.\n\n" * 9) for number in range(12)]


def painted(bar: SteadyScrollBar) -> list[list[Segment]]:
    """What is on the screen: what was rendered before, and anew what it asked for."""
    return [[*strip] for strip in bar.render_lines(Region(0, 0, *bar.size))]


def painted_anew(bar: SteadyScrollBar) -> list[list[Segment]]:
    bar.refresh()
    return painted(bar)


async def change(app: PonderApp, pilot: Pilot[int], chosen: random.Random) -> None:
    transcript, bar = app.chat.transcript, app.chat.transcript.vertical_scrollbar
    match chosen.randrange(6):
        case 0:
            await pilot.resize_terminal(chosen.randint(60, 90), chosen.randint(16, 30))
        case 1:
            bar.mouse_over = not bar.mouse_over
        case 2:
            bar.grabbed = None if bar.grabbed else Offset(0, 0)
        case 3:
            app.theme = chosen.choice(sorted(app.available_themes))
        case _:
            transcript.scroll_to(y=chosen.randint(0, transcript.column.last_top), animate=False)


@pytest.mark.long
async def test_it_looks_right_after_whatever_happens() -> None:
    chosen = random.Random(5)
    async with on_stage(*TURNS, size=(80, 24)) as (app, services, pilot):
        bar = app.chat.transcript.vertical_scrollbar
        await until(pilot, lambda: bar.size.height > 5)
        services.chat.publish(*scenes.begun(), scenes.words()[0])
        for _ in range(24):
            painted(bar)
            services.chat.publish(scenes.words("More words.\n\n" * chosen.randint(0, 3))[1])
            await change(app, pilot, chosen)
            await pilot.pause()
            assert painted(bar) == painted_anew(bar)


async def test_few_of_a_thousand_new_lines_paint_it() -> None:
    async with on_stage(*TURNS, size=(80, 24)) as (app, _, pilot):
        bar = app.chat.transcript.vertical_scrollbar
        await until(pilot, lambda: bar.size.height > 5)
        height, changes = bar.window_size, 0
        shown = painted(bar)
        for more in range(1_000):
            bar.update(200 + more, height, 200 + more - height)
            before, shown = shown, painted(bar)
            changes += before != shown
            assert more % 50 or shown == painted_anew(bar)
        assert 0 < changes < 200
