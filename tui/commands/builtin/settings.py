"""Commands on settings, profiles and themes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tui.commands.registry import Argument, Command, CommandContext, Group, Offer, View
from tui.domain.errors import UsageError
from tui.domain.printable import one_line
from tui.settings.schema import Key, keys

LONGEST_VALUE = 30
"""Characters of a value in a list."""
PROFILE_ACTIONS = ("save", "load", "list", "show", "delete")


def _settings(context: CommandContext, typed: str) -> Iterable[Offer]:
    name, blank, rest = typed.partition(" ")
    if not blank:
        return [(key.name, _about(context, key)) for key in _keys_like(name)]
    key = next((known for known in keys().values() if known.name.lower() == name.lower()), None)
    if key is None:
        return []
    now, default = _words(context.services.settings.layers().value(key.name)), _words(key.default)
    marks = {default: "the default", now: f"as it is now · {key.help}"}
    return [(choice, marks.get(choice, "")) for choice in key.suggestions if choice.lower().startswith(rest.lower())]


def _keys_like(name: str) -> list[Key]:
    """The settings that begin with what was typed, else those that contain it."""
    starting = [key for key in keys().values() if key.name.lower().startswith(name.lower())]
    return starting or [key for key in keys().values() if name.lower() in key.name.lower()]


def _about(context: CommandContext, key: Key) -> str:
    """The value of a setting and what it is for."""
    return f"{_words(context.services.settings.layers().value(key.name))} · {key.help}"


def _words(value: object) -> str:
    """A value as it is typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value is None or value == "" else one_line(str(value), LONGEST_VALUE)


def _set_keys(context: CommandContext, typed: str) -> Iterable[Offer]:
    return [(key.name, _about(context, key)) for key in keys().values() if typed.lower() in key.name.lower()]


def _themes(context: CommandContext, typed: str) -> Iterable[str]:
    return [name for name in ("auto", *context.screen.theme_names()) if name.startswith(typed.lower())]


def _takes_theme(context: CommandContext, argument: str) -> bool:
    return argument in ("auto", *context.screen.theme_names())


def _profiles(context: CommandContext, typed: str) -> Iterable[str]:
    action, blank, name = typed.partition(" ")
    if not blank:
        return [word for word in PROFILE_ACTIONS if word.startswith(action)]
    return [known for known, _ in context.services.settings.profiles() if known.startswith(name)]


async def _set(context: CommandContext, argument: str) -> None:
    key, value = _key_and_value(argument)
    if not key:
        await context.screen.show(View.SETTINGS)
    elif not value:
        await context.screen.show(View.SETTINGS, key)
    else:
        context.screen.say(await context.services.settings.assign(key, value))


def _cost_of_set(context: CommandContext, argument: str) -> str:
    key, value = _key_and_value(argument)
    return context.services.settings.cost_of_value(key, value) if value else ""


def _key_and_value(argument: str) -> tuple[str, str]:
    key, _, value = argument.replace("=", " ", 1).partition(" ")
    return key, value.strip()


def _cost_of_unset(context: CommandContext, argument: str) -> str:
    return context.services.settings.cost_of_unset(argument)


async def _unset(context: CommandContext, argument: str) -> None:
    context.screen.say(await context.services.settings.unassign(argument))


async def _show(context: CommandContext, _: str) -> None:
    await context.screen.show(View.SETTINGS)


async def _system(context: CommandContext, argument: str) -> None:
    if not argument:
        now = str(context.services.settings.layers().value("generation.system")) or "There is none."
        await context.screen.show(View.TEXT, f"System prompt\n{now}")
    elif argument == "none":
        context.screen.say(await context.services.settings.unassign("generation.system"))
    else:
        context.screen.say(await context.services.settings.assign("generation.system", argument))


def _cost_of_system(context: CommandContext, argument: str) -> str:
    if argument == "none":
        return context.services.settings.cost_of_unset("generation.system")
    return context.services.settings.cost_of_value("generation.system", argument) if argument else ""


def _cost_of_profile(context: CommandContext, argument: str) -> str:
    action, _, name = argument.partition(" ")
    return context.services.settings.cost_of_profile(name.strip()) if action == "load" and name.strip() else ""


async def _profile(context: CommandContext, argument: str) -> None:
    action, _, name = argument.partition(" ")
    name = name.strip()
    if action in ("", "list"):
        profiles = await asyncio.to_thread(context.services.settings.profiles)
        rows = "\n".join(f"- **{known}** {about}" for known, about in profiles)
        await context.screen.show(View.TEXT, f"Profiles\n{rows}")
        return
    if action not in PROFILE_ACTIONS:
        raise UsageError(f"`/profile` cannot `{action}`.", advice=f"Use one of {', '.join(PROFILE_ACTIONS)}.")
    if not name:
        raise UsageError(f"`/profile {action}` needs a name.", advice=f"For example: `/profile {action} kimi`")
    if action == "load":
        context.screen.say(await context.services.settings.load_profile(name))
    elif action == "save":
        context.screen.say(await context.services.settings.save_profile(name))
    elif action == "delete":
        context.screen.say(await context.services.settings.delete_profile(name))
    else:
        shown = await asyncio.to_thread(context.services.settings.show_profile, name)
        await context.screen.show(View.TEXT, f"Profile {name}\n```toml\n{shown}\n```")


async def _theme(context: CommandContext, argument: str) -> None:
    if not argument:
        await context.screen.show(View.THEMES)
        return
    context.screen.use_theme(argument)
    context.screen.say(await context.services.settings.assign("ui.theme", argument))


COMMANDS = (
    Command(
        id="settings.set",
        slash="set",
        title="Change a setting",
        help="Set KEY to VALUE for this session (`ui` settings are saved); alone it opens the list of all settings.",
        group=Group.PROGRAM,
        run=_set,
        cost=_cost_of_set,
        argument=Argument(usage="KEY VALUE", complete=_settings, reads_files=True),
        example="/set reasoning.stripFromContext all",
    ),
    Command(
        id="settings.unset",
        slash="unset",
        title="Take a setting back",
        help="Remove KEY from this session; config, profile and model apply again.",
        group=Group.PROGRAM,
        run=_unset,
        cost=_cost_of_unset,
        argument=Argument(usage="KEY", required=True, complete=_set_keys, reads_files=True),
        example="/unset reasoning.stripFromContext",
    ),
    Command(
        id="settings.show",
        slash="settings",
        title="Settings",
        help="List all settings with value, source and description.",
        group=Group.PROGRAM,
        run=_show,
        example="/settings",
    ),
    Command(
        id="system.set",
        slash="system",
        title="System prompt",
        help="Show or set the system prompt; `none` removes it.",
        group=Group.CONTEXT,
        run=_system,
        cost=_cost_of_system,
        argument=Argument(usage="[TEXT]"),
        example="/system You answer in one sentence.",
    ),
    Command(
        id="profile",
        slash="profile",
        title="Profiles",
        help="Save, load, list, show or delete a model, level and settings under a name.",
        group=Group.MODEL,
        run=_profile,
        cost=_cost_of_profile,
        argument=Argument(usage="save|load|list|show|delete NAME", complete=_profiles, reads_files=True),
        example="/profile load kimi",
    ),
    Command(
        id="theme.set",
        slash="theme",
        title="Theme",
        help="Switch the theme; alone it opens the picker with a live preview.",
        group=Group.VIEW,
        run=_theme,
        argument=Argument(usage="NAME", complete=_themes, takes=_takes_theme),
        example="/theme dusk",
    ),
)
