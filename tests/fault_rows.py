"""Which kinds of fault were shown to end well: rows of transport (T), framing (F), wires (W) and providers (P).

A test that is about some is named after them, ``test_T01_…`` or ``test_F02_F03_…``; the end of a run over faults says
how many of all rows were shown.
"""

from __future__ import annotations

import re

import pytest

ROWS = {"T": 20, "F": 14, "W": 20, "P": 13}
"""Rows of each kind, numbered from 1."""
_NAMED = re.compile(r"::test_((?:[TFWP]\d\d_)+)")

_shown: set[str] = set()
_failed: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which rows a test was about."""
    named = _NAMED.search(report.nodeid)
    if named is None or not (report.when == "call" or report.failed):
        return
    (_failed if report.failed else _shown if report.passed else set()).update(named[1].strip("_").split("_"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it, where faults were asked for or all kinds were looked at."""
    asked = "faults" in terminalreporter.config.getoption("keyword")
    if asked or {row[0] for row in _shown | _failed} == set(ROWS):
        terminalreporter.write_line(summary(_shown, _failed))


def summary(shown: set[str], failed: set[str]) -> str:
    """How many rows of each kind, and which are missing."""
    rows = {kind: {f"{kind}{number:02}" for number in range(1, count + 1)} for kind, count in ROWS.items()}
    good = shown - failed
    counts = ", ".join(f"{kind} {len(good & all_)} of {len(all_)}" for kind, all_ in rows.items())
    missing = sorted(set().union(*rows.values()) - good)
    return f"fault rows shown: {counts}" + (f"; not shown: {' '.join(missing)}" if missing else "; none missing")
