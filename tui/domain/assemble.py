"""Assemble stream events into blocks. No other code accumulates a response.

Malformed streams are accepted: a delta without a start opens its block, a second finish is ignored, and an
unfinished block is marked partial. A lone surrogate becomes U+FFFD. A surrogate pair split over two deltas is
kept, because deltas are joined before the text is encoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import assert_never

from tui.domain.blocks import Block, ImageBlock, OpaqueBlock, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockNamed,
    BlockStarted,
    CitationsReceived,
    ImageData,
    ModelLoading,
    PromptRead,
    ProviderRemark,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    SearchReported,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import WebSearch, placed

PART = 64 * 1024
"""Characters that are encoded at once: for megabytes at once, no other thread could run."""


def whole_text(pieces: list[str]) -> str:
    """Join pieces. Surrogate pairs split between pieces become characters, lone surrogates U+FFFD."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        for part in _parts(text):
            part.encode()
    except UnicodeEncodeError:
        return "".join(part.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for part in _parts(text))
    return text


def _parts(text: str) -> Iterator[str]:
    """Cut a text into parts, not behind a high surrogate."""
    start = 0
    while start < len(text):
        end = start + PART
        while end < len(text) and "\ud800" <= text[end - 1] <= "\udbff":
            end += 1
        yield text[start:end]
        start = end


MOST_PIECES, SHORT = 256, 256
"""So many pieces are joined if they have fewer characters than this on average: a piece of a few letters takes several
times their memory. Longer ones are shared with the screen."""


@dataclass(slots=True)
class _Open:
    """A block being built."""

    kind: BlockKind
    name: str | None = None
    call_id: str | None = None
    form: ThinkingForm | None = None
    wire_field: str | None = None
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    """Total length of the pieces in characters."""
    joined: int = 0
    """Number of pieces that are not joined any more, and their total length."""
    joined_size: int = 0
    provider_state: ProviderState | None = None
    image: ImageData | None = None
    search: WebSearch | None = None
    citations: CitationsReceived | None = None
    finished: bool = False

    def add(self, text: str) -> None:
        """Append text to the block."""
        self.pieces.append(text)
        self.size += len(text)
        loose = len(self.pieces) - self.joined
        if loose >= MOST_PIECES:
            if self.size - self.joined_size < MOST_PIECES * SHORT:
                self.join(self.joined)
            self.joined, self.joined_size = len(self.pieces), self.size

    def join(self, start: int = 0) -> None:
        """Join the pieces from this one on, so that a long answer is not in memory twice."""
        self.pieces[start:] = ["".join(self.pieces[start:])]
        self.joined, self.joined_size = start + 1, self.size


class Assembler:
    """Collects the events of one response. The blocks can be read at any time."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self.model: str | None = None
        self.response_id: str | None = None
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self.remarks: list[ProviderRemark] = []

    def feed(self, event: StreamEvent) -> None:
        """Process one event."""
        match event:
            case TextDelta(index, text):
                self._block(index, "text").add(text)
            case ThinkingDelta(index, text):
                self._block(index, "thinking").add(text)
            case ToolArgsDelta(index, text):
                self._block(index, "tool_call").add(text)
            case ThinkingBreak(index):
                block = self._block(index, "thinking")
                if block.pieces:
                    block.add("\n\n")
            case _:
                self._feed_structure(event)

    def _feed_structure(self, event: StreamEvent) -> None:
        match event:
            case BlockStarted(index, kind, name, call_id, form, source):
                self._open.setdefault(index, _Open(kind, name, call_id, form, source))
            case BlockNamed(index, name, call_id):
                block = self._block(index, "tool_call")
                block.name = name if name is not None else block.name
                block.call_id = call_id if call_id is not None else block.call_id
            case ImageData(index):
                self._block(index, "image").image = event
            case ProviderStateReceived(index, provider_state):
                self._block(index, "thinking").provider_state = provider_state
            case SearchReported(index, search):
                self._block(index, "search").search = search
            case CitationsReceived(index):
                self._block(index, "text").citations = event
            case BlockFinished(index, form):
                if index in self._open:
                    self._open[index].finished = True
                    self._open[index].form = form or self._open[index].form
            case _:
                self._feed_response(event)

    def _feed_response(self, event: StreamEvent) -> None:
        match event:
            case ResponseStarted(model, response_id, restarted):
                self.model, self.response_id = model, response_id
                if restarted:
                    self._open.clear()
            case UsageReported(usage):
                self.usage = usage
            case ProviderRemark():
                self.remarks.append(event)
            case ResponseFinished(stop):
                self.stop = stop
            case ModelLoading() | PromptRead():
                pass
            case (
                TextDelta()
                | ThinkingDelta()
                | ToolArgsDelta()
                | ThinkingBreak()
                | BlockStarted()
                | BlockNamed()
                | ImageData()
                | ProviderStateReceived()
                | SearchReported()
                | CitationsReceived()
                | BlockFinished()
            ):
                raise AssertionError("handled above")
            case _:
                assert_never(event)

    def _block(self, index: int, kind: BlockKind) -> _Open:
        block = self._open.get(index)
        if block is None:
            block = self._open[index] = _Open(kind)
        return block

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks so far in opening order. Unfinished blocks are marked partial."""
        for block in self._open.values():
            block.join()
        return tuple(_closed(block, index, whole_text(block.pieces)) for index, block in self._open.items())

    def excerpts(self, size: int) -> dict[int, Block]:
        """Return the blocks so far by stream index, each cut to ``size`` characters. Long text is not joined."""
        return {
            index: _closed(block, index, whole_text([piece[:size] for piece in block.pieces[:size]])[:size])
            for index, block in self._open.items()
        }

    def text_after(self, index: int, at: int) -> tuple[str, int]:
        """Return a block's text from offset ``at`` and its end offset. Only the new pieces are read."""
        block = self._open[index]
        pieces: list[str] = []
        missing = block.size - at
        for piece in reversed(block.pieces):
            if missing <= 0:
                break
            pieces.append(piece if len(piece) <= missing else piece[len(piece) - missing :])
            missing -= len(piece)
        text = "".join(reversed(pieces))
        if not block.finished and "\ud800" <= text[-1:] <= "\udbff":
            text = text[:-1]  # the low surrogate arrives with the next delta
        return whole_text([text]), at + len(text)


def _closed(block: _Open, index: int, text: str) -> Block:
    partial = not block.finished
    match block.kind:
        case "text" | "refusal":
            cited = block.citations
            return TextBlock(
                text=text,
                provider_state=block.provider_state,
                refusal=block.kind == "refusal",
                partial=partial,
                citations=placed(text, cited.citations, in_bytes=cited.in_bytes) if cited is not None else (),
            )
        case "thinking":
            form = block.form or ThinkingForm.FULL if text else ThinkingForm.HIDDEN
            return ThinkingBlock(
                text=text, form=form, wire_field=block.wire_field, provider_state=block.provider_state, partial=partial
            )
        case "tool_call":
            return ToolCallBlock(
                call_id=block.call_id or f"call_{index}",
                name=block.name or "",
                arguments=text,
                provider_state=block.provider_state,
                partial=partial,
            )
        case "image":
            image = block.image
            return ImageBlock(
                media_type=block.name or "image/png",
                data=image.data if image else None,
                url=image.url if image else None,
                provider_state=block.provider_state,
            )
        case "opaque" | "search":
            raw = block.provider_state.raw if block.provider_state else None
            return OpaqueBlock(label=block.name or "unknown", raw=raw or "{}", search=block.search)
        case _:
            assert_never(block.kind)


class RepeatedText:
    """Compares the text of an attempt with that of the one before it."""

    def __init__(self) -> None:
        self.text = ""
        """All text so far."""
        self._expected = ""
        """The part of it that the new attempt has not sent again yet."""

    @property
    def is_repeating(self) -> bool:
        """Whether the attempt still repeats a part of the one before it."""
        return bool(self._expected)

    def begin_again(self) -> None:
        """A new attempt begins."""
        self._expected = self.text

    def take(self, text: str) -> tuple[str, bool]:
        """The new text, and whether the attempt differs from the one before: then all of its text is new."""
        if not self._expected:
            self.text += text
            return text, False
        common = min(len(text), len(self._expected))
        if text[:common] == self._expected[:common]:
            self._expected = self._expected[common:]
            self.text += text[common:]
            return text[common:], False
        again = self.text[: len(self.text) - len(self._expected)] + text
        self.text, self._expected = again, ""
        return again, True
