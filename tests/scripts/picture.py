"""The README's picture, from the program itself: ``python -m tests.scripts.picture [THEME]`` writes docs/ponder.svg.

The demo mends a small bug with tools, in a window of 120 by 36; the prompt and the answers to its questions are typed.
What the screen shows is recorded several times a second and becomes one animated SVG. Viewers that do not animate show
the end.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import reduce
from html import escape
from pathlib import Path
from typing import NamedTuple

from rich.style import Style

from tests.ui.stage import screen_strips, until
from tui.app.current_session import CurrentSession
from tui.app.launch_options import LaunchOptions
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
QUESTION = "fix the bug"
FILES: Mapping[str, str] = {
    "sums.py": '"""Adds."""\n\n\ndef add(first, second):\n    return first - second\n',
    "test_sums.py": (
        "import unittest\n\nfrom sums import add\n\n\nclass Adding(unittest.TestCase):\n"
        "    def test_two_and_three_are_five(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
}
SIZE = (120, 36)
EVERY_S = 0.25
LOOK_S = 1.5
"""How long a question of the program is shown before it is answered."""
END_S = 6.0
"""How long the end is shown before the picture starts again."""
CELL, ROW = 8.4, 18
FONT = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"


class Cells(NamedTuple):
    """Neighbouring cells of one style."""

    text: str
    fill: str
    ground: str
    look: str


Row = tuple[Cells, ...]
Frame = tuple[float, Sequence[Row]]
"""Seconds since the start, and the rows of the screen."""


async def recorded(theme: str) -> tuple[list[Frame], str, str]:
    """What the screen showed, and the colours of its text and background."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "sums"
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text)
        program = build_program({"PONDER_HOME": home, "COLORTERM": "truecolor"}, LaunchOptions(folder=folder))
        program.engine.start()
        storage = open_storage(program)
        current = CurrentSession(program, storage, interactive=True)
        current.start(ModelSpec(provider="demo", model="demo", asked=ThinkingLevel.MED))
        services = AppServices(current, ProviderAvailability(program), storage)
        app = PonderApp(
            services, registry(), default_keymap(registry()), CurrentTheme(None, theme, program.environment)
        )
        frames: list[Frame] = []
        # The folder has another name each time, and is nobody's.
        names = {str(folder): "~/sums".ljust(len(str(folder)))}
        async with app.run_test(size=SIZE, notifications=True) as pilot:
            variables = app.theme_variables
            colours = variables["foreground"][:7], variables["background"][:7]
            began = time.monotonic()

            async def record(seconds: float = EVERY_S) -> None:
                await pilot.pause(seconds)
                frames.append((time.monotonic() - began, rows_of(app, *colours, names)))

            await until(pilot, lambda: app.chat.sidebar.picker.filled)
            await record(0.5)
            for key in QUESTION:
                await pilot.press("space" if key == " " else key)
                await record(0.05)
            await pilot.press("enter")
            await record()
            while app.chat.is_busy():
                if app.screen is not app.chat:
                    await record(LOOK_S)
                    await pilot.press("alt+1")
                await record()
            await record(0.5)
        await current.close()
        await storage.aclose()
        program.close()
    return frames, *colours


def rows_of(app: PonderApp, foreground: str, background: str, names: Mapping[str, str]) -> list[Row]:
    """The rows of the screen, with other names for some words."""
    rows = []
    for strip in screen_strips(app):
        cells: list[Cells] = []
        for shown, style, _ in strip:
            text = reduce(lambda text, name: text.replace(*name), names.items(), shown)
            made = Cells(text, *_looks(style or Style(), foreground, background))
            if cells and cells[-1][1:] == made[1:]:
                made = made._replace(text=cells.pop().text + made.text)
            cells.append(made)
        rows.append(tuple(cells))
    return rows


def _looks(style: Style, foreground: str, background: str) -> tuple[str, str, str]:
    fill = style.color.get_truecolor().hex if style.color is not None else foreground
    ground = style.bgcolor.get_truecolor().hex if style.bgcolor is not None else background
    if style.reverse:
        fill, ground = ground, fill
    looks = ((style.bold, "b"), (style.italic, "i"), (style.underline, "u"))
    return fill, ground, "".join(name for on, name in looks if on)


def drawn(row: Row, background: str) -> str:
    """One row as SVG, at the top."""
    parts, column = [], 0
    for cells in row:
        x, width = column * CELL, len(cells.text) * CELL
        column += len(cells.text)
        if cells.ground != background:
            parts.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{ROW}" fill="{cells.ground}"/>')
        words = cells.text.rstrip()
        if not words.strip():
            continue
        start = len(words) - len(words.lstrip())
        length = (len(words) - start) * CELL
        looks = f' class="{" ".join(cells.look)}"' if cells.look else ""
        parts.append(
            f'<text x="{x + start * CELL:.1f}" y="{ROW - 5}" textLength="{length:.1f}" fill="{cells.fill}"{looks}>'
            f"{escape(words.strip(), quote=False)}</text>"
        )
    return "".join(parts)


def animated(frames: Sequence[Frame], background: str) -> str:
    """All frames as one picture: each row that was ever shown is drawn once, and used while it was there."""
    whole = frames[-1][0] + END_S
    ids: dict[Row, str] = {}
    shown: dict[tuple[int, Row], list[tuple[float, float]]] = {}
    for number, (start, rows) in enumerate(frames):
        end = frames[number + 1][0] if number + 1 < len(frames) else whole
        for y, row in enumerate(rows):
            ids.setdefault(row, f"r{len(ids)}")
            spans = shown.setdefault((y, row), [])
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
    begin = frames[0][0]
    uses = []
    for (y, row), spans in shown.items():
        if not drawn(row, background):
            continue
        use = f'<use href="#{ids[row]}" y="{y * ROW}"'
        if spans == [(begin, whole)]:
            uses.append(f"{use}/>")
            continue
        times = [(0.0, "none")] if spans[0][0] > begin else []
        for start, end in spans:
            times.append((max(0.0, (start - begin) / (whole - begin)), "inline"))
            times += [((end - begin) / (whole - begin), "none")] if end < whole else []
        at_the_end = "" if spans[-1][1] == whole else ' display="none"'
        values, keys = ";".join(value for _, value in times), ";".join(f"{at:.4f}" for at, _ in times)
        uses.append(
            f'{use}{at_the_end}><animate attributeName="display" dur="{whole - begin:.2f}s" calcMode="discrete"'
            f' repeatCount="indefinite" values="{values}" keyTimes="{keys}"/></use>'
        )
    width, height = SIZE[0] * CELL, SIZE[1] * ROW
    rows_drawn = "".join(f'<g id="{name}">{drawn(row, background)}</g>\n' for row, name in ids.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 {width + 24:.0f} {height + 24}"'
        f' font-family="{FONT}" font-size="14" xml:space="preserve">\n'
        "<style>.b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}text{white-space:pre}</style>\n"
        f'<rect x="-12" y="-12" width="{width + 24:.0f}" height="{height + 24}" rx="8" fill="{background}"/>\n'
        f"<defs>\n{rows_drawn}</defs>\n" + "\n".join(uses) + "\n</svg>\n"
    )


def main() -> None:
    """Write it."""
    frames, _, background = asyncio.run(recorded(sys.argv[1] if len(sys.argv) > 1 else "dusk"))
    TARGET.write_text(animated(frames, background), encoding="utf-8")


if __name__ == "__main__":
    main()
