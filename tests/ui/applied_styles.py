"""One search for the style rules of a widget for all applications of a test process.

Every application builds the same tree of widgets, and applies hundreds of rules to each of them several times: a sixth
of the time of these tests. What applies depends on the rules and on the types, names, classes and states of the widget
and of all that it is within; for these the answer is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from textual.css.model import CombinatorType, RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

FLAGS = ("_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even")

apply_as_textual = Stylesheet.apply


@dataclass(frozen=True, slots=True)
class Found:
    """What applying found out: what a widget has to heed, its rules if there are any, and as what it keeps them."""

    flags: tuple[bool, ...]
    rules: Any
    kept: dict[str, Any] | None
    """None if the rules are to be reached by an animation."""


class Known:
    """What is known of one list of rules; the list keeps the rules, so that no others get their place in memory."""

    def __init__(self, rules: list[RuleSet]) -> None:
        self.rules = rules
        self.asked: dict[tuple[object, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.found: dict[tuple[object, ...], Found] = {}

    def key(self, sheet: Stylesheet, node: DOMNode) -> tuple[object, ...]:
        """All that the search looks at."""
        kind = (type(node), node._id, node.classes)
        asked = self.asked.get(kind)
        if asked is None:
            asked = self.asked[kind] = _asked_states(sheet, node)
        own, around = asked
        parts: list[object] = [kind, *_states(node, own)]
        for each in node.css_path_nodes[:-1]:
            parts.append((type(each), each._id, each.classes))
            if around:
                parts += _states(each, around)
        return tuple(parts)


def _asked_states(sheet: Stylesheet, node: DOMNode) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The states that rules for this widget ask for: of the widget itself, and of what it is within."""
    own: set[str] = set()
    around: set[str] = set()
    for name in sheet.rules_map.keys() & node._selector_names:
        for rule in sheet.rules_map[name]:
            for selectors in rule.selector_set:
                asked = own
                for selector in reversed(selectors.selectors):
                    asked |= selector.pseudo_classes
                    if selector.combinator != CombinatorType.SAME:
                        asked = around
    return tuple(sorted(own)), tuple(sorted(around))


def _states(node: DOMNode, asked: tuple[str, ...]) -> list[bool]:
    checks: Mapping[str, Callable[[Any], bool]] = node._PSEUDO_CLASSES
    return [state in checks and checks[state](node) for state in asked]


_known: dict[tuple[int, ...], Known] = {}
_last: list[tuple[list[RuleSet], Known]] = []
"""The list of rules asked for last, and what is known of it."""


def _known_of(rules: list[RuleSet]) -> Known:
    if not _last or _last[0][0] is not rules:
        _last[:] = [(rules, _known.setdefault(tuple(map(id, rules)), Known(rules)))]
    return _last[0][1]


def apply_once(
    self: Stylesheet, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], Any] | None = None
) -> None:
    """As the original."""
    known = _known_of(self.rules)
    key = known.key(self, node)
    found = known.found.get(key)
    if found is None:
        known.found[key] = _found(self, node, animate=animate)
        return
    for flag, value in zip(FLAGS, found.flags, strict=True):
        setattr(node, flag, value)
    if found.rules is not None:
        _replace_rules(self, node, found, animate=animate)
    self._process_component_classes(node)


def _replace_rules(sheet: Stylesheet, node: DOMNode, found: Found, *, animate: bool) -> None:
    """As the original, which sets each of the rules by itself also if all are there already or none can be seen."""
    base: Any = node.styles.base
    if base._rules != found.kept:
        if node._is_mounted or found.kept is None:
            sheet.replace_rules(node, found.rules, animate=animate)
            return
        base._rules.clear()
        base._rules.update(found.kept)
        base._updates += 1
    node.notify_style_update()


def _found(sheet: Stylesheet, node: DOMNode, *, animate: bool) -> Found:
    """Apply as the original does, and hear which rules it found. Parts of the widget are applied within."""
    rules: list[Any] = []
    outer = vars(sheet).get("replace_rules")

    def heard(to: DOMNode, found: Any, animate: bool = False) -> None:
        if to is node:
            rules.append(found)
        Stylesheet.replace_rules(to, found, animate)

    vars(sheet)["replace_rules"] = heard
    try:
        apply_as_textual(sheet, node, animate=animate)
    finally:
        if outer is None:
            del vars(sheet)["replace_rules"]
        else:
            vars(sheet)["replace_rules"] = outer
    kept: Any = None if animate else dict(node.styles.base._rules)
    return Found(tuple(getattr(node, flag) for flag in FLAGS), rules[0] if rules else None, kept)
