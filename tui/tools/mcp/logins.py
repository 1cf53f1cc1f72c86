"""Saved logins at remote MCP servers, and where they are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Tokens for one server, and what is needed to renew and to revoke them without asking the server again."""

    address: str
    """The address of the MCP server: the tokens are sent nowhere else."""
    issuer: str
    token_endpoint: str
    revocation_endpoint: str
    resource: str
    client_id: str
    client_secret: str
    auth_method: str
    """How the client identifies itself: ``none``, ``client_secret_post`` or ``client_secret_basic``."""
    access_token: str
    refresh_token: str
    scope: str
    expires_at: float
    """Seconds since the epoch; 0 is unknown."""

    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.access_token, self.refresh_token, self.client_secret)))


def read_login(text: str | None, address: str) -> Login | None:
    """The saved login for this address; None if there is none, or one for another address."""
    try:
        row = json.loads(text or "null")
        if not isinstance(row, dict) or {field.name for field in fields(Login)} != row.keys():
            return None
        login = Login(**row)
    except (ValueError, TypeError):
        return None
    texts = [value for name, value in row.items() if name != "expires_at"]
    is_whole = all(isinstance(value, str) for value in texts) and isinstance(login.expires_at, int | float)
    return login if is_whole and login.address == address else None


def written(login: Login) -> str:
    return json.dumps(asdict(login))


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLogins:
    """The place where logins are kept. All functions block."""

    load: Callable[[str, str], str | None]
    """The saved text for a server's name and address."""
    save: Callable[[str, str, str], str]
    """Save the text for a server's name and address; returns where, for the user."""
    forget: Callable[[str], None]
    learn: Callable[[str], None]
    """Make a secret known to everything that removes secrets from texts."""


def in_memory() -> SavedLogins:
    """Logins that are forgotten when the program ends."""
    rows: dict[str, tuple[str, str]] = {}

    def load(name: str, address: str) -> str | None:
        return rows[name][1] if name in rows and rows[name][0] == address else None

    def save(name: str, address: str, text: str) -> str:
        rows[name] = (address, text)
        return "memory"

    def forget(name: str) -> None:
        rows.pop(name, None)

    return SavedLogins(load=load, save=save, forget=forget, learn=lambda _: None)
