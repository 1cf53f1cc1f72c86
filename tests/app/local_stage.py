"""A model file, a ``llama-server`` that answers by a script, and the processes that were started for it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tests.fakes.llama_server import put_on_path
from tests.patience import PATIENCE_S
from tests.providers.gguf_files import write_gguf

OWN_SERVER = ("local.server=llama-server",)


def scripted_model(folder: Path, **script: object) -> Path:
    """A model whose server does what the script says."""
    path = write_gguf(folder / "model" / "Tiny.gguf")
    (path.parent / "script.json").write_text(json.dumps(script))
    return path


def surroundings(folder: Path) -> dict[str, str]:
    """The environment with the scripted server on PATH."""
    (programs := folder / "programs").mkdir(exist_ok=True)
    return {"PATH": put_on_path(programs), "HOME": str(folder)}


def processes(home: Path) -> list[int]:
    """Processes that belong to this home: keepers and servers, by their open files and arguments."""
    mark = os.fsencode(home)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            told = (entry / "cmdline").read_bytes()
            files = b"\n".join(os.fsencode(link.readlink()) for link in (entry / "fd").iterdir())
        except OSError:
            continue
        if (b"tui.providers.local" in told or b"llama_server" in told) and mark in told + files:
            found.append(int(entry.name))
    return found


def wait_for_end(home: Path) -> None:
    """Wait until no process of this home is left."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := processes(home)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []
