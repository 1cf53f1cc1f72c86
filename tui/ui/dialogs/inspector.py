"""The wire inspector: the next request as it will really go out, the last exchange, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.commands.context import ChatDesk, ExchangeInfo
from tui.domain.counting import count
from tui.domain.errors import PonderError
from tui.domain.printable import one_line, printable
from tui.domain.usage import Certainty
from tui.ui.dialogs.inspector_parts import parts_page, round_trip
from tui.ui.dialogs.request_text import as_curl, diff_lines, pretty
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.format_numbers import duration
from tui.ui.markdown.runs import Line, Look, Run
from tui.ui.panels.json_view import JsonView
from tui.ui.panels.page import Page
from tui.ui.terminal.clipboard import put_on_clipboard

TABS = ("Parts", "Request", "Last exchange", "Diff to last")
MOST_EVENTS = 3_000
LONGEST_EVENT = 400


class Inspector(Sheet[None]):
    """Four pages over one preview."""

    TITLE_WORDS = "Wire inspector"
    SHAPE: ClassVar[str] = "-wide"
    KEYS: ClassVar[Keys] = (
        ("tab", "page"),
        ("up down", "scroll"),
        ("space", "fold"),
        ("c", "copy as curl"),
        ("s", "save"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right", "turn(1)", "next", show=False, priority=True),
        Binding("shift+tab,left", "turn(-1)", "previous", show=False, priority=True),
        *(Binding(str(number + 1), f"go({number})", tab, show=False) for number, tab in enumerate(TABS)),
        Binding("c", "curl", "copy as curl", show=False),
        Binding("s", "save", "save", show=False),
    ]

    def __init__(self, desk: ChatDesk, draft: str, answer: str = "") -> None:
        super().__init__()
        self._answer = answer
        """The message the cursor is on: its verdict is said above the pages."""
        self._desk = desk
        self._draft = draft
        self._at = 0
        self._request: Mapping[str, object] = {}

    def inside(self) -> Sequence[Widget]:
        """Tabs over a page and a tree, one of which is seen."""
        ink = self.ponder.theming.sheet_ink(self.ponder)
        self._tabs = Static("", markup=False, classes="tabs")
        self._page = Page(ink)
        self._tree = JsonView(ink)
        self._tree.display = False
        self._verdict = Static("", markup=False, classes="found")
        self._verdict.display = False
        return (self._tabs, self._verdict, self._page, self._tree)

    def on_mount(self) -> None:
        """Ask what would be sent."""
        self._show_tabs()
        self._page.focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        try:
            self._preview = await self._desk.preview(self._draft)
            self._request = await self._desk.wire_preview(self._draft)
        except PonderError as error:
            words = error.message
            self._page.show(lambda _: [[Run(words, "error")]])
            return
        meter = self._preview.meter
        word = "reported" if meter.certainty is Certainty.REPORTED else "≈"
        if self._answer:
            self._verdict.update(Content.styled(round_trip(self._preview, self._answer) + "\n", "bold $foreground"))
            self._verdict.display = True
        self.note(f"{word} {count(meter.effective, 'token')} to {self._preview.target.provider.id}")
        self.action_go(self._at)

    def _show_tabs(self) -> None:
        line = Content("")
        for number, tab in enumerate(TABS):
            style = "bold reverse $focus" if number == self._at else "$muted-text"
            line = line + Content.styled(f" {number + 1} {tab} ", style) + Content(" ")
        self._tabs.update(line)

    def on_click(self, event: events.Click) -> None:
        """A click on a tab turns to its page."""
        offset = event.get_content_offset(self._tabs)
        start = 0
        for number, tab in enumerate(TABS):
            end = start + len(tab) + 5
            if offset is not None and start <= offset.x < end:
                self.action_go(number)
            start = end

    def action_turn(self, step: int) -> None:
        """The next page."""
        self.action_go((self._at + step) % len(TABS))

    def action_go(self, number: int) -> None:
        """One of the pages."""
        self._at = number
        self._show_tabs()
        if not self._request:
            return
        tree = number == 1
        self._page.display, self._tree.display = not tree, tree
        (self._tree if tree else self._page).focus()
        if number == 0:
            view = self.ponder.chat.view()
            turns = view.turns if view is not None else ()
            self._page.show(parts_page(self._preview, turns, self._desk.bill()))
        elif number == 1:
            self._tree.show_value(dict(self._request))
        else:
            lines = exchange_lines(self._desk.last_exchange()) if number == 2 else self._difference()
            self._page.show(lambda _: lines)

    def _difference(self) -> list[Line]:
        last = self._desk.last_exchange()
        if last is None:
            return [[Run("Nothing was sent yet.", "muted")]]
        found = diff_lines(last.request.get("body"), self._request.get("body"))
        return found or [[Run("The next request is the same as the last.", "muted")]]

    def action_curl(self) -> None:
        """Copy the request as a curl command."""
        if not self._request:
            self.say("There is no request to copy yet.")
            return
        driver = self.app._driver
        try:
            how = put_on_clipboard(as_curl(self._request), driver.write if driver is not None else lambda _: None)
            self.say(f"Copied as curl{how}. Put your key in.")
        except PonderError as error:
            self.complain(error)

    def action_save(self) -> None:
        """Write the request beside the user's work."""
        if not self._request:
            self.say("There is no request to save yet.")
            return
        path = Path("ponder-request.json")
        try:
            path.write_text(pretty(self._request), encoding="utf-8")
            path.chmod(0o600)
        except OSError as error:
            self.say(f"`{path.name}` cannot be written: {error.strerror}.")
            return
        self.say(f"Written to {path.name}; keys are masked.")


def exchange_lines(last: ExchangeInfo | None) -> list[Line]:
    """The last exchange: where to, how long, and event by event what came."""
    if last is None:
        return [[Run("Nothing was sent yet.", "muted")]]
    lines: list[Line] = [
        [Run(f"{last.request.get('method', '')} {one_line(str(last.request.get('url', '')), 200)}", "text", Look.BOLD)]
    ]
    headers = last.request.get("headers")
    if isinstance(headers, Mapping):
        lines.extend([Run(f"  {one_line(f'{name}: {value}', 300)}", "muted")] for name, value in headers.items())
    if last.seconds is not None:
        lines.append([Run(f"took {duration(last.seconds)}", "text")])
    lines.append([])
    lines.extend(
        [Run(printable(event).replace("\n", " ")[:LONGEST_EVENT], "code")] for event in last.events[:MOST_EVENTS]
    )
    if len(last.events) > MOST_EVENTS:
        lines.append([Run(f"… {len(last.events) - MOST_EVENTS:,} more events", "muted")])
    return lines
