"""Web searches that the provider ran, drawn like tool calls, and the numbered sources below an answer."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.citations import LONGEST_ADDRESS, LONGEST_TITLE, shown_address, shown_title, source_lines
from tui.domain.format_numbers import count
from tui.domain.printable import one_line
from tui.domain.web_address import safe_address
from tui.domain.web_search import WEB_SEARCH, Source, WebSearch, error_sentence
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.tool_call import ToolCall, ToolState

SHOWN_FOLDED = 8
"""Sources that are shown before the user unfolds the rest."""
RUN_BY = "run by the provider"


def search_call(search: WebSearch) -> ToolCall:
    """The row of a search."""
    renderable = ToolCall(WEB_SEARCH)
    fill_search(renderable, search)
    return renderable


def fill_search(renderable: ToolCall, search: WebSearch) -> None:
    """Show what is known about a search."""
    renderable.main_argument = one_line(search.subject, LONGEST_ADDRESS)
    renderable.run_by = RUN_BY
    if search.error:
        renderable.state = ToolState.FAILED
        renderable.note = one_line(error_sentence(search.error), LONGEST_TITLE)
        renderable.detail = [("", f"{renderable.main_argument}\n{renderable.note}".strip())]
        return
    renderable.state = ToolState.DONE if search.done else ToolState.RUNNING
    renderable.note = "" if search.results is None else count(len(search.results), "result")
    pages = [f"{shown_title(page)}\n  {shown_address(page)}".strip() for page in search.results or ()]
    renderable.detail = [("", "\n".join([f"{renderable.main_argument}, {RUN_BY}".lstrip(", "), *pages]))]


class Sources(Renderable):
    """The pages that an answer cites: number, title and address of each; many are folded."""

    space = 1

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._open = False
        self._lines: list[Line] = []
        self._laid: tuple[int, bool] = (0, False)

    @property
    def foldable(self) -> bool:
        return len(self._sources) > SHOWN_FOLDED + 1

    @property
    def is_open(self) -> bool:
        """Whether all are shown."""
        return self._open or not self.foldable

    def fold(self) -> None:
        """Show all, or the first ones."""
        self._open = not self._open

    def fold_at(self, number: int) -> bool:
        """The line that counts the others unfolds them; the heading folds them again."""
        if not self.foldable or number not in (0, len(self._lines) - 1):
            return False
        self.fold()
        return True

    def height(self, width: int) -> int:
        if self._laid != (width, self._open):
            self._laid = (width, self._open)
            self._lines = list(self._rows(width))
        return len(self._lines)

    def _rows(self, width: int) -> list[Line]:
        shown = self._sources if self.is_open else self._sources[:SHOWN_FOLDED]
        rows: list[Line] = [[Run("Sources", "muted", Look.BOLD)]]
        digits = len(str(len(self._sources)))
        for number, page in enumerate(shown, 1):
            rows += source_rows(f"[{number}]".rjust(digits + 2) + " ", page, width)
        if rest := len(self._sources) - len(shown):
            rows.append([Run(f"▸ {count(rest, 'more source')}", "muted")])
        return rows

    def line(self, number: int) -> Line:
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """Usually two lines for each."""
        return 2 * (len(self._sources) if self.is_open else SHOWN_FOLDED) + 2

    def drop_layout(self) -> None:
        self._laid, self._lines = (0, False), []

    def text(self) -> str:
        """All sources, folded or not."""
        return "\n".join(["Sources", *source_lines(self._sources)])


def source_rows(mark: str, page: Source, width: int) -> list[Line]:
    """The title, and its address beside it if there is room, else below."""
    href = safe_address(page.url) or ""
    address = shown_address(page)
    title = shown_title(page)
    role = "link" if href else "text"
    room = max(1, width - len(mark))
    if not title or not address:
        return [[Run(mark, "muted"), Run(line_within(title or address, room), role, href=href)]]
    if width_of(title) + 2 + width_of(address) <= room:
        return [[Run(mark, "muted"), Run(title, role, href=href), Run(f"  {address}", "muted", href=href)]]
    below = [Run(" " * len(mark)), Run(line_within(address, room), "muted", href=href)]
    return [[Run(mark, "muted"), Run(line_within(title, room), role, href=href)], below]
