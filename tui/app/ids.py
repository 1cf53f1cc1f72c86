"""Ids that sort by the time they were made: 48 bits of milliseconds, 80 bits of chance, in Crockford's base 32."""

from __future__ import annotations

import os
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id() -> str:
    """A ULID."""
    number = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
