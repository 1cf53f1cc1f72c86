"""The packaged tables are read from one JSON file, which is made from the TOML files."""

from __future__ import annotations

import json
import os
import tomllib

from tui.catalog.toml_values import PACKAGED


def test_the_packaged_json_is_what_the_toml_files_say() -> None:
    """``PONDER_UPDATE=1`` writes it."""
    folder = PACKAGED.parent
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.toml"))}
    said = {name: tomllib.loads(path.read_text(encoding="utf-8")) for name, path in files.items()}
    if os.environ.get("PONDER_UPDATE"):
        PACKAGED.write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert json.loads(PACKAGED.read_text(encoding="utf-8")) == said, "PONDER_UPDATE=1 pytest tests/catalog writes it"
