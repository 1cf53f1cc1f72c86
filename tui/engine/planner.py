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
from tui.catalog.facts import ModelFacts, Target
from tui.catalog.plan import DynamicBudget, least_thinking, plan
from tui.catalog.provider_rows import cache_ttl
from tui.context.calibration import Anchor, Calibration, calibration_key, can_be_right
from tui.context.meter import ArrivingAnswer, Tally, WindowLimits, reading_of, tally, updated_calibration, with_arriving
from tui.context.select import select
from tui.context.thinking_back import Repair
from tui.domain.blocks import Block
from tui.domain.compression import CompressionView
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin, Role, Turn, WireName
from tui.domain.request import ChatRequest, ToolSchema, with_instruction
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel, ThinkingPlan
from tui.domain.usage import MeterReading, Part, Usage
from tui.engine.refused_parameters import without_parameter
from tui.engine.settings import EngineSettings

if TYPE_CHECKING:
    from tui.catalog.prices import Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Changes to a request that a provider refused."""

    without: tuple[str, ...] = ()
    """Parameters the provider named as unsupported."""
    without_thinking: bool = False
    """Send no thinking of earlier turns: the provider refused its signatures."""
    blank_thinking: bool = False
    """Send a blank as the thinking of answers that have none: the server requires thinking."""
    max_output: int | None = None
    """The largest output limit that the server accepts for this request."""
    nudge: str = ""
    """A sentence sent after the last message when an answer was empty. In the system prompt it would make the
    provider's prompt cache useless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The input of the next request."""

    session: str
    turns: tuple[Turn, ...]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    tools: tuple[ToolSchema, ...] = ()
    view: CompressionView | None = None
    draft: str = ""
    """The prompt being typed; only counted by the meter."""
    repairs: Repairs = Repairs()
    continuation: str | None = None
    arriving: ArrivingAnswer | None = None
    """What the last message stands for if it is an excerpt of an arriving answer; only used by the meter."""


OPENED = 32_768
"""Context tokens a local server is asked to allocate. A model's whole window can take more memory than the machine
has; users with enough memory set ``context.limit``.
"""


def opened_window(ask: Ask) -> int | None:
    """The user's limit; a modest default on wires where the request sets the server's context size; otherwise None."""
    if ask.settings.context_limit is not None:
        return ask.settings.context_limit
    if ask.target.facts.wire is not WireName.OLLAMA:
        return None
    return min(ask.target.facts.context_window or OPENED, OPENED)


DEFAULT_LEVEL = ThinkingLevel.MED
"""Level if none is chosen."""


KEPT_TALLIES = 3
"""Number of requests of a session whose count is cached; equal to the planner's cache."""
BELIEVED = (0.5, 2.0)
"""A stored count that differs this much from the estimate was made with other settings."""
BELIEVED_KNOWN = (0.75, 1.33)
"""The same for a model whose token counting was calibrated."""


MARGIN = 1.1
"""The largest error of estimates for a model whose reported counts are known, as a factor."""
MARGIN_UNKNOWN = 1.3
"""The same for a model that has not reported a count yet."""


class TokenMeter:
    """Counts a request once, however often the draft beside it changes."""

    def __init__(
        self, calibration: Calibration | None = None, keep: Callable[[Calibration], None] | None = None
    ) -> None:
        """``keep`` receives everything that was learned, to store it."""
        self.calibration = calibration or Calibration()
        self._keep = keep
        self._anchors: dict[tuple[str, str], Anchor] = {}
        self._counted: dict[str, deque[tuple[ChatRequest, ModelFacts, bool, Tally]]] = {}
        """By session, so that sessions that run side by side do not push out each other's counts."""

    def reading(self, ask: Ask, request: ChatRequest) -> MeterReading:
        """The size of the request, including the draft in the ask."""
        counted, settings = self._tally(ask, request), ask.settings
        if ask.arriving is not None:
            counted = with_arriving(counted, request.outgoing, ask.arriving)
        return reading_of(
            counted,
            ask.target.facts,
            draft=ask.draft,
            room=WindowLimits(limit=opened_window(ask), reserved=settings.reserve, compress_at=settings.compress_at),
            calibration=self.calibration,
            anchor=self._anchors.get((ask.session, counted.key)),
        )

    def margin(self, ask: Ask) -> float:
        """The factor by which a request may be larger than its estimate."""
        facts = ask.target.facts
        known = self.calibration.of(calibration_key(facts.provider, facts.id))
        return MARGIN if known.openings or known.openings_with_tools or known.steps else MARGIN_UNKNOWN

    def learn(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """Record the reported usage of a request; implausible values are ignored."""
        counted = self._tally(ask, request)
        guessed = counted.pictures + counted.parts[Part.THINKING_SENT] + counted.parts[Part.TOOLS]
        if usage.input is None or not can_be_right(counted.estimate, usage.input, guessed=guessed):
            return
        before = self._anchors.get((ask.session, counted.key))
        self.calibration = updated_calibration(self.calibration, counted, usage.input, before, ask.target.facts.counted)
        self._anchors[ask.session, counted.key] = self._tally(ask, request).anchor(usage.input)
        if self._keep is not None:
            self._keep(self.calibration)

    def resume(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """Anchor a stored conversation at its last reported usage, unless that was made with other settings."""
        counted = self._tally(ask, request)
        if usage.input is None or counted.estimate <= 0:
            return
        known = self.calibration.of(counted.key)
        learned = known.openings_with_tools if counted.tools else known.openings
        expected = self.calibration.predict(counted.key, counted.estimate, tools=counted.tools)
        lowest, highest = BELIEVED_KNOWN if learned else BELIEVED
        if (counted.estimate, usage.input) in learned or lowest <= usage.input / expected <= highest:
            self._anchors[ask.session, counted.key] = counted.anchor(usage.input)

    def _tally(self, ask: Ask, request: ChatRequest) -> Tally:
        facts = ask.target.facts
        key = calibration_key(facts.provider, facts.id)
        counts = self.calibration.counted_thinking(key, facts.counted)
        if counts is not facts.counted:
            facts = replace(facts, counted=counts)
        with_tools = self.calibration.of(key).counts_tools
        kept = self._counted.setdefault(ask.session, deque(maxlen=KEPT_TALLIES))
        for known, under, tools_counted, counted in tuple(kept):
            if known is request and under.counted is counts and tools_counted is with_tools:
                return counted
        made = tally(
            request.outgoing,
            ask.turns,
            facts,
            system=request.system,
            tools=request.tools if with_tools else (),
            thinks=request.plan.thinks,
        )
        kept.append((request, facts, with_tools, made))
        return made

    def forget(self, session: str) -> None:
        """Drop what is cached for a session that was closed."""
        self._counted.pop(session, None)


ASSUMED_OUTPUT = 131_072
"""Output tokens of a model whose output limit and context window are unknown, for the most a request may cost."""
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
        self._made: dict[str, deque[tuple[Ask, ChatRequest]]] = {}

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

    def plan(self, ask: Ask) -> ThinkingPlan:
        """The thinking plan for the request."""
        made = self._plan(ask, None)
        if not ask.settings.dynamic_budget:
            return made
        weight = self._token_meter.reading(ask, self._request(ask, made)).effective
        return self._plan(ask, weight)

    def request(self, ask: Ask) -> ChatRequest:
        """The request to send."""
        kept = self._made.setdefault(ask.session, deque(maxlen=KEPT_REQUESTS))
        for made, request in tuple(kept):
            if _same_but_for_the_draft(made, ask):
                return request
        request = self._request(ask, self.plan(ask))
        for name in ask.repairs.without:
            request = without_parameter(request, name)
        kept.append((ask, request))
        return request

    def forget(self, session: str) -> None:
        """Drop what is cached for a session that was closed."""
        self._made.pop(session, None)
        self._token_meter.forget(session)

    def meter(self, ask: Ask) -> MeterReading:
        """The size of that request."""
        return self._token_meter.reading(ask, self.request(ask))

    def learn(self, ask: Ask, usage: Usage) -> None:
        """Record the usage the provider reported for this request."""
        self._token_meter.learn(ask, self.request(ask), usage)

    def resume(self, ask: Ask) -> None:
        """Anchor the meter of a stored conversation at its last reported usage."""
        found = as_last_asked(ask)
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
        return None if details is None else details.dollars

    def worst_cost(self, ask: Ask, request: ChatRequest, output: int | None = None) -> float | None:
        """The most this request may cost now, in dollars; None if the price is unknown.

        Its input is the estimate with a margin, none of it read from a cache. Its output is the output limit, or
        ``output`` tokens if that many arrived.
        """
        if ask.target.provider.costs_nothing:
            return 0.0
        facts, rates = ask.target.facts, self.rates(ask.target)
        if "input" not in rates or "output" not in rates:
            return None
        reading = self._token_meter.reading(replace(ask, draft="", arriving=None), request)
        sent = math.ceil(reading.effective * self._token_meter.margin(ask))
        if output is None:
            limit = request.max_output or request.plan.max_output or facts.max_output
            output = _smaller(limit, facts.context_window) or ASSUMED_OUTPUT
        written = "cache_write_1h" if request.cache_ttl == "1h" else "cache_write"
        dearest = max(rates[kind].at(sent) for kind in ("input", "cache_write", written) if kind in rates)
        generated = max(rates[kind].at(sent) for kind in ("output", "thinking") if kind in rates)
        return (sent * dearest + output * generated) / 1_000_000

    def rates(self, target: Target) -> Mapping[str, Rate]:
        """The model's prices now; empty if they are unknown."""
        from tui.catalog.prices import price_of  # the table is read when it is first needed

        price = price_of(target.facts)
        return {} if price is None else price.at(datetime.fromtimestamp(self._now(), UTC))

    def cached_tokens(self, ask: Ask, request: ChatRequest) -> int:
        """How many tokens of this request the provider's prompt cache still has, as far as is known."""
        from tui.context.prompt_cache import NextRequest, cache_state, record_request  # loaded with the first answer

        target, now = ask.target, self._now()
        quirks = effective_quirks(target.provider, target.facts)
        record = record_request(request, ask.view, ask.settings.rules, at=now)
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
        state = cache_state(ask.turns, following, now)
        return 0 if state is None else state.tokens

    def with_least_thinking(self, ask: Ask) -> Ask | None:
        """The same request with the least thinking the model has; None if it cannot ask for less than now.

        In a tool loop thinking is only switched off if the loop is sent as before, or if the model has no other level.
        Otherwise the loop may be sent without its earlier thinking, and its prompt cache is not read.
        """
        before = self.request(ask)
        turn = frozenset(message.id for message in ask.turns[-1].messages) if ask.turns else frozenset[str]()
        lowest: Ask | None = None
        for least in least_thinking(ask.target.facts):
            lower = replace(ask, spec=replace(ask.spec, asked=_level_of(least)), settings=_least(ask.settings, least))
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

    def _plan(self, ask: Ask, context_tokens: int | None) -> ThinkingPlan:
        settings, asked = ask.settings, ask.spec.asked
        dynamic = DynamicBudget(threshold=settings.dynamic_budget_above) if settings.dynamic_budget else None
        return plan(
            ask.target.facts,
            ask.target.provider,
            asked if asked is not None else DEFAULT_LEVEL,
            max_output=_smaller(settings.max_output, ask.repairs.max_output),
            context_tokens=context_tokens,
            dynamic_budget=dynamic,
            with_tools=bool(ask.tools),
            effort_override=settings.effort,
            max_tokens_override=settings.thinking_tokens,
            overriding_source=settings.overriding_source,
            enabled=settings.thinking,
            summary=settings.summary,
        )

    def _request(self, ask: Ask, made: ThinkingPlan) -> ChatRequest:
        target, settings = ask.target, ask.settings
        tools = ask.tools if target.facts.tools else ()
        quirks = effective_quirks(target.provider, target.facts)
        outgoing = select(
            ask.turns,
            rules=settings.rules,
            target=self.stamp(target),
            facts=target.facts,
            quirks=quirks,
            plan=made,
            has_tools=bool(tools),
            compression=ask.view,
            repair=_repairs(ask.repairs),
            nudge=ask.repairs.nudge,
        )
        form, system = None, settings.system
        if settings.answer_schema is not None:
            from tui.catalog.answer_format import answer_format  # rarely needed: only scripts ask for a schema

            form = answer_format(target.facts.wire, settings.answer_schema, quirks, with_tools=bool(tools))
            system = with_instruction(system, form.instruction) if form.in_words else system
        request = ChatRequest(
            model=target.facts.id,
            outgoing=outgoing,
            plan=made,
            system=system,
            answer_format=form,
            tools=tools,
            max_output=made.max_output,
            temperature=settings.temperature,
            top_p=settings.top_p,
            num_ctx=opened_window(ask),
            continuation=ask.continuation,
            cache_key=ask.session,
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


def _repairs(repairs: Repairs) -> frozenset[Repair]:
    chosen = (
        (Repair.DROP_THINKING, repairs.without_thinking),
        (Repair.BLANK_THINKING, repairs.blank_thinking),
    )
    return frozenset(repair for repair, wanted in chosen if wanted)


def _same_but_for_the_draft(one: Ask, other: Ask) -> bool:
    """Whether only the draft differs. Large parts are compared by identity, so this is cheap for every keystroke."""
    return (
        one.turns is other.turns
        and one.view is other.view
        and one.target is other.target
        and one.settings is other.settings
        and one.tools is other.tools
        and (one.session, one.spec, one.repairs, one.continuation)
        == (other.session, other.spec, other.repairs, other.continuation)
    )


def as_last_asked(ask: Ask) -> tuple[Ask, Usage] | None:
    """The input and usage of this conversation's last counted answer, or None if unknown."""
    if ask.view is not None:
        return None  # the answer may be older than the summary
    origin = ask.target.origin
    for number in range(len(ask.turns) - 1, -1, -1):
        turn = ask.turns[number]
        for position in range(len(turn.messages) - 1, -1, -1):
            message = turn.messages[position]
            if message.role is not Role.ASSISTANT or message.usage is None or message.usage.input is None:
                continue
            made = message.origin
            if made is None or (made.provider, made.model) != (origin.provider, origin.model):
                return None
            before = Turn(id=turn.id, messages=turn.messages[:position], open=True)
            return replace(ask, turns=(*ask.turns[:number], before), draft=""), message.usage
    return None
