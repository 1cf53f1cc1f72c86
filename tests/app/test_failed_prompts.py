"""A prompt whose request failed without an answer is not part of what later requests contain, unless it is retried."""

from __future__ import annotations

from pathlib import Path

from tests.app.screen_stage import screen
from tests.app.stage import House, config, heard_until, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tui.domain.blocks import TextBlock
from tui.domain.events import CompressionFinished, TurnFailed, TurnFinished
from tui.domain.messages import Turn
from tui.domain.request import Reason

REFUSED: list[Step] = [{"status": 400, "json": {"error": {"message": "This picture is refused.", "type": "bad"}}}]
ANSWER: list[Step] = [{"say": "text", "text": "It is 42."}, {"end": 1}]
LONG: list[Step] = [{"say": "text", "text": "It is a long answer. " * 100}, {"end": 1}]


def own_server(home: Path, url: str) -> None:
    config(home, f'[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "{url}/v1"\n')


def prompts(server: FaultServer) -> list[str]:
    """The user's words in the last request."""
    return [said["content"] for said in server.seen[-1].json["messages"] if said["role"] == "user"]


async def failed_and_left(h: House) -> Turn:
    """The turn of a refused prompt."""
    failed = (await h.say("The refused question"))[-1]
    assert isinstance(failed, TurnFailed)
    return failed.turn


async def test_a_refused_prompt_is_not_sent_with_the_next_one(tmp_path: Path) -> None:
    async with FaultServer([REFUSED, ANSWER], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with house(tmp_path, model="mine/m") as h:
            failed = await failed_and_left(h)
            assert isinstance((await h.say("Another question"))[-1], TurnFinished)
            assert prompts(server) == ["Another question"]
            shown = await h.services.chat.preview("")
            [verdict] = [one for one in shown.request.outgoing.verdicts if one.message_id == failed.messages[0].id]
            assert (verdict.sent, verdict.reason) == (False, Reason.FAILED)


async def test_a_retried_prompt_is_sent(tmp_path: Path) -> None:
    async with FaultServer([REFUSED, ANSWER], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with house(tmp_path, model="mine/m") as h:
            failed = await failed_and_left(h)
            _, subscription = h.services.chat.attach()
            await h.services.chat.edit(failed.id, failed.messages[0].blocks)
            await heard_until(subscription, TurnFinished, TurnFailed)
            assert isinstance((await h.say("More"))[-1], TurnFinished)
            assert prompts(server) == ["The refused question", "More"]


async def test_a_refused_prompt_is_not_sent_after_reopening(tmp_path: Path) -> None:
    async with FaultServer([REFUSED, ANSWER], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with house(tmp_path, model="mine/m", stored_in="file") as h:
            await failed_and_left(h)
            session = h.view().session
        async with house(tmp_path, model="mine/m", stored_in="file", reopen=session) as h:
            assert isinstance((await h.say("Another question"))[-1], TurnFinished)
        assert prompts(server) == ["Another question"]


async def test_the_screen_says_that_a_reopened_prompt_failed(tmp_path: Path) -> None:
    async with FaultServer([REFUSED], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with house(tmp_path, model="mine/m", stored_in="file") as h:
            await failed_and_left(h)
            session = h.view().session
        async with screen(tmp_path, model="mine/m", stored_in="file", reopen=session) as s:
            await s.until_it_says("This picture is refused.")
            assert "This prompt is not sent with later ones." in s.text()


async def test_a_failed_prompt_comes_back_selected_and_typing_begins_another_one(tmp_path: Path) -> None:
    async with FaultServer([REFUSED, ANSWER], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with screen(tmp_path, model="mine/m") as s:
            s.app.chat.composer.put("The refused question")
            await s.pilot.press("enter")
            await s.until_it_says("failed prompt is back · enter tries again · esc clears")
            await s.pilot.press("escape")
            assert s.app.chat.composer.text == ""
            assert "failed prompt" not in s.text()
            await s.pilot.press("up")
            assert s.app.chat.composer.text == "The refused question"
            await s.pilot.press("escape")
            s.app.chat.composer.take()
            s.app.editing.restore(s.house.view().turns[0])
            await s.until_it_says("failed prompt is back")
            await s.pilot.press("end", "backspace")
            assert s.app.chat.composer.text == "The refused questio", "end ends the selection"
            s.app.chat.composer.take()
            s.app.editing.restore(s.house.view().turns[0])
            await s.until_it_says("failed prompt is back")
            await s.pilot.press(*"Other", "enter")
            await s.until_it_says("It is 42.")
            assert prompts(server) == ["Other"]
            assert [turn.user_blocks[0] for turn in s.house.view().turns] == [
                TextBlock(text="The refused question"),
                TextBlock(text="Other"),
            ]


async def test_the_users_words_beside_a_summary_do_not_contain_a_failed_prompt(tmp_path: Path) -> None:
    async with FaultServer([REFUSED, *[LONG] * 5, ANSWER], "openai-chat") as server:
        own_server(tmp_path, server.url)
        async with house(tmp_path, model="mine/m") as h:
            await failed_and_left(h)
            for number in range(5):
                assert isinstance((await h.say(f"Question {number}"))[-1], TurnFinished)
            _, subscription = h.services.chat.attach()
            await h.services.chat.compress("")
            heard = await heard_until(subscription, CompressionFinished)
            assert isinstance((await h.say("Another question"))[-1], TurnFinished)
        assert [event.error for event in heard if isinstance(event, CompressionFinished)] == [""]
        assert "Question 0" in server.seen[-1].body.decode()
        assert "The refused question" not in server.seen[-1].body.decode()
