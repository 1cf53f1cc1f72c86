"""Loads what is slow and looks for providers, after the first prompt is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.linear.inline_text import load_parser
from tui.linear.sentences import model_name

if TYPE_CHECKING:
    from tui.commands.registry import Registry
    from tui.domain.thinking import ModelSpec
    from tui.linear.app import LinearApp

AFTER_S = 0.2
"""Delay, so that the first prompt comes first."""


class Startup:
    """Gets the program ready."""

    def __init__(self, app: LinearApp, make_commands: Callable[[], Registry]) -> None:
        self._app = app
        self._make_commands = make_commands
        self._shown: set[str] = set()
        """Problems that were shown."""

    def say_problems(self) -> None:
        """Print problems of the configuration, each once."""
        for message, advice in self._app.services.problems():
            if message not in self._shown:
                self._shown.add(message)
                self._app.conversation.say(message, advice=advice)

    async def get_ready(self) -> None:
        """Load what answers and commands need, and look for providers."""
        await asyncio.sleep(AFTER_S)
        await asyncio.to_thread(load_parser)
        self._app.use_commands(await asyncio.to_thread(self._make_commands))
        self.say_problems()
        before = self._app.conversation.view().spec
        await self._app.services.discover()
        self._say_found(before)

    def _say_found(self, before: ModelSpec) -> None:
        """Print which models can answer, unless one was named."""
        app = self._app
        view = app.services.chat.view()
        ready = [f"{row.title}, {row.detail}" for row in app.services.keys.availability() if row.ready]
        if before.provider != "demo" or view.turns or view.open_turn is not None:
            return
        if ready:
            app.out.say([f"Found: {'; '.join(ready)}."])
        if view.spec.provider != "demo":
            app.conversation.say(f"{model_name(view.spec, view.plan)} answers from now on.")
