"""The desk's settings and profiles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tui.catalog.spec import parse_spec
from tui.settings.assign import find_key, parse
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
from tui.settings.schema import keys
from tui.wiring.open_session import OpenSession


class LiveSettings:
    """Implements ``SettingsDesk``."""

    def __init__(self, current: OpenSession) -> None:
        self._current = current
        self._folder = current.program.paths.profiles

    def layers(self) -> Layers:
        """All settings, with where they are from."""
        return self._current.layers

    async def assign(self, key: str, words: str) -> str:
        """``/set``."""
        name, value = parse(key, words)
        if name == "model" and isinstance(value, str):
            parse_spec(value, self._current.program.catalog)
        await self._current.apply(self._current.layers.with_value(Layer.SESSION, name, value), {name: value})
        return f"{name} = {_shown(value)}"

    async def unassign(self, key: str) -> str:
        """``/unset``."""
        name = find_key(key).name
        layers = self._current.layers.without(Layer.SESSION, name)
        await self._current.apply(layers, {name: layers.value(name)})
        now = layers.provenance(name)
        return f"{name} = {_shown(now.value)} ({now.source})"

    def profiles(self) -> Sequence[tuple[str, str]]:
        """Names and descriptions."""
        return [(name, load_profile(self._folder, name).description) for name in profile_names(self._folder)]

    async def load_profile(self, name: str) -> str:
        """All of it or nothing."""
        profile = load_profile(self._folder, name)
        spec = parse_spec(profile.model, self._current.program.catalog) if profile.model else None
        before = self._current.layers
        layers = before.with_layer(Layer.PROFILE, profile.values, profile.name)
        await self._current.apply(layers, _changes(before, layers))
        said = await self._current.use(spec) if spec is not None else ""
        return f"Profile {name}. {said}".strip()

    async def save_profile(self, name: str) -> str:
        """The model, level and settings in force."""
        layers = self._current.layers
        values = {
            key: layers.value(key)
            for key in keys()
            if key.partition(".")[0] in SECTIONS and layers.provenance(key).layer not in (Layer.DEFAULT, Layer.MODEL)
        }
        save_profile(self._folder, Profile(name=name, model=str(self._current.spec), values=values))
        return f"Profile {name} saved: {self._current.spec} and {len(values)} settings."

    async def delete_profile(self, name: str) -> str:
        """One of the user's."""
        delete_profile(self._folder, name)
        return f"Profile {name} deleted."

    def show_profile(self, name: str) -> str:
        """Its TOML."""
        return profile_toml(load_profile(self._folder, name))


def _changes(before: Layers, after: Layers) -> Mapping[str, object]:
    return {name: after.value(name) for name in keys() if after.value(name) != before.value(name)}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
