"""Compression for the engine: the context room's pure functions behind the engine's ``Compressor`` port."""

from __future__ import annotations

from tui.context.view import CompressionView
from tui.domain.messages import Message
from tui.engine.ports import Ask, Folding, Planner, Target


class ContextCompressor:
    """Implements ``Compressor``."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    def fold(self, ask: Ask, writer: Target, instruction: str) -> Folding | None:
        """What to ask ``writer`` for a summary."""
        return None

    def smaller(self, folding: Folding) -> Folding | None:
        """The same with less to read."""
        return None

    def apply(self, ask: Ask, folding: Folding, answer: Message) -> CompressionView:
        """The view with the summary in it."""
        return CompressionView()

    def shorten(self, ask: Ask) -> CompressionView | None:
        """The view with large old tool results cut."""
        return None
