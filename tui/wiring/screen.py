"""Starting the screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from tui.commands.keymap import read_keymap
from tui.commands.table import registry
from tui.domain.errors import PonderError, UsageError
from tui.wiring.desk import LiveDesk
from tui.wiring.findings import Findings
from tui.wiring.open_session import DEMO, OpenSession, first_spec
from tui.wiring.program import Program, Wishes, build_program
from tui.wiring.storage import KeptInMemory, Storage, Stored


def run_screen(environment: Mapping[str, str], wishes: Wishes, *, resume: str | None, latest: bool) -> int:
    """``ponder``: the full-screen program, until it ends."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The screen needs a terminal.", advice='`ponder -p "question"` works without one.')
    if environment.get("TERM") == "dumb":
        raise UsageError("This terminal cannot draw a screen.", advice='`ponder -p "question"` works here.')
    program = build_program(environment, wishes)
    findings = Findings(program)
    findings.look_for_keys(stored=False)
    storage: Storage = KeptInMemory()
    program.engine.start()
    try:
        current = OpenSession(program, storage, interactive=True)
        stored = asyncio.run(_stored(storage, resume, latest=latest))
        spec = first_spec(program, findings.ready())
        current.chosen_by_default = spec == DEMO
        current.start(spec, stored)
        return _show(program, LiveDesk(current, findings, storage), environment)
    finally:
        program.memory.keep()
        program.calibration.keep()
        program.engine.stop()


async def _stored(storage: Storage, resume: str | None, *, latest: bool) -> Stored | None:
    session = await storage.latest() if latest and resume is None else resume
    return await storage.load(session) if session is not None else None


def _show(program: Program, desk: LiveDesk, environment: Mapping[str, str]) -> int:
    from tui.ui.app import PonderApp
    from tui.ui.theming import Theming

    text = _keys_text(program)
    keymap = read_keymap(registry(), text)
    program.problems.extend(keymap.problems)
    theming = Theming(program.paths.themes, str(desk.settings.layers().value("ui.theme")), environment)
    app = PonderApp(desk, registry(), keymap, theming)
    code = app.run()
    return code if code is not None else app.return_code or 0


def _keys_text(program: Program) -> str:
    try:
        return program.paths.keys_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        program.problems.append(PonderError("`keys.toml` cannot be read."))
        return ""
