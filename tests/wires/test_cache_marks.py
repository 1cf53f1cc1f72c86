"""Which parts of a request are marked for the prompt cache, and that marks reach what was kept before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.wires.prompt_cache import CachingServer
from tui.catalog.catalog import effective_quirks, packaged_catalog
from tui.catalog.facts import Quirks
from tui.domain.blocks import Block, ImageBlock, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Role, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, ToolSchema
from tui.domain.thinking import PlanState, ThinkingLevel, ThinkingPlan
from tui.wires.wire import wire_named

TOOL = ToolSchema(name="read_file", description="Reads a file. " * 40, parameters={"properties": {}})
SYSTEM = "Be brief. " * 400
HOUR = {"type": "ephemeral", "ttl": "1h"}


def request(*messages: OutgoingMessage, ttl: str | None = "1h", **others: Any) -> ChatRequest:
    plan = ThinkingPlan(asked=ThinkingLevel.MED, nominal=None, sent=None, state=PlanState.ON)
    outgoing = Outgoing(messages=messages)
    return ChatRequest(model="m", outgoing=outgoing, plan=plan, system=SYSTEM, tools=(TOOL,), cache_ttl=ttl, **others)


def user(*blocks: Block) -> OutgoingMessage:
    return OutgoingMessage(role=Role.USER, blocks=blocks)


def conversation(chance: random.Random, rounds: int) -> Iterator[tuple[OutgoingMessage, ...]]:
    """Yield the messages of each request of a conversation with rounds of up to 60 blocks."""
    messages: list[OutgoingMessage] = []
    for number in range(rounds):
        messages.append(user(TextBlock(text=f"Question {number}. " * chance.randint(1, 200))))
        yield tuple(messages)
        for step in range(chance.randint(0, 3)):
            names = [f"call_{number}_{step}_{call}" for call in range(chance.choice([1, 2, 5, 20, 30]))]
            calls = [ToolCallBlock(call_id=name, name="read_file", arguments='{"path": "a"}') for name in names]
            results = [
                ToolResultBlock(call_id=name, name="read_file", content=(TextBlock(text="x" * 300),)) for name in names
            ]
            messages.append(OutgoingMessage(role=Role.ASSISTANT, blocks=(TextBlock(text="Reading."), *calls)))
            messages.append(user(*results))
            yield tuple(messages)
        messages.append(OutgoingMessage(role=Role.ASSISTANT, blocks=(TextBlock(text=f"Answer {number}. " * 50),)))


def quirks_of(provider: str, model: str) -> Quirks:
    catalog = packaged_catalog()
    return effective_quirks(catalog.provider(provider), catalog.find(provider, model))


CLAUDE = (WireName.ANTHROPIC, quirks_of("anthropic", "claude-opus-5"))
ROUTED = (WireName.OPENAI_CHAT, quirks_of("openrouter", "anthropic/claude-opus-5"))
QWEN = (WireName.OPENAI_CHAT, quirks_of("alibaba", "qwen-plus"))


def body_of(at: tuple[WireName, Quirks], made: ChatRequest) -> dict[str, Any]:
    wire, quirks = at
    return dict(wire_named(wire).encode(made, quirks).body)


def marks(value: object) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


def test_claude_gets_a_moving_mark_and_one_at_the_system_prompt() -> None:
    body = body_of(CLAUDE, request(user(TextBlock(text="Hi"))))
    assert body["cache_control"] == HOUR
    assert body["system"] == [{"type": "text", "text": SYSTEM, "cache_control": HOUR}]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert marks(body["tools"]) == 0


@pytest.mark.parametrize("at", [QWEN, ROUTED])
def test_a_chat_server_gets_marks_at_texts_only(at: tuple[WireName, Quirks]) -> None:
    """OpenRouter's types have none at images. The mark is at the end of the first request, so that it is found."""
    prompt = user(TextBlock(text="What is that?"), ImageBlock(media_type="image/png", data="aGk="))
    names = [f"call_{number}" for number in range(20)]
    calls = [ToolCallBlock(call_id=name, name="read_file", arguments="{}") for name in names]
    results = [ToolResultBlock(call_id=name, name="read_file", content=(TextBlock(text="x"),)) for name in names]
    answer = OutgoingMessage(role=Role.ASSISTANT, blocks=tuple(calls))
    first, second = (body_of(at, request(*messages)) for messages in ((prompt,), (prompt, answer, user(*results))))
    parts = second["messages"][1]["content"]
    assert [(part["type"], "cache_control" in part) for part in parts] == [("image_url", False), ("text", True)]
    server = CachingServer(wire=at[0])
    kept = server.answer(first)
    assert server.answer(second).read == kept.read + kept.written


@pytest.mark.parametrize("ttl", [None, "off"])
@pytest.mark.parametrize("at", [CLAUDE, ROUTED, QWEN])
def test_nothing_is_marked_if_nothing_is_to_be_kept(at: tuple[WireName, Quirks], ttl: str | None) -> None:
    assert marks(body_of(at, request(user(TextBlock(text="Hi")), ttl=ttl))) == 0


@pytest.mark.parametrize("at", [CLAUDE, ROUTED])
def test_a_server_that_refuses_marks_gets_none(at: tuple[WireName, Quirks]) -> None:
    assert marks(body_of(at, request(user(TextBlock(text="Hi")), without=("cache_control",)))) == 0


def test_openai_is_told_by_options() -> None:
    quirks = quirks_of("openai", "gpt-6-sol")
    asked = {
        ttl: wire_named(WireName.OPENAI_RESPONSES)
        .encode(request(user(TextBlock(text="Hi")), ttl=ttl), quirks)
        .body.get("prompt_cache_options")
        for ttl in ("30m", "off", None)
    }
    assert asked == {"30m": {"mode": "implicit", "ttl": "30m"}, "off": {"mode": "explicit"}, None: None}


def test_xai_is_told_the_conversation_in_a_header() -> None:
    quirks = quirks_of("xai", "grok-4.5")
    encoded = wire_named(WireName.OPENAI_RESPONSES).encode(request(user(TextBlock(text="Hi")), cache_key="s1"), quirks)
    assert encoded.headers["x-grok-conv-id"] == "s1"


@pytest.mark.one_in(16)
@pytest.mark.parametrize("at", [CLAUDE, ROUTED, QWEN], ids=["claude", "openrouter", "qwen"])
@pytest.mark.parametrize("seed", range(40))
def test_every_request_reads_what_the_one_before_has_written(at: tuple[WireName, Quirks], seed: int) -> None:
    """The simulated server looks back 20 blocks from each of at most four marks, as the real one does."""
    server = CachingServer(wire=at[0])
    before = 0
    for messages in conversation(random.Random(seed), rounds=6):
        body = body_of(at, request(*messages))
        assert marks(body) <= 4
        usage = server.answer(body)
        assert usage.read >= before, "what the last request wrote was not read"
        before = usage.read + usage.written
    assert before > 0


def test_what_was_sent_stays_as_it_was() -> None:
    """Long steps are marked in the part that is new, so the earlier part does not change by a byte."""
    chance = random.Random(7)
    bodies = [body_of(CLAUDE, request(*messages)) for messages in conversation(chance, rounds=3)]
    for older, newer in pairwise(bodies):
        assert newer["system"] == older["system"]
        assert newer["tools"] == older["tools"]
        if marks(newer["messages"]) <= marks(older["messages"]) + 1 and marks(older["messages"]) < 2:
            assert newer["messages"][: len(older["messages"])] == older["messages"]
