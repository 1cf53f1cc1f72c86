"""Sheets of text: help, made from the command table and the keys in force, and the long output of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from tui.commands.keymap import key_words
from tui.commands.registry import Command, CommandScope, Group, Registry
from tui.domain.fuzzy import best
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.input.field import Field
from tui.ui.markdown.runs import Line, Look, Run, wrap
from tui.ui.panels.page import Lines, Page, markdown_lines

PLACES = {
    CommandScope.COMPOSER: "In the composer",
    CommandScope.TRANSCRIPT: "In the conversation",
    CommandScope.ANYWHERE: "Anywhere",
}
FOCUSED = {
    CommandScope.COMPOSER: "The composer: write here. Enter sends, / starts a command, @ attaches a file, "
    "↑ brings back earlier prompts.",
    CommandScope.TRANSCRIPT: "The conversation: j and k move from block to block, { and } from prompt to prompt, space "
    "opens thinking and tool calls, / searches, letters act on the turn under the cursor.",
    CommandScope.ANYWHERE: "The sidebar: type to filter models, enter selects one, tab moves to thinking, "
    "digits enter a budget.",
}
"""What the focused widget does."""

KEY_COLUMN = 30
"""Columns of the keys of a command, the same in all sections."""

KeysInForce = Mapping[str, tuple[str, ...]]


def key_lines(
    registry: Registry, keymap: KeysInForce, scope: CommandScope, query: str, width: int, *, ids: bool = False
) -> list[Line]:
    """The keys of one scope; ``ids`` adds the command ids used in keys.toml."""
    bound = [command for command in registry if keymap.get(command.id)]
    fitting = best(query, bound, lambda command: f"{command.title} {' '.join(keymap[command.id])} {command.id}")
    found = [command for command in fitting if command.scope is scope]
    usual = sorted(found, key=lambda command: (not command.owned_by_widget, list(Group).index(command.group)))
    shown = found if query else usual
    named = [("  ".join(key_words(key) for key in keymap[command.id]), command) for command in shown]
    lines: list[Line] = []
    for key, command in named:
        first = [Run(f"  {key.ljust(KEY_COLUMN)}  ", "text", Look.BOLD)]
        text = [Run(command.title, "text"), *([Run(f" · {command.id}", "muted")] if ids else [])]
        lines.extend(wrap(text, width, first, [Run(" " * (KEY_COLUMN + 4))]))
    return lines


def unbound_lines(registry: Registry, keymap: KeysInForce, query: str, width: int) -> list[Line]:
    """Commands without a key that could have one."""
    free = [command for command in registry if not keymap.get(command.id)]
    lines: list[Line] = []
    for command in best(query, free, lambda command: f"{command.title} {command.id}"):
        lines.extend(wrap([Run(command.title, "text"), Run(f" · {command.id}", "muted")], width, [Run("  ")]))
    return lines


def command_lines(commands: Sequence[Command], keymap: KeysInForce, width: int) -> list[Line]:
    """Slash commands with arguments, help and an example."""
    lines: list[Line] = []
    for command in commands:
        argument = f" {command.argument.usage}" if command.argument else ""
        keys = keymap.get(command.id, ())
        head = [Run(f"  /{command.slash}", "text", Look.BOLD), Run(argument, "muted")]
        if keys:
            head.append(Run(f"   {key_words(keys[0])}", "text", Look.BOLD))
        lines.append(head)
        lines.extend(wrap([Run(command.plain_help, "text")], width, [Run("    ")]))
        if command.argument:
            lines.extend(wrap([Run(command.example, "muted")], width, [Run("    ")]))
    return lines


def help_lines(
    registry: Registry, keymap: KeysInForce, focus: CommandScope, query: str, *, keys_file: str | None = None
) -> Lines:
    """The page for a width; only keys if ``keys_file`` says where they are changed."""
    only_keys = keys_file is not None

    def lines(width: int) -> Sequence[Line]:
        page: list[Line] = []
        if only_keys and not query:
            page.extend([*wrap([Run(KEYS_FILE.format(keys_file), "muted")], width), []])
        elif not query:
            page.extend([*wrap([Run(FOCUSED[focus], "text")], width), []])
        for scope in sorted(CommandScope, key=lambda scope: scope is not focus):
            found = key_lines(registry, keymap, scope, query, width, ids=only_keys)
            if found:
                page.extend([[Run(PLACES[scope], "heading", Look.BOLD)], *found, []])
        if only_keys:
            free = unbound_lines(registry, keymap, query, width)
            page.extend([[Run("Without a key", "heading", Look.BOLD)], *free] if free else [])
        slashed = [command for command in registry if command.slash]
        # In all groups at once: letters in order count only where the words occur nowhere.
        fitting = best(query, slashed, lambda command: f"{command.slash} {command.title} {command.help}")
        for group in Group:
            chosen = [command for command in fitting if command.group is group]
            if chosen and not only_keys:
                page.extend([[Run(group.value, "heading", Look.BOLD)], *command_lines(chosen, keymap, width), []])
        return page or [[Run("Nothing found.", "muted")]]

    return lines


KEYS_FILE = (
    'Keys are changed in {}, by the id of the command: "view.sidebar" = "f3", or a list of keys; "" unbinds. '
    "Errors in the file are shown at the next start."
)


class Help(Sheet[None]):
    """Searchable help; typing filters keys and commands."""

    SHAPE: ClassVar[str] = "-page"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (("up down", "scroll"), ("pageup pagedown", "page"))

    def __init__(self, focus: CommandScope, query: str = "", *, only_keys: bool = False) -> None:
        super().__init__()
        self._focus = focus
        self._query = query
        self._only_keys = only_keys

    def inside(self) -> Sequence[Widget]:
        """Filter above page."""
        self._field = Field(
            "search keys and commands", value=self._query, handed_on=frozenset({"up", "down", "pageup", "pagedown"})
        )
        self._page = Page(self.ponder.theming.sheet_styles(self.ponder))
        self._page.can_focus = False
        return (self._field, self._page)

    def on_mount(self) -> None:
        self.retitle("Keys" if self._only_keys else "Help")
        self._fill()
        self._field.focus()

    def _fill(self) -> None:
        self._page.show(
            help_lines(
                self.ponder.registry,
                self.ponder.keymap,
                self._focus,
                self._field.value.strip(),
                keys_file=self.ponder.services.settings.keys_file() if self._only_keys else None,
            )
        )
        self.call_after_refresh(self.fit, self._page)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._fill()

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        moves = {
            "up": self._page.scroll_up,
            "down": self._page.scroll_down,
            "pageup": self._page.scroll_page_up,
            "pagedown": self._page.scroll_page_down,
        }
        moves[event.key](animate=False)


class TextPage(Sheet[None]):
    """Shows the long output of a command."""

    SHAPE: ClassVar[str] = "-page"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (("up down", "scroll"), ("space", "page"))

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def inside(self) -> Sequence[Widget]:
        self._page = Page(self.ponder.theming.sheet_styles(self.ponder))
        return (self._page,)

    def on_mount(self) -> None:
        self.retitle(self._title)
        self._page.show(markdown_lines(self._text))
        self._page.focus()
        self.call_after_refresh(self.fit, self._page)
