"""Rows for the pickers: which models there are, which levels a model takes, and what is sent for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle, ModelFacts, ProviderFacts
from tui.catalog.thinking_choice import LEVEL_WORDS
from tui.commands.context import LevelInfo, ModelInfo
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan

Planned = Callable[[Asked], ThinkingPlan]
Reason = Callable[[ProviderFacts], str]


def model_rows(
    catalog: Catalog, reason: Reason, recent: Sequence[str], favourites: Sequence[str], in_use: ModelSpec
) -> list[ModelInfo]:
    """Favourites, then recents, then the rest by provider; of retired and unknown models only the one in use."""
    rows: list[ModelInfo] = []
    for provider in catalog.providers().values():
        why = reason(provider)
        rows.extend(
            _row(facts, provider, why, recent, favourites)
            for facts in catalog.models(provider.id)
            if facts.lifecycle is not Lifecycle.RETIRED
        )
    facts = catalog.find(in_use.provider, in_use.model)
    if all((row.spec.provider, row.spec.model) != (facts.provider, facts.id) for row in rows):
        provider = catalog.provider(in_use.provider)
        rows.append(_row(facts, provider, reason(provider), recent, favourites))
    return sorted(rows, key=lambda row: (not row.favourite, not row.recent, not row.available))


def _row(
    facts: ModelFacts, provider: ProviderFacts, why: str, recent: Sequence[str], favourites: Sequence[str]
) -> ModelInfo:
    name = f"{provider.id}/{facts.id}"
    price = (facts.price.input, facts.price.output) if facts.price is not None else (None, None)
    return ModelInfo(
        spec=ModelSpec(provider=provider.id, model=facts.id),
        provider=provider.title,
        available=not why,
        reason=why,
        window=facts.context_window,
        price=price,
        thinking=thinking_words(facts),
        recent=any(used == name or used.startswith(f"{name}/") for used in recent),
        favourite=name in favourites,
        note=_note(facts, provider),
    )


def _note(facts: ModelFacts, provider: ProviderFacts) -> str:
    if provider.id == "demo":
        return "demo"
    if facts.lifecycle is Lifecycle.RETIRING:
        return f"retires {facts.retires}" if facts.retires else "retiring"
    return "" if facts.known else "not in the catalogue"


def thinking_words(facts: ModelFacts) -> str:
    """How a model can be told to think, in a word or two."""
    controls = facts.controls
    if not facts.known:
        return "left to the server"
    if not controls.thinks:
        return "does not think"
    if controls.efforts:
        return "effort" if controls.can_disable else "effort, always on"
    if controls.budget is not None:
        return "budget"
    return "on or off" if controls.can_disable else "always on"


def level_rows(asked: Asked, in_force: ThinkingPlan, planned: Planned) -> list[LevelInfo]:
    """One row for each different request that a level can make, and always one, marked, for the plan in force.

    ``planned`` returns the plan that choosing a level would lead to.
    """
    plans = sorted(_distinct(planned), key=lambda one: one[0].rank)
    rows = [_level_row(level, made) for level, made in plans]
    current = replace(_level_row(asked, in_force), current=True)
    same = [place for place, (_, made) in enumerate(plans) if made.fields == in_force.fields]
    same = same or [place for place, row in enumerate(rows) if row.label == current.label]
    if same:
        rows[same[0]] = current
    else:
        rows.insert(_place(in_force, [made for _, made in plans]), current)
    return rows


def _place(in_force: ThinkingPlan, plans: Sequence[ThinkingPlan]) -> int:
    """Among budgets by size, else behind all levels."""
    sent = in_force.sent
    if not isinstance(sent, int):
        return len(plans)
    larger = (place for place, made in enumerate(plans) if isinstance(made.sent, int) and made.sent > sent)
    return next(larger, len(plans))


def _distinct(planned: Planned) -> list[tuple[ThinkingLevel, ThinkingPlan]]:
    """One level for each set of wire fields: the one named like what is sent, else ``med``, else the lowest."""
    groups: list[list[tuple[ThinkingLevel, ThinkingPlan]]] = []
    for level in ThinkingLevel:
        made = planned(level)
        group = next((group for group in groups if group[0][1].fields == made.fields), None)
        if group is None:
            groups.append([(level, made)])
        else:
            group.append((level, made))
    return [min(group, key=lambda one: _preference(*one)) for group in groups]


def _preference(level: ThinkingLevel, made: ThinkingPlan) -> tuple[bool, bool, int]:
    return (str(made.sent).lower() != LEVEL_WORDS[level], level is not ThinkingLevel.MED, level.rank)


def _level_row(asked: Asked, made: ThinkingPlan) -> LevelInfo:
    warning = made.warnings[0] if made.warnings else ""
    return LevelInfo(asked=asked, label=made.level or "no levels", native=made.native, warning=warning)
