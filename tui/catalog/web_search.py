"""Which models search the web on their provider's servers, how a request asks for it, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import cast

from tui.catalog.facts import ModelFacts, ProviderFacts
from tui.catalog.name_matching import best_match
from tui.catalog.provider_rows import effective_quirks
from tui.catalog.toml_values import packaged_table
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.request import ServerTool
from tui.domain.usage import Usage
from tui.domain.web_search import WEB_SEARCH

ALL_OTHERS = "*"
NONE = "none"
"""Value of the quirk that says that a model has no search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMethod:
    """How one maker's search is asked for and charged."""

    name: str
    wire: WireName
    tool: Mapping[str, object]
    fields: Mapping[str, object] = field(default_factory=dict)
    with_functions: Mapping[str, object] = field(default_factory=dict)
    """Fields that are needed only beside functions."""
    alone: bool = False
    """A request with it must not have functions."""
    tokens: int = 0
    """Approximate tokens that the provider adds to a request."""
    per_thousand: float | None = None
    """Dollars; None if unknown, or if the provider reports the cost."""
    per_request: bool = False
    """A request pays once, however often it searches."""

    def server_tool(self, *, with_functions: bool) -> ServerTool:
        """Return what is added to a request."""
        fields = {**self.fields, **(self.with_functions if with_functions else {})}
        return ServerTool(name=WEB_SEARCH, item=self.tool, fields=fields, tokens=self.tokens)

    def fee(self, usage: Usage) -> float | None:
        """Return the dollars for the searches of a response; 0 without any, None if the price is unknown."""
        if not usage.searches:
            return 0.0
        if self.per_thousand is None:
            return None
        return (1 if self.per_request else usage.searches) * self.per_thousand / 1_000


def search_method(provider: ProviderFacts, facts: ModelFacts) -> SearchMethod | None:
    """Return how this model searches; None if its provider offers no search for it, or it takes no tools."""
    name = effective_quirks(provider, facts).web_search or _packaged(provider.id, facts.id)
    method = search_methods().get(name)
    return method if method is not None and method.wire == facts.wire and facts.tools else None


def search_fee(provider: ProviderFacts, facts: ModelFacts, usage: Usage) -> float | None:
    """Return the dollars for the searches of a response; 0 without any, None if the price is unknown."""
    if not usage.searches:
        return 0.0
    method = search_method(provider, facts)
    return None if method is None else method.fee(usage)


def search_method_names() -> tuple[str, ...]:
    """Return the values of the quirk."""
    return (*search_methods(), NONE)


def _packaged(provider: str, model: str) -> str:
    rows = _rows().get(provider, {})
    found = best_match(model, [name for name in rows if name != ALL_OTHERS])
    return rows[found] if found is not None else rows.get(ALL_OTHERS, "")


@cache
def _file() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    return cast("dict[str, dict[str, dict[str, object]]]", packaged_table("web_search.toml"))


@cache
def search_methods() -> Mapping[str, SearchMethod]:
    """Return all methods by name."""
    # A test reads every method, so the types are those of the fields.
    return {
        name: SearchMethod(name=name, **{**row, "wire": WireName(str(row["wire"]))})  # type: ignore[arg-type]
        for name, row in _file()["methods"].items()
    }


@cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    return cast("dict[str, dict[str, str]]", _file()["providers"])
