"""Storage of keys in the system's keyring or in a private file; each key is bound to a host."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.providers.keys.secret import Secret
from tui.settings.user_files import make_private_folder, parse_user_toml, read_user_text

KEYRING_SERVICE = "ponder"
KEYRING_LIMIT_S = 2.0
"""Longest wait for the keyring, which may hang if no secret service runs."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One row of the credentials file."""

    provider: str
    host: str
    key: Secret | None
    """None if the key is in the keyring."""


class CredentialsFile:
    """``credentials.toml``, mode 0600. It also lists the keys in the keyring, because a keyring cannot list them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> dict[str, Saved]:
        """Return all rows; raises ConfigError if other users can read the file or own it."""
        import tomllib

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
        except tomllib.TOMLDecodeError:
            raise ConfigError(f"`{self.path}` is not readable TOML.", file=str(self.path)) from None
        rows = {}
        for provider, row in table.items():
            if isinstance(row, dict) and isinstance(row.get("host"), str):
                key = row.get("key")
                rows[provider] = Saved(
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

    def put(self, row: Saved) -> None:
        """Add or replace a row."""
        self._write({**self.rows(), row.provider: row})

    def remove(self, provider: str) -> bool:
        """Remove a row; returns whether there was one."""
        rows = self.rows()
        if rows.pop(provider, None) is None:
            return False
        self._write(rows)
        return True

    def _write(self, rows: dict[str, Saved]) -> None:
        import tomli_w

        table = {
            row.provider: {"host": row.host} | ({"key": row.key.reveal()} if row.key is not None else {})
            for row in rows.values()
        }
        make_private_folder(self.path.parent)
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}.{threading.get_ident()}")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(tomli_w.dumps(table).encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        finally:
            fresh.unlink(missing_ok=True)


class Keyring:
    """The system's keyring. After one timeout it is not used again."""

    def __init__(self) -> None:
        self._gone = False

    def get(self, provider: str, host: str) -> Secret | None:
        """Return the saved key of a provider and host; None also if the keyring does not answer."""

        def ask() -> str | None:
            _spare_the_compiler()
            import keyring

            return keyring.get_password(KEYRING_SERVICE, _account(provider, host))

        found = self._in_time(ask)
        return Secret(found) if found else None

    def put(self, provider: str, host: str, key: Secret) -> bool:
        """Save a key; returns False if the keyring did not store it."""

        def save() -> bool:
            _spare_the_compiler()
            import keyring

            keyring.set_password(KEYRING_SERVICE, _account(provider, host), key.reveal())
            return keyring.get_password(KEYRING_SERVICE, _account(provider, host)) == key.reveal()

        return self._in_time(save) is True

    def remove(self, provider: str, host: str) -> None:
        """Remove a key if there is one."""

        def remove() -> None:
            _spare_the_compiler()
            import keyring

            keyring.delete_password(KEYRING_SERVICE, _account(provider, host))

        self._in_time(remove)

    def _in_time(self, call: Callable[[], T]) -> T | None:
        """Run a call in its own thread; returns None if it fails or times out. A hanging thread is abandoned."""
        if self._gone:
            return None
        import queue

        answer: queue.SimpleQueue[T | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                answer.put(call())
            except _keyring_faults():
                answer.put(None)

        threading.Thread(target=work, name="keyring", daemon=True).start()
        try:
            return answer.get(timeout=KEYRING_LIMIT_S)
        except queue.Empty:
            self._gone = True
            return None


def _spare_the_compiler() -> None:
    """Prevent ``import keyring`` from running the compiler on Linux. Call this before the import.

    keyring imports the backends of all systems. The macOS backend calls ``find_library``, which on Linux runs
    ldconfig, the compiler and the linker with our environment and the keys in it. keyring ignores a backend that
    cannot be imported.
    """
    if sys.platform != "darwin":
        sys.modules.setdefault("keyring.backends.macOS.api", None)  # type: ignore[arg-type]  # as Python marks it


def _account(provider: str, host: str) -> str:
    return f"{provider}@{host}"


def _keyring_faults() -> tuple[type[Exception], ...]:
    """Return the exceptions that keyring backends raise, and ImportError: keyring may not be installed."""
    known = (ImportError, OSError, RuntimeError, ValueError, TypeError, AttributeError, LookupError)
    try:
        from keyring.errors import KeyringError
    except ImportError:
        return known
    return (*known, KeyringError)
