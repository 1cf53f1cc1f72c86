"""Words become values, or a sentence that says what would be right."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain.errors import ConfigError
from tui.settings.schema import find_key, keys, parse


@pytest.mark.parametrize(
    ("key", "words", "value"),
    [
        ("reasoning.enabled", "false", False),
        ("reasoning.enabled", "off", False),
        ("REASONING.includeincontext", "TRUE", "true"),
        ("reasoning.includeInContext", "auto", "auto"),
        ("reasoning.includeInResponse", "no", False),
        ("reasoning.effort", "xhigh", "xhigh"),
        ("reasoning.effort", "none", "none"),
        ("reasoning.maxTokens", "16k", 16_000),
        ("reasoning.maxTokens", "16,384", 16_384),
        ("reasoning.maxTokens", "none", None),
        ("reasoning.stripFromContext", "allbutlast", "allButLast"),
        ("context.limit", "1M", 1_000_000),
        ("context.limit", "1.5m", 1_500_000),
        ("context.compressAt", "0.5", 0.5),
        ("tools.timeout", "30", 30.0),
        ("generation.system", "16k is my name", "16k is my name"),
        ("favourites", "openai/gpt-6-sol, google/gemini-3.8-flash", ("openai/gpt-6-sol", "google/gemini-3.8-flash")),
    ],
)
def test_words_become_values(key: str, words: str, value: object) -> None:
    assert parse(key, words) == (find_key(key).name, value)


@pytest.mark.parametrize(
    ("key", "words", "message", "advice"),
    [
        (
            "reasoning.stripContext",
            "all",
            "There is no setting `reasoning.stripContext`.",
            "Did you mean reasoning.stripFromContext, reasoning.includeInContext, reasoning.format?",
        ),
        (
            "reasoning.stripFromContext",
            "allButOne",
            '`reasoning.stripFromContext` takes one of none, allButLast, all; "allButOne" is not that.',
            "Did you mean allButLast, all?",
        ),
        (
            "context.compressAt",
            "7",
            "`context.compressAt` takes a number; 7 is out of range (less than or equal to 1).",
            "",
        ),
        (
            "reasoning.maxTokens",
            "lots",
            '`reasoning.maxTokens` takes a whole number (16000 or 16k); "lots" is not that.',
            "",
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(key: str, words: str, message: str, advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(key, words)
    assert (caught.value.message, caught.value.advice) == (message, advice)


@given(st.sampled_from(sorted(keys())), st.text(max_size=30))
def test_any_words_for_any_key_are_a_value_or_our_own_error(key: str, words: str) -> None:
    with contextlib.suppress(ConfigError):
        assert parse(key, words)[0] == key


def test_every_setting_has_help_and_a_kind() -> None:
    assert [key.name for key in keys().values() if not key.help or not key.kind] == []
