"""The footer: at most seven keys that work where the focus is, never cut."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.widgets import Static

from tui.commands.key_labels import key_words
from tui.commands.registry import CommandScope, Registry

MOST = 7
ORDER = ("send", "newline", "stop", "model", "palette", "help", "sessions", "thinking")
"""What a newcomer needs first stands first: a narrow screen cuts from the end."""


def footer_keys(
    registry: Registry, keymap: Mapping[str, tuple[str, ...]], place: CommandScope
) -> list[tuple[str, str]]:
    """Keys and words for the footer, in the order of their use."""
    rows = [
        (
            ORDER.index(command.footer) if command.footer in ORDER else len(ORDER) + number,
            key_words(keymap[command.id][0]),
            command.footer,
        )
        for number, command in enumerate(registry)
        if command.footer and keymap.get(command.id) and command.place in (place, CommandScope.ANYWHERE)
    ]
    return [(key, word) for _, key, word in sorted(rows)]


TRANSCRIPT_KEYS = (("space", "fold"), ("j/k", "move"), ("y", "copy"), ("r", "retry"), ("e", "edit"), ("f", "fork"))

SIDEBAR_KEYS = (("↑↓", "move"), ("enter", "take"), ("tab", "thinking"), ("16k", "budget"), ("*", "favourite"))


class KeyLine(Static):
    """The line of keys."""

    def __init__(self, registry: Registry, keymap: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__("", markup=False)
        self._registry = registry
        self._keymap = keymap
        self._place = CommandScope.COMPOSER
        self._busy = False

    def on_mount(self) -> None:
        """Draw."""
        self._draw()

    def on_resize(self) -> None:
        """Draw what fits."""
        self._draw()

    def focus_on(self, place: CommandScope) -> None:
        """The focus is there now."""
        if place is not self._place:
            self._place = place
            self._draw()

    def stoppable(self, *, busy: bool) -> None:
        """Whether there is something to stop."""
        if busy is not self._busy:
            self._busy = busy
            self._draw()

    def _draw(self) -> None:
        keys = footer_keys(self._registry, self._keymap, self._place)
        if not self._busy:
            keys = [(key, word) for key, word in keys if word != "stop"]
        if self._place is CommandScope.TRANSCRIPT:
            keys = [*TRANSCRIPT_KEYS, ("esc", "stop" if self._busy else "back")]
        elif self._place is CommandScope.ANYWHERE:
            keys = [*SIDEBAR_KEYS, ("esc", "back")]
        content = Content("")
        used = 1
        for key, word in keys[:MOST]:
            width = len(key) + len(word) + 3
            if used + width > self.size.width:
                break
            used += width
            content = content + Content.styled(key, "bold $foreground") + Content.styled(f" {word}  ", "$muted-text")
        self.update(content, layout=False)
