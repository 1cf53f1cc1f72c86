"""The sidebar: model, thinking, context, session."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tui.commands.context import Desk
from tui.domain.usage import MeterReading
from tui.engine.state import SessionView


class Sidebar(VerticalScroll, can_focus=False):
    """Docked at the right."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="sidebar")
        self._desk = desk
        self._meter = Static("", markup=False, id="meter")

    def compose(self) -> ComposeResult:
        """Meter for now."""
        yield self._meter

    def show(self, view: SessionView) -> None:
        """Draw a session."""
        if view.meter is not None:
            self.show_meter(view.meter)

    def show_meter(self, reading: MeterReading) -> None:
        """Draw the meter."""
        self._meter.update(f"{reading.effective}")
