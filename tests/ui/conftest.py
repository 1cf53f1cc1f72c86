"""What tests of the screen share."""

from __future__ import annotations

import pytest

from tests.ui.parsed_styles import parse_once
from tests.ui.stillness import stands_still
from tui.ui import global_keys


@pytest.fixture(autouse=True)
def _slow_fingers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pressing again counts as such however long a busy machine took in between."""
    monkeypatch.setattr(global_keys, "AGAIN_S", 120.0)


@pytest.fixture(autouse=True)
def _still_when_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot guesses from the processor's time, in steps of 20 ms, and guesses wrong on a busy machine."""
    monkeypatch.setattr("textual.pilot.wait_for_idle", stands_still)
    monkeypatch.setattr("textual.app.wait_for_idle", stands_still)


@pytest.fixture(autouse=True)
def _styles_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.css.stylesheet.Stylesheet._parse_rules", parse_once)
