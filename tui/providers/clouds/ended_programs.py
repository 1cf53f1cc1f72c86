"""Ends the ``credential_process`` of AWS: botocore waits for it without a limit, and gives it the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tui.providers.key_programs import MOST_BYTES, Programs

LIMIT_S = 30.0
_PROGRAMS: ContextVar[Programs | None] = ContextVar("programs", default=None)
"""Those of the login that runs in this thread: botocore passes nothing on to what starts them."""


@contextmanager
def started_by(programs: Programs) -> Iterator[None]:
    """Start what the login needs among these programs."""
    before = _PROGRAMS.set(programs)
    try:
        yield
    finally:
        _PROGRAMS.reset(before)


class _Process:
    """The part of ``subprocess.Popen`` that botocore uses."""

    def __init__(self, words: Sequence[str], **_: object) -> None:
        self._words = words
        self.returncode = 0

    def communicate(self) -> tuple[bytes, bytes]:
        printed = (_PROGRAMS.get() or Programs()).run(self._words, LIMIT_S)
        if printed.is_too_long:
            raise OSError(f"`{self._words[0]}` printed more than {MOST_BYTES // 1024} KB")
        self.returncode = printed.code
        return printed.output, printed.errors


def limit_programs() -> None:
    """Run every ``credential_process`` from now on by ``started_by``, also that of a profile whose role is assumed."""
    from botocore import credentials

    if credentials.ProcessProvider.__module__ == __name__:
        return

    class ProcessProvider(credentials.ProcessProvider):  # type: ignore[misc]  # botocore has no types
        """Starts the program without the terminal, and ends it."""

        def __init__(self, profile_name: str, load_config: object) -> None:
            super().__init__(profile_name, load_config, popen=_Process)

    credentials.ProcessProvider = ProcessProvider
