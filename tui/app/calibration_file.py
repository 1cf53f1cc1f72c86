"""The calibration of token estimates, stored between starts. If it is lost, estimates are less accurate."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from tui.context.calibration import Calibration
from tui.settings.user_files import read_user_text


class CalibrationFile:
    """Read at the start; written at the end if it changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._learned: Calibration | None = None

    def read(self) -> Calibration:
        """The stored calibration; an empty one if the file cannot be read."""
        try:
            return Calibration.from_table(json.loads(read_user_text(self._path) or "{}"))
        except (OSError, ValueError, RecursionError):
            return Calibration()

    def update(self, calibration: Calibration) -> None:
        """Set the calibration to save."""
        self._learned = calibration

    def save(self) -> None:
        """Write the calibration if it changed."""
        if self._learned is not None:
            from tui.settings.user_files import write_atomically  # not loaded at the start, which only reads

            with contextlib.suppress(OSError):
                write_atomically(self._path, json.dumps(self._learned.as_table()))
                self._learned = None
