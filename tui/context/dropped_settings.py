"""Settings of the user that the request omits because the model refuses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui.catalog.quirks import Quirks
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest, Outgoing

SPELLED = {
    "generation.temperature": frozenset({"temperature"}),
    "generation.topP": frozenset({"top_p", "topP"}),
}


def dropped_settings(request: ChatRequest, wire: WireName, quirks: Quirks) -> Iterator[str]:
    """Yield a warning for each. The request is encoded to find out, so that only the encoder knows the rules."""
    from tui.wires.registry import wire_named  # not at start-up: most requests have none of these settings

    wished = {"generation.temperature": request.temperature, "generation.topP": request.top_p}
    bare = replace(request, outgoing=Outgoing(messages=()), tools=(), system="")
    carried = frozenset(_names(wire_named(wire).encode(bare, quirks).body))
    for setting, value in wished.items():
        if value is not None and not SPELLED[setting] & carried:
            yield f"`{setting}` is not sent: {request.model} refuses it, at least with this thinking."


def _names(body: Mapping[str, object]) -> Iterator[str]:
    for name, value in body.items():
        yield name
        if isinstance(value, Mapping):
            yield from map(str, value)
