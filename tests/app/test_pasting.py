"""A paste reaches the draft wherever the conversation has the focus."""

from __future__ import annotations

from pathlib import Path

from textual import events

from tests.app.screen_stage import screen
from tests.ui.stage import until


async def test_a_paste_into_the_transcript_goes_into_the_draft(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.ask("Hello")
        s.app.chat.transcript.focus()
        await until(s.pilot, lambda: s.app.focused is s.app.chat.transcript)
        s.app.post_message(events.Paste("from the clipboard"))
        await until(s.pilot, lambda: s.app.chat.composer.text == "from the clipboard")
        assert s.app.focused is s.app.chat.composer

        s.app.post_message(events.Paste(", twice"))
        await until(s.pilot, lambda: s.app.chat.composer.text == "from the clipboard, twice")
