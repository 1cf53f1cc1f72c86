"""Static contracts cannot see deferred imports: these look at what a process really loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HEAVY = ("textual", "rich", "httpx", "keyring", "mcp", "genai_prices", "markdown_it", "pygments", "sqlite3")


def _loaded(statement: str) -> set[str]:
    probe = f"import sys\n{statement}\nprint(*sorted(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import tui.cli.main",
        "import tui.domain.assemble, tui.domain.events",
        "import tui.catalog.facts",
        "import tui.wires.wire, tui.wires.json_text",
    ],
)
def test_light_modules_load_nothing_heavy(statement: str) -> None:
    assert _loaded(statement).isdisjoint((*HEAVY, "pydantic"))


def test_the_version_costs_no_room() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tui", "--version"], capture_output=True, text=True, check=True
    )
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {name for name in loaded if name.startswith("tui.")} <= {
        "tui.cli",
        "tui.cli.main",
    }


ASKING_THE_DEMO = "from tui.cli.main import main\nmain(['-p', 'hi', '-m', 'demo/fast'])"


OURS_BEFORE_THE_FIRST_BYTE = 150
"""Modules of ours. One more costs a tenth of a millisecond at least: raise this for what the first word cannot be
had without, and lower it when something falls away."""
OURS_BEFORE_THE_FIRST_LINE = 190
"""The same for the first line of ``ponder --linear``, which has all services and the first prompt to offer."""
OTHERS_BEFORE_THE_FIRST_BYTE = 120
"""Of the standard library and orjson, beyond what the interpreter begins with. Another Python has other ones: a few
spare, fewer than any library would bring."""


@pytest.fixture(scope="module")
def before_the_first_byte(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    def loaded() -> frozenset[str]:
        environment = {**os.environ, "PONDER_HOME": str(tmp_path_factory.mktemp("home"))}
        done = subprocess.run(
            [sys.executable, "-m", "tests.architecture.loaded_for_first_byte"],
            capture_output=True, text=True, check=True, env=environment, cwd=ROOT,
        )  # fmt: skip
        return frozenset(json.loads(done.stderr.splitlines()[-1]))

    found = loaded()
    for _ in range(3):
        if len(_ours(found)) <= OURS_BEFORE_THE_FIRST_BYTE:
            break
        # The thread of the engine may be ahead of the one that prints: it waits for what is there each time.
        found &= loaded()
    return found


def _ours(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if name.partition(".")[0] == "tui")


def test_the_first_byte_of_an_answer_waits_for_few_modules(before_the_first_byte: frozenset[str]) -> None:
    ours = _ours(before_the_first_byte)
    assert len(ours) <= OURS_BEFORE_THE_FIRST_BYTE, sorted(ours)
    assert len(before_the_first_byte - ours) <= OTHERS_BEFORE_THE_FIRST_BYTE, sorted(before_the_first_byte - ours)


@pytest.mark.parametrize(
    "spared",
    [
        "textual",
        "rich",
        "markdown_it",
        "pygments",
        "keyring",
        "mcp",
        "genai_prices",
        "click",
        "tomli_w",
        "pydantic",
        "annotated_types",
        "platformdirs",
        "httpx",
        "httpcore",
        "anyio",
        "certifi",
        "idna",
        "urllib.request",
        "http.client",
        "email",
        "decimal",
        "random",
        "secrets",
        "tempfile",
        "shutil",
        "difflib",
        "tui.ui",
        "tui.commands",
        "tui.headless.jsonl",
        "tui.providers.http.httpx_connection",
        "tui.providers.model_discovery",
        "tui.providers.model_lists",
        "tui.store.recovery",
        "tui.store.library",
        "tui.store.search",
        "tui.store.export",
        "tui.tools.toolbox",
        "tui.settings.profiles",
        "tui.wires.openai_chat.decode",
        "tui.wires.openai_responses.decode",
        "tui.wires.gemini.decode",
    ],
)
def test_the_first_byte_of_an_answer_does_not_wait_for(before_the_first_byte: frozenset[str], spared: str) -> None:
    assert not {name for name in before_the_first_byte if name == spared or name.startswith(f"{spared}.")}


def test_the_first_line_without_a_screen_waits_for_few_modules(tmp_path: Path) -> None:
    environment = {**os.environ, "PONDER_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.architecture.loaded_for_first_byte", "--linear", "-m", "demo/fast"],
        input="", capture_output=True, text=True, check=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert {name.partition(".")[0] for name in loaded}.isdisjoint({*HEAVY, "pydantic"} - {"sqlite3"})
    ours = {name for name in loaded if name.partition(".")[0] == "tui"}
    assert len(ours) <= OURS_BEFORE_THE_FIRST_LINE, sorted(ours)


def test_a_headless_answer_loads_no_screen_no_keyring_and_no_protocol_it_does_not_speak() -> None:
    assert _loaded(ASKING_THE_DEMO).isdisjoint(
        {"textual", "rich", "markdown_it", "pygments", "keyring", "mcp", "genai_prices", "click", "httpx", "tomli_w"}
    )


def test_a_headless_answer_under_default_settings_has_nothing_to_validate() -> None:
    assert "pydantic" not in _loaded(ASKING_THE_DEMO)
