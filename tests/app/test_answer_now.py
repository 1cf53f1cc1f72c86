"""Answer now: the thinking ends, and the same prompt is asked again at the lowest level the model has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import House, config, exported, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import until
from tests.validators import anthropic, chat, gemini, ollama, responses
from tui.bus import Subscription
from tui.catalog.plan import plan
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.cost import cost_of
from tui.domain.errors import UsageError
from tui.domain.events import AppEvent, RetryScheduled, Stamped, Streamed, TurnFailed, TurnFinished
from tui.domain.messages import ENDED_EARLY, Message, Role, Turn
from tui.domain.request import Reason
from tui.domain.stream import TextDelta, ThinkingDelta
from tui.domain.thinking import ThinkingLevel

THOUGHT = "I wonder for a long time about it."
THINKS: list[Step] = [{"say": "thinking", "text": THOUGHT, "only": 5}, {"hold": True}]
ANSWERS: list[Step] = [{"say": "text", "text": "It is 42."}, {"end": 1}]
LOOKS: list[Step] = [
    {"say": "thinking", "text": "I look at the folder."},
    {"call": "list_dir", "args": {"path": "."}},
    {"end": 1},
]
KEY = "sk-test-0123456789abcdef0123456789abcdef"
KEYS = {f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "OPENAI", "DEEPSEEK", "GEMINI")}


@dataclass(frozen=True)
class Row:
    """A model on a wire, and what its API refuses."""

    wire: str
    model: str
    problems: Callable[[dict[str, Any]], list[str]]

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


ROWS = (
    Row("anthropic", "anthropic/claude-sonnet-4-5/high", anthropic.problems),
    Row("anthropic", "anthropic/claude-opus-5-5/high", anthropic.problems),
    Row("openai-responses", "openai/gpt-5.4/high", responses.problems),
    Row("openai-chat", "deepseek/deepseek-v4-pro/high", lambda body: chat.problems(body, dialect="deepseek")),
    Row("gemini", "google/gemini-2.5-pro/high", lambda body: gemini.problems(body, strict_thinking=False)),
    Row("ollama", "ollama/qwen3/high", ollama.problems),
)
each_wire = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model.split("/")[1])
MESSAGES = ("messages", "contents", "input")


@asynccontextmanager
async def asking(
    home: Path, row: Row, scripts: Sequence[Sequence[Step]], **options: Any
) -> AsyncIterator[tuple[House, FaultServer]]:
    """The program with a model whose server plays these scripts."""

    def refuses(body: dict[str, Any]) -> str | None:
        found = row.problems(body) if "messages" in body or "contents" in body or "input" in body else []
        return found[0] if found else None

    async with FaultServer(scripts, row.wire, validate=refuses, own_ids=True, honest=True) as server:
        allowed = '[permissions]\nallow = ["list_dir"]\n'
        config(home, f'[providers."{row.provider}"]\nbase_url = "{server.url}"\n{allowed}')
        async with house(home, model=row.model, environment=KEYS, **options) as h:
            yield h, server


@asynccontextmanager
async def hearing(h: House) -> AsyncIterator[Subscription[Stamped]]:
    _, subscription = h.services.chat.attach()
    yield subscription
    subscription.close()


async def heard(subscription: Subscription[Stamped], wanted: Callable[[AppEvent], bool]) -> list[AppEvent]:
    """The events up to one that is wanted, and what came with it."""
    events: list[AppEvent] = []
    async with asyncio.timeout(20):
        async for batch in subscription.batches(0):
            events += [stamped.event for stamped in batch]
            if any(wanted(event) for event in events):
                break
    return events


def thinks(event: AppEvent) -> bool:
    return isinstance(event, Streamed) and isinstance(event.event, ThinkingDelta)


def is_over(event: AppEvent) -> bool:
    return isinstance(event, TurnFinished | TurnFailed)


def messages(body: dict[str, Any]) -> list[Any]:
    return next(list(body[name]) for name in MESSAGES if name in body)


def lowest(h: House) -> dict[str, Any]:
    spec = h.current.spec
    facts = h.program.catalog.find(spec.provider, spec.model)
    return dict(plan(facts, h.program.catalog.provider(spec.provider), ThinkingLevel.NONE).fields)


def holds(body: dict[str, Any], fields: dict[str, Any]) -> bool:
    """Whether the fields are in the body, at any depth."""
    return all(
        holds(body.get(name, {}), value) if isinstance(value, dict) else body.get(name) == value
        for name, value in fields.items()
    )


async def answered_now(h: House, prompt: str, note: str = "", *, thought: int = 1) -> Turn:
    """Ask, wait for the thinking with this number, have the answer now; the turn."""
    async with hearing(h) as subscription:
        await h.services.chat.submit((TextBlock(text=prompt),))
        for _ in range(thought):
            await heard(subscription, thinks)
        await h.services.chat.answer_now((TextBlock(text=note),) if note else ())
        end = (await heard(subscription, is_over))[-1]
    assert isinstance(end, TurnFinished), end
    return end.turn


async def until_closed(server: FaultServer) -> None:
    """Wait until the server saw that the first request was given up."""
    async with asyncio.timeout(20):
        while server.seen[0].closed_at is None:
            await asyncio.sleep(0.01)


def said(message: Message) -> str:
    return "".join(block.text for block in message.blocks if isinstance(block, TextBlock))


@each_wire
async def test_the_request_ends_and_the_next_one_asks_for_the_lowest_level(tmp_path: Path, row: Row) -> None:
    async with asking(tmp_path, row, [THINKS, ANSWERS]) as (h, server):
        turn = await answered_now(h, "Why?")
        ended, replaced = (seen.json for seen in server.seen)
        await until_closed(server)
        assert messages(replaced) == messages(ended)
        assert THOUGHT[:8] not in server.seen[1].body.decode()
        assert holds(replaced, lowest(h))
        assert not holds(ended, lowest(h))
        prompt, thought, answer = turn.messages
        assert (prompt.role, said(answer), answer.answered_early) == (Role.USER, "It is 42.", True)
        assert (thought.superseded, thought.interrupted, thought.answered_early) == (True, ENDED_EARLY, False)
        assert isinstance(thought.blocks[0], ThinkingBlock)
        assert h.view().plan.asked is ThinkingLevel.HIGH
        if row.provider != "ollama":
            assert cost_of(h.view().paid).words.startswith("at least")
        await h.say("And now?")
        assert holds(server.seen[2].json, {name: ended[name] for name in lowest(h) if name in ended})


@each_wire
async def test_a_note_is_said_by_the_user_after_the_prompt(tmp_path: Path, row: Row) -> None:
    async with asking(tmp_path, row, [THINKS, ANSWERS]) as (h, server):
        turn = await answered_now(h, "Why?", "In one word.")
        spelled = server.seen[1].body.decode()
        assert spelled.index("Why?") < spelled.index("In one word.")
        assert [message.role for message in turn.messages] == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]
        assert turn.user_blocks == (TextBlock(text="Why?"), TextBlock(text="In one word."))
        assert isinstance((await h.say("Go on."))[-1], TurnFinished)


@pytest.mark.one_in(3)
@each_wire
async def test_in_a_tool_loop_the_earlier_rounds_are_sent_byte_for_byte(tmp_path: Path, row: Row) -> None:
    scripts = [LOOKS, LOOKS, THINKS, ANSWERS]
    async with asking(tmp_path, row, scripts, tools=True) as (h, server):
        async with hearing(h) as subscription:
            await h.services.chat.submit((TextBlock(text="Why?"),))
            seen: list[AppEvent] = []
            while not any(thinks(event) and isinstance(event, Streamed) and event.round == 2 for event in seen):
                seen = await heard(subscription, thinks)
            await h.services.chat.answer_now(())
            end = (await heard(subscription, is_over))[-1]
        assert isinstance(end, TurnFinished)
        ended, replaced = server.seen[2].json, server.seen[3].json
        assert messages(replaced) == messages(ended)
        assert {name: value for name, value in replaced.items() if name in ("tools", "system", "instructions")} == {
            name: value for name, value in ended.items() if name in ("tools", "system", "instructions")
        }
        assert replaced != ended
        assert said(end.turn.messages[-1]) == "It is 42."


async def test_after_a_restart_the_ended_thinking_is_there_and_not_sent(tmp_path: Path) -> None:
    row = ROWS[0]
    async with asking(tmp_path, row, [THINKS, ANSWERS], stored_in="file") as (h, server):
        before = await answered_now(h, "Why?", "In one word.")
        session = h.current.session_id
        text = await exported(h.current.storage, session, "md", "all")
        assert text.index("Why?") < text.index("In one word.") < text.index("It is 42.")
    async with asking(tmp_path, row, [ANSWERS], stored_in="file", reopen=session) as (h, server):
        assert h.view().turns == (before,)
        verdicts = (await h.services.chat.preview("")).request.outgoing.verdicts
        assert [verdict.reason for verdict in verdicts if not verdict.sent] == [Reason.ENDED_EARLY]
        await h.say("Go on.")
        assert THOUGHT[:8] not in server.seen[0].body.decode()
        assert "In one word." in server.seen[0].body.decode()


async def test_without_thinking_there_is_nothing_to_end(tmp_path: Path) -> None:
    row, go_on = ROWS[0], asyncio.Event()
    begun: list[Step] = [{"say": "text", "text": "It is"}, {"wait": go_on}, {"end": 1}]
    async with asking(tmp_path, row, [begun]) as (h, _):
        with pytest.raises(UsageError, match="Nothing is running"):
            await h.services.chat.answer_now(())
        async with hearing(h) as subscription:
            await h.services.chat.submit((TextBlock(text="Why?"),))
            await heard(subscription, lambda e: isinstance(e, Streamed) and isinstance(e.event, TextDelta))
            with pytest.raises(UsageError, match="already begun"):
                await h.services.chat.answer_now(())
            go_on.set()
            await heard(subscription, is_over)


async def test_a_model_that_cannot_think_less_says_so_and_still_takes_a_note(tmp_path: Path) -> None:
    row = Row("anthropic", "anthropic/claude-opus-5-5/low", anthropic.problems)
    async with asking(tmp_path, row, [THINKS, ANSWERS]) as (h, server), hearing(h) as subscription:
        await h.services.chat.submit((TextBlock(text="Why?"),))
        await heard(subscription, thinks)
        with pytest.raises(UsageError, match="cannot think less"):
            await h.services.chat.answer_now(())
        await h.services.chat.answer_now((TextBlock(text="Now!"),))
        with pytest.raises(UsageError, match="already asked"):
            await h.services.chat.answer_now(())
        await heard(subscription, is_over)
        assert len(server.seen) == 2
        assert "Now!" in server.seen[1].body.decode()


async def test_while_a_retry_waits_it_is_sent_now(tmp_path: Path) -> None:
    busy: list[Step] = [
        {
            "status": 429,
            "json": {"type": "error", "error": {"type": "rate_limit_error", "message": "!"}},
            "h": {"retry-after": "50"},
        }
    ]
    row = ROWS[0]
    async with asking(tmp_path, row, [busy, busy, ANSWERS]) as (h, server), hearing(h) as subscription:
        await h.services.chat.submit((TextBlock(text="Why?"),))
        await heard(subscription, lambda event: isinstance(event, RetryScheduled))
        await h.services.chat.answer_now(())
        await heard(subscription, lambda event: isinstance(event, RetryScheduled))
        assert not holds(server.seen[1].json, lowest(h))
        await h.services.chat.answer_now((TextBlock(text="Be quick."),))
        end = (await heard(subscription, is_over))[-1]
        assert isinstance(end, TurnFinished)
        assert holds(server.seen[2].json, lowest(h))
        assert "Be quick." in server.seen[2].body.decode()


LLAMA = Row("openai-chat", "llama.cpp/qwen3/high", lambda body: [])


async def test_a_llama_cpp_server_ends_the_thinking_in_the_same_stream(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    stream: list[Step] = [{"say": "thinking", "text": THOUGHT}, {"wait": go_on}, *ANSWERS]
    control: list[Step] = [{"status": 200, "json": {"success": True}}]
    async with asking(tmp_path, LLAMA, [stream, control]) as (h, server), hearing(h) as subscription:
        await h.services.chat.submit((TextBlock(text="Why?"),))
        await heard(subscription, thinks)
        await h.services.chat.answer_now(())
        go_on.set()
        end = (await heard(subscription, is_over))[-1]
        first, second = server.seen
        assert first.json["reasoning_control"] is True
        assert second.path == "/chat/completions/control"
        assert second.json.keys() == {"id", "action", "model"}
        assert second.json["action"] == "reasoning_end"
        assert isinstance(end, TurnFinished)
        answer = end.turn.messages[-1]
        assert (len(end.turn.messages), said(answer), answer.answered_early) == (2, "It is 42.", True)
        assert isinstance(answer.blocks[0], ThinkingBlock)


async def test_an_older_llama_cpp_server_is_asked_again(tmp_path: Path) -> None:
    missing: list[Step] = [{"status": 404, "json": {"error": {"code": 404, "message": "File Not Found"}}}]
    async with asking(tmp_path, LLAMA, [THINKS, missing, ANSWERS]) as (h, server):
        turn = await answered_now(h, "Why?")
        assert [seen.path for seen in server.seen] == [
            "/chat/completions",
            "/chat/completions/control",
            "/chat/completions",
        ]
        assert "reasoning_control" not in server.seen[2].json
        assert (said(turn.messages[-1]), turn.messages[1].interrupted) == ("It is 42.", ENDED_EARLY)


async def test_a_key_ends_the_thinking_and_the_draft_is_the_note(tmp_path: Path) -> None:
    row = ROWS[0]
    async with FaultServer([THINKS, ANSWERS, THINKS, ANSWERS], own_ids=True, honest=True) as server:
        config(tmp_path, f'[providers.anthropic]\nbase_url = "{server.url}"\n')
        async with screen(tmp_path, model=row.model, environment=KEYS, size=(80, 24)) as s:
            await s.enter("Why?")
            await s.until_it_says("ctrl+l answer now")
            await s.until_it_says("Thinking")
            await s.pilot.press("ctrl+l")
            await s.until_it_says("answered early")
            await s.until_it_says("ended early, not sent")
            await until(s.pilot, lambda: not s.app.chat.is_busy())
            await s.until_it_no_longer_says("ctrl+l")
            await s.enter("Why else?")
            await until(s.pilot, lambda: len(server.seen) == 3 and "Thinking…" in s.text())
            s.app.chat.composer.put("In one word.")
            await s.pilot.press("ctrl+l")
            await until(s.pilot, lambda: len(server.seen) == 4 and not s.app.chat.is_busy())
            await until(s.pilot, lambda: not s.app.chat.composer.text)
            await s.until_it_says("In one word.")
            await s.pilot.press("ctrl+l")
            await s.until_toast("Nothing is running.")
            assert len(server.seen) == 4
