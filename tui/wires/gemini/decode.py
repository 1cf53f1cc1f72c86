"""Decoding of Gemini generateContent responses: chunks, whole bodies and HTTP errors.

The format has no end marker. A finish reason is the end unless more content follows it, which happens when the server
runs code. The response is therefore finished at the end of the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orjson import JSONDecodeError
from orjson import loads as loads_plain

from tui.catalog.facts import Quirks
from tui.domain.blocks import ProviderState
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    Finish,
    ImageData,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    SearchReported,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import WebSearch
from tui.wires.errors.body import ErrorParts, error_frame, error_parts
from tui.wires.errors.classify import reported_error
from tui.wires.gemini.partial_arguments import PartialArguments
from tui.wires.gemini.web_search import METADATA, charged_queries, citations_of, grounding_of, is_search, search_of
from tui.wires.json_text import Json, NotJSON, child, dumps, loads, maybe_text, text, whole
from tui.wires.wire import Frame

FINISHES = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "CONTINUATION": Finish.CONTINUATION,
    "MALFORMED_FUNCTION_CALL": Finish.MALFORMED_CALL,
    "UNEXPECTED_TOOL_CALL": Finish.MALFORMED_CALL,
    "SAFETY": Finish.FILTER,
    "RECITATION": Finish.FILTER,
    "LANGUAGE": Finish.FILTER,
    "BLOCKLIST": Finish.FILTER,
    "PROHIBITED_CONTENT": Finish.FILTER,
    "SPII": Finish.FILTER,
    "MODEL_ARMOR": Finish.FILTER,
    "IMAGE_SAFETY": Finish.FILTER,
    "IMAGE_PROHIBITED_CONTENT": Finish.FILTER,
    "IMAGE_RECITATION": Finish.FILTER,
}


def usage_of(raw: Json, searches: int | None = None) -> Usage:
    """Return inclusive totals: Google counts thinking and tool prompts apart from answer and prompt."""
    prompt = whole(raw, "promptTokenCount")
    tool_prompt = whole(raw, "toolUsePromptTokenCount")
    answer = whole(raw, "candidatesTokenCount")
    thinking = whole(raw, "thoughtsTokenCount")
    sent = None if prompt is None else prompt + (tool_prompt or 0)
    output = None if answer is None and thinking is None else (answer or 0) + (thinking or 0)
    return Usage(
        input=sent,
        cache_read=whole(raw, "cachedContentTokenCount"),
        output=output,
        thinking=thinking,
        total=whole(raw, "totalTokenCount") if sent is None or output is None else sent + output,
        searches=searches,
    )


NOTHING: tuple[StreamEvent, ...] = ()

MODIFIERS = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata"})
"""Fields that describe a part; the one remaining field is its content."""


class GeminiDecoder:
    """Decodes one response. Parts become blocks in order; only the last block can be open."""

    def __init__(self, *, usage_merged: bool = True) -> None:
        self.complete = False
        self.usage_raw: Mapping[str, object] | None = None
        self._usage: dict[str, object] = {}
        self._usage_merged = usage_merged
        self._usage_reported: Usage | None = None
        self._started = False
        self._response_id = ""
        self._next_index = 0
        self._open_index: int | None = None
        """Index of the text or thinking block that the next part may continue."""
        self._open_thinks = False
        self._usual_fields = 0
        """Number of fields of a part that continues the open block: 1 for text, 2 for thinking, 0 for no open block."""
        self._open_call: int | None = None
        """Index of the call whose arguments are still arriving in pieces."""
        self._arguments = PartialArguments()
        self._call_ids: set[str] = set()
        self._last_label = ""
        self._texts: list[int] = []
        """Indexes of the blocks of text."""
        self._searches: list[WebSearch] = []
        self._grounding: dict[str, object] = {}
        """The metadata about searches; later chunks repeat or complete it."""
        self._stop = Stop(Finish.OTHER)
        self._bad_frame: NotJSON | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Return the events of one frame: a chunk, or a list of chunks.

        Fast path: nearly every chunk continues the open text or thinking and otherwise has usage only. Any other
        chunk is decoded by ``_feed_any``. The decode benchmark measures this path.
        """
        try:
            chunk = loads_plain(frame[1])
            (candidate,) = chunk["candidates"]
            (part,) = candidate["content"]["parts"]
            piece_text = part["text"]
            usage = chunk["usageMetadata"]
            alone = len(part) == self._usual_fields and "finishReason" not in candidate and "error" not in chunk
            alone = alone and METADATA not in candidate
            if not alone or not all(usage.values()):
                return self._feed_any(frame)
            thinks = self._open_thinks and part["thought"] is True
        except (JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            return self._feed_any(frame)
        index = self._open_index
        if index is None or piece_text.__class__ is not str or not piece_text or thinks is not self._open_thinks:
            return self._feed_any(frame)
        self._usage.update(usage)
        return (ThinkingDelta(index, piece_text) if thinks else TextDelta(index, piece_text),)

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        try:
            chunk = loads(frame[1])
        except NotJSON as fault:
            if (error := error_frame(frame)) is not None:
                return self._on_chunk(error)
            self._bad_frame = self._bad_frame or fault
            return NOTHING
        return self._on_chunk(chunk) if isinstance(chunk, dict) else self._on_list(chunk)

    def feed_whole(self, body: bytes) -> Sequence[StreamEvent]:
        """Return the events of a response that was not streamed, or of a whole list of chunks."""
        answer = loads(body)
        if not isinstance(answer, dict | list):
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server answered with JSON that is not a response")
        events = list(self._on_chunk(answer) if isinstance(answer, dict) else self._on_list(answer))
        if not self._started:
            raise ProviderError(ErrorKind.NOT_A_STREAM, "The server answered with JSON that is not a response")
        events += self.finish()
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """Return the closing events; raises ProviderError if no finish reason came."""
        if not self.complete:
            raise self._bad_frame or ProviderError(ErrorKind.TRUNCATED, "The stream ended before the answer did")
        events = self._close_text()
        if self._grounding:
            self._on_grounding(events)
        events += self._report_usage()
        stop = self._stop
        if stop.finish is Finish.STOP and self._call_ids:
            stop = Stop(Finish.TOOL_USE, stop.raw, stop.detail)
        events.append(ResponseFinished(stop))
        return events

    # Handlers, one per part of a chunk.

    def _on_list(self, chunks: object) -> Sequence[StreamEvent]:
        events: list[StreamEvent] = []
        for chunk in chunks if isinstance(chunks, list) else ():
            if isinstance(chunk, dict):
                events += self._on_chunk(chunk)
        return events

    def _on_chunk(self, chunk: Json) -> Sequence[StreamEvent]:
        if "error" in chunk:
            raise reported_error(error_parts(chunk) or ErrorParts(message=""))
        events: list[StreamEvent] = []
        if not self._started:
            if not ("candidates" in chunk or "usageMetadata" in chunk or "promptFeedback" in chunk):
                return NOTHING
            self._started = True
            self._response_id = text(chunk, "responseId")
            events.append(ResponseStarted(maybe_text(chunk, "modelVersion"), self._response_id or None))
        usage = chunk.get("usageMetadata")
        if isinstance(usage, dict):
            self._on_usage(usage)
            if self._usage_reported is None:
                events += self._report_usage()
        candidates = chunk.get("candidates")
        if isinstance(candidates, list) and candidates:
            self._on_candidate(candidates[0], events)
        if "promptFeedback" in chunk:
            self._on_prompt_feedback(child(chunk, "promptFeedback"))
        return events

    def _on_candidate(self, candidate: object, events: list[StreamEvent]) -> None:
        if not isinstance(candidate, dict) or candidate.get("index"):
            return
        before = len(events)
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        if isinstance(parts, list):
            for part in parts:
                if isinstance(part, dict):
                    self._on_part(part, events)
        if self.complete and len(events) > before:
            self.complete = False
        if metadata := child(candidate, METADATA):
            self._grounding.update((key, value) for key, value in metadata.items() if value)
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason:
            self._on_finish_reason(reason, candidate)

    def _on_part(self, part: Json, events: list[StreamEvent]) -> None:
        piece_text = part.get("text")
        if not isinstance(piece_text, str):
            self._on_other_part(part, events)
            return
        thinks = part.get("thought") is True
        signature = part.get("thoughtSignature")
        if not isinstance(signature, str) or not signature:
            signature = None
        if not piece_text:
            if signature is not None:
                self._on_bare_signature(signature, events, thinks=thinks)
            return
        index = self._open_index
        if index is None or self._open_thinks is not thinks:
            index = self._open(events, thinks=thinks)
        self._usual_fields = 2 if thinks else 1
        events.append(ThinkingDelta(index, piece_text) if thinks else TextDelta(index, piece_text))
        if signature is not None:
            events.append(ProviderStateReceived(index, ProviderState(signature=signature)))
            events += self._close_text()

    def _on_bare_signature(self, signature: str, events: list[StreamEvent], *, thinks: bool) -> None:
        """Add an empty block for a signature that came on an empty part."""
        events += self._close_text()
        kind = "thinking" if thinks else "text"
        index = self._new_index()
        events += (
            BlockStarted(index, "thinking", form=ThinkingForm.HIDDEN) if thinks else BlockStarted(index, "text"),
            ProviderStateReceived(index, ProviderState(signature=signature)),
            BlockFinished(index),
        )
        self._last_label = kind

    def _on_other_part(self, part: Json, events: list[StreamEvent]) -> None:
        events += self._close_text()
        label = next((key for key in part if key not in MODIFIERS), "")
        signature = maybe_text(part, "thoughtSignature") or None
        if label == "functionCall":
            self._on_call(child(part, label), signature, events)
        elif label in ("inlineData", "fileData") and _is_picture(part, label):
            self._on_picture(child(part, label), signature, events)
        elif is_search(part, label):
            self._on_search(search_of(part, label), label, ProviderState(raw=dumps(part)), events)
        elif label:
            index = self._new_index()
            events += (
                BlockStarted(index, "opaque", name=label),
                ProviderStateReceived(index, ProviderState(signature=signature, raw=dumps(part))),
                BlockFinished(index),
            )
        elif signature is not None:
            self._on_bare_signature(signature, events, thinks=part.get("thought") is True)
        self._last_label = label or self._last_label

    def _on_call(self, call: Json, signature: str | None, events: list[StreamEvent]) -> None:
        """Handle a complete call, the start of a call, or (without a name) the next piece of the open call."""
        name = text(call, "name")
        index = self._open_call
        if index is None or name:
            if not name and not call:
                return
            index = self._new_index()
            own_id = maybe_text(call, "id") or None
            call_id = own_id
            if call_id is None or call_id in self._call_ids:
                call_id = f"call_{self._response_id}_{index}" if self._response_id else f"call_{index}"
            self._call_ids.add(call_id)
            self._arguments = PartialArguments()
            events.append(BlockStarted(index, "tool_call", name=name, call_id=call_id))
            if own_id is not None or signature is not None:
                events.append(ProviderStateReceived(index, ProviderState(id=own_id, signature=signature)))
        whole_arguments = call.get("args")
        if isinstance(whole_arguments, dict):
            self._arguments.set_whole(whole_arguments)
        self._arguments.add(call)
        if call.get("willContinue") is True:
            self._open_call = index
            return
        self._open_call = None
        events += (ToolArgsDelta(index, self._arguments.json()), BlockFinished(index))

    def _on_search(self, search: WebSearch, label: str, state: ProviderState, events: list[StreamEvent]) -> None:
        self._searches.append(search)
        index = self._new_index()
        events += (
            BlockStarted(index, "search", name=label),
            SearchReported(index, search),
            ProviderStateReceived(index, state),
            BlockFinished(index),
        )

    def _on_grounding(self, events: list[StreamEvent]) -> None:
        """Add the searches of the response and the sources of its text, which are known at its end."""
        grounding = grounding_of(self._grounding)
        known = {query for search in self._searches for query in search.queries}
        if not known.issuperset(grounding.queries):
            self._on_search(grounding, METADATA, ProviderState(raw=dumps({METADATA: self._grounding})), events)
        if cited := citations_of(self._grounding):
            events += [CitationsReceived(index, cited, in_bytes=True) for index in self._texts]

    def _on_picture(self, picture: Json, signature: str | None, events: list[StreamEvent]) -> None:
        index = self._new_index()
        events += (
            BlockStarted(index, "image", name=text(picture, "mimeType")),
            ImageData(index, maybe_text(picture, "data"), maybe_text(picture, "fileUri")),
        )
        if signature is not None:
            events.append(ProviderStateReceived(index, ProviderState(signature=signature)))
        events.append(BlockFinished(index))

    def _on_usage(self, usage: dict[str, object]) -> None:
        """Merge a usage object. Counts are cumulative; a missing or zero count does not replace an earlier one."""
        if not self._usage_merged:
            self._usage.clear()
        values = usage.values()
        if 0 in values or None in values:
            self._usage.update((key, value) for key, value in usage.items() if value or key not in self._usage)
        else:
            self._usage.update(usage)
        self.usage_raw = self._usage

    def _on_finish_reason(self, reason: str, candidate: Json) -> None:
        finish = FINISHES.get(reason.upper(), Finish.OTHER)
        detail = maybe_text(candidate, "continuationToken") if finish is Finish.CONTINUATION else None
        self._stop = Stop(finish, reason, detail or maybe_text(candidate, "finishMessage"))
        # The result of server-run code comes in the same response, so a stop right after the code is not the end.
        self._usual_fields = 0
        self.complete = not (finish is Finish.STOP and self._last_label == "executableCode")

    def _on_prompt_feedback(self, feedback: Json) -> None:
        if reason := text(feedback, "blockReason"):
            self._stop = Stop(Finish.REFUSAL, reason, maybe_text(feedback, "blockReasonMessage"))
            self.complete = True

    # Parts of events.

    def _new_index(self) -> int:
        index = self._next_index
        self._next_index = index + 1
        return index

    def _open(self, events: list[StreamEvent], *, thinks: bool) -> int:
        events += self._close_text()
        index = self._open_index = self._new_index()
        self._open_thinks = thinks
        self._last_label = "text"
        if not thinks:
            self._texts.append(index)
        events.append(
            BlockStarted(index, "thinking", form=ThinkingForm.SUMMARY) if thinks else BlockStarted(index, "text")
        )
        return index

    def _close_text(self) -> list[StreamEvent]:
        index = self._open_index
        if index is None:
            return []
        self._open_index = None
        self._usual_fields = 0
        return [BlockFinished(index)]

    def _report_usage(self) -> list[StreamEvent]:
        usage = usage_of(self._usage, charged_queries(self._searches))
        if usage in (self._usage_reported, Usage()):
            return []
        self._usage_reported = usage
        return [UsageReported(usage)]


def _is_picture(part: Json, label: str) -> bool:
    return text(part, label, "mimeType").startswith("image/") and part.get("thought") is not True


def decoder(quirks: Quirks) -> GeminiDecoder:
    return GeminiDecoder(usage_merged=quirks.usage_merged)
