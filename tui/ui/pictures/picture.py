"""A picture of the user, a model or a tool in the transcript, with its caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.domain.blocks import ImageBlock
from tui.domain.format_numbers import file_size
from tui.domain.printable import one_line
from tui.ui.markdown.runs import Line, Run, wrap
from tui.ui.pictures.headers import size_of
from tui.ui.pictures.rows import PictureLine, cells_for
from tui.ui.transcript.blocks import Renderable

if TYPE_CHECKING:
    from tui.ui.pictures.pictures import Pictures

PENDING = PictureLine()
"""Every row of a picture that is being decoded."""


class Picture(Renderable):
    """Rows of a picture and its caption; only the caption while nothing draws pictures."""

    space = 1

    def __init__(self, block: ImageBlock, pictures: Pictures | None) -> None:
        self.data = block.data
        self._name = one_line(block.name or "image", 60)
        self._url = one_line(block.url or "", 60)
        self._pictures = pictures
        self._size = size_of(block.data) if block.data else None
        self._drawn: Sequence[PictureLine] | None = None
        self._problem = ""
        self._cells: tuple[int, int] | None = None
        self._caption: list[Line] = []
        self._laid: tuple[int, int] = (0, -1)
        self.width = 0
        """Columns of the text around it."""
        self.has_changed = False
        """Its height may have changed since it was last asked for."""

    def height(self, width: int) -> int:
        self.has_changed = False
        wish = self._pictures.wish if self._pictures is not None else 0
        if self._laid != (width, wish):
            if self._laid[1] != wish:
                self._forget()  # it is drawn in another way
            self._laid, self.width = (width, wish), width
            self._problem = ""
            self._lay_out()
        return self._rows + len(self._caption)

    def _lay_out(self) -> None:
        cells = cells_for(self._size, self.width) if self._size is not None else None
        if self._drawn is not None and (cells is None or cells != self._cells or not self._is_drawable):
            self._forget()
        self._cells = cells
        self._caption = wrap([Run(self._caption_text(), "muted")], self.width)

    @property
    def _is_drawable(self) -> bool:
        return bool(self.data) and self._pictures is not None and self._pictures.draws and not self._problem

    @property
    def _rows(self) -> int:
        if self._drawn is not None:
            return len(self._drawn)
        return self._cells[1] if self._is_drawable and self._cells is not None else 0

    def line(self, number: int) -> Line:
        """A row of the picture, which is decoded when it is first seen, or of the caption."""
        if self._pictures is not None and self._is_drawable:
            self._pictures.seen(self, is_drawn=self._drawn is not None)
        if number >= self._rows:
            return self._caption[number - self._rows]
        return self._drawn[number] if self._drawn is not None else PENDING

    def show(self, lines: Sequence[PictureLine]) -> None:
        """Show the decoded rows."""
        before, self._drawn = self._rows, lines
        self.has_changed = len(lines) != before

    def refuse(self, problem: str) -> None:
        """Show in the caption why the picture is not drawn."""
        self._problem = problem
        self._forget()
        self._lay_out()
        self.has_changed = True

    @property
    def is_outdated(self) -> bool:
        """Whether its height is to be asked for again."""
        wish = self._pictures.wish if self._pictures is not None else 0
        return self.has_changed or (self._laid[0] > 0 and self._laid[1] != wish)

    @property
    def area(self) -> int:
        """Cells that its rows take."""
        return sum(line.width for line in self._drawn or ())

    def forget_rows(self) -> None:
        """Drop the decoded rows; they are decoded again when they are seen."""
        self._drawn = None

    def drop_layout(self) -> None:
        self._laid, self.width = (0, -1), 0
        self._forget()

    def _forget(self) -> None:
        self._drawn = None
        if self._pictures is not None:
            self._pictures.forget(self)

    def estimate(self, width: int) -> int:
        """Exact, because the size is known without decoding."""
        return self.height(width)

    def text(self) -> str:
        """The caption."""
        return self._caption_text()

    def _caption_text(self) -> str:
        facts = [self._name]
        if self._size is not None:
            facts.append(f"{self._size.width} × {self._size.height}")
        if self.data:
            facts.append(file_size(len(self.data) * 3 // 4))
        elif self._url:
            facts += [self._url, "not fetched"]
        problem = self._problem or (self._pictures.problem if self._pictures is not None and self.data else "")
        if problem:
            facts.append(problem)
        return f"⊞ {' · '.join(facts)}"


class PromptPicture(Picture):
    """A picture that the user attached."""

    background = "user"
    space = 0
