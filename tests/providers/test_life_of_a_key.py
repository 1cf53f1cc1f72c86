"""A key from the environment through a whole run and everything a run leaves behind.

What is written and printed is looked through by the canary of the whole suite, so here things only have to happen.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.key_canary import CANARY, files_with_keys
from tests.providers.odd_strangers import Echoing
from tests.providers.strangers import serving
from tests.providers.test_strangers import configured
from tui.cli.main import main


def test_a_key_that_a_server_throws_back_is_in_nothing_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr(sys, "stdin", None)
    for name, value in {"PONDER_HOME": str(home), "PONDER_DEBUG": "1", "MY_KEY": CANARY}.items():
        monkeypatch.setenv(name, value)
    with serving(Echoing) as (url, server):
        row = f'wire = "openai-chat"\nbase_url = "{url}/v1"\nkey_env = ["MY_KEY"]\nheaders = {{ X-Token = "{CANARY}" }}'
        configured(home, f"[providers.mine]\n{row}\n")
        codes = [
            main(["-p", "Hello.", "-m", "mine/my-model", *more]) for more in ((), ("-c", "--jsonl"), ("-c", "--json"))
        ]
    (home / "config" / "config.toml").unlink()  # the header was put there by the user
    assert (codes, [body["stream"] for body in server.seen]) == ([0, 1, 1], [True] * 3)
    for form in ("md", "json", "html"):
        assert main(["sessions", "export", "Hello.", "--format", form, "-o", str(tmp_path / f"export.{form}")]) == 0
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count('"kind": "') + printed.out.count('"kind":"') >= 2
    written = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert {".log", ".db", ".json", ".md", ".html"} <= written
    assert files_with_keys(tmp_path) == []
