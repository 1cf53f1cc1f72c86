from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.catalog.asking import CATALOG
from tui.catalog.catalog import Catalog
from tui.catalog.facts import AuthStyle, EchoRule, ModelFacts, Quirks
from tui.catalog.name_matching import normalized_name
from tui.catalog.plan import plan
from tui.catalog.provider_rows import effective_quirks, ollama_base_url
from tui.domain.errors import ConfigError, UnknownModel
from tui.domain.messages import WireName
from tui.domain.thinking import ThinkingLevel

GATEWAY = {
    "wire": "openai-chat",
    "base_url": "https://llm.example.com/v1/",
    "key_env": ["GATEWAY_KEY"],
    "headers": {"X-Team": "blue"},
    "extra_body": {"user": "me"},
    "quirks": {"thinking_back": "reasoning", "thinking_in": ["reasoning"]},
}


def with_gateway(**changes: object) -> Catalog:
    return CATALOG.with_overrides({"providers": {"gateway": {**GATEWAY, **changes}}})


def test_a_provider_of_the_users_needs_no_code() -> None:
    provider = with_gateway().provider("gateway")
    assert (provider.base_url, provider.wire, provider.auth) == (
        "https://llm.example.com/v1",
        WireName.OPENAI_CHAT,
        AuthStyle.BEARER,
    )
    assert (provider.key_env, provider.headers, provider.extra_body) == (
        ("GATEWAY_KEY",),
        {"X-Team": "blue"},
        {"user": "me"},
    )
    # Nobody knows which model runs behind it, so nothing is sent that a chat template may refuse.
    assert provider.quirks == Quirks(
        thinking_back="reasoning",
        thinking_in=("reasoning",),
        merge_same_role=True,
        assistant_after_tool=True,
        answer_schema="both",
        answer_schema_with_tools=False,
    )
    assert provider.source == "config.toml"


def test_makers_models_are_known_at_the_users_provider_in_its_own_spelling() -> None:
    catalog = with_gateway()
    facts = catalog.find("gateway", "deepseek-v4-pro")
    assert (facts.known, facts.echo, facts.controls.efforts) == (True, EchoRule.REQUIRED, ("low", "high", "max"))
    # The same wire as the maker's: the maker's spelling.
    assert plan(facts, catalog.provider("gateway"), ThinkingLevel.NONE).fields == {"thinking": {"type": "disabled"}}
    claude = catalog.find("gateway", "claude-opus-5")
    assert plan(claude, catalog.provider("gateway"), ThinkingLevel.MED).fields == {"reasoning_effort": "medium"}


def test_an_anthropic_gateway_gets_the_makers_spelling_and_the_older_version() -> None:
    catalog = with_gateway(wire="anthropic", quirks={})
    facts = catalog.find("gateway", "claude-opus-5-5")
    provider = catalog.provider("gateway")
    assert facts.spelling == "anthropic-bound"
    assert provider.auth is AuthStyle.X_API_KEY
    assert effective_quirks(provider, facts).version == "2023-06-01"


def test_an_unknown_model_on_the_anthropic_wire_has_an_output_limit() -> None:
    catalog = with_gateway(wire="anthropic", quirks={})
    made = plan(catalog.find("gateway", "house-model"), catalog.provider("gateway"), ThinkingLevel.HIGH)
    assert (made.fields, made.max_output) == ({}, 8_192)


def test_layers_go_over_each_other_and_each_fact_knows_its_own() -> None:
    name = "claude-opus-5"
    catalog = (
        CATALOG.with_layer("models.dev", {"anthropic": {name: {"price": [9.0, 9.0], "max_output": 1}}})
        .with_layer("discovery", {"anthropic": {name: {"max_output": 100_000}}})
        .with_overrides({"models": {f"anthropic/{name}": {"context_window": 5}}})
    )
    facts = catalog.find("anthropic", name)
    assert facts.price is not None
    assert (
        facts.price.at(datetime(2026, 11, 19, tzinfo=UTC))["input"].base,
        facts.max_output,
        facts.context_window,
    ) == (9.0, 100_000, 5)
    sources = {key: facts.provenance[key] for key in ("price", "max_output", "context_window", "efforts")}
    assert sources == {
        "price": "models.dev",
        "max_output": "discovery",
        "context_window": "config.toml",
        "efforts": "packaged: models/anthropic.toml",
    }


def test_a_layer_makes_unknown_models_known_once_it_says_how_they_think() -> None:
    named = CATALOG.with_layer("discovery", {"ollama": {"llama9": {"context_window": 8_192}}})
    told = named.with_layer("show", {"ollama": {"llama9": {"thinks": True, "can_disable": True}}})
    assert not named.find("ollama", "llama9").known
    facts = told.find("ollama", "llama9")
    assert (facts.known, facts.context_window) == (True, 8_192)
    assert plan(facts, told.provider("ollama"), ThinkingLevel.HIGH).fields == {"think": True}
    assert "llama9" in [listed.id for listed in told.models("ollama")]


def test_overrides_come_from_a_file_as_well(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[models."openai/gpt-9"]\nefforts = ["low", "max"]\n', encoding="utf-8")
    facts = CATALOG.with_overrides(path).find("openai", "gpt-9")
    assert (facts.known, facts.controls.efforts, facts.provenance["efforts"]) == (True, ("low", "max"), "mine.toml")


def test_packaged_providers_can_be_changed_in_part() -> None:
    catalog = CATALOG.with_overrides({"providers": {"deepseek": {"quirks": {"system_role": "developer"}}}})
    provider = catalog.provider("deepseek")
    assert (provider.base_url, provider.quirks.system_role) == ("https://api.deepseek.com", "developer")
    assert provider.quirks.thinking_back == "reasoning_content"


@pytest.mark.parametrize(
    ("overrides", "key", "nearest"),
    [
        ({"models": {"openai/gpt-9": {"contxt_window": 1}}}, "models.openai/gpt-9.contxt_window", ("context_window",)),
        ({"models": {"openai/gpt-9": {"max_output": "big"}}}, "models.openai/gpt-9.max_output", ()),
        ({"models": {"openai/gpt-9": {"efforts": ["hihg"]}}}, "models.openai/gpt-9.efforts", ("high",)),
        ({"models": {"openai/gpt-9": {"budget": [9, 1]}}}, "models.openai/gpt-9.budget", ()),
        ({"models": {"openai/gpt-9": {"spelling": "deepsek"}}}, "models.openai/gpt-9.spelling", ("deepseek",)),
        ({"models": {"opnai/gpt-9": {}}}, "models.opnai/gpt-9", ("openai",)),
        ({"models": {"gpt-9": {}}}, "models.gpt-9", ()),
        ({"providers": {"x": {"wire": "openai-chat"}}}, "providers.x.base_url", ()),
        ({"providers": {"x": {"wire": "openai", "base_url": "http://x"}}}, "providers.x.wire", ()),
        ({"providers": {"x": {"wire": "gemini", "base_url": "ftp://x"}}}, "providers.x.base_url", ()),
        (
            {"providers": {"x": {"wire": "gemini", "base_url": "http://x", "quirks": {"thinkin_back": "none"}}}},
            "x.quirks.thinkin_back",
            ("thinking_back", "thinking_in", "thinking_back_empty"),
        ),
        ({"modles": {}}, "catalogue.modles", ("models",)),
    ],
)
def test_wrong_words_are_told_with_file_key_and_nearest(
    overrides: dict[str, object], key: str, nearest: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        CATALOG.with_overrides(overrides, file="mine.toml")
    assert (caught.value.file, caught.value.key) == ("mine.toml", key)
    assert set(nearest) <= set(caught.value.nearest)


def test_a_file_that_is_not_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[models]\nx = \n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        CATALOG.with_overrides(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)


def test_an_unknown_provider_gets_the_nearest() -> None:
    with pytest.raises(UnknownModel) as caught:
        CATALOG.provider("anthropc")
    assert caught.value.nearest[0] == "anthropic"


def quirks_of(provider: str, model: str) -> Quirks:
    facts: ModelFacts = CATALOG.find(provider, model)
    return effective_quirks(CATALOG.provider(provider), facts)


def test_quirks_are_the_providers_then_its_other_wires_then_the_models() -> None:
    assert quirks_of("moonshot", "kimi-k2.6").max_tokens_name == "max_tokens"
    assert quirks_of("moonshot", "kimi-k3").max_tokens_name == "max_completion_tokens"
    assert quirks_of("moonshot", "kimi-k3").never_sampling
    assert not quirks_of("minimax", "MiniMax-M3").empty_signatures
    assert quirks_of("minimax", "MiniMax-M3.1-Flash") == Quirks(
        version="2023-06-01", forbids_sampling=False, empty_signatures=True, answer_schema="words"
    )
    assert quirks_of("anthropic", "claude-opus-5") == Quirks(prompt_cache="top_level")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0:8000", "http://localhost:8000"),
        (":9999", "http://localhost:9999"),
        ("https://llm.example.com/ollama/", "https://llm.example.com:443/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert ollama_base_url(host) == url
    assert CATALOG.with_base_url("ollama", ollama_base_url(host)).provider("ollama").base_url == url


@pytest.mark.parametrize(
    ("model", "stands_in", "pictures"),
    [
        ("gemini-2.5-pro", "", False),
        ("gemini-2.5-flash-lite", "", False),
        ("gemini-3.8-flash", "skip_thought_signature_validator", True),
        ("gemini-4-argon", "skip_thought_signature_validator", True),
    ],
)
def test_gemini_gets_stand_ins_for_signatures_and_pictures_in_results_from_3_on(
    model: str, stands_in: str, pictures: bool
) -> None:
    quirks = effective_quirks(CATALOG.provider("google"), CATALOG.find("google", model))
    assert (quirks.skip_signature, quirks.tool_images) == (stands_in, pictures)


def test_thousands_of_models_of_a_server_are_each_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def noted(name: str) -> str:
        compared.append(name)
        return normalized_name(name)

    monkeypatch.setattr("tui.catalog.catalog.normalized_name", noted)
    rows = {f"model-{number}": {"context_window": 8_192} for number in range(500)}
    found = list(CATALOG.with_layer("the server", {"vllm": rows}).models("vllm"))
    assert {*rows} <= {facts.id for facts in found}
    assert len(compared) < 10 * len(found)
