"""The topmost layer wins, and every value knows where it is from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.settings.layers import Layer, Layers, Provenance

KEY = "reasoning.stripFromContext"
WORDS = st.sampled_from(["none", "allButLast", "all"])


def test_a_value_names_its_layer_and_what_it_overrules() -> None:
    layers = (
        Layers()
        .with_layer(Layer.CONFIG, {KEY: "all"})
        .with_layer(Layer.PROFILE, {KEY: "allButLast"}, "kimi")
        .with_layer(Layer.MODEL, {KEY: "allButLast"})
    )
    assert layers.provenance(KEY) == Provenance(
        key=KEY, value="allButLast", layer=Layer.PROFILE, source="profile kimi", overruled=(Layer.CONFIG,)
    )


def test_unsetting_brings_back_what_lies_below() -> None:
    layers = Layers().with_value(Layer.CONFIG, KEY, "all").with_value(Layer.SESSION, KEY, "none")
    assert layers.without(Layer.SESSION, KEY).value(KEY) == "all"
    assert layers.without(Layer.SESSION, KEY).without(Layer.CONFIG, KEY).value(KEY) == "none"


@given(st.dictionaries(st.sampled_from(list(Layer)[1:]), WORDS))
def test_the_value_in_force_is_that_of_the_highest_layer(said: dict[Layer, str]) -> None:
    layers = Layers()
    for layer, value in said.items():
        layers = layers.with_value(layer, KEY, value)
    expected = said[max(said)] if said else "none"
    assert layers.value(KEY) == expected
    assert layers.settings().reasoning.stripFromContext == expected
