"""The JSON Schema of ``config.toml``, with which editors complete and check it, and a sample of the file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping

from tui.settings.schema import Key, keys

SCHEMA_FILE = "config.schema.json"
DIALECT = "http://json-schema.org/draft-07/schema#"
"""The version that TOML language servers understand."""
SHORT_NUMBER = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?[kKmM]$"}
"""Numbers can be written as ``16k``."""


def config_schema(tables: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The schema of all settings, and of these other tables of the file."""
    properties: dict[str, object] = {}
    for key in keys().values():
        group, _, leaf = key.name.rpartition(".")
        if group:
            section = properties.setdefault(group, {"type": "object", "additionalProperties": False, "properties": {}})
            section["properties"][leaf] = _value(key)  # type: ignore[index]  # as made in the line above
        else:
            properties[leaf] = _value(key)
    return {
        "$schema": DIALECT,
        "title": "config.toml of ponder",
        "type": "object",
        "additionalProperties": False,
        "properties": {**properties, **tables},
    }


def _value(key: Key) -> dict[str, object]:
    schema = key.adapter.json_schema()
    variants = [variant for variant in schema.pop("anyOf", [schema]) if variant != {"type": "null"}]
    if any(
        variant.get("type") in ("integer", "number") and variant.get("maximum", 10_000) > 1000 for variant in variants
    ):
        variants.append(SHORT_NUMBER)
    if key.kind.startswith("one of") and "auto" in key.choices and "true" in key.choices:
        variants.append({"type": "boolean"})
    described: dict[str, object] = variants[0] if len(variants) == 1 else {"anyOf": variants}
    described["description"] = " ".join(key.help.split())
    if key.default not in (None, ()):
        described["default"] = key.default
    return described


def sample_config(schema_path: str) -> str:
    """A ``config.toml`` with every setting at its default, as comments. The first line names the schema for editors."""
    lines = [f"#:schema {schema_path}", "", "# Remove the # before a setting to change it."]
    group = ""
    for key in sorted(keys().values(), key=lambda key: "." in key.name):
        section, _, leaf = key.name.rpartition(".")
        if section != group:
            group = section
            lines += ["", f"[{section}]"]
        unset = key.default is None
        text = " ".join(key.help.split()) + (f" Takes {key.kind}." if unset else "")
        lines += ["", *(f"# {line}" for line in textwrap.wrap(text, 100))]
        lines.append(f"# {leaf} =" if unset else f"# {leaf} = {json.dumps(key.default, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
