"""Settings in layers: each value knows which layer set it, and the topmost layer wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum

from tui.domain.fast_dataclass import dataclass
from tui.settings.schema import Settings, keys, validated

IN_PLACE_OF_LEVELS = ("reasoning.maxTokens", "reasoning.effort")
"""Settings that go before a thinking level, the first before the second."""


class Layer(IntEnum):
    """Weakest first."""

    DEFAULT = 0
    SAVED = 1
    """What the screen's own commands keep in state.toml."""
    CONFIG = 2
    MODEL = 3
    PROFILE = 4
    COMMAND_LINE = 5
    SESSION = 6

    @property
    def title(self) -> str:
        """The word shown to the user."""
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
    """A value and where it is from."""

    key: str
    value: object
    layer: Layer
    source: str
    """The layer in words, with the profile's or model's name where there is one."""
    overruled: tuple[Layer, ...] = ()
    """Lower layers (but the default) that say something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """An immutable stack of dotted keys and validated values."""

    values: Mapping[Layer, Mapping[str, object]] = field(default_factory=dict)
    names: Mapping[Layer, str] = field(default_factory=dict)
    """What a layer is called beyond its kind: the profile's name, the model."""
    level_at: Layer = Layer.DEFAULT
    """The layer that said the thinking level."""

    def with_layer(self, layer: Layer, values: Mapping[str, object], name: str = "") -> Layers:
        """The same stack with this layer's content replaced."""
        return replace(self, values={**self.values, layer: dict(values)}, names={**self.names, layer: name})

    def with_value(self, layer: Layer, key: str, value: object) -> Layers:
        """The same stack with one value set."""
        return self.with_layer(layer, {**self.values.get(layer, {}), key: value}, self.names.get(layer, ""))

    def without(self, layer: Layer, key: str) -> Layers:
        """The same stack with one value gone from a layer."""
        kept = {name: value for name, value in self.values.get(layer, {}).items() if name != key}
        return self.with_layer(layer, kept, self.names.get(layer, ""))

    def provenance(self, key: str) -> Provenance:
        """The value in force, and who said so."""
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
        """The value in force."""
        return self.provenance(key).value

    def for_plan(self, key: str) -> object:
        """The value in force for the thinking plan: what goes in place of levels yields to a level said higher."""
        return None if self.yields(key) else self.value(key)

    def yields(self, key: str) -> bool:
        """Whether a setting in place of levels counts for nothing, because a level was said higher."""
        return key in IN_PLACE_OF_LEVELS and self.provenance(key).layer < self.level_at

    @property
    def level_said(self) -> bool:
        """Whether the user chose a thinking level, or a setting that takes its place."""
        return self.level_at is not Layer.DEFAULT or bool(self.overruler())

    def overruler(self) -> str:
        """Who said the setting that goes before the thinking level; "" where none does."""
        if self.value("reasoning.enabled") is False:
            return self.provenance("reasoning.enabled").source
        said = [key for key in IN_PLACE_OF_LEVELS if self.for_plan(key) is not None]
        return self.provenance(said[0]).source if said else ""

    def settings(self) -> Settings:
        """Everything in force, as one typed value."""
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
