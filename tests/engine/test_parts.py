"""Small parts: names that mean the same model, circles, prices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.catalog.name_matching import is_same_model
from tui.engine.attempt import RepetitionDetector


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("gpt-5", "gpt-5-2025-08-07", True),
        ("anthropic/claude-opus-5", "claude-opus-5", True),
        ("qwen3:latest", "qwen3", True),
        ("qwen3", "qwen3.gguf", True),
        ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1", True),
        ("models/gemini-2.5-pro", "gemini-2.5-pro", True),
        ("gpt-5", "gpt-5-mini", False),
        ("claude-opus-5", "claude-sonnet-5", False),
        ("qwen3:8b", "qwen3:30b", False),
    ],
)
def test_a_date_or_a_vendor_does_not_make_another_model(asked: str, answered: str, same: bool) -> None:
    assert is_same_model(asked, answered) is same


def test_an_alias_of_the_catalogue_is_the_same_model() -> None:
    assert is_same_model("latest", "m-1", aliases=("m-1",))


@given(st.text(min_size=30, max_size=200), st.integers(20, 40))
def test_words_that_come_again_and_again_are_noticed_once(sentence: str, times: int) -> None:
    detector = RepetitionDetector()
    assert sum(detector.repeats(sentence) for _ in range(times * 3)) == 1


def test_ordinary_prose_is_not_noticed() -> None:
    detector = RepetitionDetector()
    prose = "".join(f"Sentence number {n} says something about {n * n}. " for n in range(400))
    assert not any(detector.repeats(prose[at : at + 7]) for at in range(0, len(prose), 7))


def test_white_space_without_end_is_noticed() -> None:
    detector = RepetitionDetector()
    assert any(detector.repeats(" ") for _ in range(1_000))
