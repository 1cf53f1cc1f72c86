"""Terminals that can less: no colours, few colours, no UTF-8 locale, no terminal at all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
MANY_COLOURS = re.compile(rb"\x1b\[[0-9;]*[34]8;[25];")


def _first_screen(home: Path, *, started: bool = False, **more: str) -> Terminal:
    with Terminal(PONDER, environment(home, **more), size=(80, 24), started=started) as terminal:
        terminal.wait_for(READY)
        terminal.type("zqx")
        # The words behind it, which say what to type, are gone.
        terminal.wait_for("zqx\n")
        return terminal


def test_no_color_draws_without_colours(tmp_path: Path) -> None:
    assert COLOUR.findall(_first_screen(tmp_path, NO_COLOR="1").raw) == []


def test_sixteen_colours_are_enough(tmp_path: Path) -> None:
    terminal = _first_screen(tmp_path, TERM="xterm", COLORTERM="")
    assert MANY_COLOURS.findall(terminal.raw) == []
    assert COLOUR.search(terminal.raw)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("forced", "colours"), [("0", (False, False)), ("1", (True, False)), ("2", (True, True)), ("3", (True, True))]
)
@pytest.mark.long
def test_force_color_says_how_many_colours(tmp_path: Path, forced: str, colours: tuple[bool, bool]) -> None:
    term = "xterm" if forced > "1" else "xterm-256color"
    raw = _first_screen(tmp_path, started=True, TERM=term, COLORTERM="", FORCE_COLOR=forced).raw
    assert (bool(COLOUR.search(raw)), bool(MANY_COLOURS.search(raw))) == colours
    assert (b";2;" in b"".join(MANY_COLOURS.findall(raw))) == (forced == "3")


@pytest.mark.long
def test_textuals_own_variables_end_nothing(tmp_path: Path) -> None:
    log = tmp_path / "missing" / "log"
    _first_screen(tmp_path, TEXTUAL_DRIVER="nonsense", TEXTUAL_COLOR_SYSTEM="nonsense", TEXTUAL_LOG=str(log))


@pytest.mark.long
def test_the_c_locale_draws_the_same_screen(tmp_path: Path) -> None:
    plain = _first_screen(tmp_path / "c", LANG="C", LC_ALL="C", PYTHONUTF8="0").text().split("\n")
    usual = _first_screen(tmp_path / "utf8").text().split("\n")
    # The line above the keys says what runs just now.
    assert [*plain[:-2], plain[-1]] == [*usual[:-2], usual[-1]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("background", "light"), [("ffff/ffff/ffff", True), ("1c1c/1c1c/1c1c", False)])
def test_the_theme_follows_the_terminals_background(tmp_path: Path, background: str, light: bool) -> None:
    with Terminal(PONDER, environment(tmp_path), size=(80, 24), background=background) as terminal:
        terminal.wait_for(READY)
    assert _is_light(terminal.raw) == light


def _is_light(raw: bytes) -> bool:
    grounds = re.findall(rb"48;2;(\d+);\d+;\d+", raw)
    return int(max(set(grounds), key=grounds.count, default=0)) > 128


def test_what_is_typed_before_the_screen_stands_is_not_lost(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=(80, 24), started=True) as terminal:
        terminal.until(lambda: b"\x1b]11;?" in terminal.raw, "the first question to the terminal")
        terminal.type("early")
        terminal.wait_for("early")
        terminal.type(" bird")
        terminal.wait_for("early bird")


@pytest.mark.long
def test_an_answer_that_comes_late_is_no_typing_and_still_chooses_the_theme(tmp_path: Path) -> None:
    with Terminal(
        PONDER, environment(tmp_path), size=(80, 24), started=True, background="ffff/ffff/ffff", late=True
    ) as terminal:
        terminal.wait_for(READY)
        terminal.type("before ")
        before = len(terminal.raw)
        terminal.answer()
        terminal.type("behind")
        terminal.wait_for("❯ before behind\n")
        terminal.until(lambda: _is_light(terminal.raw[before:]), "a light theme")


def test_what_a_shell_left_in_columns_is_not_believed(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path, COLUMNS="200", LINES="60"), size=(80, 24)) as terminal:
        terminal.wait_for(READY)
        assert terminal.text().rstrip().split("\n")[-1].strip().startswith(READY)
        assert len(terminal.text().rstrip().split("\n")) == 24
        places = [(int(row), int(column)) for row, column in re.findall(rb"\x1b\[(\d+);(\d+)H", terminal.raw)]
        assert [place for place in places if place > (24, 80) or place[1] > 80] == []  # not even once


def test_keys_that_come_all_at_once_are_handled_in_their_order(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=(80, 24)) as terminal:
        terminal.until(lambda: b"\x1b]11;?" in terminal.raw, "the first question to the terminal")
        terminal.type("erly\x7f\x7f\x7farly")
        terminal.wait_for("❯ early\n")
        terminal.type(b" \xff\x01x\x1b[C\x1b[CZ\ntwo\x1b[D\x7f2")
        terminal.wait_for("❯ xeaZ\n   t2orly \ufffd\n")


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (5, 40), (300, 3)])
def test_no_size_is_too_small(tmp_path: Path, size: tuple[int, int]) -> None:
    with Terminal(PONDER, environment(tmp_path), size=size, started=True) as terminal:
        terminal.until(lambda: b"\x1b[?2004h" in terminal.raw, "a screen")
        terminal.resize(100, 30)
        terminal.wait_for(READY)


def test_a_dumb_terminal_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path, TERM="dumb"), started=True) as terminal:
        assert terminal.exit_code() == 2
        assert "`ponder --linear` works here" in terminal.text()
        assert b"\x1b" not in terminal.raw


def test_no_terminal_is_refused_with_a_way_out(tmp_path: Path) -> None:
    done = subprocess.run(
        PONDER, env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal" in done.stderr
    assert "ponder -p" in done.stderr


@pytest.mark.long
def test_stray_words_of_threads_children_and_tasks_go_to_the_log(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-m", "tests.e2e.noisy"], environment(tmp_path), size=(80, 24)) as terminal:
        terminal.wait_for(READY)
        log = tmp_path / "ponder" / "state" / "ponder.log"
        words = ("from a thread", "from a child", "from a task", "from descriptor 1", "from another loop")
        terminal.until(lambda: log.exists() and all(word in log.read_text() for word in words), "all of it in the log")
        assert not any(word.encode() in terminal.raw for word in words)
        terminal.type("still fine")
        terminal.wait_for("still fine")
