"""The registry of all commands, in the order of the help screen."""

from __future__ import annotations

from functools import cache

from tui.commands.builtin import chat, context, model, program, project, sessions, settings
from tui.commands.registry import Registry


@cache
def registry() -> Registry:
    return Registry(
        (
            *chat.COMMANDS,
            *model.COMMANDS,
            *context.COMMANDS,
            *sessions.COMMANDS,
            *settings.COMMANDS,
            *project.COMMANDS,
            *program.COMMANDS,
        )
    )
