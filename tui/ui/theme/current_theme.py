"""The theme in force: chosen, previewed, and reloaded while its file is edited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.domain.errors import ConfigError
from tui.domain.events import Severity
from tui.settings.forced_colours import forced_colours
from tui.settings.schema import nearest
from tui.ui.terminal.background import TerminalBackground
from tui.ui.terminal.hyperlinks import knows_links
from tui.ui.terminal.textual_private import update_colour_filter
from tui.ui.theme.theme_files import (
    DEFAULT_DARK,
    DEFAULT_LIGHT,
    ThemeFile,
    Themes,
    read_themes,
    theme_files,
    theme_variables,
)
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme

    from tui.ui.app import PonderApp

AUTO = "auto"
"""The wish to follow the terminal's background."""
POLL_S = 1.0
"""Interval between checks of the user's theme files."""
POLL_EMPTY_S = 5.0
"""The same while there are none."""
FIRST_LOOK_S = 0.4
"""The first look reads all themes, so that choosing one reads no file."""


class CurrentTheme:
    """Holds all themes and the current one."""

    def __init__(
        self, folder: Path | None, setting: str, environment: Mapping[str, str], *, light: bool | None = None
    ) -> None:
        self._folder = folder
        self._light = has_light_background(environment) if light is None else light
        self._environment = environment
        self._themes, self.problems = read_themes(folder)
        self._setting = setting
        self._stamp = self._stamps()
        self._read_all = False

    @property
    def starts_ansi(self) -> bool:
        """Whether the initial theme uses the terminal's own colours."""
        return self.resolve(self._setting) == "ansi"

    def unknown(self) -> ConfigError | None:
        """What to say if the wanted theme does not exist."""
        known = [AUTO, *self._themes]
        if self._setting in known:
            return None
        return ConfigError(
            f"There is no theme `{self._setting}`: `{self.resolve(self._setting)}` is used.",
            key="ui.theme",
            nearest=nearest(self._setting, known),
        )

    def names(self) -> Sequence[str]:
        return list(self._themes)

    def file(self, name: str) -> ThemeFile:
        """The theme of this name."""
        return self._themes[name]

    def install(self, app: App[int]) -> None:
        """Apply the configured theme before the program runs, so that styles are parsed only once, in its colours."""
        name = self.resolve(self._setting)
        theme = worn(app, self._themes[name].theme)
        app.register_theme(theme)
        app.ansi_color = name == "ansi"
        app.set_reactive(type(app).theme, name)
        for word, holds in ((f"-theme-{name}", True), ("-dark-mode", theme.dark), ("-light-mode", not theme.dark)):
            app.set_class(holds, word, update=False)
        update_colour_filter(app)
        app.stylesheet.set_variables(app.get_css_variables())

    def choose(self, app: PonderApp, name: str) -> None:
        """Apply a theme and remember it as the choice."""
        self._setting = name
        self.apply(app, name)

    def apply(self, app: App[int], name: str) -> None:
        """Apply a theme (also for a preview)."""
        name = self.resolve(name)
        app.register_theme(worn(app, self._themes[name].theme))
        app.ansi_color = name == "ansi"
        app.theme = name

    def background_answered(self, app: PonderApp, background: TerminalBackground) -> None:
        """Apply the background that the terminal reported late."""
        before = self.resolve(self._setting)
        self._light = background is TerminalBackground.LIGHT
        if self.resolve(self._setting) != before and app.theme == before:
            self.choose(app, self._setting)
            app.chat.transcript.recolour(self.theme_styles(app))

    def resolve(self, name: str) -> str:
        """The theme that a name means; ``auto`` follows the terminal's background if it is known."""
        if forced_colours(self._environment) == 0:
            return "ansi"
        if name in self._themes:
            return name
        if _few_colours(self._environment):
            return "ansi"
        return DEFAULT_LIGHT if self._light else DEFAULT_DARK

    def theme_styles(self, app: PonderApp) -> ThemeStyles:
        """Styles for line-drawn widgets."""
        file = self._themes.get(app.theme)
        variables = theme_variables(worn(app, file.theme if file is not None else app.current_theme))
        return ThemeStyles(variables, ansi=app.theme == "ansi", plain=_is_plain(app), links=self._knows_links(app))

    def sheet_styles(self, app: PonderApp) -> ThemeStyles:
        """Styles for line-drawn widgets on the background of sheets."""
        file = self._themes.get(app.theme)
        theme = worn(app, file.theme if file is not None else app.current_theme)
        variables = theme_variables(theme)
        background = {"background": theme.surface or variables["background"]}
        return ThemeStyles(
            {**variables, **background},
            ansi=app.theme == "ansi",
            plain=_is_plain(app),
            links=self._knows_links(app),
        )

    def _knows_links(self, app: PonderApp) -> bool:
        """Whether the terminal makes links itself; a browser has a link of its own for each of ours."""
        return not app.is_web and knows_links(self._environment)

    def defaults(self) -> dict[str, str]:
        """Our variables for Textual's own themes."""
        name = self.resolve(self._setting)
        return theme_variables(self._themes[name].theme)

    def watch(self, app: PonderApp) -> None:
        """Reload files while they are edited, and report errors in them."""
        # A toast created before the first frame may have expired by then: start its time here.
        app.call_after_refresh(self._tell, app, self.problems)
        look = partial(self._look, app)
        app.set_timer(FIRST_LOOK_S, lambda: start_work(app, look, group="themes", exclusive=True))

    async def _look(self, app: PonderApp) -> None:
        await self._reload_changed(app)
        look = partial(self._look, app)
        interval = POLL_S if self._stamp else POLL_EMPTY_S
        app.set_timer(interval, lambda: start_work(app, look, group="themes", exclusive=True))

    async def _reload_changed(self, app: PonderApp) -> None:
        stamp = await asyncio.to_thread(self._stamps)
        if stamp == self._stamp and self._read_all:
            return
        changed, self._stamp, self._read_all = stamp != self._stamp, stamp, True
        themes, problems = await asyncio.to_thread(self._fresh)
        if not changed:
            self._themes = themes
            return
        self._themes = themes
        self._tell(app, problems)
        self.apply(app, self._setting)
        app.refresh_css()
        app.chat.transcript.recolour(self.theme_styles(app))

    def _fresh(self) -> tuple[Themes, tuple[ConfigError, ...]]:
        """All themes, with the shipped ones parsed too, so that choosing one later reads no file."""
        themes, problems = read_themes(self._folder)
        for name in themes:
            themes[name]
        return themes, problems

    def _tell(self, app: PonderApp, problems: tuple[ConfigError, ...]) -> None:
        for problem in problems:
            app.say(problem.message, Severity.WARNING, problem.advice)

    def _stamps(self) -> tuple[tuple[str, int], ...]:
        try:
            return tuple((path.name, _changed(path)) for path in theme_files(self._folder))
        except OSError:
            return ()


def worn(app: App[int], theme: Theme) -> Theme:
    """The theme in the colours that the terminal has."""
    if app.console.color_system != "256":
        return theme
    from tui.ui.theme.few_colours import worn_with_256_colours

    return worn_with_256_colours(theme)


def _changed(path: Path) -> int:
    """The modification time of a file; 0 if it was removed meanwhile."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _is_plain(app: PonderApp) -> bool:
    return bool(app.services.settings.layers().value("ui.plain"))


def _few_colours(environment: Mapping[str, str]) -> bool:
    if environment.get("TEXTUAL_DRIVER"):
        return False  # a browser draws
    if (colours := forced_colours(environment)) is not None:
        return colours < 256
    term = environment.get("TERM", "")
    return (
        not environment.get("COLORTERM") and "256color" not in term and "direct" not in term and term != "xterm-kitty"
    )


def has_light_background(environment: Mapping[str, str]) -> bool:
    """What ``COLORFGBG`` says: ``0;15`` is dark on light."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15") and os.name != "nt"
