"""Hand-made bodies, each for one oddity, against figures written down by hand.

A bug in a wire starts with a case here.
"""

from __future__ import annotations

import pytest

from tests.corpus_cases import Case, own_cases
from tui.catalog.facts import Quirks
from tui.cli.wire.decode import as_recorded, decoded, report
from tui.domain.messages import WireName
from tui.wires.wire import wire_named

ANY = "*"
"""Stands in ``expect.json`` for what only has to be there (the words of our own errors)."""


def same(ours: object, expected: object) -> object:
    if expected == ANY:
        return ANY
    if isinstance(ours, dict) and isinstance(expected, dict):
        return {key: same(value, expected.get(key)) for key, value in ours.items()}
    return ours


@pytest.mark.parametrize("case", own_cases(), ids=str)
def test_a_hand_made_body_is_reported_as_written_down(case: Case):
    wire = WireName(case.wire)
    recording = decoded(
        wire_named(wire), as_recorded(Quirks()), case.body, status=case.status, content_type=case.content_type
    )

    assert same(report(wire, recording), case.expected) == case.expected


def test_every_wire_has_cases():
    assert {case.wire for case in own_cases()} == {name.value for name in WireName}
