"""Any history, any target, any settings: what goes out is what the server takes, and it says what was said."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories, reasoning_rules
from tests.validators import template
from tui.catalog.catalog import effective_quirks, packaged_catalog
from tui.catalog.facts import EchoRule, ModelFacts, ProviderFacts, Quirks
from tui.catalog.model_spec import parse_asked
from tui.catalog.plan import plan
from tui.context.select import select
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.messages import Origin, Turn, WireName
from tui.domain.request import ChatRequest, Outgoing, ToolSchema
from tui.domain.thinking import ReasoningRules
from tui.wires.wire import EncodedRequest, wire_named

TOOLS = tuple(
    ToolSchema(
        name=name,
        description="Does it.",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}},
    )
    for name in ("read_file", "shell")
)
DIALECTS = {"moonshot": "kimi", "alibaba": "qwen", "zai": "glm", "llama.cpp": "llamacpp"}
VALIDATORS = {
    WireName.ANTHROPIC: "anthropic",
    WireName.OPENAI_RESPONSES: "responses",
    WireName.OPENAI_CHAT: "chat",
    WireName.GEMINI: "gemini",
    WireName.OLLAMA: "ollama",
}


@dataclass(frozen=True)
class Goal:
    """A model at a level, as the catalogue knows it."""

    provider: ProviderFacts
    facts: ModelFacts
    quirks: Quirks
    origin: Origin
    level: str

    def request(self, history: tuple[Turn, ...], rules: ReasoningRules, *, with_tools: bool) -> ChatRequest:
        asked = parse_asked(self.level)
        assert asked is not None
        made = plan(self.facts, self.provider, asked, with_tools=with_tools)
        outgoing = select(
            history,
            rules=rules,
            target=self.origin,
            facts=self.facts,
            quirks=self.quirks,
            plan=made,
            has_tools=with_tools,
        )
        tools = TOOLS if with_tools else ()
        return ChatRequest(model=self.facts.id, outgoing=outgoing, plan=made, system="Be brief.", tools=tools)

    def encoded(self, request: ChatRequest) -> EncodedRequest:
        return wire_named(self.facts.wire).encode(request, self.quirks)

    def problems(self, encoded: EncodedRequest, body: dict[str, Any]) -> list[str]:
        validator = importlib.import_module(f"tests.validators.{VALIDATORS[self.facts.wire]}")
        problems: Callable[..., list[str]] = validator.problems
        match self.facts.wire:
            case WireName.ANTHROPIC:
                return problems(body, headers=encoded.headers, strict_thinking=False) + unled_loop(body)
            case WireName.OPENAI_CHAT:
                return problems(body, dialect=DIALECTS.get(self.provider.id, self.provider.id))
            case WireName.GEMINI:
                return problems(body, strict_thinking=self.facts.echo is EchoRule.REQUIRED_IN_TOOL_LOOP)
            case _:
                return problems(body)


def unled_loop(body: dict[str, Any]) -> list[str]:
    """With a budget a running tool loop must begin with thinking; later steps of it may come without."""
    if body.get("thinking", {}).get("type") != "enabled":
        return []
    first = None
    for message in reversed(body["messages"]):
        kinds = [block["type"] for block in message["content"]]
        is_last = message is body["messages"][-1]
        if message["role"] == "user" and (
            "tool_result" not in kinds or (set(kinds) != {"tool_result"} and not is_last)
        ):
            break
        if message["role"] == "assistant":
            first = kinds
    return ["a tool loop does not begin with thinking"] if first and "thinking" not in first[0] else []


def refused_by_template(facts: ModelFacts, quirks: Quirks, body: dict[str, Any]) -> list[str]:
    """Problems with the order of roles, for servers that may run any open model."""
    if not (quirks.merge_same_role and quirks.assistant_after_tool):
        return []
    if facts.wire is WireName.OPENAI_RESPONSES:
        return template.responses_problems(body["input"])
    # Sealed details of two answers stay apart: who provider state them is no chat template.
    signed = any("reasoning_details" in message for message in body["messages"])
    return [] if signed else template.chat_problems(body["messages"])


OWN_SERVERS = {
    "providers": {
        name: {"wire": wire, "base_url": "http://localhost:9/v1", "auth": "none"}
        for name, wire in (("own-chat", "openai-chat"), ("own-responses", "openai-responses"))
    }
}


def goal(name: str) -> Goal:
    catalog = packaged_catalog().with_overrides(OWN_SERVERS)
    provider_id, rest = name.split("/", 1)
    model, level = rest.rsplit("@", 1)
    provider = catalog.provider(provider_id)
    facts = catalog.find(provider_id, model)
    origin = Origin(provider=provider_id, wire=facts.wire, host=provider.base_url, model=facts.id, family=facts.family)
    return Goal(provider, facts, effective_quirks(provider, facts), origin, level)


NAMES = (
    "anthropic/claude-opus-5@high",
    "anthropic/claude-opus-5-5@med",
    "anthropic/claude-sonnet-4-5@16k",
    "anthropic/claude-haiku-4-5@none",
    "openai/gpt-5.6-sol@med",
    "openai/gpt-5.1@none",
    "xai/grok-4.7@low",
    "openrouter/z-ai/glm-5.3@high",
    "deepseek/deepseek-v4-pro@high",
    "moonshot/kimi-k3@low",
    "moonshot/kimi-k2.6@high",
    "minimax/MiniMax-M3@med",
    "alibaba/qwen3.7-max@med",
    "zai/glm-5.2@high",
    "mistral/mistral-medium-3.5@high",
    "groq/openai/gpt-oss-120b@med",
    "google/gemini-3.8-flash@high",
    "google/gemini-2.5-pro@8k",
    "ollama/qwen3:8b@high",
    "vllm/qwen3@high",
    "llama.cpp/gemma-3-12b-it@none",
    "lmstudio/mistral-small@none",
    "own-chat/some-model@none",
    "own-responses/some-model@none",
)
GOALS = {name: goal(name) for name in NAMES}
ORIGINS = tuple(dict.fromkeys(each.origin for each in GOALS.values()))

SAID = re.compile(r"(?:prompt|answer) number \d+")
THOUGHT = re.compile(r"thought number \d+")


def stored(history: tuple[Turn, ...]) -> list[str]:
    """What was said, in order, but for attempts that were retried."""
    blocks = [
        block
        for turn in history
        for message in turn.messages
        if not message.superseded
        for block in message.blocks
        if isinstance(block, TextBlock)
    ]
    return SAID.findall("\n".join(block.text for block in blocks))


def thoughts(outgoing: Outgoing) -> set[str]:
    blocks = [block for message in outgoing.messages for block in message.blocks]
    return {
        thought
        for block in blocks
        if isinstance(block, TextBlock | ThinkingBlock)
        for thought in THOUGHT.findall(block.text)
    }


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20_000 // len(NAMES) if settings().max_examples > 1000 else 15)
@given(data=st.data(), rules=reasoning_rules(), with_tools=st.booleans())
def test_whatever_happened_before_the_next_request_is_legal_and_complete(name, data, rules, with_tools):
    target = GOALS[name]
    # Half of what is there came from the target itself, or the provider state would hardly ever be valid.
    history = data.draw(histories((target.origin, *ORIGINS[:: len(ORIGINS) // 3], target.origin, target.origin)))
    request = target.request(history, rules, with_tools=with_tools)
    if not request.outgoing.messages:
        assert not any(turn.messages for turn in history)
        return
    encoded = target.encoded(request)
    body = json.loads(json.dumps(encoded.body))
    assert target.problems(encoded, body) == []
    assert refused_by_template(target.facts, target.quirks, body) == []
    spelled = json.dumps(body, ensure_ascii=False)
    assert SAID.findall(spelled) == stored(history)
    assert set(THOUGHT.findall(spelled)) == thoughts(request.outgoing)
