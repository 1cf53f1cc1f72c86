"""The sidebar: a place for the panels, which are loaded and created on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from tui.domain.usage import MeterReading
from tui.engine.state import SessionView
from tui.ui.thread_switching import frequent_thread_switches

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.context.prompt_cache import CacheState
    from tui.ui.app import PonderApp
    from tui.ui.panels.model_picker import ModelPicker
    from tui.ui.panels.panels import SidePanels
    from tui.ui.panels.thinking_picker import ThinkingPicker


def load_panels(models: Callable[[], object]) -> None:
    """Import the panels, on a thread: the first screen and the first keys do without them.

    ``models`` is asked once for nothing, so that its files are read and its prices found here: on the event loop, the
    first list of models stopped the screen for 20 ms.
    """
    with frequent_thread_switches():
        import tui.ui.panels.panels  # noqa: F401  # imported only to load it

        models()


COLUMNS, COLUMNS_WIDE = 30, 44
"""As in the style sheet."""
LOW = 31
"""Screens with fewer rows than this omit blank lines."""


class Sidebar(Vertical):
    """Docked at the right. Its panels are created on first use."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "back", show=False)]

    def __init__(self, services: AppServices) -> None:
        super().__init__(id="sidebar")
        self._services = services
        self._view: SessionView | None = None
        self._meter: MeterReading | None = None
        self._cached: CacheState | None = None
        self._panels: SidePanels | None = None

    @property
    def columns(self) -> int:
        """How wide it is when it is shown."""
        return COLUMNS_WIDE if self.has_class("-wide") else COLUMNS

    def on_resize(self, event: events.Resize) -> None:
        """Reduce spacing on low screens, so that everything stays visible."""
        self.set_class(event.size.height < LOW, "-low")

    def create_panels(self) -> SidePanels:
        """The panels, created if necessary."""
        if self._panels is None:
            from tui.ui.panels.panels import SidePanels

            if self._view is None:
                self._view = self._services.chat.view()
            self._panels = SidePanels(self._services, self._view)
            self.mount(self._panels)
            self._panels.show(self._view)
            if self._meter is not None:
                self._panels.show_meter(self._meter)
            self._panels.show_cached(self._cached)
        return self._panels

    @property
    def picker(self) -> ModelPicker:
        """The model picker."""
        return self.create_panels().picker

    @property
    def thinking(self) -> ThinkingPicker:
        """The thinking picker."""
        return self.create_panels().thinking

    def show(self, view: SessionView) -> None:
        """Draw what changed; called every frame while an answer streams."""
        self._view = view
        if self._panels is not None:
            self._panels.show(view)

    def refresh_models(self) -> None:
        """Refresh the models after availability changed."""
        if self._panels is not None and self._panels.picker.filled:
            self._panels.picker.refresh_rows()

    def redraw(self) -> None:
        """Redraw after a theme or settings change."""
        if self._panels is not None:
            self._panels.meter.redraw()

    def show_meter(self, reading: MeterReading) -> None:
        """Show the meter with the draft included."""
        self._meter = reading
        if self._panels is not None:
            self._panels.show_meter(reading)

    def show_cached(self, cached: CacheState | None) -> None:
        """Show what the prompt cache has."""
        self._cached = cached
        if self._panels is not None:
            self._panels.show_cached(cached)

    def action_leave(self) -> None:
        """Focus the composer."""
        cast("PonderApp", self.app).chat.composer.focus()
