"""Paints rows whose width terminals disagree about.

A terminal that counts code points moves its cursor farther after an emoji sequence than one that counts clusters, and
the rest of the row lands in other cells. Rows with such clusters are painted whole, and the cursor is positioned after
each of them, so that only the cells of the cluster itself can differ. Textual's compositor has no hook for this; a test
in ``tests/e2e`` fails when it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from rich.segment import Segment
from textual.screen import Screen
from textual.strip import Strip

from tui.ui.graphemes import clusters, is_unsure
from tui.ui.markdown.runs import width_of
from tui.ui.terminal.sixel_rows import BLANK
from tui.ui.terminal.textual_private import ChopsUpdate, LayoutUpdate, whole_rows


def with_whole_rows(screen: Screen[object], update: object) -> object:
    """The update, with rows that contain such clusters painted whole and with explicit cursor positions."""
    if isinstance(update, ChopsUpdate):
        _paint_whole_rows(screen, update)
    elif isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips):
            strips = list(line)
            if any(map(_is_whole, strips)):
                update.strips[y] = _in_place(strips, update.region.x)
    return update


def _paint_whole_rows(screen: Screen[object], update: ChopsUpdate) -> None:
    rows = {y for y, _, _ in update.spans if any(map(_is_whole, update.chops[y].values()))}
    if not rows:
        return
    whole = whole_rows(screen, rows)
    if whole is None:
        return
    chops = cast("list[Mapping[int, Strip | None]]", update.chops)
    for y in rows:
        columns = list(whole.chops[y])
        strips = [strip if strip is not None else Strip([]) for strip in whole.chops[y].values()]
        chops[y] = {x: in_place for x, strip in zip(columns, strips, strict=True) for in_place in _in_place([strip], x)}
    others = [span for span in update.spans if span[0] not in rows]
    update.spans = sorted([*others, *((y, 0, screen.outer_size.width) for y in rows)])


def _is_whole(strip: Strip | None) -> bool:
    """Whether a row with it is painted whole: because of such clusters, or cells of a picture."""
    # Called for every painted strip: a plain loop, without a call for plain text.
    for text, _, _ in strip or ():  # noqa: SIM110 - half as fast with any()
        if not text.isascii() and (text[:1] == BLANK or is_unsure(text)):
            return True
    return False


def _in_place(strips: Iterable[Strip], x: int) -> list[Strip]:
    found: list[Strip] = []
    for strip in strips:
        segments: list[Segment] = []
        at = x
        for segment in strip:
            text = segment.text
            segments.append(segment._replace(text=_anchored(text, at)) if is_unsure(text) else segment)
            at += width_of(text)
        x += strip.cell_length
        if segments and at != x:
            # Another widget covers half a cluster, and the other half has another width than Textual thinks.
            segments.append(segments[-1]._replace(text=f"\x1b[{at + 1}G{' ' * (x - at)}\x1b[{x + 1}G"))
        found.append(Strip(segments, strip.cell_length))
    return found


def _anchored(text: str, x: int) -> str:
    """Text with the cursor positioned before and after every cluster; the cluster's cells are erased first."""
    parts: list[str] = []
    for cluster, width in clusters(text):
        if is_unsure(cluster):
            begin = f"\x1b[{x + 1}G"
            parts.append(f"{begin}{' ' * width}{begin}{cluster}\x1b[{x + width + 1}G")
        else:
            parts.append(cluster)
        x += width
    return "".join(parts)
