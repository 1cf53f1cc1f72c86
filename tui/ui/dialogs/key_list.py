"""The list of providers and their keys, which leads to the key dialog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from tui.domain.fuzzy import best
from tui.domain.listing import ProviderInfo
from tui.domain.printable import one_line
from tui.ui.dialogs.filter_sheet import FilterSheet
from tui.ui.dialogs.key_dialog import KeyDialog
from tui.ui.dialogs.sheet import Keys
from tui.ui.panels.row_list import Row

TITLE = 28
"""Columns of a provider's name."""


class KeyList(FilterSheet[None]):
    """Opens the key dialog for the chosen provider, and stays until a key is saved."""

    TITLE_WORDS = "Keys"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "enter a key"))
    PLACEHOLDER = "filter providers"

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Providers with a key first."""
        found = best(query, self.ponder.services.keys.providers(), lambda row: f"{row.title} {row.provider}")
        return [_row(row, width) for row in found]

    def total(self) -> int:
        return len(self.ponder.services.keys.providers())

    def take(self, key: str | None) -> None:
        """Ask for the key of this provider."""
        if key is None:
            return

        def saved(done: object) -> None:
            if done:
                self.dismiss(None)

        self.app.push_screen(KeyDialog(key, self.ponder.services.keys.key_hint(key)), saved)


def _row(row: ProviderInfo, width: int) -> Row:
    mark = Content.styled("● ", "$success") if row.ready else Content("  ")
    title = one_line(row.title, TITLE).ljust(TITLE + 2)
    detail = one_line(row.detail, max(0, width - len(title) - 2))
    style = "$foreground" if row.ready else "$quiet"
    return Row(row.provider, mark + Content.styled(title, "$foreground") + Content.styled(detail, style))
