"""Emoji made of several code points, flags and conjuncts damage nothing, however wide a terminal thinks they are."""

from __future__ import annotations

import re
from pathlib import Path

import pyte
import pytest
from rich.cells import cell_len

from tests.e2e.cluster_screens import ClusterScreen, CodePointScreen, GraphemeScreen
from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_living import PONDER, READY
from tui.ui.transcript.section import MARGIN

SIZE = (130, 30)
CLUSTERS = (
    "A family 👨‍👩‍👧‍👦 and a doctor 🧑🏽‍⚕️ with 👩‍🚀👩‍🚀👩‍🚀 in one row.",
    "Flags: 🇩🇪 🇫🇷 🇯🇵🇰🇷🇧🇷 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿, hearts ❤️ ☺️ ⚠️ ▶️ and keys 1️⃣ 2️⃣.",
    "Devanagari: नमस्ते दुनिया, क्षत्रिय हिन्दी में स्त्री। Tamil: தமிழ் வாழ்க.",
    "| 👨‍👩‍👧 | two | हिन्दी |\n|---|---|---|\n| 🇩🇪 | ❤️ | क्ष |",
    "Long " + "👨‍👩‍👧‍👦" * 70,
    "```\nprint('👍🏽' * 3)  # नमस्ते 🇩🇪\n```",
)
TEXT = "\n\n".join([*CLUSTERS, *(f"Plain words number {number}." for number in range(40))])
END = "Plain words number 39."


def cells(screen: pyte.Screen, first: int = 0) -> list[list[pyte.screens.Char]]:
    """The characters and colours of a screen from a column on."""
    return [[screen.buffer[row][column] for column in range(first, screen.columns)] for row in range(screen.lines)]


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("screen", [CodePointScreen, GraphemeScreen])
def test_scrolling_past_clusters_leaves_every_cell_as_a_fresh_paint(
    tmp_path: Path, screen: type[ClusterScreen]
) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=SIZE, screen=screen) as terminal:
            terminal.wait_for(READY)
            terminal.type("question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say(*(TEXT[at : at + 7] for at in range(0, len(TEXT), 7)))
            model.finish()
            terminal.wait_for(END)
            terminal.type("\x11\x11")  # the second answers the question whether to stop what still runs
            terminal.exit_code()
        with Terminal([*PONDER, "--continue"], environment(tmp_path), size=SIZE, screen=screen) as terminal:
            terminal.wait_for(END)
            terminal.until(lambda: terminal.text().count("Plain words") > 5 and settled(terminal), "a still screen")
            fresh = cells(terminal.screen)
            edge = sidebar_edge(terminal.screen)
            seen: set[str] = set()
            for key in ["\x1b[5~"] * 4 + ["\x1b[6~"] * 4:
                terminal.type(key)
                terminal.until(lambda: settled(terminal), "a still screen")
                assert words_of(cells(terminal.screen), edge) == words_of(fresh, edge)
                assert [row[edge:] for row in cells(terminal.screen)] == [row[edge:] for row in fresh]
                seen.update(words for words in ("family", "Flags", "Devanagari", "Long") if words in terminal.text())
            assert seen == {"family", "Flags", "Devanagari", "Long"}
            terminal.wait_for(END)
            terminal.until(lambda: settled(terminal), "a still screen")
            # The scroll bar knows more now, and the composer's cursor blinks.
            rows = slice(0, SIZE[1] - 6)
            text = [row[: edge - 2] for row in cells(terminal.screen)[rows]]
            assert text == [row[: edge - 2] for row in fresh[rows]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("screen", [CodePointScreen, GraphemeScreen])
def test_what_follows_a_cluster_stands_where_it_was_measured(tmp_path: Path, screen: type[ClusterScreen]) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=SIZE, screen=screen) as terminal:
            terminal.wait_for(READY)
            terminal.type("question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say(*"\n\n".join(f"{line}|" for line in CLUSTERS[:3]))
            model.finish()
            terminal.wait_for("வாழ்க.|")
            terminal.until(lambda: settled(terminal), "a still screen")
            for line in CLUSTERS[:3]:
                row = next(row for row in cells(terminal.screen) if line[:6] in "".join(str(cell[0]) for cell in row))
                bars = [column for column, cell in enumerate(row[:90]) if cell[0] == "|"]
                assert bars == [MARGIN + cell_len(line)]


def words_of(found: list[list[pyte.screens.Char]], edge: int) -> str:
    """The characters of cells from a column on."""
    return "\n".join("".join(str(cell[0]) for cell in row[edge:]) for row in found)


def settled(terminal: Terminal) -> bool:
    """Nothing has come for a while."""
    return not any(terminal.pump(0.1) for _ in range(3))


def sidebar_edge(screen: pyte.Screen) -> int:
    """The column of the sidebar's border."""
    row = next(row for row in screen.display if "MODEL" in row or "Model" in row)
    place = row.rindex("MODEL") if "MODEL" in row else row.rindex("Model")
    return place - 2


class CountsWhenAsked(Terminal):
    """A terminal that counts clusters once a program switches that on."""

    def _reply(self, query: re.Match[bytes]) -> bytes:
        return b"\x1b[?2027;2$y" if query[1] == b"?2027$p" else super()._reply(query)


def test_a_terminal_that_can_count_clusters_does_until_the_program_ends(tmp_path: Path) -> None:
    with CountsWhenAsked(PONDER, environment(tmp_path), size=(80, 24)) as terminal:
        terminal.until(lambda: terminal.is_on(2027), "clusters are counted")
        terminal.wait_for(READY)
        terminal.type("\x11")
        assert terminal.exit_code() == 0
        assert not terminal.is_on(2027)


def test_a_terminal_that_cannot_count_clusters_is_left_alone(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=(80, 24)) as terminal:
        terminal.wait_for(READY)
        terminal.until(lambda: b"\x1b[?2027$p" in terminal.raw, "the question")
        terminal.type("\x11")
        assert terminal.exit_code() == 0
        assert b"?2027h" not in terminal.raw
