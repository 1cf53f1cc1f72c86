"""``reasoning.language``: asked for in the system prompt, and never a reason to write a prompt cache again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.app.cached_answers import answer
from tests.app.stage import House, config, heard_until, house
from tests.app.test_cache_shown import KEY, MODEL, cached
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tui.domain.blocks import TextBlock
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.usage import Part

ASKED = "When you think before you answer, think in this language: German. It does not decide the answer's language."
ANSWERS: list[list[Step]] = [answer(f"Answer {number}.") for number in range(6)]


@asynccontextmanager
async def asking(home: Path, *answers: list[Step], **options: Any) -> AsyncIterator[tuple[House, FaultServer]]:
    async with FaultServer(answers or ANSWERS, wire="anthropic", own_ids=True) as server:
        config(home, f'[providers.anthropic]\nbase_url = "{server.url}"\n')
        async with house(home, model=MODEL, environment={"ANTHROPIC_API_KEY": KEY}, **options) as h:
            yield h, server


def system_of(body: dict[str, Any]) -> str:
    system = body.get("system", "")
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


def messages_of(body: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Role and texts of every message."""
    return [
        (message["role"], [block["text"] for block in message["content"] if block["type"] == "text"])
        for message in body["messages"]
    ]


def bodies(server: FaultServer) -> list[dict[str, Any]]:
    return [request.json for request in server.seen]


async def test_a_conversation_that_begins_asks_in_its_system_prompt(tmp_path: Path) -> None:
    async with asking(tmp_path) as (h, server):
        await h.services.settings.assign("generation.system", "Be terse.")
        before = (await h.meter()).parts[Part.SYSTEM]
        await h.services.settings.assign("reasoning.language", " German ")
        assert (await h.meter()).parts[Part.SYSTEM] > before
        preview = await h.services.chat.preview("Why?")
        assert ASKED in str(preview)
        await h.say("Why?")
        assert system_of(bodies(server)[0]) == f"Be terse.\n\n{ASKED}"
        assert messages_of(bodies(server)[0]) == [("user", ["Why?"])]


async def test_a_change_later_leaves_everything_before_it_as_it_was(tmp_path: Path) -> None:
    async with asking(tmp_path) as (h, server):
        await h.say("One?")
        await h.services.settings.assign("reasoning.language", "German")
        await h.say("Two?")
        await h.say("Three?")
        await h.services.settings.assign("reasoning.language", "French")
        await h.say("Four?")
        await h.services.settings.unassign("reasoning.language")
        await h.say("Five?")
        seen = bodies(server)
        assert {system_of(body) for body in seen} == {""}
        for earlier, later in pairwise(seen):
            assert messages_of(later)[: len(messages_of(earlier))] == messages_of(earlier)
        prompts = [" ".join(texts) for role, texts in messages_of(seen[-1]) if role == "user"]
        assert prompts == [
            "One?",
            "Two? [From now on, think in this language: German.]",
            "Three?",
            "Four? [From now on, think in this language: French.]",
            "Five? [From now on, think in any language.]",
        ]


async def test_a_session_opened_again_asks_as_it_did(tmp_path: Path) -> None:
    async with asking(tmp_path, stored_in="file") as (h, server):
        await h.services.settings.assign("reasoning.language", "German")
        await h.say("One?")
        session, first = h.view().session, bodies(server)[0]
    async with asking(tmp_path, stored_in="file", reopen=session) as (h, server):
        await h.services.settings.unassign("reasoning.language")
        await h.say("Two?")
        assert system_of(bodies(server)[0]) == system_of(first) == ASKED
        assert messages_of(bodies(server)[0])[0] == messages_of(first)[0]
        assert messages_of(bodies(server)[0])[-1] == ("user", ["Two?", "[From now on, think in any language.]"])


async def test_an_edited_first_prompt_begins_again(tmp_path: Path) -> None:
    async with asking(tmp_path) as (h, server):
        await h.say("One?")
        await h.services.settings.assign("reasoning.language", "German")
        _, subscription = h.services.chat.attach()
        await h.services.chat.edit(h.view().turns[0].id, (TextBlock(text="Other?"),))
        await heard_until(subscription, TurnFinished, TurnFailed)
        assert system_of(bodies(server)[-1]) == ASKED
        assert messages_of(bodies(server)[-1]) == [("user", ["Other?"])]


@pytest.mark.parametrize(
    ("model", "wire"), [("deepseek/deepseek-chat", "openai-chat"), ("openai/gpt-5", "openai-responses")]
)
async def test_other_wires_carry_it_too(tmp_path: Path, model: str, wire: str) -> None:
    script: list[Step] = [{"say": "text", "text": "Yes."}, {"end": True}]
    provider = model.partition("/")[0]
    async with FaultServer([script], wire=wire, own_ids=True) as server:
        config(tmp_path, f'[providers.{provider}]\nbase_url = "{server.url}"\n')
        async with house(tmp_path, model=model, environment={f"{provider.upper()}_API_KEY": KEY}) as h:
            await h.services.settings.assign("reasoning.language", "German")
            await h.say("One?")
            assert ASKED in str(server.seen[-1].json)
            await h.services.settings.assign("reasoning.language", "French")
            await h.say("Two?")
            body = str(server.seen[-1].json)
            assert ASKED in body
            assert body.index("Two?") < body.index("[From now on, think in this language: French.]")


@pytest.mark.long
async def test_on_the_screen_it_completes_and_costs_nothing(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), answer("Two.", read=58_000)) as s:
        await s.ask("Why?")
        await s.until_it_says("cached 58k")
        s.app.chat.composer.put("/set reasoning.language Ger")
        s.app.chat.composer.focus()
        await s.until_it_says("German")
        s.app.chat.composer.put("")
        await s.enter("/set reasoning.language German")
        await s.until_toast("reasoning.language")
        assert "rewrites" not in s.toasts()
        await s.until_it_says("cached 58k")
