"""Decoding whole, in pieces, or cut short: what the property tests compare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.corpus_cases import Case, own_cases, recorded_cases
from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ProviderError
from tui.domain.stream import StreamEvent
from tui.wires.framing.body import BodyReader
from tui.wires.wire import wire_named

STREAMS = [case for case in (*own_cases(), *recorded_cases()) if case.status < 400]


@dataclass
class Read:
    """What came of a body."""

    events: list[StreamEvent] = field(default_factory=list)
    fault: str | None = None
    complete: bool = False

    def blocks(self) -> tuple[Block, ...]:
        assembler = Assembler()
        for event in self.events:
            assembler.feed(event)
        return assembler.blocks()

    def said(self, kind: type[TextBlock] | type[ThinkingBlock]) -> str:
        return "".join(block.text for block in self.blocks() if isinstance(block, kind))

    def whole_calls(self) -> list[ToolCallBlock]:
        return [block for block in self.blocks() if isinstance(block, ToolCallBlock) and not block.partial]


def read(case: Case, chunks: Iterable[bytes], *, quirks: Quirks | None = None) -> Read:
    """Feed chunks as they would come from the network."""
    wire = wire_named(case.wire)
    decoder = wire.decoder(quirks or Quirks())
    reader = BodyReader(wire, decoder, case.content_type)
    result = Read()
    try:
        for chunk in chunks:
            result.events += reader.feed(chunk)
        result.events += reader.finish()
    except ProviderError as fault:
        result.fault = repr(fault)
    result.complete = decoder.complete
    return result


def streams_of(wire: str) -> list[Case]:
    return [case for case in STREAMS if case.wire == wire]
