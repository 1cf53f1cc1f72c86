"""``ponder local get``: downloads a model from Hugging Face.

Apart from ``local`` because it imports the HTTP client.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tui.cli.local import SOURCES, agrees, name_of
from tui.cli.main import INTERRUPTED
from tui.cli.progress_bar import ProgressBar
from tui.cli.user_catalog import print_messages
from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import data_size, tokens
from tui.domain.printable import one_line, printable
from tui.providers.http.transport import Transport
from tui.providers.local.download import download, missing_bytes, part_path, require_space
from tui.providers.local.hub import Hub, HubFile, HubName, chosen_files, parse_hub_name, projector_for
from tui.providers.local.known_models import known_models
from tui.providers.local.library import LocalModel, ModelLibrary
from tui.settings.paths import Paths

ASKED_ABOVE = 2_000_000_000
"""Bytes that are downloaded without a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOrder:
    """The files to download, and where they go."""

    repository: str
    files: tuple[HubFile, ...]
    folder: Path

    @property
    def missing(self) -> int:
        """Bytes that are not there yet."""
        return sum(missing_bytes(self.folder, file) for file in self.files)

    @property
    def kept(self) -> int:
        """Bytes of unfinished files that are there."""
        parts = [part_path(self.folder / file.path, file) for file in self.files]
        return sum(part.stat().st_size for part in parts if part.exists())


def run(args: argparse.Namespace, library: ModelLibrary, paths: Paths) -> int:
    """Download a model, or without a name print the list of known ones. Raises PonderError."""
    if args.model is None:
        _print_known()
        return 0
    name, licence = _named(args.model)
    order: DownloadOrder | None = None
    try:
        order = asyncio.run(_look_up(name, paths.models / name.repository, text_only=args.text_only))
        missing = order.missing
        if missing and (twin := _same_files(library, order)):
            print(f"{printable(twin.name)} is the same model, from {SOURCES[twin.source]}: ponder -m local/{twin.name}")
            return 0
        if missing:
            require_space(order.folder, missing)
        title = one_line(order.files[0].path.rpartition("/")[2], 60)
        question = f"{title}: {data_size(missing)} to download{licence}. Download it?"
        if missing > ASKED_ABOVE and not (args.yes or agrees(question, "download it")):
            return 2
        asyncio.run(_download(order))
    except KeyboardInterrupt:
        kept = order.kept if order else 0
        print_messages("Stopped." + (f" {data_size(kept)} are kept; the same command continues." if kept else ""))
        return INTERRUPTED
    first = order.folder / order.files[0].path
    ready = library.at(first)
    if ready.problem:
        print_messages(f"ponder: `{first.name}` was downloaded, but cannot be used. {ready.problem}")
        return 1
    shown = printable(name_of(library, first))
    print(f"{shown} is {'ready' if missing else 'here already'}: ponder -m local/{shown}")
    return 0


def _named(word: str) -> tuple[HubName, str]:
    """What to download, and a note about its licence and memory for the question."""
    if known := known_models().get(word.lower()):
        return known.hub_name, f" ({known.licence}, needs {known.memory:g} GB of memory)"
    if word.startswith("hf:"):
        return parse_hub_name(word), ""
    shown = one_line(word, 80)
    if "/" in word:
        raise UsageError(f"`{shown}` is not in the list of models.", advice=f"Did you mean hf:{shown}?")
    raise UsageError(
        f"`{shown}` is not in the list of models.",
        advice=f"It has {', '.join(known_models())}. Any other GGUF file is hf:OWNER/REPO[:FILE].",
    )


def _same_files(library: ModelLibrary, order: DownloadOrder) -> LocalModel | None:
    """A model of another program with the same checksums, by which Ollama and Hugging Face name files."""
    wanted = {file.sha256 for file in order.files}
    for model in library.models():
        files = [*model.parts, *([model.mmproj] if model.mmproj else [])]
        if not model.problem and wanted <= {file.resolve().name.removeprefix("sha256-") for file in files}:
            return model
    return None


def _print_known() -> None:
    for name, model in known_models().items():
        print(
            f"{name:12}  {data_size(model.download):>8}  {model.memory:4.1f} GB of memory  "
            f"{tokens(model.window):>5} window  {model.licence}  {model.good_for}"
        )
    print("Download one: `ponder local get NAME`. Any other GGUF file is hf:OWNER/REPO[:FILE].", file=sys.stderr)


async def _look_up(name: HubName, folder: Path, *, text_only: bool) -> DownloadOrder:
    transport = Transport(environ=os.environ)
    try:
        listed = await Hub(transport, os.environ).files(name.repository)
    finally:
        await transport.aclose()
    files = chosen_files(name, listed)
    projector = None if text_only else projector_for(listed)
    return DownloadOrder(repository=name.repository, files=(*files, *([projector] if projector else [])), folder=folder)


async def _download(order: DownloadOrder) -> None:
    transport = Transport(environ=os.environ)
    try:
        hub = Hub(transport, os.environ)
        for number, file in enumerate(order.files, 1):
            bar = ProgressBar(_title(file, number, order.files), file.size)
            try:
                await download(hub, order.repository, file, order.folder, bar.show)
            finally:
                bar.close()
    finally:
        await transport.aclose()


def _title(file: HubFile, number: int, files: Sequence[HubFile]) -> str:
    name = file.path.rpartition("/")[2]
    return f"{number}/{len(files)} {name}" if len(files) > 1 else name
