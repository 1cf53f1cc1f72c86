"""Imports with numbers that no program writes: refused in a sentence, or stored so that everything else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import prefork
from tests.e2e.terminal import environment
from tests.store.stage import Stage, a_turn, rich_turn
from tui.domain.errors import UsageError

ABSURD = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1",
    "0",
    str(2**63),
    str(-(2**70)),
    "1e308",
    "1e18",
    "9" * 300,
    "9" * 390,
    "9" * 5000,
    "true",
    '"x"',
    "null",
    "[]",
    "{}",
    "[" * 3_000 + "]" * 3_000,
)


LONG = bool(os.environ.get("PONDER_LONG"))
"""Otherwise each number is given every second of them."""


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    items: list[tuple[object, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from leaves(inner, (*path, key))
        elif isinstance(inner, int | float) or inner is None:
            yield (*path, key)


def with_value(text: str, path: tuple[object, ...], value: str) -> str:
    found = json.loads(text)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "ABSURD"
    return json.dumps(found).replace('"ABSURD"', value)


@pytest.mark.long
async def test_every_number_of_a_session_may_be_absurd(stage: Stage, tmp_path: Path) -> None:
    await stage.keep("s", a_turn(1, cost=0.5), rich_turn())
    text = await stage.library.export("s", "json", "all")
    kept = refused = 0
    for number, path in enumerate(leaves(json.loads(text))):
        for value in ABSURD if LONG else ABSURD[number % 2 :: 2]:
            file = tmp_path / "import.json"
            file.write_text(with_value(text, path, value))
            try:
                made = await stage.library.import_file(file)
            except UsageError:
                refused += 1
                continue
            kept += 1
            loaded = await stage.conversations.load(made)
            assert len(loaded.turns) == 2, (path, value)
            for form in ("md", "json", "html"):
                await stage.library.export(made, form, "all")
            await stage.library.sessions()
            await stage.keep(made, a_turn("more"))
            await stage.library.purge(made)
    assert kept > 50
    assert refused > 50


@pytest.mark.one_in(4)
@pytest.mark.parametrize("value", ["1e300", "-1e300", "NaN", "Infinity", "1e18", str(2**70), "253402300800000"])
def test_lists_exports_and_prompts_take_any_date_and_cost(tmp_path: Path, value: str) -> None:
    message = f'{{"id": "m", "role": "assistant", "created": {value}, "blocks": [{{"kind": "text", "text": "hi"}}]'
    meta = f'"meta": {{"cost": {value}, "seconds": {value}, "usage": {{"input": {value}, "output": {value}}}}}'
    (tmp_path / "in.json").write_text(
        f'{{"format": "ponder-session", "version": 1, "title": "t", "created": {value}, "updated": {value},'
        f' "turns": [{{"id": "a", "parent": null, "created": {value}, "messages": [{message}, {meta}}}]}}]}}'
    )

    def ponder(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tui", *words]
        env = environment(tmp_path)
        return prefork.run(command, env=env, text=True, stdin=subprocess.DEVNULL)

    done = ponder("sessions", "import", str(tmp_path / "in.json"))
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert (done.returncode, "ponder: " in done.stderr) == (2, True)
        return
    for words in (("sessions", "list"), ("-p", "x", "-m", "demo/fast", "-c", "--json"), ("context", "--json")):
        done = ponder(*words)
        assert (done.returncode, "Traceback" in done.stderr) in ((0, False), (2, False)), (words, done.stderr)
    for form in ("md", "html", "json"):
        done = ponder("sessions", "export", "t", "--format", form, "-o", os.fspath(tmp_path / f"out.{form}"))
        assert "Traceback" not in done.stderr, done.stderr


async def test_an_imported_cost_below_nothing_counts_as_unknown(stage: Stage, tmp_path: Path) -> None:
    await stage.keep("s", a_turn(1, cost=0.5))
    file = tmp_path / "import.json"
    file.write_text((await stage.library.export("s", "json", "all")).replace('"cost":0.5', '"cost":-900'))
    assert "-900" in file.read_text()
    made = await stage.library.import_file(file)
    [row] = [row for row in await stage.library.sessions() if row.id == made]
    assert row.cost is None
    loaded = await stage.conversations.load(made)
    assert [message.cost for turn in loaded.turns for message in turn.messages] == [None, None]
