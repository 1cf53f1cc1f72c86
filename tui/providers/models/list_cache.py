"""Model lists on disk: one JSON file per source, validated when read; invalid files are ignored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from tui.domain.fast_dataclass import dataclass
from tui.providers.models.listings import MOST_MODELS, Rows, checked, fit_id
from tui.settings.user_files import list_user_files, make_private_folder, read_user_file
from tui.wires.read import child, number

FORMAT = 1
LARGEST_FILE = 16 * 1024 * 1024
MOST_LISTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rows of one source, by provider and model id."""

    source: str
    at: float
    """Time of the fetch in seconds since the epoch."""
    rows: Mapping[str, Rows]


class ListCache:
    """The folder of cached lists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, source: str) -> Path:
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in source)
        return self._folder / f"models-{safe}.json"

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the cached lists, from the file names."""
        with suppress(OSError):
            files = list_user_files(self._folder, ".json", MOST_LISTS)
            return tuple(path.stem.removeprefix("models-") for path in files if path.name.startswith("models-"))
        return ()

    def read(self, source: str) -> Listing | None:
        """Return the cached list, or None."""
        path = self._path(source)
        try:
            value = orjson.loads(read_user_file(path, LARGEST_FILE) or b"")
        except (OSError, ValueError):
            return None
        at = number(value, "at")
        if not isinstance(value, dict) or value.get("format") != FORMAT or at is None:
            return None
        rows = {
            provider: {id_: checked(dict(child(models, id_))) for id_ in list(models)[:MOST_MODELS] if fit_id(id_)}
            for provider in child(value, "rows")
            if (models := child(value, "rows", provider))
        }
        return Listing(source=source, at=at, rows=rows)

    def keep(self, listing: Listing) -> None:
        """Write a list; errors are ignored, because the list can be fetched again."""
        path = self._path(listing.source)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        body = {"format": FORMAT, "at": listing.at, "rows": listing.rows}
        try:
            make_private_folder(path.parent)
            fresh.write_bytes(orjson.dumps(body))
            fresh.replace(path)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
