"""The empty state: which providers were found, and three things to try."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tui.domain.listing import ProviderInfo
from tui.domain.printable import one_line

TRY = (
    ("enter", "sends what you write below"),
    ("ctrl+t", "chooses model and thinking level"),
    ("ctrl+s", "brings back earlier sessions"),
)


class EmptyState(Static):
    """The start screen of a new session; it asks no questions."""

    def __init__(self, providers: Sequence[ProviderInfo], problems: Sequence[tuple[str, str]], name: str) -> None:
        super().__init__("", markup=False, id="empty")
        self._providers = providers
        self._problems = problems
        self._model_name = name

    def on_mount(self) -> None:
        self.show(self._providers, self._problems, self._model_name)

    def show(self, providers: Sequence[ProviderInfo], problems: Sequence[tuple[str, str]], name: str) -> None:
        """Show what is known so far."""
        self.update(Content("\n").join(_lines(providers, problems, name)))


def _lines(providers: Sequence[ProviderInfo], problems: Sequence[tuple[str, str]], name: str) -> list[Content]:
    lines = [
        Content.styled("Talk to models that think", "bold $primary"),
        Content(""),
    ]
    for sentence, advice in problems[:4]:
        lines.append(Content.styled("⚠ ", "$warning") + Content(one_line(sentence, 200)))
        if advice:
            lines.append(Content.styled(f"  {one_line(advice, 200)}", "$muted-text"))
    if problems:
        lines.append(Content(""))
    titles = max(12, *(len(one_line(row.title, 24)) for row in providers[:10]))
    for row in providers[:10]:
        mark = Content.styled("● ", "$success") if row.ready else Content.styled("○ ", "$muted-text")
        title = Content.styled(one_line(row.title, 24).ljust(titles + 2), "$foreground" if row.ready else "$muted-text")
        lines.append(mark + title + Content.styled(one_line(row.detail, 80), "$muted-text"))
    if name.startswith("demo/"):
        lines.append(Content(""))
        lines.append(Content.styled("Nothing to set up: the built-in demo answers until you add a key.", "$foreground"))
        lines.append(
            Content.styled("The demo is not a real model; it shows what a real one looks like here.", "$muted-text")
        )
    lines.append(Content(""))
    lines.extend(
        Content.styled(key.rjust(8), "bold $foreground") + Content.styled(f"  {word}", "$muted-text")
        for key, word in TRY
    )
    return lines
