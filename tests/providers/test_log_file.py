"""The log file: private, small, made only when there is something to say, and never with a key in it."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.providers.log_file import open_log
from tui.providers.redaction import Redactor, Secret
from tui.settings.user_files import LONGEST_LOG

KEY = "sk-canary-0123456789-ABCDEFGHIJ-abcd"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    handlers, factory = logging.getLogger().handlers[:], logging.getLogRecordFactory()
    yield tmp_path / "state" / "ponder.log"
    logging.getLogger().handlers[:] = handlers
    logging.getLogger("tui").setLevel(logging.NOTSET)
    logging.setLogRecordFactory(factory)


def _opened(log: Path, **environment: str) -> None:
    open_log(log, Redactor([Secret(KEY)]), environment, screen=False)


def test_a_key_is_in_no_record_nor_traceback_whichever_handler_writes_it(
    log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _opened(log)
    try:
        raise ValueError(f"Illegal header value b'Bearer {KEY}'")
    except ValueError:
        logging.getLogger("somebody.else").exception("sent %s", KEY)
    for words in (log.read_text("utf-8"), caplog.text):
        assert "sent ***abcd" in words
        assert "ValueError: Illegal header value b'Bearer ***" in words
        assert "canary" not in words


def test_words_of_others_begin_no_record_and_write_to_no_terminal(log: Path) -> None:
    _opened(log)
    try:
        raise ValueError("\x1b]52;c;QQ==\x07")
    except ValueError:
        logging.getLogger("tui.x").exception("ended by %s", "stop\n2026 ERROR tui: forged \x9b2J\u202e")
    record, *trace = log.read_text("utf-8").splitlines()
    assert record.endswith("ended by stop␊2026 ERROR tui: forged \\u{9B}2J\\u{202E}")
    assert trace[-1] == "ValueError: ␛]52;c;QQ==␇"


def test_the_file_is_for_its_owner_alone(log: Path) -> None:
    _opened(log)
    logging.getLogger("tui.x").warning("something")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_nothing_to_say_makes_no_file(log: Path) -> None:
    _opened(log)
    logging.getLogger("tui.x").info("all is well")
    assert not log.parent.exists()


def test_a_long_file_is_put_aside(log: Path) -> None:
    _opened(log)
    log.parent.mkdir()
    log.write_text("x" * (LONGEST_LOG + 1), "utf-8")
    logging.getLogger("tui.x").warning("anew")
    assert log.read_text("utf-8").endswith("WARNING tui.x: anew\n")
    assert log.with_suffix(".log.1").stat().st_size == LONGEST_LOG + 1


def test_a_place_that_cannot_be_written_says_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _opened(log)
    log.parent.write_text("a file where a folder should be", "utf-8")
    logging.getLogger("tui.x").warning("lost")
    assert capsys.readouterr() == ("", "")


def test_debugging_adds_a_second_file(log: Path) -> None:
    _opened(log, PONDER_DEBUG="1")
    logging.getLogger("tui.x").debug("with %s", KEY)
    logging.getLogger("httpx").info("HTTP Request: GET https://x/?key=%s", KEY)
    said = log.with_name("debug.log").read_text("utf-8")
    assert said.endswith("DEBUG tui.x: with ***abcd\n")
    assert "HTTP Request" not in said


def test_arguments_that_do_not_fit_are_still_a_record(log: Path) -> None:
    _opened(log)
    logging.getLogger("tui.x").warning("%d and %d", 1)
    assert "WARNING tui.x: %d and %d" in log.read_text("utf-8")
