"""What the items of Anthropic's web search and its citations say."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.web_search import WEB_SEARCH, WHOLE, Citation, WebSearch, source
from tui.wires.json_text import Json, child, children, text

RESULT = "web_search_tool_result"


def is_search(item: Json) -> bool:
    """Return whether the item is a call of the web search, or its result."""
    name = text(item, "type")
    return name == RESULT or (name == "server_tool_use" and text(item, "name") == WEB_SEARCH)


def search_of(item: Json) -> WebSearch:
    """Return what a call or a result says. The query of a call arrives after its start."""
    if text(item, "type") != RESULT:
        query = text(item, "input", "query")
        return WebSearch(id=text(item, "id"), queries=(query,) if query else ())
    identity = text(item, "tool_use_id")
    if isinstance(item.get("content"), list):
        results = tuple(source(text(page, "url"), text(page, "title")) for page in children(item, "content"))
        return WebSearch(id=identity, results=results, done=True)
    return WebSearch(id=identity, error=text(child(item, "content"), "error_code") or "unavailable", done=True)


def citations_of(cited: Sequence[object]) -> tuple[Citation, ...]:
    """Return the sources of a block of text. Pages of the web have an address, documents only a title."""
    found = []
    for item in cited:
        title = text(item, "title") or text(item, "document_title")
        url = text(item, "url") or text(item, "source")
        if url or title:
            found.append(Citation(source=source(url, title), end=WHOLE))
    return tuple(found)
