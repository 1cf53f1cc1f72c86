"""Titles that a model writes: beside the conversation, on the same bill, never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.side_server import SideServer
from tests.app.stage import config
from tests.ui.stage import until
from tui.app.session_titles import title_in

WANTED = '[ui]\ntitles = "model"'
TITLE = "Write"
"""The first word of the request for a title."""


async def begun(s: Screen, server: SideServer, word: str) -> None:
    await s.enter(f"{word} begins")
    await until(s.pilot, lambda: server.asked(word) == 1)
    server.say(word, "Because.")
    server.finish(word)


async def test_the_model_writes_the_title_while_the_conversation_goes_on(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(WANTED))
        async with screen(tmp_path, model=None, stored_in="file", tools=True) as s:
            await begun(s, server, "alpha")
            await until(s.pilot, lambda: server.asked(TITLE) == 1)
            assert s.app.chat.view().title in ("", "alpha begins")  # type: ignore[union-attr]
            await begun(s, server, "beta")
            await s.until_it_says("beta begins")
            await until(s.pilot, lambda: len(s.house.view().turns) == 2)
            server.say(TITLE, "**“Sky colours.”**\n")
            server.finish(TITLE)
            await s.until_it_says("ponder · Sky colours\n")
            asked = next(body for body in server.bodies if TITLE in json.dumps(body["messages"]))
            assert [message["role"] for message in asked["messages"]] == ["user"]
            assert "tools" not in asked
            assert "alpha begins" in asked["messages"][0]["content"]
            assert "Sky" not in json.dumps([body for body in server.bodies if body is not asked])
            await until(s.pilot, lambda: len(s.house.view().paid) == 3)
            assert [row.title for row in await s.house.services.library.sessions()] == ["Sky colours"]
            assert s.house.services.chat.last_exchange() is not None
            assert "beta begins" in json.dumps(dict(s.house.services.chat.last_exchange().request))  # type: ignore[union-attr]


@pytest.mark.long
async def test_a_title_of_the_user_stays_and_nobody_waits_for_one(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(WANTED))
        async with screen(tmp_path, model=None, stored_in="file") as s:
            await begun(s, server, "alpha")
            await until(s.pilot, lambda: server.asked(TITLE) == 1)
            await s.enter("/rename Mine")
            await s.until_it_says("ponder · Mine\n")
            server.say(TITLE, "Theirs")
            server.finish(TITLE)
            await until(s.pilot, lambda: len(s.house.view().paid) == 2)
            await begun(s, server, "gamma")
            await until(s.pilot, lambda: len(s.house.view().turns) == 2)
            assert [row.title for row in await s.house.services.library.sessions()] == ["Mine"]
            await s.pilot.press("ctrl+n")
            await begun(s, server, "delta")
            await until(s.pilot, lambda: server.asked(TITLE) == 2)  # never answered: the program ends all the same


@pytest.mark.one_in(2)
@pytest.mark.parametrize("more", ["", f"{WANTED}\n[budget]\nsession = 5"])
async def test_by_default_and_with_a_spending_limit_nothing_is_asked(tmp_path: Path, more: str) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(more))
        async with screen(tmp_path, model=None, stored_in="file") as s:
            await s.enter("alpha begins")
            if more:
                await s.until_it_says("limit")
                return
            await until(s.pilot, lambda: server.asked("alpha") == 1)
            server.say("alpha", "Because.")
            server.finish("alpha")
            await begun(s, server, "beta")
            await until(s.pilot, lambda: len(s.house.view().turns) == 2)
            assert server.asked(TITLE) == 0


def test_what_is_taken_from_the_answer() -> None:
    titles = {
        "# Sums in a file": "Sums in a file",
        '\n"Why the sky is blue."\nIt is short.': "Why the sky is blue",
        "Title: Two windows": "Two windows",
        "I would be glad to help you with that. " * 4: "",
        " \n": "",
    }
    assert {answer: title_in(answer) for answer in titles} == titles
