"""Every setting: value, where it is from, help; changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui.commands.context import SettingsDesk
from tui.domain.errors import PonderError
from tui.domain.printable import one_line, printable
from tui.settings.layers import Layer
from tui.settings.schema import keys
from tui.ui.fuzzy import best
from tui.ui.screens.finder import Finder
from tui.ui.screens.sheet import Keys
from tui.ui.widgets.row_list import STEPS, Row

FIND_KEYS = (("up down", "move"), ("enter", "change"), ("ctrl+u", "take back"))
EDIT_KEYS = (("enter", "set"), ("tab", "next value"))


def value_words(value: object) -> str:
    """A value as it would be typed."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(str(part) for part in value) or "–"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value), 60) or "–"


class SettingsSheet(Finder[None]):
    """A filter over the keys; enter turns it into a field for the value."""

    TITLE_WORDS = "Settings"
    SHAPE: ClassVar[str] = "-wide has-field"
    KEYS: ClassVar[Keys] = FIND_KEYS
    PLACEHOLDER = "find a setting"
    HANDED_ON = STEPS | {"tab", "ctrl+u"}

    def __init__(self, desk: SettingsDesk, key: str = "") -> None:
        super().__init__(key)
        self._desk = desk
        self._editing: str | None = None
        self._help = Static("", markup=False, classes="detail")

    def inside(self) -> Sequence[Widget]:
        """Filter or value, list, help."""
        return (*super().inside(), self._help)

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """By name and by what is said of them."""
        names = best(query, list(keys()), lambda name: f"{name} {keys()[name].help}")
        return [self._row(name, max(30, width)) for name in names]

    def total(self) -> int:
        """All of them."""
        return len(keys())

    def fill(self, at: str | None = None) -> None:
        """Rows, and what is known of the one the bar is on."""
        super().fill(at)
        self._explain()

    def _row(self, name: str, width: int) -> Row:
        said = self._desk.layers().provenance(name)
        changed = said.layer is not Layer.DEFAULT
        column = 24 if width >= 90 else 14
        source = one_line(said.source, column - 2)
        left = name.ljust(32)
        room = max(6, width - len(left) - column)
        value = Content.styled(
            one_line(value_words(said.value), room).ljust(room), "bold $foreground" if changed else "$foreground"
        )
        name_style = "$foreground" if changed else "$muted-text"
        return Row(name, Content.styled(left, name_style) + value + Content.styled(source.rjust(column), "$muted-text"))

    def _explain(self) -> None:
        name = self._list.chosen
        if name is None:
            self._help.update("")
            return
        key, said = keys()[name], self._desk.layers().provenance(name)
        words = [
            printable(key.help),
            f"It takes {key.kind}.",
            "Set here it holds for this session; config.toml keeps it.",
        ]
        if said.overruled:
            words.append(f"Overrules {', '.join(layer.title for layer in said.overruled)}.")
        self._help.update(Content.styled(" ".join(words), "$foreground"))

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._explain()

    def typed(self, text: str) -> None:
        """A query, unless a value is being written."""
        if self._editing is None:
            super().typed(text)

    def pressed(self, key: str) -> None:
        """Take back; the next of the values there are; up and down."""
        if self._editing is not None:
            if key == "tab":
                self._next_value(self._editing)
        elif key == "ctrl+u":
            self._take_back()
        else:
            super().pressed(key)

    def entered(self, text: str) -> None:
        """Begin with a value, or take the one that was written."""
        if self._editing is None:
            self.take(self._list.chosen)
        else:
            self._assign(self._editing, text)

    def take(self, key: str | None) -> None:
        """The field is for its value now."""
        self._begin(key)

    def _begin(self, name: str | None) -> None:
        if name is None:
            return
        self._editing = name
        value = value_words(self._desk.layers().value(name)).replace(",", "")
        self.retitle(f"Settings › {name}")
        self._field.value = "" if value == "–" else value
        self._field.cursor_position = len(self._field.value)
        self._field.focus()
        self.show_keys(EDIT_KEYS if keys()[name].choices else EDIT_KEYS[:1], "back")

    def _next_value(self, name: str) -> None:
        choices = keys()[name].choices
        if choices:
            place = choices.index(self._field.value) if self._field.value in choices else -1
            self._field.value = choices[(place + 1) % len(choices)]

    def action_leave(self) -> None:
        """Out of the value, then out of the sheet."""
        if self._editing is None:
            self.dismiss(None)
        else:
            self._done()

    def _done(self) -> None:
        name, self._editing = self._editing, None
        self.retitle(self.TITLE_WORDS)
        self._field.value = self._query
        self.show_keys(FIND_KEYS)
        self.fill(at=name)

    @work(exclusive=True)
    async def _assign(self, name: str, words: str) -> None:
        try:
            self.say(await (self._desk.assign(name, words) if words.strip() else self._desk.unassign(name)))
        except PonderError as error:
            self.complain(error)
            return
        self._done()

    @work(exclusive=True)
    async def _take_back(self) -> None:
        name = self._list.chosen
        if name is not None:
            try:
                self.say(await self._desk.unassign(name))
            except PonderError as error:
                self.complain(error)
            self.fill(at=name)
