"""The web search of the provider in use, as a tool that the user switches."""

from __future__ import annotations

from tui.app.current_session import CurrentSession
from tui.app.prompt_cache import CacheService
from tui.app.settings import SettingsService
from tui.catalog.web_search import SearchMethod, search_method
from tui.domain.cost import money
from tui.domain.listing import ToolInfo
from tui.domain.web_search import WEB_SEARCH

KEY = "tools.webSearch"
"""The setting that is behind the tool."""


class WebSearchTool:
    """Tells whether the model in use can search, and switches it."""

    def __init__(self, current: CurrentSession, settings: SettingsService, cache: CacheService) -> None:
        self._current = current
        self._settings = settings
        self._cache = cache

    def row(self, scale: float) -> ToolInfo:
        """The tool, for lists; ``scale`` is that of the meter."""
        method = self._method()
        return ToolInfo(
            name=WEB_SEARCH,
            source="the provider",
            enabled=self.is_on,
            policy="allow" if method is not None else "none",
            tokens=round(method.tokens * scale) if method is not None else 0,
            description=self.sentence(),
        )

    @property
    def is_on(self) -> bool:
        """Whether the user has switched it on, whatever the model in use."""
        return self._current.layers.value(KEY) is True

    def sentence(self) -> str:
        """What happens with the model in use."""
        title, method = self._provider_title(), self._method()
        if method is None:
            return f"{self._current.spec.model} has no web search of its own at {title}."
        price = "" if method.per_thousand is None else f" {money(method.per_thousand)} for 1,000 {_unit(method)}."
        alone = " Its other tools are not sent meanwhile." if method.alone else ""
        return f"{title} searches the web when the model asks for it. You are not asked.{price}{alone}"

    async def switch(self, *, enabled: bool) -> str:
        """Switch it; returns what the next request then writes to the cache again, "" if nothing."""
        before = self._cache.before_change()
        await self._settings.assign(KEY, _word(enabled=enabled))
        return self._cache.after_change(before)

    def cost_of_switching(self, *, enabled: bool) -> str:
        """What ``switch`` would return."""
        return self._settings.cost_of_value(KEY, _word(enabled=enabled))

    def _method(self) -> SearchMethod | None:
        target = self._current.program.planner.target(self._current.spec)
        return search_method(target.provider, target.facts)

    def _provider_title(self) -> str:
        return self._current.program.catalog.provider(self._current.spec.provider).title


def _unit(method: SearchMethod) -> str:
    return "answers with searches" if method.per_request else "searches"


def _word(*, enabled: bool) -> str:
    return "true" if enabled else "false"
