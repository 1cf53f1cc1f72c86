"""Seals belong to the account that got them: another key for the same server leaves their thinking behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import Target
from tui.catalog.model_spec import parse_spec
from tui.domain.blocks import ProviderState, TextBlock, ThinkingBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.thinking import ThinkingForm
from tui.engine.planner import Planner
from tui.engine.request_inputs import RequestInputs
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter
from tui.providers.keys import Keys

CATALOG = packaged_catalog()
SPEC = parse_spec("anthropic/claude-sonnet-4-5/high", CATALOG)


def _planner(home: Path, key: str | None) -> tuple[Planner, Target]:
    keys = Keys(home / "credentials.toml", environ={"ANTHROPIC_API_KEY": key} if key else {}, use_keyring=False)
    planner = Planner(CATALOG, TokenMeter(), keys.account)
    target = planner.target(SPEC)
    keys.find(target.provider)
    return planner, target


def _thinking_sent(planner: Planner, target: Target, account: str) -> int:
    thought = ThinkingBlock(text="Hm", form=ThinkingForm.FULL, provider_state=ProviderState(signature="sig"))
    said = Message(
        id="a",
        role=Role.ASSISTANT,
        blocks=(thought, TextBlock(text="Yes.")),
        origin=replace(target.origin, account=account),
    )
    asked = Message(id="u", role=Role.USER, blocks=(TextBlock(text="So?"),))
    turns = (Turn(id="1", messages=(asked, said)), Turn(id="2", messages=(replace(asked, id="u2"),), open=True))
    request = planner.request(
        RequestInputs(session="s", turns=turns, target=target, spec=SPEC, settings=EngineSettings())
    )
    return sum(isinstance(block, ThinkingBlock) for message in request.outgoing.messages for block in message.blocks)


@pytest.mark.parametrize(("before", "now", "sent"), [("mine", "mine", 1), ("mine", "theirs", 0), (None, "mine", 1)])
def test_thinking_goes_back_to_the_account_it_came_from(
    before: str | None, now: str, sent: int, tmp_path: Path
) -> None:
    earlier, target = _planner(tmp_path, before and f"sk-{before}-key-0123456789")
    planner, target = _planner(tmp_path, f"sk-{now}-key-0123456789")
    assert _thinking_sent(planner, target, earlier.stamp(target).account) == sent


def test_the_stamp_says_nothing_of_the_key_and_nothing_before_it_was_looked_for(tmp_path: Path) -> None:
    planner, target = _planner(tmp_path, "sk-mine-key-0123456789")
    account = planner.stamp(target).account
    assert len(account) == 8
    assert account not in "sk-mine-key-0123456789"
    assert planner.target(SPEC).origin.account == ""
    untouched = Keys(tmp_path / "none.toml", environ={"ANTHROPIC_API_KEY": "sk-x-0123456789"}, use_keyring=False)
    assert untouched.account("anthropic", target.provider.base_url) == ""


def test_a_password_in_a_base_url_does_not_reach_the_stamp() -> None:
    row = {"wire": "openai-chat", "base_url": "http://me:secret@localhost:1/v1"}
    planner = Planner(CATALOG.with_overrides({"providers": {"mine": row}}), TokenMeter())
    assert planner.target(parse_spec("mine/m", planner.catalog)).origin.host == "localhost:1"
