"""What stands in a section: words, thinking, tool calls, captions, errors. Each knows its lines at a width."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from tui.domain.printable import one_line, printable
from tui.ui.markdown.runs import Line, Look, Run, plain, wrap
from tui.ui.transcript.figures import duration, money, tokens

if TYPE_CHECKING:
    from tui.ui.markdown.document import Document

PEEK_ROWS = 10
"""Rows of thinking shown while it is live, and when it is peeked at."""


class Fold(Enum):
    """How much of a block is shown."""

    FOLDED = "folded"
    PEEK = "peek"
    FULL = "full"

    @property
    def next(self) -> Fold:
        """What the next press shows."""
        order = list(Fold)
        return order[(order.index(self) + 1) % len(order)]


class Drawn:
    """One block of a section."""

    ground: ClassVar[str] = ""
    space: int = 0
    """Empty lines above it."""
    foldable: bool = False

    def height(self, width: int) -> int:
        """Lines at this width; ``line`` then gives them."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """One line at the width last asked for."""
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """A cheap guess at the height, for what is not seen yet."""
        return self.height(width)

    def text(self) -> str:
        """Its words, for copying and finding."""
        return ""

    def fold(self) -> None:
        """Show the next amount of it."""


def estimated_lines(text: str, width: int) -> int:
    """About how many lines a text takes."""
    return text.count("\n") + len(text) // max(1, width) + 1


class Spoken(Drawn):
    """What the user wrote."""

    ground = "user"

    def __init__(self, text: str, attachments: tuple[str, ...] = ()) -> None:
        self._text = printable(text)
        self._attachments = attachments
        self._lines: list[Line] = []
        self._width = 0

    def height(self, width: int) -> int:
        """Wrapped as written."""
        if width != self._width:
            self._width = width
            self._lines = wrap([Run(self._text, "user")], width)
            self._lines.extend([Run(f"⊞ {one_line(name, width - 2)}", "muted")] for name in self._attachments)
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One of them."""
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """By length."""
        return estimated_lines(self._text, width) + len(self._attachments)

    def text(self) -> str:
        """As written."""
        return self._text


class Caption(Drawn):
    """Fixed lines: who answers, what it cost, a notice."""

    def __init__(self, *runs: Run, space: int = 0) -> None:
        self._runs = list(runs)
        self._lines: list[Line] = []
        self._width = 0
        self.space = space

    def show(self, *runs: Run) -> None:
        """Say something else."""
        self._runs, self._width = list(runs), 0

    def height(self, width: int) -> int:
        """Wrapped."""
        if width != self._width:
            self._width, self._lines = width, wrap(self._runs, width)
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One of them."""
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """Nearly always one."""
        return 1

    def text(self) -> str:
        """Its words."""
        return plain(self._runs)


class Answer(Drawn):
    """The model's words, as markdown."""

    space = 1

    def __init__(self, text: str = "", *, closed: bool = False) -> None:
        self._source = [text] if text else []
        self._closed = closed
        self._document: Document | None = None

    def append(self, text: str) -> None:
        """More of it."""
        self._source.append(text)
        if self._document is not None:
            self._document.append(text)

    def close(self) -> None:
        """It is whole."""
        self._closed = True
        if self._document is not None:
            self._document.close()

    def document(self) -> Document:
        """The laid-out text, made when it is first looked at."""
        if self._document is None:
            from tui.ui.markdown.document import Document  # with the first answer, not with the first screen

            self._document = Document("".join(self._source), closed=self._closed)
        return self._document

    def rest(self) -> None:
        """Forget the layout; it is far from being seen."""
        self._source = ["".join(self._source)]
        self._document = None

    def height(self, width: int) -> int:
        """The document's."""
        return self.document().height(width)

    def line(self, number: int) -> Line:
        """The document's."""
        return self.document().line(number)

    def estimate(self, width: int) -> int:
        """By length."""
        return sum(estimated_lines(text, width) for text in self._source) or 1

    def text(self) -> str:
        """The markdown as it came."""
        return "".join(self._source)


class Thinking(Drawn):
    """Thinking: live and open, then folded to a line, then as the user likes it."""

    ground = "thinking"
    foldable = True

    def __init__(self, text: str = "", *, live: bool = False, folded: Fold = Fold.FOLDED) -> None:
        self._answer = Answer(text, closed=not live)
        self._shown = Fold.PEEK if live else folded
        self._after = folded
        self._touched = False
        self._rows = 0
        self._first = 0
        self._total = 0
        self._width = 0
        self.live = live
        self.seconds: float | None = None
        self.tokens: int | None = None
        self.tokens_estimated = True
        self.cost: float | None = None
        self.word = ""
        """summary, full, hidden by provider, encrypted …"""

    @property
    def shown(self) -> Fold:
        """How much is shown."""
        return self._shown

    @property
    def has_text(self) -> bool:
        """Whether there is anything to open."""
        return bool(self._answer.text())

    def append(self, text: str) -> None:
        """More of it."""
        self._answer.append(text)

    def finish(self) -> None:
        """The thinking is over: fold, unless the user has touched it."""
        self.live = False
        self._answer.close()
        if not self._touched:
            self._shown = self._after

    def show(self, fold: Fold) -> None:
        """Show this much; the user said so."""
        self._touched = True
        self._shown = fold

    def fold(self) -> None:
        """Folded → peek → full → folded; what is short enough skips the peek."""
        following = self._shown.next
        if following is Fold.FULL and self._total <= PEEK_ROWS:
            following = Fold.FOLDED
        self.show(following)

    def height(self, width: int) -> int:
        """The head, and as many rows as are shown."""
        self._width = width
        if self._shown is Fold.FOLDED or not self.has_text:
            self._rows = self._first = 0
            return 1
        self._total = self._answer.height(max(8, width - 2))
        if self._shown is Fold.FULL:
            self._rows, self._first = self._total, 0
        else:
            self._rows = min(PEEK_ROWS, self._total)
            self._first = self._total - self._rows if self.live else 0
        more = self._shown is Fold.PEEK and not self.live and self._total > self._rows
        return 1 + self._rows + (1 if more else 0)

    def line(self, number: int) -> Line:
        """The head line, or a row behind the bar."""
        if number == 0:
            return self._head()
        if number > self._rows:
            return [Run("┊ ", "thinking-bar"), Run(f"… {self._total - self._rows} more lines", "muted")]
        return [Run("┊ ", "thinking-bar"), *self._answer.line(self._first + number - 1)]

    def _head(self) -> Line:
        mark = "·" if not self.has_text and not self.live else "▸" if self._shown is Fold.FOLDED else "▾"
        facts = [duration(self.seconds)] if self.seconds is not None else []
        if self.tokens is not None:
            facts.append(f"{'≈' if self.tokens_estimated else ''}{tokens(self.tokens)} tok")
        if self.cost is not None:
            facts.append(money(self.cost))
        if self.word:
            facts.append(self.word)
        head = f"{mark} {'Thinking…' if self.live else 'Thought'} {' · '.join(facts)}".rstrip()
        line: Line = [Run(head, "thinking", Look.BOLD if self.live else Look.PLAIN)]
        room = self._width - len(head) - 3
        if self._shown is Fold.FOLDED and room > 12 and self.has_text:
            line.append(Run("   " + one_line(self._answer.text().strip()[:400], room), "thinking"))
        return line

    def estimate(self, width: int) -> int:
        """One when folded."""
        return 1 if self._shown is Fold.FOLDED else self.height(width)

    def text(self) -> str:
        """The thinking as it came."""
        return self._answer.text()

    def rest(self) -> None:
        """Forget the layout."""
        self._answer.rest()


class ToolState(Enum):
    """Where a call stands; a glyph and a word, never colour alone."""

    WAITING = ("◌", "tool-waiting", "waiting for you")
    WRITING = ("◌", "tool-waiting", "")
    RUNNING = ("◐", "tool-running", "running")
    DONE = ("●", "tool-done", "")
    FAILED = ("✗", "tool-failed", "failed")

    @property
    def glyph(self) -> str:
        """Its sign."""
        return self.value[0]

    @property
    def role(self) -> str:
        """Its colour's role."""
        return self.value[1]

    @property
    def word(self) -> str:
        """Its word."""
        return self.value[2]


class ToolCall(Drawn):
    """A tool call: one line, and on demand what was asked and what came."""

    foldable = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.telling = ""
        """The argument that says most."""
        self.state = ToolState.WRITING
        self.seconds: float | None = None
        self.detail: list[tuple[str, str]] = []
        """Opened up: (language, text) parts, arguments first."""
        self._open = False
        self._rows: list[Line] = []
        self._width = 0

    @property
    def is_open(self) -> bool:
        """Whether more than the one line is shown."""
        return self._open

    def fold(self) -> None:
        """Open or close."""
        self._open = not self._open

    def height(self, width: int) -> int:
        """A line, or more when open."""
        self._width = width
        self._rows = []
        if self._open:
            from tui.ui.markdown.highlight import highlight
            from tui.ui.markdown.layout import code_lines

            for language, text in self.detail:
                lines = printable(text).split("\n")
                self._rows.extend(code_lines(highlight(lines[:400], language), width))
                if len(lines) > 400:
                    self._rows.append([Run(f"    … {len(lines) - 400} more lines", "muted")])
        return 1 + len(self._rows)

    def line(self, number: int) -> Line:
        """The one line, or a row of the detail."""
        if number:
            return self._rows[number - 1]
        tail = [word for word in (self.state.word, duration(self.seconds) if self.seconds is not None else "") if word]
        end = f"  {' · '.join(tail)}" if tail else ""
        name = one_line(self.name, 40)
        room = self._width - len(name) - len(end) - 4
        telling = one_line(self.telling, room) if room > 4 and self.telling else ""
        return [
            Run(f"{self.state.glyph} ", self.state.role),
            Run(name, "text", Look.BOLD),
            Run(f"  {telling}" if telling else "", "muted"),
            Run(end, self.state.role if self.state is ToolState.FAILED else "muted"),
        ]

    def estimate(self, width: int) -> int:
        """One while closed."""
        return 1 if not self._open else self.height(width)

    def text(self) -> str:
        """What was asked and what came."""
        return "\n".join([f"{self.name} {self.telling}".strip(), *(text for _, text in self.detail)])
