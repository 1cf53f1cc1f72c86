"""The approval sheet: reserved, so that no message can imitate it, and no answer to somebody who goes on typing.

Letters answer nothing: they go on into the draft they were meant for. A yes is a bar put on it with the arrows and
enter, a click, or a chord; and for a moment after the question came, or after the last letter, nothing answers at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events, on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from tui.domain.errors import PonderError
from tui.domain.events import ApprovalAsked
from tui.domain.printable import one_line, printable
from tui.ui.markdown.highlight import highlight
from tui.ui.markdown.layout import code_lines
from tui.ui.markdown.runs import Line
from tui.ui.screens.sheet import Keys, Sheet
from tui.ui.widgets.field import Field
from tui.ui.widgets.page import Lines, Page
from tui.ui.widgets.row_list import Row, RowList

DEAF_S = 0.3
"""Keys typed before the eyes have seen the question are not answers."""
LOOK_S = 0.2
MOST_LINES = 2_000
LOW = 32
"""Rows of a screen below which blank lines are spent on what would be done."""
AROUND, AROUND_LOW = 11, 8
"""Rows of frame, title, question, reason and keys; the same without blank lines."""
WHO_ASKS = "ponder asks, not the model"
STEERING = frozenset({"up", "down", "home", "end", "pageup", "pagedown", "enter", "escape", "ctrl+y"})
"""Keys that lead to an answer; all others are typing."""

Waiting = Callable[[], Sequence[ApprovalAsked]]
"""The questions that stand open, in the order of the calls."""


def detail_lines(detail: str) -> Lines:
    """What would be done; a diff in its colours."""
    rows = printable(detail.rstrip("\n")).split("\n")
    language = "diff" if detail.startswith(("--- ", "diff ")) or "\n@@ " in detail[:2_000] else ""

    def lines(width: int) -> Sequence[Line]:
        # A diff's last row has its colour only with a line end behind it.
        shown = code_lines(highlight([*rows[:MOST_LINES], ""], language)[:-1], width)
        return shown if len(rows) <= MOST_LINES else [*shown, []]

    return lines


class Approval(Sheet[None]):
    """once, for this session, always for a pattern, no, no with a reason."""

    SHAPE: ClassVar[str] = "-ask"
    ESCAPE = "no"
    KEYS: ClassVar[Keys] = (
        ("up down", "choose"),
        ("enter", "take"),
        ("ctrl+y", "once"),
        ("pagedown", "more"),
        ("ctrl+c", "stop"),
    )

    def __init__(self, waiting: Waiting, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._waiting = waiting
        self._now = now
        self._since = now()
        self._asked: ApprovalAsked | None = None
        self._answered: list[ApprovalAsked] = []
        self.over = False
        """It is about to close and shows no further question."""

    def inside(self) -> Sequence[Widget]:
        """What is asked, in full, and the answers."""
        self._summary = Static("", markup=False, classes="prompt")
        self._page = Page(self.ponder.theming.ink(self.ponder))
        self._page.can_focus = False
        self._list = RowList()
        self._reason = Field("why not? (the model reads it)")
        return (self._summary, self._page, self._list, self._reason)

    def on_mount(self) -> None:
        """Ask."""
        self._look()
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        """One question after the other; what was settled elsewhere is not asked any more."""
        left = self._left()
        if not left:
            self._close()
        elif not any(asked is self._asked for asked in left) or (self._is_deaf() and left[0] is not self._asked):
            # An earlier call's question goes first while the one that stands here cannot be answered anyway.
            self._ask(left[0])
        if left:
            more = f" · {len(left) - 1} more" if len(left) > 1 else ""
            self.note(f"{WHO_ASKS}{more}")

    def _left(self) -> Sequence[ApprovalAsked]:
        """Told apart as objects: one call may ask twice, and in the same words."""
        return [asked for asked in self._waiting() if not any(asked is done for done in self._answered)]

    def _close(self) -> None:
        if not self.over and self.is_current:
            self.over = True
            self.dismiss(None)

    def _ask(self, asked: ApprovalAsked) -> None:
        self._asked = asked
        self._since = self._now()
        self._head.update(
            Content.styled(" ASKS ", "reverse bold $warning")
            + Content.styled(f"  {one_line(asked.tool, 60)}", "bold $foreground")
        )
        self._summary.update(Content(one_line(asked.summary, 400)))
        self._page.show(detail_lines(asked.detail))
        self._page.scroll_home(animate=False)
        self._fit()
        rows = [("once", "Yes, once"), ("session", "Yes, for this session")]
        rows += [(pattern, f"Always for {one_line(pattern, 70)}") for pattern in asked.patterns]
        rows += [("no", "No"), ("no:", "No, and tell the model why…")]
        self._list.show_rows([Row(key, Content(f"  {words}")) for key, words in rows])
        self._list.highlighted = None
        self._reason.display = False
        self._reason.value = ""
        self._list.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Another height has other room for what would be done."""
        super().on_resize(event)
        self._fit()

    def _fit(self) -> None:
        """Answers are always in sight; what would be done scrolls in the rows that are left."""
        answers = len(self._asked.patterns) + 4 if self._asked is not None else 0
        height = self.app.size.height
        low = height < LOW
        self.set_class(low, "-low")
        left = height - AROUND_LOW if low else height * 9 // 10 - AROUND
        self._page.styles.max_height = max(2, left - answers)

    def _is_deaf(self) -> bool:
        return self._now() - self._since < DEAF_S

    async def _on_key(self, event: events.Key) -> None:
        if self.focused is self._reason and not self._is_deaf():
            return
        if event.key not in STEERING:
            self._hand_on(event)
        elif self._is_deaf():
            event.stop()
            event.prevent_default()
            self._go_deaf()
        elif event.key in ("pageup", "pagedown"):
            event.stop()
            (self._page.scroll_page_up if event.key == "pageup" else self._page.scroll_page_down)(animate=False)
        elif event.key == "ctrl+y":
            event.stop()
            self._answer("once")
        elif event.key == "enter" and self._list.chosen is None:
            event.stop()
            self.say("Choose with ↑ and ↓ first; esc means no.")

    def _go_deaf(self) -> None:
        self._since = max(self._since, self._now())

    def _hand_on(self, event: events.Key) -> None:
        """What is typed goes on into the draft; the bar goes, so that an enter at its end takes nothing."""
        composer = self.ponder.chat.composer
        if event.character and event.is_printable:
            composer.insert(event.character)
        elif event.key == "backspace":
            composer.action_delete_left()
        else:
            return
        event.stop()
        event.prevent_default()
        self._go_deaf()
        self._list.highlighted = None

    async def _on_paste(self, event: events.Paste) -> None:
        if self.focused is not self._reason:
            event.stop()
            await self.ponder.chat.composer._on_paste(event)
            self._go_deaf()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is chosen in the deaf moment."""
        return not self._is_deaf() if action == "leave" else super().check_action(action, parameters)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        if self._is_deaf():
            return
        key = self._list.key_at(event.option_index)
        if key == "no:":
            self._list.highlighted = event.option_index
            self._reason.display = True
            self._reason.focus()
        else:
            self._answer(key)

    @on(Input.Submitted)
    def _reasoned(self) -> None:
        reason = self._reason.value.strip()
        self._answer(f"no: {reason}" if reason else "no")

    def action_leave(self) -> None:
        """Escape means no."""
        self._answer("no")

    @work(exclusive=True)
    async def _answer(self, answer: str) -> None:
        asked = self._asked
        if asked is None or any(asked is done for done in self._answered):
            return
        self._answered.append(asked)
        try:
            await self.ponder.desk.chat.answer_approval(asked.call_id, answer)
        except PonderError as error:
            self.complain(error)
        if not self._left():
            self._close()
        # Otherwise the next look asks the next question: this answer may have settled it too.
