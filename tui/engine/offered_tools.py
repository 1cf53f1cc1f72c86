"""The tools of a request: the functions of this program, and those that the provider runs itself."""

from __future__ import annotations

from tui.catalog.facts import Target
from tui.domain.fast_dataclass import dataclass
from tui.domain.request import ServerTool, ToolSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTools:
    """What a model is offered."""

    functions: tuple[ToolSchema, ...]
    server_tools: tuple[ServerTool, ...] = ()
    warnings: tuple[str, ...] = ()


def offered_tools(target: Target, functions: tuple[ToolSchema, ...], *, web_search: bool) -> OfferedTools:
    """Return what a request to this model offers; ``web_search`` says whether the user has switched the search on."""
    functions = functions if target.facts.tools else ()
    if not web_search:
        return OfferedTools(functions=functions)
    from tui.catalog.web_search import search_method  # only for those who switched it on

    method = search_method(target.provider, target.facts)
    if method is None:
        sentence = f"{target.facts.id} has no web search of its own: it answers without one."
        return OfferedTools(functions=functions, warnings=(sentence,))
    warnings: tuple[str, ...] = ()
    if method.alone and functions:
        warnings = (f"{target.facts.id} searches the web only without other tools: they are not sent.",)
        functions = ()
    search = method.server_tool(with_functions=bool(functions))
    return OfferedTools(functions=functions, server_tools=(search,), warnings=warnings)
