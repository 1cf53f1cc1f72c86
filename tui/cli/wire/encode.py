"""``ponder wire encode``: the request for a conversation file, with keys masked."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tui.app.engine_settings import engine_settings
from tui.catalog.catalog import Catalog, effective_quirks
from tui.catalog.facts import AuthStyle, ModelFacts, ProviderFacts, Quirks, Target
from tui.catalog.model_spec import parse_spec, split_asked
from tui.catalog.plan import PLAN_KEYS, default_level
from tui.catalog.provider_rows import user_provider
from tui.cli.main import add_set_option
from tui.cli.user_catalog import known_keys, print_messages, print_problem, user_catalog
from tui.cli.wire.conversation_file import ConversationFile, RecordedResponse, read_conversation
from tui.domain.blocks import ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import PonderError
from tui.domain.messages import Message, Origin, Turn, WireName
from tui.domain.printable import json_escaped
from tui.domain.request import ChatRequest
from tui.domain.thinking import ModelSpec
from tui.engine.planner import Planner
from tui.engine.request_inputs import RequestInputs
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter
from tui.providers.http.address import join_url
from tui.providers.http.request import public_headers
from tui.providers.keys import Keys
from tui.providers.redacted_request import shown_request
from tui.settings.layers import Layer
from tui.settings.paths import find_paths
from tui.wires.json_text import children, dumps, loads, text
from tui.wires.wire import EncodedRequest, wire_named

OF_THE_TRANSPORT = ("user-agent", "accept")
"""Headers that are the same for every request."""

SPELLING_ON = {WireName.OPENAI_CHAT: "openai-chat", WireName.OPENAI_RESPONSES: "openai-responses"}
"""Thinking control for wires that are not the model's usual one; only OpenAI's two have one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.description = "Print the request for a conversation file as JSON. Keys are masked."
    parser.add_argument("file", type=Path, metavar="FILE", help="a conversation file (JSON)")
    parser.add_argument("--model", required=True, metavar="NAME[/LEVEL]", help="the model to send to")
    parser.add_argument("--provider", metavar="P", help="the model's provider, if the name does not include it")
    add_set_option(parser)
    parser.add_argument("--max-output", type=int, metavar="N", help="the output limit, including thinking")


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the request on stdout, 2 with an error on stderr."""
    try:
        print(json_escaped(encoded_request(args)))
    except PonderError as error:
        print_problem(error)
        return 2
    return 0


def encoded_request(args: argparse.Namespace) -> str:
    """The JSON line of the request."""
    user = user_catalog(os.environ).assigned(args.assignments)
    stamps = RecordedOrigins(user.catalog, args.provider)
    conversation = read_conversation(args.file, stamps.of)
    goal = _goal(args.model, stamps, conversation)
    user.require_right_rows(goal.spec)
    layers = user.layers_for(goal.facts, level_chosen=goal.spec.asked is not None)
    if args.max_output is not None:
        layers = layers.with_value(Layer.COMMAND_LINE, "generation.maxOutput", args.max_output)
    if goal.spec.asked is None:
        values = {name: layers.for_plan(name) for name in PLAN_KEYS}
        goal = replace(goal, spec=replace(goal.spec, asked=default_level(values)))
    settings = engine_settings(layers, stamps.catalog)
    request = _request(conversation, goal, settings, args.file.name)
    for warning in (
        *stamps.remarks,
        *_reject_stray_results(conversation.turns),
        *request.plan.warnings,
        *request.outgoing.warnings,
    ):
        print_messages(f"ponder: {warning}")
    spelled = wire_named(goal.facts.wire).encode(request, goal.quirks)
    return dumps(
        shown_request(
            _as_asked(goal.provider),
            method=spelled.method,
            url=join_url(goal.provider.base_url_for(goal.facts.wire), goal.provider.paths.get("chat", spelled.path)),
            headers=_headers(goal.provider, spelled),
            body=spelled.body,
            redactor=known_keys(user, os.environ),
        )
    )


@dataclass(slots=True)
class RecordedOrigins:
    """Sources of recorded responses, by the catalogue.

    A recording may come from an uncatalogued server, which is then a separate provider. If the user names the provider
    to continue at, the recording counts as that provider's.
    """

    catalog: Catalog
    asked_provider: str | None
    remarks: list[str] = field(default_factory=list)

    def of(self, source: RecordedResponse) -> tuple[Origin, Quirks]:
        """The origin of a response, and its server's quirks."""
        provider = self._provider(source)
        facts = facts_on(self.catalog.find(provider.id, source.model), source.wire)
        return stamp(provider, facts), effective_quirks(provider, facts)

    def _provider(self, source: RecordedResponse) -> ProviderFacts:
        known = self.catalog.providers()
        if source.provider in known:
            return known[source.provider]
        asked = known.get(self.asked_provider or "")
        if asked is not None:
            self._remark(f"`{source.provider}` has no row: its responses are taken for `{asked.id}`'s.")
            return asked
        self._remark(f"`{source.provider}` has no row: it is taken for a server of the {source.wire} wire.")
        row = {"wire": source.wire.value, "base_url": f"https://{source.provider or 'unknown'}.invalid"}
        new = user_provider(source.provider or "unknown", row, "the conversation file")
        self.catalog = replace(self.catalog, own_providers={**self.catalog.own_providers, new.id: new})
        return new

    def _remark(self, sentence: str) -> None:
        if sentence not in self.remarks:
            self.remarks.append(sentence)


def facts_on(facts: ModelFacts, wire: WireName) -> ModelFacts:
    """The facts of a model used on another wire than the catalogue's."""
    if facts.wire is wire:
        return facts
    return replace(facts, wire=wire, spelling=SPELLING_ON.get(wire, facts.spelling))


def stamp(provider: ProviderFacts, facts: ModelFacts) -> Origin:
    """What responses from this provider carry."""
    host = urlsplit(provider.base_url_for(facts.wire)).netloc.rpartition("@")[2].lower()
    return Origin(provider=provider.id, wire=facts.wire, host=host, model=facts.id, family=facts.family)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeTarget:
    """The model to send to."""

    spec: ModelSpec
    provider: ProviderFacts
    facts: ModelFacts
    quirks: Quirks


def _goal(name: str, stamps: RecordedOrigins, conversation: ConversationFile) -> EncodeTarget:
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
    return EncodeTarget(spec=spec, provider=provider, facts=facts, quirks=quirks)


def _answers(turns: Sequence[Turn]) -> Iterable[Message]:
    return (message for turn in reversed(turns) for message in reversed(turn.messages) if message.origin)


def _on_the_recorded_wire(facts: ModelFacts, turns: Sequence[Turn]) -> ModelFacts:
    """Continue on the wire of the last answer if that came from the same model."""
    last = next((message.origin for message in _answers(turns)), None)
    if last is None or (last.provider, last.model) != (facts.provider, facts.id):
        return facts
    return facts_on(facts, last.wire)


def _field_for(turns: Sequence[Turn]) -> str:
    """The field for earlier thinking on an unknown server: details if they are signed, otherwise the usual field."""
    thoughts = (block for message in _answers(turns) for block in message.blocks if isinstance(block, ThinkingBlock))
    details = (
        loads(block.provider_state.raw)
        for block in thoughts
        if block.provider_state is not None and block.provider_state.raw
    )
    entries = (entry for array in details for entry in children({"details": array}, "details"))
    signed = any(text(entry, "format") not in ("", "unknown") or text(entry, "signature") for entry in entries)
    return "reasoning_details" if signed else "reasoning_content"


def _request(conversation: ConversationFile, goal: EncodeTarget, settings: EngineSettings, name: str) -> ChatRequest:
    """The request as the engine builds it; ``name`` is used as the session."""
    provider = replace(goal.provider, wire=goal.facts.wire, quirks=goal.quirks, wire_quirks={})
    facts = replace(goal.facts, quirks={})
    inputs = RequestInputs(
        session=name,
        turns=conversation.turns,
        target=Target(provider=provider, facts=facts, origin=stamp(provider, facts)),
        spec=goal.spec,
        settings=replace(settings, system=conversation.system or settings.system),
        tools=conversation.tools if settings.tools and facts.tools else (),
    )
    return Planner(Catalog(), TokenMeter()).request(inputs)


def _reject_stray_results(turns: Sequence[Turn]) -> Iterable[str]:
    """Reject results that belong to no call."""
    called: set[str] = set()
    for message in (message for turn in turns for message in turn.messages):
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                called.add(block.call_id)
            elif isinstance(block, ToolResultBlock) and block.call_id not in called:
                yield f"The result for `{block.call_id}` is left out: no call before it has that id"


def _headers(provider: ProviderFacts, spelled: EncodedRequest) -> dict[str, str]:
    """The headers without the key and those that are the same for every request."""
    headers = public_headers(provider, spelled)
    return {name: value for name, value in headers.items() if name not in OF_THE_TRANSPORT}


def _as_asked(provider: ProviderFacts) -> ProviderFacts:
    """The provider as this user asks it: without a key by the token of a login, or by nothing if it is optional."""
    if not (provider.key_optional or provider.cloud) or _has_key(provider):
        return provider
    return replace(provider, auth=AuthStyle.BEARER if provider.cloud else AuthStyle.NONE)


def _has_key(provider: ProviderFacts) -> bool:
    try:
        return bool(Keys(find_paths(os.environ).credentials_file).source(provider))
    except PonderError:
        return False
