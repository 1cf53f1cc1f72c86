"""Stored turns as lines: text, thinking and tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui.domain.blocks import (
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.call_arguments import main_argument
from tui.domain.citations import SourceNumbers, with_markers
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.web_search import WebSearch
from tui.linear.plain_markdown import plain_lines
from tui.linear.sentences import (
    LONGEST_NAME,
    result_text,
    search_text,
    source_texts,
    stop_text,
    thought_text,
    usage_text,
)

CODE = re.compile(r"^ *(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)^ *(?P=mark)[ \t]*$", re.MULTILINE | re.DOTALL)


def message_words(message: Message) -> str:
    """The text of a message."""
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, TextBlock) and block.text)


def thinking_of(message: Message) -> str:
    """The thinking of a message."""
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, ThinkingBlock) and block.text)


def last_code(text: str) -> str:
    """The last code block of a text; "" if there is none."""
    found = list(CODE.finditer(text))
    return found[-1]["code"].rstrip("\n") if found else ""


def prompt_of(turn: Turn) -> str:
    """The words of the prompt."""
    return " ".join(block.text for block in turn.user_blocks if isinstance(block, TextBlock))


def answerer_of(turn: Turn) -> str:
    """The model and level of a turn."""
    origins = [message.origin for message in turn.messages if message.origin is not None]
    if not origins:
        return "not answered yet" if turn.open else "no answer"
    last = origins[-1]
    name = "the demo, not a real model" if last.provider == "demo" else last.model
    return f"{name}, thinking {last.level}" if last.level else name


def turn_lines(turn: Turn, number: int, of: int, *, thinking: bool = False) -> list[str]:
    """A whole turn."""
    return list(_lines(turn, number, of, thinking=thinking))


def _lines(turn: Turn, number: int, of: int, *, thinking: bool) -> Iterator[str]:
    yield f"Turn {number} of {of}."
    results = {
        block.call_id: block
        for message in turn.messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }
    for message in turn.messages:
        if message.role is Role.USER:
            yield "You:"
            yield from _prompt_lines(message)
            if message.interrupted:
                yield f"Not answered: {one_line(message.interrupted, 400)}"
        elif message.role is Role.ASSISTANT and not message.superseded:
            yield f"Answer by {answerer_of(turn)}:"
            yield from _answer_lines(message, results, thinking=thinking)
    yield from filter(None, [usage_text(turn)])


def _prompt_lines(message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case TextBlock(text=text):
                yield from text.split("\n")
            case ImageBlock():
                yield f"Picture: {one_line(block.name or block.media_type, 80)}"
            case DocumentBlock():
                yield f"Document: {one_line(block.name, 80)}"
            case _:
                pass


def _answer_lines(message: Message, results: dict[str, ToolResultBlock], *, thinking: bool) -> Iterator[str]:
    numbers = SourceNumbers()
    for block in with_markers(message.blocks, numbers):
        match block:
            case TextBlock(text=text):
                yield from plain_lines(text)
            case ThinkingBlock():
                yield from thinking_lines(block) if thinking else (_thought(block),)
            case ToolCallBlock(name=name, arguments=arguments):
                yield f"Tool {one_line(name, LONGEST_NAME)}: {main_argument(arguments)}"
                result = results.get(block.call_id)
                if result is not None:
                    yield result_text(name, result, result.seconds or 0.0, _text_of(result))
            case ImageBlock():
                yield "A picture."
            case OpaqueBlock(search=WebSearch() as search):
                yield from filter(None, [search_text(search)])
            case OpaqueBlock(label=label):
                yield f"Part of the provider: {one_line(label, 60)}"
            case _:
                pass
    yield from source_texts(numbers.sources)
    yield from filter(None, [stop_text(message)])


def _thought(block: ThinkingBlock) -> str:
    counted = block.tokens if block.tokens is not None else len(block.text) // 4 or None
    return thought_text(block.seconds, counted, is_estimated=block.tokens is None, nature=block.nature)


def thinking_lines(block: ThinkingBlock) -> list[str]:
    """The text of thinking."""
    if not block.text:
        return [_thought(block)]
    return ["Thinking:", *plain_lines(block.text), "End of thinking."]


def _text_of(result: ToolResultBlock) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextBlock))


def tool_lines(turn: Turn) -> list[str]:
    """The calls of a turn with their arguments and whole output."""
    lines: list[str] = []
    for message in turn.messages:
        for block in message.blocks:
            if isinstance(block, ToolCallBlock):
                lines += [f"Call of {one_line(block.name, LONGEST_NAME)}:", block.arguments]
            elif isinstance(block, ToolResultBlock):
                lines += [
                    f"Output of {one_line(block.name, LONGEST_NAME)}:",
                    *_text_of(block).rstrip("\n").split("\n"),
                    "End of the output.",
                ]
    return lines
