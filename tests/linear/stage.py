"""The program line by line over the real services, without a terminal: what is entered, and what is said."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.app.stage import House, house
from tests.patience import PATIENCE_S
from tui.bootstrap.interactive import commands_with_prompts
from tui.linear import approvals
from tui.linear.app import LinearApp, OnTyped
from tui.linear.line_reader import LineReader, TypedText
from tui.linear.line_writer import LineWriter


class Heard(io.StringIO):
    """What was written; the test is woken by every piece."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()

    def write(self, text: str) -> int:
        self.text += text
        self._loop.call_soon_threadsafe(self.changed.set)
        return len(text)


class Keyboard(LineReader):
    """A terminal on which the test types."""

    def __init__(self, on_typed: OnTyped) -> None:
        super().__init__(io.RawIOBase(), on_typed)
        self.is_terminal = True
        self.was_hidden = False

    def start(self) -> None:
        """Nothing is read."""

    def unfinished(self) -> str:
        return ""

    @contextmanager
    def hidden(self) -> Iterator[None]:
        self.was_hidden = True
        yield


class Lines:
    """A running program; what was heard once is not looked at again."""

    def __init__(self, home: House, app: LinearApp, heard: Heard) -> None:
        self.house, self.app, self._heard = home, app, heard
        self.copied: list[str] = []
        self.running: asyncio.Task[int] | None = None
        self._at = 0

    @property
    def said(self) -> str:
        return self._heard.text

    async def until(self, holds: Callable[[], bool], what: str = "") -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    self._heard.changed.clear()
                    await self._heard.changed.wait()
        except TimeoutError:
            raise AssertionError(f"«{what}» never came after:\n{self.said}") from None

    async def ended(self) -> int:
        """The exit code, when the program has ended."""
        assert self.running is not None
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.shield(self.running)

    async def until_done(self, work: Future[Any]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wrap_future(work)

    async def hear(self, words: str) -> str:
        """Wait until the words come; what was said up to them since the last time."""
        await self.until(lambda: words in self.said[self._at :], words)
        begin, self._at = self._at, self.said.index(words, self._at) + len(words)
        return self.said[begin : self._at]

    def enter(self, line: str, *, pasted: bool = False) -> None:
        """Type a line and press enter."""
        self._heard.text += f"{line}\n"
        self._at = len(self._heard.text)
        self.app.typed_input.take(TypedText(line, pasted=pasted))

    async def ask(self, line: str, prompt: str = "you> ") -> list[str]:
        """Enter a line at the prompt; the lines that are said until a prompt stands there again."""
        await self.hear("you> ")
        return await self.reply(line, prompt)

    async def reply(self, line: str, prompt: str = "you> ") -> list[str]:
        """The same at any prompt."""
        self.enter(line)
        said = await self.hear(prompt)
        self._at -= len(prompt)
        return said.split("\n")[:-1]

    async def choose(self, words: str, prompt: str = "you> ") -> list[str]:
        """Answer the question that is open by the number of the row with these words."""
        await self.hear(": ")
        rows = [line.partition(" ") for line in self.said.split("\n") if line[:1].isdigit()]
        number = next(number for number, _, row in reversed(rows) if words in row)
        return await self.reply(number, prompt)


@asynccontextmanager
async def lines(home: Path, **options: Any) -> AsyncIterator[Lines]:
    """``ponder --linear`` as it starts."""
    approvals_quiet, approvals.QUIET_S = approvals.QUIET_S, 0.0
    async with house(home, **options) as at_home:
        heard = Heard()
        out = LineWriter(heard, ends_rows=lambda: True)
        stage: list[Lines] = []

        def copy(text: str) -> str:
            stage[0].copied.append(text)
            return ""

        app = LinearApp(
            at_home.services, out, Keyboard, lambda: commands_with_prompts(at_home.program, at_home.services), copy
        )
        stage.append(Lines(at_home, app, heard))
        async with asyncio.TaskGroup() as tasks:
            running = stage[0].running = tasks.create_task(app.run())
            try:
                yield stage[0]
            finally:
                app.end(0)
                await running
                out.close()
                approvals.QUIET_S = approvals_quiet
