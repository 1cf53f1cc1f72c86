"""The sources of an answer, which servers send in several places: beside its words or beside the choices."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.web_search import MOST_SOURCES, Citation, Source, source
from tui.wires.json_text import Json, child, text, whole

LISTS = ("search_results", "web_search", "citations")
"""Fields of a chunk that list the sources of the whole answer (Perplexity, Z.ai); the first one is used."""


class AnswerSources:
    """Collects the sources while the response is received."""

    def __init__(self) -> None:
        self._annotations: list[Citation] = []
        self._listed: list[Source] = []
        self._titles: dict[str, str] = {}

    def annotated(self, annotations: Sequence[Json]) -> None:
        """Add annotations of the message; some servers send all of them again with every chunk."""
        for annotation in annotations:
            inner = child(annotation, "url_citation") or annotation
            url = text(inner, "url")
            if not url or len(self._annotations) >= MOST_SOURCES:
                continue
            start, end = whole(inner, "start_index") or 0, whole(inner, "end_index") or 0
            cited = source(url, text(inner, "title"))
            citation = Citation(source=cited, start=start, end=end) if end > start else Citation(source=cited)
            if citation not in self._annotations:
                self._annotations.append(citation)

    def listed(self, chunk: Json) -> None:
        """Take the list of a chunk. A later list replaces it; it may be without titles."""
        for name in LISTS:
            pages = chunk.get(name)
            if isinstance(pages, list) and (found := [one for one in map(_listed, pages) if one is not None]):
                self._titles.update({one.url: one.title for one in found if one.title})
                self._listed = [source(one.url, self._titles.get(one.url, "")) for one in found[:MOST_SOURCES]]
                return

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources, with their places if there are any."""
        return tuple(self._annotations) or tuple(Citation(source=one) for one in self._listed)


def _listed(page: object) -> Source | None:
    url = page if isinstance(page, str) else text(page, "url") or text(page, "link")
    return source(url, text(page, "title")) if url else None


def charged_searches(usage: Json) -> int | None:
    """Return how many searches the server reports (OpenRouter, Perplexity); None for none."""
    return whole(usage, "server_tool_use", "web_search_requests") or whole(usage, "num_search_queries") or None
