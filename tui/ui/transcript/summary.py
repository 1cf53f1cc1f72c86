"""Folded text: a line that unfolds to the text behind it. A summary also unfolds the turns that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.domain.compression import CompressionView
from tui.domain.counting import count, noun
from tui.domain.printable import one_line
from tui.ui.format_numbers import tokens
from tui.ui.graphemes import line_within
from tui.ui.markdown.document import lay_markdown
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.transcript.blocks import Renderable
from tui.ui.transcript.section import Presence, Section, Speaker

SUMMARY = "summary:"
"""The key prefix of a summary's section; there is at most one."""


class Folded(Renderable):
    """One line that unfolds to text."""

    foldable = True

    def __init__(self, head: str, words: str) -> None:
        self._head = head
        self._words = words
        self._open = False
        self._lines: list[Line] = []
        self._laid: tuple[int, bool] = (0, False)

    @property
    def is_open(self) -> bool:
        """Whether more than the one line is shown."""
        return self._open

    def height(self, width: int) -> int:
        if self._laid != (width, self._open):
            self._laid = (width, self._open)
            self._lines = [self._first(width)]
            if self._open:
                self._lines.extend([Run("┊ ", "muted"), *line] for line in lay_markdown(self._words, max(1, width - 2)))
        return len(self._lines)

    def _first(self, width: int) -> Line:
        head = one_line(f"{'▾' if self._open else '▸'} {self._head}", width)
        room = width - width_of(head) - 3
        if self._open or room < 12:
            return [Run(head, "muted", Look.BOLD)]
        return [Run(head, "muted", Look.BOLD), Run("   " + line_within(self._words.strip()[:400], room), "muted")]

    def line(self, number: int) -> Line:
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """One line: it is closed until the user opens it."""
        return 1

    def text(self) -> str:
        """The text behind the line."""
        return self._words

    def fold(self) -> None:
        """Open or close."""
        self._open = not self._open


class Summary(Folded):
    """Text sent instead of the turns of these sections, which are hidden, or dimmed below it when it is open."""

    def __init__(self, view: CompressionView, behind: Sequence[Section], changed: Callable[[Section], None]) -> None:
        super().__init__(_said_of(view), view.summary)
        self._behind = behind
        self._changed = changed
        self._put()

    def fold(self) -> None:
        """Open or close, and show or hide the turns."""
        super().fold()
        self._put()

    def _put(self) -> None:
        for section in self._behind:
            section.put(Presence.DIMMED if self.is_open else Presence.HIDDEN)
            self._changed(section)


def _said_of(view: CompressionView) -> str:
    turns = count(len(view.compressed_turns), "turn")
    if view.before is None or view.after is None:
        return f"Folded {turns} into a summary"
    return f"Folded {turns} into a summary · {tokens(view.before)} → {tokens(view.after)} {noun(view.after, 'token')}"


def folded_into(
    view: CompressionView | None, keys: frozenset[str], sections: Sequence[Section], changed: Callable[[Section], None]
) -> list[Section]:
    """All sections, with those from the first to the last of these keys behind a summary; without one, show all."""
    shown = [section for section in sections if section.key != SUMMARY]
    for section in shown:
        if section.presence is not Presence.SHOWN:
            section.put(Presence.SHOWN)
            changed(section)
    places = [place for place, section in enumerate(shown) if section.key in keys]
    if view is None or not places:
        return shown
    # Sections between them, such as a notice, belong to them.
    behind = shown[places[0] : places[-1] + 1]
    standing = Section(SUMMARY, Speaker.NOTICE)
    standing.add(Summary(view, behind, changed))
    return [*shown[: places[0]], standing, *shown[places[0] :]]
