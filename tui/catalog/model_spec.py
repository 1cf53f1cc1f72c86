"""Parses model names: ``NAME`` or ``PROVIDER/NAME``, optionally followed by ``/LEVEL`` or ``/BUDGET``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tui.catalog.catalog import Catalog
from tui.catalog.facts import ModelFacts
from tui.catalog.model_rows import ModelFile, model_file, packaged_files
from tui.catalog.name_matching import best_match, normalized_name, same_model
from tui.catalog.provider_rows import packaged_providers
from tui.catalog.toml_values import nearest
from tui.domain.errors import UnknownModel, UsageError
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, parse_number

_LEVELS = {**{level.value: level for level in ThinkingLevel}, "medium": ThinkingLevel.MED}
LOCAL = "local"
"""The provider of models that are named by their file."""
MODEL_FILE = ".gguf"
MOST_TOKENS = 100_000_000
"""Larger budgets are assumed to be typing errors."""


def parse_asked(text: str) -> Asked | None:
    """Parse a level or a budget (``16000``, ``16k``, ``1.5k``); None if the text is neither. 0 is ``none``."""
    level = _LEVELS.get(text.lower())
    if level is not None:
        return level
    tokens = parse_number(text)
    if not isinstance(tokens, int) or tokens > MOST_TOKENS:
        return None
    return tokens or ThinkingLevel.NONE


def require_asked(text: str) -> Asked:
    """Parse a level or a budget. Raises UsageError if the text is neither."""
    asked = parse_asked(text)
    if asked is None:
        raise UsageError(f"`{text}` is neither a level nor a budget.", advice="Levels: none, low, med, high; or 16k.")
    return asked


def split_asked(text: str) -> tuple[str, Asked | None]:
    """Split off the last segment of a name if it is a level or a budget."""
    name, slash, last = text.strip().rpartition("/")
    asked = parse_asked(last) if slash and name else None
    return (name, asked) if asked is not None else (text.strip(), None)


def parse_spec(text: str, catalog: Catalog) -> ModelSpec:
    """Return the model that ``text`` names. Raises UnknownModel, with similar names, if it matches none or several."""
    name, asked = split_asked(text)
    provider, _, listed = text.strip().partition("/")
    if asked is not None and any(listed in layer.rows.get(provider, {}) for layer in catalog.layers):
        name, asked = text.strip(), None  # the name of a listed model may end like a level
    known = catalog.providers()
    provider, slash, model = name.partition("/")
    if name.lower().endswith(MODEL_FILE) and provider not in known:
        return ModelSpec(provider=LOCAL, model=str(_absolute(name)), asked=asked)
    if slash and provider not in known and provider.lower() in known:
        provider = provider.lower()
    if slash and provider in known:
        if not model.strip("/") or model != model.strip():
            raise UnknownModel(f"`{text}` names a provider but no model.", nearest=_examples(catalog, provider))
        head, _, last = model.rpartition("/")
        # On local servers a name may contain anything; elsewhere only a level can follow a known model.
        if head and not known[provider].costs_nothing and catalog.find(provider, head).known:
            raise _no_level(last, f"{provider}/{head}", catalog.find(provider, head))
        found = catalog.find(provider, model)
        if known[provider].complete and not found.known:
            raise UnknownModel(
                f"There is no model `{provider}/{model}`.", nearest=_listed_like(model, provider, catalog)
            )
        return ModelSpec(provider=provider, model=found.id, asked=asked)
    return _find_without_provider(name, asked, catalog)


def parse_change(text: str, current: ModelSpec, catalog: Catalog) -> ModelSpec:
    """Parse a model or a level alone: a level means the current model, a model the current level."""
    asked = parse_asked(text)
    if asked is not None:
        return replace(current, asked=asked)
    spec = parse_spec(text, catalog)
    return spec if spec.asked is not None else replace(spec, asked=current.asked)


def _find_without_provider(name: str, asked: Asked | None, catalog: Catalog) -> ModelSpec:
    """Find a name without a provider: at the maker's API, else at the only other provider that has it."""
    found = sorted(_find_at_makers(name)) or sorted({*_in_layers(name, catalog), *_find_at_servers(name)})
    if len(found) == 1:
        provider, model = found[0]
        return ModelSpec(provider=provider, model=model, asked=asked)
    names = tuple(f"{provider}/{model}" for provider, model in found)
    if found:
        raise UnknownModel(f"`{name}` is found at several providers.", nearest=names)
    head, slash, last = name.rpartition("/")
    places = [*_find_at_makers(head), *_find_at_servers(head)] if slash and head else []
    if places:
        raise _no_level(last, head, catalog.find(*places[0]))
    from tui.catalog.similar_models import nearest_models

    similar = (*_similar_own_models(name, catalog), *nearest_models(name, catalog))
    problem = UnknownModel(f"There is no model `{name}`.", nearest=tuple(dict.fromkeys(similar))[:3])
    problem.advice = problem.advice or "`ponder models` lists those that are known, `/model` those that can be asked."
    raise problem


def _similar_own_models(name: str, catalog: Catalog) -> Iterator[str]:
    """Suggest the same model at a provider of the user with a similar name."""
    provider, slash, model = name.partition("/")
    return (f"{found}/{model}" for found in nearest(provider, catalog.own_providers)) if slash and model else iter(())


def _absolute(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except (OSError, RuntimeError):  # the current folder is gone, or there is no such user
        return Path(name)


def _no_level(word: str, model: str, facts: ModelFacts) -> UnknownModel:
    """Return the error for a known model followed by something that is not a level."""
    problem = UnknownModel(
        f"`{word}` behind `{model}` is neither a level nor a budget.",
        nearest=tuple(f"{model}/{asked}" for asked in ("med", "high", "16k")),
    )
    effort = word.lower()
    if effort in map(str.lower, facts.controls.efforts):
        how = f"`/set reasoning.effort {effort}`, or `--set reasoning.effort={effort}`"
        problem.advice = f"This model has it as an effort: {how}."
    return problem


def _find_at_makers(name: str) -> Iterator[tuple[str, str]]:
    for file in _files(maker=True):
        found = best_match(name, file.names, file.different)
        is_line = found is not None and file.names[found] not in file.listed()
        if found is not None and not is_line and same_model(name, found):
            yield file.name, file.sent_as(name)


def _find_at_servers(name: str) -> Iterator[tuple[str, str]]:
    """Find a name at servers with models of other makers: as listed, after a vendor's name, or with a ``:tag``.

    Models of a provider with a complete list may be named like those of others (``gemini``), so they need its name.
    """
    known = packaged_providers()
    for file in _files(maker=False):
        if file.name in known and known[file.name].complete and normalized_name(name) != file.name:
            continue
        for id_ in file.rows:
            if normalized_name(id_.rpartition("/")[2]) == normalized_name(name) or normalized_name(
                id_
            ) == normalized_name(name):
                yield file.name, id_
            elif normalized_name(name).startswith(f"{normalized_name(id_)}:"):
                yield file.name, name


def _in_layers(name: str, catalog: Catalog) -> Iterator[tuple[str, str]]:
    for layer in catalog.layers:
        for provider, rows in layer.rows.items():
            yield from ((provider, id_) for id_ in rows if normalized_name(id_) == normalized_name(name))


def _listed_like(model: str, provider: str, catalog: Catalog) -> tuple[str, ...]:
    listed = [facts.id for facts in catalog.models(provider)]
    return tuple(f"{provider}/{name}" for name in nearest(model, listed) or listed[:3])


def _examples(catalog: Catalog, provider: str) -> tuple[str, ...]:
    return tuple(f"{provider}/{facts.id}" for facts, _ in zip(catalog.models(provider), range(3), strict=False))


def _files(*, maker: bool) -> Iterator[ModelFile]:
    for name in packaged_files():
        file = model_file(name)
        if file.maker is maker and name != "open_weights":
            yield file
