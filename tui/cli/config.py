"""``ponder config``: the JSON Schema of ``config.toml`` for editors, a sample of the file, and both put in place."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from tui.catalog.model_rows import ROW_KEYS
from tui.catalog.provider_rows import PROVIDER_KEYS
from tui.catalog.toml_values import json_schema
from tui.cli.user_catalog import print_messages
from tui.settings.config_schema import SCHEMA_FILE, config_schema, sample_config
from tui.settings.paths import find_paths
from tui.settings.user_files import may_exist, write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("schema", help="print the JSON Schema of config.toml")
    actions.add_parser("sample", help="print a config.toml with all settings as comments")
    actions.add_parser("init", help="write both to the config folder; an existing config.toml is not changed")


def run(args: argparse.Namespace) -> int:
    """Run the action; returns the exit code."""
    match args.action:
        case "schema":
            print(_schema(), end="")
        case "sample":
            print(sample_config(f"./{SCHEMA_FILE}"), end="")
        case _:
            return _init(find_paths(os.environ).config_file)
    return 0


def _init(config_file: Path) -> int:
    schema_file = config_file.with_name(SCHEMA_FILE)
    try:
        config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(schema_file, _schema())
        print_messages(f"Wrote {schema_file}.")
        if may_exist(config_file):
            print_messages(
                f"{config_file} is there already and was not changed.",
                f"Its first line can be: #:schema ./{SCHEMA_FILE}",
            )
            return 0
        write_atomically(config_file, sample_config(f"./{SCHEMA_FILE}"))
        print_messages(f"Wrote {config_file}.")
    except OSError as error:
        print_messages(f"ponder: {config_file.parent} cannot be written: {error.strerror}.")
        return 1
    return 0


_PARTS_OF_SERVERS = "#/properties/mcp/properties/servers/additionalProperties/$defs/{model}"
"""Where the schema of a server, and so its parts, is in the whole."""


def _schema() -> str:
    from tui.tools.mcp.configuration import ServerConfig
    from tui.tools.permissions.rules import RuleEffect

    texts = {"type": "array", "items": {"type": "string"}}
    tables = {
        "providers": _rows(json_schema(PROVIDER_KEYS)),
        "models": _rows(json_schema(ROW_KEYS)),
        "mcp": _table({"servers": _rows(ServerConfig.model_json_schema(ref_template=_PARTS_OF_SERVERS))}),
        "permissions": _table(dict.fromkeys((*RuleEffect, "environment"), texts)),
    }
    return json.dumps(config_schema(tables), indent=2) + "\n"


def _table(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _rows(row: dict[str, object]) -> dict[str, object]:
    """A table of tables with names of the user's choice."""
    return {"type": "object", "additionalProperties": row}
