"""While another session is being opened there is none for a moment."""

from __future__ import annotations

from pathlib import Path

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until


async def test_typing_between_two_sessions_does_not_stop_the_program(tmp_path: Path) -> None:
    async with screen(tmp_path, size=(90, 30)) as s:  # too narrow for the sidebar, whose panels would be made now
        await s.house.current.close()
        assert not s.house.services.chat.has_session
        await type_in(s.pilot, "half a thought")
        await until(s.pilot, lambda: not [worker for worker in s.app.workers if worker.group == "weigh"])
        assert s.app.is_running
