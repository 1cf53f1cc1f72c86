"""Parameters that servers refused, stored between starts, so that the next run does not repeat a refused request.

Entries expire after a week, because a server may be updated. Deleting the file forgets them all.
Not part of ``user_state``, which every start loads: most servers refuse nothing.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tui.engine.refused_parameters import REFUSED_FILE, Endpoint, Refused
from tui.settings.user_files import read_user_text, write_atomically

KEPT_S = 7 * 24 * 3600.0
LARGEST_FILE = 1024 * 1024
MOST_ENDPOINTS = 500
MOST_LISTED = 5


class RefusedParametersFile:
    """One file for all servers."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._path = folder / REFUSED_FILE
        self._now = now

    def read(self) -> dict[Endpoint, Refused]:
        """Refused parameters by endpoint; empty if the file is invalid."""
        return {endpoint: refused for endpoint, (_, refused) in self._entries().items()}

    def keep(self, endpoint: Endpoint, refused: Refused) -> None:
        """Store the entry of one endpoint, keeping those other windows have written."""
        entries = {**self._entries(), endpoint: (self._now(), refused)}
        latest = sorted(entries.items(), key=lambda entry: entry[1][0])[-MOST_ENDPOINTS:]
        rows = [{"place": list(one), "at": at, "refused": dict(names)} for one, (at, names) in latest]
        with contextlib.suppress(OSError):
            write_atomically(self._path, json.dumps({"format": 1, "servers": rows}, indent=1))

    def summary(self) -> str:
        """One line for ``ponder doctor``."""
        endpoints = self.read()
        if not endpoints:
            return "no server has refused anything"
        rows = [f"{model} at {provider} ({', '.join(refused)})" for (provider, _, model), refused in endpoints.items()]
        more = f", and {len(rows) - MOST_LISTED} more" if len(rows) > MOST_LISTED else ""
        return f"not sent to {', '.join(rows[:MOST_LISTED])}{more}; delete {self._path} to forget it"

    def _entries(self) -> dict[Endpoint, tuple[float, Refused]]:
        try:
            content = json.loads(read_user_text(self._path, LARGEST_FILE) or "{}")
        except (OSError, ValueError, RecursionError):
            return {}
        rows = content.get("servers") if isinstance(content, dict) else None
        found: dict[Endpoint, tuple[float, Refused]] = {}
        for row in rows if isinstance(rows, list) else ():
            entry = _entry(row)
            if entry is not None and 0 <= self._now() - entry[1] < KEPT_S:
                found[entry[0]] = entry[1:]
        return found


def _entry(row: object) -> tuple[Endpoint, float, Refused] | None:
    if not isinstance(row, Mapping):
        return None
    endpoint, at, refused = row.get("place"), row.get("at"), row.get("refused")
    if not (isinstance(endpoint, list) and len(endpoint) == 3 and all(isinstance(part, str) for part in endpoint)):
        return None
    if not isinstance(at, int | float) or not isinstance(refused, Mapping):
        return None
    names = {str(name): str(value) for name, value in refused.items() if len(str(name)) <= 200}
    return (endpoint[0], endpoint[1], endpoint[2]), float(at), names
