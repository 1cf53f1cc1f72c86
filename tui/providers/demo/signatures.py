"""Signatures of the demo's thinking, so that the demo can check the thinking sent back. They protect nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac

_SIGNING_KEY = b"the demo's own ink, not a secret"


def seal(thinking: str) -> str:
    """Return the signature of a text."""
    return base64.b64encode(
        hmac.new(_SIGNING_KEY, thinking.encode("utf-8", "replace"), hashlib.sha256).digest()
    ).decode()


def is_sealed(thinking: str, signature: str) -> bool:
    """Whether the signature is the one of this text."""
    return hmac.compare_digest(seal(thinking).encode(), signature.encode("utf-8", "replace"))


def locked(thinking: str) -> str:
    """Return thinking as an opaque blob that contains its own signature."""
    return base64.b64encode(f"{seal(thinking)}:{thinking}".encode("utf-8", "replace")).decode()


def is_locked(blob: str) -> bool:
    """Whether a blob was made by ``locked`` and is unchanged."""
    try:
        signature, colon, thinking = base64.b64decode(blob, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(colon) and is_sealed(thinking, signature)
