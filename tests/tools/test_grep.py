"""Searching contents, in a process that can be ended."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, outcome, words
from tui.tools.builtin.search_tools import Grep

RIPGREP = shutil.which("rg")


@pytest.fixture(params=["worker", pytest.param("rg", marks=pytest.mark.skipif(not RIPGREP, reason="no ripgrep"))])
def searching(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    return _with_ripgrep(bench, RIPGREP if request.param == "rg" else None)


def _with_ripgrep(bench: Bench, path: str | None) -> Bench:
    grep = bench.toolbox.tools["grep"]
    assert isinstance(grep, Grep)
    bench.toolbox.tools = {**bench.toolbox.tools, "grep": replace(grep, ripgrep=path)}
    return bench


async def test_matches_come_with_path_and_line(searching: Bench) -> None:
    searching.write("a.py", "import os\ndef find_me():\n    pass\n")
    searching.write("src/b.py", "FIND_ME = 1\n")
    searching.write("src/c.txt", "find_me\n")
    searching.write("bin.dat", b"find_me\0")
    rows = [
        sorted(words(await searching.call("grep", pattern="find_me", **more)).split("\n"))
        for more in ({}, {"ignore_case": True, "glob": "*.py"}, {"path": "src/c.txt"}, {"glob": "src/**/*.{txt,md}"})
    ]
    assert rows == [
        ["a.py:2: def find_me():", "src/c.txt:1: find_me"],
        ["a.py:2: def find_me():", "src/b.py:1: FIND_ME = 1"],
        ["src/c.txt:1: find_me"],
        ["src/c.txt:1: find_me"],
    ]


async def test_too_many_matches_are_cut_and_said(searching: Bench) -> None:
    searching.write("a.txt", "x\n" * 5000)
    text = words(await searching.call("grep", pattern="x", max_matches=3))
    assert (
        text
        == "a.txt:1: x\na.txt:2: x\na.txt:3: x\n(cut after 3 lines; there may be more: narrow the pattern or the path)"
    )


async def test_lines_are_cut_and_said(searching: Bench) -> None:
    searching.write("a.min.js", "y" * 3000)
    assert words(await searching.call("grep", pattern="y")).endswith("y… (2,500 more characters)")


async def test_what_is_no_pattern_is_an_answer(searching: Bench) -> None:
    searching.write("a.txt", "x")
    assert (await searching.call("grep", pattern="(x")).failed
    assert outcome(await searching.call("grep", pattern="x", path="nowhere")) == (False, "`nowhere` does not exist.")


async def test_a_pattern_beginning_with_a_dash_is_a_pattern(searching: Bench) -> None:
    searching.write("a.txt", "--files\n")
    assert words(await searching.call("grep", pattern="--files")) == "a.txt:1: --files"


async def test_a_pattern_that_takes_for_ever_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.tools.builtin.search_tools.MAX_SECONDS", 0.5)
    _with_ripgrep(bench, None)
    bench.write("a.txt", "a" * 60 + "!\n")
    cpu = time.process_time()
    good, text = outcome(await bench.call("grep", pattern="(a+)+$"))
    assert (good, text) == (
        False,
        "The search was stopped: it ran longer than 0.5 s. Use a simpler pattern or a smaller path.",
    )
    # Left alone it takes ages; our own process only waits.
    assert time.process_time() - cpu < 1


async def test_a_cancelled_search_is_dead_at_once(bench: Bench) -> None:
    _with_ripgrep(bench, None)
    bench.write("a.txt", "a" * 60 + "!\n")
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    before = set(Path(children).read_text().split()) if os.access(children, os.R_OK) else set()
    running = asyncio.ensure_future(bench.call("grep", pattern="(a+)+$"))
    await asyncio.sleep(0.2)
    while os.access(children, os.R_OK) and set(Path(children).read_text().split()) <= before:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    if os.access(children, os.R_OK):
        with open(children) as file:  # noqa: PTH123
            assert set(file.read().split()) <= before


async def test_pipes_and_devices_are_passed_over(searching: Bench) -> None:
    os.mkfifo(searching.folder / "pipe")
    (searching.folder / "zero").symlink_to("/dev/zero")
    searching.write("a.txt", "x\n")
    assert words(await searching.call("grep", pattern="x")) == "a.txt:1: x"
