"""What ``doctor`` looks at beside what is known already: the database's pages, and whether providers can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui.catalog.facts import ProviderFacts
from tui.domain.counting import count
from tui.domain.errors import PonderError
from tui.settings.user_files import may_exist

REACH_WITHIN_S = 3.0


def database_health(path: Path) -> str:
    """How the database does, in a few words; nothing is written. Blocks: in a thread."""
    if not may_exist(path):
        return "none yet"
    import sqlite3

    from tui.store.open_database import check, open_reader

    try:
        reading = open_reader(path)
        try:
            check(reading.connection)
            sessions = reading.connection.execute("SELECT count(*) FROM session").fetchone()[0]
        finally:
            reading.close()
    except PonderError as problem:
        return problem.message
    except (OSError, sqlite3.Error) as fault:
        return f"cannot be read: {fault}"
    return f"whole, {count(sessions, 'session')}, {path.stat().st_size / 1_000_000:.1f} MB"


async def reachability(providers: Sequence[ProviderFacts], environment: Mapping[str, str]) -> dict[str, str]:
    """By provider: whether its host takes connections. Nothing is said to it."""
    tries = [_reach(provider.base_url_for(provider.wire), environment) for provider in providers]
    return dict(zip((provider.id for provider in providers), await asyncio.gather(*tries), strict=True))


async def _reach(url: str, environment: Mapping[str, str]) -> str:
    from tui.app.proxy_description import way_to

    way = way_to(url, environment)
    if way is None:
        return "has no address"
    address, proxy = way
    through = " through the proxy" if proxy is not None else ""
    host, port = address.host, address.port
    if proxy is not None:
        host, port = proxy.hostname or "", proxy.port or (443 if proxy.scheme == "https" else 80)
    try:
        async with asyncio.timeout(REACH_WITHIN_S):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"does not answer{through}"
    except OSError as fault:
        return f"cannot be reached{through} ({fault.strerror or fault})"
    writer.close()
    return f"can be reached{through}"
