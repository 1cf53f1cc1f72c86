"""Marks in a request body that tell a server which prefix to keep in its prompt cache (``cache_control``).

A server looks back about 20 blocks from a mark for a prefix it has kept. The mark at the end of the request, which
moves along with the conversation, is therefore enough until one step adds more blocks than that: a round of many tool
calls. Such a step gets a mark of its own near its beginning, in the part that the previous request did not contain,
so that what was sent before never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

Item = dict[str, object]
Message = dict[str, object]

REACH = 18
"""Blocks that a mark may be away from the end of the previous request."""
STEP_MARKS = 2
"""A request has at most four marks: one for tools and system prompt, one at the end, and these."""


def cache_control(ttl: str) -> dict[str, object]:
    """Return the value of ``cache_control``."""
    return {"type": "ephemeral", "ttl": ttl}


def cache_options(ttl: str) -> dict[str, object]:
    """Return the value of ``prompt_cache_options``. Without marks, ``explicit`` keeps nothing, so nothing is billed."""
    return {"mode": "explicit"} if ttl == "off" else {"mode": "implicit", "ttl": ttl}


def mark_system(body: dict[str, object], ttl: str) -> None:
    """Mark the end of tools and system prompt in a Messages body."""
    system, tools = body.get("system"), body.get("tools")
    if isinstance(system, str):
        body["system"] = [{"type": "text", "text": system, "cache_control": cache_control(ttl)}]
    elif isinstance(tools, list) and tools:
        tools[-1] = {**tools[-1], "cache_control": cache_control(ttl)}


def mark_long_steps(requests: Iterator[Sequence[Item | None]], mark_block: Callable[[Item], None]) -> None:
    """Mark the latest steps that are longer than the server looks back.

    A step is what one request added to the one before: its blocks in order, with None for those that take no mark.
    """
    chosen: list[Item] = []
    end: list[Item] = []
    for blocks in requests:
        if len(blocks) > REACH:
            # An answer of calls alone takes no mark in some formats: then the end of the previous request gets one.
            chosen += [block for block in blocks[:REACH] if block is not None][-1:] or end
        end = [block for block in blocks if block is not None][-1:]
    for block in chosen[-STEP_MARKS:]:
        mark_block(block)


def steps(
    messages: Sequence[Message], blocks: Callable[[Message], Sequence[Item | None]]
) -> Iterator[list[Item | None]]:
    """Yield the blocks that each request added: the answer before it, then what the user or the tools said."""
    start = 0
    for end in _ends(messages):
        yield [block for message in messages[start : end + 1] for block in blocks(message)]
        start = end + 1


def mark_ends(messages: Sequence[Message], mark_message: Callable[[Message], None]) -> None:
    """Mark the ends of this request and of the one before, for servers without a moving mark."""
    for end in list(_ends(messages))[-2:]:
        if messages[end].get("role") not in INSTRUCTIONS:
            mark_message(messages[end])


INSTRUCTIONS = ("system", "developer")
"""Roles of a system prompt that is one of the messages."""


def _ends(messages: Sequence[Message]) -> Iterator[int]:
    """The positions of messages with which a request ended: an answer or nothing follows."""
    for position, message in enumerate(messages):
        answered = position + 1 == len(messages) or messages[position + 1].get("role") == "assistant"
        if answered and message.get("role") != "assistant":
            yield position
