"""What is wrong in config.toml costs itself alone: every command goes on with the rest, and tells all of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tui.cli.completions import words
from tui.cli.main import main

CONFIG = """\
[context]
keepTurn = 3

[providers.broken]
wire = "openai-chat"

[providers.mine]
wire = "openai-chat"
base_url = "http://127.0.0.1:9/v1"
key_env = ["MINE_KEY"]

[models."mine/m1"]
context_window = 100000

[models."mine/m2"]
efforts = ["low", "high"]

[models."mine/bad"]
maxoutput = 1
"""
TOLD = [
    "ponder: `config.toml`, line 2, column 1: There is no setting `context.keepTurn`.",
    "ponder: `config.toml`, line 4, column 2: `providers.broken` needs `base_url`",
    "ponder: `config.toml`, line 19, column 1: `models.mine/bad` has no key `maxoutput`",
]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(CONFIG, encoding="utf-8")


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, list[str]]:
    """Exit code, stdout, and what was said about the file."""
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, [line for line in printed.err.splitlines() if "config.toml" in line]


def test_plan_and_models_go_on_and_tell_every_wrong_row_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, told = ran(capsys, "plan", "mine/m2/low", "--json")
    assert (code, json.loads(out)["sent"], told) == (0, "low", TOLD)
    code, out, told = ran(capsys, "models", "mine")
    assert (code, [line.split()[0] for line in out.splitlines()[1:]], told) == (0, ["mine/m1", "mine/m2"], TOLD)


def test_keys_can_be_kept_and_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", "sk-0123456789abcdef0123456789abcdef")
    code, out, told = ran(capsys, "auth", "list")
    assert (code, out.split()[0], told) == (0, "mine", TOLD[1:])


def test_encode_goes_on_and_the_doctor_tells_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"turns": [{"user": "Hello"}]}')
    code, out, told = ran(capsys, "wire", "encode", "--model", "mine/m2/high", str(file))
    assert (code, json.loads(out)["body"]["reasoning_effort"], told) == (0, "high", TOLD)
    code, out, _ = ran(capsys, "doctor")
    assert code == 0
    assert all(line.removeprefix("ponder: ") in out for line in TOLD)


@pytest.mark.parametrize("said", [("plan", "mine/bad/low"), ("plan", "broken/x")])
def test_what_a_wrong_row_was_about_has_no_plan(capsys: pytest.CaptureFixture[str], said: tuple[str, ...]) -> None:
    code, out, told = ran(capsys, *said)
    assert (code, out, set(TOLD) <= set(told)) == (2, "", True)


def test_a_row_that_says_only_a_window_is_left_to_the_server_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert "server default" in ran(capsys, "models", "mine/m1")[1]
    assert "server default" in ran(capsys, "plan", "mine/m1")[1]


def test_a_provider_without_known_models_is_told_how_to_list_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "vllm"]) == 2
    said = capsys.readouterr().err
    assert "ponder models --refresh vllm" in said
    assert "Did you mean vllm" not in said


def test_models_takes_words_and_names_a_provider_that_is_nearly_one(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ran(capsys, "models", "opus", "anthropic/", "5")
    assert out.splitlines()[1].startswith("anthropic/claude-opus-5")
    assert main(["models", "--refresh", "antropic"]) == 2
    assert "Did you mean anthropic" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_a_credentials_file_that_others_can_read_is_one_problem(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "config" / "credentials.toml"
    file.write_text("")
    file.chmod(0o644)
    assert main(["auth", "list"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err.count("credentials.toml")) == ("", 1)
    assert ran(capsys, "doctor")[1].count("credentials.toml") == 1


def test_the_doctor_speaks_the_language_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    out = ran(capsys, "doctor")[1]
    assert "no key: ponder auth set openai" in out
    assert "/key" not in out
    lines = {line.partition(": ")[0]: line for line in out.splitlines()}
    assert "DeepSeek" in lines["- no key"]
    assert {"Ollama", "LM Studio"} <= set(lines["- not running"].partition(": ")[2].split(", "))


def test_numbers_in_files_are_read_as_those_that_are_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.toml"
    config.write_text('[generation]\nmaxOutput = "20k"\n[context]\nlimit = "1.5m"\ncompressAt = "0.5"\n')
    code, out, told = ran(capsys, "plan", "claude-opus-4-5/high", "--json")
    assert (code, json.loads(out)["sent"], told) == (0, 15_904, [])
    config.write_text("[context]\nlimit = 0\n")
    assert "out of range" in ran(capsys, "plan", "claude-opus-5")[2][0]


def test_sessions_can_be_completed_once_there_are_some(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words("sessions", "") == []
    assert not (tmp_path / "data").exists()
    monkeypatch.setattr(sys, "stdin", None)
    main(["-p", "error 401", "-m", "demo/fast", "--json"])
    session = json.loads(capsys.readouterr().out)["session"]
    assert words("sessions", session[:3]) == [session]
