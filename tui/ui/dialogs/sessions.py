"""All sessions: typing searches, enter opens; rename, pin, fork, export, delete with undo."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from textual import on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from tui.app.export_file import new_export_file
from tui.domain.cost import Cost
from tui.domain.errors import PonderError, UsageError
from tui.domain.events import Severity
from tui.domain.format_numbers import count
from tui.domain.listing import MOST_LISTED, Activity, OpenSessionInfo, SessionInfo, number_of_sessions
from tui.domain.printable import one_line
from tui.ui.dialogs.filter_sheet import SearchSheet
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import width_of
from tui.ui.panels.page import Page, markdown_lines
from tui.ui.panels.row_list import STEPS, Row, RowList, key_of_row
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.app.session_storage import Storage

Form = Literal["md", "json", "html"]

FORMS = {"md": "Markdown", "html": "a web page", "json": "JSON, can be imported again"}
PARTS = {"answers": "prompts and answers", "thinking": "with thinking", "all": "with thinking and tools"}


class ExportChoice(Sheet[tuple[Form, str]]):
    """Gives the export format and extent."""

    TITLE_WORDS = "Export"
    SHAPE: ClassVar[str] = "-small"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "write"))

    def inside(self) -> Sequence[Widget]:
        """Every format with every extent, as one list."""
        self.row_list = RowList()
        return (self.row_list,)

    def on_mount(self) -> None:
        """Select markdown of the answers, the most common choice."""
        self.row_list.show_rows(
            [
                Row(
                    f"{form} {part}",
                    Content.styled(form.ljust(6), "bold $foreground")
                    + Content.styled(extent.ljust(26), "$foreground")
                    + Content.styled(text, "$quiet"),
                )
                for form, text in FORMS.items()
                for part, extent in PARTS.items()
            ]
        )
        self.row_list.focus()

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        form, _, part = key_of_row(event.option).partition(" ")
        self.dismiss((cast("Form", form), part))


def ask_export(sheet: Sheet[str], library: Storage, session: SessionInfo) -> None:
    """Ask for the format, write the file, and report the result on the given sheet."""

    def chosen(choice: tuple[Form, str] | None) -> None:
        if choice is not None:
            start_work(sheet, lambda: _export(sheet, library, session, *choice), group="act")

    sheet.app.push_screen(ExportChoice(), chosen)


async def _export(sheet: Sheet[str], library: Storage, session: SessionInfo, form: Form, parts: str) -> None:
    path = await asyncio.to_thread(new_export_file, session.title, session.id, form)
    try:
        await library.export_to(path, session.id, form, parts)
    except PonderError as error:
        sheet.show_error(error)
    except OSError as error:
        sheet.ponder.say(f"Cannot write {path.name}: {error.strerror}.", Severity.ERROR)
    else:
        sheet.say(f"Written to {path}.")


HIT = re.compile("\x02(.*?)\x03", re.DOTALL)


def age(seconds: float) -> str:
    """Approximate time since then."""
    if seconds < 60:
        return "now"
    for limit, unit, word in ((3_600, 60, "min"), (86_400, 3_600, "h"), (86_400 * 60, 86_400, "d")):
        if seconds < limit:
            return f"{int(seconds // unit)} {word}"
    return f"{int(seconds // (86_400 * 30))} mon"


MARKS = {
    Activity.RUNNING: ("▶ ", "$accent"),
    Activity.ASKS: ("? ", "$warning"),
    Activity.DONE: ("✓ ", "$success"),
    Activity.FAILED: ("✗ ", "$error"),
}
"""The mark of an open session; its words follow in the second line."""


def session_row(
    row: SessionInfo, width: int, now: float, *, current: bool, doing: OpenSessionInfo | None = None
) -> Row:
    """Two lines, or three with a snippet. ``doing`` is what the session does if it is open."""
    mark, style = ("● ", "$focus") if current else ("◆ ", "$focus") if row.pinned else ("  ", "$focus")
    activity = doing.activity if doing is not None else Activity.IDLE
    mark, style = MARKS.get(activity, (mark, style))
    when = age(max(0.0, now - row.updated))
    title = line_within(row.title or "untitled", max(8, width - len(when) - 4))
    gap = " " * max(1, width - 2 - width_of(title) - len(when))
    head = Content.styled(mark, style) + Content.styled(title, "bold $foreground")
    head = head + Content.styled(gap + when, "$quiet")
    cost = Cost(dollars=row.cost, unknown=row.unpriced).words or "cost unknown"
    states = [
        *([activity.value] if activity is not Activity.IDLE else []),
        *([f"{doing.queued:,} queued"] if doing is not None and doing.queued else []),
        *(["not kept"] if row.private else []),
    ]
    facts = [row.model or "no answer yet", count(row.turns, "turn"), cost]
    if row.pinned:
        facts.append("pinned")
    if row.deleted:
        facts.append("deleted")
    if current:
        facts.append("open")
    state = Content.styled(" · ".join(states), f"bold {style}")
    between = " · " if states else ""
    room = width - 2 - width_of(" · ".join(states)) - len(between)
    second = Content("  ") + state + Content.styled(between + line_within(" · ".join(facts), room), "$quiet")
    lines = [head, second]
    if row.snippet:
        lines.append(snippet(row.snippet, width - 2))
    return Row(row.id, Content("\n").join(lines))


def snippet(text: str, width: int) -> Content:
    """Text around the matches. Matches are in bold and in brackets, which remain visible without colours."""
    line = Content("  ")
    at, used = 0, 0
    for found in HIT.finditer(text):
        before = one_line(text[at : found.start()].replace("\x02", "").replace("\x03", ""), 200)
        hit = one_line(found[1], 60)
        before = _spaced(text[at : found.start()], before)
        if used + width_of(before) + width_of(hit) > width:
            break
        line = line + Content.styled(before, "$quiet") + Content.styled(hit, "bold underline $accent")
        used += width_of(before) + width_of(hit)
        at = found.end()
    rest = text[at:].replace("\x02", "").replace("\x03", "")
    room = width - used - rest[:1].isspace() - rest[-1:].isspace()
    if room <= 0:
        return line
    return line + Content.styled(_spaced(rest, line_within(rest, room)), "$quiet")


def _spaced(raw: str, shown: str) -> str:
    """One line of the text that keeps the blanks at its ends."""
    left = " " if raw[:1].isspace() else ""
    right = " " if raw[-1:].isspace() and shown else ""
    return f"{left}{shown}{right}"


SEARCH_KEYS = (("up down", "move"), ("enter", "open"), ("tab", "actions"))
LIST_KEYS = (
    *(("enter", "open"), ("n", "new"), ("r", "rename"), ("d", "delete"), ("u", "undo"), ("f", "fork")),
    *(("e", "export"), ("space", "pin"), ("tab", "search")),
)


LOOK_S = 0.5
"""How often the list looks what the open sessions do."""
RENAME_KEYS = (("enter", "rename"),)


class Sessions(SearchSheet[str]):
    """Gives the id of the session to open, or "new"."""

    TITLE_WORDS = "Sessions"
    SHAPE: ClassVar[str] = "-wide has-field"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = SEARCH_KEYS
    PLACEHOLDER = "search (in:thinking, model:opus, after:2026-01)"
    HANDED_ON = STEPS | {"tab"}
    LIST_TAKES_FOCUS = True

    def __init__(self, services: AppServices, query: str = "") -> None:
        super().__init__(query)
        self._services = services
        self._rows: dict[str, SessionInfo] = {}
        self._renaming: str | None = None
        self._gone: list[str] = []
        self._doing: dict[str, Activity] = {}
        self._searched = ""

    def on_mount(self) -> None:
        """Look regularly what the open sessions do."""
        self.set_interval(LOOK_S, self._look)

    def inside(self) -> Sequence[Widget]:
        """Search above list and preview."""
        self._page = Page(self.ponder.theming.sheet_styles(self.ponder), gap=1)
        self._page.can_focus = False
        return (self.field, Horizontal(self.row_list, self._page, classes="columns"))

    def row(self, session: str | None) -> SessionInfo | None:
        """The session as listed, with its match."""
        return self._rows.get(session or "")

    def fill(self, at: str | None = None) -> None:
        """Newest first, or best match first."""
        self._search(at)

    def take(self, key: str | None) -> None:
        """Open the session."""
        if key is not None:
            self.dismiss(key)

    @work(exclusive=True, group="search")
    async def _search(self, at: str | None = None) -> None:
        try:
            found = await self._services.library.sessions(self.query_text, MOST_LISTED + 1)
        except PonderError as error:
            self.note(error.message, "$error")
            return
        self._rows = {row.id: row for row in found[:MOST_LISTED]}
        if self.query_text != self._searched:
            # Other words: enter opens the best match, and not the session that was selected before.
            self._searched = self.query_text
            at = at or next(iter(self._rows), None)
        self._show_rows(at)
        self.note(number_of_sessions(len(found), "type to find"))
        self._preview()

    def _show_rows(self, at: str | None = None) -> None:
        """Show the sessions found, with what the open ones do now."""
        width = max(20, self.row_list.room)
        doing = {row.id: row for row in self._services.sessions.open_sessions()}
        self._doing = {name: row.activity for name, row in doing.items()}
        here, now = self._services.chat.session_id, time.time()
        rows = [
            session_row(row, width, now, current=row.id == here, doing=doing.get(row.id)) for row in self._rows.values()
        ]
        self.row_list.show_rows(rows, at=at)
        self.call_after_refresh(self.fit, self.row_list)

    def _look(self) -> None:
        """Follow what the open sessions do."""
        doing = {row.id: row.activity for row in self._services.sessions.open_sessions()}
        if doing != self._doing and self._rows:
            self._show_rows()

    @work(exclusive=True, group="preview")
    async def _preview(self) -> None:
        chosen = self.row_list.chosen
        if chosen is None:
            self._page.show(markdown_lines("Nothing found." if self.field.value else "No sessions yet."))
            return
        try:
            self._page.show(markdown_lines(await self._services.library.preview(chosen)))
        except PonderError as error:
            self._page.show(markdown_lines(error.message))
        self.call_after_refresh(self.fit, self._page)

    # Searching

    def typed(self, text: str) -> None:
        """Search, unless a title is being edited."""
        if self._renaming is None:
            super().typed(text)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._preview()

    def pressed(self, key: str) -> None:
        """Move into the list or along it."""
        if key == "tab":
            self.row_list.focus()
        else:
            super().pressed(key)

    def entered(self, text: str) -> None:
        """Open the session or save the title."""
        if self._renaming is not None:
            self._rename(self._renaming, text)
        else:
            super().entered(text)

    def on_descendant_focus(self) -> None:
        """Show the keys that work now."""
        if self._renaming is None:
            self.show_keys(LIST_KEYS if self.focused is self.row_list else SEARCH_KEYS)

    # Actions on the selected session

    def key_tab(self) -> None:
        """Switch between list and search."""
        self.field.focus()

    def on_key(self, event: object) -> None:
        """Letters are actions while the list has the focus."""
        key = getattr(event, "key", "")
        chosen = self.row_list.chosen
        if self.focused is not self.row_list:
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
        self.field.value = self._rows[session].title
        self.field.focus()
        self.show_keys(RENAME_KEYS, "back")

    def action_leave(self) -> None:
        """Cancel editing the title, or close the sheet."""
        if self._renaming is None:
            super().action_leave()
        else:
            self._rename(self._renaming, "")

    @work(group="act")
    async def _rename(self, session: str, title: str) -> None:
        self._renaming = None
        try:
            if title.strip():
                await self._services.library.rename(session, title.strip())
        except PonderError as error:
            self.show_error(error)
        self.field.value = self.query_text
        self.row_list.focus()
        self._search(session)

    @work(group="act")
    async def _undo(self) -> None:
        if not self._gone:
            self.note("nothing to undo")
            return
        session = self._gone.pop()
        try:
            await self._services.library.undelete(session)
        except PonderError as error:
            self.show_error(error)
        self._search(session)

    @work(group="act")
    async def _act(self, key: str, session: str) -> None:
        try:
            await self._do(key, session)
        except PonderError as error:
            self.show_error(error)

    async def _do(self, key: str, session: str) -> None:
        library = self._services.library
        if key == "d":
            if any(row.id == session for row in self._services.sessions.working()):
                raise UsageError("That session is running.", advice="Open it and press esc to stop it first.")
            await library.delete(session)
            self._gone.append(session)
            self.say("Deleted. Press u to undo.")
        elif key == "space":
            await library.pin(session, pinned=not self._rows[session].pinned)
        elif key == "e":
            ask_export(self, library, self._rows[session])
            return
        else:
            turns = await library.turns(session)
            self.dismiss(f"fork {session}" if turns else None)
            return
        self._search(session if key != "d" else None)
