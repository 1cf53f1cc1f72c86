"""``ponder context`` from the outside: the meter and the verdicts of a conversation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.store.stage import a_turn, open_stage
from tui.cli.main import main
from tui.domain.compression import CompressionView

ANSWER = {
    "type": "message", "role": "assistant", "model": "claude-opus-5", "id": "msg_1",
    "content": [
        {"type": "thinking", "thinking": "Look first. " * 40, "signature": "sig=="},
        {"type": "text", "text": "Looking."},
    ],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1000, "output_tokens": 200, "output_tokens_details": {"thinking_tokens": 150}},
}  # fmt: skip
HERE = "anthropic/claude-opus-5/high"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def conversation(tmp_path: Path, home: Path) -> str:
    (tmp_path / "answer.json").write_text(json.dumps(ANSWER))
    response = {"wire": "anthropic", "provider": "anthropic", "model": "claude-opus-5", "file": "answer.json"}
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps({"system": "Be brief.", "turns": [{"user": "Hello"}, {"response": response}]}))
    return str(file)


def weighed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["context", "--json", *arguments])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    report: dict[str, Any] = json.loads(printed.out)
    return report


def test_an_empty_conversation_weighs_its_system_prompt_and_draft(home: Path, capsys) -> None:
    said = weighed(capsys, "-m", HERE, "--set", "generation.system=Be brief.", "--draft", "How are you today?")
    parts = said["parts"]
    assert (said["model"], said["certainty"], said["blocks"]) == (HERE, "estimated", [])
    assert {name for name, count in parts.items() if count} == {"system", "tools", "draft", "reserved for output"}
    assert said["effective"] == said["raw"] == parts["system"] + parts["tools"] + parts["draft"]
    assert said["trigger"] == int((said["limit"] - said["reserved"]) * 0.85)
    assert said["cost"] == {"dollars": None, "thinking_dollars": None, "complete": True, "models": []}


def test_every_block_has_a_verdict_with_its_reason(conversation: str, capsys) -> None:
    kept = weighed(capsys, "--file", conversation, "-m", HERE)
    assert [(block["kind"], block["sent"], block["reason"]) for block in kept["blocks"]] == [
        ("text", True, "sent"),
        ("thinking", True, "sent"),
        ("text", True, "sent"),
    ]
    stripped = weighed(capsys, "--file", conversation, "-m", HERE, "--set", "reasoning.stripFromContext=all")
    assert stripped["blocks"][1]["reason"] == "not sent: your settings"
    assert stripped["effective"] < kept["effective"]
    assert stripped["raw"] > stripped["effective"]
    assert stripped["parts"]["thinking stripped"] > 0 == stripped["parts"]["thinking sent"]


def test_another_model_gets_another_verdict(conversation: str, capsys) -> None:
    there = weighed(capsys, "--file", conversation, "-m", "deepseek/deepseek-v4-pro/high")
    assert there["blocks"][1]["reason"] == "not sent: signed for another provider or model"
    assert there["wire"] == "openai-chat"


def test_the_last_reported_count_anchors_the_meter_of_a_conversation(conversation: str, tmp_path: Path, capsys) -> None:
    def effective(reported: int) -> int:
        usage = {"input_tokens": reported, "output_tokens": 200}
        (tmp_path / "answer.json").write_text(json.dumps({**ANSWER, "usage": usage}))
        return int(weighed(capsys, "--file", conversation, "-m", HERE)["effective"])

    assert effective(20) - effective(14) == 6
    plain = effective(10_000)
    assert plain == effective(20_000), "counts that cannot be of this request are not believed"


def test_what_it_cost_has_thinking_as_its_own_line(conversation: str, capsys) -> None:
    [row] = weighed(capsys, "--file", conversation, "-m", HERE)["cost"]["models"]
    assert (row["name"], row["input"], row["output"], row["thinking"]) == ("anthropic/claude-opus-5", 1000, 200, 150)
    assert 0 < row["thinking_dollars"] < row["dollars"]


async def test_a_stored_session_is_weighed_as_it_was_left_and_not_touched(home: Path, capsys) -> None:
    stage = open_stage(home)
    await stage.keep("s1", *(a_turn(number) for number in range(5)))
    await stage.journal.compressed(
        "s1", CompressionView(summary="They asked why.", compressed_turns=frozenset({"t0", "t1"}))
    )
    stage.database.close()
    before = (home / "data" / "sessions.db").stat().st_mtime_ns
    said = await asyncio.to_thread(weighed, capsys, "--session", "s1", "-m", HERE)
    assert said["session"] == "s1"
    assert [block["reason"] for block in said["blocks"][:3]] == ["not sent: replaced by a summary"] * 3
    assert said["messages"] == 8
    assert (home / "data" / "sessions.db").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--session", "none"), "There is no session `none`"),
        (("-m", "no-such-model-anywhere"), "no-such-model-anywhere"),
        (("--set", "reasoning.strip=all"), "There is no setting `reasoning.strip`"),
        (("--file", "missing.json"), "cannot be read"),
    ],
)
def test_what_cannot_be_weighed_is_said_with_exit_code_2(home: Path, capsys, arguments, told) -> None:
    assert main(["context", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_for_people_it_is_a_table(conversation: str, capsys) -> None:
    arguments = ["--file", conversation, "-m", HERE, "--set", "reasoning.stripFromContext=all"]
    assert main(["context", *arguments]) == 0
    text = capsys.readouterr().out
    assert "tokens of 1,000,000 would be sent (estimated)" in text
    assert "not sent     1 thinking" in text
    assert "  your settings" in text
    assert "thinking  150 tokens" in text


def test_the_marks_for_the_prompt_cache_are_those_of_the_screen(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = weighed(capsys, "-m", HERE, "--set", "generation.system=Be brief.")
    assert said["cache"] == {"ttl": "1h", "breakpoints": ["tools", "system"]}
    assert weighed(capsys, "-m", HERE, "--set", "cache.ttl=off")["cache"] is None
