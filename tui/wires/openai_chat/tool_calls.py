"""Assembles the tool calls of Chat Completions from deltas, matched by index, else id, else position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tui.domain.blocks import ProviderState
from tui.domain.stream import BlockFinished, BlockNamed, BlockStarted, ProviderStateReceived, StreamEvent, ToolArgsDelta
from tui.wires.json_text import ArrivingJson, Json, child, dumps, text

STATE_KEYS = frozenset({"extra_content", "thought_signature"})
"""Opaque fields of a tool call that are sent back with it (Google's compatible endpoint)."""
OF_MESSAGE = "message"
"""Key in a block's state for the opaque fields of its message."""
ASKED_AT_MOST = 64
"""Most times a call's arguments are parsed to check whether it is complete; without a limit, time is quadratic."""
NO_ID = ("", "null")
"""Values that mean no id; Mistral once sent "null"."""


@dataclass(slots=True)
class _Call:
    """A call while its pieces arrive."""

    block: int
    name: str
    call_id: str
    arguments: ArrivingJson = field(default_factory=ArrivingJson)
    asked: int = 0
    """How often ``is_whole`` was called."""

    def is_whole(self) -> bool:
        """Whether the arguments are a complete object; always False after ``ASKED_AT_MOST`` checks."""
        self.asked += 1
        return self.asked <= ASKED_AT_MOST and self.arguments.is_object()


class ToolCalls:
    """The calls of one response; ``open_block`` returns the next block index."""

    def __init__(self, open_block: Callable[[], int]) -> None:
        self._open_block = open_block
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._states: dict[int, dict[str, object]] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def on_deltas(self, deltas: list[object], events: list[StreamEvent]) -> None:
        """Add the ``tool_calls`` of one delta."""
        for position, delta in enumerate(deltas):
            if isinstance(delta, dict):
                self._on_delta(delta, position, len(deltas), events)

    def next_piece(self, deltas: object) -> ToolArgsDelta | None:
        """Fast path: return the event of deltas that only continue one known call; None for others."""
        if not isinstance(deltas, list) or len(deltas) != 1 or not isinstance(deltas[0], dict):
            return None
        delta = deltas[0]
        index, function = delta.get("index"), delta.get("function")
        call = self._by_index.get(index) if index.__class__ is int else None
        if call is None or not isinstance(function, dict) or not STATE_KEYS.isdisjoint(delta):
            return None
        if (delta.get("id") or call.call_id) != call.call_id or (function.get("name") or call.name) != call.name:
            return None
        arguments = function.get("arguments")
        if arguments.__class__ is not str or not arguments:
            return None
        call.arguments.append(arguments)
        return ToolArgsDelta(call.block, arguments)

    def on_whole(self, calls: list[object], events: list[StreamEvent]) -> None:
        """Add the ``tool_calls`` of a whole message: each is a separate call."""
        for entry in calls:
            if isinstance(entry, dict):
                self._add(self._start(_function(entry), _id(entry), events), entry, events)

    def finish(self, events: list[StreamEvent], *, cut: bool) -> None:
        """Finish the calls; if the output limit ``cut`` the response, all but the last."""
        events.extend(BlockFinished(call.block) for call in self._calls[: -1 if cut else None])

    def _on_delta(self, delta: Json, position: int, of: int, events: list[StreamEvent]) -> None:
        function = _function(delta)
        name, call_id = text(function, "name"), _id(delta)
        index = delta.get("index")
        call = self._known(index, call_id, name, (position, of))
        if call is None:
            call = self._start(function, call_id, events)
            if index.__class__ is int:
                self._by_index[index] = call
        elif name or call_id:
            self._identify(call, name, call_id, events)
        self._add(call, delta, events)

    def _known(self, index: object, call_id: str, name: str, place: tuple[int, int]) -> _Call | None:
        if index.__class__ is int:
            call = self._by_index.get(index)
            if call is not None and call_id and call.call_id not in NO_ID and call_id != call.call_id and name:
                # Some servers give all parallel calls index 0: a new id and name after a complete call is a new call.
                return self._by_id.get(call_id) or (None if call.is_whole() else call)
            return call
        if call_id:
            return self._by_id.get(call_id)
        position, of = place
        call = self._calls[-1] if of == 1 and self._calls else None
        if of > 1 and position < len(self._calls):
            call = self._calls[position]
        if call is not None and name and (call.name not in ("", name) or call.is_whole()):
            return None
        return call

    def _start(self, function: Json, call_id: str, events: list[StreamEvent]) -> _Call:
        call = _Call(self._open_block(), text(function, "name"), call_id)
        self._calls.append(call)
        if call_id:
            self._by_id[call_id] = call
        events.append(BlockStarted(call.block, "tool_call", call.name or None, call_id or None))
        return call

    def _identify(self, call: _Call, name: str, call_id: str, events: list[StreamEvent]) -> None:
        """Handle a name or id that comes late, in pieces or repeatedly."""
        if call_id and not call.call_id:
            call.call_id = call_id
            self._by_id[call_id] = call
            events.append(BlockNamed(call.block, None, call_id))
        if name and name != call.name and call.arguments.is_empty:
            call.name = name if name.startswith(call.name) else call.name + name
            events.append(BlockNamed(call.block, call.name, None))

    def _add(self, call: _Call, delta: Json, events: list[StreamEvent]) -> None:
        function = _function(delta)
        arguments = function.get("arguments")
        if arguments is None:
            arguments = function.get("input")
        if isinstance(arguments, dict | list):
            arguments = dumps(arguments) if call.arguments.is_empty else ""
        if isinstance(arguments, str) and arguments:
            call.arguments.append(arguments)
            events.append(ToolArgsDelta(call.block, arguments))
        state = {key: value for key, value in delta.items() if key in STATE_KEYS and value}
        if state:
            self._states[call.block] = state
            events.append(ProviderStateReceived(call.block, ProviderState(raw=dumps(state))))

    def add_message_state(self, state: dict[str, object], events: list[StreamEvent]) -> None:
        """Store the message's opaque fields with its first call."""
        block = self._calls[0].block
        events.append(
            ProviderStateReceived(block, ProviderState(raw=dumps({**self._states.get(block, {}), OF_MESSAGE: state})))
        )


def _function(delta: Json) -> Json:
    return child(delta, "function") or child(delta, "custom")


def _id(delta: Json) -> str:
    call_id = text(delta, "id")
    return "" if call_id in NO_ID else call_id
