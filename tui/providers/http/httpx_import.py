"""Imports httpx without its command line, which would import click, rich and pygments if they are installed.

httpx tries to import ``httpx._main`` and continues without it. None in ``sys.modules`` makes that import fail. Other
modules import httpx from here.
"""

from __future__ import annotations

import sys

if "httpx" not in sys.modules:
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # how Python marks what cannot be imported

import httpx

if sys.modules.get("httpx._main", httpx) is None:
    del sys.modules["httpx._main"]

__all__ = ["httpx"]
