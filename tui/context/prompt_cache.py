"""What a provider's prompt cache still has of a conversation, and what a change of the next request makes useless."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

from tui.domain.compression import CompressionView
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import CacheRecord, Message, Turn
from tui.domain.request import ChatRequest, ServerTool, ToolSchema
from tui.domain.thinking import ReasoningRules, ThinkingPlan

LEAST = 1_024
"""No provider caches a shorter prefix."""
MOST_LOOKED_AT = 20
"""Answers whose cached prefixes are compared with the next request."""
LIFETIMES_S = {"5m": 300.0, "30m": 1_800.0, "1h": 3_600.0}
UNKNOWN_LIFETIME_S = 3_600.0
"""After this time nothing is assumed of a cache whose lifetime the provider does not state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRequest:
    """What the beginning of the next request depends on."""

    provider: str
    model: str
    level: str
    """The thinking level in force."""
    thinking: str = ""
    tools: str
    system: str
    history: str
    """Digests, made by the functions below."""
    rules: str = ""
    has_thinking: bool = False
    """Whether the history has thinking, to which the rules apply."""
    has_marks: bool
    """Whether the request marks what is to be cached (Anthropic): then the thinking parameters belong to the prefix,
    between the system prompt and the messages."""
    tools_tokens: int
    system_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheState:
    """The part of the next request that the cache has."""

    tokens: int
    left_s: float | None
    """Seconds until it expires; None if the lifetime is unknown."""


def record_request(
    request: ChatRequest, view: CompressionView | None, rules: ReasoningRules, *, at: float
) -> CacheRecord:
    """Return what is stored with the answer to a request."""
    return CacheRecord(
        at=at,
        ttl=request.cache_ttl if request.cache_ttl in LIFETIMES_S else "",
        tools=tools_digest(request.tools, request.server_tools),
        system=text_digest(request.system),
        history=history_digest(view),
        rules=rules_name(rules),
        thinking=thinking_digest(request.plan),
    )


def thinking_digest(plan: ThinkingPlan) -> str:
    """Return a short name of the thinking parameters."""
    return text_digest(repr(plan.fields))


def tools_digest(tools: Sequence[ToolSchema], server_tools: Sequence[ServerTool] = ()) -> str:
    """Return a short name of these tool definitions."""
    functions = [(tool.name, tool.description, tool.parameters) for tool in tools]
    # Without tools of the provider the name is as it was before there were any: it is stored with the answers.
    known = functions if not server_tools else (functions, [tool.item for tool in server_tools])
    return text_digest(repr(known)) if tools or server_tools else ""


def text_digest(text: str) -> str:
    """Return a short name of this text; "" for no text."""
    return f"{zlib.crc32(text.encode(errors='surrogatepass')):08x}" if text else ""


def history_digest(view: CompressionView | None) -> str:
    """Return a short name of how finished turns are sent; "" if unchanged."""
    if view is None:
        return ""
    return text_digest(repr((sorted(view.compressed_turns), view.summary, sorted(view.shortened.items()))))


def rules_name(rules: ReasoningRules) -> str:
    """Return the settings that select which earlier thinking is sent, as one word; "" for the defaults."""
    return "" if rules == ReasoningRules() else f"{rules.include_in_context}-{rules.strip}-{rules.format}"


def cached_tokens(message: Message) -> int:
    """Return how many tokens of a request the cache had after its answer, as reported."""
    usage = message.usage
    return 0 if usage is None else (usage.cache_read or 0) + (usage.cache_write or 0)


def last_cached(turns: Sequence[Turn], provider: str, model: str) -> Message | None:
    """Return the newest answer of this model for which the provider reported a use of the cache."""
    return next(_cached(turns, provider, model), None)


def _cached(turns: Sequence[Turn], provider: str, model: str) -> Iterator[Message]:
    for message in _newest_first(turns):
        origin = message.origin
        if origin is None or message.cache is None or not cached_tokens(message):
            continue
        if (origin.provider, origin.model) == (provider, model):
            yield message


def _newest_first(turns: Sequence[Turn]) -> Iterator[Message]:
    for turn in reversed(turns):
        yield from reversed(turn.messages)


def kept_tokens(cached: Message, following: NextRequest) -> int:
    """Return how many of the cached tokens the next request can read.

    A cache holds a prefix: tools, then the system prompt, then the messages. What changes makes itself and all that
    follows useless: another model or other tools everything, the system prompt all but the tools, and a compressed
    history or other rules for earlier thinking the messages. Where caching is asked for with marks, other thinking
    parameters make the messages useless too.
    """
    record, origin = cached.cache, cached.origin
    if record is None or origin is None or (origin.provider, origin.model) != (following.provider, following.model):
        return 0
    tokens = cached_tokens(cached)
    if record.tools != following.tools:
        return 0
    if record.system != following.system:
        return _beginning(tokens, following.tools_tokens)
    other_rules = following.has_thinking and record.rules != following.rules
    same_thinking = origin.level == following.level or record.thinking == following.thinking != ""
    other_thinking = following.has_marks and not same_thinking
    if record.history != following.history or other_rules or other_thinking:
        return _beginning(tokens, following.tools_tokens + following.system_tokens)
    return tokens


def _beginning(cached: int, size: int) -> int:
    return min(cached, size) if size >= LEAST else 0


def left_s(record: CacheRecord, now: float) -> float | None:
    """Return the seconds until expiry, at most 0 after it; None if the lifetime is unknown and may not be over."""
    if record.ttl:
        return record.at + LIFETIMES_S[record.ttl] - now
    return None if now < record.at + UNKNOWN_LIFETIME_S else 0.0


def cache_state(turns: Sequence[Turn], following: NextRequest, now: float) -> CacheState | None:
    """Return what the cache has of the next request; None if nothing is known of it or it has expired.

    After a change was taken back, that is what an earlier answer left in the cache.
    """
    best: CacheState | None = None
    for cached in islice(_cached(turns, following.provider, following.model), MOST_LOOKED_AT):
        left = left_s(cached.cache, now) if cached.cache is not None else 0.0
        if left is not None and left <= 0:
            break
        tokens = kept_tokens(cached, following)
        if tokens > (best.tokens if best is not None else 0):
            best = CacheState(tokens=tokens, left_s=left)
    return best
