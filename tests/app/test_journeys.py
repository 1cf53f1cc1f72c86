"""What a new user does first needs no help text, and no more keys than in crush and opencode.

Keys are counted without the words that are typed. Those of the others are from their key tables (crush's ``keys.go``
and opencode's page on keybinds, 2026); None is what they have no keys for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import Screen, screen
from tests.ui.stage import type_in, until
from tui.domain.messages import Role
from tui.domain.thinking import ThinkingLevel
from tui.ui.input.field import Field
from tui.ui.panels.thinking_picker import ThinkingPicker


class Hands:
    """Types and presses, and counts the presses."""

    def __init__(self, shown: Screen) -> None:
        self._shown = shown
        self.pressed = 0

    async def press(self, *keys: str) -> None:
        self.pressed += len(keys)
        await self._shown.pilot.press(*keys)

    async def write(self, words: str) -> None:
        await type_in(self._shown.pilot, words)


def prompts(shown: Screen) -> list[str]:
    return [
        "".join(getattr(block, "text", "") for block in message.blocks)
        for turn in shown.house.view().turns
        for message in turn.messages
        if message.role is Role.USER
    ]


async def ask(shown: Screen, hands: Hands) -> None:
    await hands.write("hello")
    await hands.press("enter")
    await shown.until_it_says("What you can look at now")


async def read(shown: Screen, hands: Hands) -> None:
    await shown.ask("show me markdown")
    await shown.ask("show me markdown again")
    await hands.press("ctrl+home")
    await until(shown.pilot, lambda: "▌ show me markdown  " in shown.text())


async def stop(shown: Screen, hands: Hands) -> None:
    await shown.enter("slow puzzle")
    await until(shown.pilot, shown.app.chat.is_busy)
    await hands.press("escape")
    await until(shown.pilot, lambda: not shown.app.chat.is_busy())


async def edit(shown: Screen, hands: Hands) -> None:
    for words in ("hello one", "hello two", "hello three"):
        await shown.ask(words)
    await hands.press("alt+up", "left_curly_bracket", "left_curly_bracket", "e")
    await shown.until_it_says("editing turn 2 of 3")
    await hands.write("!")
    await hands.press("enter")
    await until(shown.pilot, lambda: prompts(shown) == ["hello one", "hello two!"])


async def switch(shown: Screen, hands: Hands) -> None:
    await hands.press("ctrl+t")
    await until(shown.pilot, lambda: isinstance(shown.app.focused, Field))
    await hands.write("demo/chat")
    await shown.until_it_says("    demo/chat")
    await hands.press("enter")
    await until(shown.pilot, lambda: isinstance(shown.app.focused, ThinkingPicker))
    await hands.press("right", "enter")
    await until(shown.pilot, lambda: shown.app.screen is shown.app.chat)
    spec = shown.house.view().spec
    assert (spec.model, spec.asked) == ("chat", ThinkingLevel.MED)


async def find(shown: Screen, hands: Hands) -> None:
    await shown.ask("hello")
    await shown.pilot.press("ctrl+n")
    await shown.until_it_says("Talk to models that think")
    await hands.press("ctrl+s")
    await until(shown.pilot, lambda: isinstance(shown.app.focused, Field))
    await hands.write("folded line")
    await shown.until_it_says("1 session")
    await hands.press("enter")
    await shown.until_it_says("1 of")


Journey = Callable[[Screen, Hands], Awaitable[None]]
JOURNEYS: tuple[tuple[Journey, int, int | None, int | None], ...] = (
    (ask, 1, 1, 1),  # enter
    (read, 1, 2, 1),  # to the beginning: tab g; ctrl+g
    (stop, 1, 2, 1),  # esc esc; esc
    (edit, 5, None, 6),  # an earlier prompt: ctrl+x g, up, enter, enter, enter
    (switch, 4, 6, 4),  # ctrl+l enter, ctrl+p enter down enter; ctrl+x m enter ctrl+t
    (find, 2, 2, 3),  # ctrl+s enter and ctrl+x l enter, both in titles only
)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("journey", "keys", "crush", "opencode"), JOURNEYS, ids=[row[0].__name__ for row in JOURNEYS])
async def test_the_first_things_a_user_does_take_few_keys(
    tmp_path: Path, journey: Journey, keys: int, crush: int | None, opencode: int | None
) -> None:
    # What is to be stopped must still be running.
    pace: dict[str, Any] = {"model": "demo/demo/low", "demo_speed": 1.0} if journey is stop else {}
    async with screen(tmp_path, stored_in="file", **pace) as shown:
        hands = Hands(shown)
        await journey(shown, hands)
        assert hands.pressed == keys
        assert all(other is None or keys <= other for other in (crush, opencode))
