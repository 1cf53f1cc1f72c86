"""Ids that sort by creation time (ULID): 48 bits of milliseconds and 80 random bits in Crockford's base 32."""

from __future__ import annotations

import os
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id() -> str:
    number = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
