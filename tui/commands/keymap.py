"""Keys of commands: their names for the user and for Textual, and ``keys.toml``, which replaces the defaults."""

from __future__ import annotations

import difflib
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import one_line
from tui.settings.user_files import parse_user_toml

if TYPE_CHECKING:
    from tui.commands.registry import Registry

INDISTINCT = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
    "ctrl+[": "escape",
    "ctrl+tab": "nothing in most terminals",
}
"""Keys that terminals cannot distinguish from others; they cannot be bound."""

WITHOUT_COMMAND = {"ctrl+z": "suspends the program", "ctrl+underscore": "undoes typing"}
"""Keys with a fixed meaning that is no command."""
WITHOUT_COMMAND_IN_TRANSCRIPT = {
    "n": "goes to the next match, or sends a retry now",
    "N": "goes to the previous match",
    "x": "removes the last queued prompt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keymap:
    """Keys by command id, and problems of the file."""

    keys: Mapping[str, tuple[str, ...]]
    problems: tuple[ConfigError, ...] = field(default=())


def default_keymap(registry: Registry) -> Keymap:
    return Keymap(keys={command.id: command.keys for command in registry if command.keys})


def read_keymap(registry: Registry, text: str, file: str = "keys.toml") -> Keymap:
    """Apply the file to the defaults: ``"view.sidebar" = "ctrl+b"`` or a list of keys; ``""`` removes them."""
    defaults = default_keymap(registry)
    try:
        document = parse_user_toml(text)
    except ValueError as error:  # it is not TOML
        return Keymap(keys=defaults.keys, problems=(ConfigError(f"`{file}`: {error}.", file=file),))
    keys = dict(defaults.keys)
    problems: list[ConfigError] = []
    for name, value in _flat(document).items():
        try:
            keys[name] = _checked(registry, file, name, value)
        except ConfigError as problem:
            problems.append(problem)
    return Keymap(keys=keys, problems=(*problems, *_conflicts(registry, keys, file)))


def _flat(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found.update(_flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def _checked(registry: Registry, file: str, name: str, value: object) -> tuple[str, ...]:
    known = [command.id for command in registry]
    if name not in known:
        near = tuple(difflib.get_close_matches(name, known, n=3, cutoff=0.5))
        raise ConfigError(f"`{file}`: there is no command `{name}`.", file=file, key=name, nearest=near)
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ConfigError(f"`{file}`: `{name}` takes a key or a list of keys.", file=file, key=name)
    command = registry.by_id(name)
    if command.has_fixed_keys:
        raise ConfigError(f"`{file}`: the keys of `{name}` cannot be changed.", file=file, key=name)
    keys = tuple(_key(file, name, str(word)) for word in words if str(word).strip())
    fixed = _fixed_keys(registry, command.scope)
    for key in keys:
        if key in fixed:
            raise ConfigError(
                f"`{file}`: `{name}`: `{key_words(key)}` cannot be bound: it {fixed[key]}.", file=file, key=name
            )
        if key in INDISTINCT:
            raise ConfigError(
                f"`{file}`: `{name}`: terminals send `{key}` as {INDISTINCT[key]}, so it cannot be bound.",
                file=file,
                key=name,
            )
    return keys


def _fixed_keys(registry: Registry, scope: str) -> dict[str, str]:
    """Keys that commands of a scope cannot have, and what they do: the others would lose them."""
    fixed = dict(WITHOUT_COMMAND)
    if scope == "transcript":
        fixed |= WITHOUT_COMMAND_IN_TRANSCRIPT
    for command in registry:
        if command.has_fixed_keys and (scope != "transcript" or command.scope == "anywhere"):
            fixed |= dict.fromkeys(command.keys, f"belongs to `{command.id}`")
    return fixed


def _key(file: str, name: str, word: str) -> str:
    key = key_name(word)
    if key is None:
        raise ConfigError(
            f"`{file}`: `{name}`: there is no key `{one_line(word, 40)}`; keys are written like ctrl+b, alt+., f3, R.",
            file=file,
            key=name,
        )
    return key


def _conflicts(registry: Registry, keys: Mapping[str, tuple[str, ...]], file: str) -> list[ConfigError]:
    users: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, bound in keys.items():
        for key in bound:
            users[registry.by_id(name).scope, key].append(name)
    return [
        ConfigError(f"`{file}`: `{key}` is bound to {' and '.join(names)}; the first one has it.", file=file, key=key)
        for (_, key), names in users.items()
        if len(names) > 1
    ]


SHOWN = {
    "escape": "esc",
    "full_stop": ".",
    "comma": ",",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "asterisk": "*",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}


def key_words(key: str) -> str:
    """The shown form of a key: ``alt+full_stop`` becomes ``alt+.``."""
    return "+".join(SHOWN.get(part, part) for part in key.split("+"))


MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")
NAMED = frozenset(
    (
        *("escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
        *("up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 25)),
    )
)
ALIASES = {shown: name for name, shown in SHOWN.items()} | {"return": "enter", "del": "delete", "ins": "insert"}
SHORT = {
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "low_line": "underscore",
    "plus_sign": "plus",
    "reverse_solidus": "backslash",
    "solidus": "slash",
}
"""Textual's names of characters, by Unicode name."""


def key_name(words: str) -> str | None:
    """Textual's name of a key: ``alt+full_stop`` for ``alt+.``, ``R`` for ``Shift+R``; None if it is not a key."""
    words = words.strip()
    front, plus, last = words.rpartition("+")
    if words == "+" or words.endswith("++"):
        front, plus, last = front[:-1], words[:-1], "+"
    modifiers = {part.strip().lower() for part in front.split("+")} if plus else set()
    key = _plain(last.strip(), alone=not modifiers)
    if key is None or not modifiers <= set(MODIFIERS):
        return None
    if modifiers == {"shift"} and len(key) == 1 and key.isalpha():
        return key.upper()
    return "+".join([*sorted(modifiers), key])


def _plain(word: str, *, alone: bool) -> str | None:
    """Textual's name of a key without modifiers. Case matters only without modifiers."""
    if len(word) == 1 and word.isalnum():
        return word if alone else word.lower()
    lower = ALIASES.get(word.lower(), word.lower())
    if lower in NAMED or lower in SHORT.values():
        return lower
    if len(word) == 1:
        name = unicodedata.name(word, "").lower().replace("-", "_").replace(" ", "_")
        return SHORT.get(name, name) or None
    try:
        sign = unicodedata.lookup(lower.replace("_", " "))
    except KeyError:
        return None
    return lower if sign.isprintable() and not sign.isalnum() else None
