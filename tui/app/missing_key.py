"""Advice for a missing or refused key: how to set it, and other providers to use. Nothing switches automatically."""

from __future__ import annotations

from collections.abc import Iterator

from tui.app.program import Program
from tui.catalog.facts import AuthStyle, Target
from tui.domain.errors import ErrorKind, PonderError, ProviderError
from tui.wires.errors.classify import SET_A_KEY


def key_choices(program: Program, target: Target, error: ProviderError, *, on_screen: bool) -> str:
    """The advice for this error. Call it in a thread: searching for other keys can be slow."""
    provider = target.provider
    how = f"`/key {provider.id}`" if on_screen else f"`ponder auth set {provider.id}`"
    first = error.advice.replace(SET_A_KEY, how)
    if error.kind is ErrorKind.NO_KEY and on_screen:
        variable = f", or put it into `{provider.key_env[0]}`" if provider.key_env else ""
        made = f" Create a key at {provider.key_url}." if provider.key_url else ""
        first = f"Set it with {how}{variable}.{made}"
    return " ".join(filter(None, (first, _other_ways(program, target, on_screen=on_screen))))


def _other_ways(program: Program, target: Target, *, on_screen: bool) -> str:
    command = "/model" if on_screen else "-m"
    ways = list(_elsewhere(program, target))
    if not ways:
        return f"Or choose another model: `{command}`." if on_screen else "Or choose another model: `ponder models`."
    name, title, can_disable = ways[0]
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
        return program.keys.find(program.catalog.provider(provider)) is not None
    except PonderError:
        return False
