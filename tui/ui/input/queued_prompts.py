"""The queued prompts above the composer."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tui.domain.printable import one_line
from tui.engine.state import SessionView
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import width_of

MOST_QUEUED = 3
"""Queued prompts that are shown."""


class QueuedPrompts(Static):
    """The queued prompts above the composer, the next one first; nothing while none is queued."""

    class Removed(Message):
        """The mark that removes a prompt was clicked."""

        def __init__(self, prompt: str) -> None:
            super().__init__()
            self.prompt = prompt

    def __init__(self) -> None:
        super().__init__("", id="queued", markup=False)
        self.rows = 0
        self._shown: tuple[object, ...] = ()
        self.display = False

    def show(self, view: SessionView, columns: int) -> None:
        """Show the queue of a session."""
        shown = (view.queue, view.queue_after_step, view.queue_held, columns)
        if shown == self._shown:
            return
        self._shown = shown
        lines = list(queued_lines(view, columns))
        self.rows = len(lines)
        self.display = bool(lines)
        self.update(Content("\n").join(lines))

    def on_click(self, event: events.Click) -> None:
        """Remove the prompt whose mark was clicked."""
        prompt = event.style.meta.get("queued") if event.style else None
        if isinstance(prompt, str):
            event.stop()
            self.post_message(self.Removed(prompt))


BAR, REMOVE = " ▌ ", "  x "
AFTER_STEP, AT_THE_END, HELD = "↳ after this step", "⋯ at the end", "⋯ held"


def queued_lines(view: SessionView, columns: int) -> Iterator[Content]:
    """A line per queued prompt: when it is sent, its first words, and the mark that removes it."""
    after_step = view.queue_after_step or (False,) * len(view.queue)
    for prompt, steers in list(zip(view.queue, after_step, strict=True))[:MOST_QUEUED]:
        when = HELD if view.queue_held else AFTER_STEP if steers else AT_THE_END
        label = Content.styled(f"{when.ljust(len(AFTER_STEP))}  ", "$accent" if steers else "$quiet")
        room = max(10, columns - len(BAR) - len(AFTER_STEP) - 2 - len(REMOVE))
        words = line_within(one_line(prompt, room), room)
        gap = " " * (room - width_of(words))
        mark = Content.styled(REMOVE, "bold $quiet").stylize(Style.from_meta({"queued": prompt}))
        yield Content.styled(BAR, "$quiet") + label + Content.styled(words + gap, "$quiet italic") + mark
    if len(view.queue) > MOST_QUEUED:
        yield Content.styled(f"   {len(view.queue) - MOST_QUEUED:,} more", "$quiet")
