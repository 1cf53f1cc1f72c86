"""What the items of a web search and the annotations of a text say."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.web_search import Citation, WebSearch, source
from tui.wires.json_text import Json, child, children, text, whole

CALL = "web_search_call"
ENDED = frozenset({"completed", "failed", "incomplete"})


def search_of(item: Json) -> WebSearch:
    """Return what a call says. Its sources come only if they were asked for."""
    action = child(item, "action")
    kind = text(action, "type")
    status = text(item, "status")
    words = _words(action)
    pages = children(action, "sources") if isinstance(action.get("sources"), list) else None
    if not pages and not words:
        pages = None  # xAI tells neither
    return WebSearch(
        id=text(item, "id"),
        action="open" if kind == "open_page" else "find" if kind == "find_in_page" else "search",
        queries=words,
        page=text(action, "url"),
        results=None if pages is None else tuple(source(text(page, "url"), text(page, "title")) for page in pages),
        error="failed" if status == "failed" else "",
        done=status in ENDED,
    )


def _words(action: Json) -> tuple[str, ...]:
    several = action.get("queries")
    found = [query for query in several if isinstance(query, str)] if isinstance(several, list) else []
    found = found or [text(action, "query") or text(action, "pattern")]
    return tuple(dict.fromkeys(filter(None, found)))


def charged_searches(items: Sequence[Json], usage: Json) -> int | None:
    """Return how many searches are charged: those reported (xAI), else the completed ones; opening a page is free."""
    reported = whole(usage, "server_side_tool_usage_details", "web_search_calls")
    if reported is not None:
        return reported or None
    return sum(text(item, "status") == "completed" and search_of(item).action == "search" for item in items) or None


def citations_of(annotations: Sequence[Json]) -> tuple[Citation, ...]:
    """Return the sources of a part of a message."""
    return tuple(
        Citation(
            source=source(text(one, "url"), text(one, "title")),
            start=whole(one, "start_index") or 0,
            end=whole(one, "end_index"),
        )
        for one in annotations
        if text(one, "type") == "url_citation" and text(one, "url")
    )
