"""A server's prompt cache as Anthropic and OpenRouter describe theirs: marks, a look back of 20 blocks, lifetimes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from tui.domain.messages import WireName

LOOK_BACK = 20
SECONDS = {"5m": 300.0, "1h": 3600.0}
UNMARKABLE = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class CacheUsage:
    """The tokens of one request by what the cache had of them."""

    read: int
    written: int
    new: int
    ttl: str


@dataclass(frozen=True)
class _Block:
    key: str
    tokens: int
    ttl: str | None
    markable: bool = True


@dataclass
class CachingServer:
    """Keeps prefixes of the requests it saw, until they expire."""

    wire: WireName = WireName.ANTHROPIC
    least: int = 1024
    """Shorter prefixes are not kept."""
    now: float = 0.0
    _kept: dict[str, float] = field(default_factory=dict)

    def answer(self, body: dict[str, Any]) -> CacheUsage:
        """Return what the request reads from the cache and writes into it."""
        blocks = list(self._blocks(body))
        ttl = body.get("cache_control", {}).get("ttl")
        if ttl:
            last = max(place for place, block in enumerate(blocks) if block.markable)
            blocks[last] = _Block(blocks[last].key, blocks[last].tokens, ttl)
        prefixes, tokens = _prefixes(blocks)
        marked = [place for place, block in enumerate(blocks) if block.ttl]
        assert len(marked) <= 4, "at most four marks"
        hit = max((self._found(prefixes, place) for place in marked), default=-1)
        read = tokens[hit] if hit >= 0 else 0
        if hit >= 0:
            self._kept[prefixes[hit]] = self.now + SECONDS[next(block.ttl for block in blocks if block.ttl) or "5m"]
        written = 0
        for place in marked:
            if tokens[place] >= self.least and place > hit:
                self._kept[prefixes[place]] = self.now + SECONDS[blocks[place].ttl or "5m"]
                written = tokens[place] - read
        used = next((block.ttl for block in blocks if block.ttl), None) or "5m"
        return CacheUsage(read=read, written=written, new=tokens[-1] - read - written, ttl=used)

    def _found(self, prefixes: list[str], place: int) -> int:
        for earlier in range(place, max(place - LOOK_BACK, -1), -1):
            if self._kept.get(prefixes[earlier], -1.0) > self.now:
                return earlier
        return -1

    def _blocks(self, body: dict[str, Any]) -> list[_Block]:
        found = [_block("tool", tool) for tool in body.get("tools", ())]
        system = body.get("system", ())
        found += (
            [_block("system", {"text": system})] if isinstance(system, str) else [_block("system", x) for x in system]
        )
        for message in body["messages"]:
            found += self._of_message(message)
        return found

    def _of_message(self, message: dict[str, Any]) -> list[_Block]:
        role = message["role"]
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        if self.wire is WireName.ANTHROPIC:
            return [_block(role, part) for part in parts]
        others = [*message.get("reasoning_details", ()), *message.get("tool_calls", ())]
        return [_block(f"{role} {message.get('tool_call_id')}", part) for part in [*parts, *others]]


def _block(role: str, item: dict[str, Any]) -> _Block:
    bare = {key: value for key, value in item.items() if key != "cache_control"}
    text = orjson.dumps([role, bare], option=orjson.OPT_SORT_KEYS).decode()
    ttl = item.get("cache_control", {}).get("ttl")
    return _Block(text, len(text) // 4 + 1, ttl, item.get("type") not in UNMARKABLE)


def _prefixes(blocks: list[_Block]) -> tuple[list[str], list[int]]:
    state, count = hashlib.sha256(), 0
    prefixes, tokens = [], []
    for block in blocks:
        state.update(block.key.encode())
        count += block.tokens
        prefixes.append(state.hexdigest())
        tokens.append(count)
    return prefixes, tokens
