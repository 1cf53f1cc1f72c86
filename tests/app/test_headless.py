"""``ponder -p`` from the command line to the exit code, with the embedded demo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.conftest import Run
from tests.app.stage import FAST, config


def test_the_answer_goes_to_stdout_and_nothing_else(ponder: Run) -> None:
    code, out, err = ponder("-p", "Hello", "-m", FAST)
    assert (code, err) == (0, "")
    assert len(out.strip()) > 20


def test_thinking_goes_to_stderr_when_asked_for(ponder: Run) -> None:
    code, out, err = ponder("-p", "Why is the sky blue?", "-m", FAST, "--show-thinking")
    assert code == 0
    assert len(err.strip()) > 10
    assert err.strip() not in out


def test_one_json_object_at_the_end(ponder: Run) -> None:
    code, out, _ = ponder("-p", "Why?", "-m", FAST, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["answer"].strip()
    assert said["usage"]["output"] > 0


def test_every_event_as_a_json_line(ponder: Run) -> None:
    code, out, _ = ponder("-p", "Why?", "-m", FAST, "--jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert "request" in [row["type"] for row in rows]


def test_thinking_that_shall_not_be_shown_is_in_no_json_unless_asked_for(ponder: Run) -> None:
    hidden = ("-p", "Why?", "-m", FAST, "--set", "reasoning.includeInResponse=false")
    rows = [json.loads(line) for line in ponder(*hidden, "--jsonl")[1].splitlines()]
    assert "thinking" not in {row["type"] for row in rows}
    assert (rows[-1]["thinking"], bool(rows[-1]["answer"])) == ("", True)
    assert json.loads(ponder(*hidden, "--json")[1])["thinking"] == ""
    assert json.loads(ponder(*hidden, "--json", "--show-thinking")[1])["thinking"] != ""


def test_stdin_and_files_come_before_the_question(ponder: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("the notes")
    code, out, _ = ponder("-p", "Hello", "-m", FAST, "--attach", str(tmp_path / "notes.md"), stdin="from a pipe")
    assert code == 0
    assert out.strip()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("-p", "error 401", "-m", FAST), 1, "invalid x-api-key"),
        (("-p", "error 400", "-m", FAST), 1, "wrong"),
        (("-p", "x", "-m", "no-such-model-anywhere"), 2, "no-such-model-anywhere"),
        (("-p", "x", "-m", FAST, "--set", "reasoning.strip=all"), 2, "reasoning.stripFromContext"),
        (("-p", "x", "-m", FAST, "--set", "nothing"), 2, "KEY=VALUE"),
        (("-p", "x", "-m", FAST, "--profile", "kimmi"), 2, "kimi"),
        (("-p", "x", "-m", FAST, "--attach", "missing.txt"), 2, "is not a file"),
        (("-p", "x", "-m", "openai/gpt-5.6-sol/low"), 3, "OPENAI_API_KEY"),
    ],
)
def test_what_goes_wrong_has_its_exit_code_and_a_sentence(ponder: Run, arguments, code, told) -> None:
    got, out, err = ponder(*arguments)
    assert (got, out) == (code, "")
    assert told in err


def test_settings_of_the_command_line_reach_the_request(ponder: Run) -> None:
    code, out, _ = ponder("-p", "Why?", "-m", "demo/fast/high", "--set", "reasoning.enabled=false", "--jsonl")
    [request] = [row for row in map(json.loads, out.splitlines()) if row["type"] == "request"]
    assert code == 0
    assert "off" in request["plan"].lower()


def test_a_broken_config_is_told_and_does_not_stop_the_answer(ponder: Run, tmp_path: Path) -> None:
    config(tmp_path, "[context]\nkeepTurn = 3\n")
    before = (tmp_path / "config" / "config.toml").read_bytes()
    code, out, err = ponder("-p", "Hello", "-m", FAST)
    assert code == 0
    assert out.strip()
    assert "line 2" in err
    assert "context.keepTurns" in err
    assert (tmp_path / "config" / "config.toml").read_bytes() == before


def test_a_folder_that_cannot_be_written_does_not_stop_the_answer(ponder: Run, tmp_path: Path, monkeypatch) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    monkeypatch.setenv("PONDER_HOME", str(blocked))
    code, out, err = ponder("-p", "Hello", "-m", FAST)
    assert (code, bool(out.strip()), "NOT SAVED" in err) == (1, True, True)
