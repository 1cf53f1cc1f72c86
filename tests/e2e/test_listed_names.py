"""A model that only a fetched list knows, with a name that ends like a level."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import prefork
from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_two_windows import PONDER, READY
from tests.patience import PATIENCE_S
from tui.providers.model_lists import ListCache, ModelList


@pytest.fixture
def home(tmp_path: Path) -> Path:
    listing = ModelList(source="loop", at=1.7e9, rows={"loop": {"maker/model/high": {"context_window": 4096}}})
    ListCache(tmp_path / "ponder" / "cache").save(listing)
    return tmp_path


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("loop/maker/model/high", "maker/model/high"),
        ("loop/maker/model/high/low", "maker/model/high"),
        ("loop/maker/other/high", "maker/other"),
    ],
)
def test_a_listed_name_is_not_split_without_a_screen(home: Path, asked: str, sent: str) -> None:
    with Loopback() as model:
        model.configure(home)
        model.say("Yes.")
        model.finish()
        words = [*PONDER, "-p", "Hello", "-m", asked]
        done = prefork.run(words, env=environment(home), text=True, timeout=PATIENCE_S, check=True)
        assert done.stdout == "Yes.\n"
        [body] = model.bodies
        assert isinstance(body, dict)
        assert body["model"] == sent


def test_a_listed_name_is_not_split_when_the_screen_starts(home: Path) -> None:
    with Loopback() as model:
        model.configure(home)
        with Terminal([*PONDER, "-m", "loop/maker/model/high"], environment(home), size=(100, 30)) as terminal:
            terminal.wait_for(READY)
            terminal.type("Hello\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.finish()
        # The program may be closed before it has read the end, and then it has asked again.
        assert {body["model"] for body in model.bodies if isinstance(body, dict)} == {"maker/model/high"}
