"""What was learned about token counts, kept between starts. Losing it costs accuracy, nothing else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from tui.context.calibration import Calibration
from tui.settings.user_files import read_user_text


class CalibrationFile:
    """Read at the start, written at the end when something new was learned."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._learned: Calibration | None = None

    def read(self) -> Calibration:
        """What is known from earlier starts."""
        try:
            return Calibration.from_table(json.loads(read_user_text(self._path) or "{}"))
        except (OSError, ValueError, RecursionError):
            return Calibration()

    def update(self, calibration: Calibration) -> None:
        """Something was learned."""
        self._learned = calibration

    def save(self) -> None:
        """Write it."""
        if self._learned is not None:
            from tui.settings.atomic import write_atomically  # the start only reads

            with contextlib.suppress(OSError):
                write_atomically(self._path, json.dumps(self._learned.as_table()))
                self._learned = None
