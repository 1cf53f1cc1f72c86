"""Applies changed settings to the screen while the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import constants

from tui.domain.errors import PonderError
from tui.domain.events import Severity

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


def follow_settings(app: PonderApp, values: Mapping[str, object]) -> None:
    """Apply the settings that are not read at each use."""
    if "favourites" in values:
        app.chat.sidebar.refresh_models()
    if "ui.theme" in values:
        _apply_theme(app, str(values["ui.theme"]))
    if "ui.plain" in values or "ui.motion" in values:
        keep_still(app)
    if "ui.plain" in values:
        app.chat.set_plain()
        app.chat.transcript.recolour(app.shell.theme_styles())
        app.chat.sidebar.redraw()
    if "ui.sidebar" in values:
        app.chat.sidebar_wish = str(values["ui.sidebar"])
    if "ui.sidebar" in values or "ui.plain" in values:
        app.chat.place_sidebar(app.chat.size.width)


def keep_still(app: PonderApp) -> None:
    """Stop all animation if a setting or a screen reader requires it."""
    layers = app.services.settings.layers()
    still = bool(layers.value("ui.plain")) or not layers.value("ui.motion")
    app.animation_level = "none" if still else constants.TEXTUAL_ANIMATIONS
    app.chat.composer.cursor_blink = not still
    app.chat.status.still = still


def _apply_theme(app: PonderApp, name: str) -> None:
    """Switch to the theme named in a setting, if it exists."""
    try:
        app.shell.context().screen.use_theme(name)
    except PonderError as error:
        app.say(error.message, Severity.ERROR, error.advice)
