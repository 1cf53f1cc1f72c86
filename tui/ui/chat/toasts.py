"""Short messages on the line above the composer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.widget import Widget

from tui.domain.events import Notice, Severity
from tui.domain.printable import printable
from tui.ui.terminal.textual_private import drop_notifications, keep_latest_notification

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

LONGEST = 1_000
"""Most characters shown."""
SHOWN_S = 4.0
ERROR_SHOWN_S = 8.0
CHARACTERS_A_SECOND = 40
"""How fast they are read."""
LEAST_COLUMNS = 34
"""Columns that messages need beside words on the line above the composer; with fewer they are a row higher."""
GAP = (1, 0, 0, 0)
"""Around the conversation: the blank row under the title bar."""


def toast_text(text: str, advice: str = "") -> str:
    """What a toast says. Messages quote names as code, for the command line and the log; a toast is plain text."""
    return printable(f"{text} · {advice}" if advice else text).replace("`", "")[:LONGEST]


class Toasts:
    """Shows messages so that they cover nothing, and none that the conversation says itself."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._in_conversation = ""
        """What the last notice in the conversation says."""
        self._rack: Widget | None = None
        """The toasts of the chat, whose height is known after each layout; None before the first."""

        self._line = Region()
        """Where they were placed."""

    def say(self, text: str, severity: Severity, advice: str, seconds: float | None = None) -> None:
        """Show a message for as long as it takes to read it, or as it is true."""
        message = toast_text(text, advice)
        if message == self._in_conversation and self._app.screen is self._app.chat:
            return
        level = {Severity.INFO: "information", Severity.WARNING: "warning", Severity.ERROR: "error"}[severity]
        if seconds is None:
            seconds = (ERROR_SHOWN_S if severity is Severity.ERROR else SHOWN_S) + len(message) / CHARACTERS_A_SECOND
        self._app.notify(message, severity=level, markup=False, timeout=seconds)  # type: ignore[arg-type]  # one of three
        self._app.call_after_refresh(self.place)

    def say_beside_conversation(self, notice: Notice) -> None:
        """Show what the conversation says at its end, unless that end is on the screen; then remove its repetition."""
        chat = self._app.chat
        if chat.transcript.display and chat.transcript.column.following:
            message = self._in_conversation = toast_text(notice.text, notice.advice)
            drop_notifications(self._app, lambda toast: toast.message == message)
        else:
            self.say(notice.text, notice.severity, notice.advice)

    def drop(self) -> None:
        """Remove what would cover a sheet or is no longer true; warnings and errors stay."""
        drop_notifications(self._app, lambda toast: toast.severity == "information")

    def place(self) -> None:
        """Put toasts on the line above the composer, and below a sheet on the last row.

        The line that names a session that asks can be clicked: toasts are above it.
        """
        app, chat = self._app, self._app.chat
        keep_latest_notification(app)
        line = self._line = self._line_of_toasts()
        for rack in app.screen.query("ToastRack"):
            rack.styles.width = line.width  # the right margin alone does not limit long messages
            rack.styles.margin = (0, app.size.width - line.right, app.size.height - line.y - 1, line.x)
        if app.screen is chat and self._rack is None:
            self._rack = chat.query_one("ToastRack")
            chat.screen_layout_refresh_signal.subscribe(chat, lambda _: self._make_room(), immediate=True)

    def follow_line(self) -> None:
        """Move toasts beside the words that the line above the composer has now."""
        if self._rack is not None and self._rack.query("Toast"):
            self._app.call_after_refresh(self.place)

    def _line_of_toasts(self) -> Region:
        """The region whose first row is that of the toasts: what the line above the composer says stays readable."""
        app, chat = self._app, self._app.chat
        line = chat.input_area.region
        asking = chat.query_one("#asking")
        if app.screen is not chat:
            return Region(line.x, app.size.height - 1, line.width, 1)
        if asking.display:
            return Region(line.x, asking.region.y - 1, line.width, 1)
        words = chat.input_area.rule_columns
        if line.width - words < LEAST_COLUMNS:
            return Region(line.x, line.y - 1, line.width, 1)
        return Region(line.x + words, line.y, line.width - words, 1)

    def _make_room(self) -> None:
        """Move the conversation up by the rows that toasts need beside the line above the composer."""
        chat = self._app.chat
        area, line = chat.query_one("#conversation-area"), self._line_of_toasts()
        if self._rack is not None and self._rack.query("Toast") and line != self._line:
            self._app.call_after_refresh(self.place)  # the draft has more rows, or fewer
        rows = 0 if self._rack is None else sum(one.outer_size.height for one in self._rack.query("Toast"))
        covered = rows - 1 if line.y == chat.input_area.region.y else rows
        top, right, bottom, left = GAP
        margin = (top, right, max(bottom, min(covered, chat.size.height // 2)), left)
        if tuple(area.styles.margin) != margin:
            area.styles.margin = margin
