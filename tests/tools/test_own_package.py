"""Sandboxed commands must not change ponder's own package when it lies in the working folder."""

from __future__ import annotations

from pathlib import Path

import tui
from tui.tools.builtin.shell import Shell
from tui.tools.toolbox import ToolEnvironment, build_toolbox


def test_the_program_itself_is_guarded_in_its_own_folder(tmp_path: Path) -> None:
    package = Path(tui.__file__).resolve().parent
    environment = ToolEnvironment(
        folder=package.parent, home=tmp_path, environment={}, permissions_file=tmp_path / "permissions.toml"
    )
    shell = build_toolbox(environment).tools["shell"]
    assert isinstance(shell, Shell)
    assert shell.sandbox.guards.holds(package)
