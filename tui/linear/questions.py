"""Questions with numbered answers, and lines and keys that are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import printable
from tui.linear.line_reader import LineReader, TypedText
from tui.linear.line_writer import LineWriter

PAGE = 20
"""Rows of a list that are printed at once."""
MORE = "m"


@dataclass(frozen=True, slots=True)
class Choice:
    """A row of a list."""

    key: str
    text: str


class NotAnswered(Exception):
    """The user left a question unanswered."""


class Questions:
    """Asks one question at a time."""

    def __init__(self, out: LineWriter, typed: LineReader, pass_on: Callable[[TypedText], None]) -> None:
        """``pass_on`` gets a command that was typed instead of an answer."""
        self._out = out
        self._typed = typed
        self._pass_on = pass_on
        self._waiting: asyncio.Future[str] | None = None
        self._secret = False
        self._prompt = ""
        self.asking = asyncio.Lock()
        """Held while a question is printed and waits."""
        self.asked = 0
        """The number of questions so far."""
        self.is_over = False
        """The input has ended: nothing can be asked any more."""

    @property
    def is_open(self) -> bool:
        """Whether a question waits for a line."""
        return self._waiting is not None

    def answered(self, typed: TypedText) -> bool:
        """Pass a line to the open question; False if there is none."""
        waiting = self._waiting
        if waiting is None or waiting.done():
            return False
        self._waiting = None
        if typed.text.startswith("/") and not self._secret:
            waiting.set_exception(NotAnswered())
            self._pass_on(typed)
        else:
            waiting.set_result(typed.text.strip())
        return True

    def ask_again(self) -> None:
        """Write the prompt of the open question again."""
        if self._waiting is not None:
            self._out.prompt(self._prompt)

    def leave(self) -> bool:
        """Leave the open question; False if there is none."""
        if self._waiting is None or self._waiting.done():
            return False
        self._waiting.set_exception(NotAnswered())
        return True

    def end(self) -> None:
        """The input has ended."""
        self.is_over = True
        self.leave()

    async def line(self, prompt: str) -> str:
        """A line that the user enters; "" if it is empty. Raises NotAnswered."""
        async with self.asking:
            return await self._line(prompt)

    async def secret(self, prompt: str) -> str:
        """Read a line without showing it. Raises NotAnswered."""
        async with self.asking:
            await self._out.written()
            with self._typed.hidden():
                self._secret = True
                try:
                    return await self._line(prompt)
                finally:
                    self._secret = False

    async def choose(
        self, title: Sequence[str], rows: Sequence[Choice], *, find: bool = False, first: int = PAGE
    ) -> str | None:
        """The key of the row that the user chooses; None if none.

        With ``find``, words select rows. ``first`` is the number of rows that are printed at first.
        """
        async with self.asking:
            self._out.say(title)
            try:
                return await self._chosen(rows, find=find, first=first)
            except NotAnswered:
                return None

    async def _line(self, prompt: str) -> str:
        if self.is_over:
            raise NotAnswered
        self.asked += 1
        self._prompt = prompt
        self._out.release()
        self._out.prompt(prompt)
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None
            self._out.withdraw()

    async def _chosen(self, rows: Sequence[Choice], *, find: bool, first: int) -> str | None:
        shown, given = list(rows), 0
        given = self._say_page(shown, given, min(first, PAGE))
        while True:
            is_more = len(shown) > given
            answer = await self._line(_prompt(len(shown), find=find, is_more=is_more))
            if not answer:
                return None
            if answer.isdecimal() and 1 <= int(answer) <= len(shown):
                return shown[int(answer) - 1].key
            if answer.lower() == MORE and is_more:
                given = self._say_page(shown, given, PAGE)
            elif find and not answer.isdecimal():
                words = answer.lower().split()
                found = [row for row in rows if all(word in f"{row.key} {row.text}".lower() for word in words)]
                if found:
                    shown, given = found, self._say_page(found, 0, PAGE)
                else:
                    self._out.say([f"No row has {answer}."])
            else:
                self._out.say([f"There is no {answer}."])

    def _say_page(self, rows: Sequence[Choice], given: int, size: int) -> int:
        """Print the next rows; returns how many."""
        # A line break in the words of others would begin what looks like another row.
        page = rows[given : given + size]
        self._out.say(
            f"{number} {printable(row.text, keep_newlines=False)}" for number, row in enumerate(page, given + 1)
        )
        return given + len(page)


def _prompt(rows: int, *, find: bool, is_more: bool) -> str:
    ways = [f"1 to {rows}" if rows > 1 else "1"]
    ways += [f"{MORE} for more"] if is_more else []
    ways += ["words to find"] if find else []
    return f"Answer {', '.join(ways)}, or enter to leave: "
