"""All models and their thinking levels as a sheet; everything in it is about the model at the bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.widget import Widget

from tui.engine.state import SessionView
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.panels.model_picker import ModelPicker
from tui.ui.panels.panels import Panels, WidePanels
from tui.ui.panels.thinking_picker import ThinkingPicker

LOOK_S = 0.2
TWO_COLUMNS = 72
"""Columns from which models and thinking fit side by side."""


class ModelSheet(Sheet[None]):
    """Models at the left; facts and levels of the selected one at the right."""

    SHAPE: ClassVar[str] = "-side"
    KEYS: ClassVar[Keys] = (
        *(("up down", "model"), ("left right", "level"), ("enter", "use both")),
        *(("tab", "levels"), ("asterisk", "favourite")),
    )

    def __init__(self, view: SessionView, *, thinking: bool) -> None:
        super().__init__()
        self._view = view
        self._begin_with_thinking = thinking

    def inside(self) -> Sequence[Widget]:
        room = self.app.size.width >= TWO_COLUMNS
        self._panels = (WidePanels if room else Panels)(self.ponder.services, self._view)
        return (self._panels,)

    def on_mount(self) -> None:
        """Focus the requested panel."""
        self.retitle("Model and thinking")
        self._panels.show(self._view)
        if self._begin_with_thinking:
            self._panels.thinking.focus()
        else:
            self._panels.picker.focus_filter()
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        view = self.ponder.chat.view()
        if view is not None:
            self._panels.show(view)

    @on(ModelPicker.Picked)
    @on(ThinkingPicker.Picked)
    def _picked(self, event: ModelPicker.Picked | ThinkingPicker.Picked) -> None:
        self.say(event.message)
        if isinstance(event, ThinkingPicker.Picked) or event.with_level:
            self.dismiss(None)

    @on(ModelPicker.Failed)
    @on(ThinkingPicker.Failed)
    def _failed(self, event: ModelPicker.Failed | ThinkingPicker.Failed) -> None:
        self.show_error(event.error)
