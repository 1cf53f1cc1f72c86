"""The settings by numbers: value, source and help of each, changed in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.domain.printable import one_line
from tui.linear.questions import Choice, NotAnswered
from tui.linear.sentences import bare
from tui.settings.layers import Layer, Layers
from tui.settings.remembered import is_remembered
from tui.settings.schema import find_key, keys

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

OTHER, UNSET = "another value", "unset"


def value_text(value: object) -> str:
    """A value in words."""
    if value is None or value in ((), ""):
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def setting_row(name: str, layers: Layers) -> Choice:
    """A setting with its value and source."""
    found = layers.provenance(name)
    return Choice(name, f"{name}: {one_line(value_text(found.value), 120)}, {found.source}")


async def change_settings(app: LinearApp, key: str) -> None:
    """List all settings, or change one."""
    name = find_key(key).name if key else None
    if name is None:
        rows = [setting_row(name, app.services.settings.layers()) for name in keys()]
        name = await app.questions.choose(["Settings:"], rows, find=True)
    if name is not None:
        await _change(app, name)


async def _change(app: LinearApp, name: str) -> None:
    service, key = app.services.settings, keys()[name]
    found = service.layers().provenance(name)
    lasts = "Changes are saved." if is_remembered(name) else "Changes apply to this session."
    about = f"{name} is {one_line(value_text(found.value), 400)}, from {found.source}. {bare(key.help)}"
    rows = [Choice(value, value) for value in key.choices]
    rows += [] if key.choices else [Choice(OTHER, f"enter a value: {key.kind}")]
    if found.layer in (Layer.SESSION, Layer.SAVED):
        rows.append(Choice(UNSET, "take the change back"))
    chosen = await app.questions.choose([f"{about} {lasts}"], rows)
    if chosen is None:
        return
    if chosen == UNSET:
        app.conversation.say(await service.unassign(name))
        return
    if chosen == OTHER:
        try:
            chosen = await app.questions.line("New value: ")
        except NotAnswered:
            return
    if chosen:
        app.conversation.say(await service.assign(name, chosen))
