"""Ollama's own wire, /api/chat, the way back: lines or one whole object to events, refusals to errors.

The way out is spelled in ``ollama_encode``.
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
    BlockFinished,
    BlockKind,
    BlockStarted,
    Finish,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.wires.errors.body import error_parts
from tui.wires.errors.classify import refused, reported_error
from tui.wires.json_text import NotJSON, dumps, loads
from tui.wires.ollama.encode import encode
from tui.wires.read import Json, child, children, maybe_text, text, whole
from tui.wires.wire import Encoded, Frame, Framing, Reply

NOTHING: tuple[StreamEvent, ...] = ()

# decoder state

FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH, "load": Finish.OTHER, "unload": Finish.OTHER}
"""``load`` and ``unload`` end an answer that was none: the model was only put into memory, or out of it."""


class OllamaDecoder:
    """One response: a block lasts as long as its field keeps coming."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._started = False
        self._open: BlockKind | None = None
        self._at = -1
        """Index of the newest block."""
        self._called_tools = False
        self._bad_frame: NotJSON | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Events of one line."""
        line: Any = None
        try:
            line = orjson.loads(frame[1])
            # Nearly every line is one more piece of the open block, so little stands between the JSON and the event.
            message = line["message"]
            if line["done"] is False and "error" not in line:
                if self._open == "text":
                    piece = message["content"]
                    if len(message) == 2 and piece and piece.__class__ is str:
                        return (TextDelta(self._at, piece),)
                elif self._open == "thinking" and len(message) == 3 and not message["content"]:
                    piece = message["thinking"]
                    if piece and piece.__class__ is str:
                        return (ThinkingDelta(self._at, piece),)
        except orjson.JSONDecodeError:
            return self._on_odd_frame(frame)
        except (LookupError, TypeError):
            pass  # looked at again, with more care
        return self._on_line(line) if isinstance(line, dict) and not self.complete else NOTHING

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """What the fast reader refuses, read tolerantly; no JSON at all is remembered."""
        try:
            line = loads(frame[1])
        except NotJSON as fault:
            self._bad_frame = self._bad_frame or fault
            return NOTHING
        return self._on_line(line) if isinstance(line, dict) and not self.complete else NOTHING

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Events of an unstreamed answer: one line, so to speak."""
        line = loads(body)
        if isinstance(line, dict) and line.get("error"):
            self._on_error(line)
        if not isinstance(line, dict) or not ("message" in line or line.get("done")):
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server's answer is not a chat message")
        events = list(self._on_line(line))
        if not self.complete:
            raise ProviderError(ErrorKind.TRUNCATED, "The answer is not marked as done")
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """End of bytes; the line marked done must have come before."""
        if self.complete:
            return NOTHING
        if self._bad_frame is not None:
            raise self._bad_frame
        raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the answer was done")

    # one per field

    def _on_line(self, line: Json) -> Sequence[StreamEvent]:
        if line.get("error"):
            self._on_error(line)
        events: list[StreamEvent] = []
        if not self._started:
            self._started = True
            events.append(ResponseStarted(maybe_text(line, "model"), None))
        message = child(line, "message")
        if thinking := text(message, "thinking"):
            events += self._on_thinking(thinking)
        if content := text(message, "content"):
            events += self._on_content(content)
        for call in children(message, "tool_calls"):
            events += self._on_call(call)
        if line.get("done") is True:
            events += self._on_done(line)
        return events

    def _on_thinking(self, piece: str) -> Sequence[StreamEvent]:
        events = self._turn_to("thinking")
        events.append(ThinkingDelta(self._at, piece))
        return events

    def _on_content(self, piece: str) -> Sequence[StreamEvent]:
        events = self._turn_to("text")
        events.append(TextDelta(self._at, piece))
        return events

    def _on_call(self, call: Json) -> Sequence[StreamEvent]:
        """Calls come whole; without an id the assembler gives them one."""
        events = self._close()
        function = child(call, "function")
        self._at += 1
        index = self._at
        self._called_tools = True
        given_id = maybe_text(call, "id") or None
        arguments = function.get("arguments")
        events.append(BlockStarted(index, "tool_call", name=text(function, "name"), call_id=given_id))
        if arguments is not None:
            events.append(ToolArgsDelta(index, arguments if isinstance(arguments, str) else dumps(arguments)))
        events.append(BlockFinished(index))
        return events

    def _on_done(self, line: Json) -> Sequence[StreamEvent]:
        events = self._close()
        counts = {key: line[key] for key in line if key.endswith(("_count", "_duration"))}
        if counts:
            self.usage_raw = counts
            events.append(UsageReported(_usage(line)))
        raw = maybe_text(line, "done_reason")
        finish = FINISHES.get(raw or "stop", Finish.OTHER)
        if finish is Finish.STOP and self._called_tools:
            finish = Finish.TOOL_USE
        self.complete = True
        events.append(ResponseFinished(Stop(finish, raw)))
        return events

    def _on_error(self, line: Json) -> None:
        parts = error_parts(line)
        if parts is not None:
            raise reported_error(parts)
        raise ProviderError(ErrorKind.SERVER, "The server reported an error without saying which")

    # parts of lines

    def _turn_to(self, kind: BlockKind) -> list[StreamEvent]:
        """Open a block of that kind, unless it is the open one."""
        if self._open == kind:
            return []
        events = self._close()
        self._open = kind
        form = ThinkingForm.FULL if kind == "thinking" else None
        self._at += 1
        events.append(BlockStarted(self._at, kind, form=form))
        return events

    def _close(self) -> list[StreamEvent]:
        if self._open is None:
            return []
        self._open = None
        return [BlockFinished(self._at)]


def _usage(line: Json) -> Usage:
    """``prompt_eval_count`` holds what the cache gave, too; it is left out where all of the prompt was cached."""
    sent, output = whole(line, "prompt_eval_count"), whole(line, "eval_count")
    return Usage(
        input=sent,
        cache_read=whole(line, "prompt_eval_cached_count"),
        output=output,
        total=None if sent is None or output is None else sent + output,
    )


# refusal


class OllamaChat:
    """POST /api/chat."""

    @property
    def name(self) -> WireName:
        """Its name."""
        return WireName.OLLAMA

    @property
    def framing(self) -> Framing:
        """A JSON object per line."""
        return "ndjson"

    def encode(self, request: ChatRequest, quirks: Quirks) -> Encoded:
        """Spell a request."""
        return encode(request, quirks)

    def decoder(self, quirks: Quirks) -> OllamaDecoder:
        """A decoder for one response."""
        return OllamaDecoder(quirks)

    def refusal(self, reply: Reply) -> ProviderError:
        """What an HTTP error means."""
        return refused(reply)


# the exported value

OLLAMA = OllamaChat()
