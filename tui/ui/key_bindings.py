"""The command table as Textual bindings, by where the focus is."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import Binding

from tui.commands.registry import CommandScope, Registry

WIDGET_ACTIONS = {"block.fold": "fold_at_cursor"}
"""Commands that are actions of the widget whose place they belong to."""


def bindings_for(registry: Registry, keymap: Mapping[str, tuple[str, ...]], place: CommandScope) -> list[Binding]:
    """Bindings of one place. Those that work anywhere go before what widgets would do with the key."""
    taken: set[str] = set()
    found: list[Binding] = []
    for command in registry:
        if command.place is not place or (command.owned_by_widget and command.id not in WIDGET_ACTIONS):
            continue
        keys = [key for key in keymap.get(command.id, ()) if key not in taken]
        taken.update(keys)
        found.extend(
            Binding(
                key,
                WIDGET_ACTIONS.get(command.id, f"app.command('{command.id}')"),
                command.title,
                show=False,
                priority=place is not CommandScope.TRANSCRIPT,
                id=f"{command.id}:{key}",
            )
            for key in keys
        )
    return found
