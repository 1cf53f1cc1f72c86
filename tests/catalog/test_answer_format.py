"""A JSON Schema for the answer, as each wire asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tui.catalog.answer_format import answer_format, closed_schema, instruction, is_strict
from tui.catalog.facts import Quirks
from tui.domain.messages import WireName
from tui.domain.request import AnswerFormat

STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": ["integer", "null"]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
LOOSE: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 3}}}
LIST: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def _fields(wire: WireName, schema: Mapping[str, object], quirks: Quirks | None = None) -> Mapping[str, object]:
    made = answer_format(wire, schema, quirks or Quirks(), with_tools=False)
    assert made.in_words == (not made.fields)
    return made.fields


def test_each_wire_has_its_own_fields() -> None:
    chat = {"type": "json_schema", "json_schema": {"name": "answer", "schema": STRICT, "strict": True}}
    responses = {"type": "json_schema", "name": "answer", "schema": STRICT, "strict": True}
    gemini = {"responseMimeType": "application/json", "responseJsonSchema": STRICT}
    assert {wire: _fields(wire, {"$schema": "x", **STRICT}) for wire in WireName} == {
        WireName.ANTHROPIC: {"output_config": {"format": {"type": "json_schema", "schema": STRICT}}},
        WireName.OPENAI_CHAT: {"response_format": chat},
        WireName.OPENAI_RESPONSES: {"text": {"format": responses}},
        WireName.GEMINI: {"generationConfig": gemini},
        WireName.OLLAMA: {"format": STRICT},
    }


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        (LOOSE, False),
        (LIST, False),
        ({**STRICT, "required": ["name"]}, False),
        ({**STRICT, "properties": {**STRICT["properties"], "name": LOOSE}}, False),
        ({**STRICT, "oneOf": []}, False),
        ({**STRICT, "$defs": {"a": STRICT}}, True),
        ({**STRICT, "$defs": {"a": {"type": "array", "uniqueItems": True}}}, False),
    ],
)
def test_strict_is_asked_only_for_what_the_strict_mode_takes(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict


def test_a_list_is_asked_for_in_words_where_only_objects_are_possible() -> None:
    asked = {wire: bool(_fields(wire, LIST)) for wire in WireName}
    assert asked == {wire: wire in (WireName.GEMINI, WireName.OLLAMA) for wire in WireName}


def test_claude_gets_closed_objects_without_bounds() -> None:
    schema = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 3, "description": "in years"},
            "kind": {"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]},
            "mail": {"type": "string", "format": "email", "maxLength": 9},
            "tags": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/tag"}},
        },
        "$defs": {"tag": {"type": "object", "properties": {}, "format": "odd"}},
    }
    assert closed_schema(schema) == {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "description": "in years"},
            "kind": {"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]},
            "mail": {"type": "string", "format": "email"},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        },
        "additionalProperties": False,
        "$defs": {"tag": {"type": "object", "properties": {}, "additionalProperties": False}},
    }


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "patternProperties": {"^a": {}}},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/loop"},
        {"not": {"type": "string"}},
        True,
    ],
)
def test_what_claude_cannot_be_asked_for_is_asked_in_words(inner: object) -> None:
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/loop"}}}
    schema = {"type": "object", "properties": {"inner": inner}, "$defs": {"loop": loop} if "loop" in str(inner) else {}}
    made = answer_format(WireName.ANTHROPIC, schema, Quirks(), with_tools=False)
    assert made == AnswerFormat(fields={}, instruction=instruction(schema), in_words=True)


LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "minimum": 1}, {"enum": ["a", 1]}, {"const": None}, {"type": "boolean"}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner),
        st.builds(
            lambda table, closed: {
                "type": "object",
                "properties": table,
                "required": list(table),
                **({"additionalProperties": False} if closed else {}),
            },
            st.dictionaries(st.sampled_from("abc"), inner),
            st.booleans(),
        ),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from(["a", "b"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("abc"), SCHEMAS), VALUES)
def test_what_the_closed_schema_forbids_is_at_most_further_properties(
    properties: dict[str, Any], value: object
) -> None:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    closed = closed_schema(schema)
    assert closed is not None
    exactly_closed = _closing(schema)
    if Draft202012Validator(exactly_closed).is_valid(value):
        assert Draft202012Validator(closed).is_valid(value)


def _closing(schema: Any) -> Any:
    """The same schema with every object closed, and all bounds kept."""
    if isinstance(schema, list):
        return [_closing(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closing(value) for key, value in schema.items() if key not in ("enum", "required")}
    kept = {key: schema[key] for key in ("enum", "required") if key in schema}
    return {**closed, **kept, **({"additionalProperties": False} if schema.get("type") == "object" else {})}


@pytest.mark.parametrize(
    ("quirks", "with_tools", "asked"),
    [
        (Quirks(), True, (True, False)),
        (Quirks(answer_schema="both"), True, (True, True)),
        (Quirks(answer_schema="words"), False, (False, True)),
        (Quirks(answer_schema="both", answer_schema_with_tools=False), False, (True, True)),
        (Quirks(answer_schema_with_tools=False), True, (False, True)),
        (Quirks(answer_schema_with_tools=False), False, (True, False)),
    ],
)
def test_facts_say_whether_a_server_is_asked_by_fields_or_in_words(
    quirks: Quirks, with_tools: bool, asked: tuple[bool, bool]
) -> None:
    made = answer_format(WireName.OPENAI_CHAT, STRICT, quirks, with_tools=with_tools)
    assert (bool(made.fields), made.in_words) == asked
    assert '"required":["name","age"]' in made.instruction


def test_definitions_that_refer_to_each_other_without_end_are_asked_for_in_words() -> None:
    chain = {f"x{at}": {"$ref": f"#/$defs/x{at + 1}"} for at in range(5_000)}
    assert closed_schema({"type": "object", "properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": chain}) is None
