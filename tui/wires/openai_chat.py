"""The Chat Completions wire, the way back, with all its dialects: what differs between servers is in the quirks.

The way out is spelled in ``chat_encode``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.quirks import Quirks
from tui.domain.blocks import Seal
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    BlockSealed,
    Finish,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.wires.chat_blocks import OpenBlock
from tui.wires.chat_encode import encode
from tui.wires.chat_finish import chat_stop, failed_finish
from tui.wires.chat_tool_calls import ToolCalls
from tui.wires.chat_usage import inclusive_usage, usage_in
from tui.wires.classify import refused, reported_error
from tui.wires.error_body import ErrorParts, error_parts
from tui.wires.json_text import MAX_DEPTH, NotJSON, loads
from tui.wires.read import Json, child, children, text
from tui.wires.reasoning_details import ReasoningDetails, is_summary
from tui.wires.think_tags import ThinkTags
from tui.wires.wire import Encoded, Frame, Framing, Reply

# decoder state

RARE = frozenset({"function_call", "reasoning_opaque", "refusal", "images"})
"""Delta fields the fast path does not read."""
NOTHING: tuple[StreamEvent, ...] = ()
SEALED_EARLY = 64
"""Blocks up to which thinking is sealed as soon as it is over; beyond, once at the end, or time would be quadratic."""


class ChatDecoder(OpenBlock):
    """One response: choice 0, whatever the dialect."""

    def __init__(self, quirks: Quirks) -> None:
        super().__init__()
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._fields = quirks.thinking_in
        self._read_details = quirks.details_in
        self._tags = ThinkTags(quirks.think_tags)
        self._tagged = not self._tags.done
        self._structured = False
        self._signature = ""
        self._opaque = ""
        self._sealed: Seal | None = None
        self._refused = False
        self._details = ReasoningDetails()
        self._calls = ToolCalls(self._next_block)
        self._running = False
        """From the first chunk to the end."""
        self._finish_raw: str | None = None
        self._detail: str | None = None
        self._ended = False
        self._whole = False
        """The body is one JSON object: its message counts, not the delta some servers put beside it."""
        self._bad_frame: NotJSON | None = None
        self._failure: ProviderError | None = None
        """The finish reason was a failure; raised with the next frame, so that its own frame's words are not lost."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Events of one frame."""
        data = frame[1]
        try:
            chunk: Any = orjson.loads(data) if len(data) < MAX_DEPTH else loads(data)
        except (orjson.JSONDecodeError, NotJSON):
            return self._on_odd_frame(frame)
        # Nearly every frame is one more piece of the open block, so little stands between the JSON and the event.
        try:
            choices = chunk["choices"]
            choice = choices[0]
            delta = choice["delta"]
            usual = (
                self._running
                and len(choices) == 1
                and "usage" not in choice
                and not (choice.get("finish_reason") or choice.get("index"))
                and not (chunk.get("usage") or chunk.get("error"))
            )
            event = self._next_piece(delta) if usual else None
        except (LookupError, TypeError, AttributeError):
            event = None
        return (event,) if event is not None else self._on_chunk(chunk, frame[0])

    def _next_piece(self, delta: Json) -> StreamEvent | None:
        """The delta's one event, where it only continues what is open; None leaves it to the thorough way."""
        content = delta.get("content")
        known = self._wire_field
        if ("content" in delta) + (known in delta) + ("role" in delta) == len(delta):
            piece = delta.get(known)
            if content:
                if self._open == "text" and not piece and content.__class__ is str and not self._tagged:
                    return TextDelta(self._at, content)
            elif piece.__class__ is str and piece and self._open == "thinking":
                return ThinkingDelta(self._at, piece)
            return None
        return self._next_piece_among_more(delta, content)

    def _next_piece_among_more(self, delta: Json, content: object) -> StreamEvent | None:
        """The same where a delta has other fields too, most of them null."""
        if not RARE.isdisjoint(delta) and any(map(delta.get, RARE)):
            return None
        piece = None
        for field in self._fields:
            piece = delta.get(field)
            if piece:
                break
        details = delta.get("reasoning_details")
        if calls := delta.get("tool_calls"):
            alone = not (piece or content or details or self._open or self._tagged)
            return self._calls.next_piece(calls) if alone else None
        if piece:
            if piece.__class__ is str and not content and self._open == "thinking" and field == self._wire_field:
                if details and self._read_details:
                    self._details.add(details)
                return ThinkingDelta(self._at, piece)
        elif content.__class__ is str and content and self._open == "text" and not (self._tagged or details):
            return TextDelta(self._at, content)
        return None

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Events of a whole, unstreamed body."""
        value = loads(body)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        parts = error_parts(value)
        if not isinstance(value, dict) or not isinstance(value.get("choices"), list) or not value["choices"]:
            if parts is not None:
                raise reported_error(parts)
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server's answer has no choices in it")
        self._whole = True
        events = list(self._on_chunk(value, ""))
        self.complete = True
        events += self.finish()
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """End of bytes."""
        if self._ended:
            return NOTHING
        if fault := self._failure or self._bad_frame:
            raise fault
        if not self.complete:
            why = "The answer broke off: the server closed the stream without saying why"
            raise ProviderError(ErrorKind.TRUNCATED, why, advice="Try again; what arrived is kept.")
        return self._end()

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """The end marker, JSON that orjson is too strict for, or no JSON at all."""
        data = frame[1].strip()
        if data == b"[DONE]":
            self.complete = True
            self._bad_frame = None
            return self.finish()
        if not data or self._ended:
            return NOTHING
        try:
            return self._on_chunk(loads(data), frame[0])
        except NotJSON as fault:
            if frame[0] == "error":
                raise reported_error(ErrorParts(message=data[:8000].decode("utf-8", "replace"))) from None
            self._bad_frame = self._bad_frame or fault
            return NOTHING

    def _on_chunk(self, chunk: object, name: str) -> Sequence[StreamEvent]:
        if not isinstance(chunk, dict) or self._ended:
            return NOTHING
        self._nothing_more()
        if chunk.get("error") or name == "error" or not chunk.get("choices"):
            self._on_error(chunk, name)
        events: list[StreamEvent] = []
        if not self._running and (chunk.get("model") or chunk.get("choices")):
            self._running = True
            events.append(ResponseStarted(text(chunk, "model") or None, text(chunk, "id") or None))
        choices = children(chunk, "choices")
        usage = usage_in(chunk, choices)
        for choice in choices:
            if not choice.get("index"):
                self._on_choice(choice, events)
                break
        if usage is not None:
            self.usage_raw = usage
            events.append(UsageReported(inclusive_usage(usage)))
        return events or self._nothing_more()

    def _nothing_more(self) -> Sequence[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        return NOTHING

    def _on_error(self, chunk: Json, name: str) -> None:
        parts = error_parts(chunk)
        if parts is None and name == "error":
            parts = error_parts({"error": dict(chunk)})
        if parts is not None:
            fault = reported_error(parts)
            fault.finish_raw = (
                next((text(choice, "finish_reason") for choice in children(chunk, "choices")), "") or None
            )
            self.complete = self.complete or fault.finish_raw is not None
            raise fault

    def _on_choice(self, choice: Json, events: list[StreamEvent]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict) and not (self._whole and isinstance(message, dict)):
            self._on_delta(delta, events)
        elif isinstance(message, dict) and not self._blocks:
            # A stream may end with the whole message again; it only counts where nothing came before it.
            self._on_delta(message, events, whole=True)
        if child(choice, "error"):
            self._on_error(choice, "")
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._on_finish_reason(reason, choice)

    def _on_finish_reason(self, reason: str, choice: Json) -> None:
        self.complete = True
        self._failure = self._failure or failed_finish(reason, choice)
        self._bad_frame = None
        if self._finish_raw is None or reason in ("tool_calls", "function_call"):
            self._finish_raw = reason
            self._detail = text(choice, "native_finish_reason") or None

    def _on_delta(self, delta: Json, events: list[StreamEvent], *, whole: bool = False) -> None:
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
        """Thinking has a field of its own: tags in the text only repeat it, and text without a tag is the answer."""
        self._structured = True
        self._tags.forced = False

    def _on_rich(self, delta: Json, events: list[StreamEvent], *, whole: bool) -> None:
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
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
        for image in children(delta, "images"):
            self._flush_tags(events)
            self._picture(text(image, "image_url", "url"), events)

    def _on_content_list(self, chunks: list[object], events: list[StreamEvent]) -> None:
        """Mistral's parts. References and whatever else is not text stay out of the text."""
        for chunk in chunks:
            kind = text(chunk, "type")
            if kind == "text":
                self._on_text(text(chunk, "text"), events)
            elif kind == "thinking":
                inner = child(chunk).get("thinking")
                said = inner if isinstance(inner, str) else "".join(text(part, "text") for part in children(inner))
                self._on_structured()
                self._think(said, "content_chunks", events)
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

    def _end(self) -> Sequence[StreamEvent]:
        """Everything that waited for the end: held-back text, the seal, the calls, the stop."""
        self._ended, self._running = True, False
        events: list[StreamEvent] = []
        self._flush_tags(events)
        if self._first_thinking is None and self._seal() is not None:
            self._open_thinking("reasoning_text" if self._opaque else "reasoning_details", events)
        self._close(events)
        self._seal_thinking(events)
        stop = chat_stop(self._finish_raw, self._detail, called=bool(self._calls), refused=self._refused)
        self._calls.finish(events, cut=stop.finish is Finish.LENGTH)
        events.append(ResponseFinished(stop))
        return events

    def _close(self, events: list[StreamEvent]) -> None:
        """A thinking block is sealed as soon as it is over, so that an answer cut later still can go back."""
        if self._open == "thinking" and self._blocks <= SEALED_EARLY:
            self._seal_thinking(events)
        super()._close(events)

    def _seal_thinking(self, events: list[StreamEvent]) -> None:
        seal = self._seal()
        if seal is not None and seal != self._sealed and self._first_thinking is not None:
            self._sealed = seal
            events.append(BlockSealed(self._first_thinking, seal))

    def _seal(self) -> Seal | None:
        """One thinking block carries the whole state of the response: it goes back as one."""
        if not (self._details or self._opaque or self._signature):
            return None
        return Seal(
            signature=self._signature or None,
            encrypted=self._opaque or None,
            raw=self._details.raw() if self._details else None,
        )


# refusal and the exported value


class ChatWire:
    """Chat Completions, inventor's and everybody else's."""

    @property
    def name(self) -> WireName:
        """Its name."""
        return WireName.OPENAI_CHAT

    @property
    def framing(self) -> Framing:
        """How its streams are framed."""
        return "sse"

    def encode(self, request: ChatRequest, quirks: Quirks) -> Encoded:
        """Spell a request."""
        return encode(request, quirks)

    def decoder(self, quirks: Quirks) -> ChatDecoder:
        """A decoder for one response."""
        return ChatDecoder(quirks)

    def refusal(self, reply: Reply) -> ProviderError:
        """What an HTTP error means."""
        return refused(reply)


CHAT = ChatWire()
