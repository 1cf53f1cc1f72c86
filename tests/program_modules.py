"""All modules of the program, as far as the packages that they need are installed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import tui


def program_modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(tui.__path__, "tui."):
        if found.name == "tui.__main__":
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            if (missing.name or "tui").startswith("tui"):
                raise
