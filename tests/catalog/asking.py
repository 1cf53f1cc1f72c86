"""Asking for plans in one line."""

from __future__ import annotations

from typing import Unpack

from tui.catalog.catalog import Catalog
from tui.catalog.facts import ModelFacts
from tui.catalog.plan import PlanOptions, plan
from tui.domain.thinking import Asked, ThinkingPlan

CATALOG = Catalog()


def facts_of(name: str, catalog: Catalog = CATALOG) -> ModelFacts:
    provider, _, model = name.partition("/")
    return catalog.find(provider, model)


def planned(name: str, asked: Asked, **options: Unpack[PlanOptions]) -> ThinkingPlan:
    facts = facts_of(name)
    return plan(facts, CATALOG.provider(facts.provider), asked, **options)
