"""Check an API key before it is saved, and advise what to do if a key is missing or refused.

Not part of the modules that import it, because most runs need neither.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator

from tui.app.engine_settings import network_limits
from tui.app.program import Program
from tui.catalog.facts import AuthStyle, ProviderFacts, Target
from tui.domain.errors import NO_LOGIN, ErrorKind, PonderError, ProviderError
from tui.domain.format_numbers import count
from tui.domain.listing import KeyCheck
from tui.providers.keys import Keys, checked_key
from tui.wires.errors.classify import SET_A_KEY

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
    from tui.providers.model_discovery import Discovery
    from tui.providers.model_lists import ListCache

    trial = Keys(
        program.paths.credentials_file, environ=program.environment, redactor=program.keys.redactor, use_keyring=False
    )
    trial.use_unsaved(provider, text)
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


def key_choices(program: Program, target: Target, error: ProviderError, *, on_screen: bool) -> str:
    """The advice for this error. Call it in a thread: searching for other keys can be slow."""
    provider = target.provider
    how = f"`/key {provider.id}`" if on_screen else f"`ponder auth set {provider.id}`"
    first = error.advice.replace(SET_A_KEY, how)
    if error.kind is ErrorKind.NO_KEY and error.code != NO_LOGIN and on_screen:
        variable = f", or put it into `{provider.key_env[0]}`" if provider.key_env else ""
        made = f" Create a key at {provider.key_url}." if provider.key_url else ""
        first = f"Set it with {how}{variable}.{made}"
    return " ".join(filter(None, (first, _other_providers(program, target, on_screen=on_screen))))


def _other_providers(program: Program, target: Target, *, on_screen: bool) -> str:
    command = "/model" if on_screen else "-m"
    alternatives = list(_elsewhere(program, target))
    if not alternatives:
        return f"Or choose another model: `{command}`." if on_screen else "Or choose another model: `ponder models`."
    name, title, can_disable = alternatives[0]
    silent = f", or with thinking off: `{command} {name}/none`" if can_disable else ""
    return f"Or ask through {title}, whose key was found: `{command} {name}`{silent}."


def _elsewhere(program: Program, target: Target) -> Iterator[tuple[str, str, bool]]:
    """The same model at providers with a key: (name, provider's title, whether thinking can be off)."""
    catalog, model = program.catalog, target.facts.id.rpartition("/")[2]
    slugs = [file.vendors[0] for file in catalog.makers() if file.name == target.provider.id]
    for provider in catalog.providers().values():
        if provider.id == target.provider.id or provider.auth is AuthStyle.NONE or not _has_key(program, provider.id):
            continue
        listed = [facts for facts in catalog.models(provider.id) if facts.id.rpartition("/")[2] == model]
        guesses = [catalog.find(provider.id, f"{slug}/{model}") for slug in slugs if provider.resells]
        for facts in (*listed, *(guess for guess in guesses if guess.known)):
            yield f"{provider.id}/{facts.id}", provider.title, facts.controls.can_disable


def _has_key(program: Program, provider: str) -> bool:
    try:
        return bool(program.keys.source(program.catalog.provider(provider)))
    except PonderError:
        return False
