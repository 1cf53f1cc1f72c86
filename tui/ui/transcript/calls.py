"""The tool calls of the running turn: where each stands on the screen, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui.domain.blocks import ToolResultBlock
from tui.domain.events import ToolFinished
from tui.domain.messages import Message
from tui.ui.transcript.blocks import ToolCall, ToolState
from tui.ui.transcript.build import fill_result
from tui.ui.transcript.section import Section


class Calls:
    """Calls by their ids. Of a call nobody knows nothing is shown."""

    def __init__(self, changed: Callable[[Section], None]) -> None:
        self._changed = changed
        self._known: dict[str, tuple[Section, ToolCall]] = {}

    def know(self, section: Section, calls: Mapping[str, ToolCall]) -> None:
        """These stand in this section."""
        self._known.update({call_id: (section, call) for call_id, call in calls.items()})

    def clear(self) -> None:
        """The turn is over."""
        self._known.clear()

    def state(self, call_id: str, state: ToolState) -> None:
        """It waits, runs, or may not."""
        if (found := self._known.get(call_id)) is not None:
            found[1].state = state
            self._changed(found[0])

    def says(self, call_id: str, text: str) -> None:
        """It says something while it runs."""
        if (found := self._known.get(call_id)) is not None:
            found[1].detail = [*found[1].detail[:1], ("", text)]
            self._changed(found[0])

    def finished(self, event: ToolFinished) -> None:
        """It is over."""
        if (found := self._known.get(event.call_id)) is not None:
            fill_result(found[1], event.result)
            found[1].seconds = event.seconds if event.result.seconds is None else event.result.seconds
            self._changed(found[0])

    def answered(self, message: Message) -> None:
        """Calls that were never begun have results, too."""
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and (found := self._known.get(block.call_id)) is not None:
                fill_result(found[1], block)
                self._changed(found[0])
