"""The wire of Ollama's native API, /api/chat: encoding of requests, decoding of lines, whole bodies and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tui.catalog.facts import Quirks
from tui.domain.blocks import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import Role, WireName
from tui.domain.request import ChatRequest, OutgoingMessage, ToolSchema
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
from tui.wires.errors.body import error_frame, error_parts
from tui.wires.errors.classify import refusal_of, reported_error
from tui.wires.json_text import Json, NotJSON, child, children, dumps, loads, maybe_text, merge_fields, text, whole
from tui.wires.wire import EncodedRequest, Frame, Wire

Spelled = dict[str, object]


def encode(request: ChatRequest, quirks: Quirks) -> EncodedRequest:
    """Return path, body and headers of the request."""
    messages: list[Spelled] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.outgoing.messages:
        messages += _messages(message)
    body: Spelled = {"model": request.model, "messages": messages, "stream": request.stream}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options := _options(request, quirks):
        body["options"] = options
    merge_fields(body, request.plan.fields)
    if request.answer_format is not None:
        merge_fields(body, request.answer_format.fields)
    merge_fields(body, request.extra_body)
    return EncodedRequest(path="/api/chat", body=body, headers=dict(request.plan.headers))


def _options(request: ChatRequest, quirks: Quirks) -> Spelled:
    options: Spelled = {}
    if quirks.send_num_ctx and request.num_ctx is not None:
        options["num_ctx"] = request.num_ctx
    most = request.max_output if request.plan.max_output is None else request.plan.max_output
    if most is not None:
        options["num_predict"] = most
    if quirks.never_sampling or (quirks.drop_sampling_when_thinking and request.plan.thinks):
        return options
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.top_p is not None:
        options["top_p"] = request.top_p
    return options


def _tool(tool: ToolSchema) -> Spelled:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _messages(message: OutgoingMessage) -> list[Spelled]:
    if message.role is Role.ASSISTANT:
        return [_assistant(message)]
    spelled = [_result(block) for block in message.blocks if isinstance(block, ToolResultBlock)]
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    pictures = [block.data for block in message.blocks if isinstance(block, ImageBlock) and block.data is not None]
    if texts or pictures:
        user: Spelled = {"role": "user", "content": "\n\n".join(texts)}
        if pictures:
            user["images"] = pictures
        spelled.append(user)
    return spelled


def _assistant(message: OutgoingMessage) -> Spelled:
    """Return one message with content, thinking and calls; the format does not keep their order."""
    spelled: Spelled = {
        "role": "assistant",
        "content": "".join(block.text for block in message.blocks if isinstance(block, TextBlock)),
    }
    thinking = "".join(block.text for block in message.blocks if isinstance(block, ThinkingBlock))
    if thinking:
        spelled["thinking"] = thinking
    if calls := [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]:
        spelled["tool_calls"] = calls
    return spelled


def _call(block: ToolCallBlock) -> Spelled:
    """Return a call. Arguments must be an object; others are sent as {}. Calls have no ids: results follow in order."""
    try:
        arguments = loads(block.arguments) if block.arguments.strip() else {}
    except NotJSON:
        arguments = {}
    return {"function": {"name": block.name, "arguments": arguments if isinstance(arguments, dict) else {}}}


def _result(block: ToolResultBlock) -> Spelled:
    texts = [part.text for part in block.content if isinstance(part, TextBlock)]
    pictures = [part.data for part in block.content if isinstance(part, ImageBlock) and part.data is not None]
    result: Spelled = {"role": "tool", "tool_name": block.name, "content": "\n".join(texts)}
    if pictures:
        result["images"] = pictures
    return result


NOTHING: tuple[StreamEvent, ...] = ()

FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH, "load": Finish.OTHER, "unload": Finish.OTHER}
"""Finish by ``done_reason``. ``load`` and ``unload`` end a response without text: the model was only loaded."""


class OllamaDecoder:
    """Decodes one response: a block ends when another field of the message is sent."""

    def __init__(self, quirks: Quirks) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._started = False
        self._open: BlockKind | None = None
        self._index = -1
        """Index of the latest block."""
        self._called_tools = False
        self._bad_frame: NotJSON | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one line."""
        line: Any = None
        try:
            line = orjson.loads(frame[1])
            # Fast path: nearly every line is one more piece of the open block.
            message = line["message"]
            if line["done"] is False and "error" not in line:
                if self._open == "text":
                    piece = message["content"]
                    if len(message) == 2 and piece and piece.__class__ is str:
                        return (TextDelta(self._index, piece),)
                elif self._open == "thinking" and len(message) == 3 and not message["content"]:
                    piece = message["thinking"]
                    if piece and piece.__class__ is str:
                        return (ThinkingDelta(self._index, piece),)
        except orjson.JSONDecodeError:
            return self._on_odd_frame(frame)
        except (LookupError, TypeError):
            pass  # not a usual line: decoded below
        return self._on_line(line) if isinstance(line, dict) and not self.complete else NOTHING

    def _on_odd_frame(self, frame: Frame) -> Sequence[StreamEvent]:
        """Decode a line that orjson rejects; a line that is not JSON is stored for ``finish``."""
        try:
            line = loads(frame[1])
        except NotJSON as fault:
            if not self.complete and (error := error_frame(frame)) is not None:
                return self._on_line(error)
            self._bad_frame = self._bad_frame or fault
            return NOTHING
        return self._on_line(line) if isinstance(line, dict) and not self.complete else NOTHING

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Return the events of a response that was not streamed: it has the form of a single line."""
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
        """Handle the end of the body; raises ProviderError if no line was marked as done."""
        if self.complete:
            return NOTHING
        if self._bad_frame is not None:
            raise self._bad_frame
        raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the answer was done")

    # Handlers, one per field of a line.

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
        events = self._open_block("thinking")
        events.append(ThinkingDelta(self._index, piece))
        return events

    def _on_content(self, piece: str) -> Sequence[StreamEvent]:
        events = self._open_block("text")
        events.append(TextDelta(self._index, piece))
        return events

    def _on_call(self, call: Json) -> Sequence[StreamEvent]:
        """Handle a tool call, which is never split; the assembler adds an id if there is none."""
        events = self._close()
        function = child(call, "function")
        self._index += 1
        index = self._index
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
        raise ProviderError(ErrorKind.SERVER, "The server reported an error without a reason")

    # Parts of lines.

    def _open_block(self, kind: BlockKind) -> list[StreamEvent]:
        """Open a block of this kind, unless one is open."""
        if self._open == kind:
            return []
        events = self._close()
        self._open = kind
        form = ThinkingForm.FULL if kind == "thinking" else None
        self._index += 1
        events.append(BlockStarted(self._index, kind, form=form))
        return events

    def _close(self) -> list[StreamEvent]:
        if self._open is None:
            return []
        self._open = None
        return [BlockFinished(self._index)]


def _usage(line: Json) -> Usage:
    """Return the usage. ``prompt_eval_count`` includes cached tokens; it is missing if the whole prompt was cached."""
    sent, output = whole(line, "prompt_eval_count"), whole(line, "eval_count")
    return Usage(
        input=sent,
        cache_read=whole(line, "prompt_eval_cached_count"),
        output=output,
        total=None if sent is None or output is None else sent + output,
    )


WIRE = Wire(name=WireName.OLLAMA, framing="ndjson", encode=encode, decoder=OllamaDecoder, refusal=refusal_of)
