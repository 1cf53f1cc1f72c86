"""Which format an answer is in that could not be read as the one that was configured: seen by what it begins with."""

from __future__ import annotations

import re

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import WireName

SIGNS = (
    (re.compile(rb'"type"\s*:\s*"response\.|"object"\s*:\s*"response"'), WireName.OPENAI_RESPONSES),
    (re.compile(rb'"type"\s*:\s*"message(?:_start)?"'), WireName.ANTHROPIC),
    (re.compile(rb'"candidates"\s*:'), WireName.GEMINI),
    (re.compile(rb'"choices"\s*:'), WireName.OPENAI_CHAT),
    (re.compile(rb'"done"\s*:\s*(?:true|false)'), WireName.OLLAMA),
)


def in_another_format(beginning: bytes, wire: WireName) -> ProviderError | None:
    """The error for an answer in another format than ``wire``; None where it looks like that or like nothing known."""
    found = next((name for sign, name in SIGNS if sign.search(beginning)), wire)
    if found is wire:
        return None
    return ProviderError(
        ErrorKind.NOT_A_STREAM,
        f"The server answers as `{found.value}`, not as `{wire.value}`.",
        advice=f'Set `wire = "{found.value}"` for this provider in `config.toml`.',
    )
