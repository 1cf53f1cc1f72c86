"""Lists of rows: what a message says about a row that is gone when it is handled."""

from __future__ import annotations

from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import OptionList

from tui.ui.panels.row_list import Row, RowList, key_of_row


def _rows(*keys: str) -> list[Row]:
    return [Row(key, Content(key)) for key in keys]


class _Chooser(App[None]):
    """Notes which rows it hears of."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = RowList()
        self.highlighted: list[str] = []
        self.taken: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.rows

    @on(OptionList.OptionHighlighted)
    def _note_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.highlighted.append(key_of_row(event.option))

    @on(OptionList.OptionSelected)
    def _note_taken(self, event: OptionList.OptionSelected) -> None:
        self.taken.append(key_of_row(event.option))


async def test_a_row_that_was_taken_before_the_list_changed_is_the_one_that_was_seen() -> None:
    app = _Chooser()
    async with app.run_test() as pilot:
        app.rows.show_rows(_rows("first", "second", "third"))
        await pilot.pause()
        app.highlighted.clear()
        app.rows.highlighted = 2
        app.rows.action_select()
        app.rows.show_rows(_rows("another"))
        await pilot.pause()
        assert (app.taken, app.highlighted) == (["third"], ["third", "another"])


async def test_a_row_at_the_same_place_is_not_taken_instead() -> None:
    app = _Chooser()
    async with app.run_test() as pilot:
        app.rows.show_rows(_rows("first", "second"))
        app.rows.action_select()
        app.rows.show_rows(_rows("another", "second"))
        await pilot.pause()
        assert app.taken == ["first"]


async def test_a_row_with_the_same_text_gets_its_new_style() -> None:
    app = _Chooser()
    async with app.run_test():
        for marked in ("[b]so[/]rt", "[b]sort[/]"):
            row = Row("a", Content.from_markup(marked))
            app.rows.show_rows([row])
            shown = app.rows.get_option_at_index(0).prompt
            assert isinstance(shown, Content)
            assert shown.spans == row.content.spans
