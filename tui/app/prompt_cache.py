"""What the prompt cache of the open session holds, what it saved, and what a change would cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from tui.app.current_session import CurrentSession
from tui.app.engine_settings import engine_settings
from tui.catalog.catalog import effective_quirks
from tui.catalog.facts import Target
from tui.catalog.prices import MILLION, Price, cache_savings, cost_details, price_of
from tui.catalog.provider_rows import cache_ttl
from tui.context.prompt_cache import (
    CacheState,
    NextRequest,
    cache_state,
    cached_tokens,
    history_digest,
    kept_tokens,
    last_cached,
    left_s,
    rules_name,
    text_digest,
    thinking_digest,
    tools_digest,
)
from tui.context.thinking_language import system_language, with_language
from tui.domain.cost import Paid, money
from tui.domain.errors import PonderError
from tui.domain.events import Notice, Severity
from tui.domain.format_numbers import noun
from tui.domain.messages import Origin, Turn
from tui.domain.request import ToolSchema, with_project
from tui.domain.thinking import Asked, ModelSpec, ThinkingPlan
from tui.domain.usage import Part, Usage
from tui.engine.offered_tools import OfferedTools, offered_tools
from tui.engine.state import SessionView
from tui.settings.layers import Layers

LEAST_REPORTED_LOSS = 0.01
"""Dollars. An expired cache that costs less than this is not mentioned."""
WRITE_KINDS = {"1h": ("cache_write_1h", "cache_write", "input"), "": ("input",)}
"""Lifetime asked for → the kinds of token whose rate a written token can have, the most specific first."""


class BeforeChange(NamedTuple):
    """The state before a change."""

    kept: int
    """The cached tokens that the next request could read."""
    spec: ModelSpec
    level: str


class CacheService:
    """Reads the state of the prompt cache from the answers of the open session."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current
        self._reported: set[str] = set()
        """Answers whose expired cache was already reported."""
        self._tools: tuple[OfferedTools, str] = (OfferedTools(functions=()), "")

    def now(self) -> float:
        """The Unix time of the engine's clock."""
        return self._current.program.clock.now()

    def state(self, view: SessionView) -> CacheState | None:
        """What the cache has of the next request; None if nothing is known of it or it has expired."""
        return cache_state(_turns(view), self._next(view), self.now())

    def report_expiry(self, view: SessionView) -> None:
        """Add a notice to the conversation if the cache has expired and this was not reported yet."""
        following = self._next(view)
        cached = last_cached(_turns(view), following.provider, following.model)
        if cached is None or cached.cache is None or not cached.cache.ttl or cached.id in self._reported:
            return
        left = left_s(cached.cache, self.now())
        if left is None or left > 0:
            return
        self._reported.add(cached.id)
        kept = kept_tokens(cached, following)
        total = self._input(view, kept)
        with_cache, without = (self._input_cost(view, total, read) for read in (kept, 0))
        if with_cache is None or without is None or without - with_cache < LEAST_REPORTED_LOSS:
            return
        sentence = (
            f"The prompt cache has expired: the next request costs about {money(without)} instead of "
            f"{money(with_cache)}."
        )
        self._current.session.announce(Notice(Severity.INFO, sentence))

    def savings(self, paid: Iterable[Paid]) -> float | None:
        """The dollars that prompt caches saved in these requests; None if there were none or their price is unknown."""
        from tui.context.bill import bill_of  # loaded with the first session that is paid for

        return bill_of(paid, None, self.saved_by).saved

    def saved_by(self, origin: Origin, usage: Usage) -> float | None:
        """The dollars that the cache saved in one response."""
        try:
            price = price_of(self._current.program.catalog.find(origin.provider, origin.model))
        except PonderError:  # the provider is no longer configured
            return None
        return None if price is None else cache_savings(usage, price, self._when())

    def kept(self, view: SessionView) -> int:
        """The cached tokens that the next request can read."""
        state = self.state(view)
        return 0 if state is None else state.tokens

    def before_change(self) -> BeforeChange:
        """The state before a change of model, level, settings or tools."""
        view = self._current.session.view()
        return BeforeChange(self.kept(view), view.spec, view.plan.level)

    def after_change(self, before: BeforeChange) -> str:
        """What the change makes the next request write again; "" if nothing that costs something.

        ``high → med: rewrites 182k cached tokens, about $0.72``
        """
        view = self._current.session.view()
        cost = self._sentence(before.kept - self.kept(view), self._target(view.spec), view)
        return _with_levels(cost, before, view.spec, view.plan.level)

    def cost_of_change(
        self,
        *,
        spec: ModelSpec | None = None,
        layers: Layers | None = None,
        tools: Sequence[ToolSchema] | None = None,
        history: str | None = None,
        turn_id: str = "",
    ) -> str:
        """The same before another model, other settings, tools or another history are chosen.

        ``history`` is a digest. ``turn_id`` is the turn that is asked again with the change: only what precedes its
        answer is sent.
        """
        view = self._current.session.view()
        spec = spec or view.spec
        before = BeforeChange(_read_by(view.turns, turn_id, self.kept(view)), view.spec, view.plan.level)
        if not before.kept:
            return ""
        made = self._current.planned(spec, layers, context_tokens=self._input(view))
        then = replace(self._next(view, spec, layers, tools), level=made.level, thinking=thinking_digest(made))
        then = then if history is None else replace(then, history=history)
        left = _tokens(cache_state(_turns(view), then, self.now()))
        return _with_levels(self._sentence(before.kept - left, self._target(spec), view), before, spec, made.level)

    def cost_of_uncompressing(self) -> str:
        """The same before the last compression is undone."""
        view = self._current.session.view().compression
        return "" if view is None else self.cost_of_change(history=history_digest(view.previous))

    def with_plan(self, view: SessionView, made: ThinkingPlan, *, brief: bool = False) -> str:
        """What the next request would write again with another thinking level."""
        now = self._next(view)
        state = cache_state(_turns(view), now, self.now())
        then = cache_state(_turns(view), replace(now, level=made.level, thinking=thinking_digest(made)), self.now())
        return self._sentence(_tokens(state) - _tokens(then), self._target(view.spec), view, brief=brief)

    def with_model(self, view: SessionView, spec: ModelSpec, *, brief: bool = False) -> str:
        """What the next request would write again with another model."""
        then = cache_state(_turns(view), self._next(view, spec), self.now())
        return self._sentence(self.kept(view) - _tokens(then), self._target(spec), view, brief=brief)

    def usual_cost(self, view: SessionView, asked: Asked, label: str, spec: ModelSpec | None = None) -> float | None:
        """The cost of a turn of the usual length at a level; None if a price is unknown or the model costs nothing."""
        from tui.context.usual_turn import usual_turn  # loaded with the level picker

        price = price_of(self._target(spec or view.spec).facts)
        usage = usual_turn(view.turns, asked, label, self._input(view))
        details = cost_details(usage, price, self._when()) if price is not None else None
        return (details.dollars or None) if details is not None else None

    def before_turn(self, view: SessionView, turn_id: str) -> str:
        """What the cache has if the next request branches off before this turn, and what it writes again.

        A branch is shorter, so it writes nothing again as long as its beginning is in the cache.
        """
        turns = view.turns
        end = next((number for number, turn in enumerate(turns) if turn.id == turn_id), len(turns))
        now, kept = self._next(view), self.kept(view)
        before = last_cached(turns[:end], now.provider, now.model)
        beginning = kept_tokens(before, now) if before is not None else 0
        if not kept or beginning >= kept:
            return ""
        # The first request of the turn has read the prefix that ends before it, which renewed it.
        reader = next((message for message in turns[end].messages if message.cache is not None), before)
        left = left_s(reader.cache, self.now()) if reader is not None and reader.cache is not None else 0.0
        if beginning and left is not None and left <= 0:
            return self._sentence(beginning, self._target(view.spec), view)
        return f"{_short(kept - beginning)} cached {noun(kept - beginning, 'token')} no longer used"

    def after_compression(self, view: SessionView, size: int) -> str:
        """What the next request writes again after its history was compressed to this size."""
        now = self._next(view)
        then = _tokens(cache_state(_turns(view), replace(now, history="compressed"), self.now()))
        rewritten = min(self.kept(view), size) - max(then, now.tools_tokens + now.system_tokens)
        return self._sentence(rewritten, self._target(view.spec), view)

    def _sentence(self, tokens: int, target: Target, view: SessionView, *, brief: bool = False) -> str:
        """``rewrites 182k cached tokens, about $0.72``; "" if nothing is written again or that costs nothing."""
        price = price_of(target.facts)
        if tokens <= 0 or price is None:
            return ""
        dollars = tokens * self._write_rate(price, target, self._input(view, tokens)) / MILLION
        what = _short(tokens) if brief else f"{_short(tokens)} cached {noun(tokens, 'token')}"
        return f"rewrites {what}, about {money(dollars)}" if dollars else ""

    def _write_rate(self, price: Price, target: Target, input_tokens: int) -> float:
        rates, ttl = price.at(self._when()), self._ttl(target)
        kinds = WRITE_KINDS.get(ttl, ("cache_write", "input"))
        return next((rates[kind].at(input_tokens) for kind in kinds if kind in rates), 0.0)

    def _input_cost(self, view: SessionView, total: int, read: int) -> float | None:
        """The cost of so much input if a part of it is read from the cache and the rest is written."""
        target = self._target(view.spec)
        price, ttl = price_of(target.facts), self._ttl(target)
        if price is None:
            return None
        written = total - read if ttl else 0
        usage = Usage(
            input=total,
            cache_read=read,
            cache_write=written,
            cache_write_1h=written if ttl == "1h" else 0,
            output=0,
        )
        details = cost_details(usage, price, self._when())
        return None if details is None else details.dollars

    def _ttl(self, target: Target) -> str:
        """The lifetime that the next request asks for; "" if it asks for none."""
        ttl = cache_ttl(engine_settings(self._current.layers, self._current.program.catalog).cache_ttl, target)
        return "" if ttl in (None, "off") else str(ttl)

    def _next(
        self,
        view: SessionView,
        spec: ModelSpec | None = None,
        layers: Layers | None = None,
        tools: Sequence[ToolSchema] | None = None,
    ) -> NextRequest:
        target, layers = self._target(spec or view.spec), layers if layers is not None else self._current.layers
        settings = layers.settings()
        parts = view.meter.parts if view.meter is not None else {}
        quirks = effective_quirks(target.provider, target.facts)
        rules = engine_settings(layers, self._current.program.catalog).rules
        searching = settings.tools.enabled and settings.tools.webSearch
        functions = self._current.program.session_toolbox.schemas() if tools is None else tuple(tools)
        functions = functions if settings.tools.enabled else ()
        offered = offered_tools(target, functions, web_search=searching)
        language = system_language(_turns(view), settings.reasoning.language.strip())
        system = with_project(settings.generation.system, self._current.program.project_text)
        return NextRequest(
            provider=target.origin.provider,
            model=target.origin.model,
            level=view.plan.level,
            thinking=thinking_digest(view.plan),
            tools=self._tools_digest(offered),
            system=text_digest(with_language(system, language)),
            history=history_digest(view.compression),
            rules=rules_name(rules),
            has_thinking=bool(parts.get(Part.THINKING_SENT) or parts.get(Part.THINKING_STRIPPED)),
            has_marks=quirks.prompt_cache in ("top_level", "parts") and target.facts.prompt_cache == "marks",
            tools_tokens=parts.get(Part.TOOLS, 0),
            system_tokens=parts.get(Part.SYSTEM, 0) + parts.get(Part.PROJECT, 0),
        )

    def _tools_digest(self, offered: OfferedTools) -> str:
        if offered != self._tools[0]:
            self._tools = (offered, tools_digest(offered.functions, offered.server_tools))
        return self._tools[1]

    def _target(self, spec: ModelSpec) -> Target:
        return self._current.program.planner.target(spec)

    def _input(self, view: SessionView, kept: int = 0) -> int:
        """The size of the next request, which contains at least what is kept of the last one."""
        return max(kept, view.meter.effective if view.meter is not None else 0)

    def _when(self) -> datetime:
        return datetime.fromtimestamp(self.now(), UTC)


def _turns(view: SessionView) -> Sequence[Turn]:
    return view.turns if view.open_turn is None else (*view.turns, view.open_turn)


def _read_by(turns: Sequence[Turn], turn_id: str, kept: int) -> int:
    """The part of the cached tokens that is sent when this turn is asked again."""
    turn = next((turn for turn in turns if turn.id == turn_id), None)
    first = next((message for message in turn.messages if message.cache is not None), None) if turn else None
    return kept if first is None else min(kept, cached_tokens(first))


def _with_levels(cost: str, before: BeforeChange, spec: ModelSpec, level: str) -> str:
    """``high → med: rewrites 182k cached tokens, about $0.72``: the levels are named if only they differ."""
    same_model = (before.spec.provider, before.spec.model) == (spec.provider, spec.model)
    return f"{before.level} → {level}: {cost}" if cost and same_model and before.level != level else cost


def _tokens(state: CacheState | None) -> int:
    return 0 if state is None else state.tokens


def _short(tokens: int) -> str:
    """940, 58k, 1.2M."""
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.1f}M"


def with_cost(message: str, cost: str) -> str:
    """Add what a change costs to its message."""
    return f"{message} — {cost}" if cost else message
