"""A session that the user comes back to is shown where it was left."""

from __future__ import annotations

from pathlib import Path

from tests.app.screen_stage import Screen, screen
from tests.app.side_server import SideServer
from tests.app.stage import config
from tests.app.test_side_by_side import on_screen, shows
from tests.ui.stage import until

PARAGRAPHS = [f"paragraph {number}" for number in range(80)]


def first_paragraph(s: Screen) -> str:
    return next((line.strip() for line in s.text().splitlines() if "paragraph" in line), "")


def follows(s: Screen) -> bool:
    return s.app.chat.transcript.column.following


async def test_two_sessions_keep_their_places_also_while_they_run(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(80, 24), model=None, stored_in="file") as s:
            await s.enter("alpha begins")
            server.say("alpha", "\n\n".join(PARAGRAPHS) + "\n\n")
            await s.until_it_says("paragraph 79")
            first = on_screen(s).session
            s.app.chat.transcript.scroll_to(y=40, animate=False, immediate=True)
            await until(s.pilot, lambda: not follows(s))
            top = first_paragraph(s)
            assert top not in ("", "paragraph 79")
            await s.pilot.press("ctrl+n")
            await until(s.pilot, lambda: on_screen(s).session != first)
            await s.enter("beta begins")
            server.say("beta", "\n\n".join(f"other {number}" for number in range(60)))
            await s.until_it_says("other 59")
            second = on_screen(s).session
            server.say("alpha", "more of it\n\n")
            server.finish("alpha")  # the arriving answer gets its key meanwhile
            await s.until_toast("has answered")
            await s.pilot.press("alt+s")
            await shows(s, first)
            await until(s.pilot, lambda: first_paragraph(s) == top)
            await s.until_it_says("↓")
            assert not follows(s)
            await s.pilot.press("alt+s")
            await shows(s, second)
            await s.until_it_says("other 59")
            assert follows(s), "its end was followed"
            server.finish("beta")
            await until(s.pilot, lambda: not s.app.chat.is_busy())
