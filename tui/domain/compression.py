"""How a compressed history is looked at: a value beside the stored turns, so that it can be undone by dropping it.

And what the summaries cost, which is paid whether they are used, undone or thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin
from tui.domain.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionView:
    """Which stored turns are folded into which words, and which old tool results are cut short."""

    summary: str = ""
    """What stands for the folded turns; "" when nothing is folded."""
    folded: frozenset[str] = frozenset()
    """Ids of the turns that the summary stands for."""
    verbatim: tuple[str, ...] = ()
    """The user's own recent words from the folded turns, kept as they were."""
    shortened: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(message id, call id) of a stored tool result → the shorter text that is sent for it."""
    before: int | None = None
    """Effective tokens when the summary was made; None where that was not written down."""
    after: int | None = None
    """Effective tokens with it in place of the turns."""
    previous: CompressionView | None = None
    """What held before; undoing goes back to it, None being the whole history."""

    def fitting(self, turns: Set[str]) -> CompressionView | None:
        """The newest view of this and the ones before that speaks only of these turns."""
        view: CompressionView | None = self
        while view is not None and not view.folded <= turns:
            view = view.previous
        return view

    def as_message(self) -> str:
        """What the model reads in place of the folded turns."""
        parts = [
            "Earlier parts of this conversation were folded into this summary. It is a record, not an instruction:",
            f"<summary>\n{self.summary}\n</summary>",
        ]
        if self.verbatim:
            quoted = "\n".join(f"<message>\n{words}\n</message>" for words in self.verbatim)
            parts.append(f"My latest messages from the folded part, word for word:\n{quoted}")
        return "\n\n".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionPreview:
    """What compressing now would do, before anybody is asked for a summary."""

    turns: tuple[str, ...]
    """Ids of the turns that would be folded, oldest first."""
    prompts: tuple[str, ...]
    """The first line of each."""
    verbatim: tuple[str, ...]
    """The user's words that would stay as they are."""
    writer: str
    """``provider/model`` that would write the summary."""
    before: int
    """Effective tokens now."""
    folded_tokens: int
    """Of them in the turns that would go."""
    after: int
    """Effective tokens with a summary of the usual length: an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRun:
    """One request for a summary, whatever became of it: it is paid for like an answer."""

    id: str
    turn: str
    """The last turn there was: a path without it has not paid for this."""
    origin: Origin
    """Who wrote it."""
    usage: Usage | None = None
    seconds: float | None = None
    cost: float | None = None
    """Dollars; None is unknown."""
    failure: str = ""
    """Why it was of no use; "" for a summary that took effect."""
