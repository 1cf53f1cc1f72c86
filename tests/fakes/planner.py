"""A planner and a compressor that count characters: small enough to see through."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tui.catalog.facts import AuthStyle, ModelFacts, ProviderFacts, Target, ThinkingControls
from tui.domain.blocks import TextBlock, ToolResultBlock
from tui.domain.compression import CompressionPreview, CompressionView
from tui.domain.errors import PonderError, UnknownModel
from tui.domain.messages import Message, Origin, Role, Turn, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
from tui.domain.thinking import ModelSpec, PlanState, ThinkingLevel, ThinkingPlan
from tui.domain.usage import Certainty, MeterReading, Part, Usage
from tui.engine.compressor import Compressor, PendingCompression
from tui.engine.planner import Planner
from tui.engine.refused_parameters import is_ours
from tui.engine.request_inputs import RequestInputs

SPEC = ModelSpec(provider="fake", model="m", asked=ThinkingLevel.LOW)
PLAN = ThinkingPlan(asked=ThinkingLevel.LOW, nominal="low", sent="low", state=PlanState.ON, summary="Thinking: low")


def target(spec: ModelSpec = SPEC) -> Target:
    facts = ModelFacts(
        provider=spec.provider,
        id=spec.model,
        wire=WireName.OPENAI_CHAT,
        spelling="none",
        controls=ThinkingControls(),
    )
    provider = ProviderFacts(
        id=spec.provider,
        title=spec.provider.title(),
        wire=WireName.OPENAI_CHAT,
        base_url="http://127.0.0.1:9",
        auth=AuthStyle.NONE,
    )
    origin = Origin(provider=spec.provider, wire=WireName.OPENAI_CHAT, host="127.0.0.1", model=spec.model)
    return Target(provider=provider, facts=facts, origin=origin)


@dataclass
class FakePlanner(Planner):
    """Knows every model but ``unknown``; sends everything that is not superseded."""

    limit: int | None = None
    learned: list[Usage] = field(default_factory=list)
    resumed: list[RequestInputs] = field(default_factory=list)

    def target(self, spec: ModelSpec) -> Target:
        if spec.model == "unknown":
            raise UnknownModel("no model `unknown`", nearest=("m",))
        return target(spec)

    def stamp(self, target: Target) -> Origin:
        return target.origin

    def plan(self, inputs: RequestInputs) -> ThinkingPlan:
        return replace(PLAN, asked=inputs.spec.asked or ThinkingLevel.LOW)

    def request(self, inputs: RequestInputs) -> ChatRequest:
        folded = inputs.compression.compressed_turns if inputs.compression else frozenset()
        messages = tuple(
            OutgoingMessage(role=message.role, blocks=message.blocks, source_id=message.id)
            for turn in inputs.turns
            if turn.id not in folded
            for message in turn.messages
            if not message.superseded
        )
        if inputs.repairs.nudge:
            messages += (OutgoingMessage(role=Role.USER, blocks=(TextBlock(text=inputs.repairs.nudge),)),)
        fields = {} if "reasoning_effort" in inputs.repairs.without else {"reasoning_effort": "low"}
        system = inputs.settings.system
        return ChatRequest(
            model=inputs.target.facts.id,
            outgoing=Outgoing(messages=messages),
            without=tuple(filter(is_ours, inputs.repairs.without)),
            plan=replace(
                self.plan(inputs), fields=fields, headers={"x": "0"} if inputs.repairs.without_thinking else {}
            ),
            system=f"{inputs.compression.summary}|{system}" if inputs.compression else system,
            tools=inputs.tools,
            continuation=inputs.continuation,
        )

    def with_least_thinking(self, inputs: RequestInputs) -> RequestInputs | None:
        return replace(inputs, spec=replace(inputs.spec, asked=ThinkingLevel.NONE))

    def meter(self, inputs: RequestInputs) -> MeterReading:
        sent = sum(_size(message) for message in self.request(inputs).outgoing.messages) + len(inputs.draft)
        if inputs.compression is not None:
            sent += len(inputs.compression.summary)
        return MeterReading(
            effective=sent,
            raw=sent,
            limit=self.limit,
            reserved=0,
            trigger=self.limit,
            certainty=Certainty.ESTIMATED,
            parts={Part.USER: sent},
        )

    def learn(self, inputs: RequestInputs, usage: Usage) -> None:
        self.learned.append(usage)

    def resume(self, inputs: RequestInputs) -> None:
        self.resumed.append(inputs)

    def nearest(self, spec: ModelSpec) -> tuple[str, ...]:
        return ("fake/n", "fake/o")

    def cost(self, target: Target, usage: Usage) -> float | None:
        return None


class FakeCompressor(Compressor):
    """Compresses all turns but the last; the view's summary is the model's answer."""

    def __init__(self) -> None:
        """It needs no planner."""

    def prepare(
        self, inputs: RequestInputs, writer: Target, instruction: str, *, fits: bool = True
    ) -> PendingCompression | None:
        finished = [
            turn
            for turn in inputs.turns[:-1]
            if inputs.compression is None or turn.id not in inputs.compression.compressed_turns
        ]
        if not finished:
            return None
        prompt = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text=f"Summarise. {instruction}".strip()),))
        request = ChatRequest(model=writer.facts.id, outgoing=Outgoing(messages=(prompt,)), plan=PLAN)
        return PendingCompression(request=request, turns=len(finished), before=0, plan=tuple(finished))

    def preview(self, inputs: RequestInputs, writer: Target) -> CompressionPreview | None:
        return None

    def smaller(self, pending: PendingCompression) -> PendingCompression | None:
        left = pending.plan[1:] if isinstance(pending.plan, tuple) else ()
        return replace(pending, plan=left, turns=len(left)) if left else None

    def apply(self, inputs: RequestInputs, pending: PendingCompression, answer: Message) -> CompressionView:
        summary = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
        if summary == "useless":
            raise PonderError("The summary was not smaller.")
        turns = pending.plan if isinstance(pending.plan, tuple) else ()
        earlier = inputs.compression.compressed_turns if inputs.compression else frozenset()
        folded = earlier | {t.id for t in turns if isinstance(t, Turn)}
        return CompressionView(summary=summary, compressed_turns=folded, previous=inputs.compression)

    def cut_results(self, inputs: RequestInputs, *, newest_first: bool) -> CompressionView | None:
        return None


def _size(message: Message | OutgoingMessage) -> int:
    size = 0
    for block in message.blocks:
        if isinstance(block, TextBlock):
            size += len(block.text)
        if isinstance(block, ToolResultBlock):
            size += sum(len(part.text) for part in block.content if isinstance(part, TextBlock))
    return size
