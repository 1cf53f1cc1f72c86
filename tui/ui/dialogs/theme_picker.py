"""The theme picker: previews the selected theme in the chat behind it; escape restores the old theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.color import Color
from textual.content import Content
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui.domain.printable import one_line, printable
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.panels.row_list import SWATCH, Row, RowList, key_of_row
from tui.ui.theme.theme_files import theme_variables


def _channel(value: int) -> float:
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _luminance(colour: Color) -> float:
    return 0.2126 * _channel(colour.r) + 0.7152 * _channel(colour.g) + 0.0722 * _channel(colour.b)


def contrast(first: str, second: str) -> float | None:
    """Contrast from 1 (equal) to 21 (black on white); None for colours that the terminal defines."""
    if first.startswith("ansi_") or second.startswith("ansi_"):
        return None
    lighter, darker = sorted((_luminance(Color.parse(first)), _luminance(Color.parse(second))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


TEXT_PAIRS = (
    *(("answer-text", "background"), ("user-text", "user-tint"), ("thinking-text", "thinking-tint")),
    *(("muted-text", "background"), ("code-text", "code-tint"), ("inline-code", "background")),
    *(("heading", "background"), ("link", "background"), ("error", "background"), ("warning", "background")),
)
"""Text colours and their background colours."""


def weakest(variables: dict[str, str]) -> tuple[float, str] | None:
    """The pair of a theme with the lowest contrast; None if the terminal defines the colours."""
    found = [
        (ratio, f"{text} on {background}")
        for text, background in TEXT_PAIRS
        if (ratio := contrast(variables[text], variables[background])) is not None
    ]
    return min(found) if found else None


GOOD, FINE = 7.0, 4.5
"""Contrast that WCAG calls AAA and AA for text."""


SWATCHES = ("primary", "secondary", "accent", "success", "warning", "error")


def swatch_of(theme: Theme) -> Content:
    """The colours of a theme, unless the terminal defines them."""
    colours = [str(getattr(theme, colour)) for colour in SWATCHES]
    return Content("").join(Content.styled(SWATCH, colour) for colour in colours if colour.startswith("#"))


class ThemePicker(Sheet[str]):
    """Gives the name of the chosen theme."""

    TITLE_WORDS = "Themes"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (("up down", "try"), ("enter", "select"))

    def inside(self) -> Sequence[Widget]:
        """List above facts."""
        self._list = RowList()
        self._facts = Static("", markup=False, classes="detail")
        return (self._list, self._facts)

    def on_mount(self) -> None:
        """Select the current theme."""
        self._before = self.app.theme
        names = self.ponder.theming.names()
        self._list.show_rows([self._row(name) for name in names], at=self._before)
        self._list.focus()
        self._explain(self._before)
        self.call_after_refresh(self.fit, self._list)

    def _row(self, name: str) -> Row:
        file = self.ponder.theming.file(name)
        text = "light" if not file.theme.dark else "dark"
        if name == "ansi":
            text = "16 colours"
        own = " yours" if file.own else ""
        mark = "● " if name == self._before else "  "
        left = Content.styled(mark, "$focus") + Content.styled(one_line(name, 20).ljust(20), "$foreground")
        return Row(name, left + Content.styled((text + own).ljust(12), "$quiet") + swatch_of(file.theme))

    def _explain(self, name: str) -> None:
        file = self.ponder.theming.file(name)
        low = weakest(theme_variables(file.theme))
        if low is None:
            message = "The contrast depends on the terminal's colours."
        else:
            grade = "AAA" if low[0] >= GOOD else "AA" if low[0] >= FINE else "below AA"
            message = f"Contrast at least {low[0]:.1f} ({grade}; {low[1]})."
        text = Content(printable(file.description) + "\n") + Content.styled(message, "$quiet")
        self._facts.update(text)

    @on(OptionList.OptionHighlighted)
    def _try(self, event: OptionList.OptionHighlighted) -> None:
        name = key_of_row(event.option)
        if name != self.app.theme:
            self.ponder.theming.apply(self.app, name)
            self.ponder.chat.transcript.recolour(self.ponder.ui_services.theme_styles())
        self._explain(name)

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(key_of_row(event.option))

    def action_leave(self) -> None:
        """Restore the old theme."""
        self.ponder.theming.apply(self.app, self._before)
        self.ponder.chat.transcript.recolour(self.ponder.ui_services.theme_styles())
        self.dismiss(None)
