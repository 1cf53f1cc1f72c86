"""The draft of each session, stored with the session in which it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tui.engine.state import SessionView
from tui.ui.input.composer import Composer, PromptHistory
from tui.ui.services import UiServices

if TYPE_CHECKING:
    from tui.app.services import DraftService


def is_begun(view: SessionView | None) -> bool:
    """Whether a prompt was sent in the session, if only on a branch that was left."""
    return view is not None and bool(view.turns or view.open_turn is not None or view.elsewhere)


class SessionDraft:
    """Stores the composer's content for the session on the screen."""

    def __init__(
        self,
        composer: Composer,
        service: DraftService,
        ui_services: UiServices,
        current_view: Callable[[], SessionView | None],
    ) -> None:
        self._composer = composer
        self._service = service
        self._ui_services = ui_services
        self._current_view = current_view
        """The session drawn last."""
        self._session = ""
        self._private = False
        self._past_of_others: PromptHistory | None = None
        """The prompts of private sessions while a stored one is shown, and the other way round."""
        self._typing_ahead = False
        self._left: set[str] = set()
        """Sessions that the user has left in this window: their draft comes back without a message."""

    @contextmanager
    def typing_ahead(self) -> Iterator[None]:
        """Meanwhile the composer, which is empty now, has what is typed for the session that may be opened."""
        self._typing_ahead = True
        try:
            yield
        finally:
            self._typing_ahead = False

    def keep(self) -> None:
        """Store the changed draft."""
        if self._session:
            self._service.keep_draft(self._session, self._composer.chips.written_out(self._composer.text))

    def enter(self, view: SessionView) -> None:
        """Restore the draft of the session being opened, and its prompts: private ones are apart from the others.

        A draft written before a first prompt has no session to be restored in: it moves to another new session,
        and into the prompt history when a stored session is opened.
        """
        if view.session == self._session:
            return
        ahead = ""
        if self._typing_ahead:
            ahead = self._composer.text
            self._composer.load_text("")
        before, private = self._private, self._service.is_private(view.session)
        carried = bool(self._session) and not is_begun(self._current_view()) and not is_begun(view)
        if before and not private:
            carried = False  # what was typed in private is stored nowhere
        if not carried:
            self.leave()
        elif private and not before:
            self._service.keep_draft(self._session, "")
        if private is not before:
            self._private = private
            others, self._past_of_others = self._past_of_others, self._composer.past
            self._composer.past = others or PromptHistory(self._composer.past.prompts)
        self._session = view.session
        kept = self._service.kept_draft(view.session)
        if kept or not carried:
            self._composer.put(self._composer.chips.recalled(kept) + ahead)
        elif ahead:
            self._composer.put(ahead)
        if kept and view.session not in self._left:
            self._ui_services.say("Draft restored.")

    def leave(self) -> None:
        """Store the draft when the session is left or the program ends."""
        self.keep()
        self._composer.chips.remember(self._composer.text)  # images come back with it
        self._left.add(self._session)
        if self._session and not is_begun(self._current_view()):
            self._service.keep_draft(self._session, "")
            if not self._private:
                self._service.remember_prompt(self._composer.chips.written_out(self._composer.text))
            self._composer.past.remember(self._composer.chips.remember(self._composer.text))
