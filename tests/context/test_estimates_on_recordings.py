"""Estimates beside what providers reported, on recorded exchanges; ``bench.calibration`` prints the figures.

The constants were fitted on the recordings of some recorders (``FITTED_ON``) and are measured on those of the others.
Too few of those are long, so requests inside a conversation, which depend on no fitted constant but the frames, are
measured on all recordings.
"""

import statistics

import pytest

from bench.calibration import FITTED_ON, LONG_REQUEST, Scored, scored
from bench.recorded_outgoing import samples


@pytest.fixture(scope="module")
def found(shared_corpus) -> list[Scored]:
    return scored(list(samples(shared_corpus)))


def test_before_calibration_recordings_kept_aside_are_estimated_within_12_percent(found):
    aside = [each for each in found if each.kept_aside]
    assert len(aside) > 200
    assert not {each.sample.recorder for each in aside} & FITTED_ON
    assert statistics.median(each.plain for each in aside) < 0.12
    assert statistics.median(each.learned for each in aside) < statistics.median(each.plain for each in aside)


def test_long_requests_of_a_conversation_are_within_10_percent(found):
    later = [e.within for e in found if e.sample.exchange >= 1 and e.sample.reported >= LONG_REQUEST]
    assert len(later) > 10
    assert statistics.median(later) < 0.03
    assert max(later) < 0.10


def test_short_requests_of_a_conversation_are_near_too(found):
    for part in (True, False):
        later = [each.within for each in found if each.sample.exchange >= 1 and each.kept_aside is part]
        assert len(later) > 80
        assert statistics.median(later) < 0.06
    late = [each.within for each in found if each.sample.exchange >= 2]
    assert len(late) > 20
    assert max(late) < 0.10
