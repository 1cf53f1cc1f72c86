"""Generates the table of providers in ``docs/providers.md``."""

from __future__ import annotations

from tui.catalog.catalog import Catalog
from tui.catalog.facts import AuthStyle, ProviderFacts

BEGIN, END = "<!-- providers: begin -->", "<!-- providers: end -->"


def provider_table(catalog: Catalog) -> str:
    """Return a Markdown table of all providers."""
    lines = ["| provider | what it is | wire | key | address |", "|---|---|---|---|---|"]
    lines += [_line(provider) for provider in catalog.providers().values()]
    return "\n".join(lines)


def with_table(page: str, catalog: Catalog) -> str:
    """Return the page with the table between its marks replaced."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{provider_table(catalog)}\n{END}{tail}"


def _line(provider: ProviderFacts) -> str:
    key = " or ".join(f"`{name}`" for name in provider.key_env)
    if provider.cloud is not None:
        key = f"{key}, or the [login](clouds.md)" if key else "the [login](clouds.md)"
    elif provider.auth is AuthStyle.NONE or not key:
        key = "none"
    elif provider.key_optional:
        key += " if the server asks"
    address = "inside the program" if provider.base_url.endswith(".invalid") else provider.base_url
    address = f"`{address}`" if "{" in address else address
    if provider.starts_models:
        address = "chosen when ponder starts the model"
    return f"| `{provider.id}` | {provider.title} | {provider.wire} | {key} | {address} |"
