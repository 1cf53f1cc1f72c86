"""The screen over files that are none; the same on a terminal, with more kinds, is in tests/e2e/test_odd_files.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.e2e.test_odd_files import (
    FILES,
    FOLDERS,
    broken_link,
    deep,
    device,
    digits,
    fifo,
    folder,
    huge,
    loop,
    not_text,
    prepared,
    wide,
)

KINDS = (fifo, device, loop, folder, broken_link, huge, not_text, deep, digits, wide)


@pytest.mark.parametrize("first", [0, 5])
async def test_the_screen_answers_with_another_bad_thing_in_the_place_of_each_file(tmp_path: Path, first: int) -> None:
    for at, name in enumerate(FILES):
        prepared(tmp_path, name, KINDS[(first + at) % len(KINDS)])
    async with screen(tmp_path / "ponder") as s:
        await s.ask("hello")
        await s.until_it_says("When you have a key")


async def test_the_screen_answers_with_another_bad_thing_in_the_place_of_each_folder(tmp_path: Path) -> None:
    for name, kind in zip(FOLDERS, (broken_link, loop, device, fifo), strict=True):
        prepared(tmp_path, name, kind)
    async with screen(tmp_path / "ponder") as s:
        await s.ask("hello")
        await s.until_it_says("When you have a key")
