"""Which screen a view is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.commands.context import View

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


async def open_view(app: PonderApp, view: View, argument: str) -> None:
    """Open it."""
    app.say(f"{view.value} {argument}")
