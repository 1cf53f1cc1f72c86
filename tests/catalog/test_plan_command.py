from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def config_file() -> Path:
    path = Path(os.environ["PONDER_HOME"]) / "config" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))


def test_plan_prints_the_promised_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "claude-opus-4-5/high", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "provider": "anthropic",
        "model": "claude-opus-4-5",
        "wire": "anthropic",
        "asked": "high",
        "nominal": 64_000,
        "sent": 59_904,
        "fields": {"thinking": {"type": "enabled", "budget_tokens": 59_904, "display": "summarized"}},
        "summary": "Thinking: high (64,000 nominal, 59,904 sent)",
        "warnings": [],
    }


def test_plan_prints_the_thinking_pages_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "claude-opus-4-5/high"]) == 0
    shown = "$ ponder plan claude-opus-4-5/high\n" + capsys.readouterr().out
    assert shown in (ROOT / "docs" / "thinking.md").read_text(encoding="utf-8")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["plan", *words, "--json"]) == 0
    parsed: dict[str, object] = json.loads(capsys.readouterr().out)
    return parsed


def test_plan_takes_limits_budgets_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "claude-opus-4-5/high", "--max-output", "20000")["sent"] == 15_904
    assert printed(capsys, "claude-opus-4-5/high", "--max-output", "20k")["sent"] == 15_904
    assert printed(capsys, "claude-opus-4-5/low", "--thinking-budget=50000")["sent"] == 50_000
    assert printed(capsys, "claude-opus-5", "--set", "reasoning.effort=max")["sent"] == "max"
    dynamic = ("--set", "reasoning.dynamicBudget=true", "--context-tokens", "160000")
    assert printed(capsys, "claude-opus-4-5/high", *dynamic)["sent"] == 10_000


def test_without_a_level_the_model_settings_level_counts_else_medium(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "claude-opus-5")["asked"] == "med"
    config_file().write_text('model = "openai/gpt-5.5/high"\n', encoding="utf-8")
    assert printed(capsys, "claude-opus-5")["asked"] == "high"


def test_a_level_that_is_said_goes_before_an_effort_of_the_config_and_is_told_where_it_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config_file().write_text('[reasoning]\neffort = "low"\n', encoding="utf-8")
    said = printed(capsys, "claude-opus-5/high")
    assert (said["asked"], said["sent"], said["warnings"]) == ("high", "high", [])
    assert printed(capsys, "claude-opus-5", "--thinking-budget=high")["sent"] == "high"
    unsaid = printed(capsys, "claude-opus-5")
    assert (unsaid["asked"], unsaid["sent"], unsaid["warnings"]) == ("low", "low", [])
    both = printed(capsys, "claude-opus-5/high", "--set", "reasoning.effort=medium")
    assert both["sent"] == "medium"
    assert both["warnings"] == ["`reasoning.effort` is medium (command line): it takes precedence over the level high"]


def test_the_users_rows_are_read_from_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    config_file().write_text(
        '[providers.mine]\nwire = "openai-chat"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[models."mine/m1"]\nefforts = ["low", "high"]\n',
        encoding="utf-8",
    )
    made = printed(capsys, "mine/m1/low")
    assert (made["provider"], made["wire"], made["fields"]) == ("mine", "openai-chat", {"reasoning_effort": "low"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["claude-opuss-5"], "anthropic/claude-opus-5"),
        (["gpt-oss-120b"], "cerebras/gpt-oss-120b"),
        (["nowhere/nothing"], "There is no model"),
        (["claude-opus-5", "--set", "reasoning.efort=low"], "reasoning.effort"),
        (["claude-opus-5", "--set", "reasoning.effort=lowest"], "low"),
        (["claude-opus-5", "--set", "nonsense"], "KEY=VALUE"),
        (["claude-opus-5", "--thinking-budget", "lots"], "Levels: none, low, med, high"),
    ],
)
def test_wrong_words_end_with_2_and_the_nearest_right_ones(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words, "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert "Traceback" not in shown.err


def test_a_wrong_row_in_the_config_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    config_file().write_text('[models."openai/x"]\nmaxoutput = 1\n', encoding="utf-8")
    assert main(["plan", "openai/x"]) == 2
    assert "max_output" in capsys.readouterr().err


def test_models_lists_what_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "deepseek/deepseek-v4"]) == 0
    lines = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["model", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash"]
    assert main(["models", "openai gpt-5.5-pro", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["model"], listed["thinking"], listed["price"]) == ("gpt-5.5-pro", "medium high xhigh", [30, 180])
    assert main(["models", "nothing-fits"]) == 2


def test_a_plan_loads_nothing_heavy_and_only_the_makers_file() -> None:
    script = (
        "import sys; from tui.cli.main import main; main(['plan', 'openai/gpt-5.5', '--json']);"
        "from tui.catalog.model_rows import model_file;"
        "heavy = {'textual', 'httpx', 'pydantic', 'asyncio', 'sqlite3'} & set(sys.modules);"
        "print(sorted(heavy), model_file.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 1"


def test_importing_the_catalogue_reads_nothing() -> None:
    script = (
        "import sys, tui.catalog.catalog, tui.catalog.plan, tui.catalog.model_spec;"
        "from tui.catalog.model_rows import model_file;"
        "from tui.catalog.provider_rows import packaged_provider_rows as p;"
        "print(model_file.cache_info().currsize + p.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
