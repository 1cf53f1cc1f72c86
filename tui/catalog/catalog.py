"""The catalogue of models: packaged rows, cached lists, providers' lists and the user's settings, in layers.

Files are read on first use, and of the packaged files only those that can contain the model.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from tui.catalog.cloud_accounts import account_from_environment
from tui.catalog.facts import ModelFacts, ProviderFacts
from tui.catalog.model_rows import (
    CONTROL_KEYS,
    LayeredRow,
    ModelFile,
    check_row,
    facts_from,
    model_file,
    packaged_files,
)
from tui.catalog.name_matching import best_match, normalized_name
from tui.catalog.provider_rows import (
    cloud_providers,
    effective_quirks,
    ollama_base_url,
    packaged_providers,
    user_provider,
)
from tui.catalog.spellings import spelling_names
from tui.catalog.toml_values import Table, check_table, is_table, nearest, packaged_table, read_toml
from tui.domain.errors import ConfigError, PonderError, UnknownModel
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import WireName

_PLACES = lazy_regex(r"^(?:[a-z]+\.)+(?=[a-z])")
"""The prefix of a name at Bedrock: a region and a vendor, each followed by a dot."""


def tokenizer_of(model: str) -> str:
    """Return the tokenizer family of a model by its name; "" if unknown."""
    bare = normalized_name(_PLACES.sub("", model.lower().rsplit("/", 1)[-1]))
    fitting = [beginning for beginning in _beginnings() if bare.startswith(beginning)]
    return _beginnings()[max(fitting, key=len)] if fitting else ""


def tokenizer_of_vocabulary(size: int | None) -> str:
    """Return the tokenizer family by the size of its vocabulary; "" for an unknown size."""
    return _vocabularies().get(size, "") if size is not None else ""


@cache
def _beginnings() -> dict[str, str]:
    return {beginning: family for family, names in _table("families").items() for beginning in names}


@cache
def _vocabularies() -> dict[int, str]:
    return {size: family for family, sizes in _table("vocabularies").items() for size in sizes}


def _table(name: str) -> dict[str, list[Any]]:
    table = packaged_table("tokenizers.toml")[name]
    assert isinstance(table, dict)
    return table


__all__ = ["Catalog", "Layer", "effective_quirks", "packaged_catalog", "users_catalog"]

_SPELLING_BY_WIRE: Mapping[WireName, str] = {
    WireName.ANTHROPIC: "anthropic-adaptive",
    WireName.OPENAI_RESPONSES: "openai-responses",
    WireName.OPENAI_CHAT: "chat-effort",
    WireName.GEMINI: "gemini-level",
    WireName.OLLAMA: "ollama-think",
}
_UNKNOWN = "safe defaults: unknown model"
_ASSUMED: Mapping[WireName, Table] = {WireName.ANTHROPIC: {"max_output": 8_192}}
"""Facts that a wire requires of an unknown model. Anthropic refuses a request without an output limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Rows from one source: provider → model id → row."""

    source: str
    rows: Mapping[str, Mapping[str, Table]]

    def match(self, provider: str, model: str) -> Table | None:
        """Return the row for the model. An exact name takes precedence over a prefix."""
        rows = self.rows.get(provider, {})
        found: str | None = model
        if model not in rows:  # It is for each model that a server lists, which may be thousands.
            name = normalized_name(model)
            found = next((id_ for id_ in rows if normalized_name(id_) == name), None) or best_match(model, rows)
        return rows[found] if found is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All facts about providers and models. Immutable: adding a layer returns a new catalogue."""

    layers: tuple[Layer, ...] = ()
    own_providers: Mapping[str, ProviderFacts] = field(default_factory=dict)

    def providers(self) -> Mapping[str, ProviderFacts]:
        """Return all providers by id."""
        return ChainMap(dict(self.own_providers), cast("dict[str, ProviderFacts]", packaged_providers()))

    def provider(self, id_: str) -> ProviderFacts:
        """Return the provider with that id. Raises UnknownModel if there is none."""
        known = self.own_providers.get(id_) or packaged_providers().get(id_)
        if known is None:
            raise UnknownModel(f"There is no provider `{id_}`.", nearest=nearest(id_, self.providers()))
        return known

    def find(self, provider: str, model: str) -> ModelFacts:
        """Return the facts about a model at a provider. An unknown model gets safe defaults."""
        provider_facts = self.provider(provider)
        rows = [(layer.source, row) for layer in self.layers if (row := layer.match(provider, model)) is not None]
        if not rows and _is_packaged(provider_facts):
            return _packaged_facts(provider, model)
        return _facts(provider_facts, model, rows)

    def models(self, provider: str) -> Iterator[ModelFacts]:
        """Yield every listed model of a provider, packaged models first in the order of their file."""
        provider_facts = self.provider(provider)
        file = _file_of(provider_facts)
        listed = list(file.listed()) if file is not None and not provider_facts.models else list(provider_facts.offers)
        for layer in self.layers:
            listed += layer.rows.get(provider, {})
        return (self.find(provider, id_) for id_ in dict.fromkeys(listed))

    def makers(self) -> Iterator[ModelFile]:
        """Yield the packaged files of model makers."""
        return (file for file in map(model_file, packaged_files()) if file.maker)

    def with_layer(self, source: str, rows: Mapping[str, Mapping[str, object]]) -> Catalog:
        """Return a copy with rows (provider → model → row) from ``source`` as the top layer."""
        checked = {
            provider: {id_: check_row(row, f"{provider}/{id_}", source) for id_, row in models.items()}
            for provider, models in rows.items()
        }
        return replace(self, layers=(*self.layers, Layer(source=source, rows=checked)))

    def with_base_url(self, provider: str, base_url: str) -> Catalog:
        """Return a copy with another base URL for a provider (``OLLAMA_HOST``)."""
        moved = replace(self.provider(provider), base_url=base_url.rstrip("/"))
        return replace(self, own_providers={**self.own_providers, provider: moved})

    def with_cloud_accounts(self, environment: Mapping[str, str]) -> Catalog:
        """Return a copy in which the addresses of clouds are filled as far as settings and environment say."""
        own = {name: provider for name, provider in self.own_providers.items() if provider.cloud is not None}
        found = {name: self.provider(name) for name in cloud_providers()} | own
        filled = {name: account_from_environment(provider, environment) for name, provider in found.items()}
        return replace(self, own_providers={**self.own_providers, **filled})

    def with_overrides(self, overrides: Path | Mapping[str, object], *, file: str = "config.toml") -> Catalog:
        """Return a copy with the user's ``[providers.NAME]`` and ``[models."provider/model"]`` tables on top."""
        if isinstance(overrides, Path):
            file, overrides = overrides.name, read_toml(overrides)
        table = check_table(overrides, {"providers": is_table, "models": is_table}, where="catalogue", file=file)
        own = dict(self.own_providers)
        for name, row in _tables(table, "providers"):
            own[name] = user_provider(name, row, file)
            _check_spelling(own[name].spelling, f"providers.{name}", file)
        catalog = replace(self, own_providers=own)
        rows: dict[str, dict[str, object]] = {}
        for name, row in _tables(table, "models"):
            provider, slash, model = name.partition("/")
            if not slash or provider not in catalog.providers():
                wrong = f"there is no provider `{provider}`" if slash else "it must be named provider/model"
                raise ConfigError(
                    f"{file}: `models.{name}`: {wrong}.",
                    file=file,
                    key=f"models.{name}",
                    nearest=nearest(provider, catalog.providers()),
                )
            checked = check_row(row, f"models.{name}", file)
            _check_spelling(checked.get("spelling"), f"models.{name}", file)
            rows.setdefault(provider, {})[model] = checked
        return catalog.with_layer(file, rows) if rows else catalog


def users_catalog(
    catalog: Catalog, tables: Mapping[str, Mapping[str, object]], environment: Mapping[str, str], *, file: str
) -> tuple[Catalog, list[PonderError]]:
    """Return the catalogue with the user's file and environment applied. Invalid rows are skipped and reported.

    ``tables`` are the tables of the file; only ``providers`` and ``models`` are used.
    """
    problems: list[PonderError] = []
    for table in ("providers", "models"):
        for name, row in tables.get(table, {}).items():
            try:
                catalog = catalog.with_overrides({table: {name: row}}, file=file)
            except PonderError as problem:
                problems.append(problem)
    catalog = catalog.with_cloud_accounts(environment)
    host = environment.get("OLLAMA_HOST")
    if host and "ollama" not in catalog.own_providers:
        try:
            catalog = catalog.with_base_url("ollama", ollama_base_url(host))
        except PonderError as problem:
            problems.append(problem)
    return catalog, problems


def packaged_catalog() -> Catalog:
    """Return the catalogue that comes with the program."""
    return Catalog()


def _tables(table: Table, key: str) -> Iterator[tuple[str, object]]:
    value = table.get(key, {})
    return iter(value.items()) if isinstance(value, Mapping) else iter(())


def _check_spelling(name: object, where: str, file: str) -> None:
    if name is not None and name not in spelling_names():
        raise ConfigError(
            f"{file}: `{where}.spelling` cannot be `{name}`",
            file=file,
            key=f"{where}.spelling",
            nearest=nearest(str(name), spelling_names()),
        )


_BESIDES_ADDRESS = tuple(name for name in ProviderFacts.__annotations__ if name not in ("base_url", "bases", "account"))


def _is_packaged(provider_facts: ProviderFacts) -> bool:
    """Whether a provider is a packaged one, with another address at most; what its models can do does not depend on it.

    Clouds always have another: with it, a list of all models would take twice as long.
    """
    packaged = packaged_providers().get(provider_facts.id)
    return packaged is provider_facts or (
        packaged is not None
        and all(getattr(packaged, name) is getattr(provider_facts, name) for name in _BESIDES_ADDRESS)
    )


@lru_cache(maxsize=1_000)
def _packaged_facts(provider: str, model: str) -> ModelFacts:
    """Every list of models asks for all of them, and they change only with the program."""
    return _facts(packaged_providers()[provider], model, ())


def _facts(provider_facts: ProviderFacts, model: str, rows: Iterable[tuple[str, Table]]) -> ModelFacts:
    """Return the facts about a model, with the rows of users (source and row) on top of the packaged ones."""
    layered, known, id_ = _packaged(provider_facts, model)
    for source, row in rows:
        known = known or bool(CONTROL_KEYS & row.keys())
        layered = layered.with_layer(row, source)
    wire = WireName(str(layered.row.get("wire", provider_facts.wire)))
    if "spelling" not in layered.row:
        layered = layered.with_layer(
            {"spelling": provider_facts.spelling or _SPELLING_BY_WIRE[wire]}, provider_facts.source
        )
    facts = facts_from(layered, provider=provider_facts.id, model=id_, wire=wire, known=known)
    facts = replace(facts, priced_as=provider_facts.offers.get(id_, "").partition("/")[2])
    return facts if facts.tokenizer else replace(facts, tokenizer=tokenizer_of(id_))


def _packaged(provider_facts: ProviderFacts, model: str) -> tuple[LayeredRow, bool, str]:
    file = _file_of(provider_facts)
    names = [model, model.rpartition("/")[2]] if provider_facts.models and "/" in model else [model]
    for name in names if file is not None else ():
        assert file is not None
        found = file.match(name)
        if found is not None:
            row = _maker_row(file, found)
            return row, True, model if provider_facts.models else file.sent_as(model)
    if file is None and provider_facts.resells:
        return _resold(provider_facts, model)
    rule = file.rule_for(model) if file is not None and file.maker else None
    source = _UNKNOWN if rule is None or file is None else file.source
    assumed = LayeredRow().with_layer(_ASSUMED.get(provider_facts.wire, {}), _UNKNOWN)
    return assumed.with_layer(rule if rule is not None else {}, source), False, model


def _resold(provider_facts: ProviderFacts, model: str) -> tuple[LayeredRow, bool, str]:
    """Return a maker's model at another provider: the maker's facts with this provider's spelling and wire."""
    model, named = _offered(provider_facts, model)
    vendor, slash, rest = named.partition("/")
    for name in packaged_files():
        file = model_file(name)
        if not file.maker or (slash and vendor.lower() not in file.vendors):
            continue
        plain = rest if slash else named
        found = file.match(plain)
        rule = file.rule_for(plain) if found is None and (slash or file.name in provider_facts.wires) else None
        if found is None and provider_facts.wires:
            rule = _rule_at_cloud(provider_facts, file, plain, rule, named=bool(slash))
        if found is None and rule is None:
            continue
        known = _maker_row(file, found) if found is not None else LayeredRow().with_layer(rule or {}, file.source)
        return _elsewhere(known, provider_facts, file), found is not None, model
    return LayeredRow().with_layer(_ASSUMED.get(provider_facts.wire, {}), _UNKNOWN), False, model


def _rule_at_cloud(
    provider_facts: ProviderFacts, file: ModelFile, model: str, rule: Table | None, *, named: bool
) -> Table | None:
    """Return the assumptions for a maker's unknown model where its wire is known; None if nothing can be assumed."""
    wire = provider_facts.wires.get(file.name)
    if wire is None:
        return None
    if file.is_another_kind(model):  # such as open weights, which clouds serve over Chat Completions
        return {"wire": WireName.OPENAI_CHAT.value} if named else None
    return _ASSUMED.get(WireName(wire), {}) if rule is None and named else rule


def _offered(provider_facts: ProviderFacts, model: str) -> tuple[str, str]:
    """Return the name to send, and the VENDOR/MODEL that it means; a name at Bedrock contains its vendor."""
    wanted = normalized_name(model)
    for name, made in provider_facts.offers.items():
        if wanted in (normalized_name(name), normalized_name(made.partition("/")[2])):
            return name, made
    place = _PLACES.match(model.lower())
    if place is None or "/" in model:
        return model, model
    return model, f"{place[0].rstrip('.').rpartition('.')[2]}/{model[place.end() :]}"


def _elsewhere(known: LayeredRow, provider_facts: ProviderFacts, file: ModelFile) -> LayeredRow:
    home = packaged_providers()[file.name]
    if provider_facts.wires.get(file.name) == home.wire != WireName.OPENAI_CHAT:
        return known.with_layer({"wire": known.row.get("wire", home.wire)}, provider_facts.source)
    changes = known.row.get("resold", {})
    layered = known.with_layer(changes if isinstance(changes, Mapping) else {}, file.source)
    wire = provider_facts.wires.get(file.name, provider_facts.wire)
    same_wire = str(known.row.get("wire", home.wire)) == wire
    row = {key: value for key, value in layered.row.items() if key not in ("quirks", "wire")}
    if provider_facts.spelling is not None:
        row["spelling"] = provider_facts.spelling
    elif not same_wire or (provider_facts.wires and wire == WireName.OPENAI_CHAT):  # clouds have their own Chat servers
        row["spelling"] = _SPELLING_BY_WIRE[WireName(wire)]
    if wire != provider_facts.wire:
        row["wire"] = wire
    sources = {key: layered.sources.get(key, provider_facts.source) for key in row}
    if "wire" in row:
        sources["wire"] = provider_facts.source
    if row.get("spelling") == provider_facts.spelling is not None:
        sources["spelling"] = provider_facts.source
    return LayeredRow(row=row, sources=sources)


def _maker_row(file: ModelFile, id_: str) -> LayeredRow:
    return LayeredRow().with_layer(file.rows[id_], file.source)


def _file_of(provider_facts: ProviderFacts) -> ModelFile | None:
    name = provider_facts.models or provider_facts.id
    return model_file(name) if name in packaged_files() else None
