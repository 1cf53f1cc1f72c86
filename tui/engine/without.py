"""A request without a parameter its provider named as unsupported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui.domain.request import ChatRequest

_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p"}
_OURS = frozenset(
    {
        *("stream_options", "store", "include", "prompt_cache_key", "options"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    }
)
"""Fields the wires add by themselves, and that a server may live without."""
THINKING_SENT_BACK = frozenset(
    {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "reasoning_opaque"}
)
"""Fields of messages of the history."""


def is_thinking_sent_back(name: str) -> bool:
    """Whether a refused field is one of an earlier message, not of the request: ``messages.1.reasoning_content``."""
    first, _, rest = name.replace("[", ".").partition(".")
    leaf = name.rpartition(".")[2]
    return leaf in THINKING_SENT_BACK and ((bool(rest) and first == "messages") or leaf == "reasoning_content")


def is_ours(name: str) -> bool:
    """Whether a refused field is one that the wires add by themselves: nothing the user sets brings it back."""
    return name.partition(".")[0] in _OURS


def without_parameter(request: ChatRequest, name: str) -> ChatRequest:
    """The same request if it never held that parameter, or cannot do without."""
    path = tuple(part for part in name.replace("[", ".").replace("]", "").split(".") if part)
    if not path:
        return request
    leaf = path[-1]
    if leaf in _SAMPLING:
        return replace(request, **{_SAMPLING[leaf]: None})  # type: ignore[arg-type]  # both are optional numbers
    if leaf in ("tools", "tool_choice"):
        return replace(request, tools=())
    fields = _cut(request.plan.fields, path)
    extra = _cut(request.extra_body, path)
    if fields == request.plan.fields and extra == request.extra_body:
        return replace(request, without=(*request.without, path[0])) if is_ours(name) else request
    return replace(request, plan=replace(request.plan, fields=fields), extra_body=extra)


def _cut(table: Mapping[str, object], path: tuple[str, ...]) -> Mapping[str, object]:
    """Without the value at the path; where the whole path is not there, without its last name wherever that stands."""
    exact = _cut_at(table, path)
    return exact if exact != table else _cut_everywhere(table, path[-1])


def _cut_at(table: Mapping[str, object], path: tuple[str, ...]) -> dict[str, object]:
    kept = dict(table)
    inner = kept.get(path[0])
    if len(path) == 1:
        kept.pop(path[0], None)
    elif isinstance(inner, Mapping):
        rest = _cut_at(inner, path[1:])
        if rest:
            kept[path[0]] = rest
        else:
            del kept[path[0]]
    return kept


def _cut_everywhere(table: Mapping[str, object], name: str) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, value in table.items():
        if key == name:
            continue
        inner = _cut_everywhere(value, name) if isinstance(value, Mapping) else value
        if inner != {} or value == {}:
            kept[key] = inner
    return kept
