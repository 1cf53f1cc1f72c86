"""Recorded exchanges that were continued, for the replay tests of the wires."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui.catalog.facts import Quirks
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block
from tui.wires.framing.body import BodyReader
from tui.wires.wire import Wire


def following_exchanges(wire_folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each recorded response of a replayed conversation with the body of the request that followed it."""
    for meta_file in sorted(wire_folder.glob("*/meta.json")):
        meta = json.loads(meta_file.read_text())
        if "reasoning-replay" not in meta["tags"]:
            continue
        exchanges = meta["exchanges"]
        for answered, following in itertools.pairwise(exchanges):
            request = meta_file.parent / following["dir"] / "request.json"
            if request.is_file():
                yield (
                    meta_file.parent / answered["dir"] / answered["body_file"],
                    json.loads(request.read_text())["body"],
                )


def assembled(wire: Wire, response: Path) -> tuple[Block, ...]:
    """The blocks of a recorded response."""
    reader = BodyReader(wire, wire.decoder(Quirks()))
    assembler = Assembler()
    for event in [*reader.feed(response.read_bytes()), *reader.finish()]:
        assembler.feed(event)
    return assembler.blocks()
