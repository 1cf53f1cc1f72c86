"""Removes parameters that a provider refused from requests, and remembers them per provider and model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tui.domain.request import AnswerFormat, ChatRequest, with_instruction

_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p"}
_OURS = frozenset(
    {
        *("stream_options", "store", "include", "prompt_cache_key", "prompt_cache_options", "cache_control", "options"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    }
)
"""Fields the wires add by themselves; a server may not support them."""
MARK = "cache_control"
"""A field that parts of messages and tools have, so servers name it by a path."""
THINKING_SENT_BACK = frozenset(
    {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "reasoning_opaque"}
)
"""Fields of earlier messages that contain thinking."""
THINKING = "thinking sent back"
"""Used among parameter names for all thinking of earlier turns."""
ANSWERS_WITHOUT_THINKING = "answers without thinking"
"""Used among parameter names for earlier answers without thinking."""
FOR_NOW = frozenset({"tools", "tool_choice", "stream", ANSWERS_WITHOUT_THINKING})
"""Names a server may accept after its next start: forgotten when the session ends."""
_ANSWER_FORMAT = frozenset({"response_format", "format", "responseJsonSchema", "responseMimeType", "json_schema"})
"""In names of fields for the form of an answer. Another schema may be accepted, so these are forgotten, too."""

REFUSED_FILE = "refused.json"
"""File in the cache folder that stores what was learned."""

Endpoint = tuple[str, str, str]
"""Provider, base URL, model."""
Refused = Mapping[str, str]
"""Name → the thinking setting it was refused with; "" if it is refused with any."""


class RefusedParameters:
    """Parameters that servers refused, by endpoint: omitted from the first request on."""

    def __init__(
        self,
        read: Callable[[], Mapping[Endpoint, Refused]] = dict,
        keep: Callable[[Endpoint, Refused], None] = lambda endpoint, refused: None,
    ) -> None:
        """``read`` returns what earlier sessions learned, ``keep`` stores what later ones need for an endpoint."""
        self._read = read
        self._keep = keep
        self._known: dict[Endpoint, dict[str, str]] | None = None

    def refused(self, endpoint: Endpoint, request_settings: str) -> tuple[str, ...]:
        """Names to omit there; a thinking parameter may be refused only with certain ``request_settings``."""
        return tuple(name for name, when in self._at(endpoint).items() if when in ("", request_settings))

    def learn(self, endpoint: Endpoint, request_settings: str, names: tuple[str, ...]) -> None:
        """Record that the server accepted a request only without these parameters."""
        refused = self._at(endpoint)
        fresh = {
            name: _scope(name, request_settings)
            for name in names
            if refused.get(name) != _scope(name, request_settings)
        }
        if not fresh:
            return
        refused.update(fresh)
        if not all(map(_is_for_now, fresh)):
            self._keep(endpoint, {name: when for name, when in refused.items() if not _is_for_now(name)})

    def _at(self, endpoint: Endpoint) -> dict[str, str]:
        if self._known is None:
            self._known = {known: dict(refused) for known, refused in self._read().items()}
        return self._known.setdefault(endpoint, {})


def _is_for_now(name: str) -> bool:
    return name in FOR_NOW or not _ANSWER_FORMAT.isdisjoint(_path(name))


def _scope(name: str, request_settings: str) -> str:
    """A thinking parameter may be refused for its value only, so another level may be accepted."""
    return "" if name == THINKING or name in FOR_NOW or is_ours(name) else request_settings


def is_thinking_sent_back(name: str) -> bool:
    """Whether a refused field belongs to an earlier message, not to the request: ``messages.1.reasoning_content``."""
    first, _, rest = name.replace("[", ".").partition(".")
    leaf = name.rpartition(".")[2]
    return leaf in THINKING_SENT_BACK and ((bool(rest) and first == "messages") or leaf == "reasoning_content")


def is_ours(name: str) -> bool:
    """Whether the wires add a refused field by themselves: no setting of the user brings it back."""
    return field_of(name) in _OURS


def field_of(name: str) -> str:
    """The field to omit for a refused name: ``cache_control`` for ``messages.0.content.0.cache_control.ttl``."""
    path = _path(name)
    return MARK if MARK in path else next(iter(path), "")


def _path(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.replace("[", ".").replace("]", "").split(".") if part)


def without_parameter(request: ChatRequest, name: str) -> ChatRequest:
    """The request without the parameter; the same request if it has none or cannot omit it."""
    path = _path(name)
    if not path:
        return request
    leaf = path[-1]
    if leaf in _SAMPLING:
        return replace(request, **{_SAMPLING[leaf]: None})  # type: ignore[arg-type]  # both are optional numbers
    if leaf in ("tools", "tool_choice"):
        return replace(request, tools=(), server_tools=())
    if leaf == "stream":
        return replace(request, stream=False)
    fields = _cut(request.plan.fields, path)
    extra = _cut(request.extra_body, path)
    if request.answer_format is not None and _cut(request.answer_format.fields, path) != request.answer_format.fields:
        request = _asking_in_words(request, request.answer_format)
    elif fields == request.plan.fields and extra == request.extra_body:
        return replace(request, without=(*request.without, field_of(name))) if is_ours(name) else request
    return replace(request, plan=replace(request.plan, fields=fields), extra_body=extra)


def _asking_in_words(request: ChatRequest, form: AnswerFormat) -> ChatRequest:
    """The request without fields for the form of the answer."""
    system = request.system if form.in_words else with_instruction(request.system, form.instruction)
    return replace(request, system=system, answer_format=replace(form, fields={}, in_words=True))


def _cut(table: Mapping[str, object], path: tuple[str, ...]) -> Mapping[str, object]:
    """Remove the value at the path; if the path does not exist, remove its last name wherever it occurs."""
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
