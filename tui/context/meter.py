"""The token meter: the size of the next request, of the stored history, and of the parts of both.

``tally`` counts a selection whenever it changes. ``reading`` runs on every keystroke and counts only the draft.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from tui.catalog.facts import ModelFacts, ThinkingCounted
from tui.context.calibration import (
    SHORT_OPENING,
    Anchor,
    Calibration,
    ThinkingSizes,
    calibration_key,
    thinking_verdict,
    tools_verdict,
)
from tui.context.estimate import (
    block_tokens,
    family_named,
    server_tools_tokens,
    text_tokens,
    tools_tokens,
    uncached_text_tokens,
)
from tui.context.legality import is_unknown_result
from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import Outgoing, OutgoingMessage, Reason, ServerTool, ToolSchema, Verdict
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Certainty, MeterReading, Part

COMPRESS_AT = 0.85
FRAMED_CALLS = 500
"""Reported output below which an answer with tool calls is estimated: servers count tokens around calls (about 50 for
GPT-5) that are not sent back."""
LARGEST_SCALE = 1.3
"""A reported count above this multiple of the estimate includes a hidden prompt, shown as part of the system prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The token counts of a selection: plain estimates by part, before calibration."""

    key: str
    """Key of the model's calibration."""
    family: str
    parts: Mapping[Part, int] = field(default_factory=dict)
    behind: int = 0
    """Stored tokens that are not sent, thinking and everything else."""
    uncounted: int = 0
    """Thinking in ``behind`` that is sent, but that the server does not count."""
    pictures: int = 0
    """Tokens of images in the estimate. How a server counts images is unknown."""
    tools: bool = False
    """Whether there are tool definitions."""
    thinking: ThinkingSizes = field(default_factory=dict)
    """Tokens of the thinking that is sent, under each assumption about what the server counts."""
    answers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """(estimate, reported) of answers by the id of the preceding message. Answers without a report are absent."""
    last: str | None = None
    """Id of the last stored message that is sent."""

    @property
    def estimate(self) -> int:
        """Plain estimate of the next request without the draft."""
        return sum(count for part, count in self.parts.items() if part is not Part.THINKING_STRIPPED)

    @property
    def conversation(self) -> int:
        """Plain estimate without system prompt and tools."""
        return self.estimate - sum(self.parts.get(part, 0) for part in (Part.SYSTEM, Part.PROJECT, Part.TOOLS))

    def anchor(self, reported: int) -> Anchor:
        """Return the anchor for the next request, from the reported count of this one."""
        others = self.estimate - self.parts.get(Part.THINKING_SENT, 0)
        return Anchor(estimate=self.estimate, reported=reported, last=self.last, thinking=self.thinking, others=others)

    def with_answer(self, anchor: Anchor, *, followed: bool) -> Anchor:
        """Return the anchor plus the reported output of the answer, if that answer is sent back.

        If a message follows, the answer has a frame that its reported output does not include.
        """
        found = self.answers.get(anchor.last) if anchor.last is not None else None
        if found is None:
            return anchor
        estimate, reported = found
        if followed:
            reported += round(family_named(self.family).per_message)
        return replace(anchor, estimate=anchor.estimate + estimate, reported=anchor.reported + reported)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingAnswer:
    """Tokens of an arriving answer that are not in the excerpt that represents it."""

    message_id: str
    text: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the arguments of tool calls, by call id."""


def with_arriving(counted: Tally, outgoing: Outgoing, arriving: ArrivingAnswer) -> Tally:
    """Return the tally of a selection with an excerpt, corrected to the whole answer."""
    excerpt = next((sent for sent in reversed(outgoing.messages) if sent.source_id == arriving.message_id), None)
    if excerpt is None:
        return counted
    calls = [block.call_id for block in excerpt.blocks if isinstance(block, ToolCallBlock)]
    more = arriving.text if any(isinstance(block, TextBlock) for block in excerpt.blocks) else 0
    more += sum(arriving.calls.get(call, 0) for call in calls)
    return replace(counted, parts={**counted.parts, Part.ANSWERS: counted.parts.get(Part.ANSWERS, 0) + more})


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """The context window and the part of it that is reserved."""

    limit: int | None = None
    """None uses the model's window."""
    reserved: int | None = None
    """None reserves a quarter of the window, or the model's output limit if that is less."""
    compress_at: float = COMPRESS_AT


def tally(  # noqa: PLR0913 - parts of one request, keyword-only but the first three
    outgoing: Outgoing,
    turns: Sequence[Turn],
    facts: ModelFacts,
    *,
    system: str = "",
    tools: Sequence[ToolSchema] = (),
    server_tools: Sequence[ServerTool] = (),
    thinks: bool = False,
) -> Tally:
    """Count a selection and what it omits. ``thinks`` says whether thinking is enabled."""
    counter = _Counter(facts, turns)
    parts: dict[Part, int] = {part: 0 for part in Part if part not in (Part.DRAFT, Part.RESERVED, Part.PROJECT)}
    family = family_named(facts.tokenizer)
    base = family.base + (family.thinking_base if thinks else 0)
    parts[Part.SYSTEM] = round(base) + text_tokens(system, facts.tokenizer)
    parts[Part.TOOLS] = tools_tokens(tools, facts.tokenizer) + server_tools_tokens(server_tools, facts.tokenizer)
    for message in _without_awaited_results(outgoing.messages, turns):
        if message is outgoing.messages[-1] and message.source_id is None and message.role is Role.USER:
            continue  # a filler in place of the draft
        for part, count in counter.message(message):
            parts[part] += count
    thinking, other = counter.left_behind(outgoing)
    uncounted = counter.uncounted_thinking(outgoing)
    parts[Part.THINKING_STRIPPED] = thinking + uncounted
    stored = [message for message in outgoing.messages if message.source_id is not None]
    return Tally(
        key=calibration_key(facts.provider, facts.id),
        family=facts.tokenizer,
        parts=parts,
        behind=thinking + uncounted + other,
        uncounted=uncounted,
        pictures=sum(_picture_tokens(message.blocks, facts.tokenizer) for message in outgoing.messages),
        tools=bool(tools),
        thinking=counter.thinking_sizes(outgoing),
        answers=counter.answers(stored, outgoing),
        last=stored[-1].source_id if stored else None,
    )


def _without_awaited_results(messages: Sequence[OutgoingMessage], turns: Sequence[Turn]) -> Sequence[OutgoingMessage]:
    """Leave out what stands for the results of calls that still run: the next request will have the real ones."""
    if not (turns and turns[-1].open and messages and messages[-1].role is Role.TOOL):
        return messages
    known = tuple(block for block in messages[-1].blocks if not is_unknown_result(block))
    return [*messages[:-1], *([replace(messages[-1], blocks=known)] if known else [])]


def with_project_apart(counted: Tally, project: str) -> Tally:
    """The tally with a part of its system prompt counted separately."""
    parts = dict(counted.parts)
    parts[Part.PROJECT] = min(parts[Part.SYSTEM], text_tokens(project, counted.family))
    parts[Part.SYSTEM] -= parts[Part.PROJECT]
    return replace(counted, parts=parts)


def _picture_tokens(blocks: Sequence[Block], family: str) -> int:
    inside = sum(_picture_tokens(block.content, family) for block in blocks if isinstance(block, ToolResultBlock))
    return inside + sum(
        block_tokens(block, family) for block in blocks if isinstance(block, ImageBlock | DocumentBlock)
    )


def block_sizes(
    outgoing: Outgoing, turns: Sequence[Turn], facts: ModelFacts, *, scale: float = 1.0
) -> dict[tuple[str, int], int]:
    """Return the tokens of each stored block by message id and index. ``scale`` is that of the reading."""
    counter = _Counter(facts, turns)
    carried = {sent.source_id: counter.thinking_in_call_signatures(sent) for sent in outgoing.messages}
    sizes = {}
    for message in counter.stored.values():
        hidden = carried.get(message.id, 0)
        for position, block in enumerate(message.blocks):
            size = counter.stored_size(block, message)
            if hidden and _is_signed(block):
                size, hidden = size + hidden, 0
            sizes[message.id, position] = round(size * scale)
    return sizes


def _is_signed(block: Block) -> bool:
    return (
        isinstance(block, TextBlock | ToolCallBlock)
        and block.provider_state is not None
        and bool(block.provider_state.signature)
    )


class _Counter:
    """Estimates messages, using the reported counts of stored ones."""

    def __init__(self, facts: ModelFacts, turns: Sequence[Turn]) -> None:
        self.facts = facts
        self.family = family_named(facts.tokenizer)
        self.stored: dict[str, Message] = {message.id: message for turn in turns for message in turn.messages}
        self.in_tool_turn = {
            message.id
            for turn in turns
            if any(isinstance(block, ToolCallBlock) for message in turn.messages for block in message.blocks)
            for message in turn.messages
        }

    def message(self, message: OutgoingMessage) -> list[tuple[Part, int]]:
        """Return the tokens that a message adds, by part."""
        own = Part.ANSWERS if message.role is Role.ASSISTANT else Part.USER
        found = [(own, 0 if message.joined else round(self.family.per_message))]
        for block in message.blocks:
            if isinstance(block, ThinkingBlock):
                found.append((Part.THINKING_SENT, self.thinking(block, message)))
            else:
                part = Part.TOOL_RESULTS if isinstance(block, ToolResultBlock) else own
                found.append((part, block_tokens(block, self.facts.tokenizer)))
        found.append((Part.THINKING_SENT, self.thinking_in_call_signatures(message)))
        return found

    def thinking(self, block: ThinkingBlock, message: OutgoingMessage) -> int:
        """Return the tokens that the server counts for a thinking block that is sent."""
        return self.size(block, self.stored.get(message.source_id or "")) if self._counts(message) else 0

    def thinking_sizes(self, outgoing: Outgoing) -> ThinkingSizes:
        """Return the tokens of all sent thinking, under each assumption about what the server counts."""
        sizes = dict.fromkeys(ThinkingCounted, 0)
        for message in outgoing.messages:
            source = self.stored.get(message.source_id or "")
            size = sum(self.size(block, source) for block in message.blocks if isinstance(block, ThinkingBlock))
            size += self._sent_state(message)
            for rule in sizes if size else ():
                sizes[rule] += size if self._counts(message, rule) else 0
        return sizes

    def answers(self, stored: Sequence[OutgoingMessage], outgoing: Outgoing) -> dict[str, tuple[int, int]]:
        """Return estimate and reported count of each answer, by the id of the preceding message."""
        verdicts: dict[str, list[Verdict]] = {}
        for verdict in outgoing.verdicts:
            verdicts.setdefault(verdict.message_id, []).append(verdict)
        found = {}
        for before, sent in itertools.pairwise(stored):
            if sent.role is Role.ASSISTANT and before.source_id is not None:
                reported = self.reported(sent, verdicts.get(sent.source_id or "", ()))
                if reported is not None:
                    found[before.source_id] = (sum(count for _, count in self.message(sent)), reported)
        return found

    def size(self, block: ThinkingBlock, message: Message | None) -> int:
        """Return the length of the thinking: as reported, else by its text. Provider state says nothing about it."""
        if block.tokens is not None:
            return block.tokens
        reported = message.usage.thinking if message is not None and message.usage is not None else None
        if reported is None or block.form is ThinkingForm.FULL or message is None:
            return text_tokens(block.text, self.facts.tokenizer)
        siblings = sum(isinstance(other, ThinkingBlock) for other in message.blocks)
        return -(-reported // max(1, siblings))

    def _counts(self, message: OutgoingMessage, rule: ThinkingCounted | None = None) -> bool:
        match rule or self.facts.counted:
            case ThinkingCounted.ALL:
                return True
            case ThinkingCounted.OPEN_TURN:
                return message.in_open_loop
            case ThinkingCounted.TOOL_TURNS:
                return message.source_id in self.in_tool_turn
            case ThinkingCounted.NONE:
                return False

    def thinking_in_call_signatures(self, message: OutgoingMessage) -> int:
        """Return the thinking that is only in the signature of another block (Gemini), if the server counts it."""
        return self._sent_state(message) if self._counts(message) else 0

    def _sent_state(self, message: OutgoingMessage) -> int:
        if any(isinstance(block, ThinkingBlock) for block in message.blocks):
            return 0
        source = self.stored.get(message.source_id or "")
        if source is None or source.usage is None or not any(_is_signed(block) for block in message.blocks):
            return 0
        return source.usage.thinking or 0

    def reported(self, sent: OutgoingMessage, verdicts: Sequence[Verdict]) -> int | None:
        """Return the reported tokens of what is sent back of an answer; None if not reported."""
        message = self.stored.get(sent.source_id or "")
        usage = message.usage if message is not None else None
        if message is None or message.interrupted or usage is None or usage.output is None:
            return None
        thinking = [verdict.sent for verdict in verdicts if verdict.kind == "thinking"]
        if not all(verdict.sent for verdict in verdicts if verdict.kind != "thinking"):
            return None
        if usage.output < FRAMED_CALLS and any(isinstance(block, ToolCallBlock) for block in message.blocks):
            return None
        if self._counts(sent) and (all(thinking) if thinking else self._sent_state(sent)):
            return usage.output
        if any(thinking) and not all(thinking):
            return None
        known = usage.thinking if usage.thinking is not None else None if thinking else 0
        return None if known is None else usage.output - known

    def left_behind(self, outgoing: Outgoing) -> tuple[int, int]:
        """Return (thinking, everything else) in tokens that is stored but not sent."""
        thinking = other = 0
        for verdict in outgoing.verdicts:
            if verdict.sent:
                continue
            message = self.stored.get(verdict.message_id)
            if message is None:
                continue
            block = message.blocks[verdict.block]
            if isinstance(block, ThinkingBlock):
                thinking += self.size(block, message)
            elif verdict.reason is not Reason.UNSUPPORTED_INPUT or not isinstance(block, ImageBlock | DocumentBlock):
                other += self.stored_size(block, message)
        return thinking, other

    def uncounted_thinking(self, outgoing: Outgoing) -> int:
        """Return the tokens of thinking that is sent, but that the server does not count."""
        return sum(
            self.size(block, self.stored.get(sent.source_id or ""))
            for sent in outgoing.messages
            if not self._counts(sent)
            for block in sent.blocks
            if isinstance(block, ThinkingBlock)
        )

    def stored_size(self, block: Block, message: Message) -> int:
        """Return the tokens of a stored block, sent or not."""
        if isinstance(block, ThinkingBlock):
            return self.size(block, message)
        return block_tokens(block, self.facts.tokenizer)


def reading_of(
    counted: Tally,
    facts: ModelFacts,
    *,
    draft: str = "",
    room: WindowLimits | None = None,
    calibration: Calibration | None = None,
    anchor: Anchor | None = None,
) -> MeterReading:
    """Return the meter: the tally plus the draft, calibrated. The running time depends only on the draft."""
    room = room or WindowLimits()
    learned = calibration or Calibration()
    anchor = None if anchor is None else counted.with_answer(anchor, followed=bool(draft))
    per_message = round(family_named(counted.family).per_message)
    drafted = uncached_text_tokens(draft, counted.family) + per_message if draft else 0
    plain = counted.estimate + drafted
    effective = learned.predict(counted.key, plain, anchor, tools=counted.tools)
    hidden = _hidden(effective, plain, learned.of(counted.key).base(tools=counted.tools))
    scale = (effective - hidden) / plain if plain else 1.0
    reported = anchor is not None and not drafted and anchor.estimate == counted.estimate
    limit = _smaller(room.limit, facts.context_window)
    reserved = reserved_tokens(facts, limit, room)
    parts = _shared_out({**counted.parts, Part.DRAFT: drafted}, effective - hidden, scale)
    parts[Part.SYSTEM] += hidden
    parts[Part.RESERVED] = reserved
    return MeterReading(
        effective=effective,
        raw=effective + round(counted.behind * scale),
        limit=limit,
        reserved=reserved,
        trigger=None if limit is None else max(0, int((limit - reserved) * room.compress_at)),
        certainty=Certainty.REPORTED if reported else Certainty.ESTIMATED,
        parts=parts,
        scale=scale,
        uncounted=round(counted.uncounted * scale),
    )


def _hidden(effective: int, plain: int, base: int) -> int:
    """Return the tokens that the server adds: the learned base, or what no plausible slope explains."""
    return min(max(0, base, round(effective - plain * LARGEST_SCALE)), effective)


def reserved_tokens(facts: ModelFacts, limit: int | None, room: WindowLimits) -> int:
    """Return the tokens reserved for the answer."""
    if room.reserved is not None:
        return room.reserved
    quarter = limit // 4 if limit is not None else None
    return _smaller(quarter, facts.max_output) or 0


def _smaller(one: int | None, other: int | None) -> int | None:
    known = [number for number in (one, other) if number is not None]
    return min(known) if known else None


def _shared_out(parts: Mapping[Part, int], effective: int, scale: float) -> dict[Part, int]:
    """Return calibrated parts that add up to exactly the effective count."""
    shared = {part: round(count * scale) for part, count in parts.items()}
    sent = [part for part in shared if part is not Part.THINKING_STRIPPED]
    largest = max(sent, key=lambda part: shared[part])
    shared[largest] += effective - sum(shared[part] for part in sent)
    return shared


def updated_calibration(
    calibration: Calibration, counted: Tally, reported: int, before: Anchor | None, declared: ThinkingCounted
) -> Calibration:
    """Return the calibration updated with the reported count of a request.

    ``before`` is the anchor of the previous request, ``declared`` the catalogue's rule for counted thinking.
    """
    if before is None:
        verdict_on_tools = tools_verdict(counted.estimate, counted.parts.get(Part.TOOLS, 0), reported)
        if verdict_on_tools is not None:
            calibration = calibration.with_tools_verdict(counted.key, counted=verdict_on_tools)
            if not calibration.of(counted.key).counts_tools:
                return calibration
        if counted.pictures or counted.conversation > SHORT_OPENING:
            return calibration
        return calibration.with_opening(counted.key, counted.estimate, reported, tools=counted.tools)
    now = counted.anchor(reported)
    verdict = thinking_verdict(before, now)
    if verdict is not None:
        calibration = calibration.with_thinking_verdict(counted.key, verdict)
    if counted.pictures:
        return calibration
    since = counted.with_answer(before, followed=True)
    if since is before:
        rule = calibration.counted_thinking(counted.key, declared)
        since = replace(before, estimate=before.others + before.thinking.get(rule, 0))
        now = replace(now, estimate=now.others + now.thinking.get(rule, 0))
    return calibration.with_step(counted.key, now.estimate - since.estimate, reported - since.reported)
