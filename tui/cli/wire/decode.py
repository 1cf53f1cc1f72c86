"""``ponder wire decode``: recorded response bodies to one JSON line each, or to their events."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tui.catalog.facts import Quirks
from tui.cli.user_catalog import print_messages
from tui.cli.wire.input_file import read_input
from tui.domain.assemble import Assembler, whole_text
from tui.domain.blocks import (
    Block,
    DocumentBlock,
    OpaqueBlock,
    ProviderState,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.errors import ErrorKind, ProviderError, UnknownModel
from tui.domain.messages import WireName
from tui.domain.stream import (
    BlockNamed,
    BlockStarted,
    ProviderStateReceived,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.providers.redaction import Redactor
from tui.wires.framing.body import BodyReader
from tui.wires.json_text import NotJSON, loads, text
from tui.wires.wire import ErrorResponse, Wire, wire_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.description = (
        "Decode recorded response bodies. Text and thinking are counted and hashed as received: <think> tags "
        "remain part of the text. With --events they are separated, as on the screen."
    )
    parser.add_argument("wire", choices=[name.value for name in WireName], metavar="WIRE", help=", ".join(WireName))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recorded response body")
    parser.add_argument("--provider", metavar="P", help="decode with the quirks of this provider")
    parser.add_argument("--status", type=int, default=200, metavar="N", help="the HTTP status of the response")
    parser.add_argument("--content-type", metavar="T", help="the content type of the response")
    parser.add_argument("--events", action="store_true", help="print one JSON line for every event instead")


def run(args: argparse.Namespace) -> int:
    """Returns 0 if every file could be read, whatever its content; 2 otherwise."""
    quirks = _quirks_of(args.provider)
    unreadable = False
    for file in args.files:
        try:
            body = read_input(file)
        except OSError as error:
            print_messages(f"ponder: cannot read {file}: {error.strerror or error}")
            unreadable = True
            continue
        for line in _lines(args, quirks, body):
            print(json.dumps({"file": str(file), **line}))
    return 2 if unreadable else 0


def _lines(args: argparse.Namespace, quirks: Quirks, body: bytes) -> Iterator[Report]:
    name = WireName(args.wire)
    try:
        recording = decoded(
            wire_named(name),
            quirks if args.events else as_recorded(quirks),
            body,
            status=args.status,
            content_type=args.content_type,
        )
    except Exception as error:  # noqa: BLE001 - top of the CLI: one bad file must not hide the others
        recording = Recording((), unexpected(error), complete=False)
    if not args.events:
        yield report(name, recording)
        return
    yield from map(event_line, recording.events)
    if recording.fault is not None:
        yield fault_line(recording.fault)


def _quirks_of(provider: str | None) -> Quirks:
    """The provider's quirks. An unknown provider may be a typing error, so it is reported."""
    if provider is None:
        return Quirks()
    from tui.cli.user_catalog import user_catalog  # reads files, so only if a provider is named

    try:
        return user_catalog(os.environ).catalog.provider(provider).quirks
    except UnknownModel as problem:
        print_messages(f"ponder: {problem.message} Read as plainly as the wire is. {problem.advice}".rstrip())
        return Quirks()


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
        return Recording((), wire.refusal(ErrorResponse(status=status, headers=headers, body=body)), complete=False)
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
        **_provider_states(wire, tally.assembled.blocks()),
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
        return block.provider_state.id if block.provider_state else None
    return announced


def _call(block: ToolCallBlock, call_id: str | None) -> Report:
    call: Report = {"id": call_id, "name": block.name}
    if text(_json(block.provider_state.raw if block.provider_state else None), "type") == "custom_tool_call":
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
        # A recording of a request, or of an answer with headers, may be quoted here.
        "message": Redactor().clean(fault.message),
        "retryable": fault.retryable,
    }


def _provider_states(wire: WireName, blocks: Sequence[Block]) -> Report:
    signatures = encrypted = redacted = 0
    for block in blocks:
        provider_state = _provider_state_of(block)
        if provider_state is None:
            continue
        raw = _json(provider_state.raw)
        signatures += bool(provider_state.signature) + _signed_details(raw)
        encrypted += bool(provider_state.encrypted) + _encrypted_details(raw)
        hidden = isinstance(block, ThinkingBlock) and block.form is ThinkingForm.HIDDEN
        redacted += bool(wire is WireName.ANTHROPIC and hidden and provider_state.encrypted)
    return {"signatures": signatures, "encrypted": encrypted, "redacted": redacted}


def _provider_state_of(block: Block) -> ProviderState | None:
    if isinstance(block, ToolResultBlock | DocumentBlock):
        return None
    if not isinstance(block, OpaqueBlock):
        return block.provider_state
    item = _json(block.raw)
    return ProviderState(
        signature=text(item, "thoughtSignature") or None, encrypted=text(item, "encrypted_content") or None
    )


def _json(raw: str | None) -> object:
    try:
        return loads(raw) if raw else None
    except NotJSON:
        return None


def _signed_details(raw: object) -> int:
    """The state of a block of a Chat server is its list of reasoning details."""
    return sum(bool(text(detail, "signature")) for detail in raw) if isinstance(raw, list) else 0


def _encrypted_details(raw: object) -> int:
    if not isinstance(raw, list):
        return 0
    return sum(text(detail, "type") == "reasoning.encrypted" and bool(text(detail, "data")) for detail in raw)


def event_line(event: StreamEvent) -> Report:
    """An event as a JSON object."""
    if isinstance(event, ProviderStateReceived):  # the names that this output has always had
        return {"event": "BlockSealed", "index": event.index, "seal": asdict(event.provider_state)}
    return {"event": type(event).__name__, **asdict(event)}


def fault_line(fault: ProviderError) -> Report:
    """An error as a JSON object among events."""
    return {"event": "Fault", **(_error(fault) or {})}


def unexpected(error: Exception) -> ProviderError:
    """An internal error while decoding, reported like a server's error."""
    return ProviderError(ErrorKind.OTHER, f"This could not be decoded: {type(error).__name__}")
