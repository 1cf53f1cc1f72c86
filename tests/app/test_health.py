"""What ``doctor`` looks at: the database's pages, and whether a provider can be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.faultserver.server import FaultServer
from tests.store.stage import a_turn, open_stage
from tui.app.diagnostics import reachability
from tui.store.recovery import database_health
from tui.tools.sandbox.sandbox import this_kernel


async def stored(home: Path, turns: int) -> Path:
    stage = open_stage(home)
    for number in range(turns):
        await stage.keep(f"s{number}", a_turn(number))
    stage.database.close()
    return home / "data" / "sessions.db"


async def test_a_whole_database_says_how_much_is_in_it(tmp_path: Path) -> None:
    assert database_health(tmp_path / "data" / "sessions.db") == "none yet"
    path = await stored(tmp_path, 3)
    assert database_health(path).startswith("whole, 3 sessions, ")


@pytest.mark.parametrize("damage", ["header", "middle", "folder"])
async def test_a_damaged_one_says_so_and_is_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = await stored(tmp_path, 30)
    if damage == "folder":
        path = tmp_path / "folder.db"
        path.mkdir()
    else:
        data = bytearray(path.read_bytes())
        start = 0 if damage == "header" else 4096
        data[start : start + 4096] = b"\xaa" * 4096
        path.write_bytes(data)
    before = None if path.is_dir() else path.read_bytes()
    assert not database_health(path).startswith("whole")
    assert before is None or path.read_bytes() == before


async def test_only_providers_with_a_key_are_knocked_at_and_nothing_is_said_to_them(tmp_path: Path) -> None:
    async with FaultServer([]) as server, house(tmp_path, environment={"DEEPSEEK_API_KEY": "sk-0123456789abcdef"}) as h:
        h.program.planner.catalog = h.program.catalog.with_base_url("deepseek", server.url)
        said = await reachability(h.availability.with_keys(), {"HTTPS_PROXY": "http://127.0.0.1:9"})
        assert said == {"deepseek": "can be reached"}
        assert server.seen == []
        closed = h.program.catalog.with_base_url("deepseek", "http://127.0.0.1:9").provider("deepseek")
        assert (await reachability([closed], {}))["deepseek"].startswith("cannot be reached")


async def test_doctor_and_the_list_of_tools_name_the_sandbox_and_rules_that_never_match(tmp_path: Path) -> None:
    config(tmp_path, '[permissions]\nallow = ["shell(make && ./run)"]\ndeny = ["fetch_url(https://example.org)"]\n')
    async with house(tmp_path) as h:
        said = [await h.services.doctor(), "\n".join(await h.services.tools.notes())]
    for text in said:
        assert f"andbox for commands: {this_kernel().description()}" in text
        assert "The rule `shell(make && ./run)` can never match: " in text
        assert "The rule `fetch_url(https://example.org)` can never match: " in text
