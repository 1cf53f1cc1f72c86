"""Runs the command that prints a provider's key: ``key_command`` in ``config.toml``, for example ``op read …``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from tui.catalog.facts import ProviderFacts
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.configured_secrets import learn_variables
from tui.providers.key_programs import MOST_BYTES, Programs
from tui.providers.key_wait import KeyWait
from tui.providers.redaction import Redactor

LIMIT_S = 30.0
"""A password manager may wait for a fingerprint."""
MOST_REASON = 200


class KeyCommands:
    """The commands that run now. ``stop`` ends them, so that none delays the end of the program."""

    def __init__(self) -> None:
        self._programs = Programs()

    def output(self, provider: ProviderFacts, waiting: KeyWait | None = None) -> str:
        """Return the first line that the command prints; raises ProviderError(NO_KEY). Blocking.

        Giving up the waiting ends the command: commands run one after the other, and each for one request.
        """
        try:
            waiting = waiting or KeyWait()
            with waiting.ended_by(self._programs.end):
                printed = self._programs.run(provider.key_command, LIMIT_S, lambda: waiting.given_up)
        except TimeoutError:
            raise _failed(provider, f"did not end within {LIMIT_S:.0f} seconds.") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise _failed(provider, f"cannot be started: {reason}.") from None
        if printed.is_too_long:
            raise _failed(provider, f"printed more than {MOST_BYTES // 1024} KB.")
        if printed.code:
            raise _failed(provider, f"failed with {_how_it_ended(printed.code)}{_reason(printed.errors)}.")
        first = printed.output.decode("utf-8", "replace").partition("\n")[0].strip()
        if not first:
            raise _failed(provider, "printed no key.")
        return first

    def stop(self) -> None:
        """End the running commands; later ones end at once."""
        self._programs.stop()


def open_key_commands(redactor: Redactor, environment: Mapping[str, str]) -> KeyCommands:
    """Return the commands. They get the environment and say why they fail: its secrets are known first."""
    learn_variables(redactor, environment)
    return KeyCommands()


def _how_it_ended(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _reason(errors: bytes) -> str:
    """The last line of what it wrote to stderr, shortened."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {lines[-1][:MOST_REASON].rstrip('.')}" if lines else ""


def _failed(provider: ProviderFacts, what: str) -> ProviderError:
    return ProviderError(
        ErrorKind.NO_KEY,
        f"The command for the key of {provider.title}, `{shlex.join(provider.key_command)}`, {what}",
        advice=f"Correct `key_command` of `[providers.{provider.id}]` in `config.toml`, or run the command by hand.",
    )
