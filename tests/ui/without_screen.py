"""A conversation without a screen: events in, lines out."""

from __future__ import annotations

import time

from tui.ui.markdown.runs import plain
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.build_sections import SUMMARY, DisplayOptions
from tui.ui.transcript.section import Section, SectionVisibility, Speaker
from tui.ui.transcript.transcript import Transcript
from tui.ui.transcript.transcript_view import TranscriptView

WIDTH = 80


def conversation() -> TranscriptView:
    """One that nobody looks at."""
    return TranscriptView(Transcript(ThemeStyles({})), time.monotonic, DisplayOptions())


def sections_of(live: TranscriptView) -> list[Section]:
    """All there are, those that are hidden too."""
    return live._transcript.column.sections


def drawn(live: TranscriptView) -> list[str]:
    """All lines, without notices, which are said once and not stored. Dimmed ones are marked."""
    return [
        ("~ " if section.presence is SectionVisibility.DIMMED else "") + plain(section.line(number)[0])
        for section in sections_of(live)
        if section.speaker is not Speaker.NOTICE or section.key == SUMMARY
        for number in range(section.height(WIDTH))
    ]


def open_or_close(live: TranscriptView) -> None:
    """What a press on the summary does, if there is one."""
    for section in sections_of(live):
        if section.key == SUMMARY:
            section.blocks[0].fold()
            section.touch()


def notices(live: TranscriptView) -> list[str]:
    """What was said once."""
    return [
        block.text()
        for section in sections_of(live)
        if section.speaker is Speaker.NOTICE and section.key != SUMMARY
        for block in section.blocks
    ]
