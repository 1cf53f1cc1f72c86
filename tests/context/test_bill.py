"""What a session cost, by model, with thinking as its own line."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.context.aims import CLAUDE, DEEPSEEK, answer, turn, user
from tui.catalog.prices import cache_savings, flat_price
from tui.context.bill import Bill, ModelBill, bill_of
from tui.domain.compression import SummaryRun
from tui.domain.cost import Cost, money, paid_in
from tui.domain.stream import Finish, Stop
from tui.domain.usage import Usage

USED = Usage(input=1_000, cache_read=400, output=2_000, thinking=1_500, total=3_000)


def said(number, goal=CLAUDE, **more):
    return turn(f"t{number}", user(f"u{number}", "why?"), answer(goal, f"a{number}", "because", **more))


def output_rate(origin):
    return 25.0 if origin.provider == "anthropic" else None


def test_a_session_is_billed_by_model_the_dearest_first():
    turns = (said(1, DEEPSEEK, usage=USED, cost=0.001), said(2, usage=USED, cost=0.05), said(3, usage=USED, cost=0.03))
    assert bill_of(paid_in(turns), output_rate) == Bill(
        models=(
            ModelBill(
                name="anthropic/claude-opus-5", responses=2, unpriced=0, input=2_000, cached=800, output=4_000,
                thinking=3_000, dollars=0.08, thinking_dollars=0.0375 + 0.03,
            ),
            ModelBill(
                name="deepseek/deepseek-v4-pro", responses=1, unpriced=0, input=1_000, cached=400, output=2_000,
                thinking=1_500, dollars=0.001, thinking_dollars=None,
            ),
        )
    )  # fmt: skip
    assert bill_of(paid_in(turns), output_rate).cost.amount == "$0.081"


def test_the_thinking_line_never_costs_more_than_the_whole():
    [row] = bill_of(paid_in((said(1, usage=USED, cost=0.01),)), output_rate).models
    assert (row.thinking_dollars, row.thinking_share) == (0.01, 1.0)


def test_without_dollars_the_share_of_thinking_is_one_of_tokens():
    [row] = bill_of(paid_in((said(1, DEEPSEEK, usage=USED),))).models
    assert (row.dollars, row.thinking_share) == (None, 0.75)


def test_what_is_unknown_is_said_so_and_never_counted_as_nothing():
    nothing = bill_of(paid_in((said(1, usage=Usage()),)))
    assert (nothing.cost.amount, nothing.models[0].input, nothing.complete) == ("unknown", None, False)
    partly = bill_of(paid_in((said(1, usage=Usage()), said(2, usage=USED, cost=0.5))))
    assert (partly.cost.amount, partly.complete) == ("at least $0.50", False)
    assert bill_of(()).cost.amount == ""


def test_an_attempt_that_was_retried_is_paid_for_too():
    retried = turn("t", user("u", "x"), answer(CLAUDE, "a", "half", usage=USED, cost=0.02, superseded=True))
    assert bill_of(paid_in((retried,))).dollars == 0.02


def test_todays_prices_change_no_cost_so_that_every_place_shows_the_same():
    unpriced = (said(1, usage=USED),)
    assert bill_of(paid_in(unpriced), output_rate).cost == bill_of(paid_in(unpriced)).cost == Cost(unknown=1)


def test_a_stream_that_broke_off_cost_at_least_what_it_reported():
    cut = said(1, usage=USED, cost=0.02, interrupted="cancelled")
    assert bill_of(paid_in((cut,))).cost.amount == "at least $0.020"
    whole = said(1, usage=USED, cost=0.02, interrupted="The model gave an empty answer.", stop=Stop(Finish.STOP))
    assert bill_of(paid_in((whole,))).cost.amount == "$0.020"
    assert bill_of(paid_in((said(1, interrupted="cancelled"),))).cost.amount == "unknown"


def test_thinking_that_was_not_reported_has_no_share():
    [row] = bill_of(
        paid_in((said(1, usage=USED, cost=0.05), said(2, usage=Usage(input=9, output=9)))), output_rate
    ).models
    assert (row.thinking, row.thinking_unknown, row.thinking_share) == (1_500, 1, None)


@pytest.mark.parametrize(
    ("dollars", "words"), [(0.0, "$0"), (0.00014, "$0.00014"), (0.5, "$0.50"), (1234.5, "$1,234.50")]
)
def test_small_sums_keep_the_digits_that_say_something(dollars, words):
    assert money(dollars) == words


def test_what_wrote_summaries_is_a_row_of_its_own_and_in_the_sum():
    paid = SummaryRun(id="r", turn="t1", origin=said(1).messages[1].origin, usage=USED, cost=0.25)
    bill = bill_of((*paid_in((said(1, usage=USED, cost=0.5),)), paid, replace(paid, cost=None)))
    assert [(row.name, row.for_summaries, row.dollars, row.responses) for row in bill.models] == [
        ("anthropic/claude-opus-5", False, 0.5, 1),
        ("anthropic/claude-opus-5", True, 0.25, 2),
    ]
    assert bill.cost.amount == "at least $0.75"


def test_the_cache_saved_what_the_tokens_cost_without_it_minus_what_they_cost():
    when = datetime(2026, 11, 19, tzinfo=UTC)
    price = flat_price({"input": 5, "cache_read": 0.5, "cache_write": 6.25, "cache_write_1h": 10, "output": 25}, "mine")

    def savings(origin, usage):
        return cache_savings(usage, price, when) if origin.provider == "anthropic" else None

    read = Usage(input=100_000, cache_read=80_000, cache_write=0, output=10)
    written = Usage(input=100_000, cache_read=0, cache_write=100_000, cache_write_1h=100_000, output=10)
    bill = bill_of(paid_in((said(1, usage=written), said(2, usage=read), said(3, DEEPSEEK, usage=read))), None, savings)
    by_model = {row.name.partition("/")[0]: row for row in bill.models}
    assert by_model["anthropic"].saved == pytest.approx(0.08 * 4.5 - 0.1 * 5)
    assert (by_model["anthropic"].cached, by_model["anthropic"].written) == (80_000, 100_000)
    assert by_model["deepseek"].saved is None
    assert bill.saved == by_model["anthropic"].saved
    assert money(bill.saved or 0) == "-$0.14"


def test_without_a_cache_or_a_price_nothing_was_saved_and_nothing_is_said():
    assert bill_of(paid_in((said(1, usage=Usage(input=10, output=5)),)), None, lambda *_: 1.0).saved is None
    assert bill_of(paid_in((said(1, usage=USED),))).saved is None
    assert cache_savings(USED, flat_price({"input": 5}, "mine"), datetime(2026, 11, 19, tzinfo=UTC)) is None
