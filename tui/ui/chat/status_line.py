"""The line under the composer: model and level, meter, cost, and the current activity."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.commands.keymap import key_words
from tui.commands.registry import CommandScope, Registry
from tui.domain.cost import cost_of
from tui.domain.events import (
    AppEvent,
    MeterChanged,
    ModelChanged,
    RequestStarted,
    SaveFailed,
    SaveRecovered,
    Streamed,
    ToolStarted,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import duration, share, tokens
from tui.domain.listing import Activity, OpenSessionInfo
from tui.domain.printable import one_line
from tui.domain.stream import ModelLoading, PromptRead
from tui.domain.thinking import DEMO, ModelSpec, ThinkingPlan, labelled_name
from tui.domain.usage import Certainty, MeterReading
from tui.engine.state import Phase, SessionView
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import width_of
from tui.ui.panels.meter_bar import bar
from tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.context.prompt_cache import CacheState

THROBBER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def cache_text(cached: CacheState | None, separator: str = " · ") -> str:
    """``cached 58k · 41 min left``; without the time if the lifetime is unknown; "" if nothing is cached."""
    if cached is None:
        return ""
    size = f"cached {tokens(cached.tokens)}"
    return size if cached.left_s is None else f"{size}{separator}{ceil(cached.left_s / 60)} min left"


OF_ONE_ANSWER = (Phase.READING, Phase.WAITING, Phase.THINKING, Phase.ANSWERING)
"""Phases with one clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything the status line can show."""

    name: str = ""
    """Model and level of the next request."""
    asked: str = ""
    """Model and level of the last request, which may still run; "" if unknown."""
    demo: bool = False
    """The demo answers."""
    meter: MeterReading | None = None
    cached: CacheState | None = None
    """What the prompt cache has of the next request."""
    cost: str = ""
    """Cost of the session; "" if nothing was sent."""
    phase: Phase = Phase.IDLE
    since: float | None = None
    """When the phase began."""
    stalled_s: float | None = None
    share: float | None = None
    """How much of the model is loaded, or of the prompt read."""
    tool: str = ""
    not_saved: str = ""
    private: bool = False
    """Nothing of the session is stored."""
    full: bool = True
    """Whether to show meter and cost, because the sidebar is hidden."""


def meter_text(reading: MeterReading) -> str:
    """The reading as text: ``≈62.4k of 200k``."""
    mark = "" if reading.certainty is Certainty.REPORTED else "≈"
    limit = f" of {tokens(reading.limit)}" if reading.limit else " tok"
    return f"{mark}{tokens(reading.effective)}{limit}"


WIDEST_BAR = 24
USUAL_BAR = 12
NARROWEST_BAR = 6
"""Cells of the bar: with much room, beside everything else, and at least."""
GAP = "   "
BUSY_COLUMNS = 22
"""Columns for ``⠋ answering 1 min 12 s``, so that the meter stays where it is when work begins and ends."""
ROOMY = 110
"""Columns from which this has room beside the model; below, it takes its place."""


def facts_line(status: Status, room: int, *, plain: bool = False) -> Content:
    """Bar, share, tokens, what is cached and, at the right end, the cost: as much of it as fits."""
    if status.meter is None or room < 1:
        return Content("")
    reading = status.meter
    percent = f"{share(reading.effective, reading.limit).rjust(4)}  " if reading.limit else ""
    has_bar = bool(percent) and not plain
    whole, short = cache_text(status.cached, ", "), cache_text(status.cached and replace(status.cached, left_s=None))
    session, cost = (f"{GAP}session {status.cost}", f"{GAP}{status.cost}") if status.cost else ("", "")
    usual, least = (USUAL_BAR, NARROWEST_BAR) if has_bar else (0, 0)
    for cells, cached, end in (
        (usual, whole, session),
        (least, whole, session),
        (least, short, session),
        (usual, "", session),
        (usual, "", cost),
        (least, "", cost),
        (0, "", cost),
        (0, "", ""),
    ):
        text = percent + " · ".join(part for part in (meter_text(reading), cached) if part)
        left = room - len(GAP) - (cells + 1 if cells else 0) - width_of(text) - width_of(end)
        if left < 0:
            continue
        wider = min(left, WIDEST_BAR - cells) if cells else 0
        line = Content(GAP)
        if cells:
            line = line + bar(reading, cells + wider) + Content(" ")
        gap = " " * (left - wider) if end else ""
        return line + Content.styled(text, "$quiet") + Content.styled(gap + end, "$quiet")
    return Content("")


def activity_text(status: Status, now: float) -> str:
    """The current activity as text; "" when idle."""
    spent = f" {duration(max(0.0, now - status.since))}" if status.since is not None else ""
    if status.phase is Phase.RETRYING:
        return status.phase.value  # the conversation has the clock and the keys
    if status.phase is Phase.TOOLS and status.tool:
        return f"running {one_line(status.tool, 30)}{spent}"
    if status.phase is Phase.IDLE:
        return ""
    if status.phase in (Phase.LOADING, Phase.READING) and status.share is not None:
        return f"{status.phase.value} … {status.share:.0%}{spent}"
    if status.stalled_s is not None:
        return f"no data for {status.stalled_s:.0f} s · esc stops"
    return f"{status.phase.value}{spent}"


class StatusLine(Static):
    """The status line; redrawn on changes, and four times a second while something runs."""

    def __init__(self, shown: Callable[[Status], None], *, still: bool = False, id: str | None = None) -> None:  # noqa: A002
        """``shown`` is called with each status that differs from the one before."""
        super().__init__("", markup=False, id=id)
        self._shown = shown
        self._status = Status()
        self.still = still
        """No spinner and no clock: a screen reader reads each state once."""
        self._frame = 0
        self._drawn = ""
        self._mode = ""

    def show_mode(self, mode: str) -> None:
        """Show the mode of the composer at the left; "" if it has none."""
        if mode != self._mode:
            self._mode = mode
            self.tick(time.monotonic())

    @property
    def status(self) -> Status:
        return self._status

    def show(self, status: Status, now: float) -> None:
        """Show another status; the words of an answer that change nothing in it do not turn the spinner."""
        if status != self._status or not self._drawn:
            self._status = status
            self.tick(now)
            self._shown(status)

    def change(self, now: float, **changes: object) -> None:
        """Change some fields of the status."""
        self.show(replace(self._status, **changes), now)  # type: ignore[arg-type]  # fields of Status by name

    def tick(self, now: float) -> None:
        """Advance spinner and clock."""
        self._frame += 1
        parts: list[tuple[str, str]] = []
        status = self._status
        if self._mode:
            parts.append((self._mode, "$quiet" if self._mode == "INSERT" else "bold $accent"))
        if status.not_saved:
            parts.append((f" NOT SAVED: {one_line(status.not_saved, 60)} ", "$error reverse"))
        if status.private:
            parts.append((NOT_KEPT, "bold $warning"))
        is_narrow = status.full and self.size.width < ROOMY
        busy = activity_text(replace(status, since=None) if self.still else status, now)
        if busy:
            busy = busy.replace(Phase.WAITING.value, "waiting") if is_narrow else busy
            mark = THROBBER[self._frame % len(THROBBER)] if not self.still else "·"
            parts.append((f"{mark} {busy}", "$accent"))
        if busy and status.asked and status.asked != status.name:
            parts += [(status.asked, "$quiet"), (f"next {status.name}", "$foreground")]
        elif status.name and not (busy and is_narrow):  # the head of the arriving answer names it
            parts.append((status.name, "$foreground" if not busy else "$quiet"))
        facts = (status.meter, status.cached, status.cost, self.size.width) if status.full else None
        drawn = repr((parts, facts))
        if drawn != self._drawn:
            self._drawn = drawn
            line = _joined(parts)
            if status.full:
                name = width_of(status.name)
                pinned = max(name, BUSY_COLUMNS) if is_narrow else name + BUSY_COLUMNS
                line = line + Content(" " * (pinned - line.cell_length))
                line = line + facts_line(status, self.size.width - line.cell_length, plain=self._plain())
            self.update(line, layout=False)

    def on_resize(self) -> None:
        """Fit the facts to the new width."""
        self.tick(time.monotonic())

    def _plain(self) -> bool:
        return self.is_attached and self.screen.has_class("-plain")


def _joined(parts: list[tuple[str, str]]) -> Content:
    content = Content("")
    for number, (text, style) in enumerate(parts):
        if number:
            content = content + Content.styled(" · ", "$quiet")
        content = content + Content.styled(text, style)
    return content


NOT_KEPT = "not kept"
"""Shown all the while that a private session is on the screen."""
DEMO_LABEL = "demo, not a real model"
LEAST_TITLE = 20
"""Columns that the title keeps beside the text at the right end of its bar."""


def elsewhere_text(sessions: Sequence[OpenSessionInfo]) -> str:
    """What the sessions that are not on the screen do: ``2 running elsewhere · 1 asks · 1 done``."""
    others = Counter(row.activity for row in sessions if not row.on_screen)
    done = others[Activity.DONE] + others[Activity.FAILED]
    parts = (
        (others[Activity.RUNNING], "running elsewhere"),
        (others[Activity.ASKS], "asks" if others[Activity.ASKS] == 1 else "ask"),
        (done, "done"),
    )
    return " · ".join(f"{number} {word}" for number, word in parts if number)


class TitleBar(Static):
    """The title, what other sessions do, and whether the demo answers; redrawn only when it changes."""

    def __init__(self) -> None:
        super().__init__("", id="title", markup=False)
        self._title = ""
        self._elsewhere = ""
        self._label = ""
        self._private = False
        self._left = self._right = 0
        self._shown: tuple[object, ...] = ()

    def show_margins(self, left: int, right: int) -> None:
        """Begin and end with the conversation, which leaves these columns free in a wide window."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self._draw()

    def show_title(self, title: str) -> None:
        """Show the title, cut to the width of the screen."""
        self._title = title
        self._draw()

    def show_status(self, status: Status) -> None:
        """Show at the right end whether the demo answers. What the sidebar shows, if it is hidden, is below."""
        self._label = DEMO_LABEL if status.demo else ""
        self._draw()

    def show_elsewhere(self, text: str, *, private: bool) -> None:
        """Show at the right end what other sessions do, and whether nothing of this one is stored."""
        self._elsewhere, self._private = text, private
        self._draw()

    def on_resize(self) -> None:
        """Cut the full title to the new width."""
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:  # the news may come while the screen closes
            return
        width = self.screen.size.width - 2 - self._left - self._right
        state = (self._left, self._title, self._elsewhere, self._label, self._private, width)
        if state == self._shown:
            return
        self._shown = state
        left = Content.styled("ponder", "$quiet") + Content.styled(" · " if self._title else "", "$quiet")
        left = left + Content.styled(f"{NOT_KEPT}  " if self._private else "", "bold $warning")
        title_room = min(width_of(self._title), LEAST_TITLE)
        right = Content("")
        for text, style in (
            (self._elsewhere, "bold $foreground"),
            (self._label, "$warning"),
        ):
            more = Content.styled(f"{GAP}{text}", style) if text else Content("")
            if left.cell_length + title_room + right.cell_length + more.cell_length <= width:
                right = right + more
        left = left + Content.styled(
            line_within(self._title, max(10, width - left.cell_length - right.cell_length)), "$foreground"
        )
        gap = Content(" " * max(0, width - left.cell_length - right.cell_length))
        self.update(Content(" " * self._left) + left + gap + right, layout=False)


def status_of(view: SessionView, now: float, *, full: bool, private: bool = False) -> Status:
    """The status of a session."""
    return Status(
        name=_named(view.spec, view.plan),
        asked=_named(view.answer.spec, view.answer.plan) if view.answer is not None else "",
        demo=view.spec.provider == DEMO,
        meter=view.meter,
        cost=cost_of(view.paid).words,
        phase=view.phase,
        since=now if view.phase is not Phase.IDLE else None,
        not_saved=view.not_saved or "",
        private=private,
        full=full,
    )


def _named(spec: ModelSpec, plan: ThinkingPlan) -> str:
    """The model, and its level in force if it has levels."""
    name = labelled_name(spec.provider, spec.model)
    return f"{name} · {plan.level}" if plan.level else name


def status_after(status: Status, event: AppEvent, phase: Phase, stalled_s: float | None, now: float) -> Status:
    """The status after an event. ``phase`` and ``stalled_s`` are the session's after it; events carry no cost."""
    if phase is not status.phase:
        running = phase is not Phase.IDLE
        keeps_clock = status.since is not None and phase in OF_ONE_ANSWER
        since = (status.since if keeps_clock else now) if running else None
        status = replace(status, phase=phase, since=since, tool="")
    status = replace(status, stalled_s=stalled_s)
    return replace(status, **_changes(event))  # type: ignore[arg-type]  # fields of Status by name


def _changes(event: AppEvent) -> dict[str, object]:
    changes: dict[str, object] = {}
    match event:
        case MeterChanged(reading):
            changes["meter"] = reading
        case ModelChanged(spec, plan):
            changes["name"] = _named(spec, plan)
            changes["demo"] = spec.provider == DEMO
        case RequestStarted(spec=spec, plan=plan):
            changes["asked"] = _named(spec, plan)
        case ToolStarted(name=name):
            changes["tool"] = name
        case Streamed(event=ModelLoading(share) | PromptRead(share)):
            changes["share"] = share
        case SaveFailed(message):
            changes["not_saved"] = message
        case SaveRecovered():
            changes["not_saved"] = ""
        case _:
            pass
    return changes


class FollowLine(Static):
    """Shown only while the newest lines are out of view; a click scrolls to them."""

    def __init__(self, transcript: Transcript, composer: Widget) -> None:
        super().__init__("", id="below", markup=False)
        self._words = ""
        self._transcript = transcript
        self._composer = composer

    def show_new_lines(self, *, following: bool, below: int) -> None:
        """Set whether the tail is followed, and how many new lines are below."""
        self.display = not following
        if not following:
            self._words = f"↓ {below:,}" if below > 0 else "↓"
            self.update(self._words)
            self.place()

    def place(self) -> None:
        """Move to the right edge of the conversation, beside its scrollbar."""
        room = self._transcript.size.width - len(self._words) - 2
        self.styles.offset = (max(0, room), 0)

    def on_click(self) -> None:
        """Scroll to the newest lines."""
        self._transcript.follow()
        self._composer.focus()


MOST = 8
ORDER = ("send", "newline", "stop", "answer now", "model", "palette", "help", "sessions", "thinking")
"""The keys a newcomer needs first come first: a narrow screen cuts from the end."""


def footer_keys(
    registry: Registry, keymap: Mapping[str, tuple[str, ...]], scope: CommandScope
) -> list[tuple[str, str]]:
    """Keys and labels for the footer, in order."""
    rows = [
        (
            ORDER.index(command.footer) if command.footer in ORDER else len(ORDER) + number,
            key_words(keymap[command.id][0]),
            command.footer,
        )
        for number, command in enumerate(registry)
        if command.footer and keymap.get(command.id) and command.scope in (scope, CommandScope.ANYWHERE)
    ]
    return [(key, word) for _, key, word in sorted(rows)]


TRANSCRIPT_KEYS = (
    *(("space", "fold"), ("j/k", "move"), ("y", "copy"), ("r", "retry"), ("e", "edit")),
    *(("/", "find"), ("?", "help")),
)

SIDEBAR_KEYS = (("←→", "level"), ("enter", "select"), ("16k", "budget"))


class KeyLine(Static):
    """The footer."""

    def __init__(self, registry: Registry, keymap: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__("", markup=False)
        self._registry = registry
        self._keymap = keymap
        self._scope = CommandScope.COMPOSER
        self._busy = self._thinks = self._asks = False
        self._is_asked = False
        self._left = 0

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show_margin(self, left: int) -> None:
        """Begin with the conversation, which leaves these columns free in a wide window."""
        if left != self._left:
            self._left = left
            self._draw()

    def show_scope(self, scope: CommandScope) -> None:
        """Show the keys of the scope that has the focus."""
        if scope is not self._scope:
            self._scope = scope
            self._draw()

    def show_phase(self, phase: Phase) -> None:
        """Show the keys that stop what runs, and end thinking; none beside a question, which names its own."""
        now = phase is not Phase.IDLE, phase in (Phase.WAITING, Phase.THINKING), phase is Phase.ASKING
        if now != (self._busy, self._thinks, self._asks):
            self._busy, self._thinks, self._asks = now
            self._draw()

    def show_asked(self, asked: bool) -> None:  # noqa: FBT001 - a callback
        """Show no keys while a question is on the screen, also one about a command of the user."""
        if asked is not self._is_asked:
            self._is_asked = asked
            self._draw()

    def _draw(self) -> None:
        keys = footer_keys(self._registry, self._keymap, self._scope)
        unusable = {word for word, usable in (("stop", self._busy), ("answer now", self._thinks)) if not usable}
        keys = [(key, word) for key, word in keys if word not in unusable]
        if self._scope is CommandScope.TRANSCRIPT:
            keys = [*TRANSCRIPT_KEYS, ("esc", "stop" if self._busy else "back")]
        elif self._scope is CommandScope.ANYWHERE:
            keys = [*SIDEBAR_KEYS, ("esc", "back")]
        content = Content(" " * self._left)
        used = 1 + self._left
        for key, word in [] if self._asks or self._is_asked else keys[:MOST]:
            width = len(key) + len(word) + 3
            if used + width > self.size.width:
                break
            used += width
            content = content + Content.styled(key, "bold $foreground") + Content.styled(f" {word}  ", "$quiet")
        self.update(content, layout=False)
