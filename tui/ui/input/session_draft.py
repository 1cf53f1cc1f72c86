"""Keeps each draft with the session in which it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.engine.state import SessionView
from tui.ui.input.composer import Composer
from tui.ui.services import Shell

if TYPE_CHECKING:
    from tui.app.services import DraftService


def is_begun(view: SessionView | None) -> bool:
    """Whether a prompt was sent in the session."""
    return view is not None and bool(view.turns or view.open_turn is not None)


class SessionDraft:
    """Stores the composer's content for the session on the screen."""

    def __init__(
        self, composer: Composer, service: DraftService, shell: Shell, current_view: Callable[[], SessionView | None]
    ) -> None:
        self._composer = composer
        self._service = service
        self._shell = shell
        self._current_view = current_view
        """The session drawn last."""
        self._session = ""

    def keep(self) -> None:
        """Store the changed draft."""
        if self._session:
            self._service.keep_draft(self._session, self._composer.chips.written_out(self._composer.text))

    def enter(self, view: SessionView) -> None:
        """Restore the draft of the session being opened.

        A draft written before a first prompt has no session to be restored in: it moves to another new session,
        and into the prompt history when a stored session is opened.
        """
        if view.session == self._session:
            return
        carried = bool(self._session) and not is_begun(self._current_view()) and not is_begun(view)
        if not carried:
            self.leave()
        self._session = view.session
        kept = self._service.kept_draft(view.session)
        if kept or not carried:
            self._composer.put(self._composer.chips.recalled(kept))
        if kept:
            self._shell.say("Your draft in this session is back.")

    def leave(self) -> None:
        """Store the draft when the session is left or the program ends."""
        self.keep()
        if self._session and not is_begun(self._current_view()):
            self._service.keep_draft(self._session, "")
            self._service.remember_prompt(self._composer.chips.written_out(self._composer.text))
            self._composer.past.remember(self._composer.chips.remember(self._composer.text))
