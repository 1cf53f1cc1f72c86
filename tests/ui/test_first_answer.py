"""What the first answer needs is loaded while its prompt is typed, beside the screen."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from tests.app.screen_stage import screen
from tests.app.stage import house
from tests.patience import PATIENCE_S
from tests.ui import scenes
from tests.ui.stage import on_stage, screen_strips, screen_text, type_in, until
from tui.ui import first_answer
from tui.ui.app import PonderApp
from tui.ui.markdown.lexers import lexers
from tui.ui.thread_switching import SWITCH_S, frequent_thread_switches

ROOT = Path(__file__).resolve().parents[2]
DRAWN_AFTER_LOADING = """
import sys
import tui.ui.app
from tui.ui import first_answer
first_answer.load()
before = set(sys.modules)
from bench.screens import theme_styles
from tui.ui.transcript.blocks import Answer
from tui.ui.transcript.section import Section, Speaker
answer = Answer()
answer.append("# Why\\n\\nBecause *it* is `so`:\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n- one\\n\\n")
answer.append("```python\\nx = 1\\n```\\n\\n```sh\\nls\\n```\\n")
section = Section("a", Speaker.MODEL)
section.add(answer)
for y in range(section.height(80)):
    section.strip(y, theme_styles(), cursor=None, dim=False)
print(*sorted(name for name in set(sys.modules) - before if name.partition(".")[0] not in ("bench", "tests")))
"""


@pytest.mark.long
def test_drawing_an_answer_imports_nothing_that_loading_leaves_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAWN_AFTER_LOADING], capture_output=True, text=True, check=True, cwd=ROOT
    )
    late = ("tui.ui.markdown", "markdown_it", "mdit_py_plugins")
    assert [name for name in done.stdout.split() if name.startswith(late)] == []


async def test_code_is_plain_until_its_lexer_was_loaded_beside_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded_on: list[threading.Thread] = []
    may_load = threading.Event()

    def held(name: str, **options: bool) -> Lexer:
        loaded_on.append(threading.current_thread())
        assert may_load.wait(PATIENCE_S)
        return get_lexer_by_name(name, **options)

    monkeypatch.setattr("pygments.lexers.get_lexer_by_name", held)
    monkeypatch.setattr(lexers(), "_known", {"python": None})
    async with on_stage(size=(60, 40)) as (app, services, pilot):
        services.chat.publish(
            *scenes.begun(), *scenes.words("See:\n\n```lua\nlocal n = 1\n```\n\n- so:\n  ```lua\n  local m = 2\n")
        )
        await until(pilot, lambda: "local m = 2" in screen_text(app))
        assert (_colours(app, "local n = 1"), _colours(app, "local m = 2")) == (1, 1)
        may_load.set()
        await until(pilot, lambda: min(_colours(app, "local n = 1"), _colours(app, "local m = 2")) > 1)
    assert loaded_on
    assert threading.main_thread() not in loaded_on
    assert len(loaded_on) == 1


def _colours(app: PonderApp, code: str) -> int:
    """In how many colours a row of code is drawn."""
    row = next(strip for strip in screen_strips(app) if code in strip.text)
    return len(
        {segment.style.color for segment in row if segment.style and segment.text.strip() and segment.text in code}
    )


async def test_it_is_loaded_on_a_thread_when_the_first_letter_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded_on: list[threading.Thread] = []
    monkeypatch.setattr(first_answer, "load", lambda: loaded_on.append(threading.current_thread()))
    async with screen(tmp_path) as s:
        readied: list[str] = []
        get_ready = s.app.services.models.get_ready

        async def noted() -> None:
            await get_ready()
            readied.append(s.app.chat.composer.text)

        monkeypatch.setattr(s.app.services.models, "get_ready", noted)
        assert loaded_on == []
        await type_in(s.pilot, "wh")
        await until(s.pilot, lambda: bool(readied))
        await type_in(s.pilot, "y")
        await until(s.pilot, lambda: s.app.chat.composer.text == "why")
    assert len(readied) == 1
    assert len(loaded_on) == 1
    assert loaded_on[0] is not threading.main_thread()


async def test_a_model_that_is_no_longer_known_is_told_by_its_request_and_not_before(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.current.spec = replace(h.current.spec, provider="nobody")
        await h.services.models.get_ready()


def test_threads_that_compute_give_the_screen_short_turns_until_the_last_has_ended() -> None:
    usual = sys.getswitchinterval()
    with frequent_thread_switches():
        with frequent_thread_switches():
            assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    assert sys.getswitchinterval() == pytest.approx(usual)
