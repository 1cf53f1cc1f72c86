"""Token estimates of texts, blocks and tool schemas. A text is counted once and then cached.

There is no tokenizer: runs of letters, digits, punctuation and scripts are counted by regular expressions and weighted
by the family's table. ``calibration`` corrects the remaining error per model.

The tables are fitted against real tokenizers if their vocabularies are public. The tokens of a text are the sum of its
counts times the weights, in the order of ``text_features``. What a request adds around its texts (roles, tool prompts)
is fitted against reported counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.request import ServerTool, ToolSchema
from tui.wires.json_text import NotJSON, children, dumps, loads, text

PAGE_TOKENS = {"gemini": 258}
"""Tokens of a page of a PDF. Gemini counts a page as one picture; others take its text and a picture of it."""
PAGE_TOKENS_ELSEWHERE = 2_300

Weights = tuple[float, ...]

_O200K: Weights = (
    0.944, 0.082, 0.614, 2.051, 0.568, 0.357, 1.889, 0.843, 0.078,
    0.687, 0.721, 0.689, 0.467, 0.175, 0.306, 0.964, 0.162, 0.523, 0.116,
)  # fmt: skip
_DEEPSEEK: Weights = (
    0.943, 0.122, 0.701, 1.851, 0.601, 0.369, 2.183, 0.905, 0.091,
    0.541, 0.663, 0.775, 0.53, 0.207, 0.621, 1.115, 0.198, 1.55, 0.0,
)  # fmt: skip
_QWEN: Weights = (
    0.908, 0.113, 0.405, 2.948, 0.634, 0.168, 2.051, 0.895, 0.069,
    0.609, 0.634, 0.807, 0.414, 0.253, 0.308, 1.08, 0.206, 1.866, 0.0,
)  # fmt: skip
_GEMINI: Weights = (
    0.941, 0.071, 0.629, 2.253, 0.666, 0.969, 1.4, 1.131, 0.087,
    0.557, 0.398, 0.609, 0.534, 0.147, 0.914, 0.984, 0.166, 0.279, 0.132,
)  # fmt: skip
_KIMI: Weights = (
    0.924, 0.126, 0.515, 2.119, 0.601, 0.331, 2.2, 0.813, 0.085,
    0.518, 0.733, 0.923, 0.484, 0.303, 0.286, 1.185, 0.308, 2.967, 0.0,
)  # fmt: skip
_GLM: Weights = (
    0.948, 0.091, 0.537, 2.382, 0.626, 0.285, 1.981, 0.818, 0.077,
    0.592, 0.704, 0.954, 0.284, 0.212, 0.267, 1.224, 0.224, 1.405, 0.0,
)  # fmt: skip
_LLAMA: Weights = (
    0.958, 0.103, 0.549, 2.244, 0.568, 0.306, 1.819, 0.804, 0.076,
    0.741, 0.676, 0.745, 0.115, 0.292, 0.262, 0.96, 0.252, 2.106, 0.0,
)  # fmt: skip
_MISTRAL: Weights = (
    0.929, 0.122, 0.571, 2.748, 0.426, 0.359, 2.133, 0.94, 0.1,
    0.914, 0.626, 0.651, 0.237, 0.256, 0.524, 0.692, 0.188, 0.548, 0.273,
)  # fmt: skip
_CLAUDE: Weights = (
    0.995, 0.093, 0.902, 1.359, 1.057, 0.0, 1.561, 1.004, 0.069,
    0.868, 1.027, 1.299, 1.434, 0.316, 0.64, 2.263, 0.66, 3.352, 0.0,
)  # fmt: skip


UNKNOWN_PICTURE = 1_200
"""Tokens of an image of unknown size: between small and large images at the large providers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRule:
    """How a provider counts an image, from its documentation: the image is scaled down, then counted in patches."""

    patch: int = 28
    """Side of a patch in pixels."""
    per_patch: float = 1.0
    base: int = 0
    longest: int = 3_584
    """Pixels of the longer side above which an image is scaled down."""
    shortest: int | None = None
    """Pixels of the shorter side above which an image is scaled down."""
    most: int = 16_384
    flat: int | None = None
    """Tokens of any image, if the size does not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A tokenizer family and the tokens its servers add around the texts of a request."""

    weights: Weights
    scale: float = 1.0
    base: float = 4.0
    """Tokens of an empty request."""
    thinking_base: float = 0.0
    """Tokens that the server adds once if thinking is enabled."""
    per_message: float = 4.0
    tools_base: float = 0.0
    """Tokens that the server adds once if there are tools."""
    per_tool: float = 10.0
    schema_scale: float = 1.0
    """Tokens of a tool's schema per token of its JSON, because servers rewrite it."""
    per_call: float = 10.0
    per_result: float = 10.0
    picture: PictureRule = PictureRule()


GENERAL = Family(weights=_O200K, base=7, per_message=3, tools_base=100, per_result=20)
_CLAUDE_4 = Family(
    weights=_CLAUDE,
    picture=PictureRule(longest=1_568, most=1_600),
    thinking_base=30,
    per_message=3,
    tools_base=330,
    per_tool=16,
    schema_scale=1.2,
    per_call=44,
    per_result=25,
)
_OPENAI = Family(
    weights=_O200K,
    base=2,
    tools_base=10,
    schema_scale=0.45,
    per_call=8,
    per_result=5,
    picture=PictureRule(patch=512, per_patch=140, base=70, longest=2_048, shortest=768),
)
_QWEN_3 = Family(
    weights=_QWEN, base=7, per_message=3, tools_base=98, per_tool=6, schema_scale=1.5, per_call=19, per_result=5
)
FAMILIES: Mapping[str, Family] = {
    "o200k": _OPENAI,
    # The harmony format starts every request with its own system message.
    "gpt-oss": replace(_OPENAI, base=71, tools_base=20),
    "claude": _CLAUDE_4,
    "claude-4.5": replace(_CLAUDE_4, tools_base=498),
    "claude-4.7": Family(
        weights=_CLAUDE,
        scale=1.3,
        tools_base=580,
        per_tool=73,
        schema_scale=2.6,
        per_call=20,
        per_result=35,
        picture=PictureRule(longest=2_576, most=4_784),
    ),
    "deepseek": Family(
        weights=_DEEPSEEK,
        base=5,
        per_message=0.5,
        tools_base=210,
        per_tool=24,
        schema_scale=1.3,
        per_call=16,
        per_result=15,
    ),
    "gemini": Family(
        weights=_GEMINI,
        base=1,
        per_message=0,
        per_tool=18,
        schema_scale=0.5,
        per_call=12,
        per_result=12,
        picture=PictureRule(flat=1_120),
    ),
    "glm": Family(
        weights=_GLM, base=35, per_message=1, tools_base=60, per_tool=22, schema_scale=1.4, per_call=4, per_result=0
    ),
    # xAI adds its own prompt to every request.
    "grok": Family(
        weights=_O200K,
        base=150,
        per_message=8,
        per_tool=21,
        schema_scale=2.6,
        per_call=48,
        per_result=45,
        picture=PictureRule(patch=448, per_patch=256, base=256, most=1_792),
    ),
    "kimi": Family(weights=_KIMI, per_tool=18, per_call=28, per_result=0),
    "llama": Family(weights=_LLAMA, base=7, tools_base=100),
    # Fitted on SmolLM2's tokenizer. Most models with a small vocabulary use ChatML.
    "small-vocabulary": Family(weights=_MISTRAL, scale=1.09, base=7, per_message=5, tools_base=100),
    "minimax": Family(weights=_O200K),
    "mistral": Family(weights=_MISTRAL, base=2, tools_base=23, per_tool=22, per_call=4, per_result=4),
    "qwen": _QWEN_3,
    "qwen-3.5": replace(_QWEN_3, tools_base=176, per_tool=30, per_call=69),
}


def family_named(name: str) -> Family:
    """Return the family of that name, or the general one."""
    return FAMILIES.get(name, GENERAL)


PART = 32 * 1024
"""Characters that are counted in one step."""

_WORDS = lazy_regex(r"[A-Za-z]+")
_LONG_TAILS = lazy_regex(r"[A-Za-z]{6}([A-Za-z]+)")
_HUMPS = lazy_regex(r"[a-z](?=[A-Z])")
_CAPITALS = lazy_regex(r"[A-Z]{4,}")
_DIGITS = lazy_regex(r"[0-9]{1,3}")
_INDENTS = lazy_regex(r"\n[ \t]+")
_GAPS = lazy_regex(r"(?<![\n \t])[ \t]{2,}")
_MARKS = lazy_regex(r"[^\w\s]+")
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
        self.size = 0
        """Characters so far."""

    def add(self, text: str) -> None:
        """Append text."""
        self.size += len(text)
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
    known = _arrived.get((text, family_name)) if _arrived else None
    return uncached_text_tokens(text, family_name) if known is None else known


_arrived: dict[tuple[str, str], int] = {}


def cache_text_tokens(text: str, family_name: str, tokens: int) -> None:
    """Cache a count that was made while the text arrived: counting 15 MB again takes a second."""
    _arrived[text, family_name] = tokens
    try:
        text_tokens(text, family_name)
    finally:
        _arrived.clear()


def forget_texts() -> None:
    """Clear the cache of texts, when the user leaves a conversation."""
    text_tokens.cache_clear()


def uncached_text_tokens(text: str, family_name: str = "") -> int:
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
        case DocumentBlock():
            return max(block.pages, 1) * PAGE_TOKENS.get(family_name, PAGE_TOKENS_ELSEWHERE)
        case OpaqueBlock():
            found = _found_tokens(block) if block.search is not None and block.search.results else None
            return text_tokens(block.raw, family_name) if found is None else found


def tools_tokens(tools: Sequence[ToolSchema], family_name: str = "") -> int:
    """Return the estimated tokens of all tool definitions."""
    if not tools:
        return 0
    return round(family_named(family_name).tools_base) + sum(tool_tokens(tool, family_name) for tool in tools)


TOKENS_OF_CIPHER = 0.29
"""Tokens of a search result for each character of its encrypted content: 0.28 to 0.30 in recorded conversations."""


def _found_tokens(block: OpaqueBlock) -> int | None:
    """The estimated tokens of encrypted search results, of which the server counts the pages; None for others."""
    try:
        pages = children(loads(block.raw), "content")
    except NotJSON:
        return None
    encrypted = sum(len(text(page, "encrypted_content")) for page in pages)
    return round(TOKENS_OF_CIPHER * encrypted) or None


def server_tools_tokens(tools: Sequence[ServerTool], family_name: str = "") -> int:
    """Return the estimated tokens of tools that the provider runs; their description is the provider's own."""
    return sum(tool.tokens + text_tokens(dumps(dict(tool.item)), family_name) for tool in tools)


def tool_tokens(tool: ToolSchema, family_name: str = "") -> int:
    """Return the estimated tokens of one tool definition."""
    family = family_named(family_name)
    name_tokens = text_tokens(tool.name, family_name) + text_tokens(tool.description, family_name)
    schema = text_tokens(dumps(dict(tool.parameters)), family_name)
    return round(name_tokens + family.schema_scale * schema + family.per_tool)
