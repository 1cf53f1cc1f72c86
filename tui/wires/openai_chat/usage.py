"""Usage of Chat Completions: where each dialect puts it, and its numbers as inclusive totals."""

from __future__ import annotations

from collections.abc import Sequence

from tui.domain.usage import Usage
from tui.wires.read import Json, child, number, whole

CACHE_READ = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("cache_read_input_tokens",),
)
CACHE_WRITE = (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",))
THINKING = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))


def usage_in(chunk: Json, choices: Sequence[Json]) -> Json | None:
    """The usage object of a chunk: its own, a choice's (Moonshot), or Groq's; None without one."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and usage:
        return usage
    for choice in choices:
        if inner := child(choice, "usage"):
            return inner
    return child(chunk, "x_groq", "usage") or None


def inclusive_usage(usage: Json) -> Usage:
    """Totals that include their parts.

    Thinking is inside ``completion_tokens`` by the rules of the inventor; where the numbers say it cannot be
    (more thinking than completion, or a total that only fits with both) it stands beside and is added.
    """
    prompt, completion = whole(usage, "prompt_tokens"), whole(usage, "completion_tokens")
    total = whole(usage, "total_tokens")
    thinking = _first(usage, THINKING)
    cache_read, cache_write = _first(usage, CACHE_READ), _first(usage, CACHE_WRITE)
    if prompt is not None and cache_read is not None and cache_read > prompt:
        prompt += cache_read
    output = completion
    if completion is not None and thinking and _beside(thinking, completion, prompt, total):
        output = completion + thinking
    if prompt is not None and output is not None:
        total = prompt + output
    return Usage(
        input=prompt,
        cache_read=cache_read,
        cache_write=cache_write,
        output=output,
        thinking=thinking,
        total=total,
        cost=_cost(usage),
    )


def _beside(thinking: int, completion: int, prompt: int | None, total: int | None) -> bool:
    if thinking > completion:
        return True
    return prompt is not None and total == prompt + completion + thinking


def _first(usage: Json, paths: Sequence[tuple[str, ...]]) -> int | None:
    """The first reading that says something; a zero counts unless another place knows more."""
    readings = [count for path in paths if (count := whole(usage, *path)) is not None]
    return next((count for count in readings if count), readings[0] if readings else None)


def _cost(usage: Json) -> float | None:
    cost = number(usage, "cost")
    return cost if cost is not None else number(usage, "cost", "total_cost")
