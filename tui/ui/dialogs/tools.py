"""Tools that models may call, their servers, and the sandbox for commands; space switches a tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui.domain.errors import PonderError
from tui.domain.format_numbers import count, noun, tokens
from tui.domain.listing import ToolInfo, ToolTokens
from tui.domain.printable import one_line, printable
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.panels.row_list import Row, RowList

if TYPE_CHECKING:
    from tui.app.services import ToolService


class Tools(Sheet[None]):
    """A list of switches."""

    TITLE_WORDS = "Tools"
    SHAPE: ClassVar[str] = "-middle"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (("up down", "move"), ("space", "on or off"))

    def __init__(self, service: ToolService) -> None:
        super().__init__()
        self._service = service
        self._notes: Sequence[str] = ()

    def inside(self) -> Sequence[Widget]:
        """List above description."""
        self._list = RowList()
        self._about = Static("", markup=False, classes="detail")
        return (self._list, self._about)

    def on_mount(self) -> None:
        self._list.focus()
        self._begin()

    @work(exclusive=True)
    async def _begin(self) -> None:
        self._notes = await self._service.notes()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        rows = self._service.tools()
        width = max(30, self._list.room)
        self._list.show_rows([_heading(width), *(_row(row, width) for row in rows)] if rows else [])
        on_ = [row for row in rows if row.enabled]
        self.note(f"{len(on_)} of {len(rows)} on · {_sent(self._service.tools_sent())}")
        if not rows:
            self._about.update(Content.styled("No tools are sent to this model.", "$quiet"))
        self._explain()

    def _explain(self) -> None:
        row = next((row for row in self._service.tools() if row.name == self._list.chosen), None)
        servers = "\n".join(
            f"{server.name}: {server.state}, {count(server.tools, 'tool')} {server.detail}"
            for server in self._service.servers()
        )
        about = printable(row.description) if row is not None else ""
        below = "\n".join(filter(None, (servers, *(one_line(note, 300) for note in self._notes))))
        self._about.update(Content.styled(one_line(about, 300), "$foreground") + Content(f"\n{printable(below)}"))
        self.call_after_refresh(self.fit, self._list)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._explain()

    @on(OptionList.OptionSelected)
    def _chosen(self) -> None:
        self.switch()

    def key_space(self) -> None:
        """Switch the selected tool."""
        self.switch()

    @work(exclusive=True)
    async def switch(self) -> None:
        """Turn the tool on or off."""
        row = next((row for row in self._service.tools() if row.name == self._list.chosen), None)
        if row is not None:
            try:
                cost = await self._service.enable_tool(row.name, enabled=not row.enabled)
                if cost:
                    self.say(f"{row.name} {'off' if row.enabled else 'on'}: {cost}")
            except PonderError as error:
                self.show_error(error)
            self._fill()


def _sent(sent: ToolTokens) -> str:
    """Tokens of all definitions: the rows' sum plus what the provider adds once."""
    if sent.why_none:
        return f"not sent: {sent.why_none}"
    return f"{tokens(sent.tokens)} {noun(sent.tokens, 'token')}" + (
        f", {tokens(sent.shared)} of them for the list" if sent.shared else ""
    )


def _columns(width: int) -> tuple[int, int]:
    """Columns of the name, and of where a tool is from."""
    source = 17 if width >= 66 else 0
    return max(10, width - 4 - 9 - source - 6), source


def _heading(width: int) -> Row:
    room, source = _columns(width)
    words = f"    {'tool':{room}}{'rule':9}{'from' if source else '':{source}}{'tokens':>6}"
    return Row("", Content.styled(words, "$quiet"))


def _row(row: ToolInfo, width: int) -> Row:
    room, source = _columns(width)
    mark = "[x] " if row.enabled else "[ ] "
    style = "$foreground" if row.enabled else "$quiet"
    name = Content.styled(mark + one_line(row.name, room - 1).ljust(room), style)
    facts = one_line(row.policy, 8).ljust(9) + (one_line(row.source, source - 1).ljust(source) if source else "")
    return Row(row.name, name + Content.styled(facts + tokens(row.tokens).rjust(6), "$quiet"))
