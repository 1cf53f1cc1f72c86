"""Queued prompts above the composer: what they look like, and removing one by its mark or by x."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.events import QueueChanged
from tui.ui.app import PonderApp


async def queue(pilot: Pilot[int], app: PonderApp, services: FakeServices, *prompts: str) -> list[str]:
    """Queue prompts behind a running turn; the rows that show them."""
    services.chat.publish(*scenes.begun("First?"), QueueChanged(prompts, held=False))
    await until(pilot, lambda: prompts[-1][:20] in screen_text(app))
    return [row for row in screen_text(app).splitlines() if "at the end" in row and row.startswith(" ▌ ")]


def taken(services: FakeServices) -> list[object]:
    return [argument for name, argument in services.chat.asked if name == "take_last_queued"]


async def test_each_stands_there_like_a_prompt_with_a_mark_at_its_end() -> None:
    async with on_stage(size=(80, 24), values={"ui.sidebar": "hidden"}) as (app, services, pilot):
        rows = await queue(pilot, app, services, "Second?", "A third one that is far too long for a row " * 3)
        assert [row.split()[-1] for row in rows] == ["x", "x"]
        assert {len(row) for row in rows} == {len(rows[0])}
        assert "Second?" in rows[0]
        assert "…" in rows[1]


async def test_a_click_on_the_mark_removes_that_prompt() -> None:
    async with on_stage(size=(80, 24), values={"ui.sidebar": "hidden"}) as (app, services, pilot):
        rows = await queue(pilot, app, services, "Second?", "Third?")
        place = screen_text(app).splitlines().index(rows[0])
        await pilot.click(offset=(rows[0].index("Second?"), place))
        await pilot.click(offset=(rows[0].rindex("x"), place))
        await until(pilot, lambda: taken(services) == ["Second?"])


async def test_x_in_the_conversation_removes_the_last_one_and_is_a_letter_elsewhere() -> None:
    async with on_stage(size=(80, 24), values={"ui.sidebar": "hidden"}) as (app, services, pilot):
        await queue(pilot, app, services, "Second?", "Third?")
        await pilot.press("x")
        await until(pilot, lambda: app.chat.composer.text == "x")
        await pilot.press("backspace", "alt+up", "x")
        await until(pilot, lambda: taken(services) == [None])
