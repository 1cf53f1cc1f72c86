"""The desk's models: choosing, stepping, listing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from tui.app.model_info import fact_sheet
from tui.app.open_session import OpenSession, leave_line
from tui.app.picker_rows import level_rows, model_rows
from tui.app.provider_availability import ProviderAvailability
from tui.catalog.facts import ModelFacts
from tui.catalog.model_spec import parse_asked, parse_spec
from tui.catalog.plan import plan
from tui.catalog.plan_settings import PLAN_KEYS, plan_options
from tui.commands.context import LevelInfo, ModelInfo
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan
from tui.settings.layers import IN_PLACE_OF_LEVELS, Layer, Layers


class ModelService:
    """Implements ``ModelDesk``."""

    def __init__(self, current: OpenSession, findings: ProviderAvailability) -> None:
        self._current = current
        self._findings = findings

    async def set_model(self, name: str) -> str:
        """By name as typed."""
        asked = parse_asked(name)
        if asked is not None:
            return await self.set_level(asked)
        said = await self._use_model(name)
        leave_line(self._current.session, said)
        return said

    async def _use_model(self, name: str) -> str:
        spec = parse_spec(name, self._current.program.catalog)
        said = await self._current.use(spec)
        provider = self._current.program.catalog.provider(spec.provider)
        if self._findings.reason(provider).startswith("no key"):  # it may not have been looked for yet
            await asyncio.to_thread(self._findings.look_for_key, provider)
        lacks = self._findings.reason(provider)
        return f"{said} — {lacks}" if lacks else said

    async def set_level(self, asked: Asked) -> str:
        """Another level or budget."""
        said = await self._use_level(asked)
        leave_line(self._current.session, said)
        return said

    async def _use_level(self, asked: Asked) -> str:
        return await self._current.use(replace(self._current.spec, asked=asked))

    async def step_level(self, step: int, *, wrap: bool) -> str:
        """The next level the model takes; never above high."""
        rows = self.levels()
        place = next(place for place, row in enumerate(rows) if row.current)
        following = (place + step) % len(rows) if wrap else max(0, min(place + step, len(rows) - 1))
        level = rows[following].asked
        is_level = self._planned_at(self._current.facts, level).level == rows[following].label
        if following == place and is_level:
            return f"Thinking stays at {rows[place].label}: {rows[place].native}."
        return await self._use_level(level)

    async def step_model(self, step: int) -> str:
        """The next recent model and level."""
        recent = self._current.program.user_state.recent
        if len(recent) < 2:
            return "No other model was used yet."
        now = str(self._current.spec)
        place = recent.index(now) if now in recent else 0
        order = list(recent)
        said = await self._use_model(recent[(place + step) % len(recent)])
        self._current.program.user_state.recent = order
        return said

    def models(self) -> Sequence[ModelInfo]:
        """For the picker."""
        state = self._current.program.user_state
        favourites = [*self._current.layers.settings().favourites, *state.favourites]
        return model_rows(
            self._current.program.catalog, self._findings.reason, state.recent, favourites, self._current.spec
        )

    def levels(self) -> Sequence[LevelInfo]:
        """For the picker, for the model in use."""
        view = self._current.session.view()
        weight = view.meter.effective if view.meter is not None else None
        facts = self._current.facts
        return level_rows(self._asked(), view.plan, lambda asked: self._planned_at(facts, asked, context_tokens=weight))

    def _asked(self) -> Asked:
        asked = self._current.spec.asked
        return asked if asked is not None else ThinkingLevel.MED

    def plan_for(self, name: str) -> ThinkingPlan:
        """What another model or level would mean."""
        asked = parse_asked(name)
        spec = replace(self._current.spec, asked=asked) if asked is not None else None
        spec = spec or parse_spec(name, self._current.program.catalog)
        facts = self._current.program.catalog.find(spec.provider, spec.model)
        if spec.asked is not None:
            return self._planned_at(facts, spec.asked)
        return self._planned(facts, self._asked(), self._current.layers)

    def model_info(self, name: str = "") -> str:
        """All facts with their sources."""
        spec = parse_spec(name, self._current.program.catalog) if name else self._current.spec
        return fact_sheet(self._current.program.catalog.find(spec.provider, spec.model))

    async def toggle_favourite(self, spec: ModelSpec) -> bool:
        """Mark or unmark."""
        state = self._current.program.user_state
        name = f"{spec.provider}/{spec.model}"
        now = name not in state.favourites
        state.mark(name, favourite=now)
        return now

    async def refresh_models(self) -> int:
        """Ask the provider for its list."""
        found = await self._findings.refresh(self._current.program.catalog.provider(self._current.spec.provider))
        await self._current.apply(self._current.layers, {})
        return found

    def _planned_at(self, facts: ModelFacts, asked: Asked, *, context_tokens: int | None = None) -> ThinkingPlan:
        """Under the settings there would be once this level was chosen."""
        layers = self._current.layers
        for name in IN_PLACE_OF_LEVELS:
            layers = layers.without(Layer.SESSION, name)
        layers = replace(layers, level_at=Layer.SESSION)
        return self._planned(facts, asked, layers, context_tokens=context_tokens)

    def _planned(
        self, facts: ModelFacts, asked: Asked, layers: Layers, *, context_tokens: int | None = None
    ) -> ThinkingPlan:
        provider = self._current.program.catalog.provider(facts.provider)
        values = {name: layers.for_plan(name) for name in PLAN_KEYS}
        options = plan_options(values, context_tokens=context_tokens, overruler=layers.overruler())
        return plan(facts, provider, asked, **options)
