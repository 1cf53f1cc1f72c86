"""The shape of a command, and the one table they stand in.

Slash commands with completion, the palette, key bindings, the footer, the help screen and the README's tables are all
read from here. A command is a function; what it may touch is its context (``context.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tui.commands.context import CommandContext
from tui.domain.errors import UsageError


class CommandScope(StrEnum):
    """Where a key works."""

    ANYWHERE = "anywhere"
    COMPOSER = "composer"
    TRANSCRIPT = "transcript"


class Group(StrEnum):
    """Chapters of the help screen, in order."""

    CHAT = "Chat"
    MODEL = "Model and thinking"
    CONTEXT = "Context"
    SESSIONS = "Sessions"
    VIEW = "View"
    TOOLS = "Tools"
    PROGRAM = "Program"


Run = Callable[[CommandContext, str], Awaitable[None]]
Complete = Callable[[CommandContext, str], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What stands behind a slash command."""

    words: str
    """How it is written, for help: ``NAME[/LEVEL]``."""
    required: bool = False
    complete: Complete | None = None
    """Words that may stand here, given what is typed so far."""
    reads_files: bool = False
    """Whether completing looks into folders: then it is done in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing the user can have done."""

    id: str
    title: str
    help: str
    group: Group
    run: Run
    slash: str = ""
    """The word after the slash; "" for what only has a key."""
    keys: tuple[str, ...] = ()
    """Default keys, in Textual's spelling; the first is shown."""
    scope: CommandScope = CommandScope.ANYWHERE
    argument: Argument | None = None
    example: str = ""
    """A line that works, for help and tests."""
    footer: str = ""
    """The word in the footer; "" keeps it out."""
    palette: bool = True
    while_busy: bool = False
    """It only does something while something runs."""
    owned_by_widget: bool = False
    """The key is handled where the focus is (enter, esc, arrows …); listed here for help and remapping only."""


def by_need(commands: Iterable[Command], *, busy: bool = False) -> list[Command]:
    """As one looks for them who has typed nothing yet: models first, what has nothing to stop or skip last."""
    return sorted(commands, key=lambda command: (command.while_busy and not busy, command.group is not Group.MODEL))


@dataclass(frozen=True, slots=True)
class Registry:
    """All commands, found by id and by slash word."""

    commands: tuple[Command, ...]
    _by_slash: Mapping[str, Command] = field(init=False, repr=False)
    _by_id: Mapping[str, Command] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_slash", {command.slash: command for command in self.commands if command.slash})
        object.__setattr__(self, "_by_id", {command.id: command for command in self.commands})

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    def by_id(self, name: str) -> Command:
        """The command of this id."""
        return self._by_id[name]

    def by_slash(self, word: str) -> Command | None:
        """The command of this slash word, or None."""
        return self._by_slash.get(word.lower())

    @property
    def slash_words(self) -> tuple[str, ...]:
        """All slash words, in the table's order."""
        return tuple(self._by_slash)

    async def run_line(self, context: CommandContext, line: str) -> None:
        """Run a typed slash command; a wrong one is a UsageError with the nearest."""
        from tui.commands.parse import parse_line

        parsed = parse_line(self, line)
        command = parsed.command
        if command.argument is not None and command.argument.required and not parsed.argument:
            raise UsageError(
                f"`/{command.slash}` needs {command.argument.words}.", advice=f"For example: `{command.example}`"
            )
        await command.run(context, parsed.argument)
