"""Hypothesis strategies for whole histories: what users, models, tools, crashes and switches leave in the store."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tui.domain.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import (
    IncludeInContext,
    ReasoningFormat,
    ReasoningRules,
    StripPolicy,
    ThinkingForm,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ODD_WORDS = (
    "",
    " ",
    "\n\n",
    "ok",
    "naïve 字 🙂",
    "<think>no</think>",
    "a\0b",
    "half \ud83d",
    '{"x": 1}',
    "# Title\n\n- one",
)
ODD_ARGUMENTS = ("", "{}", "[1]", "null", '{"path": "a', '{"half": "\\ud83d"}', '{"half": "\ud83d"}', "not json")

OPAQUE_ITEMS: dict[WireName, dict[str, Any]] = {
    WireName.ANTHROPIC: {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    WireName.OPENAI_RESPONSES: {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    },
    WireName.GEMINI: {"executableCode": {"language": "PYTHON", "code": "1"}},
    WireName.OPENAI_CHAT: {"type": "odd"},
    WireName.OLLAMA: {"type": "odd"},
}


@dataclass(slots=True)
class Numbers:
    """Fresh names, so that every text and every message of a history can be told apart."""

    last: int = 0
    said: list[str] = field(default_factory=list)

    def next(self) -> int:
        self.last += 1
        return self.last


def words(numbers: Numbers, label: str, draw: st.DrawFn) -> str:
    """Words that occur once, or an odd text."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(ODD_WORDS))
    return f"{label} number {numbers.next()}"


def provider_state_for(wire: WireName, numbers: Numbers, text: str, draw: st.DrawFn) -> ProviderState | None:
    """A seal as the wire's decoder makes them for thinking; sometimes none, sometimes redacted."""
    choice = draw(st.integers(0, 4))
    if choice == 0:
        return None
    number = numbers.next()
    match wire:
        case WireName.ANTHROPIC:
            return ProviderState(encrypted=f"red{number}") if choice == 1 else ProviderState(signature=f"sig{number}==")
        case WireName.OPENAI_RESPONSES:
            item = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": text}]}
            if choice == 1:
                return ProviderState(id=f"rs_{number}", raw=json.dumps(item))
            if choice == 2:
                open_text = {"summary": [], "content": [{"type": "reasoning_text", "text": text}]}
                return ProviderState(id=f"rs_{number}", raw=json.dumps({**item, **open_text, "encrypted_content": ""}))
            item["encrypted_content"] = f"gAAA{number}"
            return ProviderState(id=f"rs_{number}", encrypted=f"gAAA{number}", raw=json.dumps(item))
        case WireName.GEMINI:
            return ProviderState(signature=f"Cg{number}==")
        case WireName.OPENAI_CHAT:
            details = [{"type": "reasoning.text", "text": text, "signature": f"s{number}", "index": 0}]
            return ProviderState(raw=json.dumps(details))
        case WireName.OLLAMA:
            return None


def side_state(wire: WireName, numbers: Numbers, draw: st.DrawFn, prefix: str) -> ProviderState | None:
    """A seal on text or a tool call, where the wire has them."""
    if wire is WireName.OPENAI_RESPONSES:
        return ProviderState(id=f"{prefix}_{numbers.next()}")
    if wire is WireName.GEMINI and draw(st.booleans()):
        return ProviderState(signature=f"Ct{numbers.next()}==")
    return None


@st.composite
def thinking_blocks(draw: st.DrawFn, wire: WireName, numbers: Numbers) -> ThinkingBlock:
    text = words(numbers, "thought", draw)
    provider_state = provider_state_for(wire, numbers, text, draw)
    if provider_state is not None and provider_state.encrypted and wire is WireName.ANTHROPIC:
        text = ""
    form = ThinkingForm.HIDDEN if not text else draw(st.sampled_from([ThinkingForm.FULL, ThinkingForm.SUMMARY]))
    wire_field = "reasoning" if wire is WireName.OPENAI_CHAT else None
    partial = draw(st.integers(0, 9)) == 0
    return ThinkingBlock(text=text, form=form, wire_field=wire_field, provider_state=provider_state, partial=partial)


@st.composite
def tool_calls(draw: st.DrawFn, wire: WireName, numbers: Numbers, *, first: bool) -> ToolCallBlock:
    # Servers without ids get the same made-up ones in every response.
    call_id = draw(st.sampled_from(["call_0", "call_1"])) if draw(st.booleans()) else f"toolu_{numbers.next()}"
    arguments = json.dumps({"path": f"file {numbers.next()}"})
    if draw(st.integers(0, 5)) == 0:
        arguments = draw(st.sampled_from(ODD_ARGUMENTS))
    return ToolCallBlock(
        call_id=call_id,
        name=draw(st.sampled_from(["read_file", "shell"])),
        arguments=arguments,
        # Gemini signs the first call of every step.
        provider_state=ProviderState(signature=f"Cc{numbers.next()}==")
        if first and wire is WireName.GEMINI
        else side_state(wire, numbers, draw, "fc"),
        partial=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def images(draw: st.DrawFn) -> ImageBlock:
    if draw(st.integers(0, 3)) == 0:
        return ImageBlock(media_type="image/png", url="https://pictures.example/a.png")
    return ImageBlock(media_type="image/png", data=PIXEL, name="a.png")


@st.composite
def answer_blocks(draw: st.DrawFn, wire: WireName, numbers: Numbers) -> tuple[Block, ...]:
    blocks: list[Block] = []
    called = False
    for _ in range(draw(st.integers(0, 5))):
        match draw(st.sampled_from(["thinking", "thinking", "text", "text", "call", "call", "opaque", "image"])):
            case "thinking":
                blocks.append(draw(thinking_blocks(wire, numbers)))
            case "text":
                partial = draw(st.integers(0, 9)) == 0
                provider_state = side_state(wire, numbers, draw, "msg")
                blocks.append(
                    TextBlock(text=words(numbers, "answer", draw), provider_state=provider_state, partial=partial)
                )
            case "call":
                blocks.append(draw(tool_calls(wire, numbers, first=not called)))
                called = True
            case "opaque":
                if draw(st.integers(0, 3)) == 0:
                    item = OPAQUE_ITEMS[wire]
                    raw = {**item, "id": f"{item['id']}{numbers.next()}"} if "id" in item else item
                    blocks.append(OpaqueBlock(label=str(raw.get("type", "item")), raw=json.dumps(raw)))
            case _:
                if draw(st.integers(0, 3)) == 0:
                    blocks.append(draw(images()))
    return tuple(blocks)


@st.composite
def results_for(draw: st.DrawFn, calls: list[ToolCallBlock], numbers: Numbers) -> tuple[Block, ...]:
    """Results of some of these calls, in any order, now and then one that nobody asked for."""
    results = [draw(result_of(call.call_id, call.name, numbers)) for call in calls if draw(st.integers(0, 4))]
    if draw(st.integers(0, 7)) == 0:
        results.append(draw(result_of(f"lost_{numbers.next()}", "shell", numbers)))
    return tuple(draw(st.permutations(results)))


@st.composite
def result_of(draw: st.DrawFn, call_id: str, name: str, numbers: Numbers) -> ToolResultBlock:
    content: list[TextBlock | ImageBlock] = []
    if draw(st.integers(0, 6)):
        content.append(TextBlock(text=words(numbers, "result", draw)))
    if draw(st.integers(0, 6)) == 0:
        content.append(draw(images()))
    return ToolResultBlock(call_id=call_id, name=name, content=tuple(content), failed=draw(st.integers(0, 4)) == 0)


@st.composite
def user_messages(draw: st.DrawFn, numbers: Numbers) -> Message:
    blocks: list[Block] = [TextBlock(text=words(numbers, "prompt", draw))]
    if draw(st.integers(0, 5)) == 0:
        blocks.append(draw(images()))
    return Message(id=f"m{numbers.next()}", role=Role.USER, blocks=tuple(blocks))


@st.composite
def answers(draw: st.DrawFn, origins: tuple[Origin, ...], numbers: Numbers) -> Message:
    origin = draw(st.sampled_from(origins))
    blocks = draw(answer_blocks(origin.wire, numbers))
    return Message(
        id=f"m{numbers.next()}",
        role=Role.ASSISTANT,
        blocks=blocks,
        origin=origin,
        stop=Stop(Finish.PAUSE) if draw(st.integers(0, 19)) == 0 else Stop(Finish.STOP),
        interrupted="cancelled" if any(getattr(block, "partial", False) for block in blocks) else None,
        superseded=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def turns(draw: st.DrawFn, origins: tuple[Origin, ...], numbers: Numbers) -> Turn:
    messages: list[Message] = []
    if draw(st.integers(0, 19)):
        messages.append(draw(user_messages(numbers)))
    for _ in range(draw(st.integers(0, 3))):
        answer = draw(answers(origins, numbers))
        messages.append(answer)
        calls = [block for block in answer.blocks if isinstance(block, ToolCallBlock)]
        if calls and not answer.superseded and draw(st.integers(0, 7)):
            results = draw(results_for(calls, numbers))
            messages.append(Message(id=f"m{numbers.next()}", role=Role.TOOL, blocks=results))
        if draw(st.integers(0, 9)) == 0:
            messages.append(draw(user_messages(numbers)))
    return Turn(id=f"t{numbers.next()}", messages=tuple(messages), open=draw(st.integers(0, 5)) == 0)


@st.composite
def histories(draw: st.DrawFn, origins: tuple[Origin, ...]) -> tuple[Turn, ...]:
    """Up to four turns, usually with a prompt waiting for its answer at the end."""
    numbers = Numbers()
    history = [draw(turns(origins, numbers)) for _ in range(draw(st.integers(0, 4)))]
    if draw(st.integers(0, 2)):
        history.append(Turn(id=f"t{numbers.next()}", messages=(draw(user_messages(numbers)),), open=True))
    return tuple(history)


def reasoning_rules() -> st.SearchStrategy[ReasoningRules]:
    """Any setting of what goes back."""
    return st.builds(
        ReasoningRules,
        include_in_context=st.sampled_from(IncludeInContext),
        strip=st.sampled_from(StripPolicy),
        format=st.sampled_from(ReasoningFormat),
    )
