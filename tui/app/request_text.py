"""The parts of a request as text, for the inspectors of the screen and of the line-by-line form."""

from __future__ import annotations

import json

from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock


def as_text(block: Block) -> str:
    """The text of a block, or a description."""
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text or "(no text, sealed)"
        case ToolCallBlock(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case ToolResultBlock(name=name):
            return name
        case _:
            return block.kind


def as_indented_json(body: object) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False, default=str)
