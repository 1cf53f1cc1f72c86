"""The approval sheet: asks whether a tool call may run and shows the whole call.

Letters do not answer: they go into the draft. An answer is a row chosen with arrows and enter, a click, or alt with its
number; while the draft is empty, also its number alone. Keys are ignored for a moment after the question appears and
after each letter. "Yes" works only after the end of the text was on the screen, and never in a window that is too small
to show it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on, work
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.domain.errors import PonderError
from tui.domain.events import ApprovalAsked
from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import one_line
from tui.ui.dialogs.answers import NO, NO_BECAUSE, Answers, answers_to
from tui.ui.dialogs.call_details import FEWEST_ROWS, CallDetails, summary_of
from tui.ui.dialogs.sheet import STYLES, Keys, Sheet
from tui.ui.input.field import Field

QUIET_S = 0.3
"""Time in which keys are ignored after a question appears: they were typed before the user saw it."""
ARMED_S = 2.0
"""How long a second escape denies after the first."""
LOOK_S = 0.2
LOW = 32
"""Screens with fewer rows than this have a rule with the title instead of a frame, and no blank lines."""
AROUND, AROUND_LOW = 4, 1
"""Rows of frame and title."""
REASON, REASON_LOW = 2, 1
"""Rows of the reason, while it is asked for."""
LEFT_ABOVE, LEFT_ABOVE_LOW = 5, 3
"""Rows of the conversation that stay in view above the sheet; the second where a call is then whole, or readable."""
ENOUGH_ROWS, ENOUGH_ROWS_LOW = 8, 4
"""Rows of a call for which the conversation has fewer rows, where not all has room; the second in a low window."""
FOOTER_ROWS = 1
"""Rows of the keys, below everything."""
BESIDE, BESIDE_LOW = 6, 4
"""Columns of frame and padding on both sides; the second without the frame."""
BESIDE_NUMBERS_LOW = 3
"""The same for the answers: the blank before a number is in their padding's place."""
TOO_SMALL = "Window too small to show the call. Enlarge it, or press esc twice for no."
TOO_SMALL_AGAIN = "Window too small to show the call. Enlarge it; esc again denies."
BESIDE_TITLE = 28
"""Columns of the frame, of ASKS and of the number of the question."""
STEERING = frozenset({"up", "down", "home", "end", "pageup", "pagedown", "enter", "escape", "ctrl+y"}) | {
    *("ctrl+home", "ctrl+end"),
    *(f"alt+{number}" for number in range(1, 10)),
    *("ctrl+s", "alt+s"),
}
"""Keys that move the selection; all others are typing."""

DIGITS = frozenset("123456789")

Waiting = Callable[[], Sequence[ApprovalAsked]]
"""Returns the open questions in the order of the calls."""
LEAVING = {"ctrl+s": "session.list", "alt+s": "session.next"}
"""Keys that leave the question open and go to other sessions."""


@dataclass(frozen=True, slots=True)
class AskingSession:
    """The session that asks, and the folder in which its tools work."""

    session: str = ""
    folder: str = ""


def _is_titled(asked: ApprovalAsked, width: int) -> bool:
    """Whether all of the summary has room in the title of a sheet of this width."""
    return cell_len(summary_of(asked)) <= width - BESIDE_TITLE


def _head(asked: ApprovalAsked, number: int, total: int, *, with_summary: bool) -> Content:
    """Which of the questions this is, and what it is about."""
    what = summary_of(asked) if with_summary else one_line(asked.tool, 60)
    return (
        Content.styled(" ASKS ", "reverse bold $warning")
        + Content.styled(f"  {number} of {total} · " if total > 1 else "  ", "$quiet")
        + Content.styled(what, "bold $foreground")
    )


def _in_rule(head: Content, columns: int) -> Content:
    """The title within a rule of this width."""
    rest = max(0, columns - 3 - head.cell_length)
    rule = Content.styled("━ ", "$warning") + head
    return rule + Content.styled(f" {'━' * rest}", "$warning") if rest else rule


class Approval(Sheet[None]):
    """Asks to allow a call once, in this session or by a pattern, or to deny it, with or without a reason."""

    CSS_PATH: ClassVar = [*Sheet.CSS_PATH, str(STYLES / "approval.tcss")]
    SHAPE: ClassVar[str] = "-ask"
    KEYS_IN_FOOTER = True
    ESCAPE = "no"
    ESCAPE_KEYS = "esc esc"
    OPENS_OVER = frozenset({"program.help", "program.palette"})
    KEYS: ClassVar[Keys] = (
        ("up down", "move"),
        ("pagedown", "more"),  # short words: at 80 columns every key must be named
        ("ctrl+c", "stop"),
    )
    LAST_KEYS: ClassVar[Keys] = (("ctrl+s", "later"),)

    def __init__(
        self, waiting: Waiting, now: Callable[[], float] = time.monotonic, asker: AskingSession | None = None
    ) -> None:
        super().__init__()
        self._waiting = waiting
        self._asker = asker or AskingSession()
        self.session = self._asker.session
        self._now = now
        self._since = now()
        self._armed_at = float("-inf")
        self._asked: ApprovalAsked | None = None
        self._answered: list[ApprovalAsked] = []
        self._too_small = False
        self._fitted = Region()
        """The place of the conversation when the sheet was fitted to it."""
        self.over = False
        """The sheet is closing and shows no further question."""

    def inside(self) -> Sequence[Widget]:
        """The call, and the answers."""
        self._call = CallDetails(self.ponder.theming.theme_styles(self.ponder))
        self._list = Answers()
        self._reason = Field("why not? (the model reads it)")
        self._small = Static(TOO_SMALL, markup=False, classes="too-small")
        return (self._call, self._list, self._reason, self._small)

    def on_mount(self) -> None:
        self.ponder.chat.composer.show_asked(asked=True)
        self._look()
        self.set_interval(LOOK_S, self._look)

    def on_screen_resume(self) -> None:
        """Ignore keys for a moment after help or the palette was closed: they were meant for those."""
        self._disarm()
        self._start_quiet_time()
        if self._asked is not None:
            self._look()

    def _look(self) -> None:
        """Show the next open question. Questions settled elsewhere are skipped."""
        if self._asked is not None and not self.is_active:
            return  # help or the palette is over it
        left = self._left()
        if not left:
            if not self.over and self.is_active:
                self.over = True
                self.dismiss(None)
            return
        if not any(asked is self._asked for asked in left) or (self._is_quiet() and left[0] is not self._asked):
            # An earlier call's question comes first while the current one cannot be answered yet.
            self._ask(left[0])
        if self._asked is not None:
            # More questions may have come since the answers were shown.
            if self._list.reword(answers_to(self._asked, self._asker.folder, left)):
                self._fit()
            number = len(self._answered) + 1
            head = _head(self._asked, number, number - 1 + len(left), with_summary=self._call.is_titled)
            self.head.update(_in_rule(head, self._sheet.size.width) if self.has_class("-low") else head)
        self._call.update_end_seen()
        self._call.add_colours()
        if self._now() - self._armed_at > ARMED_S:
            self._disarm()
        self._show_answer_keys()
        if (
            self._fitted != self.ponder.chat.conversation_area.region
        ):  # the draft has more rows, or the window was resized
            self._fit()
        self._make_room()

    def _show_answer_keys(self) -> None:
        """Name the keys that answer now: beside a draft, a number alone is text, and enter takes a chosen row."""
        number = f"1–{len(self._list.rows)}"
        keys = f"alt+{number}" if self.ponder.chat.composer.text else number
        if self._reason.display and self._reason.has_focus:
            if ("enter", "deny") not in self.shown_keys:
                self.show_keys([("enter", "deny"), ("ctrl+c", "stop")])
            return
        scrolling = [key for key in self.KEYS if key[0] != "pagedown" or self._call.has_more_rows]
        shown = [(keys, "choose"), *([("enter", "take")] if self._list.index is not None else []), *scrolling]
        if shown != list(self.shown_keys):
            self.show_keys(shown)

    def _left(self) -> Sequence[ApprovalAsked]:
        """Open questions, compared by identity: one call may ask twice with the same text."""
        return [asked for asked in self._waiting() if not any(asked is done for done in self._answered)]

    def _ask(self, asked: ApprovalAsked) -> None:
        self._asked = asked
        self._since = self._now()
        self._call.show(asked, is_titled=_is_titled(asked, self.ponder.chat.conversation_area.region.width))
        self._list.show(answers_to(asked, self._asker.folder, self._left()))
        self._small.update(TOO_SMALL)
        self._reason.display = False
        self._fit()
        self._reason.value = ""
        self._list.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the call to the new height."""
        super().on_resize(event)
        self._fit()

    def _fit(self) -> None:
        """Above the composer, with the answers visible; the call scrolls in the remaining rows.

        Part of the conversation stays in view above: fewer rows of it in a low window, and none of it, nor the
        composer, where the call could not be read otherwise.
        """
        size, area = self.app.size, self.ponder.chat.conversation_area.region
        self._fitted = area
        if self._asked is not None and self._call.is_titled and not _is_titled(self._asked, area.width):
            self._call.show_summary(self._asked, is_titled=False)
        low = size.height < LOW
        self.set_class(low, "-low")
        self._list.set_low(low=low)
        self._call.set_low(low=low)
        reason = (REASON_LOW if low else REASON) * self._reason.display
        around = (AROUND_LOW if low else AROUND) + reason
        call = self._call.rows_of_call(area.width - (BESIDE_LOW if low else BESIDE))
        places = (
            (area, LEFT_ABOVE, call if low else ENOUGH_ROWS),
            (area, LEFT_ABOVE_LOW, call),
            (area, LEFT_ABOVE, ENOUGH_ROWS_LOW),
            (area, LEFT_ABOVE_LOW, FEWEST_ROWS),
            (area, 0, FEWEST_ROWS),
            (Region(0, 0, size.width, size.height - FOOTER_ROWS), 0, 0),
        )
        for place, above, enough in places:
            columns = place.width - (BESIDE_LOW if low else BESIDE)
            numbered = place.width - BESIDE_NUMBERS_LOW if low else columns
            rows = place.height - above - around - self._list.height(numbered)
            if rows - self._call.rows_of_words(columns) >= enough:
                break
        self._too_small = not self._call.fit(rows, columns)
        self.set_class(self._too_small, "-too-small")
        if self._too_small:
            place = size.region  # without keys below
        self._sheet.styles.width = place.width
        self._sheet.styles.max_height = place.height - above
        self._sheet.styles.margin = (0, 0, max(0, size.height - place.bottom - FOOTER_ROWS), place.x)
        self.begin_keys_at(place.x)
        self.call_after_refresh(self._make_room)

    @property
    def _sheet(self) -> Widget:
        return self.query_one(".sheet")

    def _make_room(self) -> None:
        """Let the conversation end above the sheet."""
        area = self.ponder.chat.conversation_area
        if self.is_attached and not self.over:
            area.leave_below(max(0, area.region.bottom - self._sheet.region.y) if self._sheet.region else 0)

    def on_unmount(self) -> None:
        self.ponder.chat.conversation_area.leave_below(0)
        self.ponder.chat.composer.show_asked(asked=False)

    def _is_quiet(self) -> bool:
        return self._now() - self._since < QUIET_S

    def _disarm(self, *, keep: bool = False) -> None:
        """Forget that escape was pressed."""
        self._list.disarm(keep=keep)
        self._small.update(TOO_SMALL)

    async def on_key(self, event: events.Key) -> None:
        if event.key != "escape":
            self._disarm(keep=event.key in STEERING)
        if self.focused is self._reason and not self._is_quiet():
            return
        if event.key not in STEERING:
            if not self._takes_number(event):
                self._hand_on(event)
        elif self._is_quiet():
            event.stop()
            event.prevent_default()
            self._start_quiet_time()
        else:
            self._steer(event)

    def _steer(self, event: events.Key) -> None:
        """Do what a key does that is not typing."""
        if event.key in LEAVING:
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
            self.say("Choose with ↑ and ↓ or a number first.")

    def _takes_number(self, event: events.Key) -> bool:
        """Take a digit as an answer, unless it may be the next letter of a message."""
        number = int(event.key) if event.key in DIGITS else 0
        if self.ponder.chat.composer.text or self._is_quiet() or not 0 < number <= len(self._list.rows):
            return False
        event.stop()
        event.prevent_default()
        self._choose(number - 1)
        return True

    def _start_quiet_time(self) -> None:
        self._since = max(self._since, self._now())

    def _leave_open(self, command: str) -> None:
        """Close the sheet without an answer, for which the call still waits, and run a command."""
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
        self._list.index = None

    async def on_paste(self, event: events.Paste) -> None:
        if self.focused is not self._reason:
            event.stop()
            self.ponder.chat.composer.paste_text(event.text)
            self._start_quiet_time()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable all actions during the quiet time."""
        return not self._is_quiet() if action == "leave" else super().check_action(action, parameters)

    @on(Answers.Picked)
    def _picked(self, event: Answers.Picked) -> None:
        if not self._is_quiet():
            self._choose(event.index)

    def _choose(self, index: int) -> None:
        """Choose the answer in this row, if any."""
        if index >= len(self._list.rows):
            return
        key = self._list.rows[index].key
        if key == NO_BECAUSE and not self._too_small:
            self._list.index = index
            self._reason.display = True
            self._reason.focus()
            self._fit()
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
        """Escape goes to "No", and soon again denies: a key that closes other sheets must not refuse work by itself."""
        if self._list.is_armed and self._now() - self._armed_at <= ARMED_S:
            self._answer(NO)
            return
        self._armed_at = self._now()
        self._reason.display = False
        self._fit()
        self._list.focus()
        self._list.arm()
        self._small.update(TOO_SMALL_AGAIN)

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
