"""The settings screen: every setting by group with value, source and help; changed in place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui.domain.errors import PonderError
from tui.domain.fuzzy import best
from tui.domain.printable import one_line, printable
from tui.settings.layers import Layer, Layers
from tui.settings.profiles import SECTIONS
from tui.settings.remembered import is_remembered
from tui.settings.schema import keys
from tui.settings.titles import TITLES
from tui.ui.dialogs.filter_sheet import FilterSheet
from tui.ui.dialogs.sheet import Keys
from tui.ui.dialogs.theme_picker import swatch_of
from tui.ui.panels.row_list import STEPS, Row
from tui.ui.theme.current_theme import CurrentTheme

if TYPE_CHECKING:
    from tui.app.settings import SettingsService


GROUPS = {
    "": "Start",
    "reasoning": "Thinking",
    "generation": "Answers",
    "context": "Context window",
    "cache": "Prompt cache",
    "budget": "Spending limits",
    "tools": "Tools",
    "ui": "Appearance",
    "network": "Network",
    "local": "Models on this machine",
}
"""Titles of the groups, in the order of the schema."""
UNSET = {
    "favourites": "none",
    "reasoning.effort": "by level",
    "reasoning.maxTokens": "by level",
    "reasoning.language": "the model's choice",
    "generation.system": "none",
    "generation.temperature": "server default",
    "generation.topP": "server default",
    "generation.maxOutput": "the model's maximum",
    "context.limit": "the model's",
    "context.reserve": "by the model",
    "context.compressionModel": "the current model",
    "budget.turn": "no limit",
    "budget.session": "no limit",
    "budget.day": "no limit",
    "network.headerTimeout": "120 s or 600 s",
    "local.context": "the model's",
}
"""What holds while a setting has no value."""
UNITS = {
    "tools.timeout": "s",
    "network.connectTimeout": "s",
    "network.headerTimeout": "s",
    "network.idleTimeout": "s",
    "local.idle": "min",
}
TITLE = 29
SOURCE = 13
RAW = 32
WITH_RAW = 90
"""Columns from which the key is shown at the right."""


def value_text(value: object) -> str:
    """A value as a user would type it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(str(part) for part in value) or "–"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value), 60) or "–"


def shown_value(name: str, value: object) -> str:
    """A value as the list shows it; "" if there is none."""
    if value is None or value in ((), ""):
        return ""
    if isinstance(value, bool):
        return "● on" if value else "○ off"
    if name == "context.compressAt" and isinstance(value, float | int):
        return f"{value * 100:g} % of usable window"
    if name in UNITS and isinstance(value, float | int):
        return f"{value:g} {UNITS[name]}"
    return value_text(value)


def _lasts(name: str, layer: Layer) -> str:
    """How long a value lasts."""
    if is_remembered(name):
        if layer is Layer.SAVED:
            return "Saved. Press s to use it in this session only."
        return "This session only. Press s to save it." if layer is Layer.SESSION else "Changes are saved."
    kept = "/profile save NAME or config.toml keeps" if name.partition(".")[0] in SECTIONS else "config.toml keeps"
    return f"Changes are for this session; {kept} them for others."


class SettingRows:
    """Builds rows from the settings in force."""

    def __init__(
        self,
        layers: Callable[[], Layers],
        theming: Callable[[], CurrentTheme],
        in_use: Callable[[], Mapping[str, str]],
    ) -> None:
        self._layers = layers
        self._in_use = in_use
        """What settings without a value amount to in this session."""
        self._find_theming = theming

    @property
    def _theming(self) -> CurrentTheme:
        return self._find_theming()

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Rows by group; with a query the best match first, by title, name and help."""
        width = max(30, width)
        if query:
            names = best(query, list(keys()), lambda name: f"{name} {TITLES[name]} {keys()[name].help}")
            return [self._row(name, width, self._in_use()) for name in names]
        rows: list[Row] = []
        in_use = self._in_use()
        for group, title in GROUPS.items():
            if rows:
                rows.append(Row("", Content("")))
            rows.append(Row("", Content.styled(title, "bold $primary")))
            rows.extend(self._row(name, width, in_use) for name in keys() if name.rpartition(".")[0] == group)
        return rows

    def _row(self, name: str, width: int, in_use: Mapping[str, str]) -> Row:
        provenance = self._layers().provenance(name)
        changed = provenance.layer is not Layer.DEFAULT
        raw = f"{name:>{RAW}}" if width >= WITH_RAW else ""
        room = max(6, width - TITLE - SOURCE - len(raw))
        title = one_line(TITLES[name], TITLE - 2).ljust(TITLE)
        value = shown_value(name, provenance.value)
        style = "$quiet" if not value else "bold $foreground" if changed else "$foreground"
        passing = provenance.layer is Layer.SESSION
        source = "this session" if passing else provenance.source if changed else ""
        parts = (
            Content.styled(title, "$foreground" if changed else "$quiet"),
            self._value(name, value or in_use.get(name) or UNSET.get(name, "–"), room, style),
            Content.styled(one_line(source, SOURCE - 1).ljust(SOURCE), "$warning" if passing else "$quiet"),
            Content.styled(raw, "dim $quiet"),
        )
        return Row(name, Content("").join(parts))

    def _value(self, name: str, value: str, room: int, style: str) -> Content:
        """The padded value; a theme shows its colours if they fit."""
        text = one_line(value, room - 1)
        swatch = (
            swatch_of(self._theming.file(self._theming.resolve(value)).theme) if name == "ui.theme" else Content("")
        )
        gap = room - len(text) - 1 - swatch.cell_length
        if gap < 0:
            swatch, gap = Content(""), room - len(text) - 1
        return Content.styled(f"{text} ", style) + swatch + Content(" " * gap)

    def help(self, name: str) -> str:
        """Purpose, valid values, and how long a change lasts."""
        key, provenance = keys()[name], self._layers().provenance(name)
        sentences = [printable(key.help), f"Takes {key.kind}.", _lasts(name, provenance.layer)]
        if provenance.overruled:
            sentences.append(f"Overrides {', '.join(layer.title for layer in provenance.overruled)}.")
        return " ".join(sentences)

    def choices(self, name: str) -> Sequence[str]:
        """The valid values, if they can be listed."""
        return ("auto", *self._theming.names()) if name == "ui.theme" else keys()[name].choices

    def next_value(self, name: str, now: str, step: int = 1) -> str:
        """The next valid value, or with ``step`` -1 the previous; the same value if they cannot be listed."""
        choices = self.choices(name)
        if not choices:
            return now
        index = choices.index(now) if now in choices else -1 if step > 0 else 0
        return choices[(index + step) % len(choices)]


FIND_KEYS = (
    ("up down", "move"),
    ("left right", "change"),
    ("enter", "edit"),
    ("tab", "list"),
    ("ctrl+u", "reset"),
)
LIST_KEYS = (
    ("left right", "change"),
    ("space", "switch"),
    ("s", "save or not"),
    ("enter", "edit"),
    ("ctrl+u", "reset"),
    ("tab", "filter"),
)
EDIT_KEYS = (("enter", "set"), ("tab", "next value"))


class SettingsSheet(FilterSheet[None]):
    """A filter over the keys; enter turns it into a field for the value."""

    TITLE_WORDS = "Settings"
    SHAPE: ClassVar[str] = "-wide has-field"
    KEYS: ClassVar[Keys] = FIND_KEYS
    PLACEHOLDER = "find a setting"
    HANDED_ON = STEPS | {"tab", "ctrl+u"}
    LIST_TAKES_FOCUS: ClassVar[bool] = True

    def __init__(self, service: SettingsService, key: str = "") -> None:
        super().__init__(key)
        self._service = service
        self._editing: str | None = None
        self._help = Static("", markup=False, classes="detail")
        self._rows = SettingRows(service.layers, lambda: self.ponder.theming, self._in_use)
        self._one_change = asyncio.Lock()

    def inside(self) -> Sequence[Widget]:
        """Filter or value, list, help."""
        return (*super().inside(), self._help)

    def _in_use(self) -> Mapping[str, str]:
        """The model and the sizes of this session, for settings without a value."""
        view = self.ponder.chat.view()
        if view is None:
            return {}
        in_use = {"model": str(view.spec).partition("/")[2]}
        if view.meter is not None and view.meter.limit:
            in_use["context.limit"] = f"{view.meter.limit:,}"
            in_use["context.reserve"] = f"{view.meter.reserved:,}"
        return in_use

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Rows by group, or those that match the query."""
        return self._rows.rows(query, width)

    def total(self) -> int:
        return len(keys())

    def fill(self, at: str | None = None) -> None:
        """Show the rows and the help of the selected one."""
        super().fill(at)
        self._explain()

    @on(OptionList.OptionHighlighted)
    def _explain(self) -> None:
        name = self.row_list.chosen
        self._help.update(Content.styled(self._rows.help(name), "$foreground") if name is not None else "")

    def typed(self, text: str) -> None:
        """Filter, unless a value is being edited."""
        if self._editing is None:
            super().typed(text)
        self._hand_on()

    def _hand_on(self) -> None:
        """Leave the keys that change a value to the list; a blank in a filter is text."""
        more = () if self._editing is not None else ("left", "right") if self.query_text else ("left", "right", "space")
        self.field.hand_on(self.HANDED_ON.union(more))

    def on_mount(self) -> None:
        """Start with an empty filter, or with the key the sheet was opened for."""
        self._hand_on()

    def pressed(self, key: str) -> None:
        """A key that the filter leaves to the list."""
        if self._editing is not None:
            if key == "tab":
                self.field.value = self._rows.next_value(self._editing, self.field.value)
        elif key in ("up", "down") and not self.query_text:
            self.row_list.focus()
            super().pressed(key)
        elif key == "tab":
            self.row_list.focus()
        elif key in STEPS:
            super().pressed(key)
        else:
            self._act(key)

    def on_key(self, event: events.Key) -> None:
        """Keys of the list; letters typed there are added to the filter."""
        if self.focused is not self.row_list:
            return
        if event.key in ("left", "right", "space", "s", "ctrl+u"):
            self._act(event.key)
        elif event.key == "tab" or event.is_printable:
            self.field.focus()
            if event.key != "tab" and event.character:
                self.field.insert_text_at_cursor("" if event.character == "/" else event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    def _act(self, key: str) -> None:
        name = self.row_list.chosen
        if name is None:
            return
        if key == "ctrl+u":
            self._apply(name, lambda: self._service.unassign(name))
        elif key == "s" and not is_remembered(name):
            self.note("/profile save NAME keeps it" if name.partition(".")[0] in SECTIONS else "config.toml keeps it")
        elif key == "s":
            self._apply(name, lambda: self._save_or_not(name))
        elif not self._rows.choices(name):
            self.note("enter sets another value")
        elif key != "space" or keys()[name].choices == ("true", "false"):
            self._apply(name, lambda: self._step(name, -1 if key == "left" else 1))

    def on_descendant_focus(self) -> None:
        """Show the keys of the focused widget."""
        if self._editing is None:
            self.show_keys(LIST_KEYS if self.focused is self.row_list else FIND_KEYS)

    def entered(self, text: str) -> None:
        """Start editing a value, or apply the edited one."""
        name = self._editing
        if name is None:
            self.take(self.row_list.chosen)
        else:
            self._apply(
                name, lambda: self._service.assign(name, text) if text.strip() else self._service.unassign(name)
            )

    def take(self, key: str | None) -> None:
        """Turn the filter into a field for the value."""
        if key is None:
            return
        self._editing = key
        value = value_text(self._service.layers().value(key)).replace(",", "")
        self.retitle(f"Settings › {key}")
        self.field.value = "" if value == "–" else value
        self.field.cursor_position = len(self.field.value)
        self.field.focus()
        self._hand_on()
        self.show_keys(EDIT_KEYS if self._rows.choices(key) else EDIT_KEYS[:1], "back")

    def action_leave(self) -> None:
        """Cancel editing, or close the sheet."""
        if self._editing is None:
            self.dismiss(None)
        else:
            self._done()

    def _done(self) -> None:
        name, self._editing = self._editing, None
        self.retitle(self.TITLE_WORDS)
        self.field.value = self.query_text
        self._hand_on()
        self.show_keys(FIND_KEYS)
        self.fill(at=name)

    async def _step(self, name: str, step: int) -> str:
        now = value_text(self._service.layers().value(name))
        await self._service.assign(name, self._rows.next_value(name, now, step))
        return ""  # the row shows it

    def _save_or_not(self, name: str) -> Awaitable[str]:
        saved = self._service.layers().provenance(name).layer is Layer.SAVED
        return self._service.set_saved(name, saved=not saved)

    @work
    async def _apply(self, name: str, change: Callable[[], Awaitable[str]]) -> None:
        """Apply changes one after the other: each starts from the result of the one before."""
        async with self._one_change:
            try:
                if text := await change():
                    self.say(text)
            except PonderError as error:
                self.show_error(error)
                return
        if self._editing == name:
            self._done()
        else:
            self.fill(at=name)
