"""Loads rules from ``permissions.toml`` (written by ponder), ``[permissions]`` of config.toml, and ``--allow``.

Invalid input never allows anything: an invalid rule that allows is dropped; an invalid rule that denies makes every
call ask.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from tui.domain.errors import ConfigError
from tui.settings.user_files import parse_user_toml, read_user_text, write_atomically
from tui.tools.permissions.rules import Rule, Verdict, read_rule

_HEAD = (
    '# What was answered with "always". Rules are TOOL or TOOL(PATTERN); those of commands end in ro, rw or full.\n'
    "# Lines may be removed or edited by hand.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules from one source, and the errors in it."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[ConfigError, ...] = ()
    cautious: bool = False
    """Whether a rule that denies could not be read."""

    def plus(self, other: Rules) -> Rules:
        """Combine two sources."""
        return Rules(
            rules=(*self.rules, *other.rules),
            problems=(*self.problems, *other.problems),
            cautious=self.cautious or other.cautious,
        )


def rules_of_file(path: Path, *, home: str) -> Rules:
    """Rules of the file; a missing file has none."""
    try:
        document = _document(path)
    except ConfigError as problem:
        return Rules(problems=(problem,), cautious=True)
    return rules_of_table(document, where=path.name, home=home)


def rules_of_table(table: Mapping[str, object], *, where: str, home: str) -> Rules:
    """Rules of a table with the lists ``allow``, ``ask`` and ``deny``."""
    found: list[Rule] = []
    problems: list[ConfigError] = []
    cautious = False
    for key, texts in table.items():
        verdict = next((one for one in Verdict if one == key), None)
        if verdict is None or not isinstance(texts, list):
            problems.append(ConfigError(f"`{where}`: `{key}` must be a list `allow`, `ask` or `deny`.", key=key))
            cautious = True
            continue
        for text in texts:
            try:
                found.append(_rule(verdict, text, home))
            except ConfigError as problem:
                problems.append(ConfigError(f"`{where}`, `{key}`: {problem.message}", key=key))
                cautious = cautious or verdict is not Verdict.ALLOW
    return Rules(rules=tuple(found), problems=tuple(problems), cautious=cautious)


def rules_allowed(texts: Sequence[str], *, home: str) -> tuple[Rule, ...]:
    """Rules of ``--allow``. Raises ConfigError, because an invalid command line is an error."""
    return tuple(read_rule(Verdict.ALLOW, text, home=home) for text in texts)


def add_allowed(path: Path, rule: str) -> None:
    """Append a permanent rule. Raises ConfigError if the file is invalid or cannot be written; it is then unchanged."""
    document = dict(_document(path))
    allowed = document.get("allow", [])
    if not isinstance(allowed, list):
        raise ConfigError(f"`{path.name}`: `allow` is no list, so nothing was added to it.", file=str(path))
    if rule in allowed:
        return
    document["allow"] = [*allowed, rule]
    try:
        write_atomically(path, _HEAD + tomli_w.dumps(document, multiline_strings=False))
    except OSError as error:
        raise ConfigError(f"`{path.name}` cannot be written: {error.strerror}.", file=str(path)) from None


def _rule(verdict: Verdict, text: object, home: str) -> Rule:
    if not isinstance(text, str):
        raise ConfigError(f"{text!r} is no rule: rules are text.")
    return read_rule(verdict, text, home=home)


def _document(path: Path) -> Mapping[str, object]:
    try:
        return parse_user_toml(read_user_text(path) or "")
    except OSError as error:
        raise ConfigError(f"`{path.name}` cannot be read: {error.strerror}.", file=str(path)) from None
    except tomllib.TOMLDecodeError:
        raise ConfigError(f"`{path.name}` is broken: until it is mended everything asks.", file=str(path)) from None
