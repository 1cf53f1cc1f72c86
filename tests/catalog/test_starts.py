"""The model that a provider begins with is the newest of its line, and is not retired."""

from __future__ import annotations

import re

import pytest

from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import Lifecycle

CATALOG = packaged_catalog()
STARTS = {provider.id: provider.start for provider in CATALOG.providers().values() if provider.start}
VERSION = re.compile(r"\d+(?:[.-]\d+)*")


def line(model: str) -> str:
    """The model's name without its version: ``claude-opus-#``."""
    return VERSION.sub("#", model.rpartition("/")[2].lower())


def version(model: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", model.rpartition("/")[2])]


@pytest.mark.parametrize("provider", STARTS)
def test_it_is_the_newest_of_its_line(provider: str) -> None:
    start = STARTS[provider]
    facts = CATALOG.find(provider, start)
    assert (facts.known, facts.lifecycle) == (True, Lifecycle.CURRENT)
    maker = start.partition("/")[0] if "/" in start else provider
    others = [other.id for other in CATALOG.models(maker) if line(other.id) == line(start)]
    assert others, start
    assert version(start) == max(map(version, others))
