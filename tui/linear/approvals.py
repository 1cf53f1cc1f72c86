"""Asks about tool calls and spending, one question at a time; other lines are handled as usual meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.domain.blank_marks import marked
from tui.domain.events import ApprovalAsked
from tui.linear.approval import WITH_REASON, answers, call_lines
from tui.linear.questions import Choice, NotAnswered, Questions

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.linear.line_writer import LineWriter

QUIET_S = 0.3
"""A line that comes this soon after a question was begun before it was read."""

SETTLED_S = 0.2
"""An answer for more than one call settles others that wait; their events arrive within this time."""


class Approvals:
    """The questions of the session that is open."""

    def __init__(
        self,
        services: AppServices,
        out: LineWriter,
        questions: Questions,
        waiting: Callable[[], Sequence[ApprovalAsked]],
    ) -> None:
        """``waiting`` returns the open questions, in the order of the calls."""
        self._services = services
        self._out = out
        self._questions = questions
        self._waiting = waiting
        self._changed = asyncio.Event()
        self._rows: Sequence[Choice] = ()
        self._answer = ""
        self.is_open = False
        """A question waits for a number."""
        self._since = 0.0
        self._summary = ""
        self._asked_before = 0
        """How many other questions there were when this one was printed."""

    def look(self) -> None:
        """Something was asked or settled."""
        self._changed.set()

    def answered(self, text: str) -> bool:
        """Take a number as the answer; False if the line is none."""
        if not self.is_open or self._answer or not text.isdecimal():
            return False
        if time.monotonic() - self._since < QUIET_S:
            self._out.say(["That was entered before the question could be read. Answer again."])
        elif not 1 <= int(text) <= len(self._rows):
            self._out.say([f"There is no {text}."])
        else:
            self._answer = self._rows[int(text) - 1].key
            self._changed.set()
        return True

    def ask_again(self) -> None:
        """Write the prompt again, and the answers, if something else was asked meanwhile."""
        if self._questions.asked != self._asked_before:
            self._asked_before = self._questions.asked
            self._out.say([f"Still asked: {self._summary}", *self._row_lines()])
        self._out.prompt(f"Answer 1 to {len(self._rows)}: ")

    def _row_lines(self) -> list[str]:
        return [f"{number} {row.text}" for number, row in enumerate(self._rows, 1)]

    async def run(self) -> None:
        """Ask whenever there is something to ask."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while (left := self._waiting()) and await self._ask(left[0]):
                pass

    async def _ask(self, asked: ApprovalAsked) -> bool:
        """Ask and deliver the answer; False if it was not asked any more."""
        async with self._questions.asking:
            if asked not in self._waiting():
                return True
            if not self._questions.is_over:
                self._out.release()
                self._rows, self._summary = answers(asked), marked(asked.summary.replace("\n", " "))
                self._out.say([*call_lines(asked), *self._row_lines()])
                await self._out.written()  # a yes counts only after all of it was printed
        answer = await self._number(asked)
        if answer is None:
            self._out.withdraw()
            self._out.say(["The question was withdrawn."])
            return True
        if answer == WITH_REASON:
            answer = await self._with_reason()
        return await self._deliver(asked, answer)

    async def _number(self, asked: ApprovalAsked) -> str | None:
        self._answer, self.is_open = "", True
        self._since, self._asked_before = time.monotonic(), self._questions.asked
        if not self._questions.is_open and not self._questions.is_over:
            self.ask_again()
        try:
            while not self._answer and asked in self._waiting():
                if self._questions.is_over:
                    return "no"
                await self._changed.wait()
                self._changed.clear()
            return self._answer or None
        finally:
            self.is_open = False
            self._changed.set()

    async def _with_reason(self) -> str:
        try:
            reason = await self._questions.line("Why not? The model reads it: ")
        except NotAnswered:
            reason = ""
        return f"no: {reason}" if reason else "no"

    async def _deliver(self, asked: ApprovalAsked, answer: str) -> bool:
        delivered = await self._services.chat.answer_approval(asked.call_id, answer)
        # The session says that it is settled; until then the same question would be asked again.
        while delivered and asked in self._waiting():
            await self._changed.wait()
            self._changed.clear()
        if answer not in ("once", "no"):
            await asyncio.sleep(SETTLED_S)
        self._changed.set()
        return delivered
