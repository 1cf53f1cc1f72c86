"""Text that every server can read."""

from __future__ import annotations

from tui.domain.assemble import whole_text


def scrubbed(text: str) -> str:
    """The text with lone surrogates and NUL as U+FFFD; the very same object where there are none."""
    return whole_text([text]).replace("\0", "\ufffd")
