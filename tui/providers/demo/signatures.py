"""What the demo signs its thinking with, so that the way back is really checked. It guards nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac

_INK = b"the demo's own ink, not a secret"


def seal(thinking: str) -> str:
    """A signature over a stretch of thinking."""
    return base64.b64encode(hmac.new(_INK, thinking.encode("utf-8", "replace"), hashlib.sha256).digest()).decode()


def is_sealed(thinking: str, signature: str) -> bool:
    """Whether the signature is the one over these very words."""
    return hmac.compare_digest(seal(thinking).encode(), signature.encode("utf-8", "replace"))


def locked(thinking: str) -> str:
    """Thinking as an opaque blob that carries its own signature."""
    return base64.b64encode(f"{seal(thinking)}:{thinking}".encode("utf-8", "replace")).decode()


def is_locked(blob: str) -> bool:
    """Whether a blob is one of ours, unchanged."""
    try:
        signature, colon, thinking = base64.b64decode(blob, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(colon) and is_sealed(thinking, signature)
