"""Thinking: open while live, folded to a line afterwards."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

from tui.domain.cost import money
from tui.domain.format_numbers import count, duration, rate, tokens
from tui.domain.search_terms import SearchTerms
from tui.ui.graphemes import line_within
from tui.ui.markdown.lazy_lines import LinePosition
from tui.ui.markdown.occurrences import Occurrence
from tui.ui.markdown.runs import Line, Look, Run, line_width, width_of
from tui.ui.transcript.blocks import Answer, Fold, Renderable

if TYPE_CHECKING:
    from tui.ui.markdown.outline import OutlineEntry

PACE_S = 0.5
"""Least time between two notes of how far thinking has come."""
LEAST_TIME_S = 1.0
"""Seconds of thinking before its speed is shown."""
PEEK_ROWS = 10
"""Rows of thinking shown when it is peeked at, and the least shown while it is live."""
BESIDE_ROWS = 8
"""Rows of a transcript that live thinking leaves to its prompt, its head and the line that waits."""


def live_rows(transcript_rows: int) -> int:
    """Rows of live thinking in a transcript of this height: nearly all, at least three fifths of it."""
    return max(PEEK_ROWS, ceil(transcript_rows * 3 / 5), transcript_rows - BESIDE_ROWS)


class ThinkingPace:
    """How far thinking had come when, while it was live."""

    def __init__(self) -> None:
        self._notes: list[tuple[int, float]] = []
        """Characters and seconds."""

    def note(self, size: int, seconds: float) -> None:
        """Note how far it has come."""
        if not self._notes or seconds - self._notes[-1][1] >= PACE_S:
            self._notes.append((size, seconds))

    def seconds_at(self, share: float, size: int, seconds: float | None) -> float | None:
        """When this share of the whole was there; None if unknown."""
        if not self._notes or seconds is None:
            return None
        before = (0, 0.0)
        for after in [*self._notes, (size, seconds)]:
            if after[0] >= share * size:
                way = (share * size - before[0]) / max(1, after[0] - before[0])
                return before[1] + way * (after[1] - before[1])
            before = after
        return seconds

    def share_a_second(self, size: int, seconds: float | None) -> float | None:
        """The share of it that came in a second, from its first words on; None before that can be said."""
        if not self._notes or seconds is None or not size:
            return None
        before, began = self._notes[0]
        return (1 - before / size) / (seconds - began) if seconds - began >= LEAST_TIME_S else None


class Thinking(Renderable):
    """Thinking: open while live, then one line, then whatever the user chooses."""

    background = "thinking"
    is_markdown = True

    def __init__(
        self,
        text: str = "",
        *,
        live: bool = False,
        folded: Fold = Fold.FOLDED,
        most_rows: Callable[[], int] = lambda: PEEK_ROWS,
    ) -> None:
        """``most_rows`` says how many rows it takes while it is live."""
        self.words = Answer(text, closed=not live)
        self._most_rows = most_rows
        self._shown = Fold.PEEK if live else folded
        self.shown_after = folded
        """How much is shown when the thinking ends, unless the user changed it."""
        self._touched = False
        self._rows = 0
        self._first = 0
        self._total = 0
        self._width = 0
        self.live = live
        self.seconds: float | None = None
        self._pace = ThinkingPace()
        self.tokens: int | None = None
        self.tokens_estimated = True
        self.cost: float | None = None
        self.word = ""
        """summary, full, hidden by provider, encrypted …"""
        self.is_brief = False
        """A step between others: its head has only the number of tokens."""
        self.narrates = False
        """What the model says between calls is here, so it is shown unless the user folds it."""

    def be_brief(self, *, now: bool) -> None:
        """Show only the number of tokens beside the text, without a surface, as one step of several."""
        self.is_brief = now
        self.background = "" if now and not self.live else type(self).background

    @property
    def foldable(self) -> bool:
        return True

    def fold_at(self, number: int) -> bool:
        """The first line folds all of it."""
        return super().fold_at(number) or (0 < number <= self._rows and self.words.fold_at(self._first + number - 1))

    @property
    def shown(self) -> Fold:
        """How much is shown."""
        return self._shown

    @property
    def has_text(self) -> bool:
        """Whether there is text to show."""
        return self.words.size > 0

    @property
    def is_outdated(self) -> bool:
        return self.words.is_outdated

    @property
    def size(self) -> int:
        """The number of characters."""
        return self.words.size

    def append(self, text: str) -> None:
        """Add text."""
        self.words.append(text)

    def finish(self) -> None:
        """Fold when the thinking ends, unless the user changed it."""
        self.live = False
        self.words.close()
        self.be_brief(now=self.is_brief)
        if not self._touched:
            self._shown = self.shown_after

    def show(self, fold: Fold) -> None:
        """Show this much, as the user chose."""
        self._touched = True
        self._shown = fold

    def fold(self) -> None:
        """Folded → peek → full → folded; short thinking skips the peek."""
        following = self._shown.next
        if following is Fold.FULL and self._total <= PEEK_ROWS:
            following = Fold.FOLDED
        self.show(following)

    def height(self, width: int) -> int:
        """The head and the rows shown."""
        self._width = width
        if self.narrates and self.is_brief and not self.live and not self._touched:
            said = self.words.beginning(width + 1).strip()
            fits = "\n" not in said and line_width(self._head_words()) + width_of(said) + 3 <= width
            self._shown = Fold.FOLDED if fits else Fold.PEEK
        if self._shown is Fold.FOLDED or not self.has_text:
            self._rows = self._first = 0
            return 1
        self.words.sideways, self.words.as_source = self.sideways, self.as_source
        self._total = self.words.height(max(8, width - 2))
        if self._shown is Fold.FULL:
            self._rows, self._first = self._total, 0
            return 1 + self._rows
        most = self._most_rows() if self.live else PEEK_ROWS
        if self.live:
            self.words.lay_out_end(most)
        else:
            self.words.lay_out(0, most)
        self._total = self.words.height(max(8, width - 2))
        self._rows = min(most, self._total)
        self._first = self._total - self._rows if self.live else 0
        return 1 + self._rows + (1 if not self.live and self._total > self._rows else 0)

    def line(self, number: int) -> Line:
        """The head line, or a row behind the bar."""
        if number == 0:
            return self._head()
        if number > self._rows:
            about = "" if self.words.document().is_known else "≈"
            return [Run("┊ ", "thinking-bar"), Run(f"… {about}{count(self._total - self._rows, 'more line')}", "muted")]
        return [Run("┊ ", "thinking-bar"), *self.words.line(self._first + number - 1)]

    def lay_out(self, first: int, last: int) -> int:
        """Has an effect only if all of it is shown."""
        return self.words.lay_out(first - 1, last - 1) if self._is_whole else 0

    def lay_out_end(self, count: int) -> None:
        """As ``lay_out``."""
        if self._is_whole:
            self.words.lay_out_end(count)

    def position_at(self, number: int) -> LinePosition | None:
        """Below the head, the text's position."""
        return self.words.position_at(number - 1) if self._is_whole and number else None

    def line_at(self, position: LinePosition) -> int:
        return 1 + self.words.line_at(position) if self._is_whole else 0

    def code_at(self, number: int) -> str | None:
        """Below the head."""
        return self.words.code_at(self._first + number - 1) if 0 < number <= self._rows else None

    def find(self, terms: SearchTerms, number: int, width: int) -> Occurrence:
        """Below the head, and shifted by the bar."""
        self.height(width)
        if not self._is_whole:
            return super().find(terms, number, width)
        return self.words.find(terms, number, max(8, width - 2)).moved(1, 2)

    def outline(self) -> list[OutlineEntry]:
        """Its headings and turns of thought."""
        return self.words.outline(thinking=True) if self.has_text else []

    def find_entry(self, entry: OutlineEntry, width: int) -> Occurrence:
        """Shows all of it first."""
        if not self._is_whole:
            self.show(Fold.FULL)
        self.height(width)
        return self.words.find_entry(entry, max(8, width - 2)).moved(1, 2)

    def note_pace(self) -> None:
        """Note how far it has come, so that each part of it has a duration."""
        self._pace.note(self.size, self.seconds or 0.0)

    def seconds_at(self, share: float) -> float | None:
        """When the thinking had come this far; None if that is not known, as of a session opened again."""
        return self._pace.seconds_at(share, self.size, self.seconds)

    @property
    def _is_whole(self) -> bool:
        return self._shown is Fold.FULL and self.has_text

    def _head(self) -> Line:
        line = self._head_words()
        room = self._width - line_width(line) - 3
        if self._shown is Fold.FOLDED and room > 12 and self.has_text:
            line.append(Run("   " + line_within(self.words.beginning(2_000).strip()[:400], room), "thinking"))
        return line

    def _head_words(self) -> Line:
        mark = "·" if not self.has_text and not self.live else "▸" if self._shown is Fold.FOLDED else "▾"
        facts = [duration(self.seconds)] if self.seconds is not None else []
        if self.tokens is not None:
            facts.append(f"{'≈' if self.tokens_estimated else ''}{tokens(self.tokens)} tok")
        share = self._pace.share_a_second(self.size, self.seconds) if self.live else None
        if share is not None and self.tokens is not None:
            facts.append(rate(share * self.tokens))
        if self.cost is not None:
            facts.append(money(self.cost))
        if self.word:
            facts.append(self.word)
        if self.is_brief and not self.live:
            facts = [fact for fact in facts if fact.endswith(" tok")] or facts
        title = "Thinking…" if self.live else "" if self.is_brief and facts else "Thought"
        head = " ".join(filter(None, (mark, title, " · ".join(facts))))
        return [Run(head, "thinking", Look.BOLD if self.live else Look.PLAIN)]

    def estimate(self, width: int) -> int:
        """One line when folded."""
        return 1 if self._shown is Fold.FOLDED else self.height(width)

    def text(self) -> str:
        """The thinking as received."""
        return self.words.text()

    def drop_layout(self) -> None:
        """Drop the layout: the block is far from the window."""
        self.words.drop_layout()
