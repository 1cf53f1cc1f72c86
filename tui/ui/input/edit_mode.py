"""Editing an earlier prompt: the state, and what the line above the composer says of it and of the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.domain.format_numbers import count
from tui.domain.messages import Turn
from tui.engine.state import Phase, SessionView
from tui.ui.input.composer import Composer
from tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.ui.input.input_area import InputArea


class EditMode:
    """Edit mode ends whenever the composer becomes empty."""

    def __init__(
        self, composer: Composer, transcript: Transcript, input_area: InputArea, cost: Callable[[SessionView, str], str]
    ) -> None:
        """``cost`` words what editing a turn means for the prompt cache."""
        self._composer = composer
        self._cost_of = cost
        self._cost = ""
        self._transcript = transcript
        self._input_area = input_area
        self._view: SessionView | None = None
        self.turn: str | None = None
        """The turn that the next prompt replaces."""
        self._came_from_end = False
        """The end was followed when the edit began, and is when it is over."""
        self._failed: str | None = None
        self.when_drafted: Callable[[], None] = lambda: None
        """Called when the draft changed."""
        composer.on_draft = self._drafted

    def begin(self, turn_id: str | None) -> None:
        """Let the next prompt replace this turn."""
        self.turn = turn_id
        self._cost = self._cost_of(self._view, turn_id) if self._view is not None and turn_id is not None else ""
        self._refresh()
        self._reveal()

    def _reveal(self) -> None:
        """Scroll to the edited prompt: it and what is below it is replaced."""
        column = self._transcript.column
        index = column.index_of(self._edited_message()) if self._view is not None else None
        if index is not None:
            self._came_from_end = self._came_from_end or column.following
            self._transcript.put_cursor(index, 0)

    def _edited_message(self) -> str:
        turns = self._view.turns if self._view is not None else ()
        index = self._edited_at(turns)
        return turns[index].messages[0].id if index is not None and turns[index].messages else ""

    @property
    def replaced(self) -> str | None:
        """The edited turn, or the last one if it failed and the draft has grown out of its prompt."""
        turns = self._view.turns if self._view is not None else ()
        return self._failed if self.turn is None and turns and turns[-1].id == self._failed else self.turn

    @property
    def is_restored(self) -> bool:
        """Whether the draft is the prompt of the last turn, which failed."""
        return self.turn is None and self.replaced is not None

    def restored(self, turn_id: str) -> None:
        """The draft is now the prompt of a failed turn."""
        self._failed = turn_id
        self._refresh()

    def _drafted(self) -> None:
        if self._composer.was_replaced:
            self._failed = None  # what is typed over the prompt is another one
        if self._composer.document.end == (0, 0):
            self.turn = self._failed = None
        self._refresh()
        self.when_drafted()

    def show(self, view: SessionView) -> None:
        """Update after the session changed or another one was opened."""
        self._view = view
        self._composer.queued = len(view.queue)
        self._composer.turn_runs = view.open_turn is not None
        self._composer.retry = view.retry if view.phase is Phase.RETRYING else None
        self._input_area.show_queue(view)
        if self._edited_at(view.turns) is None:
            self.turn = None
        self._refresh()

    def _edited_at(self, turns: Sequence[Turn]) -> int | None:
        if self.turn is None:
            return None  # as almost always: this is asked in every frame
        return next((index for index, turn in enumerate(turns) if turn.id == self.turn), None)

    def _refresh(self) -> None:
        if self._view is None:
            return
        turns = self._view.turns
        index = self._edited_at(turns)
        if self.is_restored:
            self._input_area.show_rule(FAILED_IS_BACK, editing=True)
            self._transcript.dim_from(None)
        elif index is None:
            self._input_area.show_rule(queue_text(self._view, drafting=bool(self._composer.text)), editing=False)
            self._transcript.dim_from(None)
        else:
            self._input_area.show_rule(edit_text(index, len(turns), self._cost), editing=True)
            self._transcript.dim_from(self._edited_message() or None)
        if self.turn is None and self._came_from_end:
            self._came_from_end = False
            self._transcript.follow()


def edit_text(index: int, turns: int, cost: str = "") -> tuple[str, ...]:
    """The effect of sending an edited prompt; ``index`` counts from 0."""
    later = turns - index - 1
    moves = f"{count(later, 'later turn')} {'moves' if later == 1 else 'move'}" if later else "its answer moves"
    parts = (f"editing turn {index + 1} of {turns}", f"{moves} to a branch", cost, "esc cancels")
    return tuple(filter(None, parts))


FAILED_IS_BACK = ("failed prompt is back", "enter tries again", "esc clears")
"""What is said of a draft that is the prompt of a failed turn."""
SENDS = ("enter sends at the end", "tab after this step")
"""What the keys do with a draft while a turn runs."""
ASKED_FIRST = ("answer above first", "this message waits")
"""What is said of a draft while a question has the keys."""


def queue_text(view: SessionView, *, drafting: bool) -> tuple[str, ...]:
    """The number of queued prompts, and the keys that send them or take them back."""
    if not view.queue or (view.approvals and drafting):
        keys = ASKED_FIRST if view.approvals else SENDS
        return keys if drafting and view.open_turn is not None else ()
    queued = f"{len(view.queue):,} queued"
    if view.queue_held and view.phase is Phase.IDLE:
        if drafting:
            return f"stopped · {queued}", "enter sends only the draft", "esc adds them to it"
        return f"stopped · {queued}", "enter sends", "esc back to the draft"
    if drafting:
        return (queued, *SENDS) if view.open_turn is not None else (queued,)
    takes = f"↑ takes {'it' if len(view.queue) == 1 else 'the last one'} back"
    if view.open_turn is None:
        return (queued, takes)
    steers = bool(view.queue_after_step) and view.queue_after_step[-1]
    return (queued, "tab sends it at the end" if steers else "tab sends it after this step", takes)
