"""A file of small values that the program keeps."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tui.settings.merged_file import MergedFile


def test_a_change_is_written_at_the_end_if_no_thread_could_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    file = MergedFile(tmp_path / "state.json", json.loads, json.dumps)
    file.change("draft", lambda content: content.update(draft="precious"))
    file.close()
    assert file.read() == {"draft": "precious"}
