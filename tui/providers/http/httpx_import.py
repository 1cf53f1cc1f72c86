"""httpx without its command line, which would import click, rich and pygments where they are installed.

``httpx`` tries ``httpx._main`` and does without where it cannot be imported; None in ``sys.modules`` is how Python says
that it cannot. Everything here that needs httpx takes it from this module.
"""

from __future__ import annotations

import sys

if "httpx" not in sys.modules:
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # how Python marks what cannot be imported

import httpx

if sys.modules.get("httpx._main", httpx) is None:
    del sys.modules["httpx._main"]

__all__ = ["httpx"]
