"""What the open sessions do: the one on the screen and those in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.app.background_sessions import BackgroundEvent, activity_of, next_to_see
from tui.app.current_session import CurrentSession
from tui.domain.listing import Activity, OpenSessionInfo
from tui.engine.state import title_of


class SessionsService:
    """Lists the open sessions, and deletes the one on the screen."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current

    @property
    def private(self) -> bool:
        """Whether nothing of the session on the screen is stored."""
        return self._current.private

    def open_sessions(self) -> Sequence[OpenSessionInfo]:
        """The session on the screen, then those in the background that work or ended there unseen."""
        current = self._current
        view = current.session.glance()
        shown = OpenSessionInfo(
            id=current.session_id,
            title=title_of(view),
            activity=activity_of(view),
            on_screen=True,
            private=current.private,
            queued=len(view.queue),
        )
        return (shown, *(row for row in current.background.rows() if row.id != shown.id))

    def working(self) -> Sequence[OpenSessionInfo]:
        """The sessions with a turn or a compression that runs."""
        return [row for row in self.open_sessions() if row.activity in (Activity.RUNNING, Activity.ASKS)]

    def next_session(self) -> OpenSessionInfo | None:
        """The other session that needs the user most; None if none works or is unread."""
        return next_to_see(self.open_sessions(), self._current.session_id)

    def listen(self, listener: Callable[[BackgroundEvent], None] | None) -> None:
        """Tell this listener, on any thread, what happens in sessions that are not on the screen."""
        self._current.background.listener = listener

    async def delete_shown(self) -> None:
        """Stop and delete the session on the screen, and start a new one."""
        current = self._current
        async with current.switching:
            deleted = current.session_id
            await current.close_shown()
            current.start(current.spec, private=current.program.options.no_save)
            await current.storage.delete(deleted)
