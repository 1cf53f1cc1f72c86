"""Asks about tool calls and spending, one question at a time; other lines go their usual way meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.domain.events import ApprovalAsked
from tui.linear.approval import WITH_REASON, answers, call_lines
from tui.linear.questions import Choice, Left, Questions

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.linear.line_writer import LineWriter

QUIET_S = 0.3
"""A line that comes this soon after a question was begun before it was read."""

SETTLED_S = 0.2
"""An answer for more than one call settles others that wait; in this time the session says so."""


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

    @property
    def prompt(self) -> str:
        return f"Answer 1 to {len(self._rows)}: "

    def look(self) -> None:
        """Something was asked or settled."""
        self._changed.set()

    def answered(self, text: str) -> bool:
        """Take a number as the answer; False if it is none."""
        if not self.is_open or self._answer or time.monotonic() - self._since < QUIET_S:
            return False
        if not text.isdecimal() or not 1 <= int(text) <= len(self._rows):
            return False
        self._answer = self._rows[int(text) - 1].key
        self._changed.set()
        return True

    async def run(self) -> None:
        """Ask whenever there is something to ask."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while (left := self._waiting()) and await self._ask(left[0]):
                pass

    async def _ask(self, asked: ApprovalAsked) -> bool:
        """Ask and deliver the answer; False if the question was withdrawn or cannot be asked."""
        async with self._questions.turn:
            if asked not in self._waiting():
                return True
            if self._questions.is_over:
                return await self._deliver(asked, "no")
            self._out.release()
            self._rows = answers(asked)
            self._out.say([*call_lines(asked), *(f"{number} {row.text}" for number, row in enumerate(self._rows, 1))])
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
        self._since = time.monotonic()
        self._out.prompt(self.prompt)
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
        except Left:
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
