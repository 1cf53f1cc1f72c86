"""Which file a session is written to: its form, and how much of the session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, cast

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from tui.commands.context import Library
from tui.domain.errors import PonderError
from tui.domain.events import Severity
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.panels.row_list import Row, RowList

Form = Literal["md", "json", "html"]

FORMS = {"md": "Markdown", "html": "a web page", "json": "JSON, can be imported again"}
PARTS = {"answers": "prompts and answers", "thinking": "with thinking", "all": "with thinking and tools"}


class ExportChoice(Sheet[tuple[Form, str]]):
    """Gives form and extent."""

    TITLE_WORDS = "Export"
    SHAPE: ClassVar[str] = "-small"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "write"))

    def inside(self) -> Sequence[Widget]:
        """Every form with every extent: nine lines, one choice."""
        self._list = RowList()
        return (self._list,)

    def on_mount(self) -> None:
        """Markdown of the answers is what most want."""
        self._list.show_rows(
            [
                Row(
                    f"{form} {part}",
                    Content.styled(form.ljust(6), "bold $foreground")
                    + Content.styled(extent.ljust(26), "$foreground")
                    + Content.styled(words, "$muted-text"),
                )
                for form, words in FORMS.items()
                for part, extent in PARTS.items()
            ]
        )
        self._list.focus()

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        form, _, part = self._list.key_at(event.option_index).partition(" ")
        self.dismiss((cast("Form", form), part))


def ask_export(sheet: Sheet[str], library: Library, session: str) -> None:
    """Ask how, then write the file; what became of it is said on the sheet it was asked from."""

    def chosen(choice: tuple[Form, str] | None) -> None:
        if choice is not None:
            sheet.run_worker(_export(sheet, library, session, *choice), group="act")

    sheet.app.push_screen(ExportChoice(), chosen)


async def _export(sheet: Sheet[str], library: Library, session: str, form: Form, parts: str) -> None:
    name = f"ponder-{session[-8:]}.{form}"
    try:
        path = Path.cwd() / name
        await library.export_to(path, session, form, parts)
    except PonderError as error:
        sheet.complain(error)
    except OSError as error:
        sheet.ponder.say(f"{name} could not be written: {error.strerror}.", Severity.ERROR)
    else:
        sheet.say(f"Written to {path}")
