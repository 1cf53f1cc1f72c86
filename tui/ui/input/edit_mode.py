"""Whether the next prompt replaces an earlier turn, and how the screen shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui.domain.counting import count
from tui.engine.state import Phase, SessionView
from tui.ui.input.composer import Composer
from tui.ui.transcript.transcript import Transcript


class ShowRule(Protocol):
    """Draws the line above the composer."""

    def __call__(self, parts: Sequence[str], *, editing: bool) -> None:
        """Show these parts; in the warning colour while an earlier prompt is edited."""
        ...


class EditMode:
    """Edit mode ends whenever the composer becomes empty."""

    def __init__(self, composer: Composer, transcript: Transcript, show_rule: ShowRule) -> None:
        self._composer = composer
        self._transcript = transcript
        self._show_rule = show_rule
        self._view: SessionView | None = None
        self.turn: str | None = None
        """The turn that the next prompt replaces."""
        self._failed: str | None = None
        composer.on_draft = self._drafted

    def begin(self, turn_id: str | None) -> None:
        """Let the next prompt replace this turn."""
        self.turn = turn_id
        self._refresh()

    @property
    def replaced(self) -> str | None:
        """The edited turn, or the last one if it failed and the draft has grown out of its prompt."""
        turns = self._view.turns if self._view is not None else ()
        return self._failed if self.turn is None and turns and turns[-1].id == self._failed else self.turn

    def restored(self, turn_id: str) -> None:
        """The draft is now the prompt of a failed turn."""
        self._failed = turn_id

    def _drafted(self) -> None:
        if self._composer.document.end == (0, 0):
            self.turn = self._failed = None
        self._refresh()

    def show(self, view: SessionView) -> None:
        """Update after the session changed or another one was opened."""
        self._view = view
        self._composer.queued = len(view.queue)
        if all(turn.id != self.turn for turn in view.turns):
            self.turn = None
        self._refresh()

    def _refresh(self) -> None:
        if self._view is None:
            return
        turns = self._view.turns
        place = next((place for place, turn in enumerate(turns) if turn.id == self.turn), None)
        if place is None:
            self._show_rule(queue_text(self._view, drafting=bool(self._composer.text)), editing=False)
            self._transcript.dim_from(None)
        else:
            messages = turns[place].messages
            self._show_rule(edit_text(place, len(turns)), editing=True)
            self._transcript.dim_from(messages[0].id if messages else None)


def edit_text(place: int, turns: int) -> tuple[str, ...]:
    """The effect of sending an edited prompt; ``place`` counts from 0."""
    later = turns - place - 1
    moves = f"{count(later, 'later turn')} {'moves' if later == 1 else 'move'}" if later else "its answer moves"
    return f"editing turn {place + 1} of {turns}", f"{moves} to a branch", "esc cancels"


def queue_text(view: SessionView, *, drafting: bool) -> tuple[str, ...]:
    """The number of queued prompts, and the keys that send them or take them back."""
    if not view.queue:
        return ()
    queued = f"{len(view.queue):,} queued"
    if view.queue_held and view.phase is Phase.IDLE:
        if drafting:
            return f"stopped · {queued}", "enter sends only the draft", "esc adds them to it"
        return f"stopped · {queued}", "enter sends", "esc back to the draft"
    return (queued,) if drafting else (queued, f"↑ takes {'it' if len(view.queue) == 1 else 'the last one'} back")
