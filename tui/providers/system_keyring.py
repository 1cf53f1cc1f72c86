"""The system's keyring, which may be missing, fail or hang."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from tui.providers.redaction import Secret

KEYRING_SERVICE = "ponder"
KEYRING_LIMIT_S = 2.0
"""Longest wait for the keyring, which may hang if no secret service runs."""

T = TypeVar("T")


class Keyring:
    """The system's keyring. After one timeout it is not used again."""

    def __init__(self) -> None:
        self.is_silent = False
        """It did not answer in time: what it holds is unknown."""

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
        """Remove a key if there is one; nothing is removed if the keyring does not answer."""

        def remove() -> None:
            _spare_the_compiler()
            import keyring

            keyring.delete_password(KEYRING_SERVICE, _account(provider, host))

        self._in_time(remove)

    def _in_time(self, call: Callable[[], T]) -> T | None:
        """Run a call in its own thread; returns None if it fails or times out. A hanging thread is abandoned."""
        if self.is_silent:
            return None
        import queue

        answer: queue.SimpleQueue[T | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                answer.put(call())
            except _keyring_faults():
                answer.put(None)

        try:
            threading.Thread(target=work, name="keyring", daemon=True).start()
            return answer.get(timeout=KEYRING_LIMIT_S)
        except (queue.Empty, RuntimeError):  # or the system allows no more threads
            self.is_silent = True
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
