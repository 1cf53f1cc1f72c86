"""Weighing for the engine's planner: estimates, calibration that survives restarts, the meter's parts."""

from __future__ import annotations

from pathlib import Path

from tui.context.estimate import text_tokens
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.request import ChatRequest
from tui.domain.usage import Certainty, MeterReading, Part, Usage
from tui.engine.ports import Ask


class ContextScales:
    """Implements ``Scales``."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def reading(self, ask: Ask, request: ChatRequest) -> MeterReading:
        """What a request, and the draft in the ask, would weigh."""
        facts = ask.target.facts
        texts = [
            block.text
            for message in request.outgoing.messages
            for block in message.blocks
            if isinstance(block, TextBlock | ThinkingBlock)
        ]
        effective = sum(text_tokens(text, facts.tokenizer) for text in (*texts, request.system, ask.draft) if text)
        limit = ask.settings.context_limit or facts.context_window
        return MeterReading(
            effective=effective,
            raw=effective,
            limit=limit,
            reserved=0,
            trigger=None if limit is None else int(limit * ask.settings.compress_at),
            certainty=Certainty.ESTIMATED,
            parts={Part.DRAFT: text_tokens(ask.draft, facts.tokenizer) if ask.draft else 0},
        )

    def learn(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """What it really weighed."""
