"""One parse of each style sheet for all applications of a test process.

Every application, and every screen that is opened, parses the same text again: a twelfth of the time of these tests.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}


def parse_once(self: Stylesheet, css: str, *place: Any, **more: Any) -> list[RuleSet]:
    """As the original; the rules depend on the text, on where it stands and on the values of the variables."""
    key = (css, place, tuple(more.items()), frozenset(self._variables.items()))
    if key not in _parsed:
        _parsed[key] = _parse(self, css, *place, **more)
    return _parsed[key]
