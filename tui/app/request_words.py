"""The parts of a request in words, as the inspector of the screen and the line-by-line form print them."""

from __future__ import annotations

import json

from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock


def words_of(block: Block) -> str:
    """The text of a block, or what stands for it."""
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text or "(no text, sealed)"
        case ToolCallBlock(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case ToolResultBlock(name=name):
            return name
        case _:
            return block.kind


def indented(body: object) -> str:
    """JSON to be read."""
    return json.dumps(body, indent=2, ensure_ascii=False, default=str)
