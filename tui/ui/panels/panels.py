"""The panels: model and thinking in the sidebar and in a sheet, context and session in the sidebar only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui.commands.registry import View
from tui.domain.cost import Paid
from tui.domain.events import Severity
from tui.domain.usage import MeterReading, Part
from tui.engine.state import SessionView, same_paid
from tui.ui.chat.status_line import cache_text
from tui.ui.panels.meter_lines import bill_lines, certainty_label, meter_lines, without_arriving_thinking
from tui.ui.panels.model_picker import ModelPicker, key_of
from tui.ui.panels.sidebar import LOW
from tui.ui.panels.thinking_picker import ThinkingPicker
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.context.prompt_cache import CacheState
    from tui.ui.app import PonderApp


def heading(text: str) -> Content:
    """A panel's title."""
    return Content.styled(text, "bold $quiet")


class MeterView(Vertical):
    """Context and session; redrawn only when the reading or the turns change."""

    def __init__(self, plain: Callable[[], bool], cache_savings: Callable[[Sequence[Paid]], float | None]) -> None:
        super().__init__(classes="meter-view")
        self._cache_savings = cache_savings
        self._plain = plain
        self._title = Static(heading("CONTEXT"), markup=False, classes="panel-title")
        self._meter = Static("", markup=False, classes="meter")
        self._bill = Static("", markup=False, classes="bill")
        self._reading: MeterReading | None = None
        self._cached: CacheState | None = None
        self._view: SessionView | None = None
        self._is_running = False
        self._not_sent = 0
        """Thinking that was not sent when no turn ran."""
        self._width = 0
        self._rows = -1
        """Lines of the meter: other widgets move only when this changes."""

    def compose(self) -> ComposeResult:
        """Meter above bill."""
        yield self._title
        yield self._meter
        yield Static(heading("SESSION"), markup=False, classes="panel-title")
        yield self._bill

    def on_resize(self) -> None:
        """Redraw for the new width."""
        self.lay()

    def lay(self) -> None:
        """Format everything for the width."""
        if self._width != self.size.width:
            self._width = self.size.width
            self._draw_meter()
            self._draw_bill()

    def show_session(self, view: SessionView) -> None:
        if self._is_running != (view.open_turn is not None):
            self._is_running = not self._is_running
            self._draw_meter()
        if not same_paid(view, self._view):
            self._view = view
            self._draw_bill()

    def show_meter(self, reading: MeterReading) -> None:
        if reading is not self._reading and reading != self._reading:
            self._reading = reading
            self._draw_meter()

    def show_cached(self, cached: CacheState | None) -> None:
        if cache_text(cached) != cache_text(self._cached):
            self._cached = cached
            self._draw_meter()

    def redraw(self) -> None:
        """Redraw after a theme or settings change."""
        self._draw_meter()

    def _draw_meter(self) -> None:
        if (
            self._reading is None or not self._width or not self.is_attached
        ):  # an event may come while the screen closes
            return
        word = Content.styled(f"   {certainty_label(self._reading)}", "$quiet")
        self._title.update(heading("CONTEXT") + word, layout=False)
        low = self.screen.size.height < LOW
        if not self._is_running:
            self._not_sent = self._reading.parts.get(Part.THINKING_STRIPPED, 0)
        reading = without_arriving_thinking(self._reading, self._not_sent) if self._is_running else self._reading
        lines = meter_lines(reading, self._width, plain=self._plain(), cached=self._cached, low=low)
        rows = lines.plain.count("\n")
        self._meter.update(lines, layout=rows != self._rows)
        self._rows = rows

    def _draw_bill(self) -> None:
        if self._view is not None and self._width:
            paid = self._view.paid
            saved = self._cache_savings(paid)
            self._bill.update(bill_lines(len(self._view.turns), paid, self._width, saved=saved))


class Panels(VerticalScroll, can_focus=False):
    """Model and thinking below each other."""

    def __init__(self, services: AppServices, view: SessionView, *, id: str | None = None, few: bool = False) -> None:  # noqa: A002
        super().__init__(id=id, classes="panels")
        self._paid: SessionView | None = None
        self.picker = ModelPicker(services.models, view.spec, few=few)
        self.thinking = ThinkingPicker(services.models, view.spec, view.plan)
        self._thinking_title = Static(heading("THINKING"), markup=False, classes="panel-title")

    def compose(self) -> ComposeResult:
        """Titles and panels."""
        yield Static(heading("MODEL"), markup=False, classes="panel-title")
        yield self.picker
        self._thinking_title.add_class("-tight")
        yield self._thinking_title
        yield self.thinking

    def on_mount(self) -> None:
        """Size the panels: Textual sends widgets their first size only if no layout was requested since."""
        self.call_after_refresh(self.lay)

    def lay(self) -> None:
        """Format what depends on the width."""
        self.thinking.lay()

    def show(self, view: SessionView) -> None:
        """Draw what changed; called every frame while an answer streams."""
        self.picker.show(view.spec)
        self.thinking.show(view.spec, view.plan)
        if not same_paid(view, self._paid):
            self._paid = view
            self.thinking.redraw()

    @on(ModelPicker.LevelStepped)
    def _step_level(self, event: ModelPicker.LevelStepped) -> None:
        self.thinking.action_step(event.step)
        self.picker.level = self.thinking.chosen_level

    @on(ModelPicker.Selected)
    def _show_levels(self, event: ModelPicker.Selected) -> None:
        self.thinking.display = self._thinking_title.display = event.spec is not None
        if event.spec is not None:
            self.thinking.show_levels_of(event.spec)
            self.picker.level = self.thinking.chosen_level

    @on(ThinkingPicker.Chosen)
    def _level_of_another(self, event: ThinkingPicker.Chosen) -> None:
        self.picker.pick(key_of(event.model), event.model.asked)

    @on(ModelPicker.Picked)
    def _model_picked(self) -> None:
        self.thinking.focus()

    @on(ModelPicker.KeyMissing)
    def _ask_for_key(self, event: ModelPicker.KeyMissing) -> None:
        from tui.ui.dialogs.key_dialog import KeyDialog

        def saved(done: object) -> None:
            if done:
                self.picker.refresh_rows(at=key_of(event.model))
                self.picker.take(event.model)

        provider = event.model.provider
        hint = cast("PonderApp", self.app).services.keys.key_hint(provider)
        self.app.push_screen(KeyDialog(provider, hint), saved)


class WidePanels(Panels):
    """The panels in two columns: models left, what is known of the selected one and what depends on it right."""

    def compose(self) -> ComposeResult:
        """Two columns."""
        with Horizontal(classes="two-columns"):
            with Vertical(classes="first"):
                yield Static(heading("MODEL"), markup=False, classes="panel-title")
                yield self.picker
            with VerticalScroll(classes="second", can_focus=False):
                yield self.picker.facts_page()
                yield self._thinking_title
                yield self.thinking


class SidePanels(Panels):
    """The sidebar's panels: a choice shows a toast and focuses the composer."""

    def __init__(self, services: AppServices, view: SessionView) -> None:
        super().__init__(services, view, few=True)
        self.meter = MeterView(lambda: bool(services.settings.layers().value("ui.plain")), services.cache.savings)

    def compose(self) -> ComposeResult:
        """Context and session below model and thinking."""
        yield from super().compose()
        yield self.meter

    def lay(self) -> None:
        """Format what depends on the width."""
        super().lay()
        self.meter.lay()

    def show(self, view: SessionView) -> None:
        """Draw what changed; called every frame while an answer streams."""
        super().show(view)
        self.meter.show_session(view)
        if view.meter is not None:
            self.meter.show_meter(view.meter)

    def show_cached(self, cached: CacheState | None) -> None:
        """Show what the prompt cache has."""
        self.meter.show_cached(cached)

    def show_meter(self, reading: MeterReading) -> None:
        """Show the meter with the draft included."""
        self.meter.show_meter(reading)

    @property
    def _ponder(self) -> PonderApp:
        return cast("PonderApp", self.app)

    @on(ModelPicker.AllWanted)
    def _show_all(self) -> None:
        start_work(self._ponder, lambda: self._ponder.show_view(View.MODELS, ""))

    @on(ModelPicker.KeysWanted)
    def _list_keys(self) -> None:
        start_work(self._ponder, lambda: self._ponder.show_view(View.KEY, ""))

    @on(ModelPicker.Picked)
    @on(ThinkingPicker.Picked)
    def _say(self, event: ModelPicker.Picked | ThinkingPicker.Picked) -> None:
        self._ponder.say(event.message)
        if isinstance(event, ThinkingPicker.Picked):
            self._ponder.chat.composer.focus()

    @on(ModelPicker.Failed)
    @on(ThinkingPicker.Failed)
    def _failed(self, event: ModelPicker.Failed | ThinkingPicker.Failed) -> None:
        self._ponder.say(event.error.message, Severity.ERROR, event.error.advice)
