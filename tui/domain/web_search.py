"""Web searches that a provider runs itself, and the sources that an answer cites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tui.domain.fast_dataclass import dataclass

WEB_SEARCH = "web_search"
"""The tool's name in lists and commands, whatever the provider calls it."""
MOST_SOURCES = 1_000
"""Results of a search or citations of a text that are kept; more could not be read."""
LONGEST_TITLE = 300
LONGEST_ADDRESS = 2_000
MOST_PLACED = 1_000_000
"""Characters of a text up to which citations get a place in it: finding one takes as long as reading the text."""
WHOLE = -1
"""As the end of a citation: the end of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page of the web, or a document without an address. Both fields come from the page itself and are unchecked."""

    url: str
    title: str = ""


def source(url: str, title: str = "") -> Source:
    """Return a source with its title on one line; both are cut to a limit."""
    return Source(url=url[:LONGEST_ADDRESS], title=" ".join(title[: 4 * LONGEST_TITLE].split())[:LONGEST_TITLE])


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearch:
    """What one item of a provider says about a search. A call and its result may be two items with the same id."""

    id: str = ""
    action: Literal["search", "open", "find"] = "search"
    queries: tuple[str, ...] = ()
    """Search words, or the words looked for on a page."""
    page: str = ""
    """The address of the page that was opened or searched."""
    results: tuple[Source, ...] | None = None
    """None if they are not known, or not known yet."""
    error: str = ""
    """The provider's code for why it failed."""
    done: bool = False

    @property
    def subject(self) -> str:
        """What was looked for: ``"speed of light" · "c in km/s"``, or a page."""
        quoted = " · ".join(f'"{query}"' for query in self.queries)
        if self.action == "open":
            return f"open {self.page}".rstrip()
        if self.action == "find":
            return f"find {quoted} in {self.page}".rstrip()
        return quoted

    def with_result(self, other: WebSearch) -> WebSearch:
        """Return this call with what another item says about it."""
        return replace(
            self,
            action=self.action if other.action == "search" else other.action,
            queries=other.queries or self.queries,
            page=other.page or self.page,
            results=self.results if other.results is None else other.results,
            error=other.error or self.error,
            done=self.done or other.done,
        )


ERRORS = {
    "max_uses_exceeded": "the limit of searches in one request was reached",
    "too_many_requests": "too many searches, the provider's rate limit was reached",
    "query_too_long": "the search words are too long",
    "invalid_tool_input": "the model's search was invalid",
    "request_too_large": "the search was too large",
    "unavailable": "the search is unavailable",
    "failed": "the provider gave no reason",
}
"""Sentences for the codes of the providers."""


def error_sentence(code: str) -> str:
    """Return what a code means; an unknown code is returned as it is."""
    return ERRORS.get(code, code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source of a part of a text. ``start`` and ``end`` are characters; ``end`` is None without a known place."""

    source: Source
    start: int = 0
    end: int | None = None
    quoted: str = ""
    """The words that it belongs to, if the provider repeats them: they decide if the numbers do not fit."""


def placed(text: str, citations: Iterable[Citation], *, in_bytes: bool = False) -> tuple[Citation, ...]:
    """Return the citations with places in this text. Those whose words are not in it are left out.

    ``in_bytes``: the places count UTF-8 bytes.
    """
    raw = text.encode("utf-8", "surrogatepass") if in_bytes and not text.isascii() else None
    found: list[Citation] = []
    for citation in citations:
        here = _placed(text, citation, raw) if citation.end is not None or citation.quoted else citation
        if here is not None and here not in found[-1:]:
            found.append(here)
        if len(found) == MOST_SOURCES:
            break
    return tuple(found)


def _placed(text: str, citation: Citation, raw: bytes | None) -> Citation | None:
    if len(text) > MOST_PLACED:
        return replace(citation, start=0, end=None, quoted="")
    start, end = citation.start, citation.end if citation.end is not None else 0
    if end == WHOLE:
        return replace(citation, start=0, end=len(text))
    if raw is not None:
        start, end = (len(raw[: max(0, at)].decode("utf-8", "ignore")) for at in (start, end))
    start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
    if citation.quoted and text[start:end] != citation.quoted:
        start = text.find(citation.quoted)
        if start < 0:
            return None
        end = start + len(citation.quoted)
    return replace(citation, start=min(start, end), end=end, quoted="")
