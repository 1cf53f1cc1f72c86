"""The chat screen: lays out transcript, composer and sidebar; passes input to the services and events to widgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Static

from tui.bus import Subscription
from tui.commands.registry import CommandScope
from tui.domain.cost import cost_of
from tui.domain.events import (
    AppEvent,
    CompressionChanged,
    HistoryChanged,
    MessageCompleted,
    MeterChanged,
    ModelChanged,
    SettingsChanged,
    Stamped,
    TurnFailed,
    TurnFinished,
)
from tui.engine.state import Phase, SessionState, SessionView, same_paid, title_of
from tui.ui.chat.asking_line import AskingLine
from tui.ui.chat.branch_marks import BranchMarks
from tui.ui.chat.empty_state import EmptyState
from tui.ui.chat.status_line import (
    FollowLine,
    KeyLine,
    StatusLine,
    TitleBar,
    elsewhere_text,
    status_after,
    status_of,
)
from tui.ui.input.composer import Composer, PromptHistory
from tui.ui.input.edit_mode import EditMode
from tui.ui.input.input_area import InputArea
from tui.ui.input.session_draft import SessionDraft, is_begun
from tui.ui.panels.sidebar import Sidebar, load_panels
from tui.ui.services import UiServices
from tui.ui.terminal.textual_private import SteadyScreen, render_sparingly
from tui.ui.transcript.reading_place import ReadingPlace, read_on, reading_place
from tui.ui.transcript.transcript import Transcript
from tui.ui.transcript.transcript_view import TranscriptView

if TYPE_CHECKING:
    from tui.app.services import AppServices


FRAME_S = 1 / 25
"""Least time between two frames of an answer; what one types is drawn at once."""
MOST_A_FRAME = 32 * 1024
"""Most characters applied per frame: more would delay a key press."""


async def follow(
    subscription: Subscription[Stamped],
    after: int,
    take: Callable[[Stamped], None],
    on_batch: Callable[[Sequence[AppEvent]], None],
) -> None:
    """Apply events after ``after`` and then draw; returns when the subscription is closed."""
    async for batch in subscription.batches(FRAME_S, at_most=MOST_A_FRAME):
        fresh = [stamped for stamped in batch if stamped.seq > after]
        for stamped in fresh:
            take(stamped)
        if fresh:
            on_batch([stamped.event for stamped in fresh])


WIDE = 110
"""Columns from which the sidebar is shown beside the conversation."""
MEASURE = 106
"""Columns that the conversation has at most, with what is beside its text; the style sheet says the same."""
PANELS_AFTER_S = 0.05
"""Delay before the sidebar's panels are made, so that the first screen and first keys come first."""
CACHE_SHOWN_EVERY_S = 60.0
"""The time left of the prompt cache is shown in minutes, so nothing happens more often."""
AFTER_THE_MINUTE_S = 0.1
CHANGES_CACHE = (
    *(CompressionChanged, HistoryChanged, MessageCompleted, ModelChanged, SettingsChanged),
    *(MeterChanged, TurnFailed, TurnFinished),
)
"""Events after which the prompt cache may have something else of the next request."""
DISCOVER_AFTER_S = 0.4
"""Delay before keyring and servers are queried: the imports this needs would delay the first keys."""


class ConversationArea(Vertical):
    """The conversation; a sheet may cover its end."""

    def leave_below(self, rows: int) -> None:
        """Let the conversation end this far above the end of its place."""
        rows = min(rows, max(0, self.region.height - 1))
        if self.styles.padding.bottom == rows:
            return
        self.styles.padding = (0, 0, rows, 0)
        for transcript in self.query(Transcript):  # none when the program ends with a question open
            if transcript.column.following:  # the new size must not count as scrolling away from the end
                self.call_after_refresh(transcript.follow)


def show_sidebar(screen: ChatScreen, width: int) -> None:
    """Show or hide the sidebar; screen readers read by row, so plain mode has no second column."""
    roomy = width >= WIDE and not screen.has_class("-plain")
    shown = screen.sidebar_setting in ("wide", "narrow") or (screen.sidebar_setting == "auto" and roomy)
    screen.sidebar.display = shown and width >= 60
    screen.sidebar.set_class(screen.sidebar_setting == "wide", "-wide")
    screen.set_class(screen.sidebar.display, "-with-sidebar")  # toasts are placed beside it


def align_bars(sidebar: Sidebar, width: int, title: TitleBar, keys: KeyLine) -> None:
    """Let title and keys begin where the conversation does; its column is in the middle of a wide window."""
    beside = sidebar.columns if sidebar.display else 0
    margin = max(0, width - beside - MEASURE) // 2
    title.show_margins(margin, 0 if beside else margin)
    keys.show_margin(margin)


def key_for_now(composer: Composer, ui_services: UiServices) -> str:
    """The key that skips the wait before a retry: beside a draft, a letter is text.

    It does not depend on the focus, which a click on the words moves: they must not move with it.
    """
    is_letter_free = not composer.text and not composer.has_normal_keys
    return "n" if is_letter_free else ui_services.key_of_answer_now()


class ChatScreen(SteadyScreen[None]):
    """The main screen."""

    AUTO_FOCUS: ClassVar = ""
    """The composer asks for the focus. Textual would give it to the transcript first, and all styles twice (3 ms)."""

    def __init__(self, services: AppServices, ui_services: UiServices) -> None:
        super().__init__()
        render_sparingly(self)
        self._services = services
        self._ui_services = ui_services
        layers = services.settings.layers()
        self.set_plain()
        self.sidebar_setting = str(layers.value("ui.sidebar"))
        self.transcript = Transcript(ui_services.theme_styles(), id="transcript")
        self.composer = Composer(PromptHistory(services.drafts.prompt_history()), id="composer")
        self._title_bar = TitleBar()
        still = bool(layers.value("ui.plain")) or not layers.value("ui.motion")
        self.status = StatusLine(self._title_bar.show_status, still=still, id="status")
        self.sidebar = Sidebar(services)
        self.conversation = TranscriptView(self.transcript, time.monotonic, self._ui_services.display_options())
        self.conversation.waiting_lines.key_for_now = partial(key_for_now, self.composer, ui_services)
        self._branch_marks = BranchMarks(self, services.branches, self.conversation, self.view)
        self.conversation_area = ConversationArea(id="conversation-area")
        self._asking = AskingLine()
        self.transcript.draft = self.composer
        self._below = FollowLine(self.transcript, self.composer)
        self._keys = KeyLine(ui_services.registry, ui_services.keymap)
        self._empty = EmptyState(
            services.keys.availability(), services.problems(), "", offers=not services.drafts.prompt_history()
        )
        self._draft = SessionDraft(self.composer, services.drafts, ui_services, self.view)
        self.input_area = InputArea(services, ui_services, self.composer, self._draft, self.status)
        self.edit_mode = EditMode(self.composer, self.transcript, self.input_area, services.cache.before_turn)
        self.edit_mode.when_drafted = self.conversation.waiting_lines.show_keys
        self._state: SessionState | None = None
        self._paid: SessionView | None = None
        """The view from which the cost in the status line was computed."""
        self._edited: dict[str, str | None] = {}
        """The turn that was being edited in each session when the user left it."""
        self._read: dict[str, ReadingPlace | None] = {}
        """Where the user was reading in each session."""
        self.when_shown: Callable[[], None] | None = None
        """Called once the session being opened is drawn."""
        self._has_opened = False
        self._subscription: Subscription[Stamped] | None = None
        self._cache_timer: Timer | None = None
        self._cache_changes_at = inf
        """Unix time when the state of the prompt cache is shown differently."""

    def compose(self) -> ComposeResult:
        show_sidebar(self, self.app.size.width)  # so that the first layout is already the right one
        align_bars(self.sidebar, self.app.size.width, self._title_bar, self._keys)
        yield self._title_bar
        with Horizontal(id="body"):
            with Vertical(id="left"):
                with self.conversation_area:
                    yield self._empty
                    yield self.transcript
                    yield self._below
                yield self._asking
                yield self.input_area
            yield self.sidebar
        yield self._keys

    def on_mount(self) -> None:
        """Attach to the open session."""
        self.set_vim()
        self.composer.when_asked = (self._keys.show_asked, self._ui_services.shell.show_asked)
        self.composer.focus()
        self._clock = self.set_interval(0.25, self._tick)
        self.open()
        self.call_after_refresh(self.set_timer, PANELS_AFTER_S, self._create_panels)
        self.set_timer(DISCOVER_AFTER_S, self._discover)

    @work(group="panels")
    async def _create_panels(self) -> None:
        if self.sidebar.display:
            await asyncio.to_thread(load_panels, self._services.models.models)
        if not self.sidebar.is_attached:
            return  # the program was ended before its screen was mounted
        self._has_opened = True
        if self.sidebar.display:
            self.sidebar.create_panels()

    # The prompt cache

    def _show_cached(self) -> None:
        """Show what the prompt cache has, say once that it expired, and look again when its minute is over."""
        if self._cache_timer is not None:
            self._cache_timer.stop()
            self._cache_timer = None
        self._cache_changes_at = inf
        if self._state is None:
            return
        view = self._state.now
        self._services.cache.report_expiry(view)
        cached = self._services.cache.state(view)
        self.status.change(time.monotonic(), cached=cached)
        self.sidebar.show_cached(cached)
        if cached is not None and cached.left_s is not None:
            minute_s = (cached.left_s % CACHE_SHOWN_EVERY_S or CACHE_SHOWN_EVERY_S) + AFTER_THE_MINUTE_S
            self._cache_timer = self.set_timer(minute_s, self._show_cached)
            self._cache_changes_at = self._services.cache.now() + minute_s

    def show_above_composer(self, line: Static) -> None:
        """Add a line above the composer."""
        self.input_area.show_above_composer(line)

    # The session

    def open(self) -> None:
        """Draw the open session and follow it. Keys that are pressed from now on are for it."""
        view, subscription = self._services.chat.attach()
        if self._subscription is not None:
            self._subscription.close()  # its worker may not even have begun
        self._subscription = subscription
        if self._state is not None:
            self._edited[self._state.now.session] = self.edit_mode.turn
            self._read[self._state.now.session] = reading_place(self.transcript.column)
        left = self._state.now.session if self._state is not None else ""
        if left and left != view.session:
            self._ui_services.shell.stop()  # its output belongs to the draft that is left
        self._draft.enter(view)
        self._show(view)
        self._branch_marks.read()
        if (edited := self._edited.pop(view.session, None)) is not None and self.composer.text:
            self.edit_mode.begin(edited)
        shown, self.when_shown = self.when_shown, None
        if shown is not None:
            shown()
        elif left != view.session:
            self.call_after_refresh(self._read_on, view.session)
        self._follow(view, subscription)

    @work(exclusive=True, group="follow")
    async def _follow(self, view: SessionView, subscription: Subscription[Stamped]) -> None:
        try:
            await follow(subscription, view.seq, self._take, self._drawn)
        finally:
            subscription.close()

    def _read_on(self, session: str) -> None:
        """Go back to where the user was reading, once the conversation has its size."""
        place = self._read.get(session)
        if place is not None and self._state is not None and self._state.now.session == session:
            read_on(self.transcript, place)

    @work(group="look")
    async def _discover(self) -> None:
        await self._services.discover()
        self.refresh_models()

    def refresh_models(self) -> None:
        """Refresh what depends on providers: a server answered, or a key was set."""
        if self._state is not None:
            self._show_empty(self._state.now)
        self.sidebar.refresh_models()

    def _show(self, view: SessionView) -> None:
        self._state = SessionState(view, keep_text=False)
        self._paid = view
        self.conversation.load(view, self._ui_services.display_options())
        self._below.display = not self.transcript.column.following
        now, private = time.monotonic(), self._services.sessions.private
        self.status.show(status_of(view, now, full=not self.sidebar.display, private=private), now)
        self._clock.resume()
        self.sidebar.show(view)
        self._keys.show_phase(view.phase)
        self._title_bar.show_title(title_of(view))
        self.edit_mode.show(view)
        self._show_empty(view)
        self._show_cached()
        self.show_elsewhere()
        for asked in view.approvals:
            self._ui_services.handle_event(asked)

    def show_elsewhere(self) -> None:
        """Show what the sessions do that are not on the screen."""
        sessions = self._services.sessions
        rows = sessions.open_sessions()
        self._title_bar.show_elsewhere(elsewhere_text(rows), private=sessions.private)
        stood = self._asking.display
        self._asking.show(rows, self._ui_services.key_of_next_session())
        if self._asking.display != stood:
            self.call_after_refresh(self._ui_services.toasts.place)

    @on(AskingLine.Clicked)
    async def _asking_clicked(self, event: AskingLine.Clicked) -> None:
        await self._ui_services.run_showing_errors(lambda: self._services.chat.open_session(event.session))
        self.open()

    def ask_again(self) -> None:
        """Show the open question of the session, which the user has left unanswered."""
        view = self.view()
        if view is not None and view.approvals:
            self._ui_services.ask(view.approvals[0])

    def _take(self, stamped: Stamped) -> None:
        if self._state is None:
            return
        self._state.apply(stamped.event)
        self.conversation.take(stamped)
        self._ui_services.handle_event(stamped.event)

    def _drawn(self, batch: Sequence[AppEvent]) -> None:
        if self._state is None:
            return
        view = self._state.now
        now = time.monotonic()
        status = self.status.status
        for event in batch:
            status = status_after(status, event, view.phase, view.stalled_s, now)
        if not same_paid(view, self._paid):
            self._paid = view
            status = replace(status, cost=cost_of(view.paid).words)
        self.status.show(status, now)
        self._clock.resume()  # it pauses by itself when nothing runs
        self._keys.show_phase(view.phase)
        self.sidebar.show(view)
        self.input_area.session_reading = view.meter
        self._title_bar.show_title(title_of(view))
        self.edit_mode.show(view)
        self._show_empty(view)
        self._branch_marks.follow(batch)
        if any(isinstance(event, CHANGES_CACHE) for event in batch):
            self._show_cached()
        self.transcript.settle()

    def _show_empty(self, view: SessionView) -> None:
        empty = not is_begun(view)
        if (self._empty.display, self.transcript.display) != (empty, not empty):
            if empty and self.transcript.has_focus:
                self.composer.focus()  # a hidden widget loses the focus to none, and keys would do nothing
            self._empty.display, self.transcript.display = empty, not empty
        if empty:
            self._empty.private = self._services.sessions.private
            self._empty.show(
                self._services.keys.availability(), self._services.problems(), f"{view.spec.provider}/{view.spec.model}"
            )

    @on(EmptyState.Chosen)
    def _prompt_chosen(self, event: EmptyState.Chosen) -> None:
        if self.composer.text:
            self.composer.take()  # ↑ recalls the draft
        self.composer.put(event.prompt)
        self.composer.focus()

    def view(self) -> SessionView | None:
        """The session as drawn, without the text of the answer that is arriving."""
        return self._state.now if self._state is not None else None

    def put_cursor_on(self, turn_id: str) -> None:
        """Put the cursor of the conversation on the turn's prompt."""
        view = self.view()
        turns = (*view.turns, view.open_turn) if view is not None else ()
        key = next((turn.messages[0].id for turn in turns if turn is not None and turn.id == turn_id), "")
        index = self.transcript.column.index_of(key)
        if index is not None:
            self.transcript.put_cursor(index, 0)

    def is_busy(self) -> bool:
        """Whether something is running."""
        return self.status.status.phase is not Phase.IDLE

    def _tick(self) -> None:
        if self.status.still:
            return
        self.status.tick(time.monotonic())
        if self.conversation.is_live:
            self.conversation.tick()
            self.transcript.settle()
        elif not self.is_busy():
            self._clock.pause()

    # Layout

    def on_resize(self, event: events.Resize) -> None:
        """Show or hide the sidebar for the new width."""
        self.place_sidebar(event.size.width)
        if self._below.display:
            self.call_after_refresh(self._below.place)
        self._ui_services.pictures.resized()

    def set_vim(self) -> None:
        """Give the composer the keys of vim, or take them away."""
        self.composer.vim = None
        if not self._services.settings.layers().value("ui.vim"):
            self.status.show_mode("")
            return
        from tui.ui.input.vim_keys import VimKeys

        self.composer.vim = VimKeys(self.composer, self.status.show_mode)

    def set_plain(self) -> None:
        """Draw or remove lines around widgets."""
        self.set_class(bool(self._services.settings.layers().value("ui.plain")), "-plain")

    def place_sidebar(self, width: int) -> None:
        """Show the sidebar if enabled and it fits, and what it leaves to other places."""
        show_sidebar(self, width)
        align_bars(self.sidebar, width, self._title_bar, self._keys)
        if self.sidebar.display and self._has_opened:
            self.sidebar.create_panels()
        self.status.change(time.monotonic(), full=not self.sidebar.display)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the keys of the focused widget in the footer."""
        if self.sidebar in event.widget.ancestors:
            self._keys.show_scope(CommandScope.ANYWHERE)
        else:
            self._keys.show_scope(CommandScope.TRANSCRIPT if event.widget is self.transcript else CommandScope.COMPOSER)
        if event.widget is self.transcript:
            self.transcript.place_cursor()

    @on(Transcript.FollowChanged)
    def _follow_changed(self, event: Transcript.FollowChanged) -> None:
        self._below.show_new_lines(following=event.following, below=event.below)

    @on(InputArea.MeterRead)
    def _meter_read(self, event: InputArea.MeterRead) -> None:
        if event.before is not self.input_area.session_reading:
            self.input_area.measure_draft()
            return
        self.status.change(time.monotonic(), meter=event.reading)
        self.sidebar.show_meter(event.reading)
        if self._services.cache.now() >= self._cache_changes_at:  # a timer is late if the computer slept
            self._show_cached()
