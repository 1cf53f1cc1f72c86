"""Words on their way to a clipboard: by tmux, by GNU screen, by the terminal, and not at all if they are too many."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tui.domain.errors import UsageError
from tui.ui.terminal.clipboard import OSC52_LIMIT, put_on_clipboard

FAR = {"SSH_CONNECTION": "somewhere"}
TEXT = "grüße " * 200


def _sequence(text: str) -> str:
    return f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"


def _put(text: str, **environment: str) -> tuple[str, str]:
    written: list[str] = []
    return put_on_clipboard(text, written.append, FAR | environment), "".join(written)


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tmux that keeps what it is told in files."""
    script = tmp_path / "tmux"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat > {tmp_path}/buffer\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_over_ssh_the_terminal_is_asked() -> None:
    assert _put(TEXT) == (" through the terminal", _sequence(TEXT))


def test_in_a_browser_it_is_the_browsers_clipboard_whatever_the_server_runs_in(tmux: Path) -> None:
    around = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "TMUX": "x", "STY": "y"}
    assert _put(TEXT, **around) == (" through the browser", _sequence(TEXT))
    assert not (tmux / "asked").exists()


def test_tmux_keeps_it_and_hands_it_on(tmux: Path) -> None:
    assert _put(TEXT, TMUX="/tmp/tmux-0/default,1,0") == (" through tmux", "")
    assert (tmux / "buffer").read_text() == TEXT
    assert (tmux / "asked").read_text() == "load-buffer -w -\n"


def test_what_is_too_long_for_the_terminal_stays_in_tmux(tmux: Path) -> None:
    text = "x" * (OSC52_LIMIT + 1)
    how, written = _put(text, TMUX="/tmp/tmux-0/default,1,0")
    assert (how, written) == (" into tmux's buffer; it is too long for the terminal's clipboard", "")
    assert (tmux / "buffer").read_text() == text
    assert (tmux / "asked").read_text() == "load-buffer -\n"


def test_where_tmux_cannot_be_called_it_is_asked_both_ways_it_may_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _, written = _put("words", TMUX="/tmp/tmux-0/default,1,0")
    doubled = _sequence("words").replace("\x1b", "\x1b\x1b")
    assert written == f"{_sequence('words')}\x1bPtmux;{doubled}\x1b\\"


def test_gnu_screen_is_given_pieces_it_can_swallow() -> None:
    _, written = _put(TEXT, STY="1234.pts-0.host")
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", written, re.DOTALL)
    assert "".join(f"\x1bP{piece}\x1b\\" for piece in pieces) == written
    assert "".join(pieces) == _sequence(TEXT)
    assert max(map(len, pieces)) < 256


def test_what_a_terminal_would_choke_on_is_refused_with_a_way_out() -> None:
    assert _put("x" * OSC52_LIMIT)[0] == " through the terminal"
    with pytest.raises(UsageError, match="100,001 bytes are too much") as refused:
        _put("x" * (OSC52_LIMIT + 1))
    assert "/export md" in refused.value.advice


def test_what_is_copied_cannot_end_a_paste_and_type_keys(tmux: Path) -> None:
    text = "make:\r\n\techo \x1b[201~\nrm x\ry \x9b201~ \x00\x7f עברית 👩\u200d💻"
    shown = "make:\n\techo ␛[201~\nrm x␍y \\u{9B}201~ ␀␡ עברית 👩\u200d💻"
    assert _put(text) == (" through the terminal", _sequence(shown))
    _put(text, TMUX="x")
    assert (tmux / "buffer").read_text() == shown
