"""The approval sheet: asks whether a tool call may run and shows the whole call.

Letters do not answer: they go into the draft. An answer is a row chosen with arrows and enter, a click, or alt with its
number. Keys are ignored for a moment after the question appears and after each letter. "Yes" works only after the end
of the text was on the screen, and never in a window that is too small to show it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from tui.domain.blank_marks import BLANK, marked
from tui.domain.errors import PonderError
from tui.domain.events import ApprovalAsked
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.printable import one_line
from tui.ui.dialogs.sheet import STYLES, Keys, Sheet
from tui.ui.graphemes import line_within
from tui.ui.input.field import Field
from tui.ui.markdown.highlight import MAX_BLOCK, highlight
from tui.ui.markdown.layout import code_lines
from tui.ui.markdown.runs import Line, Run, wrapped_after
from tui.ui.panels.page import Lines, Page
from tui.ui.panels.row_list import Row, RowList
from tui.ui.theme.theme_styles import ThemeStyles

_MARKS = re.compile(f"({BLANK}{{2,}}|{BLANK}+$|⟨[0-9,]+ blank(?: line)?s⟩)")
_DIFF_ROLES = {"+": "diff-added", "-": "diff-removed", "@": "muted"}


def detail_lines(detail: str) -> Lines:
    """The details of a call as lines; a diff is highlighted."""
    rows = marked(detail.rstrip("\n")).split("\n")
    is_diff = detail.startswith(("--- ", "diff ", "@@ ")) or "\n@@ " in detail[:2_000]

    @lru_cache(maxsize=1)
    def lines(width: int) -> Sequence[Line]:
        return _with_last_blanks(code_lines([_with_marks(line) for line in _coloured(rows, is_diff=is_diff)], width))

    return lines


def _coloured(rows: list[str], *, is_diff: bool) -> list[Line]:
    if not is_diff:
        return [[Run(row, "code")] if row else [] for row in rows]
    if sum(map(len, rows)) > MAX_BLOCK:
        return [[Run(row, _DIFF_ROLES.get(row[0], "code"))] if row else [] for row in rows]
    # The lexer colours a diff's last row only if a line end follows.
    return highlight([*rows, ""], "diff")[:-1]


def _with_last_blanks(lines: list[Line]) -> list[Line]:
    """Show the blank at which a row was wrapped, so that two words do not read as one."""
    for line, following in pairwise(lines):
        if line and line[-1].text.endswith(" ") and wrapped_after(following):
            last = line.pop()
            line.extend([last._replace(text=last.text[:-1]), Run(BLANK, "warning")])
    return lines


def _with_marks(line: Line) -> Line:
    if not any(BLANK in run.text or "⟨" in run.text for run in line):
        return line
    pieces = [(run, _MARKS.split(run.text)) for run in line]
    return [
        run._replace(text=piece, role="warning" if number % 2 else run.role)
        for run, found in pieces
        for number, piece in enumerate(found)
        if piece
    ]


FEWEST_ROWS, FEWEST_COLUMNS = 2, 24
"""The smallest part of a call that is enough to judge it."""


def rows_of(text: str, columns: int) -> int:
    """Rows a text takes when its lines are wrapped."""
    return sum(max(1, len(Content(line).wrap(max(1, columns)))) for line in text.split("\n"))


class CallDetails(Vertical):
    """The call being asked about. ``end_seen`` is true once its last line was on the screen."""

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self.end_seen = False
        self._summary = Static("", markup=False, classes="prompt")
        self._said = Static("", markup=False, classes="said")
        self._page = Page(theme_styles)
        self._page.can_focus = False
        self._below = Static("", markup=False, classes="below")
        self._words = ""
        self._answered_early = False
        """"Yes" was chosen before the end was seen."""
        self._is_laid = False
        """The page is laid out for this call and this window."""
        self.scrolls: Mapping[str, Callable[..., None]] = {
            "pageup": self._page.scroll_page_up,
            "pagedown": self._page.scroll_page_down,
            "ctrl+home": self._page.scroll_home,
            "ctrl+end": self._page.scroll_end,
        }

    def compose(self) -> ComposeResult:
        """Ponder's own words outside the box, the model's inside."""
        yield from (self._summary, self._said, self._page, self._below)

    def on_mount(self) -> None:
        """Watch every scroll."""
        self.watch(self._page, "scroll_y", self.update_end_seen, init=False)

    def show(self, asked: ApprovalAsked) -> None:
        """Show a call."""
        summary, note = marked(asked.summary.replace("\n", " ")), marked(asked.note)
        self._words = f"{summary}\n{note}" if note else summary
        self._summary.update(Content(summary))
        self._said.update(Content(note))
        self._said.set_class(not note, "-empty")
        self.end_seen = not asked.detail
        self._answered_early = False
        self._page.set_class(not asked.detail, "-empty")
        self._page.show(detail_lines(asked.detail))
        self._page.scroll_home(animate=False)

    def fit(self, rows: int, columns: int) -> bool:
        """Take at most this many rows; False if that is too few to judge a call by."""
        left = rows - rows_of(self._words, columns) - 1
        self._page.styles.max_height = max(FEWEST_ROWS, left)
        self._is_laid = False
        self.call_after_refresh(self._laid)
        return left >= FEWEST_ROWS and columns >= FEWEST_COLUMNS

    def warn_unread(self) -> None:
        """Point to the unread part after an early "yes"."""
        self._answered_early = not self.end_seen
        self.update_end_seen()

    def update_end_seen(self) -> None:
        """Update whether the end was seen, and how much is below."""
        hidden = self._page.lines_below
        if hidden is None or not self._is_laid:
            return
        self.end_seen = self.end_seen or hidden == 0
        text = f"▼ {count(hidden, 'more line')}" if hidden else ""
        if not self.end_seen:
            text += ": read to the end first · pgdn · ctrl+end"
        self._below.update(Content.styled(text, "bold $warning reverse" if self._answered_early else "bold $warning"))

    def _laid(self) -> None:
        self._is_laid = True
        self.update_end_seen()


QUIET_S = 0.3
"""Time in which keys are ignored after a question appears: they were typed before the user saw it."""
LOOK_S = 0.2
LOW = 32
"""Screens with fewer rows than this omit blank lines, so that more of the call fits."""
AROUND, AROUND_LOW = 10, 6
"""Rows of frame, title, reason and keys; the second without blank lines."""
WIDEST = 110
"""Greatest width of the sheet, as in the style sheet."""
LONGEST_RULE = 240
"""Longest rule offered, in characters, because an answer must be visible in full."""
BESIDE = 8
"""Columns of frame and padding on both sides."""
TOO_SMALL = "Window too small to show the call. Enlarge it, or press esc for no."
TITLE = 24
"""Columns of the title of the session that asks."""
WHO_ASKS = "ponder asks, not the model"
STEERING = frozenset({"up", "down", "home", "end", "pageup", "pagedown", "enter", "escape", "ctrl+y"}) | {
    *("ctrl+home", "ctrl+end"),
    *(f"alt+{number}" for number in range(1, 10)),
    *("ctrl+s", "alt+s"),
}
"""Keys that move the selection; all others are typing."""

Waiting = Callable[[], Sequence[ApprovalAsked]]
"""Returns the open questions in the order of the calls."""
LEAVING = {"ctrl+s": "session.list", "alt+s": "session.next"}
"""Keys that leave the question open and go to other sessions."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The session that asks."""

    session: str = ""
    title: str = ""


class Approval(Sheet[None]):
    """Asks to allow a call once, in this session or by a pattern, or to deny it, with or without a reason."""

    CSS_PATH: ClassVar = [*Sheet.CSS_PATH, str(STYLES / "approval.tcss")]
    SHAPE: ClassVar[str] = "-ask"
    ESCAPE = "no"
    KEYS: ClassVar[Keys] = (
        ("up down", "move"),
        ("enter", "pick"),  # short words: at 80 columns every key must be named
        ("alt+1", "number"),
        ("pagedown", "more"),
        ("ctrl+c", "stop"),
    )
    LAST_KEYS: ClassVar[Keys] = (("ctrl+s", "later"),)

    def __init__(self, waiting: Waiting, now: Callable[[], float] = time.monotonic, asker: Asker | None = None) -> None:
        super().__init__()
        self._waiting = waiting
        self._asker = asker or Asker()
        self._now = now
        self._since = now()
        self._asked: ApprovalAsked | None = None
        self._answered: list[ApprovalAsked] = []
        self._too_small = False
        self._words: list[str] = []
        """Texts of the answers."""
        self.over = False
        """The sheet is closing and shows no further question."""

    def inside(self) -> Sequence[Widget]:
        """The call, and the answers."""
        self._call = CallDetails(self.ponder.theming.theme_styles(self.ponder))
        self._list = RowList()
        self._reason = Field("why not? (the model reads it)")
        self._small = Static(TOO_SMALL, markup=False, classes="too-small")
        return (self._call, self._list, self._reason, self._small)

    def on_mount(self) -> None:
        self._look()
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        """Show the next open question. Questions settled elsewhere are skipped."""
        left = self._left()
        if not left:
            if not self.over and self.is_current:
                self.over = True
                self.dismiss(None)
            return
        if not any(asked is self._asked for asked in left) or (self._is_quiet() and left[0] is not self._asked):
            # An earlier call's question comes first while the current one cannot be answered yet.
            self._ask(left[0])
        more = f" · {len(left) - 1} more" if len(left) > 1 else ""
        self.note(f"{WHO_ASKS}{more}")
        self._call.update_end_seen()

    def _left(self) -> Sequence[ApprovalAsked]:
        """Open questions, compared by identity: one call may ask twice with the same text."""
        return [asked for asked in self._waiting() if not any(asked is done for done in self._answered)]

    def _ask(self, asked: ApprovalAsked) -> None:
        self._asked = asked
        self._since = self._now()
        self.head.update(
            Content.styled(" ASKS ", "reverse bold $warning")
            + Content.styled(f"  {one_line(asked.tool, 60)}", "bold $foreground")
            + Content.styled(
                f"  in “{line_within(self._asker.title, TITLE)}”" if self._asker.title else "", "$muted-text"
            )
        )
        self._call.show(asked)
        answers = _answers(asked)
        self._words = [row.content.plain for row in answers]
        self._list.show_rows(answers)
        self._fit()
        self._list.highlighted = None
        self._reason.display = False
        self._reason.value = ""
        self._list.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the call to the new height."""
        super().on_resize(event)
        self._fit()

    def _fit(self) -> None:
        """Keep the answers visible; the call scrolls in the remaining rows."""
        size = self.app.size
        low = size.height < LOW
        self.set_class(low, "-low")
        columns = min(size.width if low else size.width * 9 // 10, WIDEST) - BESIDE
        answers = sum(rows_of(text, columns) for text in self._words)
        rows = (size.height if low else size.height * 9 // 10) - (AROUND_LOW if low else AROUND) - answers
        self._too_small = not self._call.fit(rows, columns)
        self.set_class(self._too_small, "-too-small")

    def _is_quiet(self) -> bool:
        return self._now() - self._since < QUIET_S

    async def on_key(self, event: events.Key) -> None:
        if self.focused is self._reason and not self._is_quiet():
            return
        if event.key not in STEERING:
            self._hand_on(event)
        elif self._is_quiet():
            event.stop()
            event.prevent_default()
            self._start_quiet_time()
        elif event.key in LEAVING:
            event.stop()
            self._leave_open(LEAVING[event.key])
        elif event.key in self._call.scrolls:
            event.stop()
            self._call.scrolls[event.key](animate=False)
        elif event.key == "ctrl+y":
            event.stop()
            self._give("once")
        elif event.key.startswith("alt+"):
            event.stop()
            self._choose(int(event.key.removeprefix("alt+")) - 1)
        elif event.key == "enter" and self._list.chosen is None:
            event.stop()
            self.say("Choose with ↑ and ↓ first. esc means no.")

    def _start_quiet_time(self) -> None:
        self._since = max(self._since, self._now())

    def _leave_open(self, command: str) -> None:
        """Close the sheet without an answer, which the call goes on waiting for, and run a command."""
        self.over = True
        self.dismiss(None)
        ponder = self.ponder

        async def go() -> None:
            await ponder.ui_services.run_id(command)
            ponder.chat.ask_again()

        ponder.call_later(go)

    def _hand_on(self, event: events.Key) -> None:
        """Pass typing on to the draft and clear the selection, so that an enter after it does not answer."""
        composer = self.ponder.chat.composer
        if event.character and event.is_printable:
            composer.insert(event.character)
        elif event.key == "backspace":
            composer.action_delete_left()
        else:
            return
        event.stop()
        event.prevent_default()
        self._start_quiet_time()
        self._list.highlighted = None

    async def on_paste(self, event: events.Paste) -> None:
        if self.focused is not self._reason:
            event.stop()
            self.ponder.chat.composer.paste_text(event.text)
            self._start_quiet_time()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable all actions during the quiet time."""
        return not self._is_quiet() if action == "leave" else super().check_action(action, parameters)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        if self._is_quiet():
            return
        self._choose(event.option_index)

    def _choose(self, index: int) -> None:
        """Choose the answer in this row, if any."""
        if index >= self._list.option_count:
            return
        key = self._list.row_key(index)
        if key == "no:" and not self._too_small:
            self._list.highlighted = index
            self._reason.display = True
            self._reason.focus()
        else:
            self._give(key)

    def _give(self, answer: str) -> None:
        """Answer; "yes" only if the whole call was readable."""
        if answer.partition(":")[0] != "no":
            self._call.warn_unread()
            if self._too_small or not self._call.end_seen:
                return
        self._answer(answer)

    @on(Input.Submitted)
    def _reasoned(self) -> None:
        reason = self._reason.value.strip()
        self._answer(f"no: {reason}" if reason else "no")

    def action_leave(self) -> None:
        """Escape answers no."""
        self._answer("no")

    def _answer(self, answer: str) -> None:
        """Answer the call that is shown now: a moment later it may be another one."""
        asked = self._asked
        if asked is not None and not any(asked is done for done in self._answered):
            self._answered.append(asked)
            self._deliver(asked, answer)

    @work
    async def _deliver(self, asked: ApprovalAsked, answer: str) -> None:
        try:
            await self.ponder.services.chat.answer_approval(asked.call_id, answer, self._asker.session)
        except PonderError as error:
            self.show_error(error)
        if not self._left():
            self._look()
        # Otherwise the next look asks the next question: this answer may have settled it too.


def _answers(asked: ApprovalAsked) -> list[Row]:
    """The possible answers, numbered for alt+1 and so on."""
    answers = [("once", "Yes, once"), ("session", "Yes, for this session")]
    if asked.answers:
        return [Row(key, Content(f" {number}  {words}")) for number, (key, words) in enumerate(asked.answers, 1)]
    for pattern in asked.patterns:
        text = _rule_text(pattern, asked)
        if len(text) <= LONGEST_RULE:
            answers.append((pattern, f"Always for {text}"))
    answers.append(("no", "No"))
    if asked.turn_id:
        answers.append(("no:", "No, and tell the model why…"))
    return [Row(key, Content(f" {number}  {text}")) for number, (key, text) in enumerate(answers, 1)]


def _rule_text(pattern: str, asked: ApprovalAsked) -> str:
    """The rule with hidden characters made visible; omits the command, which is shown above."""
    exact = f"{asked.tool}(={asked.detail})"
    if pattern.startswith(exact):
        return f"exactly this command ({pattern.removeprefix(exact).strip()})"
    return marked(pattern.replace("\n", "␊"))
