"""Logging in and out at a remote MCP server on the screen."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from textual import events

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.fakes.oauth_server import OAuthServer, visit
from tests.ui.stage import type_in, until
from tui.ui.dialogs.server_form import ServerForm

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are taken however soon they come."""
    monkeypatch.setattr("tui.ui.dialogs.server_form.QUIET_S", 0.0)


@asynccontextmanager
async def _opened(home: Path) -> AsyncIterator[tuple[Screen, OAuthServer]]:
    async with OAuthServer() as server:
        config(home, f'[mcp.servers.tracker]\nurl = "{server.address}"\nstart_timeout = 50\n')
        async with screen(home) as s:
            started = s.house.program.engine.call(s.house.program.toolbox.ready())
            await until(s.pilot, started.done)
            yield s, server


async def _asked(s: Screen) -> str:
    """The address that the sheet shows."""
    await until(s.pilot, lambda: isinstance(s.app.screen, ServerForm))
    await s.until_it_says("Log in to tracker")
    (form,) = s.house.services.mcp.forms()
    return form.address


async def test_logging_in_by_a_browser_on_this_machine_and_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    async with _opened(tmp_path) as (s, server):
        await s.enter("/mcp")
        await s.until_it_says("it needs a login: /mcp login tracker")
        await s.pilot.press("escape")
        await s.enter("/mcp login tracker")
        address = await _asked(s)
        await s.until_it_says("Copy the address")
        await visit(server.browse(address))
        await s.until_toast("You are logged in at tracker: 1 tool.")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
        (token,) = server.tokens
        shown = f"{token} {base64.b64encode(token.encode()).decode()}"
        assert token not in s.house.program.keys.redactor.clean_known(shown)
        assert token in (tmp_path / "config" / "credentials.toml").read_text("utf-8")
        await s.enter("/mcp logout tracker")
        await s.until_toast("You are logged out of tracker, and the tokens are revoked.")
        assert server.tokens == set()
        assert token not in (tmp_path / "config" / "credentials.toml").read_text("utf-8")


@pytest.mark.long
async def test_the_address_is_copied_over_ssh_and_the_redirect_pasted_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    written: list[str] = []
    async with _opened(tmp_path) as (s, server):
        monkeypatch.setattr("tui.ui.terminal.clipboard.write_to_terminal", lambda _, text: written.append(text))
        await s.enter("/mcp login tracker")
        address = await _asked(s)
        await s.pilot.press("enter")
        await s.until_toast("Copied")
        assert base64.b64encode(address.encode()).decode() in "".join(written)
        await s.pilot.press("down")
        await s.until_it_says("Only if the browser is on another machine")
        await s.pilot.press("down", "enter")
        await s.until_it_says("✗ Address where the browser ends is required.")
        await s.pilot.press("up")
        field = s.app.screen.focused
        assert field is not None
        field.post_message(events.Paste(server.browse(address)))
        await until(s.pilot, lambda: "code=" in str(getattr(field, "value", "")))
        await s.pilot.press("down", "enter")
        await s.until_toast("You are logged in at tracker")


@pytest.mark.long
async def test_completion_and_mistakes(tmp_path: Path) -> None:
    async with _opened(tmp_path) as (s, _):
        await type_in(s.pilot, "/mcp login ")
        await s.until_it_says("   tracker")
        await s.pilot.press("escape")
        s.app.chat.composer.load_text("")
        await s.app.ui_services.run_line("/mcp login")
        await s.until_toast("/mcp takes login NAME or logout NAME, not login.")
        await s.app.ui_services.run_line("/mcp login nobody")
        await s.until_toast("There is no MCP server nobody.")
        await s.enter("/mcp login tracker")
        await _asked(s)
        await s.pilot.press("escape")
        await s.until_toast("The login at tracker was given up.")
