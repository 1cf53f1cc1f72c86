"""Numbers in short form: 62.4k, $0.31, 2 m 05 s."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.context.prompt_cache import CacheState


def tokens(count: int) -> str:
    """A token count: 940, 12.4k, 1.2M."""
    if count < 1_000:
        return str(count)
    if count < 999_500:
        short = f"{count / 1_000:.1f}" if count < 99_950 else f"{count / 1_000:.0f}"
        return f"{short.removesuffix('.0')}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def input_text(count: int, cache_read: int | None, cache_write: int | None) -> str:
    """Input tokens with the part that the prompt cache had: ``8.2k (6.1k cached, 1.2k written)``."""
    cache = [f"{tokens(cache_read)} cached"] if cache_read else []
    cache += [f"{tokens(cache_write)} written"] if cache_write else []
    return f"{tokens(count)} ({', '.join(cache)})" if cache else tokens(count)


def cache_text(cached: CacheState | None, separator: str = " · ") -> str:
    """``cached 58k · 41 min left``; without the time if the lifetime is unknown; "" if nothing is cached."""
    if cached is None:
        return ""
    size = f"cached {tokens(cached.tokens)}"
    return size if cached.left_s is None else f"{size}{separator}{ceil(cached.left_s / 60)} min left"


def duration(seconds: float) -> str:
    """A duration: 0.8 s, 44 s, 2 m 05 s, 1 h 03 m."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3_600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02d} m"


def share(part: float, whole: float) -> str:
    """A percentage without decimals."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
