"""Loads what draws an answer before the first one arrives, on a thread: this takes longer than a frame may."""

from __future__ import annotations

import gc
from functools import cache

from tui.ui.thread_switching import frequent_thread_switches


@cache
def load() -> None:
    """Import the modules and make the parser, once."""
    with frequent_thread_switches():
        # Imported here, on the thread: this module belongs to the first screen.
        from tui.ui.markdown import document  # noqa: F401  # what the transcript imports with the first words
        from tui.ui.markdown.tokens import parse

        parse("")
    gc.freeze()  # as after the start: all of it stays, and a collection need not look at it
