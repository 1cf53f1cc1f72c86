"""Follows the open session and prints what happens in it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.domain.events import AppEvent, CompressionStarted, Notice, SettingsChanged, Severity, Stamped, TurnFinished
from tui.domain.format_numbers import count, duration
from tui.domain.printable import one_line
from tui.engine.state import Phase, SessionState, SessionView, title_of
from tui.linear.sentences import context_text, model_name, with_advice
from tui.linear.turn_lines import TurnLines

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.bus import Subscription
    from tui.linear.line_writer import LineWriter

FRAME_S = 0.05
MOST_A_FRAME = 64 * 1024
STILL_EVERY_S = 30.0
"""While nothing else is printed, a line says this often that something runs."""


class Conversation:
    """Prints the open session."""

    def __init__(
        self,
        services: AppServices,
        out: LineWriter,
        heard: Callable[[AppEvent], None],
        opened: Callable[[], None],
    ) -> None:
        """``heard`` is called with each event after its lines were printed, ``opened`` when a session was opened."""
        self._services = services
        self._out = out
        self._heard = heard
        self._opened = opened
        self._lines = TurnLines(time.monotonic)
        self._state: SessionState | None = None
        self._seen = -1
        self._subscription: Subscription[Stamped] | None = None
        self.chosen_turn: str | None = None
        """The turn that commands act on; None is the last."""
        self._is_first = True
        self._said: deque[str] = deque(maxlen=4)
        self._noticed: deque[str] = deque(maxlen=4)
        """The last lines of commands and of notices, to print none twice."""
        self._after_opening: list[str] | None = []
        """Lines to print after the session that is being opened, because they are about it."""
        self._quiet_since = time.monotonic()
        self._follow_settings()

    def view(self) -> SessionView:
        """The session as printed so far, without the text of the answer that is arriving."""
        return self._state.now if self._state is not None else self._services.chat.view()

    @property
    def is_busy(self) -> bool:
        """Whether something runs."""
        return self.view().phase is not Phase.IDLE

    @property
    def is_settled(self) -> bool:
        """Whether nothing runs and all events were printed."""
        if self.is_busy or self._after_opening is not None:
            return False
        now = self._services.chat.view()
        is_waiting = bool(now.queue) and not now.queue_held
        return now.phase is Phase.IDLE and not is_waiting and now.seq <= self._seen

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Print a message of the program, unless a notice has just printed the same."""
        said = with_advice(text, advice)
        if said in self._noticed:
            self._noticed.remove(said)
            return
        self._said.append(said)
        line = f"Error: {said}" if severity is Severity.ERROR else said
        if self._after_opening is not None:
            self._after_opening.append(line)
        else:
            self._out.say([line])

    def skip(self) -> bool:
        """Print no more of the thinking or answer that arrives; False if nothing arrives."""
        self._lines.skips = self.is_busy
        return self._lines.skips

    # Following

    async def follow(self) -> None:
        """Print the events of the open session, and of each that replaces it."""
        while True:
            view, subscription = self._services.chat.attach()
            self._subscription = subscription
            try:
                self._begin(view)
                self._opened()
                async for batch in subscription.batches(FRAME_S, at_most=MOST_A_FRAME):
                    for stamped in batch:
                        if stamped.seq > view.seq and self._subscription is subscription:
                            self._take(stamped)
                    if self._subscription is not subscription:
                        break
                    if self._out.is_behind:
                        await self._out.written()
            finally:
                subscription.close()

    def reopen(self, turn: str | None = None) -> None:
        """Another session, or another branch of it, is open now; ``turn`` becomes the chosen one."""
        self.chosen_turn = turn
        self._after_opening = []
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.close()

    def _begin(self, view: SessionView) -> None:
        known = self._state is not None and self._state.now.session == view.session
        self._state, self._seen = SessionState(view, keep_text=False), view.seq
        self._lines.queued = view.queue
        if not known:
            self._out.say(opening_lines(view, private=self._services.sessions.private, is_first=self._is_first))
        self._is_first = False
        self._out.say(self._after_opening or ())
        self._after_opening = None
        for notice in view.notices if not known else ():
            self._out.say(self._lines.take(notice))
        if view.answer is not None:
            for event in view.answer.events:
                self._out.say(self._lines.stream(event))
        for asked in view.approvals:
            self._heard(asked)

    def _take(self, stamped: Stamped) -> None:
        assert self._state is not None
        self._state.apply(stamped.event)
        self._seen = stamped.seq
        self._say_event(stamped.event)
        self._heard(stamped.event)

    def _say_event(self, event: AppEvent) -> None:
        lines = self._lines.take(event)
        match event:
            case Notice(_, text, advice):
                said = with_advice(text, advice)
                if said in self._said:
                    self._said.remove(said)
                    return
                self._noticed.append(said)
            case SettingsChanged():
                self._follow_settings()
            case TurnFinished():
                lines = self._with_context(lines)
            case CompressionStarted() if any(said.startswith(lines[0][:-1]) for said in self._said):
                return  # the command has said more
            case _:
                pass
        if lines:
            self._quiet_since = time.monotonic()
            self._out.say(lines)

    def _with_context(self, lines: list[str]) -> list[str]:
        """The last line of a turn, with the size of the next request."""
        meter = self.view().meter
        if meter is None:
            return lines
        return [*lines[:-1], " ".join([*lines[-1:], context_text(meter)])]

    def _follow_settings(self) -> None:
        layers = self._services.settings.layers()
        shown = bool(layers.value("reasoning.includeInResponse"))
        self._lines.streams_thinking = shown and layers.value("ui.thinking") != "folded"

    def still(self) -> None:
        """Print that something runs if nothing else was printed for a while."""
        view, quiet = self.view(), time.monotonic() - self._quiet_since
        if view.phase in (Phase.IDLE, Phase.ASKING):
            self._quiet_since = time.monotonic()
        elif quiet >= STILL_EVERY_S:
            self._quiet_since = time.monotonic()
            self._out.say([f"Still {view.phase.value}, {duration(quiet)}."])


def opening_lines(view: SessionView, *, private: bool, is_first: bool) -> list[str]:
    """The first lines of a session that was opened."""
    turns = (*view.turns, view.open_turn) if view.open_turn is not None else view.turns
    name = model_name(view.spec, view.plan)
    lines: list[str] = []
    if turns:
        lines.append(f'Session "{one_line(title_of(view), 80)}", {count(len(turns), "turn")}. Model {name}.')
        lines.append("/show prints the last turn, /outline lists all.")
    elif is_first:
        lines.append(f"ponder, line by line. Model {name}.")
        lines.append("Type a prompt and press enter. /help lists the commands, ctrl+d quits.")
    else:
        lines.append(f"A new session. Model {name}.")
    if is_first and view.spec.provider == "demo":
        lines.append("The demo answers until you add a key with /key PROVIDER. It is not a real model.")
    if private and (is_first or turns):
        lines.append("Nothing of this conversation is stored. It is gone when ponder ends.")
    if view.queue_held:
        lines.append(f"{count(len(view.queue), 'queued prompt')}: an empty line sends, /draft takes back the last.")
    return lines
