"""The start screen of a new session: what can be used, prompts to try, and the first keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from textual import events
from textual.content import Content, Span
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tui.domain.format_numbers import count
from tui.domain.listing import ProviderInfo
from tui.domain.printable import one_line

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

TRY = (
    ("enter", "sends what you write below"),
    ("ctrl+t", "chooses model and thinking level"),
    ("ctrl+s", "brings back earlier sessions"),
)
PROMPTS = (
    "Think hard: why is the night sky dark?",
    "Compare three ways to sort a list in a table, with code",
    "List the files here and say what this folder is for",
)
"""Prompts to begin with; the demo, too, has an answer to each."""
MOST_PROVIDERS = 10
WITHOUT_KEY = "no key"

PRIVATE = "Nothing of this conversation is stored. It is gone when ponder ends."


class EmptyState(Static):
    """The start screen; it asks no questions. Its prompts and the number of other providers can be clicked."""

    class Chosen(Message):
        """A prompt was clicked."""

        def __init__(self, prompt: str) -> None:
            super().__init__()
            self.prompt = prompt

    def __init__(
        self,
        providers: Sequence[ProviderInfo],
        problems: Sequence[tuple[str, str]],
        name: str,
        *,
        offers: bool = False,
    ) -> None:
        """``offers``: whether it has prompts to begin with, for users who have not written any."""
        super().__init__("", markup=False, id="empty")
        self.private = False
        self._offers = offers
        self._providers = providers
        self._problems = problems
        self._model_name = name
        self._shown: tuple[str, Sequence[Span]] = "", []

    def on_mount(self) -> None:
        self.show(self._providers, self._problems, self._model_name)

    def on_resize(self) -> None:
        """Wrap the prompts to the new width."""
        self.show(self._providers, self._problems, self._model_name)

    def show(self, providers: Sequence[ProviderInfo], problems: Sequence[tuple[str, str]], name: str) -> None:
        """Show what is known so far."""
        self._providers, self._problems, self._model_name = providers, problems, name
        lines = [Content.styled("Talk to models that think", "bold $primary")]
        if self.private:
            lines.append(Content.styled(PRIVATE, "$warning"))
        width = self.scrollable_content_region.width
        parts = (
            _problem_lines(problems),
            _provider_lines(providers, name, width),
            _prompt_lines(width) if self._offers else (),
            _key_lines(width),
        )
        for part in parts:
            found = list(part)
            lines.extend([Content(""), *found] if found else [])
        shown = Content("\n").join(lines)
        if (shown.plain, shown.spans) != self._shown:  # an update lays out the whole screen again
            self._shown = shown.plain, shown.spans
            self.update(shown)

    async def on_click(self, event: events.Click) -> None:
        """Take what was clicked."""
        meta = event.style.meta if event.style else {}
        number = meta.get("prompt")
        if "keys" in meta:
            event.stop()
            await cast("PonderApp", self.app).ui_services.run_id("key.set")
        if isinstance(number, int):
            event.stop()
            self.post_message(self.Chosen(PROMPTS[number]))


def _problem_lines(problems: Sequence[tuple[str, str]]) -> Iterator[Content]:
    for sentence, advice in problems[:4]:
        # Names are quoted as code, for the command line and the log.
        yield Content.styled("⚠ ", "$warning") + Content(one_line(sentence.replace("`", ""), 200))
        if advice:
            yield Content.styled(f"  {one_line(advice.replace('`', ''), 200)}", "$quiet")


def _provider_lines(providers: Sequence[ProviderInfo], name: str, width: int) -> Iterator[Content]:
    """A line for each provider that can be used or should be but cannot; the others are only counted."""
    shown = [row for row in providers if row.ready or not row.detail.startswith(WITHOUT_KEY)][:MOST_PROVIDERS]
    titles = max((len(one_line(row.title, 24)) for row in shown), default=0)
    for row in shown:
        mark = Content.styled("● ", "$success") if row.ready else Content.styled("○ ", "$quiet")
        title = Content.styled(one_line(row.title, 24).ljust(titles + 2), "$foreground" if row.ready else "$quiet")
        yield from _beside(mark + title, Content.styled(one_line(row.detail, 80), "$quiet"), width)
    if name.startswith("demo/"):
        demo = Content.styled("● ", "$warning") + Content.styled("Demo  ", "$foreground")
        yield from _beside(
            demo, Content.styled("answers until you add a key. It is not a real model.", "$quiet"), width
        )
    others = sum(not row.ready and row not in shown for row in providers)
    if others:
        counted = Content.styled(f"+ {count(others, 'provider')}: ", "$quiet")
        yield (counted + Content.styled("/key", "underline $quiet")).stylize(Style.from_meta({"keys": True}))


def _prompt_lines(width: int) -> Iterator[Content]:
    for number, prompt in enumerate(PROMPTS):
        clicked = Style.from_meta({"prompt": number})
        words = Content.styled(prompt, "underline $foreground").stylize(clicked)
        yield from _beside(Content.styled("› ", "$accent"), words, width)


def _key_lines(width: int) -> Iterator[Content]:
    for key, word in TRY:
        yield from _beside(Content.styled(f"{key:>8}  ", "bold $foreground"), Content.styled(word, "$quiet"), width)


def _beside(first: Content, words: Content, width: int) -> Iterator[Content]:
    """Words whose further rows begin below them; in one row while the width is unknown."""
    indent = first.cell_length
    has_room = not indent < width < indent + words.cell_length
    for at, row in enumerate([words] if has_room else words.wrap(width - indent)):
        yield (Content(" " * indent) if at else first) + row.rstrip()
