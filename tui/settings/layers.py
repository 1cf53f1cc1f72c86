"""Settings in layers: each value records the layer that set it, and the topmost layer wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum

from tui.domain.fast_dataclass import dataclass
from tui.settings.schema import Settings, keys, validated

IN_PLACE_OF_LEVELS = ("reasoning.maxTokens", "reasoning.effort")
"""Settings that replace a thinking level; the first has precedence."""


class Layer(IntEnum):
    """Weakest first."""

    DEFAULT = 0
    SAVED = 1
    """Values that the screen's own commands save in state.toml."""
    CONFIG = 2
    MODEL = 3
    PROFILE = 4
    COMMAND_LINE = 5
    SESSION = 6

    @property
    def title(self) -> str:
        """The name shown to the user."""
        return {
            Layer.DEFAULT: "default",
            Layer.SAVED: "saved",
            Layer.CONFIG: "config.toml",
            Layer.MODEL: "model",
            Layer.PROFILE: "profile",
            Layer.COMMAND_LINE: "command line",
            Layer.SESSION: "session",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """A value and the layer it comes from."""

    key: str
    value: object
    layer: Layer
    source: str
    """The layer's name, followed by the profile's or model's name if it has one."""
    overruled: tuple[Layer, ...] = ()
    """Lower layers except the default that have a different value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """An immutable stack of dotted keys and validated values."""

    values: Mapping[Layer, Mapping[str, object]] = field(default_factory=dict)
    names: Mapping[Layer, str] = field(default_factory=dict)
    """Names for layers: of the profile, of the model."""
    level_at: Layer = Layer.DEFAULT
    """The layer that set the thinking level."""

    def with_layer(self, layer: Layer, values: Mapping[str, object], name: str = "") -> Layers:
        """A copy with this layer's content replaced."""
        return replace(self, values={**self.values, layer: dict(values)}, names={**self.names, layer: name})

    def with_value(self, layer: Layer, key: str, value: object) -> Layers:
        """A copy with one value set."""
        return self.with_layer(layer, {**self.values.get(layer, {}), key: value}, self.names.get(layer, ""))

    def without(self, layer: Layer, key: str) -> Layers:
        """A copy with one value removed from a layer."""
        kept = {name: value for name, value in self.values.get(layer, {}).items() if name != key}
        return self.with_layer(layer, kept, self.names.get(layer, ""))

    def provenance(self, key: str) -> Provenance:
        """The effective value and the layer that set it."""
        saying = [layer for layer in sorted(self.values, reverse=True) if key in self.values[layer]]
        if not saying:
            return Provenance(key=key, value=keys()[key].default, layer=Layer.DEFAULT, source=Layer.DEFAULT.title)
        top = saying[0]
        name = self.names.get(top, "")
        return Provenance(
            key=key,
            value=self.values[top][key],
            layer=top,
            source=f"{top.title} {name}" if name else top.title,
            overruled=tuple(layer for layer in saying[1:] if self.values[layer][key] != self.values[top][key]),
        )

    def value(self, key: str) -> object:
        """The effective value."""
        return self.provenance(key).value

    def for_plan(self, key: str) -> object:
        """The effective value for the thinking plan; None if ``is_overridden``."""
        return None if self.is_overridden(key) else self.value(key)

    def is_overridden(self, key: str) -> bool:
        """Whether a setting in place of levels has no effect because a higher layer sets a level."""
        return key in IN_PLACE_OF_LEVELS and self.provenance(key).layer < self.level_at

    @property
    def level_chosen(self) -> bool:
        """Whether the user chose a thinking level or a setting that replaces it."""
        return self.level_at is not Layer.DEFAULT or bool(self.overriding_source())

    def overriding_source(self) -> str:
        """The source of the setting that replaces the thinking level; "" if none does."""
        if self.value("reasoning.enabled") is False:
            return self.provenance("reasoning.enabled").source
        chosen = [key for key in IN_PLACE_OF_LEVELS if self.for_plan(key) is not None]
        return self.provenance(chosen[0]).source if chosen else ""

    def settings(self) -> Settings:
        """All effective values."""
        merged: dict[str, object] = {}
        for layer in sorted(self.values):
            merged.update(self.values[layer])
        nested: dict[str, object] = {}
        for key, value in merged.items():
            section, _, name = key.partition(".")
            if name:
                inner = nested.setdefault(section, {})
                assert isinstance(inner, dict)
                inner[name] = value
            else:
                nested[key] = value
        return validated(nested)
