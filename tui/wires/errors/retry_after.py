"""Reads how long a server asks the client to wait, from headers, body or message; the first plausible value counts.

Dates are compared with the response's own ``Date`` header, because the local clock may be wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tui.domain.lazy_regex import lazy_regex
from tui.wires.json_text import child, children, text

LONGEST_BELIEVED_S = 7 * 24 * 3600.0
"""Longer delays are taken for server bugs and ignored."""

_UNIT_S = {"d": 86400.0, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "sec": 1.0, "ms": 0.001, "us": 1e-6, "µs": 1e-6}
_PIECE = lazy_regex(
    r"(\d{1,12}(?:\.\d{1,12})?)\s?(ms|us|µs|d|h|min|m|sec|s)(?:onds?|inutes?|econds?|utes?)?(?![a-z])", re.I
)
_ASKED = lazy_regex(
    r"(?:try again|retry|wait|available|resets?)(?: after| in| for)?:?\s{1,3}"
    r"((?:\d[\d.]{0,15}\s?[a-zµ]{1,8}[ ,]{0,2}){1,4})",
    re.I,
)
_NUMBER = lazy_regex(r"\d{1,15}(?:\.\d{1,15})?\Z")
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset")
_ANTHROPIC_BUCKETS = ("requests", "tokens", "input-tokens", "output-tokens")


def retry_hint(
    headers: Mapping[str, str], body: object = None, text: str = "", *, status: int | None = None
) -> float | None:
    """Return the delay in seconds, or None if there is no plausible one. Header names must be in lower case."""
    for seconds in (
        _scaled(headers.get("retry-after-ms"), 0.001),
        _retry_after(headers),
        _google_delay(body),
        _delay_in_message(text),
        _emptied_bucket(headers) if status == 429 else None,
    ):
        if seconds is not None and math.isfinite(seconds) and 0 < seconds <= LONGEST_BELIEVED_S:
            return seconds
    return None


def duration_s(duration: str) -> float | None:
    """Parse ``34.07s``, ``900ms``, ``6m0s``, ``1h2m`` or ``2 minutes`` into seconds; None if there is no duration."""
    pieces = _PIECE.findall(duration[:64])
    return sum(float(count) * _UNIT_S[unit.lower()] for count, unit in pieces) if pieces else None


def _scaled(value: str | None, factor: float) -> float | None:
    value = (value or "").strip()
    return float(value) * factor if _NUMBER.match(value) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if _NUMBER.match(value):
        return float(value)
    return _until(_http_date(value), headers) or (duration_s(value) if value[0].isdigit() else None)


def _http_date(value: str | None) -> datetime | None:
    from email.utils import parsedate_to_datetime  # imports the email package, so it is loaded only when needed

    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _until(moment: datetime | None, headers: Mapping[str, str]) -> float | None:
    sent = _http_date(headers.get("date"))
    if moment is None or sent is None:
        return None
    return (moment - sent).total_seconds()


def _google_delay(body: object) -> float | None:
    if isinstance(body, list) and body:
        body = body[0]
    details: Sequence[Mapping[str, object]] = children(child(body, "error"), "details")
    for detail in details:
        delay = text(detail, "retryDelay")
        if delay:
            return duration_s(delay)
    return None


def _delay_in_message(message: str) -> float | None:
    found = _ASKED.search(message[:4000])
    return duration_s(found[1]) if found else None


def _emptied_bucket(headers: Mapping[str, str]) -> float | None:
    """Return the longest reset time among the rate limits with nothing remaining."""
    waits = [
        _reset(headers.get(name, "").strip(), headers) or 0.0
        for name in _RESETS
        if headers.get(name.replace("reset", "remaining"), "").strip() == "0"
    ]
    for bucket in _ANTHROPIC_BUCKETS:
        if headers.get(f"anthropic-ratelimit-{bucket}-remaining", "").strip() == "0":
            moment = _rfc3339(headers.get(f"anthropic-ratelimit-{bucket}-reset", ""))
            waits.append(_until(moment, headers) or 0.0)
    return max(waits, default=None)


def _reset(value: str, headers: Mapping[str, str]) -> float | None:
    """Parse a Go duration or a number: milliseconds since 1970, seconds since 1970, or remaining seconds, by size."""
    if not _NUMBER.match(value):
        return duration_s(value)
    count = float(value)
    if count <= 1e9:
        return count
    sent = _http_date(headers.get("date"))
    epoch_s = count / 1000 if count > 1e12 else count
    return epoch_s - sent.timestamp() if sent else None


def _rfc3339(value: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
