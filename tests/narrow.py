"""Values of a wide type, asserted to be of the one that a test is about."""

from __future__ import annotations

from typing import TypeVar

from tui.domain.blocks import Block, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock

T = TypeVar("T")


def expect_type(kind: type[T], value: object) -> T:
    assert isinstance(value, kind), value
    return value


def expect_some(value: T | None) -> T:
    assert value is not None
    return value


def text_of(block: Block) -> str:
    assert isinstance(block, TextBlock | ThinkingBlock), block
    return block.text


def state_of(block: Block) -> ProviderState:
    assert isinstance(block, TextBlock | ThinkingBlock | ToolCallBlock), block
    return expect_some(block.provider_state)
