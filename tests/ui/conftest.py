"""What tests of the screen share."""

from __future__ import annotations

from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.screen import Screen

from tests.ui.applied_styles import apply_once
from tests.ui.parsed_styles import parse_once
from tests.ui.stillness import stands_still
from tui.ui import global_keys
from tui.ui.panels import model_picker


@pytest.fixture(autouse=True)
def _slow_fingers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pressing again counts as such however long a busy machine took in between."""
    monkeypatch.setattr(global_keys, "AGAIN_S", 120.0)


@pytest.fixture(autouse=True)
def _models_listed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types first here: every test would wait for the list of the sidebar.

    Textual leaves out a timer that is late when its task begins, as one of a millisecond sometimes is.
    """
    monkeypatch.setattr(model_picker, "FILL_AFTER_S", 0.03)


@pytest.fixture(autouse=True)
def _still_when_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot guesses from the processor's time, in steps of 20 ms, and guesses wrong on a busy machine."""
    monkeypatch.setattr("textual.pilot.wait_for_idle", stands_still)
    monkeypatch.setattr("textual.app.wait_for_idle", stands_still)


@pytest.fixture(autouse=True)
def _no_frames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint when a test looks, and at its end; a headless screen throws frames away, a third of a test's time.

    The marker ``frames`` is for tests of painting itself.
    """
    if request.node.get_closest_marker("frames"):
        return
    frame = Compositor.render_update

    def no_frame(self: Compositor, screen_stack: list[Screen[Any]] | None = None, **how: bool) -> object:
        if how.get("full"):  # a picture of the screen
            return frame(self, screen_stack=screen_stack, **how)
        visible_screen_stack.set(screen_stack or [])  # what is below a sheet
        self._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", no_frame)


@pytest.fixture(autouse=True)
def _styles_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.css.stylesheet.Stylesheet._parse_rules", parse_once)
    monkeypatch.setattr("textual.css.stylesheet.Stylesheet.apply", apply_once)
