"""The first screen names what was found, a line each, words apart."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
PATIENT = """
import sys
from tui.providers.running_servers import running_servers
running_servers.__kwdefaults__["limit_s"] = 60.0
from tui.cli.main import main
sys.exit(main())
"""
"""The program, which gives local servers more time: one of a busy machine is not there after 0.3 s."""


def test_names_and_what_was_found_stand_apart_and_one_model_is_one_model(tmp_path: Path) -> None:
    with Loopback() as model:
        config = tmp_path / "ponder" / "config"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(f'[providers."llama.cpp"]\nbase_url = "http://127.0.0.1:{model.port}/v1"\n')
        around = environment(tmp_path, MOONSHOT_API_KEY="sk-" + "x" * 40)
        with Terminal([sys.executable, "-c", PATIENT, "-m", "demo/fast"], around, size=(100, 30)) as terminal:
            terminal.wait_for(f"● llama.cpp server  1 model at http://127.0.0.1:{model.port}")
            terminal.wait_for("● Moonshot (Kimi)   MOONSHOT_API_KEY found")


def test_a_theme_that_is_set_and_does_not_exist_is_said(tmp_path: Path) -> None:
    config = tmp_path / "ponder" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[ui]\ntheme = "dusc"\n')
    with Terminal([*PONDER, "-m", "demo/fast"], environment(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for("There is no theme dusc: dusk is used.")
        terminal.wait_for("Did you mean dusk?")
