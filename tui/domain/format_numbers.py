"""Numbers as text: 62.4k, 2 m 05 s, 1,204 turns."""

from __future__ import annotations


def noun(number: int, singular: str, plural: str = "") -> str:
    """Return ``turn`` or ``turns``. ``plural`` is for irregular plurals."""
    return singular if number == 1 else plural or f"{singular}s"


def count(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 turn``, ``2 turns``, ``1,204 turns``."""
    return f"{number:,} {noun(number, singular, plural)}"


def tokens(number: int) -> str:
    """A number of tokens: 940, 12.4k, 1.2M."""
    if number < 1_000:
        return str(number)
    if number < 999_500:
        short = f"{number / 1_000:.1f}" if number < 99_950 else f"{number / 1_000:.0f}"
        return f"{short.removesuffix('.0')}k"
    return f"{number / 1_000_000:.1f}".removesuffix(".0") + "M"


def input_text(whole: int, cache_read: int | None, cache_write: int | None) -> str:
    """Input tokens with the part that the prompt cache had: ``8.2k (6.1k cached, 1.2k written)``."""
    cache = [f"{tokens(cache_read)} cached"] if cache_read else []
    cache += [f"{tokens(cache_write)} written"] if cache_write else []
    return f"{tokens(whole)} ({', '.join(cache)})" if cache else tokens(whole)


def data_size(number: int) -> str:
    """A number of bytes: 940 bytes, 12 kB, 639 MB, 2.50 GB."""
    if number < 1_000:
        return count(number, "byte")
    if number < 999_500:
        return f"{number / 1e3:.0f} kB"
    return f"{number / 1e6:.0f} MB" if number < 999_500_000 else f"{number / 1e9:.2f} GB"


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


def rate(tokens_a_second: float) -> str:
    """A speed: 48 tok/s, 4.2 tok/s."""
    return f"{tokens_a_second:.0f} tok/s" if tokens_a_second >= 9.95 else f"{tokens_a_second:.1f} tok/s"


def file_size(number: int) -> str:
    """A number of bytes: 940 bytes, 12.4 kB, 1.2 MB."""
    if number < 1_000:
        return count(number, "byte")
    return f"{tokens(number).removesuffix('k').removesuffix('M')} {'kB' if number < 999_500 else 'MB'}"


def share(part: float, whole: float) -> str:
    """A percentage without decimals."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
