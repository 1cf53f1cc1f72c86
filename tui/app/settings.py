"""Settings and profiles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

from tui.app.current_session import CurrentSession, add_notice, changed_values, describe_model
from tui.app.prompt_cache import CacheService, with_cost
from tui.catalog.model_spec import parse_spec
from tui.catalog.plan import PLAN_KEYS
from tui.domain.errors import ConfigError, PonderError, UsageError
from tui.domain.format_numbers import count
from tui.domain.thinking import ThinkingPlan
from tui.settings.layers import Layer, Layers
from tui.settings.profiles import (
    SECTIONS,
    Profile,
    delete_profile,
    load_profile,
    profile_names,
    profile_toml,
    save_profile,
)
from tui.settings.remembered import is_remembered
from tui.settings.schema import find_key, keys, nearest, parse


class SettingsService:
    """Reads, changed_values and saves settings and profiles."""

    def __init__(self, current: CurrentSession, cache: CacheService) -> None:
        self._current = current
        self._cache = cache
        self._folder = current.program.paths.profiles

    def layers(self) -> Layers:
        """All settings with their sources."""
        return self._current.layers

    async def assign(self, key: str, text: str) -> str:
        """Set a value from text (``/set``); returns a message for the user."""
        name, value = parse(key, text)
        if name == "model" and isinstance(value, str):
            parse_spec(value, self._current.program.catalog)
        if name == "ui.theme":
            await asyncio.to_thread(self._require_theme, str(value))
        if is_remembered(name):
            return await self._remember(name, value)
        before = self._cache.before_change()
        layers = self._current.layers.with_value(Layer.SESSION, name, value)
        plan = await self._current.apply(layers, {name: value})
        if name == "model" and isinstance(value, str):
            message = await self._current.use(parse_spec(value, self._current.program.catalog))
            message = with_cost(message, self._cache.after_change(before))
            add_notice(self._current.session, message)
            return f"{name} = {value} — {message}"
        await self._current.save_settings()
        message = " — ".join(
            [_with_plan(f"{name} = {_shown(value)}", name, plan), *await self._not_sent_warnings(name)]
        )
        return with_cost(message, self._cache.after_change(before))

    async def _remember(self, name: str, value: object) -> str:
        """Set a value for this session and save it."""
        remembered = self._current.program.remembered
        layers = self._current.layers.without(Layer.SESSION, name).with_value(Layer.SAVED, name, value)
        in_force = layers.provenance(name)
        if in_force.layer is not Layer.SAVED:
            layers = layers.with_value(Layer.SESSION, name, value)
        await self._current.apply(layers, {name: value})
        if remembered is not None:
            remembered.save(name, value)
        message = _titled(name, value)
        if in_force.layer is not Layer.CONFIG:  # a --set value ends with this run
            return f"{message} · saved"
        return f"{message} · for this session; {in_force.source} sets {_shown(in_force.value)} at the next start"

    async def set_saved(self, key: str, *, saved: bool) -> str:
        """Save the current value, or keep it for this session only."""
        name = find_key(key).name
        value = self._current.layers.value(name)
        if not is_remembered(name):
            raise UsageError(f"`{name}` is never saved by the program.", advice="Write it into config.toml.")
        if saved:
            return await self._remember(name, value)
        layers = self._current.layers.without(Layer.SAVED, name).with_value(Layer.SESSION, name, value)
        await self._current.apply(layers, {name: value})
        if self._current.program.remembered is not None:
            self._current.program.remembered.forget(name)
        return f"{_titled(name, value)} · for this session only"

    async def _not_sent_warnings(self, name: str) -> list[str]:
        """Warnings if the setting is not sent to the model in use."""
        if not name.startswith("generation."):
            return []
        preview = await self._current.call(self._current.session.preview(""))
        return [warning for warning in preview.request.outgoing.warnings if warning.startswith(f"`{name}`")]

    async def unassign(self, key: str) -> str:
        """Remove a value set in the session or saved (``/unset``); returns a message for the user."""
        name = find_key(key).name
        layers = self._current.layers.without(Layer.SESSION, name)
        if is_remembered(name):
            layers = layers.without(Layer.SAVED, name)
            if self._current.program.remembered is not None:
                self._current.program.remembered.forget(name)
        before = self._cache.before_change()
        plan = await self._current.apply(layers, {name: layers.value(name)})
        await self._current.save_settings()
        now = layers.provenance(name)
        message = _with_plan(f"{name} = {_shown(now.value)} ({now.source})", name, plan)
        return with_cost(message, self._cache.after_change(before))

    def cost_of_value(self, key: str, text: str) -> str:
        """What setting a value would make the next request write to the cache again; "" if nothing."""
        try:
            name, value = parse(key, text)
            spec = parse_spec(str(value), self._current.program.catalog) if name == "model" and value else None
        except PonderError:  # not typed to its end yet
            return ""
        layers = self._current.layers.with_value(Layer.SESSION, name, value)
        return self._cache.cost_of_change(spec=spec, layers=layers)

    def cost_of_unset(self, key: str) -> str:
        """The same for removing a value set in the session or saved."""
        try:
            name = find_key(key).name
        except PonderError:
            return ""
        layers = self._current.layers.without(Layer.SESSION, name)
        return self._cache.cost_of_change(layers=layers.without(Layer.SAVED, name) if is_remembered(name) else layers)

    def cost_of_profile(self, name: str) -> str:
        """The same for applying a profile. Reads its file."""
        try:
            profile = load_profile(self._folder, name)
            spec = parse_spec(profile.model, self._current.program.catalog) if profile.model else None
        except PonderError:
            return ""
        layers = self._current.layers.with_layer(Layer.PROFILE, profile.values, profile.name)
        if spec is not None and spec.asked is not None:
            layers = replace(layers, level_at=Layer.PROFILE)
        return self._cache.cost_of_change(spec=spec, layers=layers)

    def _require_theme(self, name: str) -> None:
        known = ["auto", *self._current.program.theme_names()]
        if name not in known:
            raise ConfigError(f"There is no theme `{name}`.", key="ui.theme", nearest=nearest(name, known))

    def profiles(self) -> Sequence[tuple[str, str]]:
        """Names and descriptions; the description of an invalid profile is its error."""
        return [(name, self._description(name)) for name in profile_names(self._folder)]

    def _description(self, name: str) -> str:
        try:
            return load_profile(self._folder, name).description
        except ConfigError as error:
            return f"✗ {error.message}"

    async def load_profile(self, name: str) -> str:
        """Apply a profile completely or not at all; returns a message for the user."""
        profile = await asyncio.to_thread(load_profile, self._folder, name)
        spec = parse_spec(profile.model, self._current.program.catalog) if profile.model else None
        before, cached = self._current.layers, self._cache.before_change()
        layers = before.with_layer(Layer.PROFILE, profile.values, profile.name)
        if spec is not None and spec.asked is not None:
            layers = replace(layers, level_at=Layer.PROFILE)
        plan = await self._current.apply(layers, changed_values(before, layers))
        if spec is not None:
            message = await self._current.use(spec, of_profile=True)
        else:
            message = describe_model(self._current, plan)
            await self._current.save_settings()
        message = with_cost(f"Profile {name}: {message}", self._cache.after_change(cached))
        add_notice(self._current.session, message)
        return message

    async def save_profile(self, name: str) -> str:
        """Save the current model, level and settings under a name."""
        layers = self._current.layers
        values = {
            key: layers.value(key)
            for key in keys()
            if key.partition(".")[0] in SECTIONS
            and layers.provenance(key).layer not in (Layer.DEFAULT, Layer.MODEL)
            and not layers.is_overridden(key)
        }
        profile = Profile(name=name, model=str(self._current.spec), values=values)
        await asyncio.to_thread(save_profile, self._folder, profile)
        return f"Profile {name} saved: {self._current.spec} and {count(len(values), 'setting')}."

    async def delete_profile(self, name: str) -> str:
        await asyncio.to_thread(delete_profile, self._folder, name)
        return f"Profile {name} deleted."

    def show_profile(self, name: str) -> str:
        """The profile as TOML."""
        return profile_toml(load_profile(self._folder, name))

    def keys_file(self) -> str:
        """The path of keys.toml."""
        return str(self._current.program.paths.keys_file)


def _with_plan(message: str, name: str, plan: ThinkingPlan) -> str:
    """Add the plan's summary if the setting affects thinking."""
    return f"{message} — {plan.summary}" if name in PLAN_KEYS and name.startswith("reasoning.") else message


def _titled(name: str, value: object) -> str:
    """``Theme: dawn``, as the sheet of settings names it."""
    from tui.settings.titles import TITLES

    return f"{TITLES[name]}: {('off', 'on')[value] if isinstance(value, bool) else _shown(value)}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
