"""The approval sheet: asks whether a tool call may run, shows all of it, and takes no answer by mistake.

Letters do not answer; they go on into the draft. An answer is a row chosen with the arrows and enter, a click, or a
chord. Keys are ignored for a moment after the question appears and after each letter. "Yes" works only after the end
of the text was on the screen, and not at all in a window that is too small to show it.
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
from tui.domain.printable import one_line
from tui.ui.dialogs.approval_lines import marked
from tui.ui.dialogs.asked_call import AskedCall, rows_of
from tui.ui.dialogs.sheet import STYLES, Keys, Sheet
from tui.ui.input.field import Field
from tui.ui.panels.row_list import Row, RowList

DEAF_S = 0.3
"""Keys typed before the eyes have seen the question are not answers."""
LOOK_S = 0.2
LOW = 32
"""Rows of a screen below which blank lines are spent on what would be done."""
AROUND, AROUND_LOW = 10, 6
"""Rows of frame, title, reason and keys; the same without blank lines."""
WIDEST = 110
"""Columns of the sheet at most, as the style sheet says."""
LONGEST_RULE = 240
"""Characters; a longer rule is not offered, because an answer must be seen whole."""
BESIDE = 8
"""Columns of frame and padding at both sides."""
TOO_SMALL = "Window too small to show the call. Enlarge it; esc says no."
WHO_ASKS = "ponder asks, not the model"
STEERING = frozenset({"up", "down", "home", "end", "pageup", "pagedown", "enter", "escape", "ctrl+y"}) | {
    *("ctrl+home", "ctrl+end"),
    *(f"alt+{number}" for number in range(1, 10)),
}
"""Keys that lead to an answer; all others are typing."""

Waiting = Callable[[], Sequence[ApprovalAsked]]
"""The questions that stand open, in the order of the calls."""


class Approval(Sheet[None]):
    """Once, for this session, always for a pattern, no, no with a reason."""

    CSS_PATH: ClassVar = [*Sheet.CSS_PATH, str(STYLES / "approval.tcss")]
    SHAPE: ClassVar[str] = "-ask"
    ESCAPE = "no"
    KEYS: ClassVar[Keys] = (
        ("up down", "move"),
        ("enter", "take"),
        ("alt+1", "number"),
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
        self._too_small = False
        self._words: list[str] = []
        """Of the answers."""
        self.over = False
        """It is about to close and shows no further question."""

    def inside(self) -> Sequence[Widget]:
        """What is asked, in full, and the answers."""
        self._call = AskedCall(self.ponder.theming.ink(self.ponder))
        self._list = RowList()
        self._reason = Field("why not? (the model reads it)")
        self._small = Static(TOO_SMALL, markup=False, classes="too-small")
        return (self._call, self._list, self._reason, self._small)

    def on_mount(self) -> None:
        """Ask."""
        self._look()
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        """One question after the other; what was settled elsewhere is not asked any more."""
        left = self._left()
        if not left:
            if not self.over and self.is_current:
                self.over = True
                self.dismiss(None)
            return
        if not any(asked is self._asked for asked in left) or (self._is_deaf() and left[0] is not self._asked):
            # An earlier call's question goes first while the one that stands here cannot be answered anyway.
            self._ask(left[0])
        more = f" · {len(left) - 1} more" if len(left) > 1 else ""
        self.note(f"{WHO_ASKS}{more}")
        self._call.look_for_the_end()

    def _left(self) -> Sequence[ApprovalAsked]:
        """Told apart as objects: one call may ask twice, and in the same words."""
        return [asked for asked in self._waiting() if not any(asked is done for done in self._answered)]

    def _ask(self, asked: ApprovalAsked) -> None:
        self._asked = asked
        self._since = self._now()
        self._head.update(
            Content.styled(" ASKS ", "reverse bold $warning")
            + Content.styled(f"  {one_line(asked.tool, 60)}", "bold $foreground")
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
        """Another height has other room for what would be done."""
        super().on_resize(event)
        self._fit()

    def _fit(self) -> None:
        """Answers are always in sight; what would be done scrolls in the rows that are left."""
        size = self.app.size
        low = size.height < LOW
        self.set_class(low, "-low")
        columns = min(size.width if low else size.width * 9 // 10, WIDEST) - BESIDE
        answers = sum(rows_of(words, columns) for words in self._words)
        rows = (size.height if low else size.height * 9 // 10) - (AROUND_LOW if low else AROUND) - answers
        self._too_small = not self._call.fit(rows, columns)
        self.set_class(self._too_small, "-too-small")

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
        self._choose(event.option_index)

    def _choose(self, place: int) -> None:
        """Take the answer in this row, if there is one."""
        if place >= self._list.option_count:
            return
        key = self._list.key_at(place)
        if key == "no:" and not self._too_small:
            self._list.highlighted = place
            self._reason.display = True
            self._reason.focus()
        else:
            self._give(key)

    def _give(self, answer: str) -> None:
        """Answer; a yes only to what could be read."""
        if answer.partition(":")[0] != "no":
            self._call.hurry()
            if self._too_small or not self._call.end_seen:
                return
        self._answer(answer)

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
            self._look()
        # Otherwise the next look asks the next question: this answer may have settled it too.


def _answers(asked: ApprovalAsked) -> list[Row]:
    """What can be answered, numbered for alt+1 and so on."""
    answers = [("once", "Yes, once"), ("session", "Yes, for this session")]
    for pattern in asked.patterns:
        words = _rule_in_words(pattern, asked)
        if len(words) <= LONGEST_RULE:
            answers.append((pattern, f"Always for {words}"))
    answers += [("no", "No"), ("no:", "No, and tell the model why…")]
    return [Row(key, Content(f" {number}  {words}")) for number, (key, words) in enumerate(answers, 1)]


def _rule_in_words(pattern: str, asked: ApprovalAsked) -> str:
    """The rule with all that could hide in it; the command that stands above is not said a second time."""
    exact = f"{asked.tool}(={asked.detail})"
    if pattern.startswith(exact):
        return f"exactly this command ({pattern.removeprefix(exact).strip()})"
    return marked(pattern.replace("\n", "␊"))
