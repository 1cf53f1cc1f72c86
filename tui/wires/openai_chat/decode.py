"""The Chat Completions wire, the way back, with all its dialects: what differs between servers is in the quirks.

The way out is spelled in ``chat_encode``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.quirks import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    Finish,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    UsageReported,
)
from tui.wires.errors.body import ErrorParts, error_parts
from tui.wires.errors.classify import refused, reported_error
from tui.wires.json_text import MAX_DEPTH, NotJSON, loads
from tui.wires.openai_chat.encode import encode
from tui.wires.openai_chat.finish import chat_stop, failed_finish
from tui.wires.openai_chat.message import ChatMessage
from tui.wires.openai_chat.usage import inclusive_usage, usage_in
from tui.wires.read import Json, child, children, text
from tui.wires.wire import Encoded, Frame, Framing, Reply

# decoder state

NOTHING: tuple[StreamEvent, ...] = ()


class ChatDecoder:
    """One response: choice 0, whatever the dialect."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._message = ChatMessage(quirks)
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
            event = self._message.next_piece(delta) if usual else None
        except (LookupError, TypeError, AttributeError):
            event = None
        return (event,) if event is not None else self._on_chunk(chunk, frame[0])

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
        choices = children(chunk, "choices")
        usage = usage_in(chunk, choices)
        failure = None
        if chunk.get("error") or name == "error" or not chunk.get("choices"):
            failure = self._error(chunk, name)
        if failure is not None and usage is None:
            raise failure
        events: list[StreamEvent] = []
        if not self._running and (chunk.get("model") or chunk.get("choices")):
            self._running = True
            events.append(ResponseStarted(text(chunk, "model") or None, text(chunk, "id") or None))
        if failure is not None and usage is not None:
            # OpenRouter bills the answer in the chunk that says it failed; the failure is raised with the next frame.
            self._failure, self.usage_raw = failure, usage
            return [*events, UsageReported(inclusive_usage(usage))]
        for choice in choices:
            if choice.get("index") in (None, 0, "0"):
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

    def _error(self, chunk: Json, name: str) -> ProviderError | None:
        parts = error_parts(chunk)
        if parts is None and name == "error":
            parts = error_parts({"error": dict(chunk)})
        if parts is None:
            return None
        fault = reported_error(parts)
        fault.finish_raw = next((text(choice, "finish_reason") for choice in children(chunk, "choices")), "") or None
        self.complete = self.complete or fault.finish_raw is not None
        return fault

    def _on_choice(self, choice: Json, events: list[StreamEvent]) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict) and not (self._whole and isinstance(message, dict)):
            self._message.take(delta, events)
        elif isinstance(message, dict) and not self._message.begun:
            # A stream may end with the whole message again; it only counts where nothing came before it.
            self._message.take(message, events, whole=True)
        if child(choice, "error") and (failure := self._error(choice, "")) is not None:
            raise failure
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

    def _end(self) -> Sequence[StreamEvent]:
        """Everything that waited for the end: held-back text, the seal, the calls, the stop."""
        self._ended, self._running = True, False
        events: list[StreamEvent] = []
        message = self._message
        message.end_blocks(events)
        stop = chat_stop(self._finish_raw, self._detail, called=message.called, refused=message.refused)
        message.end_calls(events, cut=stop.finish is Finish.LENGTH)
        events.append(ResponseFinished(stop))
        return events


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
