"""The login at Google Cloud by google-auth: service accounts, ``gcloud``, workload identity, the metadata service."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.catalog.facts import ProviderFacts
from tui.providers.clouds.failures import failed, not_installed, not_logged_in
from tui.providers.clouds.short_answers import LONGEST, AnswerTooLong
from tui.providers.keys import FoundKey, KeyLocation
from tui.providers.redaction import Secret

if TYPE_CHECKING:
    import httpx
    from google.auth.credentials import Credentials

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
LIMIT_S = 20.0
_SOURCES = {
    "google.oauth2.credentials": "gcloud",
    "google.oauth2.service_account": "service account",
    "google.auth.compute_engine.credentials": "metadata service",
    "google.auth.identity_pool": "workload identity",
    "google.auth.aws": "workload identity",
    "google.auth.pluggable": "workload identity",
    "google.auth.impersonated_credentials": "impersonated service account",
}
"""Modules of google-auth → where their credentials come from."""


class GoogleLogin:
    """The credentials of one provider. google-auth calls them invalid a few minutes before they end."""

    def __init__(self, provider: ProviderFacts) -> None:
        self._provider = provider
        self._credentials: Credentials | None = None
        self._project = ""

    def key(self) -> FoundKey:
        """Return a valid token; raises ProviderError. Blocking."""
        try:
            from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
        except ImportError:
            raise not_installed(self._provider) from None
        try:
            return self._token()
        except DefaultCredentialsError as error:
            if "not found" in str(error).lower():
                raise not_logged_in(self._provider) from None
            raise failed(self._provider, error) from None
        except (GoogleAuthError, OSError, ValueError, TypeError, LookupError) as error:
            raise failed(self._provider, error) from None

    def _token(self) -> FoundKey:
        import google.auth

        request = _Request()
        if self._credentials is None:
            self._credentials, project = google.auth.default(scopes=[SCOPE], request=request)
            self._project = project or ""
        if not self._credentials.valid:
            self._credentials.refresh(request)
        quota = getattr(self._credentials, "quota_project_id", None)
        kind = _SOURCES.get(type(self._credentials).__module__, "login")
        return FoundKey(
            secret=Secret(str(self._credentials.token)),
            location=KeyLocation.CLOUD,
            source=f"Google Cloud login: {kind}",
            headers={"x-goog-user-project": str(quota)} if quota else {},
            account={"project": self._project} if self._project else {},
        )


class _Answer:
    """An answer as google-auth reads it."""

    def __init__(self, answer: httpx.Response, data: bytes) -> None:
        self.status = answer.status_code
        self.headers = answer.headers
        self.data = data


class _Request:
    """The transport of google-auth, on our own HTTP library with the system's certificates."""

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: object,
    ) -> _Answer:
        """Send a request; raises google-auth's TransportError, also for an answer that does not end."""
        from google.auth.exceptions import TransportError

        from tui.providers.http.httpx_connection import httpx, system_trust

        secure = not url.lower().startswith("http:")
        try:
            # The metadata service is plain HTTP on this machine's link: a proxy must not see what it answers.
            with httpx.Client(verify=system_trust() if secure else False, trust_env=secure) as client:
                seconds = min(timeout or LIMIT_S, LIMIT_S)
                end = time.monotonic() + seconds
                request = client.build_request(method, url, content=body, headers=dict(headers or {}), timeout=seconds)
                request.headers["accept-encoding"] = "identity"  # few bytes can become many
                answer = client.send(request, stream=True)
                data = b""
                for piece in answer.iter_bytes():
                    data += piece
                    if len(data) > LONGEST:
                        raise TransportError(AnswerTooLong())
                    if time.monotonic() > end:
                        raise TransportError("the answer does not end")
                return _Answer(answer, data)
        except httpx.HTTPError as error:
            raise TransportError(error) from error
