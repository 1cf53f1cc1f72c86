"""Runs prompts and commands one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from tui.domain.errors import PonderError

LOG = logging.getLogger(__name__)

Work = Callable[[], Awaitable[object]]


class WorkQueue:
    """Prompts and commands that were entered and are not done yet."""

    def __init__(self, failed: Callable[[PonderError], None], done: Callable[[], None]) -> None:
        """``done`` is called after each piece of work."""
        self._failed = failed
        self._done = done
        self._waiting: asyncio.Queue[Work] = asyncio.Queue()
        self._doing: asyncio.Future[None] | None = None
        self._beside: set[asyncio.Future[None]] = set()

    @property
    def is_idle(self) -> bool:
        return self._doing is None and self._waiting.empty()

    def add(self, work: Work) -> None:
        """Do this after what was entered before."""
        self._waiting.put_nowait(work)

    def do_at_once(self, work: Work) -> None:
        """Do this beside what was entered."""
        doing = asyncio.ensure_future(self._work(work))
        self._beside.add(doing)
        doing.add_done_callback(self._beside.discard)

    def cancel(self) -> bool:
        """Give up what is being done; False if there is nothing."""
        return self._doing is not None and self._doing.cancel()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._doing = asyncio.ensure_future(self._work(await self._waiting.get()))
            try:
                await asyncio.wait({self._doing})
            finally:
                self._doing.cancel()
                self._doing = None
            self._done()  # again: only now is it idle

    async def _work(self, work: Work) -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await work()
        except PonderError as error:
            self._failed(error)
        except Exception as error:  # boundary of a command: an error in it must not end the program
            LOG.exception("what the user entered could not be done")
            kind = type(error).__name__
            self._failed(PonderError(f"This failed ({kind}).", advice="The log has details: /doctor shows its path."))
        self._done()
