"""What the page about clouds says can be done as it says."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tui.catalog.catalog import packaged_catalog, users_catalog
from tui.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "clouds.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line.partition("  #")[0].strip() for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
TABLES = [text for kind, text in BLOCKS if kind == "toml"]
CLOUDS = {name: provider for name, provider in packaged_catalog().providers().items() if provider.cloud is not None}


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("ponder ")])
def test_its_commands_work(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_it_installs_the_extras_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = re.findall(r"^pip install 'ponder-tui\[(\w+)\]' +# (.+)$", PAGE, re.MULTILINE)
    assert [extra for extra, _ in installed] == [provider.cloud for provider in CLOUDS.values()]
    for extra, package in installed:
        assert re.split(r"[\[>]", extras[extra][0])[0] == package


@pytest.mark.parametrize("text", TABLES)
def test_its_settings_are_accepted(text: str) -> None:
    catalog, problems = users_catalog(packaged_catalog(), tomllib.loads(text), {}, file="config.toml")
    assert problems == []
    assert all(not row.source.startswith("packaged") for name, row in catalog.own_providers.items() if name in text)


def test_it_names_every_provider_variable_and_part_of_an_account() -> None:
    rows = {
        line.split("|")[1].strip(): line
        for line in PAGE.splitlines()
        if line.startswith("| `") and "variables" not in line
    }
    for name, provider in CLOUDS.items():
        variables = {variable for names in provider.account_env.values() for variable in names}
        assert {word for word in {*provider.account_env, *variables} if f"`{word}`" not in rows[f"`{name}`"]} == set()
        assert all(f"`{key}`" in PAGE for key in provider.key_env)
