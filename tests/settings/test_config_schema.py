"""The schema of ``config.toml`` says what the program accepts, and the sample is a valid file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from tests.prefork import surroundings
from tui.cli.main import main
from tui.domain.errors import ConfigError
from tui.settings.config_file import read_config
from tui.settings.config_schema import sample_config
from tui.settings.schema import keys, parse

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def validator(capsys: pytest.CaptureFixture[str]) -> Draft7Validator:
    assert main(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def _nested(name: str, value: object) -> dict[str, Any]:
    group, _, leaf = name.rpartition(".")
    return {group: {leaf: value}} if group else {leaf: value}


def test_every_setting_has_its_help_and_default(validator: Draft7Validator) -> None:
    assert isinstance(validator.schema, dict)
    properties = validator.schema["properties"]
    for key in keys().values():
        group, _, leaf = key.name.rpartition(".")
        row = (properties[group]["properties"] if group else properties)[leaf]
        assert row["description"] == " ".join(key.help.split())
        assert row.get("default") == (key.default or None if isinstance(key.default, tuple) else key.default)


VALUES: tuple[object, ...] = (
    True,
    0,
    1,
    -1,
    0.5,
    3,
    16_000,
    10**9,
    "",
    "auto",
    "16k",
    "true",
    "none",
    "high",
    "1h",
    "bell",
    "full",
    "own",
    "prompt",
    [],
    ["a"],
    [1],
    {},
)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", list(keys()))
def test_what_the_schema_accepts_the_program_accepts(validator: Draft7Validator, tmp_path: Path, name: str) -> None:
    """The reverse does not hold: the program also takes ``"true"`` for true."""
    file = tmp_path / "config.toml"
    accepted = [value for value in VALUES if validator.is_valid(_nested(name, value))]
    assert 0 < len(accepted) < len(VALUES)
    for value in accepted:
        file.write_text(f"{name} = {json.dumps(value)}\n", "utf-8")
        assert read_config(file).problems == (), value


@pytest.mark.parametrize("page", ["settings.md", "providers.md", "tools.md", "mcp.md", "money.md", "security.md"])
def test_the_examples_of_the_docs_fit_the_schema(validator: Draft7Validator, page: str) -> None:
    examples = re.findall(r"^ *```toml\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert examples
    problems = {
        example: [error.message for error in validator.iter_errors(tomllib.loads(example))]
        for example in examples
        if not _is_a_profile(tomllib.loads(example))
    }
    assert {example: found for example, found in problems.items() if found} == {}


def _is_a_profile(document: Mapping[str, object]) -> bool:
    return "description" in document or "format" in document


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[providers.mine]\nwyre = 'x'", "'wyre' was unexpected"),
        ("[providers.mine]\nwire = 'morse'", "'morse' is not one of"),
        ("[providers.mine]\nkey_command = 3", "3 is not of type"),
        ("[models.'mine/m']\nprice = 'dear'", "'dear' is not of type"),
        ("[mcp.servers.x]\ncommand = ['uvx']", "is not of type 'string'"),
        ("[mcp.servers.x]\nurl = 'https://x.y'\noauth = { callback_port = 'a' }", "is not of type 'integer'"),
        ("[mcp.servers.x]\nurl = 'https://x.y'\noauth = { client = 'a' }", "'client' was unexpected"),
        ("[permissions]\nallow = 'shell'", "'shell' is not of type 'array'"),
        ("[ui]\ntheme = 3", "3 is not of type 'string'"),
    ],
)
def test_mistakes_are_found_in_the_tables_too(validator: Draft7Validator, text: str, said: str) -> None:
    assert [said in error.message for error in validator.iter_errors(tomllib.loads(text))] == [True]


def test_the_sample_names_the_schema_and_holds_every_default() -> None:
    sample = sample_config("./config.schema.json")
    assert sample.startswith("#:schema ./config.schema.json\n")
    assert set(tomllib.loads(sample)) == {name.partition(".")[0] for name in keys() if "." in name}
    uncommented = re.sub(r"^# (\w+ = .*)$", r"\1", sample, flags=re.MULTILINE)
    defaults: dict[str, Any] = {"budget": {}}
    for name, key in keys().items():
        if key.default is not None:
            group, _, leaf = name.rpartition(".")
            (defaults.setdefault(group, {}) if group else defaults)[leaf] = (
                list(key.default) if isinstance(key.default, tuple) else key.default
            )
    assert tomllib.loads(uncommented) == defaults


def test_init_writes_both_once_and_never_touches_a_file_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in surroundings(PONDER_HOME=str(tmp_path)).items():
        monkeypatch.setenv(name, value)
    config, schema = tmp_path / "config" / "config.toml", tmp_path / "config" / "config.schema.json"
    assert main(["config", "init"]) == 0
    assert (config.read_text(), json.loads(schema.read_text())["type"]) == (sample_config(f"./{schema.name}"), "object")
    assert read_config(config).problems == ()
    config.write_text("model = 'demo/fast'\n")
    schema.unlink()
    capsys.readouterr()
    assert main(["config", "init"]) == 0
    assert (config.read_text(), schema.exists()) == ("model = 'demo/fast'\n", True)
    assert "was not changed" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").write_text("a file in the way")
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    assert main(["config", "init"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_numbers_can_be_short() -> None:
    assert parse("context.limit", "200k") == ("context.limit", 200_000)
    with pytest.raises(ConfigError):
        parse("context.limit", "k")
