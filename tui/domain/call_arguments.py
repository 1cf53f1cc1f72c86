"""The arguments of a tool call as a line shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tui.domain.printable import one_line

MOST_INFORMATIVE = ("command", "pattern", "query", "url", "path", "file", "name")
"""Names of arguments, the most informative first."""
LONGEST_ARGUMENT = 400
LONGEST_PARSED = 512 * 1024
"""Characters of arguments that are parsed: the screen waits meanwhile."""


def parsed_arguments(arguments: str) -> Mapping[str, object] | None:
    """The arguments by name; None if they are too long, or are not a JSON object."""
    if len(arguments) > LONGEST_PARSED:
        return None
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def main_argument(arguments: str) -> str:
    """The most informative argument on one line; all of them, as they were written, if they are not parsed."""
    return main_of(parsed_arguments(arguments), arguments)


def main_of(parsed: Mapping[str, object] | None, arguments: str) -> str:
    """The same for arguments that are parsed already."""
    if parsed is None:
        return one_line(arguments, LONGEST_ARGUMENT)
    values = [str(parsed[name]) for name in MOST_INFORMATIVE if name in parsed]
    shown = values[0] if values else ", ".join(f"{key}: {value}" for key, value in list(parsed.items())[:3])
    return one_line(shown, LONGEST_ARGUMENT)
