"""The screen while the system allows no further threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.ui.stage import on_stage


async def test_work_beside_the_screen_waits_while_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with on_stage(size=(80, 24)):
        occupied = asyncio.create_task(asyncio.to_thread(release.wait, 300))
        await asyncio.sleep(0)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            later = [asyncio.create_task(asyncio.to_thread(int, number)) for number in range(12)]
            await asyncio.sleep(0)
            release.set()
            assert await asyncio.gather(*later) == list(range(12))
        assert await occupied
