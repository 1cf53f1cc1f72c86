"""Reads the picture on the clipboard, by the program that the desktop has for it."""

from __future__ import annotations

import base64
import binascii
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tui.app.attachments import MAX_PICTURE, picture_block
from tui.domain.blocks import ImageBlock
from tui.domain.errors import ToolError, UsageError
from tui.domain.format_numbers import count
from tui.tools.builtin.processes import Command, Ended, run_to_end

TIME_S = 5.0
MOST_OUTPUT = 2 * MAX_PICTURE + 1_000
"""Bytes that are read of a program: some write a picture as hexadecimal digits."""
TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""Types that are asked for, best first."""
NAME = "clipboard"

_QUIET = ("sh", "-c", 'exec "$0" "$@" 2>/dev/null')
"""Warnings of a program are not a part of the picture."""
_APPLE_DATA = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")
_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing;"
    "$p=[Windows.Forms.Clipboard]::GetImage();"
    "if($p){$m=New-Object IO.MemoryStream;$p.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
    "[Convert]::ToBase64String($m.ToArray())}"
)
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LANG|TMPDIR|DISPLAY|XAUTHORITY|WAYLAND_.*|XDG_.*|DBUS_SESSION_BUS_ADDRESS|WSL_.*|SYSTEMROOT|WINDIR"
)

Run = Callable[[Command], Awaitable[Ended]]


class ClipboardPictures:
    """Asks the programs that are installed, one after the other."""

    def __init__(self, environment: Mapping[str, str], folder: Path, run: Run = run_to_end) -> None:
        self._environment = {name: value for name, value in environment.items() if _PASSED_ON.fullmatch(name.upper())}
        self._folder = folder
        self._run = run

    async def read(self) -> ImageBlock:
        """The picture; raises UsageError if there is none or no program can read it."""
        readers = {
            "wl-paste": self._wayland if self._environment.get("WAYLAND_DISPLAY") else None,
            "xclip": self._x11 if self._environment.get("DISPLAY") else None,
            "pngpaste": self._pngpaste,
            "osascript": self._osascript,
            "powershell.exe": self._powershell,
        }
        path = self._environment.get("PATH", "")
        installed = [read for name, read in readers.items() if read is not None and shutil.which(name, path=path)]
        if not installed:
            raise UsageError(
                "No program here can read a picture from the clipboard.",
                advice="Install wl-clipboard (Wayland), xclip (X11) or pngpaste (macOS). Over ssh: /attach PATH.",
            )
        for read in installed:
            if data := await read():
                return picture_block(data, NAME)
        raise UsageError(
            "There is no picture on the clipboard.", advice="Text is pasted by the terminal, often with ctrl+shift+v."
        )

    async def _wayland(self) -> bytes:
        offered = await self._output("wl-paste", "--list-types")
        return await self._of_type(offered, lambda kind: ("wl-paste", "--no-newline", "--type", kind))

    async def _x11(self) -> bytes:
        of_clipboard = ("xclip", "-selection", "clipboard", "-o", "-t")
        return await self._of_type(await self._output(*of_clipboard, "TARGETS"), lambda kind: (*of_clipboard, kind))

    async def _of_type(self, offered: bytes, command: Callable[[str], tuple[str, ...]]) -> bytes:
        kinds = offered.decode("utf-8", "replace").split()
        kind = next((kind for kind in TYPES if kind in kinds), None)
        return b"" if kind is None else await self._output(*command(kind))

    async def _pngpaste(self) -> bytes:
        return await self._output("pngpaste", "-")

    async def _osascript(self) -> bytes:
        said = await self._output("osascript", "-e", "the clipboard as «class PNGf»")
        found = _APPLE_DATA.search(said)
        return bytes.fromhex(found[1].decode()) if found is not None and len(found[1]) % 2 == 0 else b""

    async def _powershell(self) -> bytes:
        said = await self._output("powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", _POWERSHELL)
        try:
            return base64.b64decode(b"".join(said.split()), validate=True)
        except binascii.Error:
            return b""

    async def _output(self, *arguments: str) -> bytes:
        """What a program wrote; b"" if it failed. Raises UsageError if it wrote too much or took too long."""
        command = Command(
            argv=(*_QUIET, *arguments),
            folder=self._folder,
            environment=self._environment,
            timeout_s=TIME_S,
            head=MOST_OUTPUT,
            tail=0,
        )
        try:
            ended = await self._run(command)
        except ToolError:
            return b""
        if ended.output.produced > MOST_OUTPUT:
            raise UsageError(
                f"The picture on the clipboard is too large to attach (over {count(MAX_PICTURE, 'byte')})."
            )
        if ended.why_killed:
            raise UsageError(f"`{arguments[0]}` did not return the picture within {TIME_S:g} s.")
        return b"" if ended.code else ended.output.beginning()
