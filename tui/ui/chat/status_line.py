"""The line under the composer: model and level, meter, cost, and whatever is going on."""

from __future__ import annotations

from dataclasses import replace

from textual.content import Content
from textual.widgets import Static

from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import one_line
from tui.domain.usage import Certainty, MeterReading
from tui.engine.state import Phase
from tui.ui.format_numbers import duration, tokens

THROBBER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything the line can say."""

    name: str = ""
    """model/level as it will be asked."""
    meter: MeterReading | None = None
    cost: str = ""
    """Of the session; "" where nothing was asked."""
    phase: Phase = Phase.IDLE
    since: float | None = None
    """When the phase began."""
    retry_at: float | None = None
    stalled_s: float | None = None
    tool: str = ""
    not_saved: str = ""
    full: bool = True
    """The sidebar is hidden: meter and cost are said here."""


def meter_words(reading: MeterReading) -> str:
    """``≈62.4k/200k``."""
    mark = "" if reading.certainty is Certainty.REPORTED else "≈"
    limit = f"/{tokens(reading.limit)}" if reading.limit else ""
    return f"{mark}{tokens(reading.effective)}{limit}"


def doing(status: Status, now: float) -> str:
    """What is going on, in words; "" when nothing is."""
    spent = f" {duration(max(0.0, now - status.since))}" if status.since is not None else ""
    if status.phase is Phase.RETRYING:
        wait = Phase.RETRYING.value if status.retry_at is None else f"retry in {max(0.0, status.retry_at - now):.0f} s"
        return f"{wait} · /now skips the wait · esc stops"
    if status.phase is Phase.TOOLS and status.tool:
        return f"running {one_line(status.tool, 30)}{spent}"
    if status.phase is Phase.IDLE:
        return ""
    if status.stalled_s is not None:
        return f"no data for {status.stalled_s:.0f} s · esc stops"
    return f"{status.phase.value}{spent}"


class StatusLine(Static):
    """One line; redrawn when something in it changes and four times a second while something runs."""

    def __init__(self, *, still: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__("", markup=False, id=id)
        self._status = Status()
        self.still = still
        """No throbber and no clock: whoever listens to the screen hears a state once."""
        self._frame = 0
        self._drawn = ""

    @property
    def status(self) -> Status:
        """What it says."""
        return self._status

    def show(self, status: Status, now: float) -> None:
        """Say this."""
        self._status = status
        self.tick(now)

    def change(self, now: float, **changes: object) -> None:
        """Say something of it differently."""
        self.show(replace(self._status, **changes), now)  # type: ignore[arg-type]  # fields of Status by name

    def tick(self, now: float) -> None:
        """Let clocks run."""
        self._frame += 1
        parts: list[tuple[str, str]] = []
        status = self._status
        if status.not_saved:
            parts.append((f" NOT SAVED: {one_line(status.not_saved, 60)} ", "$error reverse"))
        busy = doing(replace(status, since=None, retry_at=None) if self.still else status, now)
        if busy:
            mark = THROBBER[self._frame % len(THROBBER)] if not self.still else "·"
            parts.append((f"{mark} {busy}", "$accent"))
        if status.name:
            parts.append((status.name, "$foreground" if not busy else "$muted-text"))
        if status.full and status.meter is not None:
            parts.append((meter_words(status.meter), "$muted-text"))
        if status.full and status.cost:
            parts.append((status.cost, "$muted-text"))
        drawn = repr(parts)
        if drawn != self._drawn:
            self._drawn = drawn
            self.update(_joined(parts), layout=False)


def _joined(parts: list[tuple[str, str]]) -> Content:
    content = Content("")
    for number, (text, style) in enumerate(parts):
        if number:
            content = content + Content.styled(" · ", "$muted-text")
        content = content + Content.styled(text, style)
    return content


__all__ = ["Status", "StatusLine", "doing", "meter_words"]
