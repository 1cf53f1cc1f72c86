"""Signs requests for AWS (Signature Version 4).

botocore signs too, but only with this machine's clock. A test compares the two.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urlsplit

from tui.domain.fast_dataclass import dataclass
from tui.providers.redaction import Secret

ALGORITHM = "AWS4-HMAC-SHA256"
SIGNED_TOO = ("anthropic-version", "content-type")
"""Headers of ours that are signed besides the host and AWS's own. A proxy may change the others."""
LARGE_SKEW_S = 60.0
"""AWS accepts five minutes. A smaller difference than this one does not explain a refusal."""


class Clock:
    """The time at AWS, as far as it is known: this machine's, corrected by the server's after a refusal."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._ahead_s = 0.0
        self._corrected = False

    def time(self) -> datetime:
        """The time to sign with."""
        try:
            return datetime.fromtimestamp(self._now() + self._ahead_s, UTC)
        except (ValueError, OverflowError, OSError):  # the year 10000, by the server's clock
            return datetime.fromtimestamp(self._now(), UTC)

    def compare(self, date: str) -> None:
        """Take over the time of a ``Date`` header if it differs so much that a signature may fail."""
        try:
            server = parsedate_to_datetime(date).timestamp()
        except (ValueError, TypeError):
            return
        if abs(server - self._now() - self._ahead_s) >= LARGE_SKEW_S:
            self._ahead_s = server - self._now()
            self._corrected = True

    def was_corrected(self) -> bool:
        """Whether the time was corrected since the last question."""
        corrected, self._corrected = self._corrected, False
        return corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSigner:
    """The credentials of one login, and where they sign for."""

    access_key: str
    secret_key: Secret
    session_token: Secret | None
    region: str
    clock: Clock

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """Return the headers that sign this request. It must be sent with exactly these bytes."""
        now = self.clock.time().strftime("%Y%m%dT%H%M%SZ")
        parts = urlsplit(url)
        added = {"x-amz-date": now, "x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
        if self.session_token is not None:
            added["x-amz-security-token"] = self.session_token.reveal()
        signed = {name: headers[name] for name in SIGNED_TOO if name in headers} | added
        signed["host"] = _host(url)
        names = ";".join(sorted(signed))
        canonical = "\n".join(
            (
                method,
                quote(parts.path or "/", safe="/~"),
                _canonical_query(parts.query),
                *(f"{name}:{' '.join(signed[name].split())}" for name in sorted(signed)),
                "",
                names,
                added["x-amz-content-sha256"],
            )
        )
        scope = f"{now[:8]}/{self.region}/{_service(parts.hostname or '')}/aws4_request"
        to_sign = f"{ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = ("AWS4" + self.secret_key.reveal()).encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        added["authorization"] = (
            f"{ALGORITHM} Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        return added


def _host(url: str) -> str:
    """The host as the HTTP library sends it: without user and default port."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return host.rpartition(":")[0] if parts.port is not None and parts.port == default else host


def _service(host: str) -> str:
    return "bedrock-mantle" if host.startswith("bedrock-mantle.") else "bedrock"


def _canonical_query(query: str) -> str:
    pairs = sorted((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
    return "&".join(f"{name}={value}" for name, value in pairs)
