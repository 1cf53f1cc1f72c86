"""``ponder wire encode``: the request that a conversation file would become, keys masked."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tui.catalog.facts import AuthStyle, ModelFacts, ProviderFacts
from tui.catalog.load import Catalog, effective_quirks
from tui.catalog.plan import DynamicBudget, plan
from tui.catalog.provider_rows import user_provider
from tui.catalog.quirks import Quirks
from tui.catalog.spec import parse_spec, split_asked
from tui.cli.conversation_file import Conversation, ResponsePlace, read_conversation
from tui.cli.user_catalog import say, user_catalog
from tui.context.outgoing import select
from tui.domain.blocks import ThinkingBlock
from tui.domain.errors import PonderError
from tui.domain.messages import Message, Origin, Turn, WireName
from tui.domain.request import ChatRequest
from tui.domain.thinking import (
    IncludeInContext,
    ModelSpec,
    ReasoningFormat,
    ReasoningRules,
    StripPolicy,
    ThinkingLevel,
    ThinkingPlan,
)
from tui.providers.address import joined
from tui.settings.layers import Layer, Layers
from tui.settings.schema import Settings
from tui.wires.json_text import dumps, loads
from tui.wires.read import children, text
from tui.wires.registry import wire_named
from tui.wires.wire import Encoded

MASK = "***"
AUTH_HEADERS = {
    AuthStyle.BEARER: ("authorization", f"Bearer {MASK}"),
    AuthStyle.X_API_KEY: ("x-api-key", MASK),
    AuthStyle.X_GOOG_API_KEY: ("x-goog-api-key", MASK),
}

SPELLING_ON = {WireName.OPENAI_CHAT: "openai-chat", WireName.OPENAI_RESPONSES: "openai-responses"}
"""How thinking is asked for on a wire that is not the model's usual one; only OpenAI's two have that."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.description = "Print the request that a conversation file would become, as JSON, keys masked."
    parser.add_argument("file", type=Path, metavar="FILE", help="a conversation file (JSON)")
    parser.add_argument("--model", required=True, metavar="NAME[/LEVEL]", help="the model to send to")
    parser.add_argument("--provider", metavar="P", help="its provider, where the name does not say it")
    parser.add_argument(
        "--set", action="append", default=[], dest="assignments", metavar="KEY=VALUE", help="a setting, as with /set"
    )
    parser.add_argument("--max-output", type=int, metavar="N", help="limit for the answer, thinking included")


def run(args: argparse.Namespace) -> int:
    """0 with the request on stdout, 2 with the reason on stderr."""
    try:
        print(encoded_request(args))
    except PonderError as error:
        say(error)
        return 2
    return 0


def encoded_request(args: argparse.Namespace) -> str:
    """The JSON line of the request."""
    user = user_catalog(os.environ).assigned(args.assignments)
    stamps = Stamps(user.catalog, args.provider)
    conversation = read_conversation(args.file, stamps.of)
    goal = _goal(args.model, stamps, conversation)
    settings = Layers().with_layer(Layer.COMMAND_LINE, user.settings_for(goal.facts)).settings()
    request = _request(conversation, goal, settings, args.max_output)
    for warning in (*stamps.remarks, *request.plan.warnings, *request.outgoing.warnings):
        print(f"ponder: {warning}", file=sys.stderr)
    spelled = wire_named(goal.facts.wire).encode(request, goal.quirks)
    return dumps(
        {
            "method": spelled.method,
            "url": joined(goal.provider.base_url_for(goal.facts.wire), spelled.path),
            "headers": _headers(goal.provider, spelled),
            "body": spelled.body,
        }
    )


@dataclass(slots=True)
class Stamps:
    """Where recorded responses came from, as the catalogue knows it.

    A recording may come from a place that has no row. It then is a place of its own, unless the user names the
    provider to continue at: then that is taken at its word, because nothing else is known of the place.
    """

    catalog: Catalog
    asked_provider: str | None
    remarks: list[str] = field(default_factory=list)

    def of(self, place: ResponsePlace) -> tuple[Origin, Quirks]:
        """The stamp of a response, and how its server differs."""
        provider = self._provider(place)
        facts = facts_on(self.catalog.find(provider.id, place.model), place.wire)
        return stamp(provider, facts), effective_quirks(provider, facts)

    def _provider(self, place: ResponsePlace) -> ProviderFacts:
        known = self.catalog.providers()
        if place.provider in known:
            return known[place.provider]
        asked = known.get(self.asked_provider or "")
        if asked is not None:
            self._remark(f"`{place.provider}` has no row: its responses are taken for `{asked.id}`'s.")
            return asked
        self._remark(f"`{place.provider}` has no row: it is taken for a server of the {place.wire} wire.")
        row = {"wire": place.wire.value, "base_url": f"https://{place.provider or 'unknown'}.invalid"}
        new = user_provider(place.provider or "unknown", row, "the conversation file")
        self.catalog = replace(self.catalog, own_providers={**self.catalog.own_providers, new.id: new})
        return new

    def _remark(self, sentence: str) -> None:
        if sentence not in self.remarks:
            self.remarks.append(sentence)


def facts_on(facts: ModelFacts, wire: WireName) -> ModelFacts:
    """The facts of a model that was spoken to on another wire than ours would be."""
    if facts.wire is wire:
        return facts
    return replace(facts, wire=wire, spelling=SPELLING_ON.get(wire, facts.spelling))


def stamp(provider: ProviderFacts, facts: ModelFacts) -> Origin:
    """What answers from there carry."""
    host = urlsplit(provider.base_url_for(facts.wire)).netloc.lower()
    return Origin(provider=provider.id, wire=facts.wire, host=host, model=facts.id, family=facts.family)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The model to send to."""

    spec: ModelSpec
    provider: ProviderFacts
    facts: ModelFacts
    quirks: Quirks


def _goal(name: str, stamps: Stamps, conversation: Conversation) -> Goal:
    if stamps.asked_provider is None:
        spec = parse_spec(name, stamps.catalog)
    else:
        model, asked = split_asked(name.removeprefix(f"{stamps.asked_provider}/"))
        spec = ModelSpec(provider=stamps.catalog.provider(stamps.asked_provider).id, model=model, asked=asked)
    provider = stamps.catalog.provider(spec.provider)
    facts = _on_the_recorded_wire(stamps.catalog.find(spec.provider, spec.model), conversation.turns)
    quirks = effective_quirks(provider, facts)
    described = provider.source.startswith("packaged") and facts.wire in (provider.wire, *provider.wire_quirks)
    if facts.wire is WireName.OPENAI_CHAT and not described:
        quirks = replace(quirks, thinking_back=_field_for(conversation.turns))
    return Goal(spec=spec, provider=provider, facts=facts, quirks=quirks)


def _answers(turns: Sequence[Turn]) -> Iterable[Message]:
    return (message for turn in reversed(turns) for message in reversed(turn.messages) if message.origin)


def _on_the_recorded_wire(facts: ModelFacts, turns: Sequence[Turn]) -> ModelFacts:
    """A conversation goes on where it was: on the wire of its last answer, if that came from the same model."""
    last = next((message.origin for message in _answers(turns)), None)
    if last is None or (last.provider, last.model) != (facts.provider, facts.id):
        return facts
    return facts_on(facts, last.wire)


def _field_for(turns: Sequence[Turn]) -> str:
    """Where a server nobody has described gets its thinking back: details if they are sealed, else the usual field."""
    thoughts = (block for message in _answers(turns) for block in message.blocks if isinstance(block, ThinkingBlock))
    details = (loads(block.seal.raw) for block in thoughts if block.seal is not None and block.seal.raw)
    entries = (entry for array in details for entry in children({"details": array}, "details"))
    sealed = any(text(entry, "format") not in ("", "unknown") or text(entry, "signature") for entry in entries)
    return "reasoning_details" if sealed else "reasoning_content"


def _request(conversation: Conversation, goal: Goal, settings: Settings, max_output: int | None) -> ChatRequest:
    tools = conversation.tools if settings.tools.enabled and goal.facts.tools else ()
    made = _plan(goal, settings, max_output or settings.generation.maxOutput, with_tools=bool(tools))
    outgoing = select(
        conversation.turns,
        rules=reasoning_rules(settings),
        target=stamp(goal.provider, goal.facts),
        facts=goal.facts,
        quirks=goal.quirks,
        plan=made,
        has_tools=bool(tools),
    )
    return ChatRequest(
        model=goal.facts.id,
        outgoing=outgoing,
        plan=made,
        system=conversation.system or settings.generation.system,
        tools=tools,
        temperature=settings.generation.temperature,
        top_p=settings.generation.topP,
        num_ctx=settings.context.limit,
        extra_body=goal.provider.extra_body,
    )


def _plan(goal: Goal, settings: Settings, max_output: int | None, *, with_tools: bool) -> ThinkingPlan:
    reasoning = settings.reasoning
    asked = goal.spec.asked
    dynamic = DynamicBudget(threshold=reasoning.dynamicBudgetAbove) if reasoning.dynamicBudget else None
    return plan(
        goal.facts,
        goal.provider,
        asked if asked is not None else ThinkingLevel.MED,
        max_output=max_output,
        with_tools=with_tools,
        dynamic_budget=dynamic,
        effort_override=reasoning.effort,
        max_tokens_override=reasoning.maxTokens,
        enabled=reasoning.enabled,
        summary=reasoning.summary,
    )


def reasoning_rules(settings: Settings) -> ReasoningRules:
    """What the settings say about thinking that goes back."""
    return ReasoningRules(
        include_in_context=IncludeInContext(settings.reasoning.includeInContext),
        strip=StripPolicy(settings.reasoning.stripFromContext),
        format=ReasoningFormat(settings.reasoning.format),
    )


def _headers(provider: ProviderFacts, spelled: Encoded) -> dict[str, str]:
    headers = {"content-type": "application/json", **provider.headers, **spelled.headers}
    auth = AUTH_HEADERS.get(provider.auth)
    if auth is not None:
        headers[auth[0]] = auth[1]
    return headers
