"""The places beside the conversation where foreign words can come to stand: drawn, never obeyed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.foreign import ESCAPES, MARKUP, obeyed
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import ApprovalAsked
from tui.domain.listing import ServerInfo
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish, Stop
from tui.ui.app import PonderApp
from tui.ui.dialogs.approval import Approval

PAYLOADS = {**ESCAPES, **{text: text for text in MARKUP}}
ALL = " ".join(PAYLOADS.values())
Scene = Callable[[PonderApp, FakeServices, "Pilot[int]"], Awaitable[str]]


def hostile_call(words: str, number: int = 3) -> Turn:
    """A tool call whose every part is foreign."""
    call = ToolCallBlock(call_id=words, name=words, arguments=json.dumps({"path": words}))
    broken = ToolCallBlock(call_id="c9", name=words, arguments=words, partial=True)
    diff = f"--- {words}\n+++ {words}\n@@ -1,2 +1,2 @@\n-{words}\n+{words}\n"
    results = (
        ToolResultBlock(call_id=words, name=words, content=(TextBlock(text=diff),)),
        ToolResultBlock(call_id="c9", name=words, content=(TextBlock(text=words),), failed=True),
    )
    first = Message(
        id="a3", role=Role.ASSISTANT, blocks=(call, broken), origin=scenes.ORIGIN, stop=Stop(Finish.TOOL_USE, words)
    )
    origin = replace(scenes.ORIGIN, model=words, provider=words, level=words)
    last = replace(scenes.answer(words, 53, words), origin=origin)
    return Turn(
        id=f"t{number}",
        messages=(scenes.user(words, number), first, Message(id="r3", role=Role.TOOL, blocks=results), last),
    )


async def _tools(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    await pilot.press("ctrl+o", "ctrl+o", "ctrl+home")
    seen = [screen_text(app)]
    for _ in range(6):
        await pilot.press("pagedown")
        seen.append(screen_text(app))
    return "".join(seen)


async def _mention(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    payloads = list(PAYLOADS.values())
    names = ["src/" + " ".join(payloads[at : at + 4]) for at in range(0, len(payloads), 4)]
    services.drafts.complete_path = lambda start: names  # type: ignore[method-assign]  # of this run
    await type_in(pilot, "see @src")
    await until(pilot, lambda: app.chat.composer.popup_open)
    seen = [screen_text(app)]
    for _ in names:
        await pilot.press("down")
        seen.append(screen_text(app))
    await pilot.press("tab")
    await until(pilot, lambda: "⟦" in app.chat.composer.text)
    return "".join([*seen, screen_text(app)])


async def _edit(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    await app.ui_services.run_id("chat.edit")
    await until(pilot, lambda: bool(app.chat.composer.text))
    return screen_text(app)


async def _recall(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    services.drafts.history = [ALL]
    app.chat.composer.past.__init__(services.drafts.history)  # type: ignore[misc]
    await pilot.press("up")
    return screen_text(app)


async def _find(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    await app.ui_services.run_line("/find bold")
    await pilot.pause()
    seen = screen_text(app)
    await pilot.press("enter", "enter")
    return seen + screen_text(app)


async def _compare(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    turns = services.chat.view().turns
    services.library.stored["s2"] = (replace(hostile_call(ALL), id=turns[-1].id),)
    await app.ui_services.run_line("/replay openai/gpt-6-sol/high")
    await until(pilot, lambda: "2 answers" in screen_text(app))
    await pilot.press("left")
    await pilot.pause()
    return screen_text(app)


async def _library(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    async def preview(session: str) -> str:
        return f"{ALL}\n\n# {ALL}\n\n`{ALL}`"

    services.library.preview = preview  # type: ignore[method-assign]
    services.library.rows = [replace(row, title=ALL, model=ALL) for row in services.library.rows]
    await app.ui_services.run_line("/sessions")
    await pilot.pause()
    seen = [screen_text(app)]
    await type_in(pilot, "b")
    await pilot.pause()
    for keys in (("backspace", "down", "tab"), ("r",), ("escape", "e"), ("escape", "d")):
        await pilot.press(*keys)
        seen.append(screen_text(app))
    return "".join(seen)


async def _pages(app: PonderApp, services: FakeServices, pilot: Pilot[int]) -> str:
    services.tools.servers = lambda: [ServerInfo(name=ALL, state=ALL, tools=1)]  # type: ignore[method-assign]
    services.settings.profiles = lambda: [(ALL, ALL)]  # type: ignore[method-assign]
    services.settings.show_profile = lambda name: ALL  # type: ignore[method-assign]
    services.status = lambda: ALL  # type: ignore[method-assign]
    services.models.model_info = lambda name="": ALL  # type: ignore[method-assign]
    services.keys.key_hint = lambda provider: ALL  # type: ignore[method-assign]
    seen = []
    for line in (
        "/mcp",
        "/profile list",
        "/profile show x",
        "/status",
        "/model",
        "/key openai",
        f"/no{ALL}",
        f"/theme {ALL}",
    ):
        await app.ui_services.run_line(line)
        await pilot.pause()
        seen.append(screen_text(app))
        await pilot.press("escape")
    return "".join(seen)


SCENES: dict[str, Scene] = {
    "tool calls and their results": _tools,
    "names of files": _mention,
    "a prompt that is edited": _edit,
    "a prompt of the past": _recall,
    "find": _find,
    "compare": _compare,
    "the library": _library,
    "pages and refusals": _pages,
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SCENES)
async def test_no_place_obeys_foreign_words(name: str) -> None:
    async with on_stage(hostile_call(ALL), size=(150, 44)) as (app, services, pilot):
        seen = await SCENES[name](app, services, pilot)
        assert obeyed(seen) == []
        assert app.is_running
        assert app.stopped_by is None


async def test_a_click_on_words_that_look_like_an_action_does_nothing() -> None:
    words = "[@click=app.quit]leave[/] and [@click='app.bell()']ring[/]"
    async with on_stage(scenes.turn("Why?", words), size=(100, 30)) as (app, _services, pilot):
        rows = screen_text(app).split("\n")
        row = next(number for number, line in enumerate(rows) if words in line)
        for word in ("leave", "ring"):
            await pilot.click(offset=(rows[row].index(word) + 1, row))
        assert app.is_running
        assert app.return_code is None


async def test_a_question_drawn_by_a_model_stands_in_its_own_column_and_takes_no_answer() -> None:
    asked = ApprovalAsked("live", "c9", "shell", "Run a command", "rm -rf /", ("shell rm",))
    async with on_stage(size=(100, 40)) as (app, services, pilot):
        services.chat.publish(*scenes.begun("Do it"), asked)
        await until(pilot, lambda: " ASKS " in screen_text(app))
        real = screen_text(app)
        drawn = "```\n" + "\n".join(line.strip() for line in real.split("\n") if "┃" in line) + "\n```"
    # Its lines are too long for the column, so the copy has more rows than the sheet.
    async with on_stage(scenes.turn("Do it", drawn), size=(100, 60)) as (app, services, pilot):
        copy = screen_text(app)
        assert "ASKS" in copy
        # The real one has an edge no line of the conversation can have: heavy and at the top of the frame.
        assert [line for line in copy.split("\n") if "┏" in line] != [line for line in real.split("\n") if "┏" in line]
        assert not isinstance(app.screen, Approval)
        await pilot.press("ctrl+y", "down", "enter")
        assert services.chat.asked == []
