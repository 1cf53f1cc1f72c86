"""Several sessions run at once; the screen shows one of them and says what the others do."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.side_server import SideServer, Words, said, thought
from tests.app.stage import House, config, house
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.errors import UsageError
from tui.domain.events import Severity
from tui.domain.listing import Activity
from tui.domain.messages import Role, Turn
from tui.engine.state import SessionView
from tui.ui.dialogs.approval import QUIET_S, Approval
from tui.ui.dialogs.quit import Quit
from tui.ui.dialogs.sessions import Sessions

TOOLS = '[permissions]\nask = ["shell"]\n'


def answer_of(view: SessionView) -> str:
    """The text of the answer that is arriving."""
    blocks = view.answer.blocks if view.answer is not None else ()
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def words_of(turn: Turn, kind: type[TextBlock] | type[ThinkingBlock] = TextBlock) -> str:
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT]
    return "".join(block.text for message in answers for block in message.blocks if isinstance(block, kind))


async def submit(h: House, text: str) -> str:
    """Send a prompt; the id of its session."""
    await h.services.chat.submit((TextBlock(text=text),))
    return h.services.chat.session_id


async def later(h: House, holds: Callable[[], bool]) -> None:
    """Wait until a condition holds in a program without a screen."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


def activities(h: House) -> dict[str, Activity]:
    return {row.id: row.activity for row in h.services.sessions.open_sessions()}


def leases(home: Path) -> set[str]:
    connection = sqlite3.connect(home / "data" / "sessions.db")
    rows = connection.execute("SELECT session.id FROM lease JOIN session ON session.seq = lease.session").fetchall()
    connection.close()
    return {row[0] for row in rows}


async def test_a_session_that_was_left_goes_on_is_shown_whole_and_gives_its_lease_back(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with house(tmp_path, model=None, stored_in="file") as h:
            first = await submit(h, "alpha begins")
            server.say("alpha", "one ")
            await later(h, lambda: answer_of(h.view()) == "one ")
            await h.services.chat.new_session()
            assert h.services.chat.session_id != first
            server.say("alpha", "two ", "three")
            assert activities(h)[first] is Activity.RUNNING
            await h.services.chat.open_session(first)
            await later(h, lambda: answer_of(h.view()) == "one two three")
            assert first in leases(tmp_path)
            await h.services.chat.new_session()
            server.finish("alpha")
            await later(h, lambda: first not in leases(tmp_path))
            assert activities(h)[first] is Activity.DONE
            await h.services.chat.open_session(first)
            view = h.view()
            assert [words_of(turn) for turn in view.turns] == ["one two three"]
            assert activities(h) == {first: Activity.IDLE}


async def test_model_level_and_values_belong_to_their_session(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with house(tmp_path, model=None, stored_in="file") as h:
            await h.services.settings.assign("generation.system", "Be brief.")
            first = await submit(h, "alpha begins")
            await h.services.chat.new_session()
            assert h.current.layers.value("generation.system") != "Be brief."
            await h.services.models.set_model("demo/fast/low")
            await h.services.settings.assign("ui.bell", "off")
            await h.services.chat.open_session(first)
            view = h.view()
            assert str(view.spec).startswith("side/model")
            assert view.settings["generation.system"] == "Be brief."
            assert view.settings["ui.bell"] == "off"
            assert str(h.current.spec).startswith("side/model")
            server.finish("alpha")


async def test_each_session_has_its_last_exchange_queue_and_title(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with house(tmp_path, model=None, stored_in="file") as h:
            first = await submit(h, "alpha begins")
            await submit(h, "alpha again")
            await later(h, lambda: server.asked("alpha") == 1)
            await h.services.chat.new_session()
            second = await submit(h, "beta begins")
            await later(h, lambda: server.asked("beta") == 1)
            assert h.view().queue == ()
            await h.services.library.rename(first, "The first")
            server.say("alpha", "an answer")
            server.finish("alpha")
            await later(h, lambda: server.asked("alpha") == 2)
            exchange = h.services.chat.last_exchange()
            assert exchange is not None
            assert "beta begins" in str(exchange.request)
            await h.services.chat.open_session(first)
            view = h.view()
            assert (view.title, len(view.turns), view.queue) == ("The first", 1, ())
            exchange = h.services.chat.last_exchange()
            assert exchange is not None
            assert "alpha again" in str(exchange.request)
            assert activities(h)[second] is Activity.RUNNING
            server.finish("alpha")
            server.finish("beta")


async def test_a_yes_for_the_session_holds_for_no_other(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(TOOLS))
        async with house(tmp_path, model=None, stored_in="file", tools=True) as h:
            sessions = []
            for word in ("alpha", "beta"):
                sessions.append(await submit(h, f"{word} begins"))
                server.call(word, "shell", call_id="same", command="echo once")
                await later(h, lambda: bool(h.view().approvals))
                if word == "alpha":
                    await h.services.chat.new_session()
            first, second = sessions
            assert activities(h) == {second: Activity.ASKS, first: Activity.ASKS}
            following = h.services.sessions.next_session()
            assert following is not None
            assert following.id == first
            # The answer goes to the session that asked, which is not on the screen.
            asked = h.current.session_of(first).view().approvals[0]
            assert await h.services.chat.answer_approval(asked.call_id, "session", first)
            await later(h, lambda: server.asked("alpha") == 2)
            server.call("alpha", "shell", call_id="again", command="echo once")
            await later(h, lambda: server.asked("alpha") == 3)
            server.finish("alpha")
            assert activities(h)[second] is Activity.ASKS
            assert len(h.view().approvals) == 1
            await h.services.chat.answer_approval("same", "no")
            server.finish("beta")
            with pytest.raises(UsageError):
                h.current.session_of("no such session")


async def test_the_time_limit_of_a_call_is_that_of_its_own_session(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(TOOLS))
        async with house(tmp_path, model=None, stored_in="file", tools=True) as h:
            await h.services.settings.assign("tools.timeout", "3")
            first = await submit(h, "alpha begins")
            await later(h, lambda: server.asked("alpha") == 1)
            await h.services.chat.new_session()
            await h.services.settings.assign("tools.timeout", "120")
            server.call("alpha", "shell", command="sleep 607.7", timeout=600)
            await later(h, lambda: bool(h.current.session_of(first).view().approvals))
            asked = h.current.session_of(first).view().approvals[0]
            await h.services.chat.answer_approval(asked.call_id, "once", first)
            await later(h, lambda: server.asked("alpha") == 2)
            server.say("alpha", "It took too long.")
            server.finish("alpha")
            await later(h, lambda: not h.services.sessions.working())
            assert "it ran longer than 1 s" in str(await h.services.library.turns(first))


def on_screen(s: Screen) -> SessionView:
    view = s.app.chat.view()
    assert view is not None
    return view


async def shows(s: Screen, session: str) -> None:
    await until(s.pilot, lambda: on_screen(s).session == session)
    await s.caught_up()


async def test_the_screen_says_what_runs_elsewhere_and_a_key_goes_there(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(80, 24), model=None, stored_in="file") as s:
            await s.enter("alpha begins")
            server.say("alpha", "first words ")
            await s.until_it_says("first words")
            first = on_screen(s).session
            await type_in(s.pilot, "half a draft")
            await s.pilot.press("ctrl+n")
            await s.until_it_says("1 running elsewhere")
            assert s.app.chat.composer.text == ""
            server.say("alpha", "and more")
            server.finish("alpha")
            await s.until_toast("“alpha begins” has answered")
            await s.until_it_says("1 done")
            await s.pilot.press("alt+s")
            await shows(s, first)
            await s.until_it_says("first words and more")
            await s.until_it_no_longer_says("1 done")
            assert s.app.chat.composer.text == "half a draft"
            await s.pilot.press("alt+s")
            await s.until_toast("No other session")


async def test_a_question_in_the_background_says_who_asks_and_waits_for_its_session(tmp_path: Path) -> None:
    rung: list[str] = []
    async with SideServer() as server:
        config(tmp_path, server.config(TOOLS))
        async with screen(tmp_path, size=(80, 24), model=None, stored_in="file", tools=True) as s:
            s.app.ui_services.notifications._write = rung.append
            s.app.ui_services.notifications.focus_changed(here=False)
            await s.house.services.settings.assign("ui.bell", "notify")
            await s.enter("alpha begins")
            first = on_screen(s).session
            await until(s.pilot, lambda: server.asked("alpha") == 1)
            await s.pilot.press("ctrl+n")
            await s.until_it_says("1 running elsewhere")
            server.call("alpha", "shell", command="echo from-alpha")
            await s.until_it_says("1 asks")
            await s.until_it_says("? “alpha begins” asks for your answer · alt+s or a click goes there")
            assert any("asks whether a tool may run: alpha begins" in text for text in rung)
            assert not isinstance(s.app.screen, Approval)
            await s.pilot.press("alt+s")
            await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
            await s.until_it_says("ponder · alpha begins")
            await s.until_it_says("echo from-alpha")
            assert "asks for your answer" not in s.text(), "its question is on the screen"
            # It can be left unanswered, for the list of sessions, and asks again after it.
            sheet = s.app.screen
            assert isinstance(sheet, Approval)
            sheet._since -= QUIET_S
            await s.pilot.press("ctrl+s")
            await until(s.pilot, lambda: isinstance(s.app.screen, Sessions))
            await s.until_it_says("? alpha begins")
            await s.until_it_says("asks ·")
            await s.pilot.press("escape")
            await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
            assert s.house.current.session_of(first).view().approvals
            await s.house.services.chat.answer_approval("c1", "once")
            await until(s.pilot, lambda: server.asked("alpha") == 2)
            await until(s.pilot, lambda: s.app.screen is s.app.chat)
            server.say("alpha", "it ran")
            server.finish("alpha")
            await s.until_it_says("it ran")


@pytest.mark.long
async def test_a_click_on_the_line_goes_to_the_session_that_asks(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(TOOLS))
        async with screen(tmp_path, size=(60, 24), model=None, stored_in="file", tools=True) as s:
            sessions = []
            for word in ("alpha", "beta"):
                await s.enter(f"{word} begins")
                await until(s.pilot, lambda: server.asked(word) == 1)  # noqa: B023 - awaited at once
                sessions.append(on_screen(s).session)
                await s.pilot.press("ctrl+n")
                await until(s.pilot, lambda: on_screen(s).session not in sessions)
                assert "asks for your answer" not in s.text()
            for word in ("alpha", "beta"):
                server.call(word, "shell", command=f"echo from-{word}")
            await s.until_it_says("2 ask")
            await s.until_it_says("? “alpha begins” asks for your answer")
            for word in ("Two toasts", "of two rows each"):
                s.app.say(f"{word} {'do not stand on the line that is clicked' * 2}", Severity.WARNING)
            await s.until_it_says("of two rows each")
            assert await s.pilot.click("#asking")
            await shows(s, sessions[0])
            await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
            await s.until_it_says("echo from-alpha")
            for session in sessions:
                await s.house.services.chat.answer_approval("c1", "no", session)
            await until(s.pilot, lambda: s.app.screen is s.app.chat)
            await s.until_it_no_longer_says("asks for your answer")
            for word in ("alpha", "beta"):
                server.finish(word)


@pytest.mark.long
async def test_the_list_marks_what_runs_asks_and_is_done_without_colour(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config(TOOLS))
        async with screen(tmp_path, size=(120, 40), model=None, stored_in="file", tools=True) as s:
            for word in ("alpha", "beta", "gamma"):
                await s.enter(f"{word} begins")
                await until(s.pilot, lambda: server.asked(word) == 1)  # noqa: B023 - awaited at once
                await s.pilot.press("ctrl+n")
                await until(s.pilot, lambda: not on_screen(s).turns and on_screen(s).open_turn is None)
            await s.pilot.press("ctrl+s")
            await s.until_it_says("▶ alpha begins")
            server.call("beta", "shell", command="echo beta")
            server.say("gamma", "finished")
            server.finish("gamma")
            await s.until_it_says("? beta begins")
            await s.until_it_says("✓ gamma begins")
            await s.until_it_says("done, unread")
            await s.until_it_says("running ·")
            await s.until_it_says("asks ·")
            await s.pilot.press("escape")
            await until(s.pilot, lambda: s.app.screen is s.app.chat)
            await s.until_it_says("1 running elsewhere · 1 asks · 1 done")
            server.finish("alpha")


async def test_quitting_asks_once_and_keeps_what_has_arrived_everywhere(tmp_path: Path) -> None:
    sessions = []
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(80, 24), model=None, stored_in="file") as s:
            for word in ("alpha", "beta"):
                await s.enter(f"{word} begins")
                server.say(word, f"partial of {word}")
                await s.until_it_says(f"partial of {word}")
                sessions.append(on_screen(s).session)
                if word == "alpha":
                    await s.pilot.press("ctrl+n")
                    await until(s.pilot, lambda: on_screen(s).session not in sessions)
            await s.pilot.press("ctrl+q")
            await until(s.pilot, lambda: isinstance(s.app.screen, Quit))
            await s.until_it_says("2 sessions still run")
            await s.until_it_says("alpha begins  running")
            await s.until_it_says("beta begins  running · on the screen")
            await s.pilot.press("escape")
            await until(s.pilot, lambda: s.app.screen is s.app.chat)
            assert s.app.is_running
            await s.pilot.press("ctrl+q")
            await until(s.pilot, lambda: isinstance(s.app.screen, Quit))
            await s.pilot.press("enter")
            await until(s.pilot, lambda: not s.app.is_running)
        async with house(tmp_path, model=None, stored_in="file") as h:
            for word, session in zip(("alpha", "beta"), sessions, strict=True):
                stored = await h.current.storage.load(session)
                assert [words_of(turn) for turn in stored.turns] == [f"partial of {word}"]


async def test_nothing_running_is_no_reason_to_ask(tmp_path: Path) -> None:
    async with screen(tmp_path, size=(80, 24)) as s:
        await s.pilot.press("ctrl+q")
        await until(s.pilot, lambda: not s.app.is_running)


STREAMS, SWITCHES, MANY_SWITCHES = 4, 40, 200
PIECES_A_SWITCH = 8
TOKENS_A_SECOND = 200


def pieces(word: str, number: int) -> list[Words]:
    """An answer: a third of it thinking."""
    return [
        thought(f"{word} thinks {place}. ") if place < number // 3 else said(f"{word}{place} ")
        for place in range(number)
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "switches", [SWITCHES, pytest.param(MANY_SWITCHES, marks=[pytest.mark.minutes, pytest.mark.timeout(600)])]
)
@pytest.mark.long
async def test_no_word_is_lost_by_switching_at_random(tmp_path: Path, switches: int) -> None:
    """In the long run four servers send at their own even rate."""
    dice = random.Random(7)
    may_send = {f"w{number}": asyncio.Semaphore(0) for number in range(STREAMS)}
    all_asked = asyncio.Event()
    is_even, number = switches == MANY_SWITCHES, switches * PIECES_A_SWITCH

    async def script(prompt: str) -> AsyncIterator[Words]:
        word = prompt.split()[0]
        await all_asked.wait()
        began = time.monotonic()
        for place, piece in enumerate(pieces(word, number)):
            if is_even:
                await asyncio.sleep(max(0.0, began + place / TOKENS_A_SECOND - time.monotonic()))
            else:
                await may_send[word].acquire()
            yield piece

    async with SideServer(script) as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(100, 30), model=None, stored_in="file") as s:
            chat = s.house.services.chat
            sessions: dict[str, str] = {}
            for word in may_send:
                if sessions:
                    await chat.new_session()
                    s.app.chat.open()
                await s.enter(f"{word} begins")
                await until(s.pilot, lambda: server.asked(word) == 1)  # noqa: B023 - awaited at once
                sessions[word] = chat.session_id
            assert len(s.house.services.sessions.working()) == STREAMS
            all_asked.set()
            for _ in range(switches):
                await chat.open_session(dice.choice(list(sessions.values())))
                s.app.chat.open()
                for semaphore in may_send.values():
                    for _ in range(PIECES_A_SWITCH):
                        semaphore.release()
                await s.pilot.pause(dice.choice((0, 0.04, 0.08) if is_even else (0, 0.001, 0.02)))
            await until(s.pilot, lambda: not s.house.services.sessions.working())
            for word, session in sessions.items():
                await chat.open_session(session)
                s.app.chat.open()
                await shows(s, session)
                answer = "".join(piece.get("content", "") for piece in pieces(word, number))
                thinking = "".join(piece.get("reasoning_content", "") for piece in pieces(word, number))
                stored = await s.house.services.library.turns(session)
                for turns in (on_screen(s).turns, s.house.view().turns, stored):
                    assert [words_of(turn) for turn in turns] == [answer]
                    assert [words_of(turn, ThinkingBlock) for turn in turns] == [thinking]
                await s.until_it_says(answer.split()[-1])


@pytest.mark.long
async def test_what_a_switch_shows_of_a_running_answer_is_what_has_arrived(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(100, 30), model=None, stored_in="file") as s:
            await s.enter("alpha begins")
            server.say("alpha", "one ")
            await s.until_it_says("one")
            first = on_screen(s).session
            for number in range(5):
                await s.pilot.press("ctrl+n")
                await until(s.pilot, lambda: on_screen(s).session != first)
                server.say("alpha", f"part{number} ")
                await s.pilot.press("alt+s")
                await shows(s, first)
                await s.until_it_says(" ".join(["one", *(f"part{done}" for done in range(number + 1))]))
            server.finish("alpha")
            await until(s.pilot, lambda: len(on_screen(s).turns) == 1)
