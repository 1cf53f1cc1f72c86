"""Joins the responses of a continued answer: numbers blocks consecutively and merges blocks that were split."""

from __future__ import annotations

from dataclasses import replace

from tui.domain.assemble import Assembler
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockStarted,
    ModelLoading,
    PromptRead,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    UsageReported,
)
from tui.domain.usage import Usage

_JOINABLE: tuple[BlockKind, ...] = ("text", "thinking")


class Continuation:
    """Renumbers the events of the current response so that they follow those of the earlier responses."""

    def __init__(self) -> None:
        self._hop = 0
        self._offset = 0
        self._highest = -1
        self._last_kind: BlockKind | None = None
        self._reported: list[Usage] = []

    def next(self, assembler: Assembler) -> None:
        """Begin the next response."""
        blocks = assembler.blocks()
        last = blocks[-1] if blocks else None
        if isinstance(last, TextBlock | ThinkingBlock) and last.provider_state is not None:
            self._last_kind = None
        self._hop += 1
        self._offset = self._highest + 1
        if assembler.usage is not None:
            self._reported.append(assembler.usage)

    def placed(self, event: StreamEvent) -> StreamEvent | None:
        """The renumbered event; None if it adds nothing."""
        if isinstance(event, ResponseStarted):
            return event if self._hop == 0 else None
        if isinstance(event, UsageReported | ProviderRemark | ModelLoading | PromptRead | ResponseFinished):
            return event
        if self._hop and event.index == 0 and isinstance(event, BlockStarted) and self._continues(event.kind):
            self._offset -= 1
            return None
        placed = replace(event, index=event.index + self._offset) if self._offset else event
        if isinstance(placed, BlockStarted):
            self._highest = max(self._highest, placed.index)
            self._last_kind = placed.kind
        elif not isinstance(placed, BlockFinished):
            self._highest = max(self._highest, placed.index)
        return placed

    def usage(self, last: Usage | None) -> Usage | None:
        """Usage of all responses: input of the first, output of all."""
        if not self._reported or last is None:
            return last
        first, outputs = self._reported[0], [*self._reported, last]
        output = _sum([usage.output for usage in outputs])
        return Usage(
            input=first.input,
            cache_read=first.cache_read,
            cache_write=first.cache_write,
            output=output,
            thinking=_sum([usage.thinking for usage in outputs]),
            total=None if first.input is None or output is None else first.input + output,
            searches=sum(usage.searches or 0 for usage in outputs) or None,
        )

    def _continues(self, kind: BlockKind) -> bool:
        return kind in _JOINABLE and kind == self._last_kind


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
