"""Statistics of a recorded response: counts and hashes, to compare two readers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from tui.catalog.quirks import Quirks
from tui.domain.assemble import Assembler, whole_text
from tui.domain.blocks import Block, OpaqueBlock, Seal, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName
from tui.domain.stream import (
    BlockNamed,
    BlockStarted,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.wires.framing.body import BodyReader
from tui.wires.json_text import NotJSON, loads
from tui.wires.read import text
from tui.wires.wire import Reply, Wire

CHUNK = 64 * 1024
"""Bytes fed at a time; the report does not depend on it."""
Report = dict[str, object]


class Recording:
    """A decoded body: its events, and the error if there was one."""

    def __init__(self, events: Sequence[StreamEvent], fault: ProviderError | None, *, complete: bool) -> None:
        self.events = events
        self.fault = fault
        self.complete = complete


def decoded(
    wire: Wire, quirks: Quirks, body: bytes, *, status: int = 200, content_type: str | None = None
) -> Recording:
    """Decode one body as if it came from the network."""
    if status >= 400:
        headers = {"content-type": content_type} if content_type else {}
        return Recording((), wire.refusal(Reply(status=status, headers=headers, body=body)), complete=False)
    decoder = wire.decoder(quirks)
    reader = BodyReader(wire, decoder, content_type)
    events: list[StreamEvent] = []
    fault = None
    try:
        for start in range(0, len(body), CHUNK):
            events += reader.feed(body[start : start + CHUNK])
        events += reader.finish()
    except ProviderError as error:
        fault = error
    return Recording(events, fault, complete=decoder.complete)


def as_recorded(quirks: Quirks) -> Quirks:
    """Quirks for counting: tags in the text are text, and the last usage report is complete."""
    return replace(quirks, think_tags="never", usage_merged=False)


def report(wire: WireName, recording: Recording) -> Report:
    """The statistics of one recording."""
    tally = _Tally(recording.events)
    calls = tally.calls()
    stop, fault = tally.assembled.stop, recording.fault
    return {
        "thinking": _fingerprint(tally.words("thinking")),
        "text": _fingerprint(tally.words("text")),
        "tool_calls": [_call(block, _own_id(wire, block, call_id)) for call_id, block in calls],
        **_seals(wire, tally.assembled.blocks()),
        "finish": stop.finish.value if stop else None,
        "finish_raw": stop.raw if stop else fault.finish_raw if fault else None,
        "usage": _usage(tally.assembled.usage),
        "error": _error(fault),
        "complete": recording.complete,
    }


class _Tally:
    """The events of one response, grouped by block in the order the blocks began."""

    def __init__(self, events: Iterable[StreamEvent]) -> None:
        self.assembled = Assembler()
        self._kinds: dict[int, str] = {}
        self._pieces: dict[int, list[str]] = {}
        self._call_ids: dict[int, str] = {}
        for event in events:
            self.assembled.feed(event)
            self._take(event)

    def _take(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(index, piece) | ThinkingDelta(index, piece):
                self._kinds.setdefault(index, "text" if isinstance(event, TextDelta) else "thinking")
                self._pieces.setdefault(index, []).append(piece)
            case BlockStarted(index, kind):
                self._kinds.setdefault(index, kind)
                self._pieces.setdefault(index, [])
                self._name(index, event.call_id)
            case BlockNamed(index, _, call_id):
                self._name(index, call_id)
            case ResponseStarted(restarted=True):
                self._kinds.clear()
                self._pieces.clear()
            case _:
                pass

    def _name(self, index: int, call_id: str | None) -> None:
        if call_id:
            self._call_ids[index] = call_id

    def words(self, kind: str) -> str:
        """The joined text of all blocks of a kind."""
        return "".join(whole_text(pieces) for index, pieces in self._pieces.items() if self._kinds[index] == kind)

    def calls(self) -> list[tuple[str | None, ToolCallBlock]]:
        """Every tool call with its announced id."""
        indices = [index for index, kind in self._kinds.items() if kind == "tool_call"]
        blocks = [block for block in self.assembled.blocks() if isinstance(block, ToolCallBlock)]
        return [(self._call_ids.get(index), block) for index, block in zip(indices, blocks, strict=False)]


def _own_id(wire: WireName, block: ToolCallBlock, announced: str | None) -> str | None:
    """The id from the provider; Gemini may send none, and then the decoder made one."""
    if wire is WireName.GEMINI:
        return block.seal.id if block.seal else None
    return announced


def _call(block: ToolCallBlock, call_id: str | None) -> Report:
    call: Report = {"id": call_id, "name": block.name}
    if text(_json(block.seal.raw if block.seal else None), "type") == "custom_tool_call":
        return {**call, "args": block.arguments}
    if not block.arguments.strip():
        return {**call, "args": {}}
    try:
        return {**call, "args": loads(block.arguments)}
    except NotJSON:
        return {**call, "args": None, "args_raw": block.arguments}


def _fingerprint(words: str) -> Report:
    return {"chars": len(words), "sha256": hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()}


def _usage(usage: Usage | None) -> Report:
    known = usage or Usage()
    return {
        name: getattr(known, name) for name in ("input", "cache_read", "cache_write", "output", "thinking", "total")
    }


def _error(fault: ProviderError | None) -> Report | None:
    if fault is None:
        return None
    return {
        "kind": fault.kind.value,
        "status": fault.status,
        "message": fault.message,
        "retryable": fault.retryable,
    }


def _seals(wire: WireName, blocks: Sequence[Block]) -> Report:
    signatures = encrypted = redacted = 0
    for block in blocks:
        seal = _seal_of(block)
        if seal is None:
            continue
        raw = _json(seal.raw)
        signatures += bool(seal.signature) + _signed_details(raw)
        encrypted += bool(seal.encrypted) + _encrypted_details(raw)
        hidden = isinstance(block, ThinkingBlock) and block.form is ThinkingForm.HIDDEN
        redacted += bool(wire is WireName.ANTHROPIC and hidden and seal.encrypted)
    return {"signatures": signatures, "encrypted": encrypted, "redacted": redacted}


def _seal_of(block: Block) -> Seal | None:
    if isinstance(block, ToolResultBlock):
        return None
    if not isinstance(block, OpaqueBlock):
        return block.seal
    item = _json(block.raw)
    return Seal(signature=text(item, "thoughtSignature") or None, encrypted=text(item, "encrypted_content") or None)


def _json(raw: str | None) -> object:
    try:
        return loads(raw) if raw else None
    except NotJSON:
        return None


def _signed_details(raw: object) -> int:
    """Chat servers seal a block with its list of reasoning details."""
    return sum(bool(text(detail, "signature")) for detail in raw) if isinstance(raw, list) else 0


def _encrypted_details(raw: object) -> int:
    if not isinstance(raw, list):
        return 0
    return sum(text(detail, "type") == "reasoning.encrypted" and bool(text(detail, "data")) for detail in raw)


def event_line(event: StreamEvent) -> Report:
    """An event as a JSON object."""
    return {"event": type(event).__name__, **asdict(event)}


def fault_line(fault: ProviderError) -> Report:
    """An error as a JSON object among events."""
    return {"event": "Fault", **(_error(fault) or {})}


def unexpected(error: Exception) -> ProviderError:
    """An internal error while decoding, reported like a server's error."""
    return ProviderError(ErrorKind.OTHER, f"This could not be decoded: {type(error).__name__}")
