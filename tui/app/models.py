"""Select and list models and thinking levels."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tui.app.current_session import CurrentSession, add_notice, with_level_chosen, with_model_chosen
from tui.app.prompt_cache import CacheService, with_cost
from tui.app.provider_availability import ProviderAvailability
from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle, ModelFacts, ProviderFacts
from tui.catalog.model_spec import parse_asked, parse_spec
from tui.catalog.prices import current_rates
from tui.catalog.spellings import spelling
from tui.catalog.thinking_choice import LEVEL_WORDS, controls_of
from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.domain.listing import LevelInfo, ModelInfo
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan
from tui.settings.layers import Layers


def fact_sheet(facts: ModelFacts) -> str:
    """All facts of a model with their sources, as a markdown table."""
    controls, rates = facts.controls, current_rates(facts, time.time())
    budget = f"{controls.budget.min:,} to {controls.budget.max:,}" if controls.budget is not None else "none"
    rows: list[tuple[str, str, str]] = [
        ("window", _number(facts.context_window), "context_window"),
        ("output", _number(facts.max_output), "max_output"),
        ("thinks", "yes" if controls.thinks else "no", "controls"),
        ("efforts", ", ".join(controls.efforts) or "none", "efforts"),
        ("budgets", budget, "budget"),
        ("can be off", "yes" if controls.can_disable else "no", "can_disable"),
        ("thinking back", facts.echo.value.replace("_", " "), "echo"),
        ("thinking bound", "yes" if facts.bound else "no", "bound"),
        ("thinking counted", facts.counted.value.replace("_", " "), "counted"),
        ("takes", ", ".join(sorted(facts.inputs)), "inputs"),
        *((name, _dollars(rates.get(kind)), "price") for name, kind in _PRICE_ROWS),
        ("status", facts.lifecycle.value, "lifecycle"),
    ]
    lines = [f"# {facts.provider}/{facts.id}", "", "| fact | value | from |", "|---|---|---|"]
    lines += [
        f"| {name} | {value} | {facts.provenance.get(key, _SOURCES.get(key, 'default'))} |" for name, value, key in rows
    ]
    if not facts.known:
        lines += ["", "This model is not in the catalogue: cautious facts are assumed."]
    lines += ["", *(f"- {note}" for note in facts.notes)]
    return "\n".join(lines)


_SOURCES = {"price": "price table"}
"""Sources of facts that are not in a row."""
_PRICE_ROWS = (
    ("price in", "input"),
    ("price of cache reads", "cache_read"),
    ("price of cache writes", "cache_write"),
    ("price of 1h cache writes", "cache_write_1h"),
    ("price out", "output"),
)


def _number(value: int | None) -> str:
    return "unknown" if value is None else count(value, "token")


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else f"${value:g} per million tokens"


Planned = Callable[[Asked], ThinkingPlan]
Reason = Callable[[ProviderFacts], str]


def model_rows(
    catalog: Catalog, reason: Reason, recent: Sequence[str], favourites: Sequence[str], in_use: ModelSpec
) -> list[ModelInfo]:
    """Favourites, then recent models, then the rest by provider. Retired and unknown models only if in use."""
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
    rates = current_rates(facts, time.time())
    return ModelInfo(
        spec=ModelSpec(provider=provider.id, model=facts.id),
        provider=provider.title,
        available=not why,
        reason=why,
        window=facts.context_window,
        price=(0.0, 0.0) if provider.costs_nothing else (rates.get("input"), rates.get("output")),
        thinking=thinking_summary(facts),
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


def thinking_summary(facts: ModelFacts) -> str:
    """How thinking is controlled, in a few words."""
    controls = facts.controls
    if not facts.known:
        return "server default"
    if not controls.thinks:
        return "does not think"
    by = controls_of(controls, spelling(facts.spelling)).levels_by
    if by == "toggle":
        return "on or off" if controls.can_disable else "always on"
    return "effort, always on" if by == "effort" and not controls.can_disable else by


def level_rows(asked: Asked, in_force: ThinkingPlan, planned: Planned) -> list[LevelInfo]:
    """One row for each different request that a level can make, and always one, marked, for the plan in force.

    ``planned`` returns the plan that choosing a level would lead to.
    """
    plans = sorted(_distinct(planned), key=lambda one: one[0].rank)
    rows = [_level_row(level, made) for level, made in plans]
    current = replace(_level_row(asked, in_force), current=True)
    same = [position for position, (_, made) in enumerate(plans) if made.fields == in_force.fields]
    same = same or [position for position, row in enumerate(rows) if row.label == current.label]
    if same:
        rows[same[0]] = current
    else:
        rows.insert(_position(in_force, [made for _, made in plans]), current)
    return rows


def _position(in_force: ThinkingPlan, plans: Sequence[ThinkingPlan]) -> int:
    """The index by budget size; the end of the list if the plan has no budget."""
    sent = in_force.sent
    if not isinstance(sent, int):
        return len(plans)
    larger = (position for position, made in enumerate(plans) if isinstance(made.sent, int) and made.sent > sent)
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


class ModelService:
    """Selects and lists models and thinking levels."""

    def __init__(self, current: CurrentSession, availability: ProviderAvailability, cache: CacheService) -> None:
        self._current = current
        self._availability = availability
        self._cache = cache

    async def set_model(self, name: str) -> str:
        """Select a model or level by the name the user typed; returns a message for the user."""
        asked = parse_asked(name)
        if asked is not None:
            return await self.set_level(asked)
        message = await self._use_model(name)
        add_notice(self._current.session, message)
        return message

    async def _use_model(self, name: str) -> str:
        program = self._current.program
        spec = parse_spec(name, program.catalog)
        if program.local_models.is_unknown(spec):
            await asyncio.to_thread(program.local_models.learn, spec.model)
        before = self._cache.before_change()
        message = with_cost(await self._current.use(spec), self._cache.after_change(before))
        provider = program.catalog.provider(spec.provider)
        if self._availability.reason(provider).startswith("no key"):  # the keyring may not have been searched yet
            await asyncio.to_thread(self._availability.look_for_key, provider)
        lacks = self._availability.reason(provider)
        return f"{message} — {lacks}" if lacks else message

    async def get_ready(self) -> None:
        """Load what a request to the model in use needs."""

        async def load() -> None:
            program = self._current.program
            with contextlib.suppress(PonderError):  # said when the request is made
                program.backend.get_ready(program.planner.target(self._current.spec))

        await self._current.call(load())

    async def set_level(self, asked: Asked) -> str:
        """Select a level or budget; returns a message for the user."""
        message = await self._use_level(asked)
        add_notice(self._current.session, message)
        return message

    async def _use_level(self, asked: Asked) -> str:
        before = self._cache.before_change()
        message = await self._current.use(replace(self._current.spec, asked=asked))
        return with_cost(message, self._cache.after_change(before))

    async def step_level(self, step: int, *, wrap: bool) -> str:
        """Select the next level of the model; never above high."""
        rows = self.levels()
        position = next(position for position, row in enumerate(rows) if row.current)
        following = (position + step) % len(rows) if wrap else max(0, min(position + step, len(rows) - 1))
        level = rows[following].asked
        is_level = self._planned_at(self._current.spec, level).level == rows[following].label
        if following == position and is_level:
            return f"Thinking stays at {rows[position].label}: {rows[position].native}."
        return await self._use_level(level)

    async def step_model(self, step: int) -> str:
        """Select the next of the recent models."""
        recent = self._current.program.user_state.recent
        if len(recent) < 2:
            return "No other model was used yet."
        now = str(self._current.spec)
        position = recent.index(now) if now in recent else 0
        order = list(recent)
        message = await self._use_model(recent[(position + step) % len(recent)])
        self._current.program.user_state.recent = order
        return message

    def models(self) -> Sequence[ModelInfo]:
        """Rows for the model picker."""
        state = self._current.program.user_state
        favourites = [*self._current.layers.settings().favourites, *state.favourites]
        return model_rows(
            self._current.program.catalog, self._availability.reason, state.recent, favourites, self._current.spec
        )

    def providers_without_key(self) -> int:
        """The number of providers that could be used with a key."""
        return self._availability.without_key()

    def levels(self, spec: ModelSpec | None = None) -> Sequence[LevelInfo]:
        """Rows for the level picker of the model in use, or of another one as they are if it is chosen."""
        view, now = self._current.session.view(), self._current.spec
        weight = view.meter.effective if view.meter is not None else None
        shown = replace(spec or now, asked=self._current.asked)
        in_force = view.plan if spec is None else self._planned(shown, self._current.layers, weight)
        return level_rows(self._current.asked, in_force, lambda asked: self._planned_at(shown, asked, weight))

    def level(self, asked: Asked, spec: ModelSpec | None = None) -> LevelInfo:
        """The row for a level or budget of the model in use, or of another one."""
        return _level_row(asked, self._planned_at(spec or self._current.spec, asked))

    def cost_of_level(self, row: LevelInfo, *, brief: bool) -> str:
        """What choosing this level makes the next request write to the cache again; "" if nothing."""
        view = self._current.session.view()
        made = self._planned_at(self._current.spec, row.asked, view.meter.effective if view.meter is not None else None)
        return self._cache.with_plan(view, made, brief=brief)

    def cost_of_model(self, spec: ModelSpec, *, brief: bool) -> str:
        """The same for a model."""
        return self._cache.with_model(self._current.session.view(), spec, brief=brief)

    def cost_of_name(self, name: str, *, turn_id: str = "") -> str:
        """The same for a model, level or budget by the name the user types; "" if it is not complete yet.

        ``turn_id`` is the turn that is asked again with it.
        """
        asked = parse_asked(name)
        try:
            spec = parse_spec(name, self._current.program.catalog) if asked is None else None
        except PonderError:
            return ""
        spec = spec or replace(self._current.spec, asked=asked)
        layers = self._current.layers if spec.asked is None else with_level_chosen(self._current.layers)
        spec = spec if spec.asked is not None else replace(spec, asked=self._current.spec.asked)
        return self._cache.cost_of_change(spec=spec, layers=layers, turn_id=turn_id)

    def is_name(self, name: str) -> bool:
        """Whether a model, with or without a level, or a level or budget has this name."""
        try:
            return parse_asked(name) is not None or bool(parse_spec(name, self._current.program.catalog))
        except PonderError:
            return False

    def cost_of_turn(self, row: LevelInfo, spec: ModelSpec | None = None) -> float | None:
        """The usual cost of a turn at this level; None if a price is unknown or the model costs nothing."""
        return self._cache.usual_cost(self._current.session.view(), row.asked, row.label, spec)

    def model_info(self, name: str = "") -> str:
        spec = parse_spec(name, self._current.program.catalog) if name else self._current.spec
        return fact_sheet(self._current.program.catalog.find(spec.provider, spec.model))

    async def toggle_favourite(self, spec: ModelSpec) -> bool:
        """Add or remove a favourite; returns whether it is one now."""
        state = self._current.program.user_state
        name = f"{spec.provider}/{spec.model}"
        now = name not in state.favourites
        state.set_favourite(name, favourite=now)
        return now

    async def refresh_models(self) -> int:
        """Fetch the provider's model list; returns the number of models."""
        found = await self._availability.refresh(self._current.program.catalog.provider(self._current.spec.provider))
        await self._current.apply(self._current.layers, {})
        return found

    def _planned_at(self, spec: ModelSpec, asked: Asked, context_tokens: int | None = None) -> ThinkingPlan:
        """The plan if this level were chosen."""
        return self._planned(replace(spec, asked=asked), with_level_chosen(self._current.layers), context_tokens)

    def _planned(self, spec: ModelSpec, layers: Layers, context_tokens: int | None) -> ThinkingPlan:
        """The plan if this model were chosen."""
        facts = self._current.program.catalog.find(spec.provider, spec.model)
        return self._current.planned(spec, with_model_chosen(layers, facts), context_tokens=context_tokens)
