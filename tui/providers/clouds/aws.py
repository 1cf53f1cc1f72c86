"""The login at AWS by botocore's chain: environment, profiles, SSO, web identity, containers, instance roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.catalog.facts import ProviderFacts
from tui.providers.clouds.ended_programs import limit_programs, started_by
from tui.providers.clouds.failures import failed, not_installed, not_logged_in
from tui.providers.clouds.short_answers import limit_answers
from tui.providers.clouds.sigv4 import AwsSigner, Clock
from tui.providers.key_programs import Programs
from tui.providers.keys import FoundKey, KeyLocation
from tui.providers.redaction import Secret

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_SOURCES = {
    "env": "environment AWS_ACCESS_KEY_ID",
    "shared-credentials-file": "~/.aws/credentials",
    "config-file": "~/.aws/config",
    "custom-process": "credential_process",
    "sso": "aws sso login",
    "login": "aws login",
    "assume-role": "assumed role",
    "assume-role-with-web-identity": "web identity",
    "container-role": "container role",
    "iam-role": "instance role",
}
"""botocore's words for where credentials come from → ours."""


class AwsLogin:
    """The credentials of one provider. botocore itself renews them before they end."""

    def __init__(self, provider: ProviderFacts, clock: Clock, programs: Programs) -> None:
        self._provider = provider
        self._programs = programs
        self._clock = clock
        self._credentials: Credentials | None = None
        self._region = ""

    def key(self) -> FoundKey:
        """Return the current credentials; raises ProviderError. Blocking."""
        try:
            from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
        except ImportError:
            raise not_installed(self._provider) from None
        try:
            with started_by(self._programs):
                if self._credentials is None:
                    self._credentials = self._log_in()
                frozen = self._credentials.get_frozen_credentials()
        except NoCredentialsError:
            raise not_logged_in(self._provider) from None
        except (BotoCoreError, ClientError, OSError, ValueError, TypeError, LookupError) as error:
            raise failed(self._provider, error) from None
        secret = Secret(frozen.secret_key)
        token = Secret(frozen.token) if frozen.token else None
        return FoundKey(
            secret=secret,
            location=KeyLocation.CLOUD,
            source=self._source(self._credentials.method),
            others=(token,) if token is not None else (),
            account={"region": self._region} if self._region else {},
            signer=AwsSigner(
                access_key=frozen.access_key,
                secret_key=secret,
                session_token=token,
                region=self._region,
                clock=self._clock,
            ),
        )

    def _log_in(self) -> Credentials:
        from botocore.exceptions import NoCredentialsError
        from botocore.session import Session

        limit_answers()
        limit_programs()
        session = Session(profile=self._provider.account.get("profile"))
        self._region = self._provider.account.get("region") or session.get_config_variable("region") or ""
        credentials = session.get_credentials()
        if credentials is None:
            raise NoCredentialsError
        return credentials

    def _source(self, method: str) -> str:
        profile = self._provider.account.get("profile")
        return f"AWS login: {_SOURCES.get(method, method)}" + (f", profile {profile}" if profile else "")
