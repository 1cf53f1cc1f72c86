"""The command palette: every command of the table, found by a few letters, with its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList

from tui.commands.key_words import key_words
from tui.commands.registry import Command
from tui.domain.printable import one_line
from tui.ui.fuzzy import best
from tui.ui.screens.sheet import Keys, Sheet
from tui.ui.widgets.field import Field
from tui.ui.widgets.row_list import STEPS, Row, RowList


class Palette(Sheet[str]):
    """Gives the id of the chosen command."""

    TITLE_WORDS = "Commands"
    SHAPE: ClassVar[str] = "-middle has-field"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "run"))

    def inside(self) -> Sequence[Widget]:
        """Filter over list."""
        self._field = Field("what do you want to do?", handed_on=STEPS)
        self._list = RowList(can_focus=False)
        return (self._field, self._list)

    def on_mount(self) -> None:
        """All commands."""
        self._field.focus()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        offered = [command for command in self.ponder.registry if command.palette]
        found = best(
            self._field.value, offered, lambda command: f"{command.title} /{command.slash} {command.group.value}"
        )
        width = self._list.size.width - 2
        self._list.show_rows([self._row(command, width) for command in found], at=found[0].id if found else None)
        self.note(f"{len(found)} of {len(offered)}")

    def _row(self, command: Command, width: int) -> Row:
        keys = self.ponder.keymap.get(command.id, ())
        key = key_words(keys[0]) if keys else ""
        slash = f"/{command.slash}" if command.slash else ""
        left = command.title.ljust(28)
        room = max(0, width - len(left) - 16)
        words = command.help if room >= 30 else slash if key else ""
        middle = one_line(words, room).ljust(room)
        line = Content.styled(left, "$foreground") + Content.styled(middle + "  ", "$muted-text")
        return Row(
            command.id, line + Content.styled((key or slash).rjust(14), "bold $foreground" if key else "$muted-text")
        )

    @on(Input.Changed)
    def _typed(self) -> None:
        self._fill()

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        self._list.step(event.key)

    @on(Input.Submitted)
    def _run(self) -> None:
        self.dismiss(self._list.chosen)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._list.key_at(event.option_index))
