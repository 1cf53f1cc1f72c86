"""The sidebar: a place at the right that is furnished with its panels once the first screen stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from tui.commands.context import Desk
from tui.domain.usage import MeterReading
from tui.engine.state import SessionView

if TYPE_CHECKING:
    from tui.ui.app import PonderApp
    from tui.ui.panels.model_picker import ModelPicker
    from tui.ui.panels.panels import SidePanels
    from tui.ui.panels.thinking_picker import ThinkingPicker


LOW = 31
"""Rows below which every blank line counts."""


class Sidebar(Vertical):
    """Docked at the right. Its panels are made when they are first asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "back", show=False)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="sidebar")
        self._desk = desk
        self._view: SessionView | None = None
        self._meter: MeterReading | None = None
        self._panels: SidePanels | None = None

    def on_resize(self, event: events.Resize) -> None:
        """Where there are few rows, everything is in sight with less room between."""
        self.set_class(event.size.height < LOW, "-low")

    def furnish(self) -> SidePanels:
        """The panels, made if they are not there yet."""
        if self._panels is None:
            from tui.ui.panels.panels import SidePanels

            if self._view is None:
                self._view = self._desk.chat.view()
            self._panels = SidePanels(self._desk, self._view)
            self.mount(self._panels)
            self._panels.show(self._view)
            if self._meter is not None:
                self._panels.show_meter(self._meter)
        return self._panels

    @property
    def picker(self) -> ModelPicker:
        """Of models."""
        return self.furnish().picker

    @property
    def thinking(self) -> ThinkingPicker:
        """Of levels and budgets."""
        return self.furnish().thinking

    def show(self, view: SessionView) -> None:
        """Draw what changed since the last time; called every frame while something streams."""
        self._view = view
        if self._panels is not None:
            self._panels.show(view)

    def look_again(self) -> None:
        """Other models can be asked now than a moment ago."""
        if self._panels is not None and self._panels.picker.filled:
            self._panels.picker.refresh_rows()

    def redraw(self) -> None:
        """Draw the same otherwise."""
        if self._panels is not None:
            self._panels.meter.redraw()

    def show_meter(self, reading: MeterReading) -> None:
        """The meter with the draft in it."""
        self._meter = reading
        if self._panels is not None:
            self._panels.show_meter(reading)

    def action_leave(self) -> None:
        """Back to writing."""
        cast("PonderApp", self.app).chat.composer.focus()
