"""Rows with clusters that another widget covers in part: every cell is painted, in terminals that count either way."""

from __future__ import annotations

from typing import cast

import pyte
import pytest
from rich.console import Console
from rich.segment import Segment
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from tests.e2e.cluster_screens import ClusterScreen, CodePointScreen, GraphemeScreen
from tui.ui.terminal.cluster_rows import with_whole_rows
from tui.ui.terminal.textual_private import LayoutUpdate

ROWS = ("👨‍👩‍👧‍👦 and 🇩🇪 and नमस्ते and ❤️ x", "tabs ❤️ and 👍🏽 x", "🧑🏽‍⚕️🧑🏽‍⚕️ and 1️⃣ 2️⃣")
BESIDE = "│ beside"


@pytest.mark.parametrize("kind", [CodePointScreen, GraphemeScreen])
@pytest.mark.parametrize("text", ROWS)
def test_what_stands_beside_half_a_cluster_is_where_it_belongs(text: str, kind: type[ClusterScreen]) -> None:
    row = Strip([Segment(text)])
    for cut in range(1, row.cell_length):
        left = row.divide([cut, row.cell_length])[0]
        width = cut + len(BESIDE)
        update = LayoutUpdate([[left, Strip([Segment(BESIDE)])]], Region(0, 0, width, 1))
        with_whole_rows(cast("Screen[object]", None), update)
        screen = kind(width, 1)
        for column in range(width):
            screen.buffer[0][column] = screen.buffer[0][column]._replace(data="X")
        pyte.Stream(screen).feed(update.render_segments(Console(color_system="truecolor", force_terminal=True)))
        assert "X" not in screen.display[0], (cut, left.text)
        assert "".join(screen.buffer[0][column].data for column in range(cut, width)) == BESIDE, (cut, left.text)
