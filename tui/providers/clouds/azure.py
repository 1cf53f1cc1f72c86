"""The login at Azure by azure-identity: environment, workload and managed identity, ``az login`` and the like."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.catalog.facts import ProviderFacts
from tui.providers.clouds.failures import failed, not_installed, not_logged_in
from tui.providers.clouds.short_answers import limit_answers
from tui.providers.keys import FoundKey, KeyLocation
from tui.providers.redaction import Secret

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken
    from azure.identity import DefaultAzureCredential

SCOPE = "https://ai.azure.com/.default"
RENEW_BEFORE_S = 300.0
_NONE_FOUND = "failed to retrieve a token from the included credentials"
"""What azure-identity says when no login of its chain is there; the reason of each follows."""


class AzureLogin:
    """The token of one provider, renewed five minutes before it ends: not every kind of login keeps its own."""

    def __init__(self, provider: ProviderFacts, now: Callable[[], float] = time.time) -> None:
        self._provider = provider
        self._now = now
        self._credential: DefaultAzureCredential | None = None
        self._token: AccessToken | None = None

    def key(self) -> FoundKey:
        """Return a valid token; raises ProviderError. Blocking."""
        try:
            from azure.core.exceptions import AzureError
            from azure.identity import CredentialUnavailableError, DefaultAzureCredential
        except ImportError:
            raise not_installed(self._provider) from None
        try:
            if self._credential is None:
                limit_answers()
                self._credential = DefaultAzureCredential()
            if self._token is None or self._token.expires_on - self._now() < RENEW_BEFORE_S:
                self._token = self._credential.get_token(SCOPE)
        except (AzureError, OSError, ValueError, TypeError, LookupError) as error:
            if self._credential is not None:
                self._credential.close()
                self._credential = None
            if isinstance(error, CredentialUnavailableError) or _NONE_FOUND in str(error):
                raise not_logged_in(self._provider) from None
            raise failed(self._provider, error) from None
        return FoundKey(secret=Secret(self._token.token), location=KeyLocation.CLOUD, source="Azure login")
