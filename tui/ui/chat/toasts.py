"""The place of short messages."""

from __future__ import annotations

from textual.geometry import Region
from textual.screen import Screen

from tui.ui.terminal.textual_private import keep_latest_notification


def place_toasts(chat: Screen[None]) -> None:
    """Put toasts where they cover nothing: on the line above the composer, and below a sheet on the last row.

    The line that names a session that asks can be clicked: toasts stand above it.
    """
    app = chat.app
    keep_latest_notification(app)
    line = chat.query_one("#input-area").region
    asking = chat.query_one("#asking")
    if app.screen is not chat:
        line = Region(line.x, app.size.height - 1, line.width, 1)
    elif asking.display:
        line = Region(line.x, asking.region.y - 1, line.width, 1)
    for rack in app.screen.query("ToastRack"):
        rack.styles.margin = (0, app.size.width - line.right, app.size.height - line.y - 1, line.x)
