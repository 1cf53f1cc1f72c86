"""Targets and the shorthand of these tests: one wire each, with the facts its models have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tui.catalog.facts import EchoRule, ModelFacts, Quirks, ThinkingControls, ThinkingCounted
from tui.context.select import select
from tui.context.thinking_back import SelectionRepair
from tui.domain.blocks import Block, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionView
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.request import Outgoing
from tui.domain.thinking import (
    PlanState,
    ReasoningRules,
    ThinkingForm,
    ThinkingLevel,
    ThinkingPlan,
)

ADAPTIVE = ThinkingPlan(asked=ThinkingLevel.MED, nominal="medium", sent="medium", state=PlanState.ON)


@dataclass(frozen=True)
class Goal:
    """A model to send to."""

    origin: Origin
    facts: ModelFacts
    quirks: Quirks = field(default_factory=Quirks)
    plan: ThinkingPlan = ADAPTIVE

    def select(
        self,
        *turns: Turn,
        rules: ReasoningRules | None = None,
        has_tools: bool = True,
        compression: CompressionView | None = None,
        repair: frozenset[SelectionRepair] | None = None,
        nudge: str = "",
    ) -> Outgoing:
        return select(
            turns,
            rules=rules or ReasoningRules(),
            target=self.origin,
            facts=self.facts,
            quirks=self.quirks,
            plan=self.plan,
            has_tools=has_tools,
            compression=compression,
            repair=repair,
            nudge=nudge,
        )

    def with_facts(self, **changes: Any) -> Goal:
        return replace(self, facts=replace(self.facts, **changes))

    def with_quirks(self, **changes: Any) -> Goal:
        return replace(self, quirks=replace(self.quirks, **changes))

    def with_plan(self, state: PlanState, sent: int | str | None) -> Goal:
        return replace(self, plan=ThinkingPlan(asked=ThinkingLevel.MED, nominal=sent, sent=sent, state=state))


def _goal(
    provider: str, wire: WireName, model: str, echo: EchoRule, quirks: Quirks | None = None, family: str = ""
) -> Goal:
    facts = ModelFacts(
        provider=provider,
        id=model,
        wire=wire,
        spelling="",
        controls=ThinkingControls(),
        family=family,
        echo=echo,
        inputs=frozenset({"text", "image"}),
        counted=ThinkingCounted.ALL,
    )
    origin = Origin(provider=provider, wire=wire, host=f"api.{provider}.example", model=model, family=family)
    return Goal(origin, facts, quirks or Quirks())


CLAUDE = _goal("anthropic", WireName.ANTHROPIC, "claude-opus-5", EchoRule.REQUIRED_IN_TOOL_LOOP, family="claude")
CLAUDE_BUDGET = replace(
    CLAUDE, plan=ThinkingPlan(asked=ThinkingLevel.MED, nominal=43_008, sent=43_008, state=PlanState.ON)
)
GPT = _goal("openai", WireName.OPENAI_RESPONSES, "gpt-5.6-sol", EchoRule.REQUIRED_IN_TOOL_LOOP)
DEEPSEEK = _goal(
    "deepseek",
    WireName.OPENAI_CHAT,
    "deepseek-v4-pro",
    EchoRule.REQUIRED,
    Quirks(thinking_back="reasoning_content", thinking_back_empty=True),
)
OPENROUTER = _goal(
    "openrouter",
    WireName.OPENAI_CHAT,
    "z-ai/glm-5.3",
    EchoRule.REQUIRED,
    Quirks(thinking_back="reasoning_details", tools_keep_thinking=True),
)
PLAIN_CHAT = _goal("groq", WireName.OPENAI_CHAT, "some-model", EchoRule.IGNORED)
MISTRAL = _goal(
    "mistral",
    WireName.OPENAI_CHAT,
    "mistral-medium-3.5",
    EchoRule.ALLOWED,
    Quirks(thinking_back="content_chunks", assistant_after_tool=True, tool_id="nine_alnum"),
)
GEMINI = _goal("google", WireName.GEMINI, "gemini-3.8-flash", EchoRule.REQUIRED_IN_TOOL_LOOP, family="gemini-3")
OLLAMA = _goal("ollama", WireName.OLLAMA, "qwen3:8b", EchoRule.ALLOWED)

GOALS = (CLAUDE, CLAUDE_BUDGET, GPT, DEEPSEEK, OPENROUTER, PLAIN_CHAT, MISTRAL, GEMINI, OLLAMA)
ORIGINS = tuple({goal.origin.provider: goal.origin for goal in GOALS}.values())

_SIGNED = {
    WireName.ANTHROPIC: ProviderState(signature="sig=="),
    WireName.OPENAI_RESPONSES: ProviderState(id="rs_1", encrypted="gAAA"),
    WireName.GEMINI: ProviderState(signature="Cg=="),
}


def thought(goal: Goal, text: str = "hm", *, partial: bool = False) -> ThinkingBlock:
    """Thinking as this model's answers carry it."""
    return ThinkingBlock(
        text=text, form=ThinkingForm.FULL, provider_state=_SIGNED.get(goal.origin.wire), partial=partial
    )


def call(call_id: str, name: str = "read_file", arguments: str = "{}", **more: Any) -> ToolCallBlock:
    return ToolCallBlock(call_id=call_id, name=name, arguments=arguments, **more)


def result(call_id: str, text: str = "done", name: str = "read_file", *, failed: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name=name, content=(TextBlock(text=text),), failed=failed)


def said(text: str, **more: Any) -> TextBlock:
    return TextBlock(text=text, **more)


def user(message_id: str, *blocks: Block | str) -> Message:
    return Message(id=message_id, role=Role.USER, blocks=_blocks(blocks))


def answer(goal: Goal, message_id: str, *blocks: Block | str, **more: Any) -> Message:
    return Message(id=message_id, role=Role.ASSISTANT, blocks=_blocks(blocks), origin=goal.origin, **more)


def results(message_id: str, *blocks: Block) -> Message:
    return Message(id=message_id, role=Role.TOOL, blocks=blocks)


def _blocks(blocks: tuple[Block | str, ...]) -> tuple[Block, ...]:
    return tuple(TextBlock(text=block) if isinstance(block, str) else block for block in blocks)


def turn(turn_id: str, *messages: Message, is_open: bool = False) -> Turn:
    return Turn(id=turn_id, messages=messages, open=is_open)


def sent(outgoing: Outgoing) -> list[tuple[str, list[str]]]:
    """What goes, told briefly: roles, and each block in a word or two."""
    return [(message.role.value, [_brief(block) for block in message.blocks]) for message in outgoing.messages]


def _brief(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ThinkingBlock():
            return f"thinking: {block.text}"
        case ToolCallBlock():
            return f"call {block.call_id}"
        case ToolResultBlock():
            words = " ".join(part.text if isinstance(part, TextBlock) else "image" for part in block.content)
            return f"result {block.call_id}{' failed' if block.failed else ''}: {words}"
        case _:
            return block.kind
