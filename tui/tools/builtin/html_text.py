"""Converts a web page to text: headings, paragraphs, lists and links, without scripts, styles and layout.

The scanner visits each character a bounded number of times: ``html.parser`` needs 46 s for 80 KB of ``<a ``.
"""

from __future__ import annotations

import re
from html import unescape

MAX_PAGE = 2_000_000
"""Characters of a page that are read."""
MAX_LINK = 300
MAX_TAG = 8_192
"""Characters of a tag; a longer one is skipped."""

_SKIPPED_WITH_CONTENT = ("script", "style", "noscript", "template", "svg", "iframe", "object", "textarea")
_DROPPED = frozenset({"head", "nav", "footer", "form"})
_BEFORE = {
    **{f"h{level}": "\n\n" + "#" * level + " " for level in range(1, 7)},
    **dict.fromkeys(("p", "section", "article", "main", "table", "ul", "ol", "blockquote", "pre", "hr", "dl"), "\n\n"),
    **dict.fromkeys(("div", "tr", "br", "dt", "dd"), "\n"),
    **dict.fromkeys(("td", "th"), " | "),
    "li": "\n- ",
}
"""Text inserted before a tag's content."""
_PARAGRAPHS = frozenset({"p", "table", "ul", "ol", "blockquote", "pre", *(f"h{level}" for level in range(1, 7))})

_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)((?:[^"'>]++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""\b(href|alt)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>]++)""", re.IGNORECASE)
_ENDLESS_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{8,}+;?")
_ENDS = {tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in (*_SKIPPED_WITH_CONTENT, "title")}


def readable(html: str) -> str:
    """The text of a page; never raises, even for malformed HTML."""
    reader = _Reader(html[:MAX_PAGE])
    reader.read()
    lines = [re.sub(r"^ (?=\S)", "", line.rstrip()) for line in "".join(reader.chunks).split("\n")]
    text = re.sub(r"\n{3,}+", "\n\n", "\n".join(lines)).strip()
    title = " ".join(reader.title.split())
    return f"{title}\n\n{text}".strip()


class _Reader:
    def __init__(self, html: str) -> None:
        self.chunks: list[str] = []
        self.title = ""
        self._html = html
        self._at = 0
        self._dropped = ""
        self._link = ""
        self._preformatted = 0

    def read(self) -> None:
        html = self._html
        while self._at < len(html):
            opening = html.find("<", self._at)
            if opening < 0:
                self._text(html[self._at :])
                return
            self._text(html[self._at : opening])
            self._at = opening
            self._markup()

    def _markup(self) -> None:
        html, at = self._html, self._at
        following = html[at + 1 : at + 4]
        if following == "!--":
            self._skip_past("-->")
        elif following[:1] in ("!", "?"):
            self._skip_past(">")
        elif following[:1].isalpha() or (following[:1] == "/" and following[1:2].isalpha()):
            tag = _TAG.match(html, at, at + MAX_TAG)
            self._at = tag.end() if tag else min(at + MAX_TAG, len(html))
            if tag:
                self._tag(tag[1], tag[2].lower(), tag[3])
        else:
            self._text("<")
            self._at = at + 1

    def _skip_past(self, end: str) -> None:
        found = self._html.find(end, self._at)
        self._at = len(self._html) if found < 0 else found + len(end)

    def _tag(self, slash: str, name: str, attributes: str) -> None:
        if not slash and name in _ENDS:
            found = _ENDS[name].search(self._html, self._at)
            until = found.start() if found else len(self._html)
            if name == "title" and not self.title:
                self.title = _decoded(self._html[self._at : until][:MAX_LINK])
            self._at = until
        elif self._dropped:
            self._dropped = "" if slash and name == self._dropped else self._dropped
        elif slash:
            self._end(name)
        elif name in _DROPPED:
            self._dropped = name
        else:
            self._start(name, attributes)

    def _start(self, name: str, attributes: str) -> None:
        self._preformatted += name == "pre"
        self.chunks.append(_BEFORE.get(name, ""))
        if name in ("a", "img"):
            values = {key.lower(): _decoded(value.strip("\"'")) for key, value in _ATTRIBUTE.findall(attributes)}
            self._link = values.get("href", "")[:MAX_LINK] if name == "a" else self._link
            if name == "img" and values.get("alt"):
                self.chunks.append(f"[image: {values['alt'][:MAX_LINK]}]")

    def _end(self, name: str) -> None:
        if name == "pre":
            self._preformatted = max(self._preformatted - 1, 0)
        if name == "a" and self._link.startswith(("http://", "https://", "/")):
            self.chunks.append(f" ({self._link})")
            self._link = ""
        elif name in _PARAGRAPHS:
            self.chunks.append("\n\n")

    def _text(self, text: str) -> None:
        if text and not self._dropped:
            self.chunks.append(_decoded(text if self._preformatted else re.sub(r"\s++", " ", text)))


def _decoded(text: str) -> str:
    return unescape(_ENDLESS_NUMBER.sub("\ufffd", text)) if "&" in text else text
