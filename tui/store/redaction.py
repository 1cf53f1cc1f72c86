"""Takes what looks like a key out of text that leaves the store. Pure."""

from __future__ import annotations

import re

MARK = "[key removed]"
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"  # not the end of a word: a task-list is no key
    r"sk-[A-Za-z0-9_-]{20,}"
    r"|AIza[0-9A-Za-z_-]{35}"
    r"|AKIA[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|xox[abpr]-[A-Za-z0-9-]{10,}"
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(r"(Bearer )[A-Za-z0-9._~+/=-]{16,}")
_PASSWORD = re.compile(r"(://[^/\s:@\"'<>]+:)[^/\s@\"'<>]+(@)")


def redacted(text: str) -> str:
    """The text without keys, bearer tokens, private keys and passwords in addresses."""
    return _PASSWORD.sub(rf"\1{MARK}\2", _BEARER.sub(rf"\1{MARK}", _KEYS.sub(MARK, text)))
