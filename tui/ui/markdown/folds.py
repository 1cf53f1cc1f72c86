"""Which parts of a text are folded away: ``<details>`` that the user has not opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tui.ui.markdown.chunks import Chunk


class Folds:
    """The ``<details>`` of a text, by number.

    ``toggled`` are those that are not as written. ``changed`` is called with the chunks that are shown or hidden.
    """

    def __init__(self, toggled: set[int], changed: Callable[[Iterable[int]], None]) -> None:
        self._toggled = toggled
        self._changed = changed
        self._written_open: list[bool] = []
        self._spans: list[tuple[int, int]] = []
        """For each, the numbers of its head and of its last chunk so far."""

    def __len__(self) -> int:
        return len(self._spans)

    def note(self, first: int, chunks: Sequence[Chunk]) -> None:
        """Take in new chunks, the first with this number."""
        for index, chunk in enumerate(chunks, first):
            for fold in chunk.inside:
                self._spans[fold] = (self._spans[fold][0], index)
            if chunk.fold is not None:
                self._spans.append((index, index))
                self._written_open.append(chunk.opens)

    def is_open(self, fold: int) -> bool:
        """Whether its content is shown."""
        written = self._written_open[fold] if fold < len(self._written_open) else False
        return written != (fold in self._toggled)

    def hides(self, chunk: Chunk) -> bool:
        """Whether a chunk is folded away."""
        return any(not self.is_open(fold) for fold in chunk.inside)

    def toggle(self, fold: int) -> None:
        """Open or close one."""
        self._toggled ^= {fold}
        first, last = self._spans[fold]
        self._changed(range(first, last + 1))

    def toggle_all(self) -> None:
        """Open everything that is folded away, or close everything if nothing is."""
        folds = range(len(self))
        are_open = all(map(self.is_open, folds))
        for fold in folds:
            if self.is_open(fold) == are_open:
                self.toggle(fold)

    def uncover(self, chunk: Chunk) -> None:
        """Open whatever hides a chunk."""
        for fold in chunk.inside:
            if not self.is_open(fold):
                self.toggle(fold)
