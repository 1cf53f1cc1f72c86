"""All sessions: typing searches, enter opens; rename, pin, fork, export, delete with undo."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import OptionList

from tui.commands.context import Desk, SessionInfo
from tui.domain.counting import count
from tui.domain.errors import PonderError
from tui.ui.dialogs.export_choice import ask_export
from tui.ui.dialogs.filter_sheet import SearchSheet
from tui.ui.dialogs.session_rows import session_row
from tui.ui.dialogs.sheet import Keys
from tui.ui.panels.page import Page, markdown_lines
from tui.ui.panels.row_list import STEPS

SEARCH_KEYS = (("up down", "move"), ("enter", "open"), ("tab", "actions"))
LIST_KEYS = (
    *(("enter", "open"), ("n", "new"), ("r", "rename"), ("d", "delete"), ("u", "undo"), ("f", "fork")),
    *(("e", "export"), ("space", "pin"), ("tab", "search")),
)


RENAME_KEYS = (("enter", "keep the title"),)


class Sessions(SearchSheet[str]):
    """Gives the session to open, "new" for a new one."""

    TITLE_WORDS = "Sessions"
    SHAPE: ClassVar[str] = "-wide has-field"
    KEYS: ClassVar[Keys] = SEARCH_KEYS
    PLACEHOLDER = "search (in:thinking, model:opus, after:2026-01)"
    HANDED_ON = STEPS | {"tab"}
    LIST_TAKES_FOCUS = True

    def __init__(self, desk: Desk, query: str = "") -> None:
        super().__init__(query)
        self._desk = desk
        self._rows: dict[str, SessionInfo] = {}
        self._renaming: str | None = None
        self._gone: list[str] = []

    def inside(self) -> Sequence[Widget]:
        """SearchSheet over list and preview."""
        self._page = Page(self.ponder.theming.sheet_ink(self.ponder))
        self._page.can_focus = False
        return (self._field, Horizontal(self._list, self._page, classes="columns"))

    def row(self, session: str | None) -> SessionInfo | None:
        """A session as the list shows it, with where the search found something."""
        return self._rows.get(session or "")

    def fill(self, at: str | None = None) -> None:
        """The newest first, or the best."""
        self._search(at)

    def take(self, key: str | None) -> None:
        """Open it."""
        if key is not None:
            self.dismiss(key)

    @work(exclusive=True, group="search")
    async def _search(self, at: str | None = None) -> None:
        try:
            found = await self._desk.library.sessions(self._query)
        except PonderError as error:
            self.note(error.message, "$error")
            return
        self._rows = {row.id: row for row in found}
        width = max(20, self._list.size.width - 2)
        here, now = self._desk.chat.session_id, time.time()
        self._list.show_rows([session_row(row, width, now, current=row.id == here) for row in found], at=at)
        self.note(count(len(found), "session"))
        self._preview()

    @work(exclusive=True, group="preview")
    async def _preview(self) -> None:
        chosen = self._list.chosen
        if chosen is None:
            self._page.show(markdown_lines("Nothing found." if self._field.value else "No sessions yet."))
            return
        try:
            self._page.show(markdown_lines(await self._desk.library.preview(chosen)))
        except PonderError as error:
            self._page.show(markdown_lines(error.message))

    # Searching

    def typed(self, text: str) -> None:
        """A query, unless a title is being written."""
        if self._renaming is None:
            super().typed(text)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._preview()

    def pressed(self, key: str) -> None:
        """Over to the list, or along it."""
        if key == "tab":
            self._list.focus()
        else:
            super().pressed(key)

    def entered(self, text: str) -> None:
        """Open, or keep the title."""
        if self._renaming is not None:
            self._rename(self._renaming, text)
        else:
            super().entered(text)

    def on_descendant_focus(self) -> None:
        """The keys that work now."""
        if self._renaming is None:
            self.show_keys(LIST_KEYS if self.focused is self._list else SEARCH_KEYS)

    # Doing things to the one the bar is on

    def key_tab(self) -> None:
        """Between list and search."""
        self._field.focus()

    def on_key(self, event: object) -> None:
        """Letters act while the list has the focus."""
        key = getattr(event, "key", "")
        chosen = self._list.chosen
        if self.focused is not self._list:
            return
        if key == "n":
            self.dismiss("new")
        elif key == "u":
            self._undo()
        elif key == "r" and chosen is not None:
            self._begin_rename(chosen)
        elif key in ("d", "f", "e", "space") and chosen is not None:
            self._act(key, chosen)

    def _begin_rename(self, session: str) -> None:
        self._renaming = session
        self.note("a new title")
        self._field.value = self._rows[session].title
        self._field.focus()
        self.show_keys(RENAME_KEYS, "back")

    def action_leave(self) -> None:
        """Out of the title, then out of the sheet."""
        if self._renaming is None:
            super().action_leave()
        else:
            self._rename(self._renaming, "")

    @work(group="act")
    async def _rename(self, session: str, title: str) -> None:
        self._renaming = None
        try:
            if title.strip():
                await self._desk.library.rename(session, title.strip())
        except PonderError as error:
            self.complain(error)
        self._field.value = self._query
        self._list.focus()
        self._search(session)

    @work(group="act")
    async def _undo(self) -> None:
        if not self._gone:
            self.note("nothing to undo")
            return
        session = self._gone.pop()
        await self._desk.library.undelete(session)
        self._search(session)

    @work(group="act")
    async def _act(self, key: str, session: str) -> None:
        try:
            await self._do(key, session)
        except PonderError as error:
            self.complain(error)

    async def _do(self, key: str, session: str) -> None:
        library = self._desk.library
        if key == "d":
            await library.delete(session)
            self._gone.append(session)
            self.say("Deleted. u brings it back.")
        elif key == "space":
            await library.pin(session, pinned=not self._rows[session].pinned)
        elif key == "e":
            ask_export(self, library, session)
            return
        else:
            turns = await library.turns(session)
            self.dismiss(f"fork {session}" if turns else None)
            return
        self._search(session if key != "d" else None)
