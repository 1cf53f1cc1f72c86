"""Logs in at clouds for the providers in use. The official packages read files and ask servers and programs.

They block, some of them for long, and cannot be interrupted: each login has its own thread, which can be left.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol, assert_never

from tui.catalog.facts import Cloud, ProviderFacts
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.clouds.failures import failed, too_slow
from tui.providers.clouds.sigv4 import Clock
from tui.providers.configured_secrets import learn_variables
from tui.providers.key_programs import Programs
from tui.providers.key_wait import KeyWait
from tui.providers.keys import FoundKey
from tui.providers.redaction import Redactor

LIMIT_S = 30.0

Account = tuple[str, tuple[tuple[str, str], ...]]


class CloudLogin(Protocol):
    """The login of one provider at its cloud."""

    def key(self) -> FoundKey:
        """Return credentials that are valid now, renewed if need be; raises ProviderError. Blocking."""
        ...


class CloudLogins:
    """The logins of the providers that were used. Call the methods in a thread: they wait for at most ``LIMIT_S``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logins: dict[Account, CloudLogin] = {}
        self._running: dict[Account, Future[FoundKey]] = {}
        self._programs: dict[Account, Programs] = {}
        """What the logins started."""
        self._waiting: dict[Future[FoundKey], set[KeyWait]] = {}
        """Who waits for each login."""
        self._clock = Clock()
        """The time at AWS outlives a login."""
        self._stopped = False

    def key(self, provider: ProviderFacts, waiting: KeyWait | None = None, *, renewed: bool = False) -> FoundKey:
        """Return the provider's credentials; ``renewed`` logs in again. Raises ProviderError.

        If the only one that waits gives up, the program that gives the login is ended.
        """
        waiting = waiting or KeyWait()
        place = (provider.id, tuple(sorted(provider.account.items())))
        with self._lock:
            if self._stopped:
                raise _program_ends()
            if renewed:
                self._logins.pop(place, None)
            running = self._running.get(place)
            programs = self._programs.setdefault(place, Programs())
            if running is None:
                running = self._running[place] = Future()
                login = self._logins.setdefault(place, _login(provider, self._clock, programs))
                # A daemon: the end of the program does not wait for a metadata service.
                threading.Thread(target=self._run, args=(login, running), name="cloud login", daemon=True).start()
            self._waiting.setdefault(running, set()).add(waiting)
        try:
            with waiting.ended_by(lambda: self._give_up(place, running, waiting)):
                return running.result(LIMIT_S)
        except ProviderError:
            raise
        except TimeoutError:
            with self._lock:
                self._logins.pop(place, None)
            raise too_slow(provider, LIMIT_S, programs.end()) from None
        except Exception as error:
            raise failed(provider, error) from error
        finally:
            with self._lock:
                self._leave(running, waiting)
                if self._running.get(place) is running:
                    del self._running[place]

    def stop(self) -> None:
        """End the waiting, before the program ends; later logins fail at once."""
        with self._lock:
            self._stopped = True
            for running in self._running.values():
                if not running.done():
                    running.set_exception(_program_ends())
            started = tuple(self._programs.values())
        for programs in started:
            programs.stop()

    def _leave(self, running: Future[FoundKey], waiting: KeyWait) -> bool:
        """Wait no longer; returns whether somebody else does."""
        others = self._waiting.pop(running, set()) - {waiting}
        if others:
            self._waiting[running] = others
        return bool(others)

    def _give_up(self, place: Account, running: Future[FoundKey], waiting: KeyWait) -> None:
        """Leave a login that nobody else waits for: the next request begins another one."""
        with self._lock:
            if self._leave(running, waiting) or running.done():
                return
            running.set_exception(ProviderError(ErrorKind.NO_KEY, "The login was given up.", retryable=False))
            programs = self._programs.pop(place, None)
            if self._running.get(place) is running:
                del self._running[place]
                self._logins.pop(place, None)
        if programs is not None:
            programs.stop()

    def _run(self, login: CloudLogin, running: Future[FoundKey]) -> None:
        try:
            key = login.key()
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            with self._lock:
                if not running.done():
                    running.set_exception(error)
            return
        with self._lock:
            if not running.done():
                running.set_result(key)


def open_logins(redactor: Redactor, environment: Mapping[str, str]) -> CloudLogins:
    """Return logins whose packages and programs may log and quote the environment: its secrets are known first."""
    learn_variables(redactor, environment)
    return CloudLogins()


def _login(provider: ProviderFacts, clock: Clock, programs: Programs) -> CloudLogin:
    match provider.cloud:
        case Cloud.AWS:
            from tui.providers.clouds.aws import AwsLogin

            return AwsLogin(provider, clock, programs)
        case Cloud.GOOGLE:
            from tui.providers.clouds.google import GoogleLogin

            return GoogleLogin(provider)
        case Cloud.AZURE:
            from tui.providers.clouds.azure import AzureLogin

            return AzureLogin(provider)
        case None:
            raise ProviderError(ErrorKind.NO_KEY, f"{provider.title} is not an account at a cloud.")
        case _:
            assert_never(provider.cloud)


def _program_ends() -> ProviderError:
    return ProviderError(ErrorKind.NO_KEY, "The login was ended with the program.", retryable=False)
