"""Help: the commands, and how lines are entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.commands.registry import Command, Group
from tui.linear.sentences import bare

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

ENTERING = (
    "A line is a prompt; a line that begins with / is a command.",
    "A backslash at the end of a line continues it. A line << begins a prompt of several lines, a line >> ends it.",
    "What you enter while an answer arrives is queued. Enter alone holds the output while you type.",
    "Ctrl+c stops the answer. Ctrl+d quits. There are no other keys.",
)


def say_help(app: LinearApp, query: str) -> None:
    """All commands, or those that a word selects; ``keys`` selects none."""
    words = query.lower().split()
    registry = app.context().registry
    if not words or words == ["keys"]:
        app.out.say(ENTERING)
    if words == ["keys"]:
        return
    for group in Group:
        commands = [command for command in registry if command.slash and command.group is group]
        found = [command for command in commands if all(word in _searched(command) for word in words)]
        if found:
            app.out.say(["", f"{group.value}:", *map(_line, found)])


def _searched(command: Command) -> str:
    return f"{command.slash} {command.title} {command.help}".lower()


def _line(command: Command) -> str:
    usage = f" {command.argument.usage}" if command.argument else ""
    return f"/{command.slash}{usage}: {bare(command.help)}"
