"""The count of faults at the end of a run counts what passed, and names what did not."""

from __future__ import annotations

from tests.fault_rows import ROWS, summary

ALL = {f"{kind}{number:02}" for kind, count in ROWS.items() for number in range(1, count + 1)}


def test_all_rows_are_counted() -> None:
    assert summary(ALL, set()) == ("fault rows shown: T 20 of 20, F 14 of 14, W 20 of 20, P 13 of 13; none missing")


def test_a_row_with_one_failed_test_is_missing() -> None:
    told = summary(ALL - {"T03"}, {"W20"})
    assert told == "fault rows shown: T 19 of 20, F 14 of 14, W 19 of 20, P 13 of 13; not shown: T03 W20"
