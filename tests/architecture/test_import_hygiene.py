"""Static contracts cannot see deferred imports: these look at what a process really loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
        "tui.cli.start",
        "tui.version",
    }


ASKING_THE_DEMO = "from tui.cli.main import main\nmain(['-p', 'hi', '-m', 'demo/fast'])"


def test_a_headless_answer_loads_no_screen_no_keyring_and_no_protocol_it_does_not_speak() -> None:
    loaded = _loaded(ASKING_THE_DEMO)
    assert "httpx" in loaded
    assert loaded.isdisjoint(
        {"textual", "rich", "markdown_it", "pygments", "keyring", "mcp", "genai_prices", "click", "httpcore", "tomli_w"}
    )


def test_a_headless_answer_under_default_settings_has_nothing_to_validate() -> None:
    assert "pydantic" not in _loaded(ASKING_THE_DEMO)
