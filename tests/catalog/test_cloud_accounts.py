"""Accounts at clouds as data: what a name becomes, where it is sent, and what it costs."""

from __future__ import annotations

import pytest

from tui.catalog.catalog import Catalog, packaged_catalog, users_catalog
from tui.catalog.cloud_accounts import unfilled
from tui.catalog.facts import Cloud
from tui.catalog.prices import price_of

KNOWN = {"AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "my-project", "AZURE_RESOURCE_NAME": "my-resource"}
MAKERS = {"anthropic": "anthropic", "openai": "openai-responses", "google": "gemini"}


def catalog(environment: dict[str, str] | None = None, **providers: dict[str, object]) -> Catalog:
    tables = {"providers": providers}
    found, problems = users_catalog(packaged_catalog(), tables, environment or {}, file="config.toml")
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("name", "sent", "wire", "like"),
    [
        ("bedrock/claude-opus-5-5", "global.anthropic.claude-opus-5-5", "anthropic", "anthropic/claude-opus-5-5"),
        ("bedrock/gpt-6.1-sol", "global.openai.gpt-6.1-sol", "openai-responses", "openai/gpt-6.1-sol"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", "anthropic", "anthropic/claude-sonnet-4-5"),
        ("bedrock/openai.gpt-9", "", "openai-responses", None),
        ("bedrock/openai.gpt-oss-120b-1:0", "", "openai-chat", None),
        ("bedrock/mistral.unheard-of", "", "openai-chat", None),
        ("vertex/gemini-3.8-flash", "", "gemini", "google/gemini-3.8-flash"),
        ("vertex/gemini-9-pro", "", "gemini", None),
        ("vertex/claude-sonnet-4-5@20250929", "", "anthropic", "anthropic/claude-sonnet-4-5"),
        ("vertex/meta/llama-9-maas", "", "openai-chat", None),
        ("vertex/qwen/qwen3-coder-maas", "", "openai-chat", None),
        ("azure/gpt-6.1-sol", "", "openai-responses", "openai/gpt-6.1-sol"),
        ("azure/claude-opus-5-5", "", "anthropic", "anthropic/claude-opus-5-5"),
        ("azure/our-own", "", "openai-responses", None),
    ],
)
def test_a_name_is_sent_over_the_wire_of_its_maker(name: str, sent: str, wire: str, like: str | None) -> None:
    provider, _, model = name.partition("/")
    facts = catalog().find(provider, model)
    assert (facts.id, facts.wire, facts.known) == (sent or model, wire, like is not None)
    if like is not None:
        made = catalog().find(*like.split("/"))
        assert (facts.controls, facts.spelling, facts.echo, facts.bound, facts.family, facts.max_output) == (
            made.controls, made.spelling, made.echo, made.bound, made.family, made.max_output,
        )  # fmt: skip


def test_fields_of_a_makers_own_chat_server_are_not_sent_to_a_cloud() -> None:
    assert catalog().find("alibaba", "qwen3-32b").spelling != "chat-effort"
    assert catalog().find("bedrock", "qwen.qwen3-32b-v1:0").spelling == "chat-effort"
    assert catalog().find("vertex", "zai/glm-4.7-maas").spelling == "chat-effort"


@pytest.mark.parametrize("provider", ["bedrock", "vertex", "azure"])
def test_every_offered_model_has_the_facts_and_a_price_of_its_maker(provider: str) -> None:
    models = list(catalog().models(provider))
    assert [facts.id for facts in models] == list(catalog().provider(provider).offers)
    for facts in models:
        maker, _, made = catalog().provider(provider).offers[facts.id].partition("/")
        assert (facts.known, facts.wire, facts.controls) == (True, MAKERS[maker], catalog().find(maker, made).controls)
        assert price_of(facts) is not None


def test_a_deployment_has_the_facts_and_the_price_of_its_model() -> None:
    found = catalog(azure={"offers": {"our-gpt": "openai/gpt-6.1-sol"}}).find("azure", "our-gpt")
    plain = catalog().find("azure", "gpt-6.1-sol")
    assert (found.id, found.controls, price_of(found)) == ("our-gpt", plain.controls, price_of(plain))


def test_regional_names_of_amazon_have_their_own_price() -> None:
    prices = [
        price_of(catalog().find("bedrock", f"{place}.anthropic.claude-opus-5-5")) for place in ("global", "us", "eu")
    ]
    assert prices[0] != prices[1] == prices[2] != None  # noqa: E711 - one chain


@pytest.mark.parametrize(
    ("environment", "account", "address"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, {}, "bedrock-runtime.eu-west-1.amazonaws.com"),
        ({"AWS_REGION": "eu-west-1"}, {"region": "us-west-2"}, "bedrock-runtime.us-west-2.amazonaws.com"),
        ({}, {}, "bedrock-runtime.{region}.amazonaws.com"),
        ({"AWS_REGION": "evil.example/x?"}, {}, "bedrock-runtime.{region}.amazonaws.com"),
        ({"AWS_REGION": "x@evil.example"}, {}, "bedrock-runtime.{region}.amazonaws.com"),
    ],
)
def test_the_region_is_the_users_then_the_environments(
    environment: dict[str, str], account: dict[str, object], address: str
) -> None:
    assert catalog(environment, bedrock={"account": account}).provider("bedrock").base_url.split("/")[2] == address


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("", "aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
    ],
)
def test_each_location_of_google_has_its_host(location: str, host: str) -> None:
    environment = {"GOOGLE_CLOUD_PROJECT": "p"} | ({"GOOGLE_CLOUD_LOCATION": location} if location else {})
    provider = catalog(environment).provider("vertex")
    wanted = f"https://{host}/v1/projects/p/locations/{location or 'global'}/publishers/google"
    assert provider.base_url == wanted


@pytest.mark.parametrize(
    ("endpoint", "resource"),
    [
        ("https://my-res.openai.azure.com/", "my-res"),
        ("https://my-res.services.ai.azure.com/models", "my-res"),
        ("my-res", "my-res"),
        ("https://gateway.example.com/azure", "{resource}"),
    ],
)
def test_a_resource_of_azure_may_be_given_as_its_address(endpoint: str, resource: str) -> None:
    provider = catalog({"AZURE_OPENAI_ENDPOINT": endpoint}).provider("azure")
    assert provider.base_url == f"https://{resource}.openai.azure.com/openai/v1"
    assert unfilled(provider.base_url) == (("resource",) if resource == "{resource}" else ())


def test_all_addresses_are_filled_by_one_variable_each() -> None:
    for provider in catalog(KNOWN).providers().values():
        urls = (provider.base_url, *provider.bases.values())
        assert [name for url in urls for name in unfilled(url)] == []
    assert {provider.cloud for provider in catalog().providers().values()} == {None, *Cloud}


def test_the_facts_of_a_model_are_made_once_for_all_accounts_but_not_for_another_table_of_the_user() -> None:
    facts = catalog().find("bedrock", "claude-opus-5-5")
    assert catalog(KNOWN).find("bedrock", "claude-opus-5-5") is facts
    anew = catalog(bedrock={"wire": "openai-chat", "base_url": "https://gateway.example"})
    assert anew.find("bedrock", "claude-opus-5-5") is not facts
