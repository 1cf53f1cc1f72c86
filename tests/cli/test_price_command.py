"""``ponder price``: the cost of a request and the prices it is made of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prefork
from tests.patience import PATIENCE_S


def price(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "tui", "price", *arguments]
    return prefork.run(words, text=True, timeout=PATIENCE_S, env=prefork.surroundings(PONDER_HOME=str(home)))


def test_the_cost_of_a_cached_request_line_by_line(tmp_path: Path) -> None:
    asked = ("openai/gpt-6.1-sol/high", "--input", "200k", "--cache-read", "190k", "--output", "1k", "--json")
    done = price(tmp_path, *asked, "--at", "2026-11-19")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "model": "openai/gpt-6.1-sol",
        "usd": 0.049,
        "lines": [
            {"what": "input", "tokens": 10_000, "per_million": 2, "usd": 0.02},
            {"what": "cache read", "tokens": 190_000, "per_million": 0.1, "usd": 0.019},
            {"what": "output", "tokens": 1_000, "per_million": 10, "usd": 0.01},
        ],
        "table_date": "2026-11-19",
        "notes": ["Requests with more than 272,000 input tokens have a higher price."],
    }


@pytest.mark.parametrize(("ttl", "line"), [("5m", ("cache write", 6.25)), ("1h", ("cache write 1h", 10))])
def test_writes_cost_by_how_long_they_are_kept(tmp_path: Path, ttl: str, line: tuple[str, float]) -> None:
    done = price(tmp_path, "claude-opus-5", "--cache-write", "1M", "--ttl", ttl, "--json")
    (written,) = json.loads(done.stdout)["lines"]
    assert (written["what"], written["usd"]) == line


def test_the_price_of_a_date_to_come(tmp_path: Path) -> None:
    now, then = (
        json.loads(price(tmp_path, "gemini-4-argon", "--input", "1M", "--at", day, "--json").stdout)
        for day in ("2026-11-30", "2026-12-01T00:00:00+00:00")
    )
    assert then["usd"] == 2 * now["usd"]
    assert now["notes"] == ["The price changes on 2026-12-01."]
    assert then["notes"] == []


def test_an_unknown_price_is_null(tmp_path: Path) -> None:
    done = price(tmp_path, "ollama/qwen3", "--input", "5", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["usd"], found["lines"]) == (0, None, [])
    assert found["notes"] == [
        'The price of this model is unknown. Set it in config.toml, in [models."provider/model"].'
    ]


def test_without_counts_the_prices_are_shown(tmp_path: Path) -> None:
    done = price(tmp_path, "claude-opus-5")
    assert done.stdout.splitlines()[:6] == [
        "anthropic/claude-opus-5",
        "  input           $5 per million tokens",
        "  cache read      $0.5 per million tokens",
        "  cache write     $6.25 per million tokens",
        "  cache write 1h  $10 per million tokens",
        "  output          $25 per million tokens",
    ]


def test_the_users_own_price_wins(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        '[models."ollama/qwen3"]\nprice = { input = 1, output = 2, cache_read = 0.1, cache_write_1h = 3 }\n'
    )
    asked = ("ollama/qwen3", "--input", "3M", "--cache-read", "1M", "--cache-write", "1M", "--ttl", "1h", "--json")
    assert json.loads(price(tmp_path, *asked).stdout)["usd"] == pytest.approx(1 + 0.1 + 3)


def test_a_table_that_is_old_says_so(tmp_path: Path) -> None:
    done = price(tmp_path, "claude-opus-5", "--input", "1", "--at", "2027-06-01", "--json")
    assert json.loads(done.stdout)["notes"] == [
        "The price table is 194 days old. A newer version of ponder may have newer prices."
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("claude-opus-5", "--input", "5", "--cache-read", "9"), "which includes them"),
        (("claude-opus-5", "--at", "soon"), "is not a date"),
        (("claude-opus-5", "--input", "many"), "is not a number of tokens"),
        (("no/such", "--input", "5"), "There is no model"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = price(tmp_path, *arguments)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("model", "searches", "usd"),
    [("claude-opus-5", (3, 10_000), 0.08), ("google/gemini-2.5-pro", (1, 35_000), 0.0475)],
)
def test_web_searches_are_a_line_of_their_own(
    tmp_path: Path, model: str, searches: tuple[int, float], usd: float
) -> None:
    asked = ("--input", "10k", "--searches", "3", "--at", "2026-11-19", "--json")
    found = json.loads(price(tmp_path, model, *asked).stdout)
    line = found["lines"][-1]
    assert (line["what"], line["tokens"], line["per_million"]) == ("web searches", *searches)
    assert found["usd"] == pytest.approx(usd)


def test_the_prices_of_a_model_include_its_search(tmp_path: Path) -> None:
    listed = price(tmp_path, "openai/gpt-6.1-sol").stdout
    assert "  web searches    $10 per thousand searches\n" in listed
    assert "web searches" not in price(tmp_path, "deepseek/deepseek-v4-pro").stdout


def test_searches_without_a_known_price_make_the_cost_unknown(tmp_path: Path) -> None:
    found = json.loads(price(tmp_path, "deepseek/deepseek-v4-pro", "--input", "1k", "--searches", "1", "--json").stdout)
    assert (found["usd"], found["lines"]) == (None, [])
