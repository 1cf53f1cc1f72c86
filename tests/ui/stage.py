"""The real application over fake services, what its screen says as text, and a picture of it."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakSet

from textual import events
from textual._context import visible_screen_stack
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.strip import Strip

from tests.patience import PATIENCE_S
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.domain.messages import Turn
from tui.ui.app import PonderApp
from tui.ui.markdown.lexers import lexers
from tui.ui.theme.current_theme import CurrentTheme

SNAPSHOTS = Path(__file__).parent / "snapshots"
Sizes = tuple[int, int]

_painted: WeakSet[PonderApp] = WeakSet()


def make_app(services: FakeServices, theme: str = "dusk") -> PonderApp:
    return PonderApp(
        services, registry(), default_keymap(registry()), CurrentTheme(None, theme, {"COLORTERM": "truecolor"})
    )


@asynccontextmanager
async def on_stage(
    *turns: Turn, size: Sizes = (120, 40), theme: str = "dusk", values: dict[str, object] | None = None
) -> AsyncIterator[tuple[PonderApp, FakeServices, Pilot[int]]]:
    """A running program; it stands still when this is entered."""
    lexers().preload("python")
    services = FakeServices(chat=FakeChat(turns), values={"ui.motion": False, **(values or {})})
    app = make_app(services, theme)
    async with app.run_test(size=size, tooltips=False, notifications=True) as pilot:
        app.chat.composer.cursor_blink = False
        await until(pilot, lambda: not app.chat.sidebar.display or app.chat.sidebar.picker.filled)
        await pilot.pause()
        yield app, services, pilot
        paint_once(app)


async def until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    """Let the program go on until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if holds():
            return
        await pilot.pause(0.03)
    raise AssertionError("it never came to that")


async def type_in(pilot: Pilot[int], text: str) -> None:
    """Type fast: all letters are on their way before the first is looked at."""
    for character in text:
        pilot.app.post_message(events.Key(_character_to_key(character), character))
    await pilot.pause()


def paint_once(app: PonderApp) -> None:
    """Have what is on a screen painted at least once, also without frames; nobody looks at it as a whole."""
    if app.is_running and app not in _painted:
        _show_what_is_below(app)
        for _ in app.screen._compositor._get_renders():
            pass


def _show_what_is_below(app: PonderApp) -> None:
    """Of a sheet; what was not painted yet would stay blank."""
    visible_screen_stack.set(app._background_screens)


def screen_strips(app: PonderApp) -> list[Strip]:
    """The rows of the screen; the one place that reads the compositor."""
    _painted.add(app)
    _show_what_is_below(app)
    return app.screen._compositor.render_strips()[: app.size.height]


def screen_text(app: PonderApp) -> str:
    """What the screen says, line by line."""
    width = app.size.width
    lines = ["".join(segment.text for segment in strip).ljust(width)[:width].rstrip() for strip in screen_strips(app)]
    return "\n".join(lines) + "\n"


def compare_snapshot(name: str, text: str) -> None:
    """Compare with the kept text; ``PONDER_UPDATE_SNAPSHOTS=1`` keeps the new one."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("PONDER_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.exists(), f"no snapshot {path.name}: PONDER_UPDATE_SNAPSHOTS=1 makes it, then look at it"
    assert text == path.read_text(encoding="utf-8")
