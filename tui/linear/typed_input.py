"""Takes the lines of the user, ctrl+c and ctrl+d."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.domain.format_numbers import count
from tui.linear.line_reader import LONGEST_LINE, TypedText
from tui.linear.prompt_draft import YOU

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

AGAIN_S = 2.0
"""A second ctrl+c within this time quits."""


class TypedInput:
    """Passes each line on: to the open question, a prompt of several lines, a command, or the model."""

    def __init__(self, app: LinearApp) -> None:
        self._app = app
        self.has_ended = False
        """The input is over."""
        self._has_held = False
        """The user has held the output with enter."""
        self._interrupted_at = -AGAIN_S

    def take_from_thread(self, typed: TypedText | None) -> None:
        """Take a line that another thread has read."""
        self._app.call_from_thread(lambda: self.take(typed))

    def take(self, typed: TypedText | None) -> None:
        """Take a line; None is the end of the input."""
        app = self._app
        if typed is None:
            self._input_ended()
            return
        app.out.entered()
        if typed.cut:
            limit = count(LONGEST_LINE, "byte")
            self._refuse(
                f"A terminal passes on {limit} of a line. The end of this one is lost, so it was not used. "
                "Break the line with a backslash at its end, or use /attach FILE."
            )
        elif app.questions.is_open:
            if typed.pasted:
                self._refuse("An answer is one line. These were not used.")
            else:
                app.questions.answered(typed)
        elif typed.pasted or app.draft.is_open or not app.approvals.answered(typed.text.strip()):
            self._compose(typed)
        else:
            app.prompt_writer.soon()

    def _refuse(self, why: str) -> None:
        self._app.out.say([why])
        self._app.prompt_writer.soon()

    def _compose(self, typed: TypedText) -> None:
        app = self._app
        was_held = app.out.is_held
        text = app.draft.take(typed)
        if text is None:
            if hint := app.draft.hint():
                app.out.say([hint])
            app.out.prompt(app.draft.prompt)
            return
        app.out.release()
        if text or app.draft.attached:
            app.work.add(lambda: app.do_entered(text))
        elif not was_held:
            self._empty_line()
        app.prompt_writer.soon()

    def _empty_line(self) -> None:
        """Enter alone: sends a held queue, or holds the output so that the user can type in peace."""
        app = self._app
        view = app.conversation.view()
        if app.conversation.is_busy and not app.approvals.is_open:
            if not self._has_held:
                self._has_held = True
                app.out.say(["The output waits until you press enter again. You can type a prompt or a command."])
            app.out.hold()
            app.out.prompt(YOU)
        elif view.queue and view.queue_held:
            app.work.add(app.services.chat.resume_queue)

    def interrupt(self) -> None:
        """Ctrl+c: drops begun lines, else leaves a question, else stops what runs, else asks to quit."""
        app = self._app
        app.out.broken_off()
        app.out.release()
        if app.draft.is_open:
            app.draft.drop_lines()
            app.out.say(["The lines are dropped."])
        elif app.questions.leave() or (not app.conversation.is_busy and app.work.cancel()):
            pass
        elif app.conversation.is_busy:
            app.work.do_at_once(app.services.chat.cancel)
        elif time.monotonic() - self._interrupted_at < AGAIN_S:
            app.end(0)
        else:
            self._interrupted_at = time.monotonic()
            app.out.say(["Ctrl+c again quits."])
        app.prompt_writer.soon()

    def _input_ended(self) -> None:
        """Ctrl+d quits; without a terminal, everything that was entered is answered first."""
        app = self._app
        app.out.withdraw()
        app.out.release()
        if app.typed.is_terminal:
            if not app.questions.leave():
                app.work.add(app.leave)
            return
        self.has_ended = True
        app.questions.end()
        app.approvals.look()
        app.prompt_writer.soon()
