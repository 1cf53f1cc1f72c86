"""Rows about providers: packaged and user-defined ones, and the quirks of a model at a provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import cast
from urllib.parse import urlsplit

from tui.catalog.facts import AuthStyle, Cloud, ModelFacts, ProviderFacts, Quirks, Target
from tui.catalog.model_rows import check_quirks
from tui.catalog.toml_values import (
    Check,
    Table,
    check_table,
    command_words,
    is_command,
    is_flag,
    is_number,
    is_table,
    is_text,
    is_text_table,
    is_texts,
    is_texts_table,
    nearest,
    one_of,
    packaged_table,
)
from tui.domain.errors import ConfigError
from tui.domain.messages import WireName

_PACKAGED = "providers.toml"
PROVIDER_KEYS: Mapping[str, Check] = {
    "title": is_text,
    "wire": one_of(tuple(WireName)),
    "base_url": is_text,
    "auth": one_of(tuple(AuthStyle)),
    "key_env": is_texts,
    "key_command": is_command,
    "key_optional": is_flag,
    "key_url": is_text,
    "local": is_flag,
    "starts_models": is_flag,
    "quirks": is_table,
    "wire_quirks": is_table,
    "paths": is_text_table,
    "headers": is_text_table,
    "extra_body": is_table,
    "discovery": one_of(("anthropic", "openai", "openrouter", "gemini", "ollama")),
    "idle_timeout_s": is_number,
    "header_timeout_s": is_number,
    "spelling": is_text,
    "resells": is_flag,
    "bases": is_text_table,
    "models": is_text,
    "complete": is_flag,
    "start": is_text,
    "cloud": one_of(tuple(Cloud)),
    "account": is_text_table,
    "account_env": is_texts_table,
    "offers": is_text_table,
    "wires": is_text_table,
}
_UNSURE_OF_SCHEMAS: Table = {"answer_schema": "both", "answer_schema_with_tools": False}
"""A server may ignore the schema of an answer, or obey it by a grammar that forbids tool calls."""
_ALTERNATING: Table = {"merge_same_role": True, "assistant_after_tool": True}
"""A server may run an open model whose chat template refuses two prompts in a row. All servers accept merged ones."""
_WIRE_DEFAULTS: Mapping[str, Table] = {
    WireName.ANTHROPIC: {
        "auth": "x-api-key",
        "discovery": "anthropic",
        "quirks": {"version": "2023-06-01", "forbids_sampling": False, "empty_signatures": True, **_UNSURE_OF_SCHEMAS},
    },
    WireName.OPENAI_CHAT: {
        "discovery": "openai",
        "quirks": {"thinking_back": "as_received", **_ALTERNATING, **_UNSURE_OF_SCHEMAS},
    },
    WireName.OPENAI_RESPONSES: {
        "discovery": "openai",
        "quirks": {"plain_reasoning": "content", **_ALTERNATING, **_UNSURE_OF_SCHEMAS},
    },
    WireName.GEMINI: {"auth": "x-goog-api-key", "discovery": "gemini"},
    WireName.OLLAMA: {"discovery": "ollama"},
}
"""Defaults for user-defined providers. Anthropic-compatible servers know only the older API version, and a Chat
Completions server that returns thinking in a field accepts it in the same field."""


@lru_cache(maxsize=1)
def packaged_provider_rows() -> Mapping[str, Table]:
    """Return the packaged tables, checked."""
    rows = packaged_table(_PACKAGED)
    return {name: check_table(row, PROVIDER_KEYS, where=name, file=_PACKAGED) for name, row in rows.items()}


def cloud_providers() -> tuple[str, ...]:
    """Return the names of the packaged providers that are accounts at a cloud."""
    return tuple(name for name, row in packaged_provider_rows().items() if "cloud" in row)


class _Packaged(Mapping[str, ProviderFacts]):
    """Creates the facts of a provider on first access, because a run uses only one or two providers."""

    def __getitem__(self, name: str) -> ProviderFacts:
        return _packaged_facts(name)

    def __contains__(self, name: object) -> bool:
        return name in packaged_provider_rows()

    def __iter__(self) -> Iterator[str]:
        return iter(packaged_provider_rows())

    def __len__(self) -> int:
        return len(packaged_provider_rows())


@cache
def _packaged_facts(name: str) -> ProviderFacts:
    return _facts(name, packaged_provider_rows()[name], "packaged: providers.toml")


def packaged_providers() -> Mapping[str, ProviderFacts]:
    """Return the packaged providers."""
    return _Packaged()


def user_provider(name: str, row: object, file: str) -> ProviderFacts:
    """Return a user-defined provider, or a packaged one with the user's changes."""
    where = f"providers.{name}"
    own = check_table(row, PROVIDER_KEYS, where=where, file=file)
    packaged = packaged_provider_rows().get(name)
    if packaged is None:
        for key in ("wire", "base_url"):
            if key not in own:
                raise ConfigError(f"{file}: `{where}` needs `{key}`", file=file, key=f"{where}.{key}")
        packaged = {
            "resells": True,
            "wire_quirks": _quirks_of_other_wires(str(own["wire"])),
            **_WIRE_DEFAULTS.get(str(own["wire"]), {}),
        }
    table = {**packaged, **own, "wire_quirks": _merged_by_wire(packaged, own)}
    if "offers" in packaged and isinstance(own.get("offers"), Mapping):
        table["offers"] = {**cast(Table, packaged["offers"]), **cast(Table, own["offers"])}
    if isinstance(packaged.get("quirks"), Mapping):
        table["quirks"] = {**cast(Table, packaged["quirks"]), **cast(Table, own.get("quirks", {}))}
    _check_url(str(table["base_url"]), f"{where}.base_url", file)
    for wire, url in cast("Mapping[str, str]", own.get("bases", {})).items():
        _check_url(url, f"{where}.bases.{wire}", file)
    if "/" in name:
        raise ConfigError(f"{file}: a provider's name cannot contain `/`: `{name}`", file=file, key=where)
    return _facts(name, table, file)


def _check_url(url: str, where: str, file: str) -> None:
    """Whether it can be taken apart; what is wrong with its parts is reported when it is used."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(f"{file}: `{where}` is not a web address", file=file, key=where) from None
    if parts.scheme not in ("http", "https"):
        raise ConfigError(f"{file}: `{where}` must begin with http:// or https://", file=file, key=where)


def _quirks_of_other_wires(wire: str) -> Table:
    """Return the defaults for models that use another wire than their provider."""
    return {other: row["quirks"] for other, row in _WIRE_DEFAULTS.items() if "quirks" in row and other != wire}


def _merged_by_wire(packaged: Table, own: Table) -> Table:
    """Merge the user's ``wire_quirks`` over the packaged ones, wire by wire. Non-tables are reported later."""
    merge_tables = dict(cast(Table, packaged.get("wire_quirks", {})))
    for wire, quirks in cast(Table, own.get("wire_quirks", {})).items():
        before = merge_tables.get(wire, {})
        both = isinstance(before, Mapping) and isinstance(quirks, Mapping)
        merge_tables[wire] = {**cast(Table, before), **cast(Table, quirks)} if both else quirks
    return merge_tables


def _facts(name: str, row: Table, source: str) -> ProviderFacts:
    check_quirks(row.get("quirks", {}), f"{name}.quirks", source)
    for wire in cast("Mapping[str, str]", row.get("wires", {})).values():
        _check_wire(wire, name, source)
    for wire, quirks in cast("Mapping[str, object]", row.get("wire_quirks", {})).items():
        _check_wire(wire, name, source)
        check_quirks(quirks, f"{name}.wire_quirks.{wire}", source)
    return ProviderFacts(
        id=name,
        title=str(row.get("title", name)),
        wire=WireName(str(row["wire"])),
        base_url=str(row["base_url"]).rstrip("/"),
        auth=AuthStyle(str(row.get("auth", AuthStyle.BEARER))),
        key_env=tuple(cast("list[str]", row.get("key_env", []))),
        key_command=command_words(row.get("key_command", ())),
        key_optional=bool(row.get("key_optional", False)),
        local=bool(row.get("local", False)),
        starts_models=bool(row.get("starts_models", False)),
        quirks=_with(Quirks(), row.get("quirks", {})),
        wire_quirks=cast(Table, row.get("wire_quirks", {})),
        paths=cast("Mapping[str, str]", row.get("paths", {})),
        headers=cast("Mapping[str, str]", row.get("headers", {})),
        extra_body=cast(Table, row.get("extra_body", {})),
        discovery=cast("str | None", row.get("discovery")),
        idle_timeout_s=cast("float | None", row.get("idle_timeout_s")),
        header_timeout_s=cast("float | None", row.get("header_timeout_s")),
        key_url=cast("str | None", row.get("key_url")),
        source=source,
        spelling=cast("str | None", row.get("spelling")),
        resells=bool(row.get("resells", False)),
        bases=cast("Mapping[str, str]", row.get("bases", {})),
        models=str(row.get("models", "")),
        complete=bool(row.get("complete", False)),
        start=str(row.get("start", "")),
        cloud=Cloud(str(row["cloud"])) if "cloud" in row else None,
        account=cast("Mapping[str, str]", row.get("account", {})),
        account_env=_tuples(row.get("account_env", {})),
        offers=cast("Mapping[str, str]", row.get("offers", {})),
        wires=cast("Mapping[str, str]", row.get("wires", {})),
    )


def _check_wire(wire: str, name: str, source: str) -> None:
    if wire not in tuple(WireName):
        raise ConfigError(
            f"{source}: there is no wire `{wire}`", file=source, key=name, nearest=nearest(wire, tuple(WireName))
        )


def _tuples(table: object) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(texts) for name, texts in cast("Mapping[str, list[str]]", table).items()}


def effective_quirks(provider: ProviderFacts, facts: ModelFacts) -> Quirks:
    """Return the quirks of a model at a provider: the provider's or its other wire's, then the model's."""
    known = provider.quirks if facts.wire == provider.wire else Quirks()
    return _with(_with(known, provider.wire_quirks.get(facts.wire, {})), facts.quirks)


def cache_ttl(wanted: str, target: Target) -> str | None:
    """The lifetime of a prompt cache to ask for; None if server and model have no common way to ask."""
    quirks = effective_quirks(target.provider, target.facts)
    if _CACHE_CONTROL.get(quirks.prompt_cache) != target.facts.prompt_cache:
        return None
    return wanted if wanted == "off" or wanted in quirks.cache_ttls else quirks.cache_ttls[0]


_CACHE_CONTROL = {"top_level": "marks", "parts": "marks", "options": "options"}
"""How a server is asked to cache → what its model must accept for it."""


def _with(quirks: Quirks, changes: object) -> Quirks:
    table = cast(Table, changes)
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return replace(quirks, **plain) if plain else quirks  # type: ignore[arg-type]  # names and types were checked


def ollama_base_url(host: str) -> str:
    """Return the base URL for ``OLLAMA_HOST``: a host, a port or a URL. 0.0.0.0 becomes localhost."""
    text = host.strip().rstrip("/")
    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ConfigError(f"OLLAMA_HOST is not an address: {error}.", key="OLLAMA_HOST") from error
    name = parts.hostname or "localhost"
    if name in ("0.0.0.0", "::"):
        name = "localhost"
    if ":" in name:
        name = f"[{name}]"
    try:
        port = parts.port or {"http": 11434, "https": 443}.get(parts.scheme, 11434)
    except ValueError as error:
        raise ConfigError(f"OLLAMA_HOST has a wrong port: {error}.", key="OLLAMA_HOST") from error
    return f"{parts.scheme}://{name}:{port}{parts.path}"
