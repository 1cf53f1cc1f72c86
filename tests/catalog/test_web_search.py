"""Which models search the web at their providers, what is sent for it, and what it costs to the cent."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import WORDS, Target
from tui.catalog.model_spec import parse_spec
from tui.catalog.web_search import SearchMethod, search_fee, search_method, search_method_names, search_methods
from tui.context.calibration import Calibration
from tui.domain.messages import WireName
from tui.domain.request import ToolSchema
from tui.domain.usage import Usage
from tui.engine.offered_tools import offered_tools
from tui.engine.planner import Planner
from tui.engine.token_meter import TokenMeter

CATALOG = packaged_catalog()
READ = (ToolSchema(name="read_file", description="Reads.", parameters={"type": "object"}),)


def target(name: str) -> Target:
    return Planner(CATALOG, TokenMeter(Calibration())).target(parse_spec(name, CATALOG))


def method(name: str) -> SearchMethod | None:
    at = target(name)
    return search_method(at.provider, at.facts)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("anthropic/claude-opus-5-5", "claude"),
        ("anthropic/claude-sonnet-4-6", "claude"),
        ("anthropic/claude-some-day", "claude"),
        ("anthropic/claude-opus-4-5", "claude-basic"),
        ("anthropic/claude-haiku-4-5", "claude-basic"),
        ("openai/gpt-6.1-sol", "gpt"),
        ("openai/gpt-5.4-mini", "gpt"),
        ("openai/o3", "gpt"),
        ("xai/grok-4.7", "grok"),
        ("google/gemini-3.8-flash", "gemini"),
        ("google/gemini-2.5-flash-lite", "gemini-2"),
        ("openrouter/anthropic/claude-opus-5.5", "openrouter"),
        ("openrouter/deepseek/deepseek-v4-pro", "openrouter"),
        ("deepseek/deepseek-v4-pro", None),
        ("ollama/qwen3:8b", None),
        ("demo/demo", None),
    ],
)
def test_a_model_searches_as_its_provider_offers_it(model: str, name: str | None) -> None:
    found = method(model)

    assert (found.name if found is not None else None) == name


def test_every_way_is_read_and_can_be_named_by_a_quirk() -> None:
    assert set(WORDS["web_search"]) == {"", *search_method_names()}
    assert {found.wire for found in search_methods().values()} == {
        WireName.ANTHROPIC,
        WireName.OPENAI_RESPONSES,
        WireName.GEMINI,
        WireName.OPENAI_CHAT,
    }


def offered(model: str) -> tuple[list[Mapping[str, object]], list[Mapping[str, object]], int, tuple[str, ...]]:
    found = offered_tools(target(model), READ, web_search=True)
    items = [tool.item for tool in found.server_tools]
    return items, [tool.fields for tool in found.server_tools], len(found.functions), found.warnings


def test_each_maker_gets_its_own_definition() -> None:
    claude = {"type": "web_search_20260209", "name": "web_search", "allowed_callers": ["direct"]}
    sources = {"include": ["web_search_call.action.sources"]}
    beside = {"toolConfig": {"includeServerSideToolInvocations": True}}

    assert offered("anthropic/claude-opus-5-5") == ([claude], [{}], 1, ())
    assert offered("openai/gpt-6.1-sol") == ([{"type": "web_search"}], [sources], 1, ())
    assert offered("xai/grok-4.7") == ([{"type": "web_search"}], [{}], 1, ())
    assert offered("google/gemini-3.8-flash") == ([{"googleSearch": {}}], [beside], 1, ())
    assert offered("openrouter/openai/gpt-5.5") == ([{"type": "openrouter:web_search"}], [{}], 1, ())


def test_a_model_that_searches_only_alone_gets_no_functions_and_the_user_is_told() -> None:
    sentence = "gemini-2.5-pro searches the web only without other tools: they are not sent."

    assert offered("google/gemini-2.5-pro") == ([{"googleSearch": {}}], [{}], 0, (sentence,))


def test_a_model_without_a_search_gets_its_functions_and_the_user_is_told() -> None:
    sentence = "deepseek-v4-pro has no web search of its own: it answers without one."

    assert offered("deepseek/deepseek-v4-pro") == ([], [], 1, (sentence,))


def test_nothing_is_added_unless_the_user_wants_it() -> None:
    found = offered_tools(target("anthropic/claude-opus-5-5"), READ, web_search=False)

    assert (found.functions, found.server_tools, found.warnings) == (READ, (), ())


@pytest.mark.parametrize(
    ("model", "searches", "fee"),
    [
        ("anthropic/claude-opus-5-5", 3, 0.03),
        ("anthropic/claude-opus-5-5", None, 0.0),
        ("openai/gpt-6.1-sol", 2, 0.02),
        ("xai/grok-4.7", 2, 0.01),
        ("google/gemini-3.8-flash", 5, 0.07),
        ("google/gemini-2.5-pro", 5, 0.035),
        ("openrouter/openai/gpt-5.5", 1, None),
        ("deepseek/deepseek-v4-pro", 1, None),
    ],
)
def test_the_fee_of_searches(model: str, searches: int | None, fee: float | None) -> None:
    at = target(model)
    found = search_fee(at.provider, at.facts, Usage(searches=searches))

    assert found == (None if fee is None else pytest.approx(fee))


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        # 13,520 tokens at $4 and 415 at $20 for a million, one search for a cent
        ("anthropic/claude-opus-5-5", Usage(input=13_520, output=415, searches=1), 0.07238),
        # 3,000 at $2, 200 at $10, two searches
        ("openai/gpt-6.1-sol", Usage(input=3_000, output=200, searches=2), 0.028),
        # what the provider says itself has the fee in it
        ("openrouter/openai/gpt-5.5", Usage(input=7, output=3, searches=2, cost=0.0123), 0.0123),
        # no price for it is known, so none is invented
        ("deepseek/deepseek-v4-pro", Usage(input=7, output=3, searches=2), None),
    ],
)
def test_an_answer_costs_its_tokens_and_its_searches(model: str, usage: Usage, cost: float | None) -> None:
    planner = Planner(CATALOG, TokenMeter(Calibration()), now=lambda: 1_795_000_000.0)
    found = planner.cost(target(model), usage)

    assert found == (None if cost is None else pytest.approx(cost, abs=1e-9))
