"""What the real Responses API refuses in a request, as far as the body alone shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

TOP_LEVEL = frozenset(
    {
        "background",
        "context_management",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
LONGEST = 64
KEYS = {
    "message": {"type", "id", "role", "status", "phase", "content"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status", "format"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller", "async"},
    "function_call_output": {"type", "id", "call_id", "output", "status"},
}


def problems(
    body: dict[str, Any],
    *,
    efforts: Collection[str] = EFFORTS,
    thinks: bool = True,
    led_by: Mapping[str, str] | None = None,
) -> list[str]:
    """One sentence per fault, in the API's words where they are known; nothing for a body it would take.

    ``efforts`` are those the model knows, ``thinks`` is false for one that takes no ``reasoning``; ``led_by`` is what
    only the server knows: which reasoning item led to the item of an id.
    """
    items = body.get("input")
    found = [f"Unknown parameter: '{key}'." for key in body if key not in TOP_LEVEL]
    found += _settings(body, efforts, thinks=thinks)
    if not isinstance(items, list) or not items:
        return [*found, "One of 'input' must be provided."]
    typed = [item for item in items if isinstance(item, dict)]
    if len(typed) != len(items):
        found.append("input: an item is not an object")
    for place, item in enumerate(typed):
        found += [f"input[{place}]: {fault}" for fault in _item(item)]
    return found + _reasoning_pairs(typed, led_by or {}) + _call_pairs(typed) + _doubles(typed)


def _settings(body: dict[str, Any], efforts: Collection[str], *, thinks: bool) -> list[str]:
    found = []
    reasoning = body.get("reasoning")
    options = reasoning if isinstance(reasoning, dict) else {}
    effort = options.get("effort")
    if reasoning is not None and not thinks:
        found.append("Unsupported parameter: 'reasoning' is not supported with this model.")
    if effort is not None and effort not in efforts:
        found.append(f"Unsupported value: 'reasoning.effort' does not support '{effort}' with this model.")
    if effort == "none" and options.get("summary") is not None:
        found.append("Unsupported value: 'reasoning.summary' has no meaning with effort 'none'.")
    if thinks and effort != "none":
        sampling = [name for name in ("temperature", "top_p", "top_logprobs") if name in body]
        found += [f"Unsupported parameter: '{name}' is not supported with this model." for name in sampling]
    most = body.get("max_output_tokens")
    if most is not None and (not isinstance(most, int) or most < 16):
        found.append("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.")
    caching = body.get("prompt_cache_options", {})
    if caching.get("mode", "implicit") not in ("implicit", "explicit") or caching.get("ttl", "30m") != "30m":
        found.append("Invalid value: 'prompt_cache_options'.")
    functions = [tool for tool in body.get("tools", []) if tool.get("type") == "function"]
    if not all(tool.get("name") and isinstance(tool.get("parameters"), dict) for tool in functions):
        found.append("Missing required parameter: 'tools[].name'.")
    return found


def _item(item: dict[str, Any]) -> list[str]:
    kind = item.get("type", "message")
    identity = item.get("id") if kind in KEYS else None
    found = []
    if identity is not None and (not isinstance(identity, str) or not 0 < len(identity) <= LONGEST):
        found.append(f"Invalid 'id': string too long. Expected a string with maximum length {LONGEST}.")
    if kind in KEYS:
        found += [f"Unknown parameter: '{key}'." for key in item if key not in KEYS[kind]]
    check = CHECKS.get(kind)
    return found + (check(item) if check else [])


def _message(item: dict[str, Any]) -> list[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        return [f"Invalid value for role: {role!r}"]
    if not content:
        return ["content is empty"]
    if isinstance(content, str):
        return []
    own = {"output_text", "refusal"}
    wanted = own if role == "assistant" else {"input_text", "input_image", "input_file"}
    found = [f"Invalid value: '{part.get('type')}'" for part in content if part.get("type") not in wanted]
    if role == "assistant" and not (item.get("id") and item.get("status")):
        found.append("Missing required parameter: 'id'.")
    for part in content:
        if part.get("type") == "output_text" and "annotations" not in part:
            found.append("Missing required parameter: 'annotations'.")
        if part.get("type") == "input_text" and not part.get("text"):
            found.append("text is empty")
        if part.get("type") == "input_image" and not str(part.get("image_url", "")).startswith(("data:", "http")):
            found.append("Invalid 'image_url'.")
    return found


def _reasoning(item: dict[str, Any]) -> list[str]:
    found = [] if isinstance(item.get("summary"), list) else ["Missing required parameter: 'summary'."]
    if item.get("status", 1) is None or item.get("encrypted_content", 1) is None:
        found.append("Invalid type: expected a string, got null")
    return found


def _call(item: dict[str, Any]) -> list[str]:
    found = [f"Missing required parameter: '{key}'." for key in ("call_id", "name") if not item.get(key)]
    try:
        whole = isinstance(json.loads(item.get("arguments", "")), dict)
    except (ValueError, TypeError):
        whole = False
    return found if whole else [*found, "arguments are no JSON object"]


def _result(item: dict[str, Any]) -> list[str]:
    output = item.get("output")
    if not item.get("call_id"):
        return ["Missing required parameter: 'call_id'."]
    return (
        []
        if isinstance(output, str) or (isinstance(output, list) and output)
        else ["output is neither text nor a list"]
    )


CHECKS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "function_call_output": _result,
}


def _reasoning_pairs(items: list[dict[str, Any]], led_by: Mapping[str, str]) -> list[str]:
    """A reasoning item goes directly before what it led to; what it led to does not go under its id without it."""
    found = []
    sent: set[object] = set()
    for item, follower in zip(items, [*items[1:], {"role": "user"}], strict=True):
        identity = str(item.get("id"))
        if item.get("type") == "reasoning":
            sent.add(identity)
            if (
                follower.get("role") in ("user", "system", "developer")
                or follower.get("type") == "function_call_output"
            ):
                found.append(f"Item '{identity}' of type 'reasoning' was provided without its required following item.")
        elif identity in led_by and led_by[identity] not in sent:
            found.append(
                f"Item '{identity}' of type '{item.get('type')}' was provided without its required 'reasoning' item: "
                f"'{led_by[identity]}'."
            )
    return found


def _call_pairs(items: list[dict[str, Any]]) -> list[str]:
    calls = [item.get("call_id") for item in items if item.get("type") == "function_call"]
    answered: set[object] = set()
    found = []
    for item in items:
        if item.get("type") == "function_call_output":
            if item.get("call_id") not in calls:
                found.append(f"No tool call found for function call output with call_id {item.get('call_id')}.")
            answered.add(item.get("call_id"))
    found += [f"No tool output found for function call {call}." for call in calls if call not in answered]
    return found


def _doubles(items: list[dict[str, Any]]) -> list[str]:
    found = []
    for what, ids in (
        ("item", [item["id"] for item in items if item.get("id")]),
        ("call", [item.get("call_id") for item in items if item.get("type") == "function_call"]),
        ("output", [item.get("call_id") for item in items if item.get("type") == "function_call_output"]),
    ):
        found += [f"Duplicate {what} found with id {one}." for one in dict.fromkeys(ids) if ids.count(one) > 1]
    return found
