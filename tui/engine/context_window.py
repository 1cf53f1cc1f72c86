"""How large a context the server will open, where the client decides that: the request and the meter say the same."""

from __future__ import annotations

from tui.domain.messages import WireName
from tui.engine.ports import Ask

OPENED = 32_768
"""Tokens a local server is asked to open. A model's whole window can take more memory than the machine has; whoever
has it sets ``context.limit``."""


def opened_window(ask: Ask) -> int | None:
    """The user's limit; on a wire where every request says how much memory to take, a modest one; else unknown."""
    if ask.settings.context_limit is not None:
        return ask.settings.context_limit
    if ask.target.facts.wire is not WireName.OLLAMA:
        return None
    return min(ask.target.facts.context_window or OPENED, OPENED)
