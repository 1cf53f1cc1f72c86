"""Finds keys in environment, command, keyring or credentials file. A saved key is sent only to its own host."""

from __future__ import annotations

import os
import re
import stat
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.catalog.facts import AuthStyle, ProviderFacts
from tui.domain.digests import sha256
from tui.domain.errors import ConfigError, ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.providers.redaction import Redactor, Secret
from tui.settings.user_files import parse_user_toml, read_user_text, write_atomically

if TYPE_CHECKING:
    from tui.providers.clouds.logins import CloudLogins
    from tui.providers.clouds.sigv4 import AwsSigner
    from tui.providers.key_command import KeyCommands
    from tui.providers.key_wait import KeyWait
    from tui.providers.system_keyring import Keyring


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedKey:
    """One row of the credentials file."""

    provider: str
    host: str
    key: Secret | None
    """None if the key is in the keyring."""


class CredentialsFile:
    """``credentials.toml``, mode 0600. It also lists the keys in the keyring, because a keyring cannot list them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> dict[str, SavedKey]:
        """Return all rows; raises ConfigError if other users can read the file or own it."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be read: {error.strerror}.", file=str(self.path)) from None
        self._refuse_if_open(status)
        try:
            table = parse_user_toml(read_user_text(self.path) or "")
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be read: {error.strerror}.", file=str(self.path)) from None
        except ValueError:  # it is not TOML
            raise ConfigError(f"`{self.path}` is not valid TOML.", file=str(self.path)) from None
        rows = {}
        for provider, row in table.items():
            if isinstance(row, dict) and isinstance(row.get("host"), str):
                key = row.get("key")
                rows[provider] = SavedKey(
                    provider=provider, host=row["host"], key=Secret(key) if isinstance(key, str) else None
                )
        return rows

    def _refuse_if_open(self, status: os.stat_result) -> None:
        if os.name != "posix":
            return
        if status.st_uid != os.geteuid():
            raise ConfigError(f"`{self.path}` belongs to another user: its keys are not used.", file=str(self.path))
        if stat.S_IMODE(status.st_mode) & 0o077:
            error = ConfigError(f"`{self.path}` can be read by others: its keys are not used.", file=str(self.path))
            error.advice = f"Run `chmod 600 {self.path}`."
            raise error

    def put(self, row: SavedKey) -> None:
        """Add or replace a row."""
        self._write({**self.rows(), row.provider: row})

    def remove(self, provider: str) -> bool:
        """Remove a row; returns whether there was one."""
        rows = self.rows()
        if rows.pop(provider, None) is None:
            return False
        self._write(rows)
        return True

    def _write(self, rows: dict[str, SavedKey]) -> None:
        import tomli_w

        table = {
            row.provider: {"host": row.host} | ({"key": row.key.reveal()} if row.key is not None else {})
            for row in rows.values()
        }
        try:
            write_atomically(self.path, tomli_w.dumps(table))
        except OSError as error:
            raise ConfigError(f"`{self.path}` cannot be written: {error.strerror}.", file=str(self.path)) from None


_VARIABLE = lazy_regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class KeyLocation(StrEnum):
    """Where a key was found."""

    ENVIRONMENT = "environment"
    COMMAND = "key_command"
    KEYRING = "keyring"
    FILE = "credentials file"
    UNSAVED = "memory"
    CLOUD = "cloud login"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """A key and where it was found; ``source`` can be shown."""

    secret: Secret
    location: KeyLocation
    source: str
    others: tuple[Secret, ...] = ()
    """Further secrets of a cloud login."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that a cloud login requires."""
    account: Mapping[str, str] = field(default_factory=dict)
    """What the login knows about the account, such as its region or project."""
    signer: AwsSigner | None = None
    """Signs the request instead of sending the secret."""
    renewed: bool = False
    """The login was renewed because the one before was refused."""


def checked_key(text: str) -> Secret:
    """Return a typed or pasted key without surrounding quotes and space; raises ConfigError for an invalid key."""
    stripped = text.strip().strip("\"'").strip()
    if not stripped:
        raise ConfigError("The key is empty.")
    for position, letter in enumerate(stripped, 1):
        if not "\x21" <= letter <= "\x7e":
            name = unicodedata.name(letter, "control character").lower()
            raise ConfigError(
                f"The key is invalid: character U+{ord(letter):04X} ({name}) at position {position} is not allowed."
            )
    return Secret(stripped)


def _usable(text: str, otherwise: str) -> Secret:
    """Return a key for a request; raises ProviderError(NO_KEY) with a sentence before the reason."""
    try:
        return checked_key(text)
    except ConfigError as error:
        raise ProviderError(ErrorKind.NO_KEY, f"{otherwise} {error.message}") from None


def host_of(base_url: str) -> str:
    """Return host and non-default port of a base URL, which a saved key is bound to."""
    try:
        parts = urlsplit(base_url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    return host if port in (None, 443, 80) else f"{host}:{port}"


def _place(provider: ProviderFacts) -> tuple[str, str]:
    return provider.id, host_of(provider.base_url)


class Keys:
    """Finds, saves and removes keys. The methods block (keyring, file): call them in a thread."""

    def __init__(
        self,
        credentials: Path,
        *,
        environ: Mapping[str, str] | None = None,
        redactor: Redactor | None = None,
        use_keyring: bool = True,
    ) -> None:
        self._file = CredentialsFile(credentials)
        self._environ = os.environ if environ is None else environ
        self._use_keyring = use_keyring
        self._opened: Keyring | None = None
        self._found: dict[tuple[str, str], FoundKey | None] = {}
        self._commands: dict[tuple[str, str], tuple[str, ...]] = {}
        """The commands of providers whose keys come from one, by provider and host."""
        self._command_lock = threading.Lock()
        """Two requests at the same time run the command once: it may ask the user."""
        self._runner: KeyCommands | None = None
        self._clouds: dict[tuple[str, str], str] = {}
        """The accounts of providers that a cloud login was used for, by provider and host."""
        self._logins: CloudLogins | None = None
        self.redactor = Redactor() if redactor is None else redactor

    def find(self, provider: ProviderFacts, *, recorded_only: bool = False) -> FoundKey | None:
        """Return the provider's key, or None if there is none or none is needed. The result is cached.

        A ``key_command`` is not run: it may ask the user, so only a request runs it (``require``). ``recorded_only``
        asks the keyring only for a key that the credentials file lists, and so mostly does not load it.
        """
        if provider.auth is AuthStyle.NONE:
            return None
        place = _place(provider)
        if place not in self._found:
            found = self._from_environment(provider)
            if found is None and provider.key_command:
                self._commands[place] = provider.key_command
                return None
            found = found or self._saved(provider, recorded_only=recorded_only)
            if found is None and recorded_only:
                return None
            if found is not None:
                self.redactor.remember(found.secret)
            self._found[place] = found
        return self._found[place]

    def source(self, provider: ProviderFacts, *, recorded_only: bool = False) -> str:
        """Where the provider's key comes from, also if its command did not run yet; "" if there is no key.

        Nothing logs in at a cloud: ``login_source`` says what its login would be.
        """
        found = self.find(provider, recorded_only=recorded_only)
        if found is not None:
            return found.source
        return KeyLocation.COMMAND.value if _place(provider) in self._commands else ""

    def login_source(self, provider: ProviderFacts) -> str:
        """Where the login at the provider's cloud would come from; "" if there is no sign of one."""
        if provider.cloud is None:
            return ""
        from tui.providers.clouds.login_hints import login_hint

        return login_hint(provider, self._environ)

    def has_key(self, provider: ProviderFacts) -> bool:
        """Whether ``find`` or ``require`` found a key, or a command gives one; a login at a cloud is none."""
        return self._found.get(_place(provider)) is not None or _place(provider) in self._commands

    def account(self, provider_id: str, base_url: str) -> str:
        """Return a hash that identifies the account without revealing the key; "" if no key was found yet.

        A command stands for its account: the key that it prints may be a new one every hour. So does a cloud login.
        """
        place = (provider_id, host_of(base_url))
        command, found = self._commands.get(place), self._found.get(place)
        if command is not None:
            told = "\0".join(command)
        elif place in self._clouds:
            told = self._clouds[place]
        elif found is not None:
            told = found.secret.reveal()
        else:
            return ""
        return sha256(b"ponder account " + told.encode()).hex()[:8]

    def reread(self, provider: ProviderFacts, waiting: KeyWait | None = None) -> FoundKey | None:
        """Read the key again, because it may have been replaced since the last lookup."""
        self._found.pop(_place(provider), None)
        found = self.find(provider) or self._from_command(provider, waiting)
        return found or self._from_cloud(provider, waiting, renewed=True)

    def with_variables(self, provider: ProviderFacts) -> ProviderFacts:
        """Return the provider with ``${NAME}`` in its headers replaced; the values are registered as secrets."""
        if not any("${" in value for value in provider.headers.values()):
            return provider

        def substitute(found: re.Match[str]) -> str:
            value = self._environ.get(found[1], "")
            if not value:
                raise ProviderError(
                    ErrorKind.INVALID_REQUEST,
                    f"A header of {provider.title} uses the variable `{found[1]}`, which is not set.",
                    advice=f"Set `{found[1]}`, or correct `headers` of `[providers.{provider.id}]` in `config.toml`.",
                )
            self.redactor.remember(Secret(value))
            return value

        return replace(
            provider, headers={name: _VARIABLE.sub(substitute, text) for name, text in provider.headers.items()}
        )

    def require(self, provider: ProviderFacts, waiting: KeyWait | None = None) -> FoundKey | None:
        """Return the key like ``find``; raises ProviderError(NO_KEY) if a required key is missing."""
        found = self.find(provider) or self._from_command(provider, waiting) or self._from_cloud(provider, waiting)
        if found is None and provider.auth is not AuthStyle.NONE and not provider.key_optional:
            found = self.reread(provider, waiting)  # it may have been saved meanwhile from another terminal
            if found is None:
                raise self._missing(provider)
        return found

    def _from_environment(self, provider: ProviderFacts) -> FoundKey | None:
        for name in provider.key_env:
            if value := self._environ.get(name, "").strip():
                secret = _usable(value, f"`{name}` does not hold a valid key.")
                return FoundKey(secret=secret, location=KeyLocation.ENVIRONMENT, source=f"environment {name}")
        return None

    def _from_command(self, provider: ProviderFacts, waiting: KeyWait | None) -> FoundKey | None:
        """Run the provider's command, if it has one; raises ProviderError(NO_KEY) if that gives no key."""
        place = _place(provider)
        if place not in self._commands:
            return None
        with self._command_lock:
            if place not in self._found:
                line = self._key_commands().output(provider, waiting)
                secret = _usable(line, f"`key_command` of {provider.title} printed no valid key.")
                self.redactor.remember(secret)
                where = KeyLocation.COMMAND
                self._found[place] = FoundKey(secret=secret, location=where, source=where.value)
            return self._found[place]

    def _from_cloud(self, provider: ProviderFacts, waits: KeyWait | None, *, renewed: bool = False) -> FoundKey | None:
        """Log in at the provider's cloud, if it has one, or use the login there is. Raises ProviderError."""
        if provider.cloud is None:
            return None
        if self._logins is None:
            from tui.providers.clouds.logins import open_logins

            self._logins = open_logins(self.redactor, self._environ)
        key = self._logins.key(provider, waits, renewed=renewed)
        for secret in (key.secret, *key.others):
            self.redactor.remember(secret)
        account = sorted({**key.account, **provider.account}.items())
        self._clouds[_place(provider)] = f"{provider.cloud}\0{account}"
        return key

    def _key_commands(self) -> KeyCommands:
        if self._runner is None:
            from tui.providers.key_command import open_key_commands

            self._runner = open_key_commands(self.redactor, self._environ)
        return self._runner

    def stop_commands(self) -> None:
        """End the commands and cloud logins that run, before the program ends."""
        for running in (self._runner, self._logins):
            if running is not None:
                running.stop()

    def _saved(self, provider: ProviderFacts, *, recorded_only: bool) -> FoundKey | None:
        host = host_of(provider.base_url)
        row = self._file.rows().get(provider.id)
        # The keyring is slow, so it is not read for a server that can do without a key, unless one was saved for it.
        spared = recorded_only or provider.key_optional or provider.cloud is not None
        if (row is not None or not spared) and self._keyring is not None:
            secret = self._keyring.get(provider.id, host)
            if secret is not None:
                return FoundKey(secret=checked_key(secret.reveal()), location=KeyLocation.KEYRING, source="keyring")
        if row is None or row.host != host or row.key is None:
            return None
        return FoundKey(secret=checked_key(row.key.reveal()), location=KeyLocation.FILE, source=str(self._file.path))

    def _missing(self, provider: ProviderFacts) -> ProviderError:
        row = self._file.rows().get(provider.id)
        host = host_of(provider.base_url)
        message = f"There is no key for {provider.title}."
        if row is not None and row.host != host:
            message = f"The key of {provider.title} was saved for {row.host}, so it is not sent to {host}."
        elif self.keyring_is_silent:
            message = (
                f"The keyring does not answer, and {provider.title} has no other key. Unlock it and start ponder again."
            )
        variables = [f"set `{name}`" for name in provider.key_env[:1]]
        advice = " or ".join([*variables, f"run `ponder auth set {provider.id}`"])
        advice = advice[0].upper() + advice[1:] + "."
        if provider.key_url:
            advice += f" Create a key at {provider.key_url}."
        return ProviderError(ErrorKind.NO_KEY, message, advice=advice)

    def save(self, provider: ProviderFacts, text: str) -> KeyLocation:
        """Save a key for this provider's current host, in the keyring or, without one, in the credentials file."""
        secret, host = checked_key(text), host_of(provider.base_url)
        if provider.key_command:
            raise ConfigError(
                f"The key of {provider.title} comes from `key_command` in `config.toml`; a saved key would not be used."
            )
        self.redactor.remember(secret)
        in_keyring = self._keyring is not None and self._keyring.put(provider.id, host, secret)
        if not in_keyring:
            # Once the keyring answers again, its key would be used instead of the new one.
            self._refuse_while_silent(self._file.rows().get(provider.id), f"it holds an older key of {provider.title}")
        self._file.put(SavedKey(provider=provider.id, host=host, key=None if in_keyring else secret))
        self._found.pop((provider.id, host), None)
        return KeyLocation.KEYRING if in_keyring else KeyLocation.FILE

    def use_unsaved(self, provider: ProviderFacts, text: str) -> None:
        """Use a key until the program ends, without saving it."""
        secret, place = checked_key(text), _place(provider)
        self.redactor.remember(secret)
        self._commands.pop(place, None)
        self._found[place] = FoundKey(secret=secret, location=KeyLocation.UNSAVED, source="typed in, not saved")

    def forget(self, provider_id: str) -> bool:
        """Remove the saved key of a provider; returns whether there was one."""
        row = self._file.rows().get(provider_id)
        if row is None:
            return False
        if row.key is None and self._keyring is not None:
            self._keyring.remove(provider_id, row.host)
            self._refuse_while_silent(row, f"it still holds the key of {provider_id}")
        self._file.remove(provider_id)
        self._found.pop((provider_id, row.host), None)
        return True

    @property
    def keyring_is_silent(self) -> bool:
        """The keyring did not answer in time, so that keys in it are not found."""
        return self._opened is not None and self._opened.is_silent

    @property
    def _keyring(self) -> Keyring | None:
        if self._opened is None and self._use_keyring:
            from tui.providers.system_keyring import Keyring

            self._opened = Keyring()
        return self._opened

    def _refuse_while_silent(self, row: SavedKey | None, holds: str) -> None:
        if self.keyring_is_silent and row is not None and row.key is None:
            raise ConfigError(
                f"The keyring does not answer, and {holds}: nothing was changed. Unlock it and try again."
            )

    def saved(self) -> tuple[SavedKey, ...]:
        """Return the rows of the credentials file."""
        return tuple(self._file.rows().values())
