"""Finds a wire by name and imports it on first use."""

from __future__ import annotations

import importlib
from typing import cast

from tui.domain.messages import WireName
from tui.wires.wire import Wire

MODULES = {
    WireName.ANTHROPIC: ("tui.wires.anthropic.decode", "ANTHROPIC"),
    WireName.OPENAI_RESPONSES: ("tui.wires.openai_responses.decode", "RESPONSES"),
    WireName.OPENAI_CHAT: ("tui.wires.openai_chat.decode", "CHAT"),
    WireName.GEMINI: ("tui.wires.gemini.decode", "GEMINI"),
    WireName.OLLAMA: ("tui.wires.ollama.decode", "OLLAMA"),
}


def wire_named(name: WireName | str) -> Wire:
    """Return the wire with this name; raises ValueError for an unknown name."""
    module, value = MODULES[WireName(name)]
    return cast(Wire, getattr(importlib.import_module(module), value))
