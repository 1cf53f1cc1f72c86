"""Loads Textual's application without its command palette, which ours replaces."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

_PALETTE = "textual.command"
_NAMES = ("CommandListItem", "CommandPalette", "DiscoveryHit", "Hit", "Hits", "Provider", "SimpleProvider")


def load_textual() -> None:
    """Import ``textual.app``. The palette and the ten widgets it consists of would take a tenth of the start."""
    if "textual.app" in sys.modules or _PALETTE in sys.modules:
        return
    stand_in = ModuleType(_PALETTE)
    for name in _NAMES:  # named in signatures, and used by actions that ENABLE_COMMAND_PALETTE turns off
        setattr(stand_in, name, type(name, (), {}))
    sys.modules[_PALETTE] = stand_in
    try:
        importlib.import_module("textual.app")
    finally:
        del sys.modules[_PALETTE]
