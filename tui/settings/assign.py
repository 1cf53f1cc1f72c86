"""Parses and checks setting values from ``/set KEY VALUE``, ``--set KEY=VALUE``, profiles and config.toml."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tui.domain.errors import ConfigError
from tui.domain.thinking import number_in
from tui.settings.schema import Key, keys


def nearest(word: str, known: list[str]) -> tuple[str, ...]:
    """At most three known words similar to this one."""
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    hits = [lower[hit] for hit in get_close_matches(word.lower(), lower, n=3, cutoff=0.5)]
    tails = [name for name in known if name.lower().rpartition(".")[2] == word.lower().rpartition(".")[2]]
    return tuple(dict.fromkeys([*tails, *hits]))[:3]


def find_key(name: str) -> Key:
    """The setting of this name, ignoring case; an unknown name raises ConfigError with similar names."""
    table = keys()
    by_lower = {known.lower(): known for known in table}
    exact = by_lower.get(name.strip().lower())
    if exact is None:
        raise ConfigError(f"There is no setting `{name}`.", key=name, nearest=nearest(name, list(table)))
    return table[exact]


def parse(name: str, text: str) -> tuple[str, object]:
    """The key in its correct spelling and the parsed value."""
    key = find_key(name)
    return key.name, checked(key, _value(key, text.strip()))


def checked(key: Key, value: object) -> object:
    """The validated value; raises ConfigError with what the setting accepts."""
    from pydantic import ValidationError

    if isinstance(value, bool) and "auto" in key.choices:
        value = str(value).lower()
    meant: object = value
    if isinstance(value, str) and not key.choices and key.kind != "text":
        number = number_in(value.strip())
        meant = value if number is None else number
    try:
        return key.adapter.validate_python(meant, strict=False)
    except ValidationError as error:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        why = error.errors()[0]["msg"].lower()
        hint = nearest(str(value), list(key.choices)) if key.choices else ()
        sentence = f"`{key.name}` takes {key.kind}; {shown} is not that."
        if not key.choices and "valid" not in why:
            sentence = (
                f"`{key.name}` takes {key.kind}; {shown} is out of range ({why.removeprefix('input should be ')})."
            )
        raise ConfigError(sentence, key=key.name, nearest=hint) from None


def _value(key: Key, text: str) -> object:
    if key.choices:
        lower = {choice.lower(): choice for choice in key.choices}
        word = {"on": "true", "off": "false", "yes": "true", "no": "false"}.get(text.lower(), text.lower())
        if text.lower() in lower or word not in lower:
            return lower.get(text.lower(), text)
        return lower[word]
    if text.lower() in {"none", "unset", "default"} and key.default is None:
        return None
    if key.kind.startswith("a list"):
        return tuple(part for part in re.split(r"[\s,]+", text) if part)
    number = number_in(text) if key.kind != "text" else None
    return text if number is None else number


def flat(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested TOML tables as dotted keys."""
    found: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found
