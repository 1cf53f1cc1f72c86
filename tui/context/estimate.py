"""Token estimates of texts, blocks and tool schemas. A text is counted once and then cached.

There is no tokenizer: runs of letters, digits, punctuation and scripts are counted by regular expressions and weighted
by the family's table. ``calibration`` corrects the remaining error per model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tui.context.token_weights import family_named
from tui.domain.blocks import (
    Block,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.lazy_regex import lazy_regex
from tui.domain.request import ToolSchema
from tui.wires.json_text import dumps

PART = 32 * 1024
"""Characters that are counted in one step."""

_WORDS = re.compile(r"[A-Za-z]+")
_LONG_TAILS = re.compile(r"[A-Za-z]{6}([A-Za-z]+)")
_HUMPS = re.compile(r"[a-z](?=[A-Z])")
_CAPITALS = re.compile(r"[A-Z]{4,}")
_DIGITS = re.compile(r"[0-9]{1,3}")
_INDENTS = re.compile(r"\n[ \t]+")
_GAPS = re.compile(r"(?<![\n \t])[ \t]{2,}")
_MARKS = re.compile(r"[^\w\s]+")
_UNDERSCORES = lazy_regex(r"_+")
_NOT_ASCII = lazy_regex(r"[^\x00-\x7f]+")
_HAN = lazy_regex(r"[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]+")
_KANA = lazy_regex(r"[\u3040-\u30ff]+")
_HANGUL = lazy_regex(r"[\uac00-\ud7af]+")
_CYRILLIC = lazy_regex(r"[\u0400-\u04ff]+")
_ARABIC = lazy_regex(r"[\u0600-\u06ff]+")
_ACCENTED = lazy_regex(r"[\u00c0-\u024f]+")
_OTHER = lazy_regex(
    r"(?![\x00-\x7f\u00c0-\u024f\u0400-\u04ff\u0600-\u06ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])\w"
)


def _runs(pattern: re.Pattern[str], text: str) -> tuple[int, int]:
    """Return the number of runs and the number of characters in them."""
    found = pattern.findall(text)
    return len(found), sum(map(len, found))


def text_features(text: str) -> list[float]:
    """Return the counts in the order of the weights."""
    marks, in_marks = _runs(_MARKS, text)
    ascii_part = [
        len(_WORDS.findall(text)),
        _runs(_LONG_TAILS, text)[1],
        len(_HUMPS.findall(text)) + _runs(_CAPITALS, text)[1] / 4,
        len(_DIGITS.findall(text)),
        text.count("\n"),
        len(_INDENTS.findall(text)) if "\n" in text else 0,
        len(_GAPS.findall(text)) if "  " in text or "\t" in text else 0,
        marks,
        in_marks - marks,
    ]
    underscores = len(_UNDERSCORES.findall(text)) if "_" in text else 0
    if text.isascii():
        return [*ascii_part, 0, 0, 0, 0, 0, underscores, 0, 0, 0, 0]
    # Only the non-ASCII runs are scanned again, which is usually a small part of the text.
    text = " ".join(_NOT_ASCII.findall(text))
    cyrillic, arabic = _runs(_CYRILLIC, text), _runs(_ARABIC, text)
    return [
        *ascii_part,
        _runs(_HAN, text)[1],
        _runs(_KANA, text)[1],
        _runs(_HANGUL, text)[1],
        *cyrillic,
        underscores,
        *arabic,
        _runs(_ACCENTED, text)[1],
        len(_OTHER.findall(text)),
    ]


def _parts(text: str) -> Iterator[str]:
    """Split a long text into parts, at the end of a run.

    One ``findall`` over megabytes would hold the interpreter lock and block all other threads.
    """
    at = 0
    while len(text) - at > PART:
        cut = max(text.rfind(" ", at + 1, at + PART), text.rfind("\n", at + 1, at + PART))
        cut = cut if cut > at else at + PART
        yield text[at:cut]
        at = cut
    yield text[at:]


def _weighed(features: Sequence[float], family_name: str) -> int:
    family = family_named(family_name)
    weighed = sum(count * weight for count, weight in zip(features, family.weights, strict=True))
    return max(1, round(weighed * family.scale))


class TextCounter:
    """Counts the tokens of a growing text. Each part is counted once."""

    def __init__(self, family_name: str = "") -> None:
        self._family = family_name
        self._new: list[str] = []
        self._waiting = 0
        self._counted: list[float] = []

    def add(self, text: str) -> None:
        """Append text."""
        self._new.append(text)
        self._waiting += len(text)
        if self._waiting >= PART:
            self._count()

    def tokens(self) -> int:
        """Return the estimated tokens of the whole text."""
        rest = self._count()
        if not rest and not self._counted:
            return 0
        return _weighed(_sum(self._counted, text_features(rest)), self._family)

    def _count(self) -> str:
        """Count the new text up to its last word and return that word."""
        *whole, rest = _parts("".join(self._new))
        # The last word is counted again each time, because the next text may continue it.
        cut = max(rest.rfind(" "), rest.rfind("\n"))
        if cut > 0:
            whole.append(rest[:cut])
            rest = rest[cut:]
        for part in whole:
            self._counted = _sum(self._counted, text_features(part))
        self._new, self._waiting = [rest] if rest else [], 0
        return rest


def _sum(one: list[float], other: list[float]) -> list[float]:
    return [left + right for left, right in zip(one, other, strict=True)] if one else other


@lru_cache(maxsize=32_768)
def text_tokens(text: str, family_name: str = "") -> int:
    """Return the estimated tokens of a text. The text and the result are cached."""
    return passing_text_tokens(text, family_name)


def forget_texts() -> None:
    """Clear the cache of texts, when the user leaves a conversation."""
    text_tokens.cache_clear()


def passing_text_tokens(text: str, family_name: str = "") -> int:
    """Return the estimated tokens of a text without caching it, such as text being typed."""
    if not text:
        return 0
    features: list[float] = []
    for part in _parts(text):
        features = _sum(features, text_features(part))
    return _weighed(features, family_name)


def block_tokens(block: Block, family_name: str = "") -> int:
    """Return the estimated tokens of a block, including what the server adds around it."""
    match block:
        case TextBlock() | ThinkingBlock():
            return text_tokens(block.text, family_name)
        case ToolCallBlock():
            frame = round(family_named(family_name).per_call)
            return text_tokens(block.name, family_name) + text_tokens(block.arguments, family_name) + frame
        case ToolResultBlock():
            inside = sum(block_tokens(part, family_name) for part in block.content)
            return inside + round(family_named(family_name).per_result)
        case ImageBlock():
            from tui.context.pictures import picture_tokens  # not at start-up: most conversations have no image

            return picture_tokens(block.data, family_name)
        case OpaqueBlock():
            return text_tokens(block.raw, family_name)


def tools_tokens(tools: Sequence[ToolSchema], family_name: str = "") -> int:
    """Return the estimated tokens of all tool definitions."""
    if not tools:
        return 0
    return round(family_named(family_name).tools_base) + sum(tool_tokens(tool, family_name) for tool in tools)


def tool_tokens(tool: ToolSchema, family_name: str = "") -> int:
    """Return the estimated tokens of one tool definition."""
    family = family_named(family_name)
    words = text_tokens(tool.name, family_name) + text_tokens(tool.description, family_name)
    schema = text_tokens(dumps(dict(tool.parameters)), family_name)
    return round(words + family.schema_scale * schema + family.per_tool)
