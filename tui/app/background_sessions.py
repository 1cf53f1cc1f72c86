"""Sessions that go on after the user has left them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui.domain.errors import StoreError
from tui.domain.events import AppEvent, ApprovalAsked, ApprovalSettled, TurnFailed, TurnFinished, TurnStarted
from tui.domain.fast_dataclass import dataclass
from tui.domain.listing import Activity, OpenSessionInfo
from tui.engine.state import Phase, SessionView, title_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tui.app.program import Program
    from tui.app.session_storage import Storage
    from tui.domain.thinking import ModelSpec
    from tui.engine.session import Session
    from tui.settings.layers import Layers


LOG = logging.getLogger(__name__)
CLOSE_WITHIN_S = 2.0
UNSAVED_LOOK_S = 5.0
"""A session that could not be stored is looked at this often until it can be closed."""


@dataclass(slots=True, kw_only=True)
class BackgroundSession:
    """A session that runs, and what it had when the user left it."""

    id: str
    session: Session
    spec: ModelSpec
    layers: Layers
    life: Future[None] | None
    """The end of ``Session.run``; None if the session is driven from outside."""
    private: bool = False
    watched: bool = False
    """Something waits for the end of its work, to close it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundEvent:
    """Something that happened in a session in the background."""

    session: OpenSessionInfo
    event: AppEvent | None = None
    """None: only the list has changed."""


def activity_of(view: SessionView) -> Activity:
    """What a session does now."""
    if view.approvals:
        return Activity.ASKS
    return Activity.IDLE if view.phase is Phase.IDLE else Activity.RUNNING


CONCERNS_USER = (ApprovalAsked, TurnFailed, TurnFinished)
CHANGES_LIST = (ApprovalSettled, TurnStarted)
"""Events of a session in the background after which the screen shows something else."""


class BackgroundSessions:
    """The sessions that are not on the screen: those that work, and those that ended unseen.

    The screen's thread adds and takes them; the engine's closes them when they are idle.
    """

    def __init__(self, program: Program, storage: Storage) -> None:
        self._program = program
        self._storage = storage
        self._endings: dict[str, Future[None]] = {}
        """What closes each session when its work is done."""
        self._opened: dict[str, BackgroundSession] = {}
        self._unread: dict[str, OpenSessionInfo] = {}
        self._lock = threading.Lock()
        self.listener: Callable[[BackgroundEvent], None] | None = None
        """Called on any thread."""

    def add(self, opened: BackgroundSession) -> bool:
        """Take in a session that the user leaves; whether something must watch for the end of its work."""
        with self._lock:
            self._opened[opened.id] = opened
            opened.session.watch(lambda event, view: self._on_event(opened, event, view))
            was_watched, opened.watched = opened.watched, True
        return not was_watched

    def take(self, session: str) -> BackgroundSession | None:
        """Remove and return a session that the user comes back to; None if it is not here."""
        with self._lock:
            opened = self._opened.pop(session, None)
            if opened is not None:
                opened.session.watch(None)
        return opened

    def claim(self, opened: BackgroundSession) -> bool:
        """Remove a session in order to close it; False if the user came back to it meanwhile."""
        with self._lock:
            is_here = self._opened.get(opened.id) is opened
            if is_here:
                del self._opened[opened.id]
                opened.session.watch(None)
        return is_here

    def is_still_here(self, opened: BackgroundSession) -> bool:
        """If the session is not, mark it as no longer watched."""
        with self._lock:
            is_here = self._opened.get(opened.id) is opened
            if not is_here:
                opened.watched = False
        return is_here

    def get(self, session: str) -> BackgroundSession | None:
        return self._opened.get(session)

    def all(self) -> Sequence[BackgroundSession]:
        return tuple(self._opened.values())

    def mark_seen(self, session: str) -> None:
        """The user has opened or deleted the session."""
        self._unread.pop(session, None)

    def changed(self, opened: BackgroundSession) -> None:
        """Tell the listener that a session came or went."""
        self._notify(BackgroundEvent(session=self._info(opened, opened.session.glance())))

    def rows(self) -> Sequence[OpenSessionInfo]:
        """The sessions in the background that work or were not seen since they ended, oldest first."""
        running = {opened.id: self._info(opened, opened.session.glance()) for opened in self.all()}
        unread = {name: row for name, row in tuple(self._unread.items()) if name not in running}
        for name, row in running.items():
            if row.activity is Activity.IDLE and name in self._unread:
                unread[name] = self._unread[name]
        working = {name: row for name, row in running.items() if row.activity is not Activity.IDLE}
        return (*working.values(), *unread.values())

    # Closing

    async def set_aside(self, left: BackgroundSession | None) -> None:
        """Let a session that the user leaves go on, or close it if it has nothing to do."""
        if left is None or left.life is None:
            return
        must_watch = self.add(left)  # first, so that nothing it does is missed
        if await asyncio.wrap_future(self._program.engine.call(self._close_if_idle(left))):
            await self.closed(left)
            return
        if must_watch:
            self._endings = {name: ending for name, ending in self._endings.items() if not ending.done()}
            ending = self._endings[left.id] = self._program.engine.call(self._close_when_idle(left))
            ending.add_done_callback(_log_failure)
        self.changed(left)

    async def _close_if_idle(self, opened: BackgroundSession) -> bool:
        return await opened.session.close_if_idle(lambda: self.claim(opened))

    async def _close_when_idle(self, opened: BackgroundSession) -> None:
        """Close a session when its work is done, which frees its lease and its memory. On the engine's thread."""
        while True:
            await opened.session.idle()
            if not self.is_still_here(opened):
                return  # the user came back to it
            if await self._close_if_idle(opened):
                break
            await asyncio.sleep(UNSAVED_LOOK_S)  # something could not be stored yet
        await self.closed(opened)
        self.changed(opened)

    async def closed(self, opened: BackgroundSession) -> None:
        """Wait until a session that closes has stored everything, and give back what it held."""
        if opened.life is not None:
            try:
                await asyncio.wait_for(asyncio.wrap_future(opened.life), CLOSE_WITHIN_S)
            except TimeoutError:
                opened.life.cancel()
        self._program.planner.forget(opened.id)
        self._program.backend.forget(opened.id)
        with contextlib.suppress(StoreError):  # the data folder cannot be written
            await self._storage.release(opened.id)

    async def wait_until_closed(self, session: str) -> None:
        """Wait for the end of a session that is being closed."""
        ending = self._endings.get(session)
        if ending is not None and not ending.done():
            await asyncio.wait({asyncio.wrap_future(ending)}, timeout=CLOSE_WITHIN_S)

    async def begin_closing(self) -> None:
        """End all sessions at the same time; what they have of their answers is stored."""
        self.listener = None
        for opened in self.all():
            await asyncio.wrap_future(self._program.engine.call(opened.session.close()))

    async def wait_until_all_closed(self) -> None:
        """Wait until all sessions have stored everything."""
        left = [opened for opened in self.all() if self.claim(opened)]
        for opened in left:
            await self.closed(opened)
        for session in self._endings.keys() - {opened.id for opened in left}:
            await self.wait_until_closed(session)

    def _on_event(self, opened: BackgroundSession, event: AppEvent, view: SessionView) -> None:
        if self._opened.get(opened.id) is not opened:
            return  # the user has just come back to it
        if isinstance(event, TurnFinished | TurnFailed):
            ended = Activity.FAILED if isinstance(event, TurnFailed) else Activity.DONE
            self._unread[opened.id] = self._info(opened, view, ended)
        if isinstance(event, CONCERNS_USER):
            self._notify(BackgroundEvent(session=self._info(opened, view), event=event))
        elif isinstance(event, CHANGES_LIST):
            self._notify(BackgroundEvent(session=self._info(opened, view)))

    def _notify(self, news: BackgroundEvent) -> None:
        if self.listener is not None:
            self.listener(news)

    def _info(self, opened: BackgroundSession, view: SessionView, activity: Activity | None = None) -> OpenSessionInfo:
        return OpenSessionInfo(
            id=opened.id,
            title=title_of(view),
            activity=activity or activity_of(view),
            private=opened.private,
            queued=len(view.queue),
        )


def _log_failure(ending: Future[None]) -> None:
    if not ending.cancelled() and (error := ending.exception()) is not None:
        LOG.error("a session in the background could not be closed", exc_info=error)


def next_to_see(rows: Sequence[OpenSessionInfo], here: str) -> OpenSessionInfo | None:
    """The session that needs the user most: one that asks, one that ended unseen, else the next that runs."""
    others = [row for row in rows if row.id != here]
    order: Mapping[Activity, int] = {Activity.ASKS: 0, Activity.FAILED: 1, Activity.DONE: 1}
    return min(others, key=lambda row: order.get(row.activity, 2), default=None)
