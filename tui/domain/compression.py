"""How a compressed history is looked at: a value beside the stored turns, so that it can be undone by dropping it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    previous: CompressionView | None = None
    """What held before; undoing goes back to it, None being the whole history."""

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
