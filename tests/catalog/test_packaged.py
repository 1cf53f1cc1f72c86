"""The packaged tables are read from one JSON file, which is made from the TOML files."""

from __future__ import annotations

from tests.catalog.packaged_tables import packaged, tables


def test_the_packaged_json_is_what_the_toml_files_say() -> None:
    assert packaged() == tables(), "PONDER_UPDATE=1 pytest tests/catalog writes it"
