"""What is seen while an answer arrives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_strips, screen_text, until
from tui.domain.blocks import DENIED, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    ApprovalSettled,
    AttemptReset,
    CompressionFinished,
    HistoryChanged,
    MessageCompleted,
    Notice,
    RequestStarted,
    RetryScheduled,
    SettingsChanged,
    Severity,
    ToolFinished,
    ToolStarted,
    TurnFailed,
)
from tui.domain.messages import CANCELLED, Turn
from tui.domain.stream import BlockFinished, BlockStarted, ToolArgsDelta
from tui.engine.tool_round import INTERRUPTED
from tui.ui.app import PonderApp
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.section import block_text
from tui.ui.transcript.thinking import Thinking
from tui.ui.transcript.tool_call import ToolCall

LONG = "\n\n".join(f"Thought number {number}." for number in range(30))


def seen(app: PonderApp) -> str:
    return screen_text(app)


def thinking_block(app: PonderApp) -> Thinking:
    blocks = [block for section in app.chat.transcript.column.sections for block in section.blocks]
    return next(block for block in reversed(blocks) if isinstance(block, Thinking))


async def shows(pilot: Pilot[int], app: PonderApp, words: str) -> None:
    await until(pilot, lambda: words in screen_text(app))


def row_with(app: PonderApp, words: str) -> str:
    """The row of the conversation that has these words, without the sidebar."""
    width = app.chat.transcript.size.width - 1
    return next((row[:width].rstrip() for row in screen_text(app).splitlines() if words in row), "")


async def test_live_thinking_is_open_shows_its_tail_and_folds_at_the_first_word_of_the_answer() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.thinking(LONG))
        await shows(pilot, app, "Thought number 29.")
        assert "▾ Thinking…" in seen(app)
        assert "Thought number 3." not in seen(app)
        services.chat.publish(*scenes.words("The answer."))
        await shows(pilot, app, "The answer.")
        assert "▸ Thought" in seen(app)
        assert "Thought number 29." not in seen(app)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("size", "rows"), [((80, 12), 10), ((80, 24), 11), ((80, 50), 36), ((200, 60), 46)])
@pytest.mark.long
async def test_live_thinking_takes_the_free_rows_of_the_transcript(size: tuple[int, int], rows: int) -> None:
    thoughts = "\n\n".join(f"Thought number {number}." for number in range(80))
    async with on_stage(size=size) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.thinking(thoughts))
        await shows(pilot, app, "Thought number 79.")
        assert thinking_block(app).height(70) == 1 + rows
        assert rows >= min(10, app.chat.transcript.column.height) * 3 / 5
        wanted = [f"Thought number {number}." for number in range(79, 79 - min(5, rows // 4), -1)]
        assert [words for words in wanted if words not in seen(app)] == []


async def test_thinking_stays_open_when_its_turn_is_stopped() -> None:
    async with on_stage(size=(80, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.thinking(LONG))
        await shows(pilot, app, "Thought number 29.")
        message = scenes.answer("", 9, LONG)
        message = replace(message, blocks=message.blocks[:1], interrupted=CANCELLED)
        services.chat.publish(MessageCompleted("live", 1, message))
        await shows(pilot, app, "stopped by you")
        assert thinking_block(app).shown is Fold.FULL
        assert "Thought number 29." in seen(app)


async def test_thinking_the_user_touched_stays_as_it_is() -> None:
    async with on_stage(size=(80, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.thinking(LONG))
        await shows(pilot, app, "Thought number 29.")
        await pilot.press("alt+up", "space")
        assert thinking_block(app).shown is Fold.FULL
        services.chat.publish(*scenes.words("The answer."))
        parts = app.chat.transcript.column.sections
        await until(pilot, lambda: any("The answer." in block_text(block) for part in parts for block in part.blocks))
        assert thinking_block(app).shown is Fold.FULL


async def test_the_bill_stands_below_a_finished_answer_and_the_status_is_quiet_again() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("Because.", index=0))
        await shows(pilot, app, "Because.")
        assert "answering" in seen(app)
        services.chat.publish(*scenes.ended("Because."))
        await shows(pilot, app, "in 8.2k (6.1k cached) · out 14.3k · 44 s · $0.36")
        assert "answering" not in seen(app)


async def test_an_answer_that_just_came_is_known_by_its_message_so_that_commands_find_its_turn() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("Because.", index=0), *scenes.ended("Because."))
        await shows(pilot, app, "Because.")
        sections = app.chat.transcript.column.sections
        await until(pilot, lambda: not app.chat.is_busy())
        kept = [message.id for turn in services.chat.state.view(0).turns for message in turn.messages]
        assert [section.key for section in sections] == kept


async def test_hidden_thinking_shows_that_it_was_and_what_it_cost() -> None:
    from dataclasses import replace

    from tui.domain.blocks import ProviderState, ThinkingBlock
    from tui.domain.thinking import ThinkingForm

    turn = scenes.turn("q", "a")
    hidden = ThinkingBlock(
        text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(encrypted="x"), seconds=8.0, tokens=900
    )
    answer = replace(turn.messages[1], blocks=(hidden, *turn.messages[1].blocks))
    async with on_stage(replace(turn, messages=(turn.messages[0], answer)), size=(80, 24)) as (app, _, _pilot):
        assert "· Thought 8.0 s · 900 tok · encrypted" in seen(app)


async def test_an_error_stands_below_what_failed_with_the_way_out() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        error = ProviderError(ErrorKind.AUTH, "Anthropic says: invalid x-api-key", advice="/key anthropic")
        services.chat.publish(*scenes.begun("Why?"), TurnFailed(Turn(id="live", messages=()), error))
        await shows(pilot, app, "✗ Anthropic says: invalid x-api-key")
        lines = [line.strip() for line in seen(app).splitlines()]
        place = lines.index("✗ Anthropic says: invalid x-api-key")
        assert "↳ /key anthropic" in lines[place : place + 3]
        assert "▌ Why?" in lines[:place]


async def test_a_plain_sentence_comes_before_the_providers_words_and_names_have_a_colour_instead_of_backticks() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        advice = "The key was refused: `/key demo` sets another."
        error = ProviderError(ErrorKind.AUTH, "invalid x-api-key", status=401, advice=advice)
        services.chat.publish(*scenes.begun("Why?"), TurnFailed(Turn(id="live", messages=()), error))
        services.chat.publish(CompressionFinished(1, 1, error="Never compressed (`context.keepTurns`)."))
        await shows(pilot, app, "⚠ Not compressed: Never compressed (context.keepTurns).")
        lines = [line.strip() for line in seen(app).splitlines()]
        place = lines.index("✗ The key was refused: /key demo sets another.")
        assert lines[place + 1] == "↳ The provider says: invalid x-api-key"
        styles = {segment.text: segment.style for strip in screen_strips(app) for segment in strip}
        key, around = styles["/key demo"], styles["↳ The provider says: invalid x-api-key"]
        assert key is not None
        assert around is not None
        assert key.color != around.color


async def test_an_attempt_that_is_void_leaves_the_screen_and_the_next_takes_its_place() -> None:
    async with on_stage(size=(80, 24), values={"ui.motion": True}) as (app, services, pilot):
        error = ProviderError(ErrorKind.OVERLOADED, "overloaded")
        services.chat.publish(*scenes.begun(), *scenes.words("Half an ans", index=0))
        await shows(pilot, app, "Half an ans")
        services.chat.publish(AttemptReset("live", 1, 1, error), RetryScheduled("live", 8.0, 2, error))
        await shows(pilot, app, "waiting to try again")
        assert "Half an ans" not in seen(app)
        services.chat.publish(RequestStarted("live", 1, 2, scenes.OPUS, scenes.PLAN), *scenes.words("Whole.", index=0))
        await shows(pilot, app, "Whole.")


async def test_an_attempt_that_said_nothing_leaves_no_head_behind() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        error = ProviderError(ErrorKind.RATE_LIMIT, "slow down")

        def has_head() -> bool:  # between the title bar and the status line, which name the model too
            return any("claude-opus-5 · high" in row for row in seen(app).splitlines()[1:-3])

        services.chat.publish(*scenes.begun())
        await until(pilot, has_head)
        services.chat.publish(RetryScheduled("live", 8.0, 2, error))
        await until(pilot, lambda: not has_head())
        services.chat.publish(RequestStarted("live", 1, 2, scenes.OPUS, scenes.PLAN))
        await until(pilot, has_head)
        services.chat.publish(TurnFailed(Turn(id="live", messages=()), error))
        await shows(pilot, app, "✗ slow down")
        assert not has_head()


async def test_a_tool_call_says_what_it_does_how_it_went_and_opens() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        call = [
            scenes.streamed(BlockStarted(0, "tool_call", name="grep", call_id="c1")),
            scenes.streamed(ToolArgsDelta(0, '{"pattern": "class Drake"}')),
            scenes.streamed(BlockFinished(0)),
        ]
        services.chat.publish(*scenes.begun(), *call)
        await shows(pilot, app, "│ ◌ grep   class Drake")
        services.chat.publish(*scenes.ended("")[:1], ToolStarted("live", "c1", "grep", "{}"))
        await until(pilot, lambda: row_with(app, "◐ grep").endswith(" running"))
        result = ToolResultBlock(call_id="c1", name="grep", content=(TextBlock(text="drake.py:4"),), note="1 hit")
        services.chat.publish(ToolFinished("live", "c1", result, 0.4))
        await until(pilot, lambda: row_with(app, "│ ✓ grep   class Drake").endswith(" 1 hit · 0.4 s"))
        await pilot.press("alt+up", "space")
        await until(pilot, lambda: "drake.py:4" in seen(app) and '"pattern"' in seen(app))


async def test_arguments_too_long_to_parse_for_a_line_are_shown_as_written() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        arguments = '{"content": "' + "word " * 200_000 + '"}'
        written = ToolCallBlock(call_id="c1", name="write", arguments=arguments)
        message = replace(scenes.answer("", 99), blocks=(written,))
        call = [
            scenes.streamed(BlockStarted(0, "tool_call", name="write", call_id="c1")),
            scenes.streamed(ToolArgsDelta(0, arguments[:700_000])),
            scenes.streamed(ToolArgsDelta(0, arguments[700_000:])),
            scenes.streamed(BlockFinished(0)),
        ]
        services.chat.publish(*scenes.begun(), *call)
        await shows(pilot, app, '◌ write  {"content": "word word')
        services.chat.publish(MessageCompleted("live", 0, message), ToolStarted("live", "c1", "write", "{}"))
        await shows(pilot, app, "◐ write")
        drawn = [block for section in app.chat.transcript.column.sections for block in section.blocks]
        (shown,) = [block for block in drawn if isinstance(block, ToolCall)]
        assert shown.detail[0][1] is arguments


async def test_a_call_the_user_said_no_to_is_denied_and_not_failed() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        call = [
            scenes.streamed(BlockStarted(0, "tool_call", name="shell", call_id="c1")),
            scenes.streamed(ToolArgsDelta(0, '{"command": "rm -rf build"}')),
            scenes.streamed(BlockFinished(0)),
        ]
        services.chat.publish(*scenes.begun(), *call, *scenes.ended("")[:1], ToolStarted("live", "c1", "shell", "{}"))
        services.chat.publish(ApprovalSettled("live", "c1", allowed=False))
        await until(pilot, lambda: row_with(app, "│ ⊘ shell  rm -rf build").endswith(" denied"))
        said = (TextBlock(text=f"{DENIED} The user says: use make"),)
        result = ToolResultBlock(call_id="c1", name="shell", content=said, failed=True)
        services.chat.publish(ToolFinished("live", "c1", result, 0.0))
        await until(pilot, lambda: row_with(app, "│ ⊘ shell  rm -rf build").endswith(" denied"))
        assert "failed" not in seen(app)


async def test_a_call_that_was_stopped_is_not_shown_as_failed() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        call = [
            scenes.streamed(BlockStarted(0, "tool_call", name="server__look", call_id="c1")),
            scenes.streamed(ToolArgsDelta(0, '{"at": "here"}')),
            scenes.streamed(BlockFinished(0)),
        ]
        services.chat.publish(*scenes.begun(), *call, *scenes.ended("")[:1], ToolStarted("live", "c1", "look", "{}"))
        said = (TextBlock(text=INTERRUPTED),)
        result = ToolResultBlock(call_id="c1", name="server__look", content=said, failed=True)
        services.chat.publish(ToolFinished("live", "c1", result, 2.0))
        await until(pilot, lambda: "stopped · 2.0 s" in row_with(app, "│ ⊘ server__look"))
        assert "failed" not in seen(app)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("still", [{"ui.motion": False}, {"ui.plain": True, "ui.motion": True}])
async def test_where_nothing_is_to_move_states_are_told_without_a_clock(still: dict[str, object]) -> None:
    async with on_stage(size=(80, 24), values=still) as (app, services, pilot):
        services.chat.publish(*scenes.begun())
        await shows(pilot, app, "· waiting    ")
        error = ProviderError(ErrorKind.OVERLOADED, "overloaded")
        services.chat.publish(AttemptReset("live", 1, 1, error), RetryScheduled("live", 8.0, 2, error))
        await shows(pilot, app, "· waiting to try again")


async def test_a_composer_that_grows_and_shrinks_again_does_not_let_go_of_the_tail() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, _, pilot):
        before = seen(app)
        await pilot.press("x", "ctrl+j", "ctrl+j", "y")
        await until(pilot, lambda: app.chat.composer.size.height == 3 and "$0" in seen(app))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: seen(app) == before)
        assert app.chat.transcript.column.following


async def test_scrolling_up_lets_go_of_the_tail_and_end_takes_hold_again() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("First line.\n\n", index=0))
        await shows(pilot, app, "First line.")
        await pilot.press("pageup")
        before = [line[:78].rstrip() for line in seen(app).splitlines()[1:12]]
        services.chat.publish(
            *[scenes.streamed(event.event) for event in scenes.words(*["More.\n\n"] * 20, index=0)[1:]]
        )
        await shows(pilot, app, " ↓ ")
        assert [line[:78].rstrip() for line in seen(app).splitlines()[1:12]] == before
        await pilot.press("ctrl+end")
        await until(pilot, lambda: " ↓ " not in seen(app) and "More." in seen(app))


async def test_the_view_of_all_thinking_steps_with_one_key() -> None:
    async with on_stage(scenes.turn("q", "a", 1, LONG), size=(100, 60)) as (app, _, pilot):
        assert "Thought number 4." not in seen(app)
        await pilot.press("ctrl+o")
        assert "Thought number 4." in seen(app)
        assert "… 49 more lines" in seen(app)
        await pilot.press("ctrl+o")
        assert "Thought number 12." in seen(app)
        await pilot.press("ctrl+o")
        assert "Thought number 4." not in seen(app)


async def test_thinking_can_be_taken_off_the_screen_and_comes_back() -> None:
    async with on_stage(scenes.turn("q", "a", 1, LONG), size=(100, 30)) as (app, services, pilot):
        assert "Thought 38 s" in seen(app)
        await services.settings.assign("reasoning.includeInResponse", "false")
        await until(pilot, lambda: "Thought 38 s" not in seen(app))
        await services.settings.assign("reasoning.includeInResponse", "true")
        await shows(pilot, app, "Thought 38 s")


async def test_another_history_is_drawn_anew() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, services, pilot):
        services.chat.publish(HistoryChanged((scenes.turn("Only this", "is left."),)))
        await shows(pilot, app, "is left.")
        assert "L = 10,000" not in seen(app)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 12), (250, 70)])
async def test_no_size_is_too_small_or_too_large(size: tuple[int, int]) -> None:
    async with on_stage(*scenes.CONVERSATION, size=size) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.thinking(LONG), *scenes.words(scenes.ANSWER))
        await pilot.pause(0.1)
        await pilot.resize_terminal(80, 24)
        await shows(pilot, app, "where the numbers come")


async def test_settings_heard_of_do_not_disturb_a_running_answer() -> None:
    async with on_stage(size=(100, 30)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("Still ", index=0), SettingsChanged({"context.limit": 9}))
        services.chat.publish(*scenes.words("here.", index=0)[1:])
        await shows(pilot, app, "Still here.")


async def test_an_attempt_that_is_void_leaves_the_screen_also_where_something_was_said_below_it() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        error = ProviderError(ErrorKind.OVERLOADED, "overloaded")
        services.chat.publish(*scenes.begun(), *scenes.words("Half an ans", index=0))
        services.chat.publish(Notice(Severity.WARNING, "The model repeats itself."))
        await shows(pilot, app, "The model repeats itself.")
        services.chat.publish(AttemptReset("live", 1, 1, error))
        await until(pilot, lambda: "Half an ans" not in seen(app))
        assert "The model repeats itself." in seen(app)


async def test_what_concerns_only_the_running_turn_goes_with_its_end() -> None:
    async with on_stage(size=(80, 24)) as (app, services, pilot):
        services.chat.publish(*scenes.begun(), *scenes.words("Half an answer", index=0))
        await shows(pilot, app, "Half an answer")  # there is a conversation that says the rest
        services.chat.publish(Notice(Severity.WARNING, "The model repeats itself.", "Stop it.", until_turn_ends=True))
        services.chat.publish(Notice(Severity.WARNING, "Another model answers."))
        await shows(pilot, app, "The model repeats itself.")
        services.chat.publish(*scenes.ended("Half an answer"))
        await until(pilot, lambda: "repeats itself" not in seen(app) and "Stop it." not in seen(app))
        assert "Half an answer" in seen(app)
        assert "Another model answers." in seen(app)
