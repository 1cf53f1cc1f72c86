"""Logins at MCP servers are kept where keys are kept, and every redactor knows them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tui.cli.user_catalog import known_keys, user_catalog
from tui.providers.mcp_logins import McpLogins, learn_logins
from tui.providers.redaction import Redactor, Secret
from tui.providers.system_keyring import Keyring

ADDRESS = "https://tracker.example.com/mcp"
TEXT = json.dumps({"access_token": "access-0123456789", "refresh_token": "renewal-0123456789", "scope": "read"})


class Rows(Keyring):
    """A keyring in memory, which may refuse to save."""

    def __init__(self, *, works: bool) -> None:
        super().__init__()
        self.works, self.rows = works, {}

    def get(self, provider: str, host: str) -> Secret | None:
        return self.rows.get((provider, host))

    def put(self, provider: str, host: str, key: Secret) -> bool:
        if self.works:
            self.rows[provider, host] = key
        return self.works

    def remove(self, provider: str, host: str) -> None:
        self.rows.pop((provider, host), None)

    rows: dict[tuple[str, str], Secret]


@pytest.mark.parametrize("works", [True, False])
def test_a_login_is_saved_for_its_address_and_forgotten(tmp_path: Path, works: bool) -> None:
    file, ring = tmp_path / "credentials.toml", Rows(works=works)
    logins = McpLogins(file, Redactor(), lambda: ring)
    assert logins.load("tracker", ADDRESS) is None
    assert logins.save("tracker", ADDRESS, TEXT) == ("keyring" if works else "credentials file")
    assert ("access-0123456789" in file.read_text()) is not works
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert logins.load("tracker", ADDRESS) == TEXT
    assert logins.load("tracker", "https://evil.example.com/mcp") is None
    assert logins.load("other", ADDRESS) is None
    assert logins.saved() == [("tracker", ADDRESS)]
    logins.forget("tracker")
    logins.forget("tracker")
    assert (logins.load("tracker", ADDRESS), ring.rows, logins.saved()) == (None, {}, [])


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "credentials.toml"
    McpLogins(file, Redactor(), lambda: Rows(works=False)).save("tracker", ADDRESS, TEXT)
    file.chmod(0o644)
    assert McpLogins(file, Redactor(), lambda: Rows(works=False)).load("tracker", ADDRESS) is None


def test_exports_know_the_tokens(tmp_path: Path) -> None:
    file = tmp_path / "config" / "credentials.toml"
    McpLogins(file, Redactor(), lambda: Rows(works=False)).save("tracker", ADDRESS, TEXT)
    redactor = Redactor()
    learn_logins(file, redactor)
    assert "access-0123456789" not in redactor.clean_known("a access-0123456789 renewal-0123456789 b")
    environment = {"PONDER_HOME": str(tmp_path)}
    both = known_keys(user_catalog(environment), environment)
    assert "0123456789" not in both.clean_known("access-0123456789 renewal-0123456789")


def test_the_secret_of_a_client_in_the_configuration_is_known(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    row = f'[mcp.servers.t]\nurl = "{ADDRESS}"\n[mcp.servers.t.oauth]\nclient_secret = "${{CLIENT}}"\n'
    (tmp_path / "config" / "config.toml").write_text(row)
    environment = {"PONDER_HOME": str(tmp_path), "CLIENT": "the-clients-own-secret"}
    both = known_keys(user_catalog(environment), environment)
    assert "own-secret" not in both.clean_known("the-clients-own-secret")
