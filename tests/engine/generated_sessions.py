"""Sessions made by chance: what users, models, tools, failures and restarts do, and the requests that come of it.

Planner, selection and encoder are the real ones. A turn grows as the engine lets it grow: every message is added
after the request that brought it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import orjson

from tests.histories import OPAQUE_ITEMS, PIXEL
from tui.catalog.catalog import effective_quirks, packaged_catalog
from tui.catalog.model_spec import parse_spec
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
from tui.domain.compression import CompressionView
from tui.domain.messages import ENDED_EARLY, Message, Origin, Role, Turn, WireName
from tui.domain.request import ToolSchema
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ModelSpec, ThinkingForm
from tui.engine.planner import Planner
from tui.engine.request_inputs import Repairs, RequestInputs
from tui.engine.settings import EngineSettings
from tui.engine.step import NUDGE
from tui.engine.token_meter import TokenMeter
from tui.wires.wire import wire_named

TARGETS: Mapping[WireName, tuple[str, ...]] = {
    WireName.ANTHROPIC: (
        "anthropic/claude-opus-5",
        "anthropic/claude-opus-5-5",
        "anthropic/claude-sonnet-5-5",
        "anthropic/claude-opus-4-6",
        "anthropic/claude-haiku-4-5",
    ),
    WireName.OPENAI_RESPONSES: ("openai/gpt-6-sol", "openai/gpt-5.4", "xai/grok-4.5"),
    WireName.OPENAI_CHAT: (
        "openrouter/anthropic/claude-opus-5",
        "openrouter/z-ai/glm-5.3",
        "deepseek/deepseek-v4-pro",
        "moonshot/kimi-k3.1-pro",
        "alibaba/qwen-plus",
        "mistral/mistral-medium-3.5",
        "minimax/MiniMax-M3",
        "zai/glm-5.3",
        "groq/openai/gpt-oss-120b",
        "llama.cpp/qwen3.5",
        "vllm/glm-5",
    ),
    WireName.GEMINI: ("google/gemini-3.8-flash", "google/gemini-4-argon", "google/gemini-2.5-flash"),
    WireName.OLLAMA: ("ollama/gpt-oss", "ollama/qwen3", "ollama/qwen3-vl"),
}
LEVELS = ("none", "low", "med", "high")
TOOLS = tuple(
    ToolSchema(name=name, description=f"The tool {name}.", parameters={"type": "object", "properties": {}})
    for name in ("read_file", "shell", "fetch_url")
)
SYSTEM = "Be brief and exact. " * 80
MOST_CALLS = 30
"""Calls of one answer; with their results, a step has up to 60 blocks and the thinking and text before them."""

Restart = Callable[[str, tuple[Turn, ...]], Awaitable[tuple[Turn, ...]]]


@dataclass
class Sent:
    """A request, and the configuration it was made with."""

    configuration: int
    body: dict[str, Any]
    nudged: bool
    turn: int
    model: str
    wire: WireName


@dataclass
class GeneratedSession:
    """A session and its requests so far."""

    wire: WireName
    seed: int
    restart: Restart
    sent: list[Sent] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    configuration: int = 0
    """Counts the declared actions: each may rewrite what was sent before."""
    steers: list[str] = field(default_factory=list)
    """What users said in the middle of turns."""
    answered_now: list[tuple[Sent, Sent]] = field(default_factory=list)
    """Requests whose thinking was ended, and those that took their place."""
    unanswered: list[Sent] = field(default_factory=list)
    """Requests of turns that failed without an answer."""
    _number: int = 0
    _turn_number: int = 0
    _tools: tuple[ToolSchema, ...] = TOOLS
    _view: CompressionView | None = None
    _left: tuple[ModelSpec, EngineSettings] | None = None
    """Level and settings of the session while a turn uses the lowest level."""

    def __post_init__(self) -> None:
        self._chance = Random(f"{self.wire} {self.seed}")
        self._steering = Random(f"steering {self.wire} {self.seed}")
        """Decides what users say and ask for in the middle of a turn."""
        self._settings = EngineSettings(system=SYSTEM, cache_ttl=self._chance.choice(["5m", "1h", "1h"]))
        self._new_planner()
        self._choose(self._chance.choice(TARGETS[self.wire]))

    async def play(self, turns: int) -> None:
        """Add turns, with actions between them."""
        for _ in range(turns):
            await self._act()
            self._turn()

    # actions between turns

    async def _act(self) -> None:
        match self._chance.randint(0, 11):
            case 0:
                wire = self._chance.choice([self.wire, self.wire, *TARGETS])
                self._choose(self._chance.choice(TARGETS[wire]))
            case 1:
                self._choose(f"{self._spec.provider}/{self._spec.model}")
            case 2 if self.turns:
                self._compress()
            case 3:
                self._new_configuration()
                self._tools = self._chance.choice([TOOLS, TOOLS, TOOLS[:2], ()])
            case 4 if self.turns:
                self._new_configuration()
                del self.turns[self._chance.randrange(len(self.turns)) :]
                kept = {turn.id for turn in self.turns}
                self._view = self._view.fitting(kept) if self._view else None
            case 5 | 6:
                self.turns = list(await self.restart(f"{self.wire} {self.seed} {self._next()}", tuple(self.turns)))
                self._new_planner()
            case _:
                pass

    def _new_planner(self) -> None:
        self._account = ""
        self._planner = Planner(packaged_catalog(), TokenMeter(), lambda provider, base_url: self._account)

    def _new_configuration(self) -> None:
        self.configuration += 1

    def _choose(self, model: str) -> None:
        self._new_configuration()
        self._spec = parse_spec(f"{model}/{self._chance.choice(LEVELS)}", packaged_catalog())
        self._target = self._planner.target(self._spec)
        self._quirks = effective_quirks(self._target.provider, self._target.facts)

    def _compress(self) -> None:
        self._new_configuration()
        count = self._chance.randint(0, len(self.turns))
        shortened = {
            (message.id, block.call_id): "(shortened)"
            for turn in self.turns[count:]
            for message in turn.messages
            for block in message.blocks
            if isinstance(block, ToolResultBlock) and self._chance.randint(0, 3) == 0
        }
        if count or shortened:
            compressed = frozenset(turn.id for turn in self.turns[:count])
            verbatim = ("Keep this.",) if self._chance.randint(0, 1) else ()
            self._view = CompressionView(
                summary="A summary." if count else "",
                compressed_turns=compressed,
                verbatim=verbatim if count else (),
                shortened=shortened,
                finished=frozenset(turn.id for turn in self.turns),
                previous=self._view,
            )

    # turns

    def _turn(self) -> None:
        chance = self._chance
        self._turn_number += 1
        messages = [Message(id=self._id("m"), role=Role.USER, blocks=self._prompt())]
        turn_id = self._id("t")
        steps = chance.choice([0, 0, 1, 2, 4])
        while True:
            if not self._request(turn_id, messages):
                break
            end = chance.randint(0, 24)
            if end == 0:
                self._fail(messages)
                break
            if end in (1, 2):
                messages.append(self._answer(calls=False, interrupted="cancelled" if end == 1 else "stream cut"))
                break
            if end == 3 and self._wire is WireName.ANTHROPIC:
                messages.append(self._answer(calls=False, finish=Finish.PAUSE))
                continue
            if steps == 0 or not self._offered:
                messages.append(self._answer(calls=False))
                break
            steps -= 1
            cut = end == 4
            answer = self._answer(calls=True, finish=Finish.LENGTH if cut else Finish.TOOL_USE, cut=cut)
            messages.append(answer)
            calls = [block for block in answer.blocks if isinstance(block, ToolCallBlock) and not block.partial]
            if not calls:
                break
            results = tuple(self._result(call, failed=cut) for call in calls)
            messages.append(Message(id=self._id("m"), role=Role.TOOL, blocks=results))
            messages.extend(self._steer() for _ in range(self._steering.choice([0, 0, 0, 1, 2])))
        self._restore_level()
        self.turns.append(Turn(id=turn_id, messages=tuple(messages)))

    def _fail(self, messages: list[Message]) -> None:
        """End a turn with an error. Without an answer, its prompt is not part of the history."""
        if all(message.superseded for message in messages[1:]):
            messages[0] = replace(messages[0], interrupted="Overloaded")
            while self.sent and self.sent[-1].turn == self._turn_number:
                self.unanswered.append(self.sent.pop())

    @property
    def _wire(self) -> WireName:
        return self._target.facts.wire

    @property
    def _offered(self) -> bool:
        return bool(self._tools) and self._target.facts.tools

    def _steer(self) -> Message:
        said = f"Steer {self._next()}."
        self.steers.append(said)
        return Message(id=self._id("m"), role=Role.USER, blocks=(TextBlock(text=said),))

    def _answer_now(self, turn_id: str, messages: list[Message]) -> None:
        """End the thinking of the request that was just sent, and ask again at the lowest level."""
        before = self.sent[-1]
        lower = self._planner.with_least_thinking(self._inputs(turn_id, messages, Repairs()))
        thought = replace(self._thinking(), partial=True, provider_state=None)
        ended = self._message((thought,), Finish.STOP, ENDED_EARLY)
        messages.append(replace(ended, superseded=True))
        if lower is not None:
            self._left = self._left or (self._spec, self._settings)
            self._new_configuration()
            self._spec, self._settings = lower.spec, lower.settings
        if self._steering.randint(0, 1):
            messages.append(self._steer())
        self._send(turn_id, messages, Repairs())
        if lower is not None:
            self.answered_now.append((before, self.sent[-1]))

    def _restore_level(self) -> None:
        """The level that was lowered within a turn applies again after it."""
        if self._left is not None:
            self._new_configuration()
            (self._spec, self._settings), self._left = self._left, None

    def _request(self, turn_id: str, messages: list[Message]) -> bool:
        """Send requests until one is answered; False if none is."""
        repairs = Repairs()
        self._send(turn_id, messages, repairs)
        if self._steering.randint(0, 5) == 0:
            self._answer_now(turn_id, messages)
        first = True
        while True:
            if not first:
                self._send(turn_id, messages, repairs)
            first = False
            match self._chance.randint(0, 19):
                case 0:  # broke off: asked again
                    broken = self._answer(calls=False, interrupted="stream cut")
                    messages.append(replace(broken, superseded=True))
                case 1 if not repairs.nudge:
                    messages.append(replace(self._empty(), superseded=True))
                    repairs = Repairs(nudge="" if self._target.facts.bound else NUDGE)
                case _:
                    return True

    def _inputs(self, turn_id: str, messages: list[Message], repairs: Repairs) -> RequestInputs:
        return RequestInputs(
            session="session",
            turns=(*self.turns, Turn(id=turn_id, messages=tuple(messages), open=True)),
            target=self._target,
            spec=self._spec,
            settings=self._settings,
            tools=self._tools,
            compression=self._view,
            repairs=repairs,
        )

    def _send(self, turn_id: str, messages: list[Message], repairs: Repairs) -> None:
        sent = self._encoded(self._inputs(turn_id, messages, repairs))
        self._account = "k1"  # the key is looked up while the first request is sent
        self.sent.append(sent)

    def _encoded(self, inputs: RequestInputs) -> Sent:
        encoded = wire_named(self._wire).encode(self._planner.request(inputs), self._quirks)
        return Sent(
            configuration=self.configuration,
            body=orjson.loads(orjson.dumps(encoded.body)),
            nudged=bool(inputs.repairs.nudge),
            turn=self._turn_number,
            model=str(self._spec),
            wire=self._wire,
        )

    def summary_request(self) -> Sent:
        """The conversation with the wish for a summary at its end."""
        inputs = replace(self._plain_inputs(), turns=tuple(self.turns), compression=self._view)
        return self._encoded(replace(inputs, repairs=Repairs(nudge="Write a summary.")))

    def _prompt(self) -> tuple[Block, ...]:
        blocks: list[Block] = [TextBlock(text=f"Question {self._next()}. " * self._chance.choice([1, 3, 60]))]
        if self._chance.randint(0, 5) == 0:
            blocks.insert(self._chance.randint(0, 1), self._image())
        return tuple(blocks)

    def _image(self) -> ImageBlock:
        if self._chance.randint(0, 4) == 0:
            return ImageBlock(media_type="image/png", url=f"https://pictures.example/{self._next()}.png")
        return ImageBlock(media_type="image/png", data=PIXEL, name="a.png")

    def _empty(self) -> Message:
        return self._message((self._thinking(),) if self._chance.randint(0, 1) else (), Finish.STOP)

    def _answer(
        self, *, calls: bool, finish: Finish = Finish.STOP, interrupted: str | None = None, cut: bool = False
    ) -> Message:
        chance, blocks = self._chance, list[Block]()
        made = self._planner.plan(self._plain_inputs())
        if made.thinks and chance.randint(0, 5):
            blocks += [self._thinking() for _ in range(chance.choice([1, 1, 2]))]
        if interrupted and chance.randint(0, 2) == 0:
            blocks.append(ThinkingBlock(text="half a thou", form=ThinkingForm.FULL, partial=True))
            return self._message(tuple(blocks), finish, interrupted)
        if not calls or chance.randint(0, 1):
            blocks.append(self._text(partial=interrupted is not None))
        if finish is Finish.PAUSE:
            item = {**OPAQUE_ITEMS[WireName.ANTHROPIC], "id": f"srvtoolu_{self._next()}"}
            blocks.append(OpaqueBlock(label="server_tool_use", raw=json.dumps(item)))
        if calls:
            count = chance.choice([1, 1, 2, 5, 20, MOST_CALLS])
            blocks += [self._call(first=number == 0) for number in range(count)]
            if cut and chance.randint(0, 1):
                blocks.append(replace(self._call(first=False), partial=True, arguments='{"path": "hal'))
                if count == 1:
                    del blocks[-2]
        return self._message(tuple(blocks), finish, interrupted)

    def _message(self, blocks: tuple[Block, ...], finish: Finish, interrupted: str | None = None) -> Message:
        level = self._planner.plan(self._plain_inputs()).level
        origin: Origin = replace(self._planner.stamp(self._target), level=level)
        return Message(
            id=self._id("m"),
            role=Role.ASSISTANT,
            blocks=blocks,
            origin=origin,
            stop=None if interrupted else Stop(finish),
            interrupted=interrupted,
        )

    def _plain_inputs(self) -> RequestInputs:
        return RequestInputs(
            session="session",
            turns=(),
            target=self._target,
            spec=self._spec,
            settings=self._settings,
            tools=self._tools,
        )

    def _text(self, *, partial: bool) -> TextBlock:
        state = None
        if self._wire is WireName.OPENAI_RESPONSES:
            state = ProviderState(id=f"msg_{self._next()}")
        elif self._wire is WireName.GEMINI and self._chance.randint(0, 2) == 0:
            state = ProviderState(signature=f"Ct{self._next()}==")
        return TextBlock(
            text=f"Answer {self._next()}. " * self._chance.choice([1, 40]), provider_state=state, partial=partial
        )

    def _thinking(self) -> ThinkingBlock:
        number, chance = self._next(), self._chance
        text, wire_field, state = f"Thought {number}. ", None, None
        match self._wire:
            case WireName.ANTHROPIC:
                state = ProviderState(signature=f"sig{number}==")
                if chance.randint(0, 9) == 0:
                    text, state = "", ProviderState(encrypted=f"red{number}")
            case WireName.OPENAI_RESPONSES:
                item = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAA{number}"}
                state = ProviderState(id=f"rs_{number}", encrypted=f"gAAA{number}", raw=json.dumps(item))
            case WireName.GEMINI:
                state = ProviderState(signature=f"Cg{number}==") if chance.randint(0, 1) else None
            case WireName.OPENAI_CHAT:
                wire_field = self._quirks.thinking_in[0] if self._quirks.thinking_in else "reasoning_content"
                if self._quirks.thinking_back == "reasoning_details":
                    wire_field = "reasoning"
                    details = [{"type": "reasoning.text", "text": text, "signature": f"s{number}", "index": 0}]
                    state = ProviderState(raw=json.dumps(details))
                elif self._quirks.thinking_back == "content_chunks" and chance.randint(0, 1):
                    state = ProviderState(signature=f"ms{number}")
            case WireName.OLLAMA:
                pass
        form = ThinkingForm.FULL if text else ThinkingForm.HIDDEN
        return ThinkingBlock(text=text, form=form, wire_field=wire_field, provider_state=state)

    def _call(self, *, first: bool) -> ToolCallBlock:
        number = self._next()
        state = None
        if self._wire is WireName.OPENAI_RESPONSES:
            state = ProviderState(id=f"fc_{number}")
        elif self._wire is WireName.GEMINI and first and self._chance.randint(0, 5):
            state = ProviderState(signature=f"Cc{number}==", id=self._chance.choice([None, f"g{number}"]))
        # Servers without ids of their own repeat theirs in every answer.
        call_id = f"call_{self._chance.randint(0, 3)}" if self._chance.randint(0, 3) == 0 else f"toolu_{number}"
        arguments = json.dumps({"path": f"file {number}"}) if self._chance.randint(0, 9) else ""
        name = self._chance.choice(self._tools).name if self._tools else "read_file"
        return ToolCallBlock(call_id=call_id, name=name, arguments=arguments, provider_state=state)

    def _result(self, call: ToolCallBlock, *, failed: bool) -> ToolResultBlock:
        content: list[TextBlock | ImageBlock] = [
            TextBlock(text=f"Result {self._next()}. " * self._chance.choice([1, 30]))
        ]
        if self._chance.randint(0, 9) == 0:
            content.append(self._image())
        return ToolResultBlock(call_id=call.call_id, name=call.name, content=tuple(content), failed=failed)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _id(self, prefix: str) -> str:
        return f"{prefix}{self._next()}"
