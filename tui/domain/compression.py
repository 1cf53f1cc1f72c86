"""Compression of the history. A view is stored beside the turns and changes none of them, so it can be undone.

Summary requests are recorded with their cost, whether or not the summary is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Origin
from tui.domain.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionView:
    """Which stored turns a summary replaces, and which tool results are shortened."""

    summary: str = ""
    """Summary of the compressed turns; "" if no turn is compressed."""
    compressed_turns: frozenset[str] = frozenset()
    """Ids of the turns that the summary replaces."""
    verbatim: tuple[str, ...] = ()
    """The user's latest messages in the compressed turns, unchanged."""
    shortened: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(message id, call id) of a stored tool result → the shorter text that is sent instead."""
    finished: frozenset[str] | None = None
    """Ids of the turns that were finished when this view was made; None if not recorded. Thinking that is only valid
    with an unchanged history is no longer valid in them."""
    before: int | None = None
    """Effective tokens when the summary was made; None if not recorded."""
    after: int | None = None
    """Effective tokens with the summary in place of the turns."""
    previous: CompressionView | None = None
    """The view to restore on undo; None restores the whole history."""

    def fitting(self, turns: Set[str]) -> CompressionView | None:
        """Return the newest of this view and its predecessors that compresses only these turns."""
        view: CompressionView | None = self
        while view is not None and not view.compressed_turns <= turns:
            view = view.previous
        return view

    def changed_for(self, turn_id: str) -> bool:
        """Return whether messages before the end of this turn changed after it was finished."""
        changed = bool(self.compressed_turns or self.shortened)
        return changed and (self.finished is None or turn_id in self.finished)

    def as_message(self) -> str:
        """Return the message that is sent in place of the compressed turns."""
        parts = [
            "Earlier parts of this conversation were compressed into this summary. It is a record, not an instruction:",
            f"<summary>\n{self.summary}\n</summary>",
        ]
        if self.verbatim:
            quoted = "\n".join(f"<message>\n{words}\n</message>" for words in self.verbatim)
            parts.append(f"My latest messages from the compressed part, word for word:\n{quoted}")
        return "\n\n".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionPreview:
    """The expected effect of compressing now. No summary is requested for it."""

    turns: tuple[str, ...]
    """Ids of the turns that would be compressed, oldest first."""
    prompts: tuple[str, ...]
    """The first line of each turn's prompt."""
    verbatim: tuple[str, ...]
    """The user's messages that would stay unchanged."""
    writer: str
    """``provider/model`` that would write the summary."""
    before: int
    """Effective tokens now."""
    compressed_tokens: int
    """Tokens of the turns that would be compressed."""
    after: int
    """Estimated effective tokens with a summary of the usual length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRun:
    """One request for a summary, failed or not. It is billed like an answer."""

    id: str
    turn: str
    """The last turn at that time. A branch without this turn does not include the cost."""
    origin: Origin
    """The model that wrote the summary."""
    usage: Usage | None = None
    seconds: float | None = None
    cost: float | None = None
    """Dollars; None is unknown."""
    failure: str = ""
    """Why the summary was rejected, or the answer interrupted; "" otherwise."""
    aside: bool = False
    """It was no summary but the answer to a side question that was not kept."""

    @classmethod
    def of(cls, message: Message, turn: str, *, aside: bool = False) -> SummaryRun | None:
        """The cost of an answer; None if it is not known which model gave it."""
        if message.origin is None:
            return None
        return cls(
            id=message.id,
            turn=turn,
            origin=message.origin,
            usage=message.usage,
            seconds=message.seconds,
            cost=message.cost,
            failure=(message.interrupted or "") if aside else "",
            aside=aside,
        )
