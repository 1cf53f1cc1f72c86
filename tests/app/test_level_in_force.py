"""The level that is shown is the level that is sent: level picker, status line, inspector, ``ponder plan``, request."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.app.conftest import Run
from tests.app.stage import House, config, house
from tests.catalog.asking import CATALOG
from tests.faultserver.server import FaultServer
from tests.ui.stage import screen_text, type_in, until
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.domain.listing import LevelInfo
from tui.domain.thinking import ThinkingLevel
from tui.ui.app import PonderApp
from tui.ui.chat.status_line import status_of
from tui.ui.dialogs.inspector import parts_page
from tui.ui.markdown.runs import Line
from tui.ui.theme.current_theme import CurrentTheme

LONG = bool(os.environ.get("PONDER_LONG"))
"""Whether each model is asked at every level, and not at every third, beginning elsewhere for the next model."""
KEY = "sk-test-0123456789abcdef0123456789"
PROVIDERS = [
    name
    for name, facts in CATALOG.providers().items()
    if name != "demo" and CATALOG.models(name) and (facts.cloud is None or facts.key_env)
]
"""A cloud without keys needs a login, which the tests of logins have."""
REFUSED = {"status": 403, "json": {"error": {"type": "permission_error", "message": "not for you"}}}
SWITCHES = ["moonshot/kimi-k2.6", "minimax/MiniMax-M3", "ollama/qwen3", "alibaba/qwen-plus", "zai/glm-4.7"]


@asynccontextmanager
async def asking(home: Path, provider: str, model: str) -> AsyncIterator[tuple[House, FaultServer]]:
    """The program, with this provider on a server that refuses every request after reading it."""
    async with FaultServer([[REFUSED]]) as server:
        base = server.url + ("" if provider == "ollama" else "/v1")
        bases = "".join(f'bases.{wire} = "{server.url}"\n' for wire in CATALOG.provider(provider).bases)
        key_env = CATALOG.provider(provider).key_env or ("A_KEY",)
        own = f'key_env = ["{key_env[0]}"]\n' if CATALOG.provider(provider).cloud else ""
        config(home, f'[providers."{provider}"]\nbase_url = "{base}"\n{own}{bases}')
        keys = dict.fromkeys(key_env[:1], KEY)
        async with house(home, model=f"{provider}/{model}", environment=keys) as h:
            yield h, server


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    else:
        yield path, value


def marked(h: House) -> LevelInfo:
    rows = [row for row in h.services.models.levels() if row.current]
    assert len(rows) == 1
    return rows[0]


def inspected(lines: object) -> str:
    page: list[Line] = list(lines(200))  # type: ignore[operator]
    return "\n".join("".join(run.text for run in line) for line in page)


def words_of(sent: object) -> set[str]:
    """How a native value may name something that was sent."""
    if isinstance(sent, bool):
        return {"on" if sent else "off"}
    if isinstance(sent, int):
        return {f"{sent:,}", "off"} if sent == 0 else {f"{sent:,}"}
    return {str(sent), "off"} if sent in ("none", "disabled") else {str(sent)}


@pytest.mark.one_in(20)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_is_marked_is_what_goes_out(tmp_path: Path, ponder: Run, provider: str) -> None:
    for number, facts in enumerate(CATALOG.models(provider)):
        for level in list(ThinkingLevel) if LONG else list(ThinkingLevel)[number % 3 :: 3]:
            name = f"{provider}/{facts.id}/{level}"
            async with asking(tmp_path, provider, f"{facts.id}/{level}") as (h, server):
                row, view = marked(h), h.view()
                page = inspected(parts_page(await h.services.chat.preview(""), (), h.services.chat.bill()))
                await h.say("Hello")
                sent = dict(leaves(server.seen[0].json))
                code, out, _ = ponder("plan", name, "--json")
            made = json.loads(out)
            fields = dict(leaves(made["fields"]))
            shown = status_of(view, 0.0, full=True).name
            assert (code, view.plan.fields) == (0, made["fields"]), name
            assert {path: sent.get(path) for path in fields} == fields, name
            assert made["summary"] in page, name
            assert shown == (f"{facts.id} · {row.label}" if view.plan.level else facts.id), name
            assert row.native == view.plan.native, name
            if view.plan.level and row.native not in ("on, no limit", "only between tools"):
                words = set().union(*map(words_of, fields.values()))
                assert words & set(row.native.replace("(", "").replace(")", "").replace(", ", " ").split()), name


@pytest.mark.parametrize("name", SWITCHES)
async def test_a_model_with_a_switch_shows_off_and_on(tmp_path: Path, name: str) -> None:
    async with house(tmp_path, model=f"{name}/high") as h:
        assert [(row.label, row.current) for row in h.services.models.levels()] == [("off", False), ("on", True)]
        assert h.view().plan.level == "on"
        await h.services.models.step_level(1, wrap=True)
        assert (h.view().plan.level, marked(h).label, h.view().plan.thinks) == ("off", "off", False)
        await h.services.models.step_level(-1, wrap=False)
        assert h.view().plan.level == "off", "there is nothing below off"
        await h.services.models.step_level(1, wrap=False)
        assert (h.view().plan.level, marked(h).label, h.view().plan.thinks) == ("on", "on", True)


@pytest.mark.one_in(20)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.long
async def test_stepping_reaches_every_row_and_each_stands_for_another_request(tmp_path: Path, provider: str) -> None:
    for facts in CATALOG.models(provider):
        async with house(tmp_path, model=f"{provider}/{facts.id}/none") as h:
            labels = [row.label for row in h.services.models.levels()]
            seen = []
            for _ in labels:
                seen.append((marked(h).label, json.dumps(dict(h.view().plan.fields), sort_keys=True)))
                await h.services.models.step_level(1, wrap=True)
        start = labels.index(seen[0][0])
        assert [label for label, _ in seen] == [*labels[start:], *labels[:start]]
        assert len({fields for _, fields in seen}) == len(labels)


@asynccontextmanager
async def on_screen(h: House) -> AsyncIterator[tuple[PonderApp, Pilot[int]]]:
    app = PonderApp(
        h.services, registry(), default_keymap(registry()), CurrentTheme(None, "dusk", {"COLORTERM": "truecolor"})
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: app.chat.sidebar.picker.filled)
        yield app, pilot


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "assignments", "label"),
    [
        ("moonshot/kimi-k2.6/med", (), "on"),
        ("mistral/mistral-medium-latest/low", (), "low"),
        ("zai/glm-5.2/med", (), "med"),
        ("openai/gpt-5/none", (), "minimal"),
        ("anthropic/claude-fable-5/none", (), "low"),
        ("anthropic/claude-sonnet-4-5/12345", (), "12345"),
        ("openai/gpt-5.5", ("reasoning.effort=xhigh",), "xhigh"),
        ("anthropic/claude-3-haiku/med", (), "no levels"),
    ],
)
async def test_the_picker_opens_at_the_level_in_force_and_enter_leaves_it(
    tmp_path: Path, name: str, assignments: tuple[str, ...], label: str
) -> None:
    async with house(tmp_path, model=name, assignments=assignments) as h, on_screen(h) as (app, pilot):
        before = h.view().plan
        await until(pilot, lambda: f"‹{label}›" in screen_text(app))
        assert f"→ {before.native}" in screen_text(app)
        status = f"{h.current.spec.model} · {label}" if before.level else h.current.spec.model
        await until(pilot, lambda: status in screen_text(app).splitlines()[-2])
        await pilot.press("ctrl+t", "tab", "enter")
        await until(pilot, lambda: app.focused is app.chat.composer)
        await pilot.pause()
        assert h.view().plan == before


@pytest.mark.long
async def test_the_words_of_the_picker_can_be_typed(tmp_path: Path) -> None:
    async with house(tmp_path, model="ollama/qwen3/med") as h, on_screen(h) as (_, pilot):

        def is_in_force() -> bool:
            return h.view().plan.level == word

        for word in ("off", "on"):
            await type_in(pilot, f"/thinking {word}")
            await pilot.press("enter")
            await until(pilot, is_in_force)
