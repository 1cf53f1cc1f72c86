"""``ponder plan NAME[/LEVEL]``: the request fields that control a model's thinking, explained."""

from __future__ import annotations

import argparse
import json
import os
from typing import NamedTuple

from tui.catalog.facts import ModelFacts
from tui.catalog.model_spec import parse_asked, parse_spec, require_asked, split_asked
from tui.catalog.plan import PLAN_KEYS, default_level, plan, plan_options
from tui.cli.main import add_set_option
from tui.cli.user_catalog import UserCatalog, print_problem, user_catalog
from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.domain.printable import json_escaped, printable
from tui.domain.thinking import Asked, ThinkingLevel, ThinkingPlan
from tui.providers.redacted_request import shown_url


class PlannedModel(NamedTuple):
    """A plan and the model it is for."""

    facts: ModelFacts
    plan: ThinkingPlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument(
        "name", metavar="NAME[/LEVEL]", help="a model, e.g. claude-sonnet-4-5/med or gemini-2.5-pro/16k"
    )
    parser.add_argument("--max-output", type=_tokens, metavar="N", help="the output limit of the request")
    parser.add_argument(
        "--context-tokens", type=_tokens, metavar="N", help="tokens of the context, for reasoning.dynamicBudget"
    )
    parser.add_argument(
        "--thinking-budget", metavar="N", help="a number of tokens or a level; replaces the level in NAME"
    )
    add_set_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the plan on stdout; 2 if the name or a setting is wrong."""
    try:
        mine = user_catalog(os.environ).assigned(args.assignments)
        planned = planned_for(args, mine)
    except PonderError as problem:
        print_problem(problem)
        return 2
    print(json_escaped(_as_json(planned)) if args.json else printable(_as_text(planned, mine)))
    return 0


def planned_for(args: argparse.Namespace, mine: UserCatalog) -> PlannedModel:
    """The plan for the arguments, with this user's catalogue and settings."""
    spec = parse_spec(args.name, mine.catalog)
    mine.require_right_rows(spec)
    mine = mine.knowing(spec, os.environ)
    facts = mine.catalog.find(spec.provider, spec.model)
    asked = spec.asked if args.thinking_budget is None else require_asked(args.thinking_budget)
    layers = mine.layers_for(facts, level_chosen=asked is not None)
    values = {name: layers.for_plan(name) for name in PLAN_KEYS}
    options = plan_options(values, context_tokens=args.context_tokens, overriding_source=layers.overriding_source())
    if args.max_output is not None:
        options["max_output"] = args.max_output
    if asked is None:
        asked = _configured_level(mine)
        asked = default_level(values) if asked is None else asked
    return PlannedModel(facts, plan(facts, mine.catalog.provider(spec.provider), asked, **options))


def _configured_level(mine: UserCatalog) -> Asked | None:
    """The level of the ``model`` setting."""
    return split_asked(str({**mine.values, **mine.assignments}.get("model") or ""))[1]


def _as_json(planned: PlannedModel) -> str:
    facts, made = planned
    return json.dumps(
        {
            "provider": facts.provider,
            "model": facts.id,
            "wire": facts.wire,
            "asked": made.asked,
            "nominal": made.nominal,
            "sent": made.sent,
            "fields": made.fields,
            "summary": made.summary,
            "warnings": list(made.warnings),
        },
        ensure_ascii=False,
    )


def _as_text(planned: PlannedModel, mine: UserCatalog) -> str:
    facts, made = planned
    provider = mine.catalog.provider(facts.provider)
    lines = [
        f"Provider: {provider.title} ({facts.provider})",
        f"Model: {facts.id}",
        f"API: {facts.wire}, {shown_url(provider.base_url_for(facts.wire))}",
        made.summary,
        *(f"Warning: {warning}" for warning in made.warnings),
    ]
    if made.max_output is not None:
        lines.append(f"Output limit: {count(made.max_output, 'token')}")
    lines += [f"Header: {name}: {value}" for name, value in made.headers.items()]
    fields = json.dumps(made.fields, indent=2, ensure_ascii=False)
    lines.append(f"Fields: {fields}" if made.fields else "Fields: none")
    return "\n".join(lines)


def _tokens(text: str) -> int:
    asked = parse_asked(text) if text.lower() not in tuple(ThinkingLevel) else None
    if not isinstance(asked, int):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens")
    return asked
