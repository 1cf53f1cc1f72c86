"""Rows for the pickers: which models there are, which levels a model takes, and what is sent for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tui.catalog.facts import Lifecycle, ModelFacts, ProviderFacts
from tui.catalog.load import Catalog
from tui.commands.context import LevelRow, ModelRow
from tui.domain.thinking import Asked, ModelSpec, PlanState, ThinkingLevel, ThinkingPlan

Planned = Callable[[ModelFacts, Asked], ThinkingPlan]
Reason = Callable[[ProviderFacts], str]


def model_rows(catalog: Catalog, reason: Reason, recent: Sequence[str], favourites: Sequence[str]) -> list[ModelRow]:
    """Favourites, then recents, then the rest by provider; retired models stay out of the list."""
    rows: list[ModelRow] = []
    for provider in catalog.providers().values():
        why = reason(provider)
        rows.extend(
            _row(facts, provider, why, recent, favourites)
            for facts in catalog.models(provider.id)
            if facts.lifecycle is not Lifecycle.RETIRED
        )
    return sorted(rows, key=lambda row: (not row.favourite, not row.recent, not row.available))


def _row(
    facts: ModelFacts, provider: ProviderFacts, why: str, recent: Sequence[str], favourites: Sequence[str]
) -> ModelRow:
    name = f"{provider.id}/{facts.id}"
    price = (facts.price.input, facts.price.output) if facts.price is not None else (None, None)
    return ModelRow(
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


def level_rows(facts: ModelFacts, current: Asked | None, planned: Planned) -> list[LevelRow]:
    """The levels that mean different things for this model, each with its native value."""
    rows: list[LevelRow] = []
    for level, made in _distinct(facts, planned):
        rows.append(
            LevelRow(
                asked=level,
                label=level.value,
                native=native_words(made),
                current=current == level,
                warning=made.warnings[0] if made.warnings else "",
            )
        )
    if isinstance(current, int):
        made = planned(facts, current)
        rows.append(LevelRow(asked=current, label=f"{current:,}", native=native_words(made), current=True))
    return rows


def _distinct(facts: ModelFacts, planned: Planned) -> Iterator[tuple[ThinkingLevel, ThinkingPlan]]:
    """Every level but ``none`` where the model cannot be off, and those that would send the same as the one before."""
    before: object = None
    for level in ThinkingLevel:
        made = planned(facts, level)
        if level is ThinkingLevel.NONE and made.state is PlanState.CANNOT_DISABLE:
            continue
        if before is not None and made.fields == before:
            continue
        before = made.fields
        yield level, made


def native_words(made: ThinkingPlan) -> str:
    """What will be sent, in a few words."""
    match made.state:
        case PlanState.OFF:
            return "off"
        case PlanState.UNCONTROLLED:
            return "nothing to set: it thinks as it likes"
        case PlanState.UNSUPPORTED:
            return "it does not think"
        case PlanState.ON | PlanState.CANNOT_DISABLE:
            if isinstance(made.sent, int):
                return f"{made.sent:,} tokens"
            return f"effort {made.sent}" if made.sent else "on"
