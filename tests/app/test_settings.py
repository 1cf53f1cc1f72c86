"""Settings in their layers, through the services: /set, config.toml, profiles, the command line, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import FAST, config, house
from tui.domain.errors import ConfigError, UnknownModel
from tui.settings.layers import Layer

LEVELS = [
    ("reasoning.enabled", "false", False),
    ("reasoning.includeInContext", "false", "false"),
    ("reasoning.includeInResponse", "false", False),
    ("reasoning.effort", "low", "low"),
    ("reasoning.maxTokens", "16k", 16_000),
    ("reasoning.format", "field", "field"),
    ("reasoning.stripFromContext", "all", "all"),
    ("reasoning.dynamicBudget", "on", True),
    ("reasoning.summary", "detailed", "detailed"),
    ("context.limit", "100k", 100_000),
    ("context.compressAt", "0.5", 0.5),
    ("context.keepTurns", "7", 7),
    ("context.reserve", "2000", 2_000),
    ("context.compressionModel", "demo/fast", "demo/fast"),
    ("tools.enabled", "false", False),
    ("ui.motion", "false", False),
    ("network.idleTimeout", "60", 60.0),
]


def toml(key: str, words: str) -> str:
    section, _, name = key.partition(".")
    value = words if words in ("true", "false") or words.replace(".", "").isdigit() else f'"{words}"'
    return f"[{section}]\n{name} = {value}\n"


@pytest.mark.parametrize(("key", "words", "value"), LEVELS, ids=[key for key, _, _ in LEVELS])
async def test_every_key_can_be_set_and_unset_and_says_where_it_is_from(
    tmp_path: Path, key: str, words: str, value: object
) -> None:
    async with house(tmp_path) as h:
        await h.services.settings.assign(key, words)
        now = h.services.settings.layers().provenance(key)
        assert (now.value, now.source) == (value, "saved" if key.startswith("ui.") else "session")
        assert h.view().settings[key] == value
        said = await h.services.settings.unassign(key)
        assert h.services.settings.layers().provenance(key).layer is not Layer.SESSION
        assert "(" in said


@pytest.mark.parametrize(("key", "words", "value"), LEVELS, ids=[key for key, _, _ in LEVELS])
async def test_the_same_key_in_config_and_on_the_command_line(
    tmp_path: Path, key: str, words: str, value: object
) -> None:
    config(tmp_path, toml(key, {"16k": "16000", "100k": "100000", "on": "true"}.get(words, words)))
    async with house(tmp_path) as h:
        now = h.services.settings.layers().provenance(key)
        assert (now.value, now.source, h.services.problems()) == (value, "config.toml", [])
    async with house(tmp_path, assignments=(f"{key}={words}",)) as h:
        now = h.services.settings.layers().provenance(key)
        assert (now.value, now.source) == (value, "command line")


async def test_the_highest_layer_wins_and_the_others_are_named(tmp_path: Path) -> None:
    config(tmp_path, "[context]\nkeepTurns = 1\n")
    (tmp_path / "config" / "profiles").mkdir()
    (tmp_path / "config" / "profiles" / "mine.toml").write_text("[context]\nkeepTurns = 2\n")
    async with house(tmp_path, profile="mine", assignments=("context.keepTurns=3",)) as h:
        seen = []
        for words in ("4", None):
            if words is not None:
                await h.services.settings.assign("context.keepTurns", words)
            else:
                await h.services.settings.unassign("context.keepTurns")
            now = h.services.settings.layers().provenance("context.keepTurns")
            seen.append((now.value, now.source, now.overruled))
    assert seen == [
        (4, "session", (Layer.COMMAND_LINE, Layer.PROFILE, Layer.CONFIG)),
        (3, "command line", (Layer.PROFILE, Layer.CONFIG)),
    ]


async def test_a_setting_acts_at_once_and_taking_it_back_restores_the_number(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Why is the sky blue?")
        before = await h.meter()
        await h.services.settings.assign("reasoning.stripFromContext", "all")
        stripped = await h.meter()
        await h.services.settings.unassign("reasoning.stripFromContext")
        assert await h.meter() == before
    assert stripped.effective < before.effective
    assert stripped.raw > stripped.effective


async def test_a_setting_that_changes_the_plan_is_told_with_it(tmp_path: Path) -> None:
    async with house(tmp_path, model="demo/fast/high") as h:
        high = h.view().plan
        await h.services.settings.assign("reasoning.maxTokens", "2000")
        assert h.view().plan.sent == 2_000
        await h.services.settings.assign("reasoning.enabled", "false")
        assert not h.view().plan.thinks
        await h.services.settings.unassign("reasoning.enabled")
        await h.services.settings.unassign("reasoning.maxTokens")
        assert h.view().plan == high


@pytest.mark.parametrize(
    ("key", "words", "error"),
    [
        ("reasoning.strip", "all", ConfigError),
        ("reasoning.stripFromContext", "some", ConfigError),
        ("context.keepTurns", "many", ConfigError),
        ("model", "no-such-model-anywhere", UnknownModel),
        ("context.compressionModel", "no-such-model-anywhere", UnknownModel),
    ],
)
async def test_a_wrong_key_or_value_changes_nothing_and_names_the_nearest(
    tmp_path: Path, key: str, words: str, error: type[Exception]
) -> None:
    async with house(tmp_path) as h:
        before, view = h.services.settings.layers(), h.view()
        with pytest.raises(error):
            await h.services.settings.assign(key, words)
        assert h.services.settings.layers() == before
        assert h.view().settings == view.settings


async def test_a_profile_is_saved_loaded_shown_and_deleted(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.settings.assign("reasoning.stripFromContext", "allButLast")
        await h.services.settings.assign("generation.temperature", "0.5")
        await h.services.settings.assign("ui.motion", "false")
        await h.services.settings.save_profile("mine")
        shown = h.services.settings.show_profile("mine")
        await h.services.settings.unassign("reasoning.stripFromContext")
        await h.services.models.set_model("demo/fast/high")
        said = await h.services.settings.load_profile("mine")
        now = h.services.settings.layers().provenance("reasoning.stripFromContext")
        assert (str(h.current.spec), now.value, now.source) == (FAST, "allButLast", "profile mine")
        assert "Profile mine: " in said
        await h.services.settings.delete_profile("mine")
        with pytest.raises(ConfigError):
            h.services.settings.show_profile("mine")
    assert 'model = "demo/fast/low"' in shown
    assert "motion" not in shown, "how it looks belongs to the user, not to a model"


@pytest.mark.parametrize(
    "text",
    [
        'model = "demo/fast/high"\n[reasoning]\nstripFromContext = "some"\n',
        'model = "no-such/model"\n[reasoning]\nstripFromContext = "all"\n',
        'model = "demo/fast/high"\n[reasoning\n',
        'model = "demo/fast/high"\n[context]\ncompressionModel = "no-such/model"\n',
        "model = 7\n",
    ],
)
async def test_a_profile_loads_whole_or_not_at_all(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "config" / "profiles"
    folder.mkdir(parents=True)
    (folder / "broken.toml").write_text(text)
    async with house(tmp_path) as h:
        before, view = h.services.settings.layers(), h.view()
        with pytest.raises((ConfigError, UnknownModel)):
            await h.services.settings.load_profile("broken")
        after = h.view()
        assert (h.services.settings.layers(), str(h.current.spec)) == (before, FAST)
        assert (after.spec, after.plan, after.settings) == (view.spec, view.plan, view.settings)


@pytest.mark.parametrize("name", ["claude", "deepseek", "gemini", "gpt", "kimi", "minimax", "qwen"])
async def test_every_shipped_profile_leads_to_a_model_that_thinks(tmp_path: Path, name: str) -> None:
    async with house(tmp_path) as h:
        names = [known for known, _ in h.services.settings.profiles()]
        found = next(known for known in names if known.startswith(name))
        said = await h.services.settings.load_profile(found)
        plan = h.view().plan
        assert plan.thinks
        assert plan.summary in said
        assert plan.warnings == ()


async def test_a_theme_there_is_not_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.settings.assign("ui.theme", "dusk")
        with pytest.raises(ConfigError, match="There is no theme `dusc`") as refused:
            await h.services.settings.assign("ui.theme", "dusc")
        assert "dusk" in refused.value.nearest
        assert h.services.settings.layers().value("ui.theme") == "dusk"
        await h.services.settings.assign("ui.theme", "auto")
        assert h.view().settings["ui.theme"] == "auto"


@pytest.mark.parametrize("broken", [b"x=", b"\xff\xfe", b'model = ["a"]', b'[ui]\ntheme = "dusk"\n'])
async def test_a_broken_profile_is_told_of_and_hides_no_other(tmp_path: Path, broken: bytes) -> None:
    folder = tmp_path / "config" / "profiles"
    folder.mkdir(parents=True)
    (folder / "d.toml").write_bytes(broken)
    (folder / "no name.toml").write_text("")
    async with house(tmp_path) as h:
        listed = dict(h.services.settings.profiles())
    assert listed["d"].startswith("✗ Profile `d`")
    assert listed["no name"].startswith("✗ A profile's name consists of")
    assert listed["kimi"].startswith("Kimi")
