"""The place of short messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region

from tui.ui.terminal.textual_private import keep_latest_notification

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


def place_toasts(app: PonderApp) -> None:
    """Put toasts where they cover nothing: on the line above the composer, and below a sheet on the last row."""
    keep_latest_notification(app)
    line = app.chat.query_one("#input-area").region
    if app.screen is not app.chat:
        line = Region(line.x, app.size.height - 1, line.width, 1)
    for rack in app.screen.query("ToastRack"):
        rack.styles.margin = (0, app.size.width - line.right, app.size.height - line.y - 1, line.x)
