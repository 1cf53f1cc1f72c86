"""Which parts of a request the provider is asked to keep in its prompt cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tui.catalog.facts import Quirks
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Role, WireName
from tui.domain.request import ChatRequest

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoints:
    """Where the kept prefixes end, and how long they are kept."""

    places: tuple[str, ...]
    """``tools``, ``system``, ``turn 12``; empty if the provider chooses them."""
    ttl: str

    @property
    def words(self) -> str:
        """``breakpoints: tools, system, turn 12; kept 1h``."""
        chosen = ", ".join(self.places) or "chosen by the provider"
        return f"breakpoints: {chosen}; kept {self.ttl}"


def breakpoints(request: ChatRequest, wire: WireName, quirks: Quirks, turns: int) -> Breakpoints | None:
    """Return what a request with so many turns asks for; None if it asks for nothing."""
    if request.cache_ttl in (None, "off"):
        return None
    from tui.wires.wire import wire_named  # loaded with the page that shows this

    body = wire_named(wire).encode(request, quirks).body
    options = body.get("prompt_cache_options")
    if isinstance(options, Mapping) and "prompt_cache_options" not in request.without:
        return Breakpoints(places=(), ttl=str(options.get("ttl")))
    places = tuple(dict.fromkeys(_places(body, turns, ends_with_filler=_ends_with_filler(request))))
    return Breakpoints(places=places, ttl=str(request.cache_ttl)) if places else None


def _places(body: Json, turns: int, *, ends_with_filler: bool) -> Iterator[str]:
    tools = _items(body.get("tools"))
    messages = _items(body.get("messages"))
    if any(map(_is_marked, tools)):
        yield "tools"
    if any(map(_is_marked, _items(body.get("system")))):
        yield from ("tools", "system") if tools else ("system",)
    turn = turns - sum(map(_is_prompt, messages)) + ends_with_filler
    for message in messages:
        turn += _is_prompt(message)
        if not any(map(_is_marked, _items(message.get("content")))):
            continue
        if message.get("role") in ("system", "developer"):
            yield from ("tools", "system") if tools else ("system",)
        else:
            yield f"turn {max(1, min(turn, turns))}"
    if _is_marked(body) and turns:
        yield f"turn {turns}"


def _ends_with_filler(request: ChatRequest) -> bool:
    """Whether a message was added because no prompt was typed yet."""
    last = request.outgoing.messages[-1] if request.outgoing.messages else None
    return last is not None and last.role is Role.USER and last.source_id is None


def _is_prompt(message: Json) -> bool:
    content = message.get("content")
    parts = _items(content)
    return message.get("role") == "user" and (
        isinstance(content, str) or any(part.get("type") != "tool_result" for part in parts)
    )


def _is_marked(item: Json) -> bool:
    return "cache_control" in item


def _items(value: object) -> Sequence[Json]:
    return cast("Sequence[Json]", value) if isinstance(value, list) else ()
