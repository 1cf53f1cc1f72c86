"""The desk's models: choosing, stepping, listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui.catalog.facts import ModelFacts
from tui.catalog.plan import plan
from tui.catalog.plan_settings import plan_options
from tui.catalog.spec import parse_asked, parse_spec
from tui.commands.context import LevelRow, ModelRow
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan
from tui.wiring.fact_sheet import fact_sheet
from tui.wiring.findings import Findings
from tui.wiring.open_session import OpenSession
from tui.wiring.pickers import level_rows, model_rows


class LiveModels:
    """Implements ``ModelDesk``."""

    def __init__(self, current: OpenSession, findings: Findings) -> None:
        self._current = current
        self._findings = findings

    async def set_model(self, name: str) -> str:
        """By name as typed."""
        asked = parse_asked(name)
        if asked is not None:
            return await self.set_level(asked)
        return await self._current.use(parse_spec(name, self._current.program.catalog))

    async def set_level(self, asked: Asked) -> str:
        """Another level or budget."""
        return await self._current.use(replace(self._current.spec, asked=asked))

    async def step_level(self, step: int, *, wrap: bool) -> str:
        """The next level the model takes; never above high."""
        levels = [row.asked for row in self.levels() if isinstance(row.asked, ThinkingLevel)]
        if not levels:
            return "This model has no levels."
        now = self._current.spec.asked
        place = (
            levels.index(now) if isinstance(now, ThinkingLevel) and now in levels else -1 if step > 0 else len(levels)
        )
        following = place + step
        following = following % len(levels) if wrap else max(0, min(following, len(levels) - 1))
        return await self.set_level(levels[following])

    async def step_model(self, step: int) -> str:
        """The next recent model and level."""
        recent = self._current.program.memory.recent
        if len(recent) < 2:
            return "No other model was used yet."
        now = str(self._current.spec)
        place = recent.index(now) if now in recent else 0
        order = list(recent)
        said = await self.set_model(recent[(place + step) % len(recent)])
        self._current.program.memory.recent = order
        return said

    def models(self) -> Sequence[ModelRow]:
        """For the picker."""
        memory = self._current.program.memory
        favourites = [*self._current.layers.settings().favourites, *memory.favourites]
        return model_rows(self._current.program.catalog, self._findings.reason, memory.recent, favourites)

    def levels(self) -> Sequence[LevelRow]:
        """For the picker, for the model in use."""
        return level_rows(self._current.facts, self._current.spec.asked, self._planned)

    def plan_for(self, name: str) -> ThinkingPlan:
        """What another model or level would mean."""
        asked = parse_asked(name)
        spec = replace(self._current.spec, asked=asked) if asked is not None else None
        spec = spec or parse_spec(name, self._current.program.catalog)
        facts = self._current.program.catalog.find(spec.provider, spec.model)
        return self._planned(facts, spec.asked if spec.asked is not None else ThinkingLevel.MED)

    def model_info(self, name: str = "") -> str:
        """All facts with their sources."""
        spec = parse_spec(name, self._current.program.catalog) if name else self._current.spec
        return fact_sheet(self._current.program.catalog.find(spec.provider, spec.model))

    async def toggle_favourite(self, spec: ModelSpec) -> bool:
        """Mark or unmark."""
        memory = self._current.program.memory
        name = f"{spec.provider}/{spec.model}"
        now = name not in memory.favourites
        memory.favourites = [*memory.favourites, name] if now else [kept for kept in memory.favourites if kept != name]
        memory.keep()
        return now

    async def refresh_models(self) -> int:
        """Ask the provider for its list."""
        return await self._findings.refresh(self._current.program.catalog.provider(self._current.spec.provider))

    def _planned(self, facts: ModelFacts, asked: Asked) -> ThinkingPlan:
        provider = self._current.program.catalog.provider(facts.provider)
        return plan(facts, provider, asked, **plan_options(self._current.values()))
