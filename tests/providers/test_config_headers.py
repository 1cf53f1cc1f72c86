"""Headers and addresses of the user's own providers: queries stay queries, and variables stay secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faultserver.server import FaultServer
from tests.key_canary import CANARY
from tests.providers.conftest import Client
from tui.catalog.catalog import packaged_catalog
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.request import with_version
from tui.providers.keys import Keys


def gateway(base_url: str = "https://gw.example/v1", **headers: str):
    row = {"wire": "openai-chat", "base_url": base_url, "headers": headers}
    return packaged_catalog().with_overrides({"providers": {"gw": row}}).provider("gw")


async def test_a_query_of_the_base_url_goes_behind_the_path(client: Client) -> None:
    async with FaultServer([[{"status": 401, "json": {}}]]) as server:
        await client.ask(f"{server.url}/v1?api-version=1", "openai-chat")
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions?api-version=1"]


def test_a_version_that_is_missing_goes_before_the_query() -> None:
    found = with_version(gateway("https://gw.example?team=blue"))
    assert found is not None
    assert found.base_url == "https://gw.example/v1?team=blue"


def test_a_header_takes_variables_of_the_environment_and_they_stay_secret(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "credentials.toml", environ={"GW_TOKEN": CANARY, "TEAM": "azure-blue"})
    own = gateway(**{"X-Gateway": "Token ${GW_TOKEN}", "X-Team": "${TEAM}/${TEAM}", "X-Plain": "$HOME {x}"})
    sent = keys.with_variables(own).headers
    assert sent == {"X-Gateway": f"Token {CANARY}", "X-Team": "azure-blue/azure-blue", "X-Plain": "$HOME {x}"}
    assert CANARY not in keys.redactor.clean(f"refused: Token {CANARY}")
    assert own.headers["X-Gateway"] == "Token ${GW_TOKEN}", "what is shown and exported never held it"
    assert keys.with_variables(replace(own, headers={"X-Plain": "a"})).headers == {"X-Plain": "a"}


def test_a_variable_that_is_not_set_is_told_with_the_place_it_is_wanted_at(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "credentials.toml", environ={"GW_TOKEN": ""})
    with pytest.raises(ProviderError) as caught:
        keys.with_variables(gateway(**{"X-Gateway": "${GW_TOKEN}"}))
    assert caught.value.kind is ErrorKind.INVALID_REQUEST
    assert (caught.value.message, "[providers.gw]" in caught.value.advice) == (
        "A header of gw uses the variable `GW_TOKEN`, which is not set.",
        True,
    )
