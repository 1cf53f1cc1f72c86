"""Builds the engine's summary requests with the context package: the model to ask, the turns to send, the new view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.catalog.facts import Target
from tui.context import compress
from tui.context.estimate import text_tokens
from tui.domain.blocks import TextBlock
from tui.domain.compression import CompressionPreview, CompressionView
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Turn
from tui.domain.request import ChatRequest
from tui.engine.planner import Planner
from tui.engine.request_inputs import RequestInputs

SHARE_FOR_READING = 0.6
"""Share of the summariser's window. The rest is for its answer, its thinking and estimation errors."""
LEAST_TO_READ = 500
"""A portion with fewer tokens is not worth a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCompression:
    """A compression before its summary is written: the request, and how many turns the summary replaces."""

    request: ChatRequest
    turns: int
    before: int
    """Effective tokens before the compression."""
    in_place: bool = False
    """Whether the request is the conversation itself with an instruction at its end, so that it reads the cache."""
    plan: object
    """Private data of the compressor, passed back to it with the summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """What a pending compression was made from."""

    made: compress.CompressionPlan
    inputs: RequestInputs
    writer: Target
    instruction: str
    limit: int | None


class Compressor:
    """Compresses finished turns by the rules of the context package."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    def prepare(
        self, inputs: RequestInputs, writer: Target, instruction: str, *, fits: bool = True
    ) -> PendingCompression | None:
        """The summary request for ``writer``; None if nothing can be compressed.

        ``fits`` says whether the conversation with an instruction at its end fits into the window.
        """
        made = self._plan(inputs)
        if made is None:
            return None
        window = writer.facts.context_window
        limit = None if window is None else int(window * SHARE_FOR_READING)
        notes = _Notes(made=made, inputs=inputs, writer=writer, instruction=instruction, limit=limit)
        apart = self._pending(notes)
        return self._in_place(notes, apart) if fits and self._is_cheaper_in_place(notes, apart) else apart

    def apart(self, pending: PendingCompression) -> PendingCompression:
        """The same compression with the conversation as data in a request of its own."""
        return self._pending(_notes(pending))

    def preview(self, inputs: RequestInputs, writer: Target) -> CompressionPreview | None:
        """What compressing now would save; None if nothing can be compressed."""
        made = self._plan(inputs)
        if made is None:
            return None
        name = f"{writer.provider.id}/{writer.facts.id}"
        return compress.preview(made, inputs.turns, self._planner.meter(inputs), name)

    def smaller(self, pending: PendingCompression) -> PendingCompression | None:
        """The same compression with half as many turns to read."""
        notes = _notes(pending)
        if pending.in_place:
            return self.apart(pending)
        limit = min(notes.made.compressed_tokens, notes.limit or notes.made.compressed_tokens) // 2
        return self._pending(replace(notes, limit=limit)) if limit >= LEAST_TO_READ else None

    def apply(self, inputs: RequestInputs, pending: PendingCompression, answer: Message) -> CompressionView:
        """The view with the summary; raises CompressionError if the summary is unusable."""
        summary = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
        view = compress.apply(_notes(pending).made, summary, answer.stop, family=inputs.target.facts.tokenizer)
        return replace(view, finished=_finished(inputs.turns))

    def cut_results(self, inputs: RequestInputs, *, newest_first: bool) -> CompressionView | None:
        """The view with large tool results cut; None if no result is large."""
        reading = self._planner.meter(inputs)
        over = reading.effective - reading.trigger if reading.trigger is not None else 0
        view = compress.shorten_results(
            inputs.turns,
            inputs.compression,
            need=max(over, reading.effective // 4),
            newest_first=newest_first,
            family=inputs.target.facts.tokenizer,
        )
        return None if view is None else replace(view, finished=_finished(inputs.turns))

    def _plan(self, inputs: RequestInputs) -> compress.CompressionPlan | None:
        return compress.plan(
            inputs.turns,
            self._planner.request(inputs).outgoing,
            self._planner.meter(inputs),
            keep_turns=inputs.settings.keep_turns,
            earlier=inputs.compression,
            family=inputs.target.facts.tokenizer,
        )

    def _pending(self, notes: _Notes) -> PendingCompression:
        outgoing = compress.prompt(
            notes.made,
            notes.inputs.turns,
            self._planner.request(notes.inputs).outgoing,
            instruction=notes.instruction,
            limit=notes.limit,
            family=notes.inputs.target.facts.tokenizer,
        )
        plan = self._planner.quiet_plan(notes.writer)
        request = ChatRequest(
            model=notes.writer.facts.id,
            outgoing=outgoing,
            plan=plan,
            system=compress.SYSTEM,
            max_output=plan.max_output,
            num_ctx=notes.inputs.settings.context_limit or notes.writer.facts.context_window,
            extra_body=notes.writer.provider.extra_body,
        )
        return PendingCompression(request=request, turns=len(notes.made.turns), before=notes.made.before, plan=notes)

    def _is_cheaper_in_place(self, notes: _Notes, apart: PendingCompression) -> bool:
        """Whether reading the conversation from the prompt cache costs less than sending its older part as data.

        In place the thinking level must stay as it is, because changing it makes the cache useless at some providers.
        """
        inputs = notes.inputs
        if notes.writer != inputs.target:
            return False
        from tui.context.usual_turn import typical_thinking  # loaded with the first compression

        request = self._planner.request(inputs)
        reading, rates = self._planner.meter(inputs), self._planner.rates(inputs.target)
        cached = min(self._planner.cached_tokens(inputs, request), reading.effective)
        if not cached or not {"input", "cache_read", "output"} <= rates.keys():
            return False
        size = reading.effective
        written = rates.get("cache_write_1h" if request.cache_ttl == "1h" else "cache_write", rates["input"])
        thinking = typical_thinking(request.plan.level) if request.plan.thinks else 0
        in_place = cached * rates["cache_read"].at(size) + (size - cached) * written.at(size)
        in_place += thinking * rates["output"].at(size)
        read = round(_size(apart.request, inputs.target.facts.tokenizer) * reading.scale)
        return in_place < read * rates["input"].at(read)

    def _in_place(self, notes: _Notes, apart: PendingCompression) -> PendingCompression:
        inputs = notes.inputs
        closing = compress.closing_instruction(notes.made, inputs.turns, instruction=notes.instruction)
        asked = replace(inputs, draft="", arriving=None, repairs=replace(inputs.repairs, nudge=closing))
        return replace(apart, request=self._planner.request(asked), in_place=True)


def _size(request: ChatRequest, tokenizer: str) -> int:
    blocks = (block for message in request.outgoing.messages for block in message.blocks)
    return sum(text_tokens(block.text, tokenizer) for block in blocks if isinstance(block, TextBlock))


def _finished(turns: Sequence[Turn]) -> frozenset[str]:
    return frozenset(turn.id for turn in turns if not turn.open)


def _notes(pending: PendingCompression) -> _Notes:
    if not isinstance(pending.plan, _Notes):
        raise AssertionError("this compression was prepared by another compressor")
    return pending.plan
