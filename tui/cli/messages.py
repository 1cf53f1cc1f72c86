"""Messages of commands on stderr, with control characters escaped."""

from __future__ import annotations

import sys

from tui.domain.printable import printable


def print_messages(*lines: str) -> None:
    """Print each message on its own line, omitting empty ones. They may contain file and model names."""
    for line in filter(None, lines):
        # A closed stderr is None, which print ignores.
        print(printable(line), file=sys.stderr)
