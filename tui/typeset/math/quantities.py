r"""Numbers with units, ``\SI{…}{…}`` and its relatives, rewritten as LaTeX."""

from __future__ import annotations

import re

from tui.typeset.math.nodes import CannotSetError

_UNITS = """
meter m metre m gram g kilogram kg second s ampere A kelvin K mole mol candela cd hertz Hz newton N pascal Pa joule J
watt W coulomb C volt V farad F ohm Ω siemens S weber Wb tesla T henry H lumen lm lux lx becquerel Bq gray Gy sievert
Sv katal kat celsius °C degreeCelsius °C degree ° arcminute ′ arcsecond ″ minute min hour h day d liter L litre l
tonne t hectare ha bar bar electronvolt eV dalton Da bel B decibel dB neper Np percent % radian rad steradian sr
astronomicalunit au angstrom Å bit bit byte B atmosphere atm kWh kWh
"""
_PREFIXES = """
quecto q ronto r yocto y zepto z atto a femto f pico p nano n micro µ milli m centi c deci d deca da hecto h kilo k
mega M giga G tera T peta P exa E zetta Z yotta Y ronna R quetta Q
"""


def _table(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


UNITS, PREFIXES = _table(_UNITS), _table(_PREFIXES)
BEFORE = {"square": "2", "cubic": "3"}
AFTER = {"squared": "2", "cubed": "3"}
NUMBER = re.compile(r"(?P<value>[+-]?[\d.,]*)(?:[eEdD](?P<power>[+-]?\d+))?")


def number(text: str) -> str:
    """A number, with its power of ten."""
    found = NUMBER.fullmatch(text.replace(" ", ""))
    if found is None or not found[0]:
        raise CannotSetError(f"{text} is no number")
    if found["power"] is None:
        return found["value"]
    times = rf"{found['value']} \times " if found["value"] else ""
    return f"{times}10^{{{found['power'].removeprefix('+')}}}"


def unit(text: str) -> str:
    """A unit, of commands or as it is printed."""
    if "\\" not in text:
        return "".join(_printed(part) for part in re.findall(r"\^(?:\{[^{}]*\}|-?\d+)|[.~]|/|[^\^.~/]+", text))
    parts: list[tuple[str, str, str]] = []
    prefix, power, sign = "", "1", ""
    for name in re.findall(r"\\([A-Za-z]+)", text):
        if name in PREFIXES:
            prefix = PREFIXES[name]
        elif name == "per":
            sign = "-"
        elif name in BEFORE:
            power = BEFORE[name]
        elif name in AFTER and parts:
            parts[-1] = (*parts[-1][:2], AFTER[name])
        elif name in UNITS:
            parts.append((prefix + UNITS[name].replace("%", "\\%"), sign, power))
            prefix, power, sign = "", "1", ""
        else:
            raise CannotSetError(f"the unit {name}")
    return r"\,".join(rf"\text{{{symbol}}}" + _exponent(sign + power) for symbol, sign, power in parts)


def _exponent(power: str) -> str:
    return "" if power == "1" else f"^{{{power}}}"


def _printed(part: str) -> str:
    if part[0] == "^":
        return part if part[1] == "{" else f"^{{{part[1:]}}}"
    return {".": r"\,", "~": r"\,", "/": "/"}.get(part) or rf"\text{{{part.strip()}}}"
