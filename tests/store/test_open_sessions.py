"""Sessions of the whole program that are kept in the database: flipped, renamed, opened twice, told about."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import FAST, heard_until
from tui.app.current_session import CurrentSession, first_spec
from tui.app.launch_options import LaunchOptions
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.sqlite_sessions import SqliteSessions
from tui.bootstrap.program import build_program
from tui.context.estimate import text_tokens
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.domain.events import AppEvent, CompressionFinished, Notice, TitleChanged, TurnFailed, TurnFinished
from tui.engine.ports import NoTools
from tui.engine.state import SessionView

FIRST, SECOND = (TextBlock(text="Hello"),), (TextBlock(text="Show me a table"),)


@dataclass
class Home:
    """A program with a session open."""

    services: AppServices

    def view(self) -> SessionView:
        view, subscription = self.services.chat.attach()
        subscription.close()
        return view

    def said(self) -> dict[str, str]:
        """Where two settings are from."""
        layers = self.services.settings.layers()
        return {key: layers.provenance(key).source for key in ("reasoning.stripFromContext", "context.keepTurns")}

    def prompts(self) -> list[str]:
        blocks = [turn.messages[0].blocks[0] for turn in self.view().turns]
        return [block.text for block in blocks if isinstance(block, TextBlock)]

    async def say(self, blocks: tuple[TextBlock, ...], *, instead_of: str | None = None) -> list[AppEvent]:
        _, subscription = self.services.chat.attach()
        if instead_of is None:
            await self.services.chat.submit(blocks)
        else:
            await self.services.chat.edit(instead_of, blocks)
        return await heard_until(subscription, TurnFinished, TurnFailed)


@asynccontextmanager
async def at_home(folder: Path, session: str | None = None, **options: Any) -> AsyncIterator[Home]:
    """The program as ``ponder`` starts it, or as ``ponder -r SESSION`` does."""
    options = {"model": FAST, **options}
    program = build_program({"PONDER_HOME": str(folder)}, LaunchOptions(folder=folder, demo_speed=0.0, **options))
    program.session_toolbox = NoTools()
    availability = ProviderAvailability(program)
    storage = SqliteSessions(program.paths.database, time.time, str)
    program.engine.start()
    try:
        current = CurrentSession(program, storage, interactive=True)
        stored = await storage.load(session) if session is not None else None
        current.start(first_spec(program, availability.ready()), stored)
        yield Home(AppServices(current, availability, storage))
        await current.close()
    finally:
        await storage.aclose()
        await asyncio.to_thread(program.close)


async def test_an_edited_prompt_and_the_former_are_flipped_round_and_round(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        await home.say(SECOND)
        first = home.view().turns[0]
        with pytest.raises(UsageError, match="no other branch"):
            await home.services.chat.switch_branch(first.id, 1)
        await home.say((TextBlock(text="Why?"),), instead_of=first.id)
        assert home.prompts() == ["Why?"]
        assert await home.services.chat.switch_branch(home.view().turns[0].id, 1) == "Branch 1 of 2."
        assert home.prompts() == ["Hello", "Show me a table"]
        assert home.view().turns[0] == first
        assert await home.services.chat.switch_branch(first.id, -1) == "Branch 2 of 2."
        assert home.prompts() == ["Why?"]
        session = home.services.chat.session_id
    async with at_home(tmp_path, session) as home:
        assert home.prompts() == ["Why?"]


async def test_a_retried_turn_stays_beside_the_new_one(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        first = home.view().turns[0].id
        _, subscription = home.services.chat.attach()
        await home.services.chat.retry(first)
        await heard_until(subscription, TurnFinished, TurnFailed)
        second = home.view().turns[0].id
        assert second != first
        await home.services.chat.switch_branch(second, 1)
        assert [turn.id for turn in home.view().turns] == [first]
        await home.say(SECOND)
        assert home.prompts() == ["Hello", "Show me a table"]


async def test_a_new_title_is_on_the_screen_at_once(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        _, subscription = home.services.chat.attach()
        await home.services.library.rename(home.services.chat.session_id, " The Fermi paradox ")
        heard = await heard_until(subscription, TitleChanged)
        assert heard == [TitleChanged("The Fermi paradox")]
        assert home.view().title == "The Fermi paradox"


async def test_a_session_open_elsewhere_comes_as_a_fork_and_says_so(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        session = home.services.chat.session_id
        async with at_home(tmp_path, session) as second:
            assert second.services.chat.session_id != session
            assert ["open in another window" in notice.text for notice in second.view().notices] == [True]
            await second.say(SECOND)
        await home.say((TextBlock(text="Why?"),))
    async with at_home(tmp_path, session) as home:
        assert (home.services.chat.session_id, home.view().notices) == (session, ())
        assert home.prompts() == ["Hello", "Why?"]


async def test_nothing_is_held_after_a_headless_run_that_never_closed_its_session(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        session = home.services.chat.session_id
    storage = SqliteSessions(tmp_path / "data" / path.name, time.time, str)
    await storage.load(session)
    await storage.aclose()
    other = SqliteSessions(tmp_path / "data" / path.name, time.time, str)
    assert (await other.load(session)).notice == ""
    await other.aclose()


async def test_damage_that_is_found_with_the_first_prompt_is_told_in_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sessions.db").write_bytes(b"no database " * 500)
    async with at_home(tmp_path) as home:
        heard = await home.say(FIRST)
        told = [event.text for event in heard if isinstance(event, Notice)]
        assert ["sessions.db.damaged-1" in sentence for sentence in told] == [True]
        assert home.prompts() == ["Hello"]
    assert (tmp_path / "data" / "sessions.db.damaged-1").exists()


async def test_a_session_can_be_named_and_put_away_before_anything_was_said(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        here, library = home.services.chat.session_id, home.services.library
        await library.delete(here)
        with pytest.raises(UsageError, match="nothing to export"):
            await library.export_to(tmp_path / "nothing.md", here, "md", "answers")
        await library.rename(here, "Plans")
        await library.pin(here, pinned=True)
        await home.say(FIRST)
        assert [(row.title, row.pinned, row.turns) for row in await library.sessions()] == [("Plans", True, 1)]


async def test_the_words_of_a_session_that_was_left_are_not_kept_in_memory(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        await home.say(SECOND)
        known = text_tokens.cache_info().currsize
        await home.services.chat.new_session()
        assert text_tokens.cache_info().currsize < known / 2


async def test_what_was_set_belongs_to_the_session_and_comes_back_with_it(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        for key, value in (("reasoning.stripFromContext", "all"), ("context.keepTurns", "7"), ("ui.motion", "off")):
            await home.services.settings.assign(key, value)
        await home.say(FIRST)
        await home.services.settings.unassign("context.keepTurns")
        await home.services.models.set_model("high")
        session = home.services.chat.session_id
        await home.services.chat.new_session()
        assert home.said() == {"reasoning.stripFromContext": "default", "context.keepTurns": "default"}
        assert home.services.settings.layers().value("ui.motion") is False
        await home.services.chat.open_session(session)
        assert home.said() == {"reasoning.stripFromContext": "session", "context.keepTurns": "default"}
    async with at_home(tmp_path, session, model=None) as home:
        assert home.said() == {"reasoning.stripFromContext": "session", "context.keepTurns": "default"}
        assert home.view().settings["reasoning.stripFromContext"] == "all"
        assert str(home.view().spec) == "demo/fast/high"
        assert home.services.settings.layers().provenance("ui.motion").source == "saved", "that belongs to the screen"
        fork = await home.services.chat.fork(home.view().turns[0].id)
    async with at_home(tmp_path, fork) as home:
        assert home.said()["reasoning.stripFromContext"] == "session"


async def test_what_the_command_line_says_goes_before_what_was_set_when_the_session_was_last_open(
    tmp_path: Path,
) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        await home.services.settings.assign("context.keepTurns", "7")
        session = home.services.chat.session_id
    async with at_home(tmp_path, session, assignments=("context.keepTurns=2",)) as home:
        assert home.services.settings.layers().value("context.keepTurns") == 2


async def test_a_kept_setting_nobody_knows_any_more_is_told_and_left_out(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home:
        await home.say(FIRST)
        await home.services.settings.assign("context.keepTurns", "7")
        session = home.services.chat.session_id
        kept = {
            "context.keepTurns": 7,
            "context.compressionModel": "gone/model",
            "reasoning.effort": "loud",
            "tools.x": 1,
        }
        await home.services.library.save_settings(session, home.view().spec, kept)
    async with at_home(tmp_path, session) as home:
        assert home.services.settings.layers().value("context.keepTurns") == 7
        assert home.services.settings.layers().value("context.compressionModel") is None
        told = ["context.compressionModel, reasoning.effort, tools.x" in notice.text for notice in home.view().notices]
        assert told == [True]


async def test_a_compression_and_its_cost_are_there_when_the_session_is_opened_again(tmp_path: Path) -> None:
    async with at_home(tmp_path, assignments=("context.keepTurns=1",)) as home:
        await home.say(FIRST)
        await home.say(SECOND)
        _, subscription = home.services.chat.attach()
        await home.services.chat.compress("")
        await heard_until(subscription, CompressionFinished)
        left, session = home.view(), home.services.chat.session_id
        assert left.compression is not None
        assert [row.for_summaries for row in home.services.chat.bill().models] == [False, True]
    async with at_home(tmp_path, session) as home:
        assert (home.view().compression, home.view().summaries) == (left.compression, left.summaries)
        assert await home.services.chat.uncompress()
        assert home.view().compression is None


async def test_a_session_that_was_deleted_elsewhere_comes_back_with_the_next_prompt_and_says_so(tmp_path: Path) -> None:
    async with at_home(tmp_path) as home, at_home(tmp_path) as elsewhere:
        await home.say(FIRST)
        session = home.services.chat.session_id
        await elsewhere.services.library.delete(session)
        assert [row.id for row in await elsewhere.services.library.sessions()] == []
        heard = await home.say(SECOND)
        assert [row.id for row in await elsewhere.services.library.sessions()] == [session]
        told = [event.text for event in heard if isinstance(event, Notice)]
        assert told == ["This session was deleted meanwhile. What you said just now brought it back."]
