"""The settings screen's rows: title, value, source and help of each setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from textual.content import Content

from tui.domain.printable import one_line, printable
from tui.settings.layers import Layer, Layers
from tui.settings.remembered import is_remembered
from tui.settings.schema import keys
from tui.ui.fuzzy import best
from tui.ui.panels.row_list import Row
from tui.ui.theme.current_theme import CurrentTheme

GROUPS = {
    "": "Start",
    "reasoning": "Thinking",
    "generation": "Answers",
    "context": "Context window",
    "tools": "Tools",
    "ui": "Appearance",
    "network": "Network",
}
"""Titles of the groups, in the order of the schema."""
WORDS = {"topP": "Top P", "allowHttp": "Allow plain HTTP"}
"""Titles of settings whose name gives a bad title when split at its capitals."""
TITLE = 27
SOURCE = 14
RAW = 32
WITH_RAW = 90
"""Columns from which the key is shown at the right."""
SWATCHES = ("primary", "secondary", "accent", "success", "warning", "error")


def title_of(name: str) -> str:
    """A title from a key: ``ui.levelKey`` as ``Level key``."""
    leaf = name.rpartition(".")[2]
    return WORDS.get(leaf) or re.sub(r"[A-Z]", lambda found: f" {found[0].lower()}", leaf).capitalize()


def value_text(value: object) -> str:
    """A value as a user would type it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(str(part) for part in value) or "–"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value), 60) or "–"


def _lasts(name: str, layer: Layer) -> str:
    """How long a value lasts."""
    if not is_remembered(name):
        return "A change holds for this session; config.toml keeps one for good."
    if layer is Layer.SAVED:
        return "Saved for the next start; s makes it this session's only."
    return "For this session only; s saves it." if layer is Layer.SESSION else "A change is saved for the next start."


class SettingRows:
    """Builds rows from the settings in force."""

    def __init__(self, layers: Callable[[], Layers], theming: Callable[[], CurrentTheme]) -> None:
        self._layers = layers
        self._find_theming = theming

    @property
    def _theming(self) -> CurrentTheme:
        return self._find_theming()

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Rows by group; with a query the best match first, by title, name and help."""
        width = max(30, width)
        if query:
            names = best(query, list(keys()), lambda name: f"{name} {title_of(name)} {keys()[name].help}")
            return [self._row(name, width) for name in names]
        rows: list[Row] = []
        for group, title in GROUPS.items():
            rows.append(Row("", Content.styled(title, "bold $primary")))
            rows.extend(self._row(name, width) for name in keys() if name.rpartition(".")[0] == group)
        return rows

    def _row(self, name: str, width: int) -> Row:
        said = self._layers().provenance(name)
        changed = said.layer is not Layer.DEFAULT
        raw = f"{name:>{RAW}}" if width >= WITH_RAW else ""
        room = max(6, width - TITLE - SOURCE - len(raw))
        title = one_line(title_of(name), TITLE - 2).ljust(TITLE)
        parts = (
            Content.styled(title, "$foreground" if changed else "$muted-text"),
            self._value(name, said.value, room, "bold $foreground" if changed else "$foreground"),
            Content.styled(one_line(said.source, SOURCE - 2).ljust(SOURCE), "$muted-text"),
            Content.styled(raw, "dim $muted-text"),
        )
        return Row(name, Content("").join(parts))

    def _value(self, name: str, value: object, room: int, style: str) -> Content:
        """The padded value; a theme shows its colours if they fit."""
        words = f"{'●' if value else '○'} {value_text(value)}" if isinstance(value, bool) else value_text(value)
        words = one_line(words, room - 1)
        swatch = self._swatch(str(value)) if name == "ui.theme" else Content("")
        gap = room - len(words) - 1 - swatch.cell_length
        if gap < 0:
            swatch, gap = Content(""), room - len(words) - 1
        return Content.styled(f"{words} ", style) + swatch + Content(" " * gap)

    def _swatch(self, name: str) -> Content:
        theme = self._theming.file(self._theming.resolve(name)).theme
        colours = [str(getattr(theme, colour)) for colour in SWATCHES]
        return Content("").join(Content.styled("■", colour) for colour in colours if colour.startswith("#"))

    def help(self, name: str) -> str:
        """Purpose, valid values, and how long a change lasts."""
        key, said = keys()[name], self._layers().provenance(name)
        words = [printable(key.help), f"Takes {key.kind}.", _lasts(name, said.layer)]
        if said.overruled:
            words.append(f"Overrules {', '.join(layer.title for layer in said.overruled)}.")
        return " ".join(words)

    def choices(self, name: str) -> Sequence[str]:
        """The valid values, if they can be listed."""
        return ("auto", *self._theming.names()) if name == "ui.theme" else keys()[name].choices

    def next_value(self, name: str, now: str, step: int = 1) -> str:
        """The next valid value, or with ``step`` -1 the previous; the same value if they cannot be listed."""
        choices = self.choices(name)
        if not choices:
            return now
        place = choices.index(now) if now in choices else -1 if step > 0 else 0
        return choices[(place + step) % len(choices)]
