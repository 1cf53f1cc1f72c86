"""``config.toml``: the user's file. Never written; errors in it are reported and the valid rest is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tui.domain.errors import ConfigError, PonderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.settings.schema import checked_value, find_key, flattened, is_group, nearest, top_names
from tui.settings.user_files import parse_user_toml, read_user_text

TABLES = ("providers", "models", "mcp", "permissions")
"""Tables of config.toml that are not settings; the packages that use them validate them."""

MODEL_SECTIONS = ("reasoning", "generation", "context", "tools")
"""Sections that may depend on the model: a profile or a model's row can set them."""

_HEADER = lazy_regex(r"\s*\[\[?([^\[\]]+)\]")
_ENTRY = lazy_regex(r"\s*([\w.\"'-][\w.\"' -]*?)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The content of the file and its problems."""

    values: Mapping[str, object] = field(default_factory=dict)
    """Settings by dotted key, validated."""
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The tables of ``TABLES``, not validated."""
    problems: tuple[ConfigError, ...] = ()
    rules_are_known: bool = True
    """False if permission rules may be in what could not be read."""
    hides_model: ConfigError | None = None
    """The error in the part of the file that could name a model; None if there is none."""
    hides_limit: ConfigError | None = None
    """The same for spending limits."""


def read_config(path: Path) -> ConfigFile:
    """Read the file. A missing file is empty; one that cannot be parsed is reported and ignored."""
    try:
        text = _text(path)
    except ConfigError as problem:
        return ConfigFile(problems=(problem,), rules_are_known=False, hides_model=problem)
    try:
        document = parse_user_toml(text)
    except ValueError as error:  # it is not TOML
        syntax = _syntax(path, text, str(error))
        limit = syntax if re.search(r"\bbudget\b", text) else None
        return ConfigFile(problems=(syntax,), rules_are_known=False, hides_model=syntax, hides_limit=limit)
    return _checked(path, text, document)


def _text(path: Path) -> str:
    try:
        return read_user_text(path) or ""
    except OSError as error:
        raise ConfigError(f"`{path.name}` cannot be read: {error.strerror}.", file=str(path)) from None


def _syntax(path: Path, text: str, message: str) -> ConfigError:
    position = re.search(r"\(at line (\d+), column (\d+)\)", message)
    last = text.rstrip("\n").rpartition("\n")[2]
    why = re.sub(r"\s*\(at [^)]*\)", "", message)[:200]
    # A bracket or quote that was never closed is reported at the end of the file.
    end = (text.rstrip("\n").count("\n") + 1, len(last) + 1)
    line, column = (int(position[1]), int(position[2])) if position else end
    return ConfigError(f"`{path.name}`, line {line}, column {column}: {why}.", file=str(path), line=line, column=column)


def _checked(path: Path, text: str, document: Mapping[str, object]) -> ConfigFile:
    values: dict[str, object] = {}
    tables: dict[str, Mapping[str, object]] = {}
    problems: list[ConfigError] = []
    rules_are_known = True
    for name, content in document.items():
        if name == "permissions" and not isinstance(content, dict):
            rules_are_known = False
            problem = ConfigError("`permissions` must be a table, `[permissions]`.", key=name)
            problems.append(_with_position(path, text, name, problem))
            continue
        if name in TABLES and isinstance(content, dict):
            tables[name] = _with_recommended(path, text, content, problems) if name == "models" else content
            continue
        if isinstance(content, dict) and (meant := _similar_table(name)):
            rules_are_known = rules_are_known and meant != "permissions"
            problems.append(_no_such_table(path, text, name, content, meant))
            continue
        entries = flattened({name: content})
        if not entries and name not in top_names():
            entries = {name: content}
        for key, value in entries.items():
            try:
                known = find_key(key)
                values[known.name] = checked_value(known, value)
            except ConfigError as problem:
                problems.append(_with_position(path, text, key, problem))
    about_model = [problem for problem in problems if problem.key == "model" or problem.nearest[:1] == ("model",)]
    about_limit = [problem for problem in problems if _is_about_limit(problem)]
    return ConfigFile(
        values=values,
        tables=tables,
        problems=tuple(problems),
        rules_are_known=rules_are_known,
        hides_model=about_model[0] if about_model and "model" not in values else None,
        hides_limit=about_limit[0] if about_limit else None,
    )


def _is_about_limit(problem: ConfigError) -> bool:
    return any((name or "").partition(".")[0] == "budget" for name in (problem.key, *problem.nearest[:1]))


def _with_recommended(
    path: Path, text: str, models: Mapping[str, object], problems: list[ConfigError]
) -> Mapping[str, object]:
    """The rows of models with the settings they recommend validated; wrong ones are reported and left out."""
    found: dict[str, object] = {}
    for model, row in models.items():
        if not isinstance(row, dict) or not isinstance(row.get("recommended"), dict):
            found[model] = row
            continue
        values: dict[str, object] = {}
        for key, value in flattened(row["recommended"]).items():
            try:
                known = find_key(key)
                if known.name.partition(".")[0] not in MODEL_SECTIONS:
                    raise ConfigError(f"A model cannot recommend `{known.name}`.", key=key)
                values[known.name] = checked_value(known, value)
            except ConfigError as problem:
                problems.append(_with_position(path, text, f"models.{model}.recommended.{key}", problem))
        found[model] = {**row, "recommended": values}
    return found


def _similar_table(name: str) -> str:
    """The name of ``TABLES`` that is most similar; "" for a group of settings or a name nearer to one."""
    groups = [group for group in top_names() if is_group(group)]
    hits = () if name in groups else nearest(name, [*TABLES, *groups])
    return hits[0] if hits and hits[0] in TABLES else ""


def _no_such_table(path: Path, text: str, name: str, content: Mapping[str, object], meant: str) -> ConfigError:
    """One problem for the whole table; for ``[provider.mine]`` the hint is ``providers.mine``."""
    inner = next((key for key, value in content.items() if isinstance(value, dict)), "")
    key, hint = (f"{name}.{inner}", f"{meant}.{_quoted(inner)}") if inner else (name, meant)
    table = f"{name}.{_quoted(inner)}" if inner else name
    problem = ConfigError(f"There is no table `[{table}]`.", nearest=(hint,))
    return _with_position(path, text, key, problem)


def _quoted(key: str) -> str:
    """The key as valid TOML."""
    return key if re.fullmatch(r"[\w-]+", key) else f'"{key}"'


def located(path: Path, problem: PonderError) -> PonderError:
    """A problem with one of the ``TABLES``, with its line and column."""
    if not isinstance(problem, ConfigError) or problem.key is None or problem.line is not None:
        return problem
    if problem.file is None:  # a variable of the environment
        return problem
    try:
        text = _text(path)
    except ConfigError:
        return problem
    plain = ConfigError(problem.message.removeprefix(f"{path.name}: "), nearest=problem.nearest)
    return _with_position(path, text, problem.key, plain)


def _with_position(path: Path, text: str, key: str, problem: ConfigError) -> ConfigError:
    """The problem with its line and column."""
    position = _position(text, key)
    line, column = position if position is not None else (None, None)
    where = f", line {line}, column {column}" if position is not None else ""
    is_setting = key == "permissions" or (key in top_names() and not is_group(key))
    hint = problem.nearest or (nearest(key, [*top_names(), *TABLES]) if "." not in key and not is_setting else ())
    return ConfigError(
        f"`{path.name}`{where}: {problem.message}", file=str(path), line=line, column=column, key=key, nearest=hint
    )


def _position(text: str, key: str) -> tuple[int, int] | None:
    """Line and column of a key: where it is set, or the table or line it belongs to."""
    around: tuple[int, int] | None = None
    section = ""
    for number, row in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(row):
            section = _bare(header[1])
            if key == section or key.startswith(f"{section}."):
                around = (number, header.start(1) + 1)
            continue
        if (entry := _ENTRY.match(row)) is None:
            continue
        name = ".".join(filter(None, (section, _bare(entry[1]))))
        if name == key:
            return number, entry.start(1) + 1
        if key.startswith(f"{name}."):
            leaf = row.find(key.rpartition(".")[2], entry.end())
            return number, (leaf if leaf >= 0 else entry.start(1)) + 1
    return around


def _bare(name: str) -> str:
    """A TOML key without spaces and quotes."""
    return re.sub(r"[\s\"']", "", name)
