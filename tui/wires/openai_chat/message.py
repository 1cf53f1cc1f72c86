"""Events for the message of a Chat Completions response, in any dialect.

``decode`` handles chunks, choices, errors and the end of the stream.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tui.catalog.facts import Quirks
from tui.domain.blocks import ProviderState
from tui.domain.stream import (
    BlockFinished,
    BlockKind,
    BlockStarted,
    CitationsReceived,
    ImageData,
    ProviderStateReceived,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.wires.json_text import Json, child, children, dumps, text
from tui.wires.openai_chat.reasoning_details import ReasoningDetails, is_summary
from tui.wires.openai_chat.tool_calls import OF_MESSAGE, STATE_KEYS, ToolCalls
from tui.wires.openai_chat.web_search import AnswerSources

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|channel>thought": "<channel|>",
}
"""Opening and closing tags of several model families."""
FENCE = "```"
LONGEST_LEAD = 256
"""Most white space held back before the first word, so that an answer of white space is not held forever."""

_OPENERS = tuple(TAGS)
_OPENER_OR_FENCE = (*TAGS, FENCE)
_FIND_OPENER_OR_FENCE = re.compile("|".join(re.escape(mark) for mark in _OPENER_OR_FENCE))
_CLOSERS = tuple(TAGS.values())
LONGEST_MARK = max(map(len, (*_OPENERS, *_CLOSERS))) - 1
"""Most characters of a tag that can be held back."""
_FIND_CLOSER = re.compile("|".join(re.escape(mark) for mark in _CLOSERS))


class TextPiece(NamedTuple):
    """A piece of text, and whether it is thinking."""

    thinking: bool
    text: str


class ThinkTags:
    """Splits the text of one answer. ``done`` means that no more tags are searched: the rest is text."""

    def __init__(self, mode: str) -> None:
        self.done = mode == "never"
        self._always = mode == "always"
        self.forced = mode == "forced_open"
        """The prompt contains the opening tag, so text without one is thinking. Read until the first word decides."""
        self._undecided = mode in ("auto", "forced_open")
        self._closer: str | None = None
        self._thinking = False
        self._fenced = False
        self._held = ""
        self._read = 0
        """Characters of ``_held`` already returned; they are removed once per feed, so that many tags stay cheap."""

    def feed(self, text: str) -> list[TextPiece]:
        """Add text and return the pieces that are certain."""
        if self.done:
            return [TextPiece(thinking=False, text=text)] if text else []
        self._held += text
        pieces: list[TextPiece] = []
        if self._undecided and not self._decide():
            return pieces
        while self._step(pieces):
            pass
        self._held, self._read = self._held[self._read :], 0
        return pieces

    def finish(self) -> list[TextPiece]:
        """Return the held text, which was not a tag. It is thinking if a tag is still open."""
        held, self._held = self._held, ""
        thinking = self._thinking or (self._undecided and self.forced)
        self.done = True
        return [TextPiece(thinking=thinking, text=held)] if held else []

    def _decide(self) -> bool:
        """Check the first characters for an opening tag; False if more text is needed."""
        lead = self._held.lstrip()
        blanks = len(self._held) - len(lead)
        opener = next((tag for tag in _OPENERS if lead.startswith(tag)), None)
        if opener is not None:
            self._held = lead[len(opener) :]
            self._closer, self._thinking = TAGS[opener], True
        elif blanks <= LONGEST_LEAD and any(tag.startswith(lead) for tag in _OPENERS):
            return False
        elif self.forced:
            self._thinking = True
        else:
            self.done = True
        self._undecided = False
        return True

    def _step(self, pieces: list[TextPiece]) -> bool:
        """Process the text up to the next tag; False if more text is needed."""
        if self.done:
            self._emit(pieces, len(self._held))
            return False
        return self._step_in_thinking(pieces) if self._thinking else self._step_in_text(pieces)

    def _step_in_thinking(self, pieces: list[TextPiece]) -> bool:
        closer = self._closer
        if closer is not None:
            start = self._held.find(closer, self._read)
            end = start + len(closer)
            marks: tuple[str, ...] = (closer,)
        else:
            found = _FIND_CLOSER.search(self._held, self._read)
            start, end = found.span() if found else (-1, -1)
            marks = _CLOSERS
        if start < 0:
            self._emit_certain(pieces, marks)
            return False
        self._emit(pieces, start)
        self._read = end
        self._thinking, self._closer = False, None
        self.done = not self._always
        return True

    def _step_in_text(self, pieces: list[TextPiece]) -> bool:
        found = _FIND_OPENER_OR_FENCE.search(self._held, self._read)
        if found is None:
            self._emit_certain(pieces, _OPENER_OR_FENCE)
            return False
        mark = found.group()
        if mark == FENCE or self._fenced:
            self._fenced ^= mark == FENCE
            self._emit(pieces, found.end())
        else:
            self._emit(pieces, found.start())
            self._thinking, self._closer = True, TAGS[mark]
        self._read = found.end()
        return True

    def _emit(self, pieces: list[TextPiece], end: int) -> None:
        if end > self._read:
            pieces.append(TextPiece(thinking=self._thinking, text=self._held[self._read : end]))
            self._read = end

    def _emit_certain(self, pieces: list[TextPiece], marks: tuple[str, ...]) -> None:
        """Return all text except an end that may be the start of a tag."""
        self._emit(pieces, len(self._held) - _beginning_at_end(self._held[self._read :][-LONGEST_MARK:], marks))


def _beginning_at_end(text: str, marks: tuple[str, ...]) -> int:
    """Return the length of the longest end of ``text`` that is the start of one of ``marks``."""
    for length in range(len(text), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0


class BlockWriter:
    """Opens, continues and closes blocks, because the format itself has deltas only."""

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
        """Add an image, given as a data URL or as an address."""
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


RARE = frozenset({"annotations", "function_call", "reasoning_opaque", "refusal", "images", *STATE_KEYS})
"""Delta fields that the fast path does not read."""
SHAPES_KEPT = 64
"""Delta shapes stored for the fast path. With more shapes, decoding is slower but correct."""
BLOCKS_WITH_OWN_STATE = 64
"""Up to this many blocks, the state of thinking is sent when it ends; beyond, once at the end, in linear time."""


Shape = tuple[tuple[str, ...], bool, bool, tuple[str, ...]]
"""Of a delta: its thinking fields, whether it has details, whether it has calls, its rare fields."""


class ChatMessage(BlockWriter):
    """The message of one response while it is received."""

    def __init__(self, quirks: Quirks) -> None:
        super().__init__()
        self.refused = False
        self._fields = quirks.thinking_in
        self._read_details = quirks.details_in
        self._tags = ThinkTags(quirks.think_tags)
        self._tagged = not self._tags.done
        self._structured = False
        self._signature = ""
        self._opaque = ""
        self._sent_state: ProviderState | None = None
        self._state: dict[str, object] = {}
        """Opaque fields of the message itself (Google's compatible endpoint signs the message)."""
        self._details = ReasoningDetails()
        self._calls = ToolCalls(self._next_block)
        self.sources = AnswerSources()
        self._shapes: dict[tuple[str, ...], Shape] = {}

    @property
    def called(self) -> bool:
        """Whether the message has tool calls."""
        return bool(self._calls)

    @property
    def begun(self) -> bool:
        """Whether the message has a block."""
        return self._blocks > 0

    def next_piece(self, delta: Json) -> StreamEvent | None:
        """Fast path: return the event of a delta that only continues the open block; None for any other delta.

        The decode benchmark measures this path.
        """
        content = delta.get("content")
        known = self._wire_field
        if len(delta) > 3 or ("content" in delta) + (known in delta) + ("role" in delta) < len(delta):
            return self._next_with_more_fields(delta, content)
        piece = delta.get(known)
        if content:
            if self._open == "text" and not piece and content.__class__ is str and not self._tagged:
                return TextDelta(self._at, content)
        elif piece.__class__ is str and piece and self._open == "thinking":
            return ThinkingDelta(self._at, piece)
        return None

    def _next_with_more_fields(self, delta: Json, content: object) -> StreamEvent | None:
        """Fast path for deltas with more fields, most of them null."""
        thoughts, detailed, calling, rare = self._shapes.get(tuple(delta)) or self._shape_of(delta)
        if rare and any(map(delta.get, rare)):
            return None
        details = delta["reasoning_details"] if detailed else None
        if calling and delta["tool_calls"]:
            thinking_or_content = self._open or content or details or self._tagged or any(map(delta.get, thoughts))
            return None if thinking_or_content else self._calls.next_piece(delta["tool_calls"])
        for key in thoughts:
            if piece := delta[key]:
                if piece.__class__ is not str or content or self._open != "thinking" or key != self._wire_field:
                    return None
                if details and self._read_details:
                    self._details.add(details)
                return ThinkingDelta(self._at, piece)
        usual = content.__class__ is str and content and self._open == "text" and not (self._tagged or details)
        return TextDelta(self._at, content) if usual else None  # type: ignore[arg-type]  # usual says it is a str

    def _shape_of(self, delta: Json) -> Shape:
        """Return which fields a delta has, stored by its keys: nearly all deltas of a stream have the same keys."""
        thoughts = tuple(field for field in self._fields if field in delta)
        shape = (thoughts, "reasoning_details" in delta, "tool_calls" in delta, tuple(RARE.intersection(delta)))
        if len(self._shapes) < SHAPES_KEPT:
            self._shapes[tuple(delta)] = shape
        return shape

    def take(self, delta: Json, events: list[StreamEvent], *, whole: bool = False) -> None:
        """Add the events of one delta, or of a ``whole`` message."""
        details = delta.get("reasoning_details") if self._read_details else None
        form = ThinkingForm.SUMMARY if any(map(is_summary, children(delta, "reasoning_details"))) else None
        fresh = self._details.add(details)
        if not self._on_thinking_fields(delta, form, events):
            if fresh:
                self._on_structured()
                self._think(fresh, "reasoning_details", events, form)
            elif details and not self._blocks:
                self._open_thinking("reasoning_details", events)
        opaque = delta.get("reasoning_opaque")
        if isinstance(opaque, str):
            self._opaque += opaque
        content = delta.get("content")
        if content.__class__ is str and content:
            self._on_text(content, events)
        elif isinstance(content, list):
            self._on_content_list(content, events)
        elif isinstance(content, dict):
            self._on_content_list([content], events)
        if delta.get("tool_calls") or not RARE.isdisjoint(delta):
            self._on_rich(delta, events, whole=whole)

    def _on_thinking_fields(self, delta: Json, form: ThinkingForm | None, events: list[StreamEvent]) -> bool:
        for field in self._fields:
            piece = delta.get(field)
            if piece and isinstance(piece, str):
                self._on_structured()
                self._think(piece, field, events, form)
                return True
        return False

    def _on_structured(self) -> None:
        """Note that thinking comes in its own field: thinking in tags is then a repetition, and the text the answer."""
        self._structured = True
        self._tags.forced = False

    def _on_rich(self, delta: Json, events: list[StreamEvent], *, whole: bool) -> None:
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self.refused = True
            self._flush_tags(events)
            self._write("refusal", refusal, events)
        calls = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if not calls and isinstance(legacy, dict) and legacy:
            calls = [{"index": 0, "function": legacy}]
        if isinstance(calls, list) and calls:
            self._flush_tags(events)
            self._close(events)
            (self._calls.on_whole if whole else self._calls.on_deltas)(calls, events)
        self._state.update({key: delta[key] for key in STATE_KEYS if delta.get(key)})
        self.sources.annotated(children(delta, "annotations"))
        for image in children(delta, "images"):
            self._flush_tags(events)
            self._picture(text(image, "image_url", "url"), events)

    def _on_content_list(self, chunks: list[object], events: list[StreamEvent]) -> None:
        """Handle Mistral's content parts. References and other parts without text are ignored."""
        for chunk in chunks:
            kind = text(chunk, "type")
            if kind == "text":
                self._on_text(text(chunk, "text"), events)
            elif kind == "thinking":
                inner = child(chunk).get("thinking")
                thinking = inner if isinstance(inner, str) else "".join(text(part, "text") for part in children(inner))
                self._on_structured()
                self._think(thinking, "content_chunks", events)
                self._signature = text(chunk, "signature") or self._signature

    def _on_text(self, content: str, events: list[StreamEvent]) -> None:
        if not self._tagged:
            self._write("text", content, events)
            return
        for thinking, piece in self._tags.feed(content):
            self._on_piece(piece, events, thinking=thinking)
        self._tagged = not self._tags.done

    def _on_piece(self, piece: str, events: list[StreamEvent], *, thinking: bool) -> None:
        if not thinking:
            self._write("text", piece, events)
        elif not self._structured:
            self._think(piece, "think_tags", events)

    def _flush_tags(self, events: list[StreamEvent]) -> None:
        if self._tagged:
            for thinking, piece in self._tags.finish():
                self._on_piece(piece, events, thinking=thinking)
            self._tagged = False

    def end_blocks(self, events: list[StreamEvent]) -> None:
        """Add the events held until the end: text and the provider state."""
        self._flush_tags(events)
        if self._first_thinking is None and self._provider_state() is not None:
            self._open_thinking("reasoning_text" if self._opaque else "reasoning_details", events)
        self._close(events)
        self._add_thinking_state(events)
        if self._state and self._last_text is not None:
            events.append(ProviderStateReceived(self._last_text, ProviderState(raw=dumps({OF_MESSAGE: self._state}))))
        if self._last_text is not None and (cited := self.sources.citations):
            events.append(CitationsReceived(self._last_text, cited))

    def end_calls(self, events: list[StreamEvent], *, cut: bool) -> None:
        """Finish the calls; if the output limit ``cut`` the response, the last call stays unfinished."""
        if self._state and self._last_text is None and self._calls:
            self._calls.add_message_state(self._state, events)
        self._calls.finish(events, cut=cut)

    def _close(self, events: list[StreamEvent]) -> None:
        """Close the open block. The state of its thinking comes now, so that it survives a response that is cut off."""
        if self._open == "thinking" and self._blocks <= BLOCKS_WITH_OWN_STATE:
            self._add_thinking_state(events)
        super()._close(events)

    def _add_thinking_state(self, events: list[StreamEvent]) -> None:
        provider_state = self._provider_state()
        if provider_state is not None and provider_state != self._sent_state and self._first_thinking is not None:
            self._sent_state = provider_state
            events.append(ProviderStateReceived(self._first_thinking, provider_state))

    def _provider_state(self) -> ProviderState | None:
        """Return the opaque state of the whole response; the first thinking block carries it."""
        if not (self._details or self._opaque or self._signature):
            return None
        return ProviderState(
            signature=self._signature or None,
            encrypted=self._opaque or None,
            raw=self._details.raw() if self._details else None,
        )
