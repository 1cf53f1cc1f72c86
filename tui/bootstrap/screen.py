"""Start the screen: query the terminal first, and load everything else while it answers.

Heavy imports are inside functions, so that signals are handled and the terminal is asked for its colours before
anything else is loaded.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.app.launch_options import LaunchOptions
from tui.bootstrap.interactive import commands_with_prompts, opened
from tui.domain.errors import PonderError, UsageError
from tui.settings.forced_colours import forced_colours
from tui.ui.terminal.background import BackgroundQuestion
from tui.ui.terminal.shutdown import Shutdown
from tui.ui.terminal.stdio_redirect import StdioRedirect

if TYPE_CHECKING:
    from tui.app.program import Program
    from tui.app.services import AppServices
    from tui.ui.app import PonderApp


PAINTS_A_SECOND = "120"
"""Textual's frame rate. A key pressed just after a frame is drawn can wait for two frames: with the default of 60 that
is up to 33 ms, which is noticeable while an answer streams."""


def run_screen(environment: Mapping[str, str], options: LaunchOptions, *, resume: str | None, latest: bool) -> int:
    """Run the full-screen program; returns the exit code."""
    _ignore_what_textual_cannot_use()
    _force_colours(environment)
    _refuse_what_cannot_draw(environment)
    # Loading creates 100,000 objects that all stay alive: collecting garbage meanwhile takes a tenth of the start time.
    # The screen enables the collector again once it is drawn.
    gc.disable()
    os.environ.setdefault("TEXTUAL_FPS", PAINTS_A_SECOND)  # read when Textual is loaded
    question = BackgroundQuestion(environment)
    # Signals are handled before the terminal's modes are changed.
    with Shutdown() as shutdown:
        try:
            question.ask()
            from tui.bootstrap.program import build_program

            shutdown.leave_if_signalled()
            program = build_program(environment, options)
            shutdown.last = program.engine.stop
            with StdioRedirect(program.paths.log_file) as redirect:
                code, failure = _run(program, question, (shutdown, redirect), resume, latest=latest)
        finally:
            question.give_up()
            shutdown.gives_back()
            shutdown.finish()
    if failure is not None:
        message = f"ponder stopped: {type(failure).__name__}. Details are in {redirect.log_file}"
        sys.stderr.write(message + "\n")
    return code


BROWSER = "textual.drivers.web_driver:WebDriver"
COLOR_SYSTEMS = ("auto", "standard", "256", "truecolor", "windows")


def _ignore_what_textual_cannot_use() -> None:
    """Remove Textual's own variables where their value would end the program with a traceback."""
    if os.environ.get("TEXTUAL_DRIVER", BROWSER) != BROWSER:
        del os.environ["TEXTUAL_DRIVER"]
    if os.environ.get("TEXTUAL_COLOR_SYSTEM", "auto") not in COLOR_SYSTEMS:
        del os.environ["TEXTUAL_COLOR_SYSTEM"]
    # Textual would write there every key that is pressed, keys of providers included.
    os.environ.pop("TEXTUAL_LOG", None)


def _force_colours(environment: Mapping[str, str]) -> None:
    """Tell Textual, which does not know ``FORCE_COLOR``, how many colours the user wants."""
    colours = forced_colours(environment)
    if colours == 0:
        os.environ["NO_COLOR"] = "1"
    elif colours is not None:
        os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", {16: "standard", 256: "256"}.get(colours, "truecolor"))


def _refuse_what_cannot_draw(environment: Mapping[str, str]) -> None:
    if environment.get("TEXTUAL_DRIVER"):
        return  # the screen is shown in a browser
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The screen needs a terminal.", advice='`ponder -p "question"` works without one.')
    if os.name == "posix" and environment.get("TERM", "dumb") in ("dumb", ""):  # Windows has no such variable
        raise UsageError("This terminal cannot draw a screen.", advice="`ponder --linear` works here.")


def _run(
    program: Program,
    question: BackgroundQuestion,
    terminal: tuple[Shutdown, StdioRedirect],
    resume: str | None,
    *,
    latest: bool,
) -> tuple[int, Exception | None]:
    shutdown, redirect = terminal
    with opened(program, shutdown, resume, latest=latest, screen=True) as services:
        app = _app(program, services, question)
        app.shutdown, app.stdio_redirect = shutdown, redirect
        shutdown.leave_if_signalled()
        # Until the screen can leave in order, a terminal that goes away has a moment, too.
        shutdown.register_leave(lambda code: None)
        code = app.run()
        return (code if code is not None else app.return_code or 0), app.stopped_by


def _app(program: Program, services: AppServices, question: BackgroundQuestion) -> PonderApp:
    from tui.commands.builtin import registry
    from tui.commands.keymap import read_keymap
    from tui.ui.terminal.without_palette import load_textual

    load_textual()
    from tui.ui.app import PonderApp
    from tui.ui.theme.current_theme import CurrentTheme

    keymap = read_keymap(registry(), _keys_text(program))
    program.problems.extend(keymap.problems)
    theme_name = str(services.settings.layers().value("ui.theme"))
    theming = CurrentTheme(program.paths.themes, theme_name, program.environment, light=question.light())
    if (unknown := theming.unknown()) is not None:
        program.problems.append(unknown)
    app = PonderApp(services, commands_with_prompts(program, services), keymap, theming)
    app.question = question
    return app


def _keys_text(program: Program) -> str:
    from tui.settings.user_files import read_user_text

    try:
        return read_user_text(program.paths.keys_file) or ""
    except OSError as error:
        program.problems.append(PonderError(f"`keys.toml` cannot be read: {error.strerror}."))
        return ""
