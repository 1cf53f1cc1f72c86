"""Colours of a theme on a terminal with 256 colours: greys stay grey, other colours become the nearest ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from textual.color import Color, Lab, rgb_to_lab
from textual.theme import Theme

from tui.ui.theme.theme_files import FIELDS

GREY = 14.0
"""Least distance from grey, in Lab, that is seen as a colour on a surface."""
LIGHTNESS = 4
"""How much more than a hue lightness counts, on which it depends whether text can be read."""
STEPS = (0, 95, 135, 175, 215, 255)
"""The levels of red, green and blue in the cube of 216 colours."""
RAMP = tuple(range(8, 239, 10))
"""The levels of the 24 greys."""


def worn_with_256_colours(theme: Theme) -> Theme:
    """The theme in colours that the terminal has."""
    fields = {name: nearest_colour(str(value)) for name in FIELDS if (value := getattr(theme, name))}
    variables = {name: nearest_colour(value) for name, value in theme.variables.items()}
    return replace(theme, variables=variables, **fields)  # type: ignore[arg-type]  # optional colours by name


@cache
def nearest_colour(value: str) -> str:
    """A colour that is drawn as the nearest of the 256; names of the terminal's own colours stay."""
    if not value.startswith("#"):
        return value
    lab = rgb_to_lab(Color.parse(value[:7]))
    if (lab.a**2 + lab.b**2) ** 0.5 < GREY:
        return min(_greys(), key=lambda grey: abs(_greys()[grey] - lab.L))
    return min(_cube(), key=lambda colour: _distance(_cube()[colour], lab))


@cache
def _greys() -> Mapping[str, float]:
    """The lightness of each grey, by a colour that Rich draws as this grey: it does not draw each as itself."""
    drawn = {"#000000": 0.0, "#ffffff": 100.0}
    for number, level in enumerate(RAMP, 1):
        grey = round(number * 255 / (len(RAMP) + 1))
        drawn[f"#{grey:02x}{grey:02x}{grey:02x}"] = rgb_to_lab(Color(level, level, level)).L
    return drawn


@cache
def _cube() -> Mapping[str, Lab]:
    return {
        (colour := Color(red, green, blue)).hex6.lower(): rgb_to_lab(colour)
        for red in STEPS
        for green in STEPS
        for blue in STEPS
        if not red == green == blue
    }


def _distance(first: Lab, second: Lab) -> float:
    return LIGHTNESS * (first.L - second.L) ** 2 + (first.a - second.a) ** 2 + (first.b - second.b) ** 2
