"""Reads TOML files and checks their values strictly. Errors suggest the nearest valid word.

The docstrings of the checks are part of error messages ("expected a list of strings").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from tui.domain.errors import ConfigError

Table = Mapping[str, object]
Check = Callable[[object], bool]
LARGEST = 1e12
"""Larger numbers are mistakes, and products of them could be infinite."""
_JSON_TYPES: dict[Check, Mapping[str, object]] = {}


def in_json_schema(**schema: object) -> Callable[[Check], Check]:
    """Decorate a check with the JSON Schema of what it accepts, for editors."""

    def remember(check: Check) -> Check:
        _JSON_TYPES[check] = schema
        return check

    return remember


def json_schema(keys: Mapping[str, Check]) -> dict[str, object]:
    """The JSON Schema of a table with these keys."""
    properties = {name: dict(_JSON_TYPES[check]) for name, check in keys.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def read_toml(path: Path) -> Table:
    """Return the file's tables. Raises ConfigError if the file is missing, unreadable or invalid."""
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise ConfigError(f"{path.name} is not TOML: {error}", file=str(path), line=line, column=column) from error
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{path.name} cannot be read: {error}", file=str(path)) from error


PACKAGED = Path(__file__).with_name("packaged.json")
"""The packaged TOML files as JSON, which is read in a fiftieth of the time; a test compares the two."""


@cache
def _packaged() -> Mapping[str, Table]:
    import orjson

    found: dict[str, Table] = orjson.loads(PACKAGED.read_bytes())
    return found


def packaged_table(name: str) -> Table:
    """Return the tables of a packaged file, by its path below this folder."""
    return _packaged()[name]


def nearest(word: str, known: Collection[str], count: int = 3) -> tuple[str, ...]:
    """Return the known words most similar to this one."""
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in known}
    return tuple(lowered[found] for found in get_close_matches(word.lower(), lowered, n=count, cutoff=0.5))


@in_json_schema(type="string")
def is_text(value: object) -> bool:
    """A string."""
    return isinstance(value, str)


@in_json_schema(type="boolean")
def is_flag(value: object) -> bool:
    """True or false."""
    return isinstance(value, bool)


@in_json_schema(type="integer", minimum=0)
def is_count(value: object) -> bool:
    """A whole number, not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@in_json_schema(type="number", minimum=0)
def is_number(value: object) -> bool:
    """A number, not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST


@in_json_schema(type="object")
def is_table(value: object) -> bool:
    """A table."""
    return isinstance(value, Mapping)


@in_json_schema(type="array", items={"type": "string"})
def is_texts(value: object) -> bool:
    """A list of strings."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


@in_json_schema(type=["string", "array"], items={"type": "string"})
def is_command(value: object) -> bool:
    """A command: a string, or a list of its words."""
    return bool(value) and (is_texts(value) or isinstance(value, str)) and bool(command_words(value))


def command_words(value: object) -> tuple[str, ...]:
    """Return the words of a command, cut as a shell would cut them but without running one; () if that fails."""
    if not isinstance(value, str):
        return tuple(cast("list[str]", value))
    import shlex

    try:
        return tuple(shlex.split(value))
    except ValueError:
        return ()


@in_json_schema(type="object", additionalProperties={"type": "string"})
def is_text_table(value: object) -> bool:
    """A table of strings."""
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())


@in_json_schema(type="object", additionalProperties={"type": "array", "items": {"type": "string"}})
def is_texts_table(value: object) -> bool:
    """A table of lists of texts."""
    return isinstance(value, Mapping) and all(is_texts(texts) for texts in value.values())


@in_json_schema(type="object", additionalProperties={"type": "integer", "minimum": 0})
def is_count_table(value: object) -> bool:
    """A table of whole numbers."""
    return isinstance(value, Mapping) and all(is_count(item) for item in value.values())


def one_of(words: Collection[str]) -> Check:
    """One of these words."""

    def check(value: object) -> bool:
        return isinstance(value, str) and value in words

    check.__doc__ = f"One of {', '.join(words)}."
    return in_json_schema(enum=[str(word) for word in words])(check)


def check_table(table: object, keys: Mapping[str, Check], *, where: str, file: str) -> Table:
    """Check that ``table`` has only ``keys``, with values of the right type."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{file}: `{where}` must be a table", file=file, key=where)
    for key, value in table.items():
        check = keys.get(key)
        if check is None:
            raise ConfigError(
                f"{file}: `{where}` has no key `{key}`", file=file, key=f"{where}.{key}", nearest=nearest(key, keys)
            )
        if not check(value):
            what = (check.__doc__ or "").rstrip(".").lower()
            raise ConfigError(
                f"{file}: `{where}.{key}` cannot be {value!r}" + (f": expected {what}" if what else ""),
                file=file,
                key=f"{where}.{key}",
            )
    return table
