"""Sheets with a search field above a list of results; the command palette and the prompt history are two of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual import events, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from tui.commands.keymap import key_words
from tui.commands.registry import Command, by_need
from tui.domain.fuzzy import best
from tui.domain.printable import one_line
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.input.field import Field
from tui.ui.panels.row_list import STEPS, Row, RowList, key_of_row

R = TypeVar("R")

NARROW = 100
"""Columns below which nothing is shown beside the list."""


class SearchSheet(Sheet[R]):
    """Typing searches, arrows move, enter and clicks take a row. Subclasses define search and taking."""

    PLACEHOLDER: ClassVar[str] = ""
    HANDED_ON: ClassVar[frozenset[str]] = STEPS
    """Keys that move in the list instead of being typed; subclasses add more."""
    LIST_TAKES_FOCUS: ClassVar[bool] = False

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.query_text = query
        self.field = Field(self.PLACEHOLDER, value=query, handed_on=self.HANDED_ON)
        self.row_list = RowList(can_focus=self.LIST_TAKES_FOCUS)
        self._width = 0

    def inside(self) -> Sequence[Widget]:
        """Field above list."""
        return (self.field, self.row_list)

    def on_mount(self) -> None:
        """Search once the list has its width."""
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.field.focus()
        self.call_after_refresh(self.fill)

    def on_resize(self, event: events.Resize) -> None:
        """Refit the rows."""
        self.set_class(event.size.width < NARROW, "-narrow")
        self.call_after_refresh(self._refit)

    def _refit(self) -> None:
        """Rebuild the rows for the new width and keep the selection."""
        before, self._width = self._width, self.row_list.size.width
        if before not in (0, self._width):
            self.fill(self.row_list.chosen)

    @abstractmethod
    def fill(self, at: str | None = None) -> None:
        """Show the rows that match the query, with ``at`` selected."""

    @abstractmethod
    def take(self, key: str | None) -> None:
        """The user chose this row; None if nothing matches."""

    def typed(self, text: str) -> None:
        """The text in the field changed."""
        self.query_text = text
        self.fill()

    def pressed(self, key: str) -> None:
        """A handed-on key was pressed."""
        if key in STEPS:
            self.row_list.step(key)

    def entered(self, text: str) -> None:
        """Enter was pressed in the field."""
        self.take(self.row_list.chosen)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.typed(event.value)

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        self.pressed(event.key)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.entered(event.value)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.take(key_of_row(event.option))


class FilterSheet(SearchSheet[R]):
    """A filter over items in memory; the best match is selected."""

    SHAPE: ClassVar[str] = "-middle has-field"
    FITS: ClassVar[bool] = True

    @abstractmethod
    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Matching rows, best first."""

    @abstractmethod
    def total(self) -> int:
        """The number of rows without a query."""

    def fill(self, at: str | None = None) -> None:
        """Show matching rows, and the numbers of matches and of all rows."""
        rows = self.rows(self.query_text, self.row_list.room)
        best = next((row.key for row in rows if row.key), None)
        self.row_list.show_rows(rows, at=best if at is None else at)
        self.note(f"{sum(bool(row.key) for row in rows)} of {self.total()}")
        self.call_after_refresh(self.fit, self.row_list)


KEY = 14
"""Columns of a command's key or slash word."""
SUGGESTED = ("session.new", "session.list", "model.pick", "view.find", "settings.show", "theme.set")
"""What most users look for first, until they have used something."""


class Palette(FilterSheet[str]):
    """Gives the id of the chosen command."""

    TITLE_WORDS = "Commands"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "run"))
    PLACEHOLDER = "filter commands"

    def inside(self) -> Sequence[Widget]:
        """The description of the selected command below the list."""
        self._about = Static("", markup=False, classes="palette-about")
        return (*super().inside(), self._about)

    def _offered(self) -> list[Command]:
        offered = (command for command in self.ponder.registry if command.palette)
        return by_need(offered, busy=self.ponder.chat.is_busy())

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Grouped, recent ones first. With a query, names first; chapters only if no name matches as well."""
        offered = self._offered()
        if query.strip():
            found = best(query, offered, lambda command: f"{command.title} /{command.slash} {command.group.value}")
            return [self._row(command, width) for command in found]
        recent = self.ponder.ui_services.recent_commands
        first = recent or SUGGESTED
        title = "Recent" if recent else "Suggested"
        groups = {title: [command for name in first for command in offered if command.id == name]}
        for command in offered:
            if command.id not in first:
                groups.setdefault(command.group.value, []).append(command)
        rows: list[Row] = []
        for title, commands in groups.items():
            if commands:
                rows.extend([Row("", Content(""))] if rows else [])
                rows.append(Row("", Content.styled(title, "bold $primary")))
                rows.extend(self._row(command, width) for command in commands)
        return rows

    def total(self) -> int:
        return len(self._offered())

    def take(self, key: str | None) -> None:
        self.dismiss(key)

    @on(OptionList.OptionHighlighted)
    def _show_about(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        command = self.ponder.registry.by_id(key_of_row(event.option))
        slash = f"/{command.slash}" if command.slash else ""
        usage = f"{slash} {command.argument.usage}" if slash and command.argument is not None else slash
        about = Content.styled(command.plain_help, "$foreground")
        self._about.update(about + Content.styled(f"  {usage}", "$quiet") if usage else about)

    def _row(self, command: Command, width: int) -> Row:
        keys = self.ponder.keymap.get(command.id, ())
        key = key_words(keys[0]) if keys else ""
        slash = f"/{command.slash}" if command.slash else ""
        room = width - KEY - 1
        line = Content.styled(f"{one_line(command.title, room).ljust(room)} ", "$foreground")
        return Row(
            command.id, line + Content.styled((key or slash).rjust(KEY), "bold $foreground" if key else "$quiet")
        )


MOST = 200
LOOKED_AT = 2_000
"""Characters of a prompt that are searched."""


class HistorySearch(FilterSheet[str]):
    """Gives the chosen prompt."""

    TITLE_WORDS = "Earlier prompts"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "select"))
    PLACEHOLDER = "search what you asked"

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__()
        self._prompts = list(dict.fromkeys(reversed(prompts)))

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """The newest first."""
        indexes = best(query, range(len(self._prompts)), lambda index: self._prompts[index][:LOOKED_AT])
        return [Row(str(index), Content(one_line(self._prompts[index], width))) for index in indexes[:MOST]]

    def total(self) -> int:
        """Count each prompt once."""
        return len(self._prompts)

    def take(self, key: str | None) -> None:
        self.dismiss(self._prompts[int(key)] if key else None)
