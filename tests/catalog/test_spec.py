from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.catalog.asking import CATALOG
from tui.catalog.facts import Lifecycle
from tui.catalog.model_spec import parse_asked, parse_spec, require_asked, split_asked
from tui.domain.errors import UnknownModel, UsageError
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel

PROVIDERS = sorted(CATALOG.providers())
SEGMENTS = st.text("abcdefghijklmnopqrstuvwxyz0123456789.:-", min_size=1, max_size=12).filter(
    lambda segment: parse_asked(segment) is None
)
MODELS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
ASKED = st.none() | st.sampled_from(ThinkingLevel) | st.integers(1, 10_000_000)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("claude-sonnet-4-5/med", ("anthropic", "claude-sonnet-4-5", ThinkingLevel.MED)),
        ("claude-sonnet-4-5/MEDIUM", ("anthropic", "claude-sonnet-4-5", ThinkingLevel.MED)),
        ("claude-sonnet-4-5-20250929", ("anthropic", "claude-sonnet-4-5-20250929", None)),
        ("openrouter/anthropic/claude-opus-5/high", ("openrouter", "anthropic/claude-opus-5", ThinkingLevel.HIGH)),
        ("gemini-2.5-pro/16k", ("google", "gemini-2.5-pro", 16_000)),
        ("gemini-2.5-pro/16K", ("google", "gemini-2.5-pro", 16_000)),
        ("gemini-2.5-pro/16000", ("google", "gemini-2.5-pro", 16_000)),
        ("gemini-2.5-pro/16,000", ("google", "gemini-2.5-pro", 16_000)),
        ("gemini-2.5-pro/1.5k", ("google", "gemini-2.5-pro", 1_500)),
        ("gemini-2.5-pro/1m", ("google", "gemini-2.5-pro", 1_000_000)),
        ("gemini-2.5-pro/0", ("google", "gemini-2.5-pro", ThinkingLevel.NONE)),
        ("OpenAI/gpt-5.5", ("openai", "gpt-5.5", None)),
        ("openai/gpt-77", ("openai", "gpt-77", None)),
        ("groq/openai/gpt-oss-120b/low", ("groq", "openai/gpt-oss-120b", ThinkingLevel.LOW)),
        ("llama.cpp/whatever", ("llama.cpp", "whatever", None)),
        ("qwen3:8b", ("ollama", "qwen3:8b", None)),
        ("kimi-k3.1-pro", ("moonshot", "kimi-k3.1-pro", None)),
        ("demo", ("demo", "demo", None)),
        ("qwen3.8-27b", ("groq", "qwen/qwen3.8-27b", None)),
    ],
)
def test_names_are_read(text: str, spec: tuple[str, str, Asked | None]) -> None:
    provider, model, asked = spec
    assert parse_spec(text, CATALOG) == ModelSpec(provider=provider, model=model, asked=asked)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("claude-sonet-4-5", "anthropic/claude-sonnet-4-5"),
        ("gpt-5.55", "openai/gpt-5.5"),
        ("gpt-oss-120b", "cerebras/gpt-oss-120b"),
        ("anthropc/claude-opus-5", "anthropic/claude-opus-5"),
        ("gemini-2.5-prof/high", "google/gemini-2.5-pro"),
        ("kimi-k2.7", "moonshot/kimi-k2.7-code"),
        ("qwen3.8", "alibaba/qwen3.8-max"),
        ("opus/high", "anthropic/claude-opus-5"),
        ("Sonnet", "anthropic/claude-sonnet-5"),
    ],
)
def test_a_name_that_fits_nothing_or_several_gets_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        parse_spec(text, CATALOG)
    assert nearest in caught.value.nearest


@pytest.mark.parametrize("word", ["claude", "opus", "gpt", "gemini", "kimi", "qwen"])
def test_a_word_of_many_names_gets_models_that_are_there_still_and_the_one_to_begin_with_first(word: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        parse_spec(word, CATALOG)
    found = [parse_spec(name, CATALOG) for name in caught.value.nearest]
    assert [CATALOG.find(spec.provider, spec.model).lifecycle for spec in found] == [Lifecycle.CURRENT] * 3
    assert all(word in spec.model for spec in found)
    start = CATALOG.provider(found[0].provider).start
    assert start in ("", found[0].model)


def test_the_demo_is_never_meant_by_the_name_of_something_else() -> None:
    for word in ("gemini", "chat", "fast", "responses"):
        with pytest.raises(UnknownModel):
            parse_spec(word, CATALOG)


def test_where_nothing_is_alike_it_is_said_how_to_see_them_all() -> None:
    with pytest.raises(UnknownModel) as caught:
        parse_spec("llama-3", CATALOG)
    assert (caught.value.nearest, caught.value.advice[:15]) == ((), "`ponder models`")


def test_an_effort_behind_a_model_that_has_it_is_said_to_be_one() -> None:
    for name, advice in [
        ("claude-opus-5/xhigh", "`/set reasoning.effort xhigh`"),
        ("openrouter/anthropic/claude-opus-5/max", "`--set reasoning.effort=max`"),
        ("kimi-k2.6/xhigh", "Did you mean kimi-k2.6/med"),
    ]:
        with pytest.raises(UnknownModel) as caught:
            parse_spec(name, CATALOG)
        assert advice in caught.value.advice


@pytest.mark.parametrize(
    "text", ["", "/", "//", "anthropic", "anthropic/", "high", "anthropic//high", " ", "x" * 5_000]
)
def test_what_is_no_name_is_an_unknown_model(text: str) -> None:
    with pytest.raises(UnknownModel):
        parse_spec(text, CATALOG)


@pytest.mark.parametrize(
    "text",
    [
        "claude-sonnet-4-5/xhigh",
        "anthropic/claude-sonnet-4-5/-1",
        "claude-sonnet-4-5/1e3",
        "openrouter/anthropic/claude-opus-5/hgih",
        "groq/openai/gpt-oss-120b/hi",
        "claude-sonnet-4-5/",
    ],
)
def test_what_stands_behind_a_model_and_is_no_level_is_said(text: str) -> None:
    model, _, word = text.rpartition("/")
    with pytest.raises(UnknownModel) as caught:
        parse_spec(text, CATALOG)
    assert caught.value.message == f"`{word}` behind `{model}` is neither a level nor a budget."


@pytest.mark.parametrize(
    ("text", "model", "asked"),
    [
        ("gate/maker/high", "maker/high", None),
        ("gate/maker/high/low", "maker/high", ThinkingLevel.LOW),
        ("gate/maker/low", "maker", ThinkingLevel.LOW),
        ("gate/16k", "16k", None),
        ("gate/16k/16k", "16k", 16_000),
    ],
)
def test_a_listed_name_that_ends_like_a_level_is_that_model(text: str, model: str, asked: Asked | None) -> None:
    own = {"gate": {"wire": "openai-chat", "base_url": "http://gate.example"}}
    rows: dict[str, dict[str, object]] = {f"gate/{id_}": {} for id_ in ("maker", "maker/high", "16k")}
    spec = parse_spec(text, CATALOG.with_overrides({"providers": own, "models": rows}))
    assert spec == ModelSpec(provider="gate", model=model, asked=asked)


def test_on_a_server_of_ones_own_a_name_may_hold_anything() -> None:
    named = ModelSpec(provider="ollama", model="qwen3/mine:7b", asked=ThinkingLevel.LOW)
    assert parse_spec("ollama/qwen3/mine:7b/low", CATALOG) == named


def test_the_users_own_models_are_found_by_their_bare_name() -> None:
    catalog = CATALOG.with_layer("discovery", {"ollama": {"my-tune:7b": {"thinks": True}}})
    assert parse_spec("my-tune:7b/low", catalog) == ModelSpec(
        provider="ollama", model="my-tune:7b", asked=ThinkingLevel.LOW
    )


def test_the_maker_goes_before_whoever_else_lists_its_model() -> None:
    catalog = CATALOG.with_layer("discovery", {"litellm-proxy": {"claude-opus-5": {"max_output": 9}}})
    assert parse_spec("claude-opus-5", catalog).provider == "anthropic"


@given(provider=st.sampled_from(PROVIDERS), model=MODELS, asked=ASKED)
def test_a_spec_reads_back_as_it_was_written(provider: str, model: str, asked: Asked | None) -> None:
    spec = ModelSpec(provider=provider, model=CATALOG.find(provider, model).id, asked=asked)
    assume(CATALOG.find(provider, model).known or not CATALOG.provider(provider).complete)
    assert parse_spec(str(spec), CATALOG) == spec


def test_where_all_models_are_listed_another_name_is_a_mistake() -> None:
    assert parse_spec("demo/fast", CATALOG) == ModelSpec(provider="demo", model="fast")
    with pytest.raises(UnknownModel, match="There is no model `demo/fats`") as caught:
        parse_spec("demo/fats/high", CATALOG)
    assert caught.value.nearest[0] == "demo/fast"
    with pytest.raises(UnknownModel) as caught:
        parse_spec("demo/xyzzy", CATALOG)
    assert caught.value.nearest == ("demo/demo", "demo/fast", "demo/responses")
    # Elsewhere a model may be newer than the catalogue.
    assert parse_spec("openai/gpt-99-fats", CATALOG).model == "gpt-99-fats"


@given(text=st.text(max_size=40))
def test_no_text_is_more_than_unknown(text: str) -> None:
    name, asked = split_asked(text)
    assert asked is None or text.strip().startswith(name + "/")
    with contextlib.suppress(UnknownModel):
        parse_spec(text, CATALOG)


def test_what_is_neither_level_nor_budget_is_said() -> None:
    assert [parse_asked(text) for text in ("", "k", "-5", "1.5", "1,5k", "١٦", "high!", "999999999999")] == [None] * 8
    with pytest.raises(UsageError):
        require_asked("much")
