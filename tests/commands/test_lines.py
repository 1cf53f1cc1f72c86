"""Slash commands as they are typed: what reaches the services, and what stands in the way of nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tui.app.services import AppServices
from tui.commands.builtin import registry
from tui.commands.registry import Argument, Command, CommandContext, Group, Registry, Screen, View, complete
from tui.domain.errors import ConfigError, UsageError
from tui.domain.events import Severity


class Heard:
    """A screen that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shown: list[tuple[View, str]] = []
        self.turn: str | None = None

    def say(self, text: str, severity: Severity = Severity.INFO, advice: str = "") -> None:
        self.said.append(f"{text} {advice}".strip())

    async def show(self, view: View, argument: str = "") -> None:
        self.shown.append((view, argument))

    def draft(self) -> str:
        return ""

    def chosen_turn(self) -> str | None:
        return self.turn


def context(*turns) -> tuple[CommandContext, FakeServices, Heard]:
    services, heard = FakeServices(chat=FakeChat(turns)), Heard()
    return (
        CommandContext(services=cast(AppServices, services), screen=cast(Screen, heard), registry=registry()),
        services,
        heard,
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/model claude-opus-4-5/high --thinking-budget=20k", "claude-opus-4-5/20000"),
        ("/model claude-opus-4-5 --thinking-budget 20k", "claude-opus-4-5/20000"),
        ("/model --thinking-budget=low", "low"),
        ("/model claude-opus-4-5/high", "claude-opus-4-5/high"),
    ],
)
async def test_a_budget_takes_the_place_of_a_level(line: str, name: str) -> None:
    here, services, _ = context()
    asked: list[str] = []

    async def set_model(words: str) -> str:
        asked.append(words)
        return ""

    services.models.set_model = set_model  # type: ignore[method-assign,assignment]  # to hear what is asked for
    await registry().run_line(here, line)
    assert asked == [name]


def test_a_completion_that_fails_offers_nothing_and_says_so_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: CommandContext, __: str) -> Iterable[str]:
        raise ConfigError("`d.toml` is broken.")

    async def run(_: CommandContext, __: str) -> None: ...

    row = Command(
        id="x", slash="x", title="X", help="X.", group=Group.MODEL, run=run, example="/x",
        argument=Argument(usage="NAME", complete=broken),
    )  # fmt: skip
    assert complete(Registry((row,)), context()[0], "/x ") == []
    assert caplog.messages == ["nothing offered for /x: `d.toml` is broken."]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/stop", "Nothing is running."),
        ("/now", "Nothing is running."),
        ("/compress", "There is nothing to compress yet."),
    ],
)
async def test_a_command_with_nothing_to_do_says_so(line: str, said: str) -> None:
    here, _, heard = context()
    await registry().run_line(here, line)
    assert heard.said == [said]


async def test_while_the_first_turn_runs_there_is_a_turn() -> None:
    here, services, _ = context()
    services.chat.publish(*scenes.begun("Why?"))
    with pytest.raises(UsageError, match="still running"):
        await registry().run_line(here, "/branch")


async def test_branches_are_not_flipped_under_a_running_turn() -> None:
    here, services, heard = context(*scenes.CONVERSATION)
    heard.turn = scenes.CONVERSATION[0].id
    services.chat.publish(*scenes.begun("Why?"))
    with pytest.raises(UsageError, match="while a turn is running"):
        await registry().run_line(here, "/branch")
    assert services.chat.asked == []
