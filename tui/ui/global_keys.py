"""Keys and signals of the whole program: escape, ctrl+c, ctrl+z, signals, and resuming."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import time
from typing import TYPE_CHECKING

from textual import constants
from textual.binding import Binding

from tui.domain.events import Severity
from tui.ui.services import apply_motion_setting
from tui.ui.terminal.after_kill import TerminalGuard
from tui.ui.terminal.gc_schedule import GcSchedule
from tui.ui.terminal.textual_private import driver_of

if TYPE_CHECKING:
    from textual.driver import Driver

    from tui.ui.app import PonderApp
    from tui.ui.terminal.background import TerminalBackground
    from tui.ui.terminal.shutdown import Shutdown
    from tui.ui.terminal.stdio_redirect import StdioRedirect

LOG = logging.getLogger(__name__)

LOOK_AT_REST_S = 5
"""Interval between looks at what garbage there is while nothing happens."""
AGAIN_S = 1.5
"""How long "again to quit" applies, and how close two escapes must be."""


class GlobalKeys:
    """Handles keys and signals that concern the whole program."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._asked_at = float("-inf")
        self._escaped_at = float("-inf")

    def bindings(self) -> list[Binding]:
        """Bindings of the application itself."""
        return [
            Binding("escape", "app.escape", "back", show=False),
            Binding("ctrl+c", "app.interrupt", "stop", show=False, priority=True),
            Binding("ctrl+z", "app.sleep", "to the shell", show=False, priority=True),
            Binding("ctrl+underscore", "focused.undo", "undo", show=False, priority=True),
        ]

    def begin(self, shutdown: Shutdown | None, stdio_redirect: StdioRedirect | None) -> None:
        """Shut down on signals, log exceptions nobody awaited, and repaint after the process was stopped."""
        app = self._app
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_stray_exception)
        if shutdown is not None:

            def leave(code: int) -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the program is about to end
                    loop.call_soon_threadsafe(self._leave, code)

            shutdown.register_leave(leave)
        if (set_woken := getattr(driver_of(app), "call_when_woken", None)) is not None:
            set_woken(self._woken)
        if stdio_redirect is not None:
            app.app_suspend_signal.subscribe(app, lambda _: stdio_redirect.restore(), immediate=True)
            app.app_resume_signal.subscribe(app, lambda _: stdio_redirect.redirect(), immediate=True)
        app.app_resume_signal.subscribe(app, lambda _: self._repaint())
        if shutdown is not None:
            guard = TerminalGuard()
            shutdown.gives_back = guard.given_back
            app.app_suspend_signal.subscribe(app, lambda _: guard.given_back(), immediate=True)
            app.app_resume_signal.subscribe(app, lambda _: guard.taken(), immediate=True)
            app.call_after_refresh(guard.start)
        apply_motion_setting(app)
        app.call_after_refresh(_start_gc_schedule, app)
        self._listen(loop)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Accept keys once the screen is mounted, early ones first; apply a late answer about the background."""
        app, question = self._app, self._app.question
        listen = getattr(driver_of(app), "listen", None)
        if listen is not None:
            heard = question.heard if question is not None else b""

            def on_background(background: TerminalBackground) -> None:
                loop.call_soon_threadsafe(app.theming.background_answered, app, background)

            app.chat.call_after_refresh(listen, heard, on_background)

    def _leave(self, code: int) -> None:
        self._app.exit(return_code=code)

    def _woken(self, *, slept: bool) -> None:
        self._repaint()
        if not slept:
            self._app.say("No shell to return to: this window runs only ponder.")

    def _repaint(self) -> None:
        self._app.refresh(layout=True)
        self._app.screen.refresh(layout=True)

    def sleep(self) -> None:
        """Suspend to the shell; ``fg`` resumes."""
        driver = driver_of(self._app)
        sleep = getattr(driver, "sleep", None)
        if sleep is None or self._app.is_headless:
            self._app.say("This terminal cannot suspend programs.")
            return
        sleep()

    async def escape(self) -> None:
        """Do the first that applies: stop, clear the selection, focus the composer, end an edit, take back the queue.

        Twice on an empty composer: edit the last prompt.
        """
        app = self._app
        chat = app.chat
        view = chat.view()
        if app.ui_services.shell.stop():
            return
        if chat.is_busy():
            await app.services.chat.cancel()
        elif chat.selections:
            chat.clear_selection()
        elif not chat.composer.has_focus:
            chat.composer.focus()
        elif chat.edit_mode.turn is not None or chat.edit_mode.is_restored:
            chat.composer.take()
        elif view is not None and view.queue:
            await app.editing.take_all_queued()
        elif view is not None and not chat.composer.text:
            now = time.monotonic()
            twice, self._escaped_at = now - self._escaped_at < AGAIN_S / 2, now
            if twice and view.turns:
                await app.ui_services.run_id("chat.edit")

    async def interrupt(self) -> None:
        """Copy the selection; else stop; else clear the draft, which can be recalled; a second press quits."""
        app = self._app
        chat = app.chat
        chosen = app.screen.get_selected_text()
        if app.is_asking_to_quit:
            app.exit(return_code=0)
        elif chosen:
            app.copy_to_clipboard(chosen)
            app.screen.clear_selection()
        elif app.ui_services.shell.stop():
            pass
        elif chat.is_busy():
            await app.services.chat.cancel()
        elif chat.composer.text:
            chat.composer.take()
        elif time.monotonic() - self._asked_at < AGAIN_S:
            app.leave()
        else:
            self._asked_at = time.monotonic()
            app.ui_services.toasts.say("ctrl+c again to quit", Severity.INFO, "", seconds=AGAIN_S)


def own_driver() -> type[Driver] | None:
    """Our terminal driver; None where Textual must choose (Windows, a browser)."""
    if os.name == "nt" or constants.DRIVER is not None:
        return None
    from tui.ui.terminal.driver import TerminalDriver  # needs a Unix terminal

    return TerminalDriver


def _start_gc_schedule(app: PonderApp) -> None:
    """Start the GC schedule: start-up turned automatic collection off; from here it runs while the user is idle."""
    if not gc.isenabled():
        schedule = GcSchedule(app.chat.is_busy)
        schedule.begin()

        def tick() -> None:
            schedule.tick()
            app.chat.composer.rest()
            app.set_timer(LOOK_AT_REST_S if schedule.is_at_rest else 1, tick)

        app.set_timer(1, tick)


def _stray_exception(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Log an exception that nobody awaited; printing it would damage the screen."""
    error = context.get("exception")
    LOG.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
