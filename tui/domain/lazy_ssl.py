"""Loads ``asyncio`` without ``ssl``, which takes 5 ms and 4 MB, and gives it to ``asyncio`` when TLS is needed."""

from __future__ import annotations

import importlib
import sys

_WITH_SSL = ("asyncio.base_events", "asyncio.selector_events", "asyncio.proactor_events")
"""The modules of ``asyncio`` that import it where they can."""


def import_asyncio() -> None:
    """Import ``asyncio`` as on a Python that was built without TLS; call this before it is imported elsewhere."""
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as Python marks what cannot be imported
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]


def complete_asyncio() -> None:
    """Let ``asyncio`` use TLS. Our own requests do not need this, because anyio speaks TLS itself."""
    import asyncio.sslproto as tls
    import ssl

    for name in _WITH_SSL:
        module = sys.modules.get(name)
        if module is not None and getattr(module, "ssl", ssl) is None:
            module.ssl = ssl  # type: ignore[attr-defined]
    if getattr(tls, "ssl", ssl) is None:
        importlib.reload(tls)
