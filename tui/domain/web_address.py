"""Which addresses are links: those that a browser opens as a page of the web."""

from __future__ import annotations

from urllib.parse import urlsplit

from tui.domain.printable import one_line

LONGEST = 2_000
SCHEMES = ("http", "https")


def safe_address(href: str) -> str | None:
    """The address if it is safe to open: http or https, a host, no invisible characters. None otherwise."""
    shown = one_line(href, LONGEST)
    if shown != href or any(character.isspace() for character in href):
        return None
    try:
        parts = urlsplit(href)
        host = parts.hostname
    except ValueError:
        return None
    return href if parts.scheme in SCHEMES and host else None
