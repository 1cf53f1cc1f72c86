"""What tests of the screen share."""

from __future__ import annotations

from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.screen import Screen

from tests.ui.applied_styles import apply_once
from tests.ui.known_handlers import known_handlers
from tests.ui.parsed_styles import parse_once
from tests.ui.stillness import stands_still
from tui.ui import global_keys
from tui.ui.panels.model_picker import ModelPicker


@pytest.fixture(autouse=True)
def _on_a_stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fixture for all of it: most tests here are short, and of these each one is a tenth."""
    # Pressing again counts as such however long a busy machine took in between.
    monkeypatch.setattr(global_keys, "AGAIN_S", 120.0)
    # Nobody types first here: every test would wait for the list of the sidebar, and lay out the screen again for it.
    monkeypatch.setattr(ModelPicker, "on_mount", _fill_soon)
    # The pilot guesses from the processor's time, in steps of 20 ms, and guesses wrong on a busy machine.
    monkeypatch.setattr("textual.pilot.wait_for_idle", stands_still)
    monkeypatch.setattr("textual.app.wait_for_idle", stands_still)
    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_once)
    monkeypatch.setattr(Stylesheet, "apply", apply_once)
    monkeypatch.setattr(MessagePump, "_get_dispatch_methods", known_handlers)
    if not request.node.get_closest_marker("frames"):
        monkeypatch.setattr(Compositor, "render_update", _no_frame)


_frame = Compositor.render_update


def _fill_soon(self: ModelPicker) -> None:
    """As the original, but the short list of the sidebar as soon as it has a width, with what else waits for that."""
    if self._few:
        self.call_after_refresh(self._fill)
    else:
        self._fill()


def _no_frame(self: Compositor, screen_stack: list[Screen[Any]] | None = None, **how: bool) -> object:
    """Paint when a test looks, and at its end; a headless screen throws frames away, a third of a test's time.

    The marker ``frames`` is for tests of painting itself.
    """
    if how.get("full"):  # a picture of the screen
        return _frame(self, screen_stack=screen_stack, **how)
    visible_screen_stack.set(screen_stack or [])  # what is below a sheet
    self._dirty_regions.clear()
    return None
