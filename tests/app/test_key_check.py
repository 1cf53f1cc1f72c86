"""A key is checked before it is saved: its shape, and whether the provider takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import house
from tests.faultserver.server import FaultServer
from tests.ui.stage import type_in, until
from tui.domain.errors import ConfigError

KEY = "sk-ant-0123456789abcdef0123456789"
MODELS = {"status": 200, "json": {"data": [{"id": f"claude-test-{n}", "type": "model"} for n in range(14)]}}
REFUSED = {"status": 401, "json": {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}}
DOWN = {"status": 503, "json": {"error": {"type": "overloaded_error", "message": "come back later"}}}


def aim(h, server: FaultServer) -> None:
    h.program.planner.catalog = h.program.catalog.with_base_url("anthropic", server.url)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("https://platform.claude.com/settings/keys", "This is an address, not a key."),
        (f"export ANTHROPIC_API_KEY={KEY}".replace(" ", ""), "This begins with `exportANTHROPIC_API_KEY=`"),
        (f"ANTHROPIC_API_KEY={KEY}", "This begins with `ANTHROPIC_API_KEY=`: paste only what follows."),
        ("hello", "This has 5 characters: too short for a key."),
    ],
)
async def test_what_has_not_the_shape_of_a_key_is_in_doubt_and_sent_nowhere(
    tmp_path: Path, key: str, said: str
) -> None:
    async with FaultServer([[MODELS]], answers_get=True) as server, house(tmp_path) as h:
        aim(h, server)
        checked = await h.services.keys.check_key("anthropic", key)
    assert not checked.works
    assert checked.message.startswith(said)
    assert server.seen == []


@pytest.mark.parametrize("key", ["two words here", "schlüssel-0123456789", "sk-\u200b0123456789"])
async def test_what_no_request_can_carry_is_refused(tmp_path: Path, key: str) -> None:
    async with house(tmp_path) as h:
        with pytest.raises(ConfigError, match="key is invalid"):
            await h.services.keys.check_key("anthropic", key)


@pytest.mark.parametrize(
    ("answers", "works", "said"),
    [
        ([MODELS, REFUSED], True, "Works: 14 models."),
        ([MODELS, MODELS], True, "Not checked: Anthropic shows its models without a key, too."),
        ([REFUSED], False, "Anthropic refuses this key: "),
        ([DOWN], False, "The key could not be checked: "),
    ],
    ids=["works", "a list for everybody", "refused", "down"],
)
async def test_the_provider_is_asked_with_the_key(tmp_path: Path, answers: list[Any], works: bool, said: str) -> None:
    async with FaultServer([[answer] for answer in answers], answers_get=True) as server, house(tmp_path) as h:
        aim(h, server)
        checked = await h.services.keys.check_key("anthropic", KEY)
        assert h.program.keys.find(h.program.catalog.provider("anthropic")) is None
    assert (checked.works, checked.message.startswith(said)) == (works, True), checked
    assert KEY not in checked.message
    assert not (tmp_path / "config" / "credentials.toml").exists()


async def enter_key(s: Screen, key: str) -> None:
    await s.enter("/key anthropic")
    await s.until_it_says("Key for anthropic")
    await type_in(s.pilot, key)
    await s.pilot.press("enter")


async def test_the_dialog_says_that_a_key_works_before_it_is_saved(tmp_path: Path) -> None:
    async with FaultServer([[MODELS], [REFUSED]], answers_get=True) as server, screen(tmp_path) as s:
        aim(s.house, server)
        await enter_key(s, KEY)
        await s.until_it_says("Works: 14 models.")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
    assert "anthropic" in (tmp_path / "config" / "credentials.toml").read_text()


@pytest.mark.long
async def test_a_refused_key_is_saved_only_when_it_is_entered_again(tmp_path: Path) -> None:
    file = tmp_path / "config" / "credentials.toml"
    async with FaultServer([[REFUSED]], answers_get=True) as server, screen(tmp_path) as s:
        aim(s.house, server)
        await enter_key(s, KEY)
        await s.until_it_says("Anthropic refuses this key")
        await s.until_it_says("press enter again to use this one")
        assert not file.exists()
        await type_in(s.pilot, "x")
        await s.until_it_no_longer_says("enter again")
        await s.pilot.press("enter")
        await s.until_it_says("enter again")
        assert not file.exists()
        await s.pilot.press("enter")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
    assert KEY[-4:] in file.read_text()
