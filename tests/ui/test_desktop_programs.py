"""Programs of the desktop are started without the keys in our environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.key_canary import CANARY
from tui.ui.terminal.clipboard import put_on_clipboard
from tui.ui.terminal.desktop_programs import desktop_environment, open_in_browser


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which stand-ins for a clipboard tool and a browser write their arguments and environment."""
    found = tmp_path / "seen"
    for name in ("wl-copy", "a-browser"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\n{{ echo "$0 $*"; /usr/bin/env; }} > {found}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("OPENAI_API_KEY", "MY_PASSWORD", "DATABASE_URL", "AWS_SESSION"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-7")
    monkeypatch.setenv("BROWSER", str(tmp_path / "a-browser"))
    for name in ("SSH_CONNECTION", "SSH_TTY", "TEXTUAL_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_clipboard_tool_is_given_its_display_and_no_key(seen: Path) -> None:
    assert put_on_clipboard("words", lambda sequence: None) == ""
    assert "wl-copy" in seen.read_text()
    assert "WAYLAND_DISPLAY=wayland-7" in seen.read_text()
    assert CANARY not in seen.read_text()


def test_a_browser_is_given_the_address_and_no_key(seen: Path) -> None:
    open_in_browser("https://example.org/a?b=c&d")
    assert "a-browser https://example.org/a?b=c&d" in seen.read_text()
    assert "WAYLAND_DISPLAY=wayland-7" in seen.read_text()
    assert CANARY not in seen.read_text()


def test_only_variables_of_the_desktop_are_passed_on() -> None:
    given = {"XDG_RUNTIME_DIR": "a", "LC_CTYPE": "b", "Path": "c", "XDG": "d", "HTTPS_PROXY": "e", "MY_KEY": "f"}
    assert desktop_environment(given) == {"XDG_RUNTIME_DIR": "a", "LC_CTYPE": "b", "Path": "c"}
