"""The real application over the real services, without a terminal: what is typed, and what its screen says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from tests.app.stage import House, house
from tests.ui.stage import Sizes, paint_once, screen_text, type_in, until
from tui.bootstrap.interactive import commands_with_prompts
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.domain.events import Stamped
from tui.engine.state import SessionView
from tui.ui.app import PonderApp
from tui.ui.input.composer import PASTE_CHARACTERS
from tui.ui.theme.current_theme import CurrentTheme
from tui.ui.transcript.build_sections import DisplayOptions
from tui.ui.transcript.transcript_view import TranscriptView


class DrawnSoFar:
    """The last event that the screen took, of which session."""

    def __init__(self, conversation: TranscriptView) -> None:
        self.session, self.seq = "", -1
        load, take = conversation.load, conversation.take

        def loaded(view: SessionView, options: DisplayOptions | None = None) -> None:
            load(view, options)
            self.session, self.seq = view.session, view.seq

        def taken(stamped: Stamped) -> None:
            take(stamped)
            self.seq = stamped.seq

        conversation.load, conversation.take = loaded, taken  # type: ignore[method-assign]


@dataclass
class Screen:
    """A running program and the keys to it."""

    house: House
    app: PonderApp
    pilot: Pilot[int]
    drawn: DrawnSoFar
    said: list[str] = field(default_factory=list)
    """What toasts said."""

    def text(self) -> str:
        return screen_text(self.app)

    async def enter(self, line: str) -> None:
        """Paste a line into the composer, type its last character, and press enter. "" enters what is typed already.

        What each key of a line does is tested where typing is the point; here it would be half of the time.
        """
        self.app.chat.composer.focus()
        is_pasted = len(line) <= PASTE_CHARACTERS
        if is_pasted:
            self.app.post_message(events.Paste(line[:-1]))
        await type_in(self.pilot, line[-1:] if is_pasted else line)
        entered = line or self.app.chat.composer.text
        await self.pilot.press("enter")
        # Not until it is empty: what a command puts into the draft may be there already.
        await until(self.pilot, lambda: entered not in self.app.chat.composer.text or not self.app.chat.composer.text)

    async def until_it_says(self, words: str) -> None:
        await until(self.pilot, lambda: words in self.text())

    async def until_it_no_longer_says(self, words: str) -> None:
        await until(self.pilot, lambda: words not in self.text())

    def toasts(self) -> str:
        """All toasts so far, as one line, also those that are gone."""
        return " ".join(" ".join(message.split()) for message in self.said)

    def clear_toasts(self) -> None:
        self.said.clear()

    async def until_toast(self, words: str) -> None:
        await until(self.pilot, lambda: words in self.toasts())

    def turns_drawn(self) -> int:
        view = self.app.chat.view()
        return len(view.turns) if view is not None else 0

    async def caught_up(self) -> None:
        """Wait until all that the session published so far is on the screen."""
        published = self.house.view()
        await until(self.pilot, lambda: self.drawn.session == published.session and self.drawn.seq >= published.seq)

    async def ask(self, words: str) -> None:
        """Send a prompt and wait for the end of its turn."""
        turns = len(self.house.view().turns)
        await self.enter(words)
        await until(self.pilot, lambda: len(self.house.view().turns) > turns)
        await until(self.pilot, lambda: self.turns_drawn() > turns and not self.app.chat.is_busy())


@asynccontextmanager
async def screen(home: Path, *, size: Sizes = (120, 40), **options: Any) -> AsyncIterator[Screen]:
    """``ponder`` as it starts, with its sidebar furnished."""
    async with house(home, **options) as h:
        layers = h.services.settings.layers()
        theming = CurrentTheme(h.program.paths.themes, str(layers.value("ui.theme")), {"COLORTERM": "truecolor"})
        app = PonderApp(h.services, commands_with_prompts(h.program, h.services), default_keymap(registry()), theming)
        drawn = DrawnSoFar(app.chat.conversation)
        async with app.run_test(size=size, tooltips=False, notifications=True) as pilot:
            app.chat.composer.cursor_blink = False
            await pilot.pause()
            stage = Screen(h, app, pilot, drawn)
            notify = app.notify

            def record(message: str, **how: Any) -> None:
                stage.said.append(message)
                notify(message, **how)

            app.notify = record  # type: ignore[method-assign]
            yield stage
            paint_once(app)
