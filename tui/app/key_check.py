"""Check the format of an API key, and whether its provider accepts it, before it is saved."""

from __future__ import annotations

import asyncio
import re
import time

from tui.app.applied_settings import network_limits
from tui.app.program import Program
from tui.catalog.facts import ProviderFacts
from tui.domain.counting import count
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.listing import KeyCheck
from tui.providers.keys import Keys, checked_key

SHORTEST_KEY = 8
REFUSED = (ErrorKind.AUTH, ErrorKind.PERMISSION, ErrorKind.NO_KEY)


async def check_key(program: Program, provider: ProviderFacts, text: str) -> KeyCheck:
    """List the provider's models with this key; nothing is saved."""
    checked_key(text)
    doubt = _shape_doubt(text)
    if doubt:
        return KeyCheck(works=False, message=doubt)
    if provider.discovery is None:
        return KeyCheck(works=True, message=f"Not checked: {provider.title} has no model list to request.")
    from tui.providers.backend import transport_maker
    from tui.providers.models.discovery import Discovery
    from tui.providers.models.lists import ListCache

    trial = Keys(
        program.paths.credentials_file, environ=program.environment, redactor=program.keys.redactor, use_keyring=False
    )
    trial.lend(provider, text)
    transport = transport_maker(limits=network_limits(program.layers), environ=program.environment)
    discovery = Discovery(trial, transport, ListCache(program.paths.cache), time.time)
    try:
        models, proven = await asyncio.wrap_future(program.engine.call(discovery.try_key(provider)))
    except ProviderError as error:
        if error.kind in REFUSED:
            return KeyCheck(works=False, message=f"{provider.title} refuses this key: {error.message}")
        return KeyCheck(works=False, message=f"The key could not be checked: {error.message}")
    if not proven:
        return KeyCheck(works=True, message=f"Not checked: {provider.title} shows its models without a key, too.")
    return KeyCheck(works=True, message=f"Works: {count(models, 'model')}.")


def _shape_doubt(text: str) -> str:
    """Why this is probably not a key; "" if it can be one."""
    if "://" in text:
        return "This is an address, not a key."
    if found := re.match(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=", text):
        return f"This begins with `{found[1]}=`: paste only what follows."
    if len(text) < SHORTEST_KEY:
        return f"This has {count(len(text), 'character')}: too short for a key."
    return ""
