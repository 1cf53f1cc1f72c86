"""``@file`` in a draft: the word under the cursor, and what it could become."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tui.commands.parse import Completion

MENTION = re.compile(r"(?:^|\s)@([^\s@⟦⟧]{0,200})$")


def mention_at(text: str, column: int, row: int) -> str | None:
    """The path being typed behind an ``@`` at the cursor; None where there is none."""
    lines = text.split("\n")
    if row >= len(lines):
        return None
    found = MENTION.search(lines[row][:column])
    return found[1] if found else None


def mention_rows(start: str, paths: Callable[[str], Sequence[str]]) -> list[Completion]:
    """Rows for the popup."""
    return [Completion(path, path, "") for path in paths(start)]


def with_mention(text: str, column: int, row: int, path: str) -> tuple[str, str]:
    """The draft without the ``@word`` at the cursor, and the word that was there."""
    lines = text.split("\n")
    found = MENTION.search(lines[row][:column])
    if found is None:
        return text, ""
    start = found.start(1) - 1
    lines[row] = lines[row][:start] + lines[row][column:]
    return "\n".join(lines), path
