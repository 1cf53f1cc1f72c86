"""SHA-256 by Python's own code: ``hashlib`` loads OpenSSL, 3.5 MB that only TLS needs."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType


def sha256(content: bytes) -> bytes:
    """The digest of these bytes, as from ``hashlib``."""
    digest: bytes = _own().sha256(content).digest()
    return digest


@cache
def _own() -> ModuleType:
    for name in ("_sha2", "_sha256"):  # from Python 3.12 on, and before it
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return importlib.import_module("hashlib")
