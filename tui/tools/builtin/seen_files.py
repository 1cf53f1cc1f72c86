"""Tracks the file versions the model has seen, so that it never overwrites a version it does not know."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tui.domain.errors import ToolError
from tui.tools.builtin.workspace import Stamp

FILES_KEPT = 64
TEXT_KEPT = 256 * 1024
"""Characters; larger files are compared only by their stamp."""
DIFF_SHOWN = 4_000
DIFF_LINES = 20_000
"""Longer texts are not compared line by line: difflib takes minutes for them."""


@dataclass(frozen=True, slots=True)
class _Sight:
    stamp: Stamp
    text: str | None


@dataclass(slots=True)
class SeenFiles:
    """The last version of each file that was read or written in this session."""

    _sights: OrderedDict[Path, _Sight] = field(default_factory=OrderedDict)

    def note(self, real: Path, stamp: Stamp, text: str | None) -> None:
        """Record the current version; without text, only its stamp."""
        self._sights[real] = _Sight(stamp, text if text is not None and len(text) <= TEXT_KEPT else None)
        self._sights.move_to_end(real)
        while len(self._sights) > FILES_KEPT:
            self._sights.popitem(last=False)

    def knows(self, real: Path) -> bool:
        """Whether the file was read or written in this session."""
        return real in self._sights

    def refuse_if_changed(self, real: Path, stamp: Stamp, text: str) -> None:
        """Raises ToolError with the changes if the file is not the version the model saw last."""
        sight = self._sights.get(real)
        if sight is None or sight.stamp == stamp or sight.text == text:
            return
        what = ""
        if sight.text is not None:
            what = "\n" + diff_of(sight.text, text, real.name)[:DIFF_SHOWN]
        raise ToolError(f"`{real.name}` changed since you read it: read it again before you change it.{what}")


def diff_of(before: str, after: str, name: str) -> str:
    """A unified diff. For very long texts, everything between the first and last difference is one hunk."""
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > DIFF_LINES:
        lines: Iterable[str] = _one_hunk(old, new, name)
    else:
        lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends; unlike with ``splitlines``, only a newline ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _one_hunk(old: list[str], new: list[str], name: str) -> list[str]:
    """A diff in linear time; difflib takes quadratic time."""
    shortest = min(len(old), len(new))
    first = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    behind = next((at for at in range(shortest - first) if old[-1 - at] != new[-1 - at]), shortest - first)
    removed, added = old[first : len(old) - behind], new[first : len(new) - behind]
    head = f"@@ -{first + 1},{len(removed)} +{first + 1},{len(added)} @@\n"
    signed = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    return [f"--- a/{name}\n", f"+++ b/{name}\n", head, *signed]
