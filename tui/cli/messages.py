"""What a command says besides its result: on stderr, with nothing in it that a terminal obeys."""

from __future__ import annotations

import sys

from tui.domain.printable import printable


def tell(*lines: str) -> None:
    """Each on a line of its own; empty ones are left out. Names of files and models may stand in them."""
    for line in filter(None, lines):
        # A closed stderr is None, and print passes over it.
        print(printable(line), file=sys.stderr)
