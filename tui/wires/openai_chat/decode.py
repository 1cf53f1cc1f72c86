"""Decoding of Chat Completions responses. Differences between servers are described by the quirks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    Finish,
    PromptRead,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    UsageReported,
)
from tui.domain.usage import Usage
from tui.wires.errors.body import ErrorParts, error_frame, error_parts
from tui.wires.errors.classify import reported_error
from tui.wires.json_text import MAX_DEPTH, Json, NotJSON, child, children, dollars, loads, text, whole
from tui.wires.openai_chat.message import ChatMessage
from tui.wires.openai_chat.web_search import LISTS, charged_searches
from tui.wires.wire import Frame

LOG = logging.getLogger(__name__)
RARE = (*LISTS, "prompt_progress")
"""Keys beside the choices that are looked for in each chunk at once."""
CONTENT = ("content", "tool_calls", "function_call", "refusal", "images")
"""Delta fields that a finish reason should follow. Others, such as signatures, may come after it."""
FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "eos_token": Finish.STOP,
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "completed": Finish.STOP,
    "tool_calls": Finish.TOOL_USE,
    "tool_use": Finish.TOOL_USE,
    "function_call": Finish.TOOL_USE,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "max_output_tokens": Finish.LENGTH,
    "model_length": Finish.CONTEXT_FULL,
    "model_context_window_exceeded": Finish.CONTEXT_FULL,
    "content_filter": Finish.FILTER,
    "sensitive": Finish.FILTER,
    "refusal": Finish.REFUSAL,
    "malformed_function_call": Finish.MALFORMED_CALL,
}
FAILURES = {
    "error": ErrorKind.SERVER,
    "network_error": ErrorKind.SERVER,
    "aborted": ErrorKind.SERVER,
    "abort": ErrorKind.SERVER,
    "insufficient_system_resource": ErrorKind.OVERLOADED,
}
"""Finish reasons of a response that failed (OpenRouter, Mistral, Z.ai, DeepSeek, vLLM)."""


def failed_finish(reason: str, choice: Json) -> ProviderError | None:
    """Return the error that a finish reason means, or None for a normal end."""
    kind = FAILURES.get(reason.lower())
    if kind is None:
        return None
    parts = error_parts(choice)
    if parts is not None:
        fault = reported_error(parts)
        fault.finish_raw = reason
        return fault
    native = text(choice, "native_finish_reason")
    said = f"`{reason}`" + (f" ({native[:80]})" if native and native != reason else "")
    return ProviderError(kind, f"The provider broke off the answer: {said}", finish_raw=reason, advice="Try again.")


def chat_stop(raw: str | None, native: str | None, *, called: bool, refused: bool) -> Stop:
    """Return the stop. Many servers send ``stop`` after tool calls or a refusal, so those decide first."""
    finish = FINISHES.get(raw.lower(), Finish.OTHER) if raw is not None else Finish.STOP
    if finish is Finish.STOP:
        finish = Finish.TOOL_USE if called else Finish.REFUSAL if refused else finish
    return Stop(finish, raw, native if native != raw else None)


CACHE_READ = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("cache_read_input_tokens",),
)
CACHE_WRITE = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",))
THINKING = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))


def usage_in(chunk: Json, choices: Sequence[Json]) -> Json | None:
    """Return the usage object of a chunk, which may be in a choice (Moonshot) or in ``x_groq``; None without one."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and usage:
        return usage
    for choice in choices:
        if inner := child(choice, "usage"):
            return inner
    return child(chunk, "x_groq", "usage") or None


def inclusive_usage(usage: Json) -> Usage:
    """Return totals that include their parts.

    By OpenAI's definition ``completion_tokens`` includes thinking. If the numbers contradict that (more thinking than
    completion, or a total that fits only the sum of both), the thinking is added.
    """
    prompt, completion = whole(usage, "prompt_tokens"), whole(usage, "completion_tokens")
    total = whole(usage, "total_tokens")
    thinking = _first(usage, THINKING)
    cache_read, cache_write = _first(usage, CACHE_READ), _first(usage, CACHE_WRITE)
    if prompt is not None and cache_read is not None and cache_read > prompt:
        prompt += cache_read
    output = completion
    if completion is not None and thinking and _beside(thinking, completion, prompt, total):
        output = completion + thinking
    if prompt is not None and output is not None:
        total = prompt + output
    return Usage(
        input=prompt,
        cache_read=cache_read,
        cache_write=cache_write,
        output=output,
        thinking=thinking,
        total=total,
        searches=charged_searches(usage),
        cost=_cost(usage),
    )


def _beside(thinking: int, completion: int, prompt: int | None, total: int | None) -> bool:
    if thinking > completion:
        return True
    return prompt is not None and total == prompt + completion + thinking


def prompt_read(chunk: Json) -> Iterator[PromptRead]:
    """Yield how much of the prompt was read, without what the server had in its cache."""
    progress = child(chunk, "prompt_progress")
    total, cached, processed = (whole(progress, name) for name in ("total", "cache", "processed"))
    if total is not None and processed is not None and (new := total - (cached or 0)) > 0:
        yield PromptRead(round(min(1.0, max(0, processed - (cached or 0)) / new), 3))


def _first(usage: Json, paths: Sequence[tuple[str, ...]]) -> int | None:
    """Return the first count that is not zero among these paths, else 0 if one is zero, else None."""
    readings = [count for path in paths if (count := whole(usage, *path)) is not None]
    return next((count for count in readings if count), readings[0] if readings else None)


def _cost(usage: Json) -> float | None:
    cost = dollars(usage, "cost")
    return cost if cost is not None else dollars(usage, "cost", "total_cost")


LONGEST_EXCERPT = 80


def _late_remark(late: Sequence[Json]) -> Iterator[ProviderRemark]:
    """A remark about words that came after the end of the answer and are not part of it."""
    words = "".join(islice((text(delta, "content") for delta in late), LONGEST_EXCERPT)).strip()
    if words:
        excerpt = words if len(words) <= LONGEST_EXCERPT else f"{words[:LONGEST_EXCERPT]}…"
        yield ProviderRemark("late_content", f"The server sent more after the end of its answer, left out: “{excerpt}”")


NOTHING: tuple[StreamEvent, ...] = ()


class ChatDecoder:
    """Decodes choice 0 of one response."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._message = ChatMessage(quirks)
        self._running = False
        """True from the first chunk to the end."""
        self._unfinished = False
        """True from the first chunk to the first finish reason."""
        self._late: list[Json] = []
        """Content that came after a finish reason: used if another finish reason follows, else ignored."""
        self._finish_raw: str | None = None
        self._detail: str | None = None
        self._ended = False
        self._whole = False
        """The body is one JSON object: its ``message`` is read, not the ``delta`` that some servers add."""
        self._bad_frame: NotJSON | None = None
        self._failure: ProviderError | None = None
        """The finish reason was a failure; raised with the next frame, so that this frame's events are not lost."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one frame."""
        data = frame[1]
        try:
            chunk: Any = orjson.loads(data) if len(data) < MAX_DEPTH else loads(data)
        except (orjson.JSONDecodeError, NotJSON):
            return self._on_odd_frame(frame)
        # Fast path: nearly every frame is one more piece of the open block.
        try:
            choices = chunk["choices"]
            choice = choices[0]
            delta = choice["delta"]
            usual = (
                self._unfinished
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
        """Return the events of a response that was not streamed."""
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
        """Return the closing events; raises ProviderError if the response failed or was cut off."""
        if self._ended:
            return NOTHING
        if fault := self._failure or self._bad_frame:
            raise fault
        if not self.complete:
            why = "The answer broke off: the server closed the stream without a reason"
            raise ProviderError(ErrorKind.TRUNCATED, why, advice="Try again; what arrived is kept.")
        return self._end()

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """Handle ``[DONE]``, JSON that orjson rejects, and data that is not JSON."""
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
            if (error := error_frame(frame)) is not None:
                return self._on_chunk(error, frame[0])
            if frame[0] == "error":
                raise reported_error(ErrorParts(message=data[:8000].decode("utf-8", "replace"))) from None
            self._bad_frame = self._bad_frame or fault
            return NOTHING

    def _on_chunk(self, chunk: object, name: str) -> Sequence[StreamEvent]:
        if not isinstance(chunk, dict) or self._ended:
            return NOTHING
        self._raise_if_failed()
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
            self._unfinished = self._finish_raw is None
            events.append(ResponseStarted(text(chunk, "model") or None, text(chunk, "id") or None))
        if failure is not None and usage is not None:
            # OpenRouter sends the usage in the chunk with the error; the error is raised with the next frame.
            self._failure, self.usage_raw = failure, usage
            return [*events, UsageReported(inclusive_usage(usage))]
        if not chunk.keys().isdisjoint(RARE):
            self._message.sources.listed(chunk)
            events += prompt_read(chunk)
        for choice in choices:
            if choice.get("index") in (None, 0, "0"):
                self._on_choice(choice, events)
                break
        if usage is not None:
            self.usage_raw = usage
            events.append(UsageReported(inclusive_usage(usage)))
        return events or self._raise_if_failed()

    def _raise_if_failed(self) -> Sequence[StreamEvent]:
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
            if self._finish_raw is not None and any(map(delta.get, CONTENT)):
                self._late.append(delta)
            else:
                self._message.take(delta, events)
        elif isinstance(message, dict) and not self._message.begun:
            # Some streams repeat the whole message at the end; it is used only if no delta came before.
            self._message.take(message, events, whole=True)
        if child(choice, "error") and (failure := self._error(choice, "")) is not None:
            raise failure
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            for late in self._late:
                self._message.take(late, events)
            self._late.clear()
            self._on_finish_reason(reason, choice)

    def _on_finish_reason(self, reason: str, choice: Json) -> None:
        self.complete, self._unfinished = True, False
        self._failure = self._failure or failed_finish(reason, choice)
        self._bad_frame = None
        if self._finish_raw is None or reason in ("tool_calls", "function_call"):
            self._finish_raw = reason
            self._detail = text(choice, "native_finish_reason") or None

    def _end(self) -> Sequence[StreamEvent]:
        """Return the events held until the end: text, the provider state, the calls and the stop."""
        self._ended, self._running, self._unfinished = True, False, False
        events: list[StreamEvent] = []
        if self._late:
            LOG.warning("ignored content after the finish reason %s, in chunks: %d", self._finish_raw, len(self._late))
            events += _late_remark(self._late)
        message = self._message
        message.end_blocks(events)
        stop = chat_stop(self._finish_raw, self._detail, called=message.called, refused=message.refused)
        message.end_calls(events, cut=stop.finish is Finish.LENGTH)
        events.append(ResponseFinished(stop))
        return events
