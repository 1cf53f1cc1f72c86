"""Turns and settings to a request: the catalogue's plan and the context room's selection, put together in one place."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from tui.catalog.facts import Price
from tui.catalog.load import Catalog, effective_quirks
from tui.catalog.plan import DynamicBudget, plan
from tui.catalog.spec import nearest_models
from tui.context.outgoing import select
from tui.context.thinking_back import Repair
from tui.domain.messages import Origin
from tui.domain.request import ChatRequest
from tui.domain.thinking import ModelSpec, ThinkingLevel, ThinkingPlan
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import Ask, Target
from tui.engine.without import without_parameter

DEFAULT_LEVEL = ThinkingLevel.MED
"""Where nobody says a level."""


class Scales(Protocol):
    """Weighs requests in tokens, and learns from what providers report."""

    def reading(self, ask: Ask, request: ChatRequest) -> MeterReading:
        """What a request, and the draft in the ask, would weigh."""
        ...

    def learn(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """What it really weighed."""
        ...


class CataloguePlanner:
    """The engine's planner over the real catalogue and the real selection."""

    def __init__(self, catalog: Catalog, scales: Scales) -> None:
        self.catalog = catalog
        """May be replaced by a newer one; it holds from the next request on."""
        self._scales = scales
        self._last: tuple[Ask, ChatRequest] | None = None

    def target(self, spec: ModelSpec) -> Target:
        """Where a name leads; raises UnknownModel."""
        provider = self.catalog.provider(spec.provider)
        facts = self.catalog.find(spec.provider, spec.model)
        host = urlsplit(provider.base_url_for(facts.wire)).netloc.lower()
        origin = Origin(provider=provider.id, wire=facts.wire, host=host, model=facts.id, family=facts.family)
        return Target(provider=provider, facts=facts, origin=origin)

    def plan(self, ask: Ask) -> ThinkingPlan:
        """How the thinking will be controlled."""
        made = self._plan(ask, None)
        if not ask.settings.dynamic_budget:
            return made
        weight = self._scales.reading(ask, self._request(ask, made)).effective
        return self._plan(ask, weight)

    def request(self, ask: Ask) -> ChatRequest:
        """The request itself."""
        last = self._last
        if last is not None and _same_but_for_the_draft(last[0], ask):
            return last[1]
        request = self._request(ask, self.plan(ask))
        for name in ask.repairs.without:
            request = without_parameter(request, name)
        self._last = (ask, request)
        return request

    def meter(self, ask: Ask) -> MeterReading:
        """What that request would weigh."""
        return self._scales.reading(ask, self.request(ask))

    def learn(self, ask: Ask, usage: Usage) -> None:
        """The provider reported what this request really weighed."""
        self._scales.learn(ask, self.request(ask), usage)

    def nearest(self, spec: ModelSpec) -> tuple[str, ...]:
        """Names of models the user may have meant."""
        name = f"{spec.provider}/{spec.model}"
        return tuple(found for found in nearest_models(name, self.catalog) if found != name)

    def cost(self, target: Target, usage: Usage) -> float | None:
        """Dollars: the provider's own word, else by the catalogue's prices; None where something is unknown."""
        if usage.cost is not None:
            return usage.cost
        return None if target.facts.price is None else priced(usage, target.facts.price)

    def quiet_plan(self, target: Target) -> ThinkingPlan:
        """As little thinking as a model can do, for chores such as summaries."""
        return plan(target.facts, target.provider, ThinkingLevel.NONE, with_tools=False)

    def _plan(self, ask: Ask, context_tokens: int | None) -> ThinkingPlan:
        settings, asked = ask.settings, ask.spec.asked
        dynamic = DynamicBudget(threshold=settings.dynamic_budget_above) if settings.dynamic_budget else None
        return plan(
            ask.target.facts,
            ask.target.provider,
            asked if asked is not None else DEFAULT_LEVEL,
            max_output=settings.max_output,
            context_tokens=context_tokens,
            dynamic_budget=dynamic,
            with_tools=bool(ask.tools),
            effort_override=settings.effort,
            max_tokens_override=settings.thinking_tokens,
            enabled=settings.thinking,
            summary=settings.summary,
        )

    def _request(self, ask: Ask, made: ThinkingPlan) -> ChatRequest:
        target, settings = ask.target, ask.settings
        tools = ask.tools if target.facts.tools else ()
        outgoing = select(
            ask.turns,
            rules=settings.rules,
            target=target.origin,
            facts=target.facts,
            quirks=effective_quirks(target.provider, target.facts),
            plan=made,
            has_tools=bool(tools),
            compression=ask.view,
            repair=frozenset({Repair.DROP_THINKING}) if ask.repairs.without_thinking else None,
        )
        return ChatRequest(
            model=target.facts.id,
            outgoing=outgoing,
            plan=made,
            system="\n\n".join(part for part in (settings.system, ask.repairs.nudge) if part),
            tools=tools,
            max_output=made.max_output,
            temperature=settings.temperature,
            top_p=settings.top_p,
            num_ctx=settings.context_limit or target.facts.context_window,
            continuation=ask.continuation,
            cache_key=ask.session,
            extra_body=target.provider.extra_body,
        )


def _same_but_for_the_draft(one: Ask, other: Ask) -> bool:
    """Typing changes nothing about the request; big parts are compared by identity, so it costs nothing either."""
    return (
        one.turns is other.turns
        and one.view is other.view
        and one.target is other.target
        and one.settings is other.settings
        and one.tools is other.tools
        and (one.session, one.spec, one.repairs, one.continuation)
        == (other.session, other.spec, other.repairs, other.continuation)
    )


def priced(usage: Usage, price: Price) -> float | None:
    """Dollars for one response. Cached tokens cost their own price, or the plain one where that is not known."""
    if usage.input is None or usage.output is None or price.input is None or price.output is None:
        return None
    read, written = usage.cache_read or 0, usage.cache_write or 0
    plain = max(usage.input - read - written, 0)
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    dollars = plain * price.input + read * read_price + written * write_price + usage.output * price.output
    return dollars / 1_000_000
