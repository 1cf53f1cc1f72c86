"""What local model servers report beyond their lists: windows, thinking, tools and images.

llama.cpp tells it at ``/props``, LM Studio at ``/api/v1/models`` or in older versions at ``/api/v0/models``, Ollama at
``/api/show`` and ``/api/ps``. vLLM tells the window in its list, and nothing else anywhere.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from tui.domain.errors import ProviderError
from tui.providers.local.chat_template import template_facts
from tui.providers.model_lists import Row, Rows, checked_row, fit_id, ollama_row, rows_from
from tui.wires.json_text import child, children, text, whole

Get = Callable[[str, Mapping[str, object] | None], Awaitable[object]]
"""Requests a path of the server, with a body by POST. Raises ValueError, OSError or ProviderError."""

MOST_SHOWN = 32
"""Models that are asked about one by one."""
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


async def with_details(kind: str, rows: Rows, get: Get, *, sends_window: bool = True) -> Rows:
    """Return the rows of a server's list with what it tells at other paths.

    ``kind`` is the provider's ``discovery``. ``sends_window``: requests set the window, so the one of a model that is
    loaded does not count.
    """
    if kind == "ollama":
        return await _of_ollama(rows, get, sends_window=sends_window)
    if kind != "openai":
        return rows
    newer, older, props = await asyncio.gather(
        _asked(get, "/api/v1/models"), _asked(get, "/api/v0/models"), _props(rows, get)
    )
    detailed = {**_lm_studio_rows(older, newer)}
    for model, told in props.items():
        detailed[model] = {**detailed.get(model, {}), **told}
    hidden = _not_for_chat(older, newer)
    return {model: {**row, **detailed.get(model, {})} for model, row in rows.items() if model not in hidden}


async def _asked(get: Get, path: str, body: Mapping[str, object] | None = None) -> object:
    """The answer, or None: most servers do not know most of these paths."""
    try:
        return await get(path, body)
    except (ValueError, OSError, ProviderError):
        return None


async def _props(rows: Rows, get: Get) -> Rows:
    """The rows of llama.cpp's ``/props``. A server of several models is asked about each, without loading any."""
    models = list(rows)[:MOST_SHOWN]
    if len(models) == 1:
        return {models[0]: props_row(await _asked(get, "/props"))}
    if await _asked(get, "/props") is None:  # it is not llama.cpp
        return {}
    paths = (f"/props?model={quote(model, safe='')}&autoload=false" for model in models)
    answers = await asyncio.gather(*(_asked(get, path) for path in paths))
    return {model: props_row(answer) for model, answer in zip(models, answers, strict=True)}


def props_row(props: object) -> Row:
    """Return the row of a model from llama.cpp's ``/props``; the window is that of one conversation."""
    row: Row = {"context_window": whole(props, "default_generation_settings", "n_ctx") or None}
    modalities, abilities = child(props, "modalities"), child(props, "chat_template_caps")
    if "vision" in modalities:
        row["inputs"] = ["text", "image"] if modalities["vision"] is True else ["text"]
    if template := text(props, "chat_template"):
        said = template_facts(template)
        row |= {"thinks": said.thinks, "tools": said.tools}
        if said.thinks:
            row["can_disable"] = bool(said.switch)
        if said.thinks and abilities.get("supports_reasoning_effort", said.efforts) is True:
            row["efforts"] = ["low", "medium", "high"]
    if "supports_tools" in abilities:
        row["tools"] = abilities["supports_tools"] is True
    return checked_row(row)


def _lm_studio_rows(older: object, newer: object) -> Rows:
    found = rows_from("openai", older) if older is not None else {}
    for item in children(older, "data"):
        row = found.get(text(item, "id"))
        if row is None:
            continue
        if isinstance(abilities := item.get("capabilities"), list):
            row["tools"] = "tool_use" in abilities
        if text(item, "type") in ("llm", "vlm"):
            row["inputs"] = ["text", "image"] if text(item, "type") == "vlm" else ["text"]
    for item in children(newer, "models"):
        row = _newer_row(item)
        for id_ in _ids(item):
            found[id_] = {**found.get(id_, {}), **row}
    return found


def _ids(item: Mapping[str, object]) -> list[str]:
    """The names of a model at LM Studio: its own, and those under which it is loaded."""
    names = [text(item, "key"), *(text(instance, "id") for instance in children(item, "loaded_instances"))]
    return [name for name in dict.fromkeys(names) if fit_id(name)]


def _newer_row(item: Mapping[str, object]) -> Row:
    loaded = [whole(instance, "config", "context_length") for instance in children(item, "loaded_instances")]
    abilities = child(item, "capabilities")
    row: Row = {"context_window": next(filter(None, loaded), None) or whole(item, "max_context_length")}
    if "vision" in abilities:
        row["inputs"] = ["text", "image"] if abilities["vision"] is True else ["text"]
    if "trained_for_tool_use" in abilities:
        row["tools"] = abilities["trained_for_tool_use"] is True
    thinking = abilities.get("reasoning")
    if thinking is False:
        row["thinks"] = False
    elif isinstance(thinking, dict) and isinstance(options := thinking.get("allowed_options"), list):
        row |= {"thinks": True, "can_disable": "off" in options or "none" in options}
        if efforts := [word for word in _EFFORTS if word in options]:
            row["efforts"] = efforts
    return checked_row(row)


def _not_for_chat(older: object, newer: object) -> set[str]:
    """Models for embeddings, which LM Studio lists with the others."""
    found = {text(item, "id") for item in children(older, "data") if text(item, "type") == "embeddings"}
    for item in children(newer, "models"):
        if text(item, "type") == "embedding":
            found.update(_ids(item))
    return found


async def _of_ollama(rows: Rows, get: Get, *, sends_window: bool) -> Rows:
    models = list(rows)[:MOST_SHOWN]
    shown = await asyncio.gather(*(_asked(get, "/api/show", {"model": model}) for model in models))
    found = {model: _shown_row(answer) for model, answer in zip(models, shown, strict=True)}
    if not sends_window:
        for item in children(await _asked(get, "/api/ps"), "models"):
            name, window = text(item, "name"), whole(item, "context_length")
            if name in found and window:
                found[name]["context_window"] = window
    return rows | found


def _shown_row(shown: object) -> Row:
    """The row of ``/api/show``; ``num_ctx`` of the model's own parameters limits its window."""
    row = ollama_row(shown)
    if row.get("thinks") is True and re.search(r"\.Think\b", text(shown, "template")):
        row["can_disable"] = True
    largest = row.get("context_window")
    chosen = re.search(r"^num_ctx\s+(\d{1,9})\s*$", text(shown, "parameters"), re.MULTILINE)
    if chosen and int(chosen[1]):
        row["context_window"] = min(int(chosen[1]), largest) if isinstance(largest, int) else int(chosen[1])
    return row
