"""Handlers that tests look up once are those that Textual would find each time."""

from __future__ import annotations

import pytest
from textual.message import Message
from textual.message_pump import MessagePump

from tests.ui.known_handlers import Handlers, handlers_as_textual, known_handlers
from tests.ui.stage import on_stage


@pytest.mark.long
async def test_each_message_reaches_the_handlers_that_textual_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    others: list[str] = []

    def compared(self: MessagePump, method_name: str, message: Message) -> Handlers:
        found = list(handlers_as_textual(self, method_name, message))
        if list(known_handlers(self, method_name, message)) != found:
            others.append(f"{method_name} of {self}")
        seen.update(f"{method_name} of {holder.__name__}" for holder, _ in found)
        return handlers_as_textual(self, method_name, message)

    monkeypatch.setattr(MessagePump, "_get_dispatch_methods", compared)
    for _ in range(2):  # found, and kept
        async with on_stage() as (_, _, pilot):
            await pilot.press("a", "ctrl+p", "down", "escape")
    assert not others
    assert {"on_mount of Widget", "on_mount of ChatScreen", "on_key of App", "on_key of Composer"} <= seen
    assert {"on_field_pressed of SearchSheet", "on_composer_typed of InputArea"} <= seen  # found by name and by @on
