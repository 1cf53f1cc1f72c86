"""A side question and its answer over the conversation, which continues behind it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.widget import Widget

from tui.domain.errors import PonderError
from tui.domain.events import AppEvent, Stamped, TurnFailed, TurnFinished
from tui.domain.format_numbers import count
from tui.domain.thinking import model_title
from tui.engine.state import SessionState, SessionView
from tui.ui.chat.screen import follow
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.transcript.transcript import Transcript
from tui.ui.transcript.transcript_view import TranscriptView
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.side_questions import SideQuestions
    from tui.engine.side_turns import SideTurn

CLOCKS_S = 0.25
"""Interval of the running clocks."""


class Aside(Sheet[None]):
    """Shows one side answer. Escape stops it and forgets it, unless it is to be kept."""

    TITLE_WORDS = "Aside"
    SHAPE: ClassVar[str] = "-page"
    KEYS: ClassVar[Keys] = (("k", "keep as a branch"), ("ctrl+o", "thinking"), ("tab space", "fold"))
    ESCAPE: ClassVar[str] = "stop"

    def __init__(self, questions: SideQuestions, question: str) -> None:
        super().__init__()
        self._questions = questions
        self._question = question
        self._side: SideTurn | None = None
        self.is_over = False
        """The answer has ended."""
        self._is_kept = False
        self._state: SessionState | None = None

    def inside(self) -> Sequence[Widget]:
        """The question and its answer."""
        services = self.ponder.ui_services
        self.transcript = Transcript(services.theme_styles())
        self._conversation = TranscriptView(self.transcript, time.monotonic, services.display_options())
        self._display_options = services.display_options()
        return (self.transcript,)

    def on_mount(self) -> None:
        """Ask. The sheet is open before that, so that a question about the cost opens above it."""
        self.transcript.focus()
        self.set_interval(CLOCKS_S, self._tick)
        start_work(self, self._ask)

    async def _ask(self) -> None:
        try:
            side = self._side = await self._questions.ask(self._question)
        except PonderError as error:
            self.show_error(error)
            self.dismiss(None)
            return
        seen = len(side.before)
        what = f"sees {count(seen, 'earlier turn')}" if seen else "sees no earlier turn"
        self.note(f"{side.spec.provider}/{model_title(side.spec.model)} · {what}")
        await self._follow(side)

    async def _follow(self, side: SideTurn) -> None:
        view, subscription = side.attach()
        try:
            self._state = SessionState(view, keep_text=False)
            self._conversation.load(view)
            self._show_state(view)
            await follow(subscription, view.seq, self._take, self._drawn)
        finally:
            subscription.close()

    def _take(self, stamped: Stamped) -> None:
        if self._state is not None:
            self._state.apply(stamped.event)
            self._conversation.take(stamped)

    def _drawn(self, batch: Sequence[AppEvent]) -> None:
        if any(isinstance(event, TurnFinished | TurnFailed) for event in batch) and self._state is not None:
            self._show_state(self._state.now)
        self.transcript.settle()

    def _show_state(self, view: SessionView) -> None:
        if view.turns and not self.is_over:
            self.is_over = True
            self.show_keys(self.KEYS, "close")

    def _tick(self) -> None:
        if self._conversation.is_live and not self.ponder.chat.status.still:
            self._conversation.tick()
            self.transcript.settle()

    def key_ctrl_o(self) -> None:
        """Switch thinking between folded, peek and full."""
        self._display_options = replace(self._display_options, fold=self._display_options.fold.next)
        self._conversation.show(self._display_options)

    def key_tab(self, event: events.Key) -> None:
        """Move the cursor to the next block."""
        event.stop()
        self.transcript.move_cursor(1)

    def key_shift_tab(self, event: events.Key) -> None:
        """Move the cursor to the previous block."""
        event.stop()
        self.transcript.move_cursor(-1)

    def key_space(self) -> None:
        """Open or close the block under the cursor."""
        self.transcript.action_fold_at_cursor()

    def key_k(self) -> None:
        """Keep the answer as a branch of the conversation."""
        start_work(self.app, lambda: self.ponder.ui_services.run_showing_errors(self._keep))

    async def _keep(self) -> None:
        if self._is_kept or self._side is None:
            return
        self._is_kept = True
        if await self._questions.keep(self._side.id):
            self.say("Kept as a branch: /tree shows it.")
        else:
            self.say("It is kept as a branch when it has arrived.")

    def action_leave(self) -> None:
        """Stop the answer and close."""
        if self._side is not None:
            ids = (self._side.id,)
            start_work(self.app, lambda: self.ponder.ui_services.run_showing_errors(lambda: self._questions.drop(ids)))
        self.dismiss(None)
