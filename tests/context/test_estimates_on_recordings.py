"""Estimates beside what providers reported, on recorded exchanges; ``tests.bench.calibration`` prints the figures."""

import statistics

from tests.bench.calibration import scored
from tests.bench.recorded_outgoing import samples


def test_estimates_are_near_before_anything_is_learned_and_very_near_inside_a_conversation(shared_corpus):
    found = scored(list(samples(shared_corpus)))
    within = [each.within for each in found if each.sample.exchange >= 2]
    assert len(within) > 20
    assert statistics.median(within) < 0.03
    assert max(within) < 0.10
    assert statistics.median(each.plain for each in found) < 0.15
    assert statistics.median(each.learned for each in found) < statistics.median(each.plain for each in found)
