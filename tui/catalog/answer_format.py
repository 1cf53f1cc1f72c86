"""How each wire is asked for an answer that fits a JSON Schema.

No server accepts all of JSON Schema. What a server enforces may be looser than the schema, because the answer is
checked afterwards; what it cannot take at all is asked for in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from tui.catalog.facts import Quirks
from tui.domain.messages import WireName
from tui.domain.request import AnswerFormat

Schema = Mapping[str, object]
NAME = "answer"
_STRICT_KEYWORDS = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"),
        *("definitions", "title", "description", "pattern", "format", "multipleOf", "minimum", "maximum"),
        *("exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
    }
)
"""What OpenAI's strict mode takes; it refuses a schema with anything else."""
_CLOSED_KEYWORDS = frozenset({"type", "required", "enum", "const", "$ref", "title", "description"})
"""What Claude takes with any value; other keywords are left out or changed."""
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_NOT_CLOSED = frozenset({"patternProperties", "propertyNames", "dependentSchemas", "if", "not", "prefixItems"})
"""Keywords that change which properties or items an answer has: without them it would be another schema."""


def answer_format(wire: WireName, schema: Schema, quirks: Quirks, *, with_tools: bool) -> AnswerFormat:
    """The fields that ask for the schema, and the words, where the server has no fields or may ignore them."""
    usable = quirks.answer_schema != "words" and (quirks.answer_schema_with_tools or not with_tools)
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    fields = _FIELDS[wire](plain) if usable else None
    enforced = fields is not None and quirks.answer_schema == "native"
    return AnswerFormat(fields=fields or {}, instruction=instruction(plain), in_words=not enforced)


def instruction(schema: Schema) -> str:
    """The words that ask for the schema."""
    as_json = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return (
        "Your final answer is read by a program. It must be one JSON value and nothing else: no explanation, no code "
        f"fence. It must be valid against this JSON Schema:\n{as_json}"
    )


def _chat(schema: Schema) -> Schema | None:
    if not _is_object(schema):
        return None
    described = {"name": NAME, "schema": schema, "strict": is_strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _responses(schema: Schema) -> Schema | None:
    if not _is_object(schema):
        return None
    return {"text": {"format": {"type": "json_schema", "name": NAME, "schema": schema, "strict": is_strict(schema)}}}


def _messages(schema: Schema) -> Schema | None:
    closed = closed_schema(schema)
    return {"output_config": {"format": {"type": "json_schema", "schema": closed}}} if closed is not None else None


def _gemini(schema: Schema) -> Schema:
    return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}


def _ollama(schema: Schema) -> Schema:
    return {"format": schema}


_FIELDS: Mapping[WireName, Callable[[Schema], Schema | None]] = {
    WireName.ANTHROPIC: _messages,
    WireName.OPENAI_CHAT: _chat,
    WireName.OPENAI_RESPONSES: _responses,
    WireName.GEMINI: _gemini,
    WireName.OLLAMA: _ollama,
}


def _is_object(schema: Schema) -> bool:
    return schema.get("type") == "object"


def is_strict(schema: Schema) -> bool:
    """Whether OpenAI's strict mode takes the schema: every object is closed and every property required."""
    return _is_object(schema) and all(_is_strict(part) for part in _parts(schema))


def _is_strict(part: object) -> bool:
    if not isinstance(part, Mapping) or not part.keys() <= _STRICT_KEYWORDS:
        return False
    properties = part.get("properties")
    if "object" not in _types(part) and not isinstance(properties, Mapping):
        return True
    names = set(properties) if isinstance(properties, Mapping) else set()
    required = part.get("required", [])
    return part.get("additionalProperties") is False and isinstance(required, list) and set(required) == names


def _types(part: Schema) -> list[object]:
    named = part.get("type")
    return named if isinstance(named, list) else [named]


def _parts(schema: object) -> Iterator[object]:
    """The schema and all schemas in it. Written without recursion: a file may nest deeply."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, Mapping):
            continue
        for keyword in ("properties", "$defs", "definitions"):
            inner = part.get(keyword)
            waiting += inner.values() if isinstance(inner, Mapping) else ()
        waiting += [part["items"]] if "items" in part else []
        for keyword in ("anyOf", "oneOf", "allOf"):
            inner = part.get(keyword)
            waiting += inner if isinstance(inner, list) else []


DEEPEST = 50


def closed_schema(schema: Schema) -> dict[str, object] | None:
    """The schema as Claude takes it: closed objects and no bounds. None if it would then be another schema."""
    if not _is_object(schema):
        return None
    try:
        closed = _closed(schema, 0)
        return None if _recurs(closed) else closed
    except (_NotExpressible, RecursionError):  # thousands of definitions that refer to each other
        return None


class _NotExpressible(Exception):
    """The schema cannot be written for this server."""


def _closed(part: object, depth: int) -> dict[str, object]:
    if not isinstance(part, Mapping) or depth > DEEPEST or not _NOT_CLOSED.isdisjoint(part):
        raise _NotExpressible
    reference = part.get("$ref", "#/")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise _NotExpressible
    closed = {keyword: value for keyword, value in part.items() if _is_taken(keyword, value)}
    if "object" in _types(part) or "properties" in part:
        closed |= _closed_object(part, depth)
    for keyword in ("$defs", "definitions"):
        if keyword in part:
            closed[keyword] = _closed_table(part[keyword], depth)
    if "items" in part:
        closed["items"] = _closed(part["items"], depth + 1)
    for keyword, theirs in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
        if keyword in part:
            closed[theirs] = _closed_variants(part[keyword], depth)
    return closed


def _is_taken(keyword: str, value: object) -> bool:
    """Whether Claude takes a keyword with this value as it is."""
    if keyword == "format":
        return isinstance(value, str) and value in _FORMATS
    return value in (0, 1) if keyword == "minItems" else keyword in _CLOSED_KEYWORDS


def _closed_object(part: Schema, depth: int) -> dict[str, object]:
    properties = part.get("properties")
    if not isinstance(properties, Mapping) or part.get("additionalProperties") not in (None, False):
        raise _NotExpressible  # an object with keys of the model's choice
    return {"properties": _closed_table(properties, depth), "additionalProperties": False}


def _closed_table(table: object, depth: int) -> dict[str, object]:
    if not isinstance(table, Mapping):
        raise _NotExpressible
    return {str(name): _closed(inner, depth + 1) for name, inner in table.items()}


def _closed_variants(variants: object, depth: int) -> list[dict[str, object]]:
    if not isinstance(variants, list):
        raise _NotExpressible
    return [_closed(variant, depth + 1) for variant in variants]


def _recurs(schema: Schema) -> bool:
    """Whether a definition contains a reference to itself, directly or through others."""
    definitions: dict[str, object] = {}
    for keyword in ("$defs", "definitions"):
        table = schema.get(keyword)
        for name, inner in table.items() if isinstance(table, Mapping) else ():
            definitions[f"#/{keyword}/{name}"] = inner
    seen: dict[str, bool] = {}

    def loops(reference: str) -> bool:
        if reference in seen:
            return seen[reference]
        seen[reference] = True  # met again while its definition is read
        found = any(loops(inner) for inner in _references(definitions.get(reference)))
        seen[reference] = found
        return found

    return "#/" in set(_references(schema)) or any(loops(reference) for reference in definitions)


def _references(schema: object) -> Iterator[str]:
    for part in _parts(schema):
        if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
            yield str(part["$ref"])
