"""A body cut short is never taken for a whole one."""

from __future__ import annotations

import os
import random
import re
from zlib import crc32

import pytest

from tests.corpus_cases import WIRES, Case, own_cases
from tests.wires.recordings import Read, read, streams_of
from tui.catalog.facts import Quirks
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.stream import ResponseFinished, ResponseStarted

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
CUTS = 200 if os.environ.get("PONDER_LONG") else 6
TAGS_ARE_TEXT = Quirks(think_tags="never")
"""A tag cut in half is text until its end comes: prefixes are compared without reading tags."""


def check(case: Case, whole: Read, cut: int) -> None:
    part = read(case, [case.body[:cut]], quirks=TAGS_ARE_TEXT)
    where = f"{case} at {cut}"
    finished = sum(isinstance(event, ResponseFinished) for event in part.events)
    assert finished == (part.fault is None), where
    for kind in (TextBlock, ThinkingBlock):
        if whole.fault is None and not began_anew(whole):
            assert is_beginning(part.said(kind), whole.said(kind)), where
    if part.fault is None:
        assert part.complete, where
        assert part.blocks() == whole.blocks(), where


def began_anew(whole: Read) -> bool:
    """The server took back what it had said: what came before is no beginning of the whole."""
    return any(isinstance(event, ResponseStarted) and event.restarted for event in whole.events)


def is_beginning(part: str, whole: str) -> bool:
    return whole.startswith(part.removesuffix("\ufffd"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wire", WIRES)
def test_a_recording_cut_short_is_an_error_with_what_came_before_it(wire):
    for case in streams_of(wire):
        whole = read(case, [case.body], quirks=TAGS_ARE_TEXT)
        for cut in random.Random(1).choices(range(len(case.body) + 1), k=CUTS):
            check(case, whole, cut)
        check(case, whole, len(case.body) - 1)


def some_places(case: Case) -> list[int]:
    """Every third place, not the same in all cases, and those beside the ends of lines."""
    first = crc32(str(case).encode())
    beside = {end.start() + step for end in re.finditer(rb"[\r\n]", case.body) for step in (-1, 0, 1, 2)}
    return [cut for cut in range(len(case.body)) if (cut + first) % 3 == 0 or cut in beside]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", [case for case in own_cases() if case.status < 400], ids=str)
def test_a_small_body_cut_anywhere_is_an_error_with_what_came_before_it(case):
    whole = read(case, [case.body], quirks=TAGS_ARE_TEXT)
    for cut in range(len(case.body)) if os.environ.get("PONDER_LONG") else some_places(case):
        check(case, whole, cut)
