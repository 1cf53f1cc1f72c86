"""Models that refuse answers without thinking: a blank stands for it, and the advice never is to leave it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.providers.more_strangers import Kimilike, Reticent
from tests.providers.strangers import Json, serving
from tests.providers.test_strangers import configured, heard
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import AppEvent, Notice, TurnFailed, TurnFinished

PROMPTS = ("Look into the folder.", "Thank you.", "Look into the folder again.")
BLANK_SENT = "This server requires thinking with every answer: ponder sent blank thinking for answers that have none."


def notices(told: list[AppEvent]) -> list[str]:
    return [event.text for event in told if isinstance(event, Notice)]


def ends(told: list[AppEvent]) -> list[TurnFinished | TurnFailed]:
    return [event for event in told if isinstance(event, TurnFinished | TurnFailed)]


def test_kimi_gets_a_blank_where_it_called_a_tool_without_thinking(tmp_path: Path) -> None:
    with serving(Kimilike) as (url, server):
        row = f'[providers.moonshot]\nbase_url = "{url}/v1"\nauth = "none"\nkey_optional = true\n'
        told = heard(configured(tmp_path, row), "moonshot/kimi-k2.6/high", PROMPTS)
    assert [type(end) for end in ends(told)] == [TurnFinished] * 3
    assert server.refused == []


def test_a_gateway_before_kimi_refuses_once_and_never_again(tmp_path: Path) -> None:
    with serving(Kimilike) as (url, server):
        row = f'[providers.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"\n'
        told = heard(configured(tmp_path, row), "mine/kimi-k2.6/high", PROMPTS)
    assert [type(end) for end in ends(told)] == [TurnFinished] * 3
    assert len(server.refused) == 1
    assert notices(told).count(BLANK_SENT) == 1


@pytest.mark.parametrize("setting", ['includeInContext = "false"', 'stripFromContext = "all"'])
def test_settings_that_leave_required_thinking_out_are_named_with_what_to_set(tmp_path: Path, setting: str) -> None:
    with serving(Reticent) as (url, _):
        row = (
            f'[providers.deepseek]\nbase_url = "{url}/v1"\nauth = "none"\nkey_optional = true\n[reasoning]\n{setting}\n'
        )
        told = heard(configured(tmp_path, row), "deepseek/deepseek-v4-pro/high", ("Hello.", "Thank you."))
    failed = ends(told)[-1]
    assert isinstance(failed, TurnFailed)
    assert isinstance(failed.error, ProviderError)
    assert failed.error.kind is ErrorKind.THINKING_MISSING
    assert "reasoning.includeInContext auto" in failed.error.advice
    assert "without" not in failed.error.advice


class Thoughtful(Reticent):
    """Takes an empty string for thinking of earlier turns, as DeepSeek does."""

    thinks_before_calls = True

    def problem(self, body: Json) -> str | None:
        messages: list[Json] = body["messages"]
        answers = [message for message in messages if message["role"] == "assistant"]
        return None if all("reasoning_content" in message for message in answers) else super().problem(body)


def test_before_it_is_sent_the_user_reads_what_to_set(tmp_path: Path) -> None:
    with serving(Thoughtful) as (url, server):
        row = f'[providers.deepseek]\nbase_url = "{url}/v1"\nauth = "none"\nkey_optional = true\n'
        home = configured(tmp_path, f'{row}[reasoning]\nincludeInContext = "false"\n')
        told = heard(home, "deepseek/deepseek-v4-pro/high", ("Look into the folder.", "Thank you."))
    assert server.refused == []
    in_the_loop, afterwards = notices(told)
    assert "requires that of the running tool loop, so it is sent" in in_the_loop
    assert "requires its earlier thinking and your settings omit it" in afterwards
    assert all("`/set reasoning.includeInContext auto`" in notice for notice in (in_the_loop, afterwards))
    loop, after = (
        [message["reasoning_content"] for message in body["messages"] if message["role"] == "assistant"]
        for body in server.seen[1:]
    )
    assert (loop, after) == (["Hm"], ["", ""])


def test_a_conversation_begun_elsewhere_is_not_blamed_on_settings(tmp_path: Path) -> None:
    with serving(Reticent) as (url, _):
        row = f'[providers.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"\n'
        told = heard(configured(tmp_path, row), "mine/some-model/high", ("Look into the folder.",))
    failed = ends(told)[-1]
    assert isinstance(failed, TurnFailed)
    assert "one answer here has none" in failed.error.advice
