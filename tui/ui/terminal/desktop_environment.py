"""The environment of clipboard tools and browsers: what a desktop program needs, and no keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

_NAMES = frozenset(
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
    """The variables that are passed on."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in _NAMES or name.upper().startswith(_PREFIXES)
    }
