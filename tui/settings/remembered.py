"""``state.toml``: screen settings that the program saves itself. config.toml has precedence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tui.domain.errors import ConfigError
from tui.settings.merged_file import Content, MergedFile
from tui.settings.schema import checked_value, flattened, keys
from tui.settings.user_files import parse_user_toml, read_user_text

HEAD = "# Written by ponder. What config.toml says wins.\n"


def is_remembered(key: str) -> bool:
    """Whether a change of this setting is saved for the next start."""
    return key.startswith("ui.")


class RememberedSettings:
    """The file, and its values when this window started. ``problems`` says what of it could not be used."""

    def __init__(self, path: Path | None) -> None:
        self._file = MergedFile(path, lambda text: _parse(text)[0], _format)
        self.values: Mapping[str, object]
        self.values, self.problems = _read(path) if path is not None else ({}, [])

    def save(self, key: str, value: object) -> None:
        """Save a value for the next start."""

        def change(content: Content) -> None:
            content[key] = value

        self._file.change(key, change)

    def forget(self, key: str) -> None:
        """Remove the saved value of this setting."""

        def change(content: Content) -> None:
            content.pop(key, None)

        self._file.change(key, change)

    def close(self) -> None:
        """Write pending changes."""
        self._file.close()


def _read(path: Path) -> tuple[Content, list[ConfigError]]:
    try:
        text = read_user_text(path)
        return ({}, []) if text is None else _parse(text)
    except OSError as error:
        problem = ConfigError(f"`{path}` cannot be read: {error.strerror}.", file=str(path))
    except (ValueError, RecursionError):
        problem = ConfigError(f"`{path}` is not valid TOML.", file=str(path))
    problem.advice = "Saved display settings are not used. Delete the file to save them again."
    return {}, [problem]


def _parse(text: str) -> tuple[Content, list[ConfigError]]:
    """Parse to dotted keys; settings unknown to this version are ignored, wrong values reported."""
    found: Content = {}
    problems = []
    for key, value in flattened(parse_user_toml(text)).items():
        if key in keys() and is_remembered(key):
            try:
                found[key] = checked_value(keys()[key], value)
            except ConfigError as problem:
                problem.message = f"state.toml: {problem.message}"
                problem.advice = f"The default is used. `/set {key} VALUE` replaces the saved value."
                problems.append(problem)
    return found, problems


def _format(content: Content) -> str:
    import tomli_w

    tables: dict[str, dict[str, object]] = {}
    for key, value in content.items():
        group, _, leaf = key.partition(".")
        tables.setdefault(group, {})[leaf] = value
    return HEAD + tomli_w.dumps(tables)
