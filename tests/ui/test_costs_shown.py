"""What was paid and what would be folded, where it is shown: sidebar, status line, wire inspector."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.stage import on_stage, screen_text, until
from tui.context.bill import bill_of
from tui.domain.blocks import TextBlock
from tui.domain.compression import CompressionPreview, SummaryRun
from tui.domain.cost import paid_in
from tui.domain.events import CompressionFinished
from tui.domain.messages import CANCELLED
from tui.domain.stream import Finish, Stop
from tui.domain.usage import Usage
from tui.ui.chat.status_line import status_of
from tui.ui.dialogs.inspector import bill_page, parts_page
from tui.ui.markdown.runs import plain
from tui.ui.panels.meter_lines import bill_lines
from tui.ui.transcript.usage_line import bill_of as bill_line
from tui.ui.transcript.usage_line import usage_line

RUN = SummaryRun(
    id="r1",
    turn="t1",
    origin=replace(scenes.ORIGIN, model="claude-haiku-5"),
    usage=Usage(input=900, output=80, total=980),
    cost=0.02,
)
TURN = scenes.turn("Why?", "Because.", 1, "Let me see.")


def test_the_sidebar_has_summaries_in_the_sum_and_on_a_line_of_their_own() -> None:
    assert bill_lines(1, (*paid_in((TURN,)), RUN), 30).plain.splitlines() == [
        "1 turn                   $0.38",
        "summaries               $0.020",
        "thinking        87 % of output",
    ]
    assert bill_lines(1, (*paid_in((TURN,)), replace(RUN, cost=None)), 30).plain.splitlines()[:2] == [
        "1 turn          at least $0.36",
        "summaries              unknown",
    ]


def test_several_models_have_lines_of_their_own() -> None:
    other = scenes.turn("And?", "So.", 2)
    answer = replace(other.messages[1], origin=replace(scenes.ORIGIN, model="claude-haiku-5"), cost=None)
    other = replace(other, messages=(other.messages[0], answer))
    assert bill_lines(2, tuple(paid_in((TURN, other))), 30).plain.splitlines() == [
        "2 turns         at least $0.36",
        "claude-opus-5            $0.36",
        "claude-haiku-5         unknown",
        "thinking      ≥ 43 % of output",
    ]


def test_the_status_line_counts_summaries_when_they_come_and_when_the_session_is_opened_again() -> None:
    chat = FakeChat((TURN,))
    chat.publish(CompressionFinished(9, 5, "x", runs=(RUN,)))
    assert status_of(chat.attach()[0], 0.0, full=True).cost == "$0.38"


async def test_the_inspector_says_what_would_be_folded_and_what_was_paid() -> None:
    chat = FakeChat((TURN,))
    would = CompressionPreview(
        turns=("t1", "t2"),
        prompts=("Why?", "And?"),
        verbatim=(),
        writer="anthropic/claude-haiku-5",
        before=62_400,
        compressed_tokens=50_000,
        after=14_000,
    )
    preview = replace(await chat.preview(""), compression=would)
    lines = [plain(line) for line in parts_page(preview, (TURN,), bill_of((*paid_in((TURN,)), RUN)))(100)]
    start = lines.index(
        "/compress would compress 2 turns: 62.4k → ≈14k tokens   anthropic/claude-haiku-5 writes the summary"
    )
    assert lines[start + 1 : start + 10] == [
        "  Why?",
        "  And?",
        "",
        "Cost: $0.38",
        "  anthropic/claude-opus-5   in 8.2k (6.1k cached) · out 1.9k · $0.36",
        "    thinking 12.4k · 87% of the output · cost unknown",
        "  anthropic/claude-haiku-5 for summaries   in 900 · out 80 (with thinking) · $0.020",
        "    thinking unknown",
        "",
    ]


def test_the_usage_line_has_what_was_read_from_and_written_to_the_cache() -> None:
    answer = TURN.messages[1]

    def said(read: int | None, written: int | None) -> str:
        usage = Usage(input=8_200, cache_read=read, cache_write=written, output=100)
        return bill_line([replace(answer, usage=usage)]).partition(" · ")[0]

    assert said(6_100, 1_200) == "in 8.2k (6.1k cached, 1.2k written)"
    assert said(6_100, 0) == "in 8.2k (6.1k cached)"
    assert said(0, 1_200) == "in 8.2k (1.2k written)"
    assert said(None, None) == "in 8.2k"


def test_the_usage_line_names_the_reason_of_an_end_that_nobody_knows() -> None:
    answer = replace(TURN.messages[1], stop=Stop(Finish.OTHER, "preempted"))
    line = usage_line(answer, (answer,))
    assert line is not None
    line.height(100)
    assert plain(line.line(0)).startswith("⚠ ended in an unusual way: preempted · ")


def test_the_usage_line_says_how_long_the_first_token_took_and_how_fast_the_others_came() -> None:
    answer = replace(TURN.messages[1], seconds=44.0, first_token_s=0.8, cost=0.36)
    said = "in 8.2k (6.1k cached) · out 1.9k · thinking 12.4k · 44 s"
    line = usage_line(answer, (answer,))
    assert line is not None
    shown = [plain(line.line(0)) for width in (100, 80, 66, 50) if line.height(width) == 1]
    assert shown == [
        f"{said} · first token 0.8 s · 331 tok/s · $0.36",
        f"{said} · 331 tok/s · $0.36",
        f"{said} · $0.36",
        "in 8.2k · out 1.9k · thinking 12.4k · 44 s · $0.36",
    ]
    silent = replace(answer, blocks=(TextBlock(text="So."),))
    assert bill_line([silent]) == f"{said} · first token 0.8 s · 44 tok/s · $0.36"
    assert bill_line([replace(answer, seconds=1.0)]).endswith(" · 1.0 s · first token 0.8 s · $0.36")
    assert bill_line([answer, replace(answer, first_token_s=None)]).endswith(" · 1 m 28 s · 331 tok/s · $0.72")


def test_the_usage_line_of_a_stopped_turn_has_no_counts_that_ended_early() -> None:
    usage = Usage(input=1_200, output=1)
    stopped = replace(TURN.messages[1], usage=usage, interrupted=CANCELLED, stop=None, seconds=13.0, first_token_s=0.8)
    assert bill_line([replace(stopped, cost=0.006)]) == "in 1.2k · 13 s · first token 0.8 s · at least $0.0060"
    assert bill_line([replace(stopped, cost=0.0)]) == "in 1.2k · 13 s · first token 0.8 s · $0", "free, not unknown"


def test_the_sidebar_and_the_inspector_say_what_the_cache_saved() -> None:
    paid = tuple(paid_in((TURN,)))
    assert bill_lines(1, paid, 30, saved=0.41).plain.splitlines()[-1] == "saved by the cache       $0.41"
    bill = bill_of(paid, None, lambda _origin, _usage: -0.02)
    lines = [plain(line) for line in bill_page(bill)]
    assert "    saved by the cache -$0.020" in lines


@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [80, 120])
async def test_the_meter_of_the_status_line_stays_where_it_is_while_something_runs(width: int) -> None:
    async with on_stage(*scenes.CONVERSATION, size=(width, 24), values={"ui.sidebar": "off"}) as (app, services, pilot):
        title, *_, status, _keys = screen_text(app).splitlines()
        assert "claude-opus-5" not in title
        assert "31 %" not in title
        assert all(fact in status for fact in ("claude-opus-5 · high", "31 %", "at least $0.72"))
        place = status.index("31 %")
        services.chat.publish(*scenes.begun())
        await until(pilot, lambda: "waiting" in screen_text(app).splitlines()[-2])
        assert screen_text(app).splitlines()[-2].index("31 %") == place
        services.chat.publish(*scenes.thinking("Hm."))
        await until(pilot, lambda: "thinking" in screen_text(app).splitlines()[-2])
        busy = screen_text(app).splitlines()[-2]
        assert busy.index("31 %") == place
        assert "at least $0.72" in busy
