"""A number and its noun agree: "1 turn", "2 turns". One function puts them together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of
from tui.domain.format_numbers import count, noun

ROOT = Path(__file__).resolve().parents[2]
NOUNS = (
    "attempts|bytes|calls|characters|commands|days|endings|entries|events|files|hits"
    "|hosts|hours|images|items|keys|lines|lists|matches|messages|minutes|models|"
    "options|pages|parts|pictures|places|prompts|providers|questions|requests|results|"
    "retries|rows|seconds|servers|sessions|settings|steps|summaries|themes|times|"
    "tokens|tools|turns|words"
)
PLURAL = re.compile(rf"^ (?:(?!for)[a-z]+ )?(?:{NOUNS})\b")


def by_hand(source: str) -> Iterator[int]:
    """Lines with a number beside a plural noun. Constants are exempt: it is known that they are more than one."""
    for node in nodes_of(source):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(after, ast.Constant)
                and PLURAL.match(str(after.value))
                and not any(isinstance(part, ast.Name) and part.id.isupper() for part in ast.walk(value.value))
            ):
                yield value.lineno


@pytest.mark.parametrize("line", ['f"{n} turns"', 'f"{len(rows):,} more events of {x}"', 'f"a {n:,} stored sessions"'])
def test_a_count_by_hand_is_found(line: str) -> None:
    assert list(by_hand(line)) == [1]


@pytest.mark.long
def test_numbers_and_nouns_are_put_together_by_one_function() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tui").rglob("*.py"))
        for line in by_hand(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_counts_in_words() -> None:
    assert [count(number, "turn") for number in (0, 1, 2, 1204)] == ["0 turns", "1 turn", "2 turns", "1,204 turns"]
    assert [count(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]
    assert [noun(number, "token") for number in (1, 1000)] == ["token", "tokens"]
