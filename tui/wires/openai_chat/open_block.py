"""Which block of a Chat Completions answer is open: one of text, refusal or thinking at a time, calls beside it."""

from __future__ import annotations

from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockStarted,
    ImageData,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ThinkingForm


class OpenBlock:
    """Opens, continues and closes blocks; the format itself only says deltas."""

    def __init__(self) -> None:
        self._blocks = 0
        self._open: BlockKind | None = None
        self._at = 0
        self._wire_field = ""
        self._first_thinking: int | None = None
        self._last_text: int | None = None

    def _next_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _think(self, piece: str, field: str, events: list[StreamEvent], form: ThinkingForm | None = None) -> None:
        if not piece:
            return
        if self._open != "thinking":
            self._open_thinking(field, events, form)
        events.append(ThinkingDelta(self._at, piece))

    def _open_thinking(self, field: str, events: list[StreamEvent], form: ThinkingForm | None = None) -> None:
        self._close(events)
        self._at, self._open, self._wire_field = self._next_block(), "thinking", field
        if self._first_thinking is None:
            self._first_thinking = self._at
        events.append(BlockStarted(self._at, "thinking", form=form, wire_field=field))

    def _write(self, kind: BlockKind, piece: str, events: list[StreamEvent]) -> None:
        if not piece:
            return
        if self._open != kind:
            self._close(events)
            self._at, self._open = self._next_block(), kind
            self._last_text = self._at
            events.append(BlockStarted(self._at, kind))
        events.append(TextDelta(self._at, piece))

    def _picture(self, url: str, events: list[StreamEvent]) -> None:
        """A whole image, inline or by address."""
        self._close(events)
        head, found, data = url.partition(";base64,")
        inline = bool(found) and head.startswith("data:")
        block = self._next_block()
        events.append(BlockStarted(block, "image", head.removeprefix("data:") if inline else None))
        events.append(ImageData(block, data if inline else None, None if inline else url))
        events.append(BlockFinished(block))

    def _close(self, events: list[StreamEvent]) -> None:
        if self._open is not None:
            events.append(BlockFinished(self._at))
            self._open = None
