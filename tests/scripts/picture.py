"""The README's picture, from the program itself: ``python -m tests.scripts.picture [THEME]`` writes docs/ponder.svg.

The demo answers a question in a window of 120 by 36; nothing is staged but the question.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from tui.app.launch_options import LaunchOptions
from tui.app.open_session import OpenSession
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.session_storage import open_storage
from tui.bootstrap.program import build_program
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.domain.thinking import ModelSpec, ThinkingLevel
from tui.ui.app import PonderApp
from tui.ui.theme.current_theme import CurrentTheme

TARGET = Path(__file__).resolve().parents[2] / "docs" / "ponder.svg"
QUESTION = "think hard about a puzzle"
SIZE = (120, 36)


async def picture(theme: str) -> str:
    """The screen as SVG, once the answer has come."""
    with tempfile.TemporaryDirectory() as home:
        program = build_program({"PONDER_HOME": home, "COLORTERM": "truecolor"}, LaunchOptions())
        program.engine.start()
        storage = open_storage(program)
        current = OpenSession(program, storage, interactive=True)
        current.start(ModelSpec(provider="demo", model="demo", asked=ThinkingLevel.HIGH))
        availability = ProviderAvailability(program)
        services = AppServices(current, availability, storage)
        app = PonderApp(
            services, registry(), default_keymap(registry()), CurrentTheme(None, theme, program.environment)
        )
        async with app.run_test(size=SIZE) as pilot:
            for key in QUESTION:
                await pilot.press("space" if key == " " else key)
            await pilot.press("enter")
            await pilot.pause(0.5)
            while app.chat.is_busy():
                await pilot.pause(0.2)
            await pilot.pause(0.5)
            svg = app.export_screenshot(title="ponder")
        await current.close()
        await storage.aclose()
        program.close()
    # The picture must not fetch fonts from anywhere when it is looked at.
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "ui-monospace, monospace")


def main() -> None:
    """Write it."""
    TARGET.write_text(asyncio.run(picture(sys.argv[1] if len(sys.argv) > 1 else "dusk")), encoding="utf-8")


if __name__ == "__main__":
    main()
