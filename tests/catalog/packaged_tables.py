"""The packaged tables as one JSON file, made from the TOML files of ``tui/catalog``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping

from tui.catalog.toml_values import PACKAGED
from tui.settings.user_files import write_atomically


def tables() -> Mapping[str, Mapping[str, object]]:
    """The tables of each file, by its path below the folder of the catalog."""
    folder = PACKAGED.parent
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.toml"))}
    return {name: tomllib.loads(path.read_text(encoding="utf-8")) for name, path in files.items()}


def packaged() -> object:
    return json.loads(PACKAGED.read_text(encoding="utf-8"))


def update() -> None:
    """Write the file if a TOML file has changed."""
    if packaged() != tables():
        write_atomically(PACKAGED, json.dumps(tables(), ensure_ascii=False, indent=1) + "\n", mode=0o644)
