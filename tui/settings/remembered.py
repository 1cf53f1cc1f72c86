"""``state.toml``: screen settings that the program saves itself. config.toml has precedence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tui.domain.errors import ConfigError
from tui.settings.merged_file import Content, MergedFile
from tui.settings.schema import checked, flat, keys
from tui.settings.user_files import parse_user_toml

HEAD = "# Written by ponder. What config.toml says wins.\n"


def is_remembered(key: str) -> bool:
    """Whether a change of this setting is saved for the next start."""
    return key.startswith("ui.")


class RememberedSettings:
    """The file, and its values when this window started."""

    def __init__(self, path: Path | None) -> None:
        self._file = MergedFile(path, _parse, _format)
        self.values: Mapping[str, object] = self._file.read()

    def keep(self, key: str, value: object) -> None:
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


def _parse(text: str) -> Content:
    """Parse to dotted keys; settings unknown to this version are ignored."""
    found: Content = {}
    for key, value in flat(parse_user_toml(text)).items():
        if key in keys() and is_remembered(key):
            try:
                found[key] = checked(keys()[key], value)
            except ConfigError:
                continue
    return found


def _format(content: Content) -> str:
    import tomli_w

    tables: dict[str, dict[str, object]] = {}
    for key, value in content.items():
        group, _, leaf = key.partition(".")
        tables.setdefault(group, {})[leaf] = value
    return HEAD + tomli_w.dumps(tables)
