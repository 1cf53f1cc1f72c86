"""What a response of Gemini says about searches: its grounding metadata, and the parts of tools that Google runs."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.web_search import Citation, Source, WebSearch, source
from tui.wires.json_text import Json, child, children, text, whole

METADATA = "groundingMetadata"
SEARCH_PARTS = ("toolCall", "toolResponse")
SEARCH_TOOL = "GOOGLE_SEARCH_WEB"


def is_search(part: Json, label: str) -> bool:
    """Return whether a part is a call of the search, or its result."""
    return label in SEARCH_PARTS and text(part, label, "toolType") == SEARCH_TOOL


def search_of(part: Json, label: str) -> WebSearch:
    """Return what such a part says. A result has no pages: those are in the metadata."""
    inner = child(part, label)
    if label == "toolCall":
        return WebSearch(id=text(inner, "id"), queries=_queries(child(inner, "args"), "queries", "query"))
    failed = child(inner, "response").get("error")
    return WebSearch(id=text(inner, "id"), error="failed" if failed else "", done=True)


def grounding_of(metadata: Json) -> WebSearch:
    """Return the searches of a whole response."""
    found = [page for page in _pages(metadata) if page is not None]
    return WebSearch(queries=_queries(metadata, "webSearchQueries"), results=tuple(found), done=True)


def _queries(value: Json, *names: str) -> tuple[str, ...]:
    for name in names:
        listed = value.get(name)
        listed = [listed] if isinstance(listed, str) else listed
        if isinstance(listed, list):
            return tuple(dict.fromkeys(query for query in listed if isinstance(query, str) and query.strip()))
    return ()


def _pages(metadata: Json) -> list[Source | None]:
    """The page of each chunk by its index; None for chunks that are no page."""
    chunks = metadata.get("groundingChunks")
    return [_page(child(chunk, "web")) for chunk in chunks] if isinstance(chunks, list) else []


def _page(web: Json) -> Source | None:
    url = text(web, "uri")
    return source(url, text(web, "title")) if url else None


def citations_of(metadata: Json) -> tuple[Citation, ...]:
    """Return the sources of the answer. Their places count the bytes of its text."""
    pages = _pages(metadata)
    found: list[Citation] = []
    for support in children(metadata, "groundingSupports"):
        segment = child(support, "segment")
        numbers = support.get("groundingChunkIndices")
        for number in numbers if isinstance(numbers, list) else ():
            page = pages[number] if isinstance(number, int) and 0 <= number < len(pages) else None
            if page is not None:
                start, end = whole(segment, "startIndex") or 0, whole(segment, "endIndex")
                found.append(Citation(source=page, start=start, end=end, quoted=text(segment, "text")))
    return tuple(found)


def charged_queries(searches: Sequence[WebSearch]) -> int | None:
    """Return how many different queries were run; None for none."""
    return len({query for search in searches for query in search.queries}) or None
