"""Builds requests from turns and settings, with the catalogue's plan and the context package's selection."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.catalog.catalog import Catalog, effective_quirks
from tui.catalog.facts import Target
from tui.catalog.plan import DynamicBudget, least_thinking, plan
from tui.catalog.provider_rows import cache_ttl
from tui.context.select import select
from tui.context.thinking_back import SelectionRepair
from tui.context.thinking_language import system_language, with_language
from tui.domain.blocks import Block
from tui.domain.messages import Origin, Role, Turn
from tui.domain.request import ChatRequest, with_instruction, with_project
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan
from tui.domain.usage import MeterReading, Usage
from tui.engine.offered_tools import offered_tools
from tui.engine.refused_parameters import without_parameter
from tui.engine.request_inputs import Repairs, RequestInputs, opened_window
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

if TYPE_CHECKING:
    from tui.catalog.prices import Rate


DEFAULT_LEVEL = ThinkingLevel.MED
"""Level if none is chosen."""


ASSUMED_OUTPUT = 131_072
"""Output tokens of a model whose output limit and context window are unknown, for the most a request may cost."""
ASSUMED_SEARCHES = 10
"""Web searches of one request, for the most it may cost; providers have no limit of their own."""
KEPT_REQUESTS = 3
"""Cached requests of a session: the one for the draft, the running one and the one being compressed."""


def _unknown(provider: str, base_url: str) -> str:
    return ""


class Planner:
    """The engine's planner over the catalogue and the context package."""

    def __init__(
        self,
        catalog: Catalog,
        token_meter: TokenMeter,
        account: Callable[[str, str], str] = _unknown,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``account`` names the account at (provider, base URL) without revealing the key; "" while it is unknown."""
        self.catalog = catalog
        """``change_catalog`` replaces it by a newer one, which applies from the next request on."""
        self._changing = threading.Lock()
        self._token_meter = token_meter
        self._account = account
        self._now = now
        self._made: dict[str, deque[tuple[RequestInputs, ChatRequest]]] = {}

    def change_catalog(self, change: Callable[[Catalog], Catalog]) -> None:
        """Replace the catalogue by what ``change`` makes of it; several threads learn about models."""
        with self._changing:
            self.catalog = change(self.catalog)

    def target(self, spec: ModelSpec) -> Target:
        """The target for a model name; raises UnknownModel."""
        provider = self.catalog.provider(spec.provider)
        facts = self.catalog.find(spec.provider, spec.model)
        host = urlsplit(provider.base_url_for(facts.wire)).netloc.rpartition("@")[2].lower()
        origin = Origin(provider=provider.id, wire=facts.wire, host=host, model=facts.id, family=facts.family)
        return Target(provider=provider, facts=facts, origin=origin)

    def stamp(self, target: Target) -> Origin:
        """The origin of an answer from this target; its account is known once its key was looked up."""
        base_url = target.provider.base_url_for(target.facts.wire)
        return replace(target.origin, account=self._account(target.provider.id, base_url))

    def plan(self, inputs: RequestInputs) -> ThinkingPlan:
        """The thinking plan for the request."""
        made = self._plan(inputs, None)
        if not inputs.settings.dynamic_budget:
            return made
        weight = self._token_meter.reading(inputs, self._request(inputs, made)).effective
        return self._plan(inputs, weight)

    def request(self, inputs: RequestInputs) -> ChatRequest:
        """The request to send."""
        kept = self._made.setdefault(inputs.session, deque(maxlen=KEPT_REQUESTS))
        for made, request in tuple(kept):
            if _same_but_for_the_draft(made, inputs):
                return request
        request = self._request(inputs, self.plan(inputs))
        for name in inputs.repairs.without:
            request = without_parameter(request, name)
        kept.append((inputs, request))
        return request

    def forget(self, session: str) -> None:
        """Drop what is cached for a session that was closed."""
        self._made.pop(session, None)
        self._token_meter.forget(session)

    def meter(self, inputs: RequestInputs) -> MeterReading:
        """The size of that request."""
        return self._token_meter.reading(inputs, self.request(inputs))

    def learn(self, inputs: RequestInputs, usage: Usage) -> None:
        """Record the usage the provider reported for this request.

        The input of a response with searches contains their results, so it says nothing about the request.
        """
        if usage.searches:
            return
        self._token_meter.learn(inputs, self.request(inputs), usage)

    def resume(self, inputs: RequestInputs) -> None:
        """Anchor the meter of a stored conversation at its last reported usage."""
        found = as_last_asked(inputs)
        if found is not None:
            self._token_meter.resume(found[0], self.request(found[0]), found[1])

    def nearest(self, spec: ModelSpec) -> tuple[str, ...]:
        """Names of models the user may have meant."""
        from tui.catalog.similar_models import nearest_models  # only needed for an unknown name

        name = f"{spec.provider}/{spec.model}"
        return tuple(found for found in nearest_models(name, self.catalog) if found != name)

    def cost(self, target: Target, usage: Usage) -> float | None:
        """Dollars as reported by the provider, otherwise by today's prices; None if something is unknown."""
        if usage.cost is not None:
            return usage.cost
        from tui.catalog.prices import cost_details, price_of  # the table is read with the first answer

        price = price_of(target.facts)
        details = cost_details(usage, price, datetime.fromtimestamp(self._now(), UTC)) if price is not None else None
        fee = self._search_fee(target, usage)
        return None if details is None or fee is None else details.dollars + fee

    def _search_fee(self, target: Target, usage: Usage) -> float | None:
        if not usage.searches:
            return 0.0
        from tui.catalog.web_search import search_fee  # only after a search

        return search_fee(target.provider, target.facts, usage)

    def worst_cost(self, inputs: RequestInputs, request: ChatRequest, output: int | None = None) -> float | None:
        """The most this request may cost now, in dollars; None if the price is unknown.

        Its input is the estimate with a margin, none of it read from a cache. Its output is the output limit, or
        ``output`` tokens if that many arrived.
        """
        if inputs.target.provider.costs_nothing:
            return 0.0
        facts, rates = inputs.target.facts, self.rates(inputs.target)
        if "input" not in rates or "output" not in rates:
            return None
        reading = self._token_meter.reading(replace(inputs, draft="", arriving=None), request)
        sent = math.ceil(reading.effective * self._token_meter.margin(inputs))
        if output is None:
            limit = request.max_output or request.plan.max_output or facts.max_output
            output = _smaller(limit, facts.context_window) or ASSUMED_OUTPUT
        written = "cache_write_1h" if request.cache_ttl == "1h" else "cache_write"
        dearest = max(rates[kind].at(sent) for kind in ("input", "cache_write", written) if kind in rates)
        generated = max(rates[kind].at(sent) for kind in ("output", "thinking") if kind in rates)
        fee = self._search_fee(inputs.target, Usage(searches=ASSUMED_SEARCHES if request.server_tools else None))
        return (sent * dearest + output * generated) / 1_000_000 + (fee or 0.0)

    def rates(self, target: Target) -> Mapping[str, Rate]:
        """The model's prices now; empty if they are unknown."""
        from tui.catalog.prices import price_of  # the table is read when it is first needed

        price = price_of(target.facts)
        return {} if price is None else price.at(datetime.fromtimestamp(self._now(), UTC))

    def cached_tokens(self, inputs: RequestInputs, request: ChatRequest) -> int:
        """How many tokens of this request the provider's prompt cache still has, as far as is known."""
        from tui.context.prompt_cache import NextRequest, cache_state, record_request  # loaded with the first answer

        target, now = inputs.target, self._now()
        quirks = effective_quirks(target.provider, target.facts)
        record = record_request(request, inputs.compression, inputs.settings.rules, at=now)
        following = NextRequest(
            provider=target.origin.provider,
            model=target.origin.model,
            level=request.plan.level,
            tools=record.tools,
            system=record.system,
            history=record.history,
            rules=record.rules,
            thinking=record.thinking,
            has_thinking=True,
            has_marks=quirks.prompt_cache in ("top_level", "parts") and target.facts.prompt_cache == "marks",
            tools_tokens=0,
            system_tokens=0,
        )
        state = cache_state(inputs.turns, following, now)
        return 0 if state is None else state.tokens

    def with_least_thinking(self, inputs: RequestInputs) -> RequestInputs | None:
        """The same request with the least thinking the model has; None if it cannot ask for less than now.

        In a tool loop thinking is only switched off if the loop is sent as before, or if the model has no other level.
        Otherwise the loop may be sent without its earlier thinking, and its prompt cache is not read.
        """
        before = self.request(inputs)
        turn = frozenset(message.id for message in inputs.turns[-1].messages) if inputs.turns else frozenset[str]()
        lowest: RequestInputs | None = None
        for least in least_thinking(inputs.target.facts):
            lower = replace(
                inputs, spec=replace(inputs.spec, asked=_level_of(least)), settings=_least(inputs.settings, least)
            )
            request = self.request(lower)
            if request.plan.fields == before.plan.fields:
                return None
            if _sent_of(turn, request) == _sent_of(turn, before):
                return lower
            lowest = lowest or lower
        return lowest

    def quiet_plan(self, target: Target) -> ThinkingPlan:
        """The least thinking a model supports, for summaries and titles."""
        return plan(target.facts, target.provider, ThinkingLevel.NONE, with_tools=False)

    def _plan(self, inputs: RequestInputs, context_tokens: int | None) -> ThinkingPlan:
        settings, asked = inputs.settings, inputs.spec.asked
        dynamic = DynamicBudget(threshold=settings.dynamic_budget_above) if settings.dynamic_budget else None
        return plan(
            inputs.target.facts,
            inputs.target.provider,
            asked if asked is not None else DEFAULT_LEVEL,
            max_output=_smaller(settings.max_output, inputs.repairs.max_output),
            context_tokens=context_tokens,
            dynamic_budget=dynamic,
            with_tools=bool(inputs.tools),
            effort_override=settings.effort,
            max_tokens_override=settings.thinking_tokens,
            overriding_source=settings.overriding_source,
            enabled=settings.thinking,
            summary=settings.summary,
        )

    def _request(self, inputs: RequestInputs, made: ThinkingPlan) -> ChatRequest:
        target, settings = inputs.target, inputs.settings
        offered = offered_tools(target, inputs.tools, web_search=settings.web_search)
        tools = offered.functions
        quirks = effective_quirks(target.provider, target.facts)
        language = system_language(inputs.turns, settings.language)
        outgoing = select(
            inputs.turns,
            rules=settings.rules,
            target=self.stamp(target),
            facts=target.facts,
            quirks=quirks,
            plan=made,
            has_tools=bool(tools),
            compression=inputs.compression,
            repair=_repairs(inputs.repairs),
            nudge=inputs.repairs.nudge,
            language=language,
        )
        if offered.warnings:
            outgoing = replace(outgoing, warnings=(*outgoing.warnings, *offered.warnings))
        form, system = None, with_language(with_project(settings.system, settings.project), language)
        if settings.answer_schema is not None:
            from tui.catalog.answer_format import answer_format  # rarely needed: only scripts ask for a schema

            form = answer_format(target.facts.wire, settings.answer_schema, quirks, with_tools=bool(tools))
            system = with_instruction(system, form.instruction) if form.in_words else system
        request = ChatRequest(
            model=target.facts.id,
            outgoing=outgoing,
            plan=made,
            system=system,
            project=settings.project,
            answer_format=form,
            tools=tools,
            server_tools=offered.server_tools,
            max_output=made.max_output,
            temperature=settings.temperature,
            top_p=settings.top_p,
            num_ctx=opened_window(inputs),
            continuation=inputs.continuation,
            cache_key=inputs.session,
            cache_ttl=cache_ttl(settings.cache_ttl, target),
            extra_body=target.provider.extra_body,
        )
        if settings.temperature is None and settings.top_p is None:
            return request
        from tui.context.wire_rules import dropped_settings  # rarely needed: most users set neither

        left_out = dropped_settings(request, target.facts.wire, quirks)
        return replace(request, outgoing=replace(outgoing, warnings=(*outgoing.warnings, *left_out)))


def _sent_of(turn: frozenset[str], request: ChatRequest) -> list[tuple[Block, ...]]:
    """What a request contains of the messages of a turn."""
    return [message.blocks for message in request.outgoing.messages if message.source_id in turn]


def _level_of(least: Asked | str) -> Asked:
    return least if isinstance(least, ThinkingLevel | int) else ThinkingLevel.NONE


def _least(settings: EngineSettings, least: Asked | str) -> EngineSettings:
    """Settings that do not replace the level, except by an effort word that has no level."""
    effort = None if isinstance(least, ThinkingLevel | int) else least
    return replace(
        settings, thinking=True, effort=effort, thinking_tokens=None, overriding_source="", dynamic_budget=False
    )


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((number for number in (one, other) if number is not None), default=None)


def _repairs(repairs: Repairs) -> frozenset[SelectionRepair]:
    chosen = (
        (SelectionRepair.DROP_THINKING, repairs.without_thinking),
        (SelectionRepair.BLANK_THINKING, repairs.blank_thinking),
    )
    return frozenset(repair for repair, wanted in chosen if wanted)


def _same_but_for_the_draft(one: RequestInputs, other: RequestInputs) -> bool:
    """Whether only the draft differs. Large parts are compared by identity, so this is cheap for every keystroke."""
    return (
        one.turns is other.turns
        and one.compression is other.compression
        and one.target is other.target
        and one.settings is other.settings
        and one.tools is other.tools
        and (one.session, one.spec, one.repairs, one.continuation)
        == (other.session, other.spec, other.repairs, other.continuation)
    )


def as_last_asked(inputs: RequestInputs) -> tuple[RequestInputs, Usage] | None:
    """The input and usage of this conversation's last counted answer, or None if unknown."""
    if inputs.compression is not None:
        return None  # the answer may be older than the summary
    origin = inputs.target.origin
    for number in range(len(inputs.turns) - 1, -1, -1):
        turn = inputs.turns[number]
        for position in range(len(turn.messages) - 1, -1, -1):
            message = turn.messages[position]
            if message.role is not Role.ASSISTANT or message.usage is None or message.usage.input is None:
                continue
            if message.usage.searches:
                return None  # the input contains what they found
            made = message.origin
            if made is None or (made.provider, made.model) != (origin.provider, origin.model):
                return None
            before = Turn(id=turn.id, messages=turn.messages[:position], open=True)
            return replace(inputs, turns=(*inputs.turns[:number], before), draft=""), message.usage
    return None
