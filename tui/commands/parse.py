"""Parse and complete slash commands."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.commands.registry import by_need
from tui.domain.errors import PonderError, UsageError
from tui.domain.fast_dataclass import dataclass

if TYPE_CHECKING:
    from tui.commands.context import CommandContext
    from tui.commands.registry import Command, Registry

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A slash command and its argument, without surrounding blanks."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class Completion:
    """One row of the completion popup; ``line`` replaces the typed line."""

    line: str
    shown: str
    help: str


def is_command(text: str) -> bool:
    """Whether a message is a command: one line with a slash and a letter. ``//`` and paths are not commands."""
    if not text.startswith("/") or "\n" in text.strip():
        return False
    word = text[1:].partition(" ")[0]
    return bool(word) and word[0].isalpha() and "/" not in word


def parse_line(registry: Registry, line: str) -> ParsedLine:
    """Parse a line; raises UsageError with similar names for an unknown command."""
    word, _, rest = line.strip().removeprefix("/").partition(" ")
    command = registry.by_slash(word)
    if command is None:
        near = nearest_words(registry, word)
        hint = "Did you mean " + ", ".join(f"`/{name}`" for name in near) + "?" if near else "`/help` lists them all."
        raise UsageError(f"There is no command `/{word}`.", advice=hint)
    return ParsedLine(command, rest.strip())


def nearest_words(registry: Registry, word: str) -> list[str]:
    """Slash words similar to a word."""
    starting = [name for name in registry.slash_words if name.startswith(word.lower())]
    return (starting or difflib.get_close_matches(word.lower(), registry.slash_words, n=3, cutoff=0.5))[:3]


def complete(registry: Registry, context: CommandContext, line: str) -> list[Completion]:
    """Completions of a line that starts with a slash, best first."""
    word, blank, rest = line.removeprefix("/").partition(" ")
    if not blank:
        return [_command_row(command) for command in _matching(registry, word)]
    command = registry.by_slash(word)
    if command is None or command.argument is None or command.argument.complete is None:
        return []
    head, _, _ = rest.rpartition(" ")
    prefix = f"/{command.slash} {head} " if head else f"/{command.slash} "
    try:
        offered: Iterable[str] = list(command.argument.complete(context, rest))
    except PonderError as error:  # an invalid file must not interrupt typing
        LOG.warning("nothing offered for /%s: %s", command.slash, error.message)
        return []
    return [Completion(prefix + offer, offer, "") for offer in offered]


def _matching(registry: Registry, word: str) -> list[Command]:
    lower = word.lower()
    slashed = [command for command in registry if command.slash]
    if not lower:
        return by_need(slashed)
    starts = [command for command in slashed if command.slash.startswith(lower)]
    contains = [command for command in slashed if lower in command.slash[1:] and command not in starts]
    return starts + contains


def _command_row(command: Command) -> Completion:
    shown = f"/{command.slash}" + (f" {command.argument.usage}" if command.argument else "")
    return Completion(f"/{command.slash}" + (" " if command.argument else ""), shown, command.help)
