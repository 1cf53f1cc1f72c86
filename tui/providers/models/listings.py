"""Converts the providers' model lists into catalogue rows. Invalid values are omitted, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui.catalog.catalog import tokenizer_of_vocabulary
from tui.catalog.model_rows import check_row
from tui.domain.errors import ConfigError
from tui.wires.json_text import child, children, number, text, whole

Row = dict[str, object]
Rows = dict[str, Row]
Json = Mapping[str, object]

MOST_MODELS = 5_000
LONGEST_ID = 200
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LIFECYCLE = {"active": "current", "deprecated": "retiring", "retiring": "retiring", "retired": "retired"}


def rows_from(kind: str, body: object) -> Rows:
    """Return the rows of a list in the given shape (a provider's ``discovery`` value)."""
    read = READERS[kind]
    rows: Rows = {}
    for item in _items(body):
        id_, row = read(item)
        if len(rows) < MOST_MODELS and fit_id(id_):
            rows[id_] = checked(row)
    return rows


def checked(row: Row) -> Row:
    """Return the row without values that the catalogue would reject."""
    kept: Row = {}
    for key, value in row.items():
        if value is None or key == "recommended":  # settings are the user's, and no list has them
            continue
        try:
            check_row({key: value}, key, "list")
        except ConfigError:
            continue
        kept[key] = value
    return kept


def fit_id(id_: str) -> bool:
    """Whether the string is a possible model id."""
    return 0 < len(id_) <= LONGEST_ID and id_.isprintable() and not any(letter.isspace() for letter in id_)


def _items(body: object) -> tuple[Json, ...]:
    if isinstance(body, list):
        return tuple(item for item in body if isinstance(item, dict))
    return (*children(body, "data"),) or (*children(body, "models"),)


def _anthropic(item: Json) -> tuple[str, Row]:
    abilities = child(item, "capabilities")
    types = child(abilities, "thinking", "types")
    row: Row = {
        "context_window": whole(item, "max_input_tokens"),
        "max_output": whole(item, "max_tokens"),
        "lifecycle": _LIFECYCLE.get(text(item, "lifecycle")),
        "retires": text(item, "retires_at")[:10] or None,
        "inputs": ["text", "image"] if _supported(abilities, "image_input") else None,
    }
    if types:
        row["can_disable"] = _supported(types, "disabled") or _supported(types, "between_tools")
        if _supported(types, "enabled") and not _supported(types, "adaptive"):
            row["spelling"] = "anthropic-budget"
    elif child(abilities, "thinking").get("supported") is False:
        row["thinks"] = False
    if effort := child(abilities, "effort"):
        row["efforts"] = [word for word in _EFFORTS if _supported(effort, word)]
    return text(item, "id"), row


def _supported(table: Json, name: str) -> bool:
    return child(table, name).get("supported") is True


def _openrouter(item: Json) -> tuple[str, Row]:
    reasoning, prices = child(item, "reasoning"), child(item, "pricing")
    parameters = item.get("supported_parameters")
    inputs = child(item, "architecture").get("input_modalities")
    row: Row = {
        "context_window": whole(item, "context_length"),
        "max_output": whole(item, "top_provider", "max_completion_tokens"),
        "tools": "tools" in parameters if isinstance(parameters, list) else None,
        "inputs": [word for word in ("text", "image") if word in inputs] if isinstance(inputs, list) else None,
        "price": _per_million(prices.get("prompt"), prices.get("completion"), prices.get("input_cache_read")),
    }
    if reasoning:
        row["can_disable"] = reasoning.get("mandatory") is not True
        efforts = reasoning.get("supported_efforts")
        if isinstance(efforts, list):
            row["efforts"] = [word for word in _EFFORTS if word in efforts and word != "none"]
    elif isinstance(parameters, list) and "reasoning" not in parameters:
        row["thinks"] = False
    return text(item, "id"), row


def _per_million(*dollars: object) -> list[float] | None:
    """Convert prices per token, often strings, into prices per million; None if one is invalid."""
    prices = []
    for price in dollars:
        try:
            prices.append(round(float(price) * 1e6, 6) if isinstance(price, str | float | int) else -1.0)
        except ValueError:
            prices.append(-1.0)
    if len(prices) > 2 and prices[2] < 0:
        prices = prices[:2]
    return prices if all(0 <= price < 1e6 for price in prices) else None


def _gemini(item: Json) -> tuple[str, Row]:
    row: Row = {
        "context_window": whole(item, "inputTokenLimit"),
        "max_output": whole(item, "outputTokenLimit"),
        "thinks": False if item.get("thinking") is False else None,
    }
    methods = item.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return "", row
    return text(item, "name").removeprefix("models/"), row


def _openai(item: Json) -> tuple[str, Row]:
    """Read an item: OpenAI sends the id only; llama.cpp, vLLM, Groq and others add the context window."""
    window = (
        whole(item, "meta", "n_ctx")
        or whole(item, "loaded_context_length")
        or whole(item, "max_model_len")
        or whole(item, "context_window")
        or whole(item, "context_length")
        or whole(item, "max_context_length")
    )
    tokenizer = tokenizer_of_vocabulary(whole(item, "meta", "n_vocab")) or None
    row: Row = {"context_window": window, "max_output": whole(item, "max_completion_tokens"), "tokenizer": tokenizer}
    return text(item, "id"), row


def props_window(props: object) -> int | None:
    """Return the context window of one conversation from llama.cpp's ``/props``."""
    return whole(props, "default_generation_settings", "n_ctx") or None


def _ollama(item: Json) -> tuple[str, Row]:
    return text(item, "name") or text(item, "model"), {}


def ollama_row(shown: object) -> Row:
    """Return the row of one model from Ollama's ``/api/show``."""
    abilities = shown.get("capabilities") if isinstance(shown, dict) else None
    info = child(shown, "model_info")
    windows = [whole(info, name) for name in info if name.endswith(".context_length")]
    row: Row = {"context_window": windows[0] if windows else None}
    if isinstance(abilities, list):
        row["thinks"] = "thinking" in abilities
        row["tools"] = "tools" in abilities
        row["inputs"] = ["text", "image"] if "vision" in abilities else ["text"]
    return checked(row)


READERS: Mapping[str, Callable[[Json], tuple[str, Row]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "openrouter": _openrouter,
    "gemini": _gemini,
    "ollama": _ollama,
}
"""Readers by a provider's ``discovery`` value."""

MODELS_DEV_NAMES = {"moonshotai": "moonshot", "alibaba": "alibaba", "z-ai": "zai"}
"""Provider ids of models.dev that differ from ours, and ours."""


def models_dev_rows(body: object, providers: frozenset[str]) -> dict[str, Rows]:
    """Return the rows of the models.dev catalogue for these providers."""
    found: dict[str, Rows] = {}
    for name in body if isinstance(body, dict) else ():
        ours = MODELS_DEV_NAMES.get(name, name)
        if ours not in providers:
            continue
        models = child(body, name, "models")
        rows = {id_: checked(_models_dev(child(models, id_))) for id_ in list(models)[:MOST_MODELS] if fit_id(id_)}
        if rows:
            found[ours] = rows
    return found


def _models_dev(item: Json) -> Row:
    inputs = child(item, "modalities").get("input")
    cost = [number(item, "cost", name) for name in ("input", "output", "cache_read", "cache_write")]
    while cost and cost[-1] is None:
        cost.pop()
    return {
        "context_window": whole(item, "limit", "context") or None,
        "max_output": whole(item, "limit", "output") or None,
        "inputs": [word for word in ("text", "image") if word in inputs] if isinstance(inputs, list) else None,
        "tools": item.get("tool_call"),
        "thinks": False if item.get("reasoning") is False else None,
        "price": cost if len(cost) >= 2 and None not in cost else None,
    }
