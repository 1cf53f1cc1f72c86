"""Two kinds of terminals that disagree about how wide a cluster is: one counts code points, one whole clusters.

pyte itself stops at a joiner and keeps halves of wide characters that were written over, as no terminal does.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import pyte
from wcwidth import iter_graphemes, wcswidth, wcwidth


class ClusterScreen(pyte.Screen):
    """Draws what one width function says, and blanks the other half of a wide character that is written over."""

    @property
    def display(self) -> list[str]:
        """The rows as text."""
        return ["".join(self.buffer[row][column].data for column in range(self.columns)) for row in range(self.lines)]

    def parts(self, data: str) -> Iterable[tuple[str, int]]:
        """What takes cells together, and how many."""
        raise NotImplementedError

    def draw(self, data: str) -> None:
        """As a terminal with automatic wrapping off."""
        line = self.buffer[self.cursor.y]
        for text, width in self.parts(data):
            if width <= 0:
                before = max(0, self.cursor.x - 1)
                before -= line[before].data == "" and before > 0
                line[before] = line[before]._replace(data=line[before].data + text)
                continue
            if self.cursor.x + width > self.columns:
                self.cursor.x = self.columns - width
            first, last = self.cursor.x, self.cursor.x + width
            if line[first].data == "" and first:
                line[first - 1] = line[first - 1]._replace(data=" ")
            if last < self.columns and line[last].data == "":
                line[last] = line[last]._replace(data=" ")
            for column in range(first, last):
                line[column] = self.cursor.attrs._replace(data=text if column == first else "")
            self.cursor.x = min(last, self.columns - 1) if last >= self.columns else last
        self.dirty.add(self.cursor.y)


class CodePointScreen(ClusterScreen):
    """Every code point has a width of its own: xterm, older VTE, the Linux console."""

    def parts(self, data: str) -> Iterable[tuple[str, int]]:
        """A code point each."""
        return ((each, 1 if unicodedata.category(each) == "Mc" else wcwidth(each)) for each in data)


class GraphemeScreen(ClusterScreen):
    """A cluster is as wide as it looks: kitty, Ghostty, WezTerm, foot."""

    def parts(self, data: str) -> Iterable[tuple[str, int]]:
        """A cluster each; none is wider than two cells."""
        return ((cluster, min(2, wcswidth(cluster))) for cluster in iter_graphemes(data))
