"""One parse of each style sheet for all applications of a test process.

Every application, and every screen that is opened, parses the same text again: a twelfth of the time of these tests.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}
_variables: list[tuple[dict[str, str], frozenset[tuple[str, str]]]] = []
"""Those of the last sheet, and the same to look up; a sheet gets another dictionary when one of them changes."""


def parse_once(self: Stylesheet, css: str, *place: Any, **more: Any) -> list[RuleSet]:
    """As the original; the rules depend on the text, on where it stands and on the values of the variables."""
    if not _variables or _variables[0][0] is not self._variables:
        _variables[:] = [(self._variables, frozenset(self._variables.items()))]
    key = (css, place, tuple(more.items()), _variables[0][1])
    if key not in _parsed:
        _parsed[key] = _parse(self, css, *place, **more)
    return _parsed[key]
