"""Commands, what they receive, the registry that holds them, and how a typed slash command is parsed and completed.

Slash commands, completion, the palette, key bindings, the footer, the help screen and the tables of the README are all
made from the registry.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from tui.domain.errors import PonderError, UsageError
from tui.domain.events import Severity
from tui.domain.fast_dataclass import dataclass

if TYPE_CHECKING:
    from tui.app.services import AppServices
    from tui.engine.state import SessionView


class View(StrEnum):
    """Screens and dialogs a command can open."""

    SESSIONS = "sessions"
    INSPECTOR = "inspector"
    SETTINGS = "settings"
    THEMES = "themes"
    HELP = "help"
    PALETTE = "palette"
    MODELS = "models"
    COMPARE = "compare"
    """``argument`` is the id of a session and of its turn that was replayed in the open one."""
    TREE = "tree"
    BRANCHES = "branches"
    """``argument`` is the id of a turn."""
    ASK = "ask"
    """``argument`` is that of the command."""
    ASIDE = "aside"
    """``argument`` is the question."""
    KEY = "key"
    TOOLS = "tools"
    APPROVAL = "approval"
    """``argument`` is the id of the call."""
    FIND = "find"
    OUTLINE = "outline"
    """``argument`` is "thinking", or "" for what is under the cursor."""
    HISTORY = "history"
    TEXT = "text"
    """``argument`` is a title, a newline, and markdown."""


class Copy(StrEnum):
    """What a command can copy."""

    ANSWER = "answer"
    CODE = "code"
    VISIBLE_CODE = "code block"
    THINKING = "thinking"
    WITH_THINKING = "with thinking"
    ALL = "all"


Jump = Literal["first", "last", "previous_prompt", "next_prompt"]
"""Where the cursor of the conversation can be sent."""
ScrollStep = Literal["page_up", "page_down", "half_up", "half_down", "up", "down", "end", "home"]
"""Distances to scroll the transcript."""


async def _no_shell(command: str, untrusted: bool) -> str:  # noqa: FBT001 - as the field of Screen
    raise UsageError(f"`{command}` cannot be run here.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What commands can do on the screen: functions that ``tui.ui`` supplies."""

    toast: Callable[[str, Severity, str], None]
    """Show a text and an advice."""
    open: Callable[[View, str], Awaitable[None]]
    theme_names: Callable[[], Sequence[str]]
    use_theme: Callable[[str], None]
    """Switch the theme; raises UsageError that lists similar names."""
    toggle_sidebar: Callable[[], str]
    """Show or hide the sidebar; returns the matching value of ``ui.sidebar``."""
    step_thinking_view: Callable[[], str]
    """Cycle folded, peek and full for all thinking; returns the new state."""
    copy: Callable[[Copy], str]
    """Copy to the clipboard; returns a message for the user."""
    draft: Callable[[], str]
    """The text in the composer."""
    put_draft: Callable[[str], None]
    """Replace the text in the composer."""
    attach: Callable[[str], None]
    edit_in_editor: Callable[[], Awaitable[None]]
    """Edit the draft in $EDITOR."""
    chosen_turn: Callable[[], str | None]
    """The id of the turn under the cursor, or of the last turn."""
    edit_turn: Callable[[str], None]
    """Put a turn's prompt into the composer; sending it creates a branch."""
    scroll: Callable[[ScrollStep], None]
    move_cursor: Callable[[int], None]
    """Move the cursor by blocks."""
    jump: Callable[[Jump], None]
    shift_code: Callable[[int], None]
    """Scroll the code under the cursor sideways; 0 toggles wrapping."""
    reread_prompts: Callable[[], Awaitable[None]]
    """Read the prompt templates again; they are commands from then on."""
    start: Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
    """Do work that may take long beside the screen, and show its errors."""
    toggle_source: Callable[[], None]
    """Show diagrams under the cursor as they are written, or drawn."""
    session_changed: Callable[[], object]
    """Draw the session that is open now."""
    show_turn: Callable[[str], None]
    """Draw the session that is open now, with the cursor on this turn."""
    quit: Callable[[], None]
    run_shell: Callable[[str, bool], Awaitable[str]] = _no_shell
    """Run a shell command by the rules for tools; returns its output. The flag says that others wrote it. Raises
    UsageError if it was not run."""

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        """Show a toast."""
        self.toast(text, severity, advice)

    async def show(self, view: View, argument: str = "") -> None:
        """Open a screen or dialog."""
        await self.open(view, argument)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The argument of every command handler."""

    services: AppServices
    screen: Screen
    registry: Registry

    def view(self) -> SessionView:
        """Return a snapshot of the open session."""
        return self.services.chat.view()


LOG = logging.getLogger(__name__)


class CommandScope(StrEnum):
    """The part of the screen that must have the focus for a key to work."""

    ANYWHERE = "anywhere"
    COMPOSER = "composer"
    TRANSCRIPT = "transcript"


class Group(StrEnum):
    """Sections of the help screen, in order."""

    CHAT = "Chat"
    MODEL = "Model and thinking"
    CONTEXT = "Context"
    SESSIONS = "Sessions"
    VIEW = "View"
    TOOLS = "Tools"
    PROMPTS = "Prompts and project"
    PROGRAM = "Program"


Run = Callable[[CommandContext, str], Awaitable[None]]
Offer = str | tuple[str, str]
"""A completion, perhaps with what it is about."""
Complete = Callable[[CommandContext, str], Iterable[Offer]]
Cost = Callable[[CommandContext, str], str]
Takes = Callable[[CommandContext, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """The argument of a slash command."""

    usage: str
    """Its form in help texts: ``NAME[/LEVEL]``."""
    required: bool = False
    complete: Complete | None = None
    """Returns completions of the text typed so far."""
    takes: Takes | None = None
    """Whether the command takes this argument as it stands; None if that is found out only by running it."""
    reads_files: bool = False
    """Whether completing, or finding the cost, reads files; it then runs in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One action the user can run by slash command, key or palette."""

    id: str
    title: str
    help: str
    group: Group
    run: Run
    slash: str = ""
    """The word after the slash; "" if there is none."""
    keys: tuple[str, ...] = ()
    """Default keys, as Textual names them; the first is shown."""
    scope: CommandScope = CommandScope.ANYWHERE
    argument: Argument | None = None
    cost: Cost | None = None
    """Returns what running it with an argument would make the next request write to the prompt cache again."""
    example: str = ""
    """A valid command line, for help and tests."""
    footer: str = ""
    """The label in the footer; "" if it is not shown."""
    palette: bool = True
    while_busy: bool = False
    """It has an effect only while a turn runs."""
    owned_by_widget: bool = False
    """The focused widget handles the key (enter, esc, arrows); listed here for help."""

    @property
    def plain_help(self) -> str:
        """The help without the marks of code, which only markdown shows as such."""
        return self.help.replace("`", "")

    @property
    def has_fixed_keys(self) -> bool:
        """Whether no file can change its keys."""
        return self.owned_by_widget and self.scope is not CommandScope.TRANSCRIPT


def by_need(commands: Iterable[Command], *, busy: bool = False) -> list[Command]:
    """Default order before anything is typed: model commands first, commands without effect now last."""
    return sorted(commands, key=lambda command: (command.while_busy and not busy, command.group is not Group.MODEL))


class Registry:
    """All commands, by id and by slash word."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands = tuple(commands)
        self._by_slash = {command.slash: command for command in self.commands if command.slash}
        self._by_id = {command.id: command for command in self.commands}

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    def by_id(self, name: str) -> Command:
        return self._by_id[name]

    def by_slash(self, word: str) -> Command | None:
        return self._by_slash.get(word.lower())

    @property
    def slash_words(self) -> tuple[str, ...]:
        """All slash words in order."""
        return tuple(self._by_slash)

    def with_commands(self, prefix: str, commands: Iterable[Command]) -> Registry:
        """The registry with these in place of all commands whose id has this prefix."""
        return Registry((*(command for command in self if not command.id.startswith(prefix)), *commands))

    async def run_line(self, context: CommandContext, line: str) -> None:
        """Run a typed slash command; raises UsageError for an unknown command or a missing argument."""
        parsed = parse_line(self, line)
        command = parsed.command
        if command.argument is not None and command.argument.required and not parsed.argument:
            raise UsageError(
                f"`/{command.slash}` needs {command.argument.usage}.", advice=f"For example: `{command.example}`"
            )
        await command.run(context, parsed.argument)


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
    whole: bool = True
    """False if taking it is not the end: more can be typed."""


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
    from difflib import get_close_matches  # loaded with the first word that is unknown

    starting = [name for name in registry.slash_words if name.startswith(word.lower())]
    return (starting or get_close_matches(word.lower(), registry.slash_words, n=3, cutoff=0.5))[:3]


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
        offered: Iterable[Offer] = list(command.argument.complete(context, rest))
    except PonderError as error:  # an invalid file must not interrupt typing
        LOG.warning("nothing offered for /%s: %s", command.slash, error.message)
        return []
    rows = (offer if isinstance(offer, tuple) else (offer, "") for offer in offered)
    return [Completion(prefix + word, word, about) for word, about in rows]


def is_taken(registry: Registry, context: CommandContext, line: str) -> bool | None:
    """Whether a typed line can be run as it stands; None if only running it shows that."""
    word, blank, rest = line.removeprefix("/").partition(" ")
    command = registry.by_slash(word)
    if command is None:
        return False
    if not blank:
        return command.argument is None
    if not rest.strip():
        return False
    takes = command.argument.takes if command.argument is not None else None
    return takes(context, rest.strip()) if takes is not None else None


def cost_of_line(registry: Registry, context: CommandContext, line: str) -> str:
    """What a typed line would make the next request write to the prompt cache again; "" if nothing."""
    word, _, rest = line.strip().removeprefix("/").partition(" ")
    command = registry.by_slash(word)
    return command.cost(context, rest.strip()) if command is not None and command.cost is not None else ""


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
    return Completion(f"/{command.slash}" + (" " if command.argument else ""), shown, command.plain_help)
