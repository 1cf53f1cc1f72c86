"""Keeps logins at MCP servers where keys are kept: in the keyring or, without one, in the credentials file."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tui.domain.errors import ConfigError
from tui.providers.keys import CredentialsFile, KeyLocation, SavedKey
from tui.providers.redaction import Redactor, Secret
from tui.providers.system_keyring import Keyring
from tui.settings.merged_file import locked


class McpLogins:
    """A login is bound to the server's name and full address. The methods block."""

    def __init__(self, credentials: Path, redactor: Redactor, open_keyring: Callable[[], Keyring] = Keyring) -> None:
        self._file = CredentialsFile(credentials)
        self._redactor = redactor
        self._open_keyring = open_keyring
        self._keyring: Keyring | None = None

    def load(self, name: str, address: str) -> str | None:
        """The saved text; None if there is none for this address, or it cannot be read."""
        with suppress(ConfigError):
            row = self._file.rows().get(_row(name))
            if row is None or row.host != address:
                return None
            found = row.key or self._opened().get(_row(name), address)
            return found.reveal() if found is not None else None
        return None

    def save(self, name: str, address: str, text: str) -> str:
        """Save the text in place of an earlier one; returns where, for the user."""
        secret = Secret(text)
        in_keyring = self._opened().put(_row(name), address, secret)
        with locked(self._file.path):
            self._file.put(SavedKey(provider=_row(name), host=address, key=None if in_keyring else secret))
        return (KeyLocation.KEYRING if in_keyring else KeyLocation.FILE).value

    def forget(self, name: str) -> None:
        """Remove the saved text, if there is one."""
        row = self._file.rows().get(_row(name))
        if row is None:
            return
        if row.key is None:
            self._opened().remove(_row(name), row.host)
        with locked(self._file.path):
            self._file.remove(_row(name))

    def learn(self, secret: str) -> None:
        """Remove this secret from all that is shown, logged or sent from now on."""
        self._redactor.remember(Secret(secret))

    def saved(self) -> list[tuple[str, str]]:
        """The names and addresses of all saved logins."""
        with suppress(ConfigError):
            rows = self._file.rows().values()
            return [
                (row.provider.removeprefix(_row("")), row.host) for row in rows if row.provider.startswith(_row(""))
            ]
        return []

    def _opened(self) -> Keyring:
        if self._keyring is None:
            self._keyring = self._open_keyring()
        return self._keyring


def learn_logins(credentials: Path, redactor: Redactor) -> None:
    """Register the tokens of all saved logins, and the secrets of their clients. Blocking."""
    logins = McpLogins(credentials, redactor)
    for name, address in logins.saved():
        try:
            found = json.loads(logins.load(name, address) or "null")
        except ValueError:
            continue
        for part in ("access_token", "refresh_token", "client_secret"):
            if isinstance(found, dict) and isinstance(found.get(part), str):
                logins.learn(found[part])


def _row(name: str) -> str:
    """No provider has a colon in its name."""
    return f"mcp:{name}"
