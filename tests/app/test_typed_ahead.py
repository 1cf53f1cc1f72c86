"""A new chat begins with what is typed for it, however long it takes to begin, and with nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.app.screen_stage import Screen, screen
from tests.patience import PATIENCE_S
from tests.ui.stage import type_in, until


def hold_back_new_sessions(shown: Screen, monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Events that say when one is wanted, and let it begin."""
    wanted, may_begin = asyncio.Event(), asyncio.Event()
    chat = shown.app.services.chat
    begin = chat.new_session

    async def new_session(*, private: bool = False) -> None:
        wanted.set()
        await may_begin.wait()
        await begin(private=private)

    monkeypatch.setattr(chat, "new_session", new_session)
    return wanted, may_begin


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", ["ctrl+n", "/new"])
async def test_what_is_typed_before_a_new_chat_is_shown_goes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    async with screen(tmp_path) as shown:
        await shown.ask("hello")
        composer = shown.app.chat.composer
        before = shown.app.services.chat.session_id
        wanted, may_begin = hold_back_new_sessions(shown, monkeypatch)
        if way == "/new":
            await type_in(shown.pilot, "/new ")
            shown.app.post_message(events.Key("enter", "\r"))
        else:
            await type_in(shown.pilot, "half a thought")
            shown.app.post_message(events.Key("ctrl+n", None))
        await wanted.wait()
        for letter in "hello":
            shown.app.post_message(events.Key(letter, letter))
        async with asyncio.timeout(PATIENCE_S):  # the pilot would wait for the command
            while way == "/new" and composer.text != "hello":
                await asyncio.sleep(0)
        may_begin.set()
        await until(shown.pilot, lambda: shown.app.services.chat.session_id != before)
        await until(shown.pilot, lambda: composer.text == "hello")
        await until(shown.pilot, lambda: "Talk to models that think" in shown.text())
        assert composer.text == "hello"
        await shown.app.services.chat.open_session(before)
        shown.app.chat.open()
        await until(shown.pilot, lambda: composer.text == ("half a thought" if way == "ctrl+n" else ""))
