"""Prompts of MCP servers: how they are listed, and what one becomes. Depends on the protocol, not on the SDK.

Names, descriptions and texts are untrusted. A prompt is sent as a message of the user and is never read as a command.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui.domain.blocks import FROM_SERVER, Block, TextBlock
from tui.domain.errors import ToolError
from tui.domain.listing import McpPrompt, PromptArgument
from tui.domain.printable import one_line, scrubbed
from tui.tools.mcp.results import picture_of, text_of

MAX_PROMPTS = 200
MAX_ARGUMENTS = 20
MAX_WORD = 64
MAX_TEXT = 1_000_000
_NOT_IN_WORDS = re.compile(r"[^a-z0-9_-]+")


def prompts_of(server: str, listed: Iterable[Mapping[str, object]]) -> tuple[tuple[McpPrompt, ...], tuple[str, ...]]:
    """The prompts that can be used, and remarks about those that cannot. ``with_words`` names them."""
    found: dict[str, McpPrompt] = {}
    remarks: list[str] = []
    for row in listed:
        theirs = row.get("name")
        if not isinstance(theirs, str) or not theirs or theirs in found:
            continue
        arguments = _arguments(row.get("arguments"))
        if len(arguments) > MAX_ARGUMENTS:
            remarks.append(f"the prompt `{one_line(theirs, 60)}` is omitted: it has {len(arguments)} arguments")
            continue
        if len(found) >= MAX_PROMPTS:
            remarks.append(f"more than {MAX_PROMPTS} prompts: the rest is omitted")
            break
        description = row.get("description") or row.get("title") or ""
        found[theirs] = McpPrompt(
            server=server, theirs=theirs, word="", description=one_line(str(description), 100), arguments=arguments
        )
    return tuple(sorted(found.values(), key=lambda prompt: prompt.theirs)), tuple(remarks)


def _arguments(listed: object) -> tuple[PromptArgument, ...]:
    rows = listed if isinstance(listed, list) else []
    return tuple(
        PromptArgument(
            name=row["name"],
            description=one_line(str(row.get("description") or row.get("title") or ""), 100),
            required=row.get("required") is True,
        )
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("name"), str)
    )


def with_words(prompts: Sequence[McpPrompt]) -> tuple[McpPrompt, ...]:
    """The prompts of all servers with their slash words.

    Every word has a colon, which no command and no template has. Names that differ only in letter case, or in what a
    word cannot contain, get a hash, whichever server lists them first.
    """
    plain = [f"{_word(prompt.server)}:{_word(prompt.theirs)}" for prompt in prompts]
    times = Counter(plain)
    return tuple(
        replace(prompt, word=word if _is_clear(prompt, word, times) else f"{word}_{_hash(prompt)}")
        for prompt, word in zip(prompts, plain, strict=True)
    )


def _is_clear(prompt: McpPrompt, word: str, times: Mapping[str, int]) -> bool:
    given = f"{prompt.server}:{prompt.theirs}"
    return word == given or (times[word] == 1 and word == given.lower())


def _word(name: str) -> str:
    word = _NOT_IN_WORDS.sub("_", name.lower())[:MAX_WORD]
    # A slash word begins with a letter; other lines that begin with a slash are messages.
    return word if word[0].isalpha() else f"mcp-{word}"


def _hash(prompt: McpPrompt) -> str:
    return hashlib.sha256(f"{prompt.server}\0{prompt.theirs}".encode(errors="replace")).hexdigest()[:6]


def prompt_blocks(prompt: McpPrompt, result: Mapping[str, object]) -> tuple[Block, ...]:
    """The messages of a prompt as one message of the user, which says where it comes from."""
    messages = result.get("messages")
    rows = [row for row in messages if isinstance(row, dict)] if isinstance(messages, list) else []
    parts = [(row.get("role"), row["content"]) for row in rows if isinstance(row.get("content"), dict)]
    is_dialogue = any(role == "assistant" for role, _ in parts)
    texts = [
        f"{'Assistant' if role == 'assistant' else 'User'}: {text}" if is_dialogue else text
        for role, part in parts
        if (text := text_of(part))
    ]
    pictures = tuple(filter(None, (picture_of(part) for _, part in parts)))
    shown = f"`{one_line(prompt.theirs, 60)}` {FROM_SERVER}{prompt.server}`"
    if not texts and not pictures:
        raise ToolError(f"The prompt {shown} is empty.")
    text = scrubbed("\n\n".join(texts))
    if len(text) > MAX_TEXT:
        raise ToolError(f"The prompt {shown} has more than a million characters.")
    return (*pictures, TextBlock(text=f"Prompt {shown}:\n\n{text}".strip()))
