"""Starts programs of the desktop: browsers and clipboard tools, without the keys in our environment.

Links in model output are shown in full, opened only by a second click, and only http and https.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui.domain.errors import UsageError
from tui.domain.printable import one_line
from tui.domain.web_address import safe_address

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


_PASSED_ON = frozenset(
    (
        "BROWSER", "COLORTERM", "DISPLAY", "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR",
        "TMUX", "TMUX_TMPDIR", "TZ", "USER", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY",
        "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "DESKTOP_STARTUP_ID",
        "APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
        "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "WINDIR", "WSL_DISTRO_NAME", "WSL_INTEROP",
    )
)  # fmt: skip
_PREFIXES = ("LC_", "XDG_", "GTK_", "QT_", "GNOME_", "KDE_", "MOZ_", "__CF")


def desktop_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that a clipboard tool or a browser gets: what it needs, and no keys."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in _PASSED_ON or name.upper().startswith(_PREFIXES)
    }


AGAIN_S = 6.0
"""Time allowed for the second click."""


class Links:
    """The first click shows the address, the second opens it."""

    def __init__(self, app: PonderApp, now: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now = now
        self._offered: tuple[str, float] = ("", float("-inf"))

    def clicked(self, href: str) -> None:
        address = safe_address(href)
        if address is None:
            self._app.say(f"Only http and https links are opened, not `{one_line(href, 200)}`.")
            return
        offered, when = self._offered
        if address == offered and self._now() - when < AGAIN_S:
            self._offered = ("", float("-inf"))
            self._open(address)
            return
        self._offered = (address, self._now())
        self._app.say(f"{address}\nClick again to {'open' if self._can_open() else 'copy'} it.")

    def _open(self, address: str) -> None:
        if self._app.is_web:
            self._app.open_url(address)
        elif self._can_open():
            self._app.run_worker(lambda: open_in_browser(address), thread=True, group="links", exit_on_error=False)
        else:
            try:
                how = self._app.copying.put(address)
            except UsageError as error:
                self._app.say(f"{error.message} {error.advice}")
                return
            self._app.say(f"Copied the address{how}.")

    def _can_open(self) -> bool:
        return self._app.is_web or has_browser(os.environ)


def open_in_browser(address: str) -> None:
    if os.name == "nt":
        import webbrowser

        webbrowser.open(address)
        return
    # ``webbrowser`` passes our whole environment, with the keys in it, to the browser.
    subprocess.run(
        [sys.executable, "-I", "-m", "webbrowser", "-t", address],
        env=desktop_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def has_browser(environment: Mapping[str, str]) -> bool:
    """Whether a browser with its own window can be opened: one in the terminal would draw over our screen."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
