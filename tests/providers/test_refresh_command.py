"""``ponder models --refresh``: what it asks, what it keeps, and what goes before what."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from tests.providers.strangers import Json, Stranger, serving
from tui.app.launch_options import LaunchOptions
from tui.app.provider_availability import ProviderAvailability
from tui.bootstrap.program import build_program
from tui.catalog.catalog import packaged_catalog
from tui.cli.main import main
from tui.providers.model_lists import ListCache, ModelList, merge_cached_lists, merge_model_lists


class Lister(Stranger):
    """Knows two models."""

    models: ClassVar[tuple[str, ...]] = ("new-one", "new-two")

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
        self.paths.append(self.path)
        if self.path != "/v1/models":
            return self.whole(404, {"detail": "Not Found"})
        return self.whole(200, {"data": [{"id": name, "max_model_len": 4096} for name in self.models]})

    def problem(self, body: Json) -> str | None:
        return "nothing but lists here"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    return tmp_path


def _configure(home: Path, url: str, more: str = "") -> None:
    row = f'[providers.mine]\nwire = "openai-chat"\nbase_url = "{url}"\nauth = "none"\ndiscovery = "openai"\n{more}'
    (home / "config" / "config.toml").write_text(row, "utf-8")


def _listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    capsys.readouterr()
    code = main(["models", "--json", *arguments])
    said = capsys.readouterr()
    return code, [json.loads(line)["model"] for line in said.out.splitlines()], said.err


@pytest.mark.parametrize("version", ["/v1", ""])
def test_a_list_is_fetched_once_and_known_from_then_on(
    version: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Lister) as (url, _):
        _configure(home, url + version)
        fetched = _listed(capsys, "--refresh", "mine")
    assert fetched == (0, ["new-one", "new-two"], "mine: 2 models\n")
    assert _listed(capsys, "mine/new") == (0, ["new-one", "new-two"], "")


def test_a_server_that_is_gone_leaves_the_old_list_and_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Lister) as (url, _):
        _configure(home, url)
        _listed(capsys, "--refresh", "mine")
    code, models, said = _listed(capsys, "--refresh", "mine")
    assert (code, models) == (1, ["new-one", "new-two"])
    assert said.startswith("mine: `127.0.0.1:")
    assert "refused the connection. Is the server running?" in said


def test_a_word_that_is_no_provider_is_the_filter(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Lister) as (url, _):
        _configure(home, url)
        assert _listed(capsys, "--refresh", "new-two") == (0, ["new-two"], "mine: 2 models\n")


def test_the_users_word_goes_before_a_list_and_a_list_before_what_is_packaged(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = '[models."mine/new-one"]\ncontext_window = 9\n'
    with serving(Lister) as (url, _):
        _configure(home, url, more)
        _listed(capsys, "--refresh", "mine")
    program = build_program({"PONDER_HOME": str(home)}, LaunchOptions())
    ProviderAvailability(program).merge_cached_lists()
    assert [facts.context_window for facts in program.catalog.models("mine")] == [9, 4096]


def test_models_dev_lies_below_a_providers_own_list_whichever_came_first() -> None:
    own = ModelList(source="openai", at=1e9, rows={"openai": {"m": {"context_window": 2}}})
    general = ModelList(source="models.dev", at=2e9, rows={"openai": {"m": {"context_window": 1, "max_output": 5}}})
    for order in ([own, general], [general, own]):
        facts = merge_model_lists(packaged_catalog(), order).find("openai", "m")
        assert (facts.context_window, facts.max_output) == (2, 5)


def test_a_newer_list_takes_the_place_of_the_older(tmp_path: Path) -> None:
    catalog = packaged_catalog()
    for at, id_ in ((1e9, "old"), (2e9, "new")):
        catalog = merge_model_lists(catalog, [ModelList(source="vllm", at=at, rows={"vllm": {id_: {}}})])
    listed = [facts.id for facts in catalog.models("vllm")]
    assert ("old" in listed, "new" in listed) == (False, True)
    (tmp_path / "models-vllm.json").write_text("not json", "utf-8")
    assert merge_cached_lists(catalog, ListCache(tmp_path)) is catalog


def test_nothing_is_fetched_and_no_transport_loaded_without_the_word(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tui.cli.refresh_lists", raising=False)
    with serving(Lister) as (url, server):
        _configure(home, url)
        code, _, _ = _listed(capsys, "claude")
    assert (code, server.paths, "tui.cli.refresh_lists" in sys.modules) == (0, [], False)
