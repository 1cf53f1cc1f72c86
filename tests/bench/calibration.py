"""How good the token estimates are on recorded requests: before calibration, after, and within conversations.

    python -m tests.bench.calibration [CORPUS]

Each request is estimated with what was learned from the requests before it, as the program does it: per model over
conversations, and anchored inside one. Errors are against the input tokens that the provider reported.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.recorded_outgoing import Sample, samples
from tui.context.calibration import Anchor, Calibration
from tui.context.meter import tally

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


@dataclass(frozen=True)
class Scored:
    """One exchange and how far off the estimates were, as a share of what was reported."""

    sample: Sample
    plain: float
    learned: float
    within: float


def scored(recorded: list[Sample]) -> list[Scored]:
    """Every exchange in order, each judged with what was known then."""
    calibration = Calibration()
    anchors: dict[str, Anchor] = {}
    found = []
    for sample in recorded:
        counted = tally(_counted(sample), (), sample.facts, system=sample.system, tools=sample.tools)
        estimate = counted.estimate
        anchor = anchors.get(sample.case)
        found.append(
            Scored(
                sample,
                _error(estimate, sample),
                _error(calibration.predict(counted.key, estimate), sample),
                _error(calibration.predict(counted.key, estimate, anchor), sample),
            )
        )
        calibration = calibration.learned(counted.key, estimate, sample.reported)
        anchors[sample.case] = Anchor(estimate=estimate, reported=sample.reported)
    return found


def _counted(sample: Sample):
    """Recorded messages as of the turn that is running, which is what recordings are."""
    messages = tuple(
        replace(message, in_open_loop=True, source_id=f"m{number}")
        for number, message in enumerate(sample.outgoing.messages)
    )
    return replace(sample.outgoing, messages=messages)


def _error(estimate: int, sample: Sample) -> float:
    return abs(estimate - sample.reported) / sample.reported


def line(name: str, errors: list[float]) -> str:
    """One row of the report."""
    if not errors:
        return f"{name:44} nothing to compare"
    ordered = sorted(errors)
    ninety = ordered[int(len(ordered) * 0.9)]
    return (
        f"{name:44} n={len(errors):4}  median {statistics.median(ordered):6.1%}  "
        f"p90 {ninety:6.1%}  worst {ordered[-1]:6.1%}"
    )


def main(corpus: Path) -> None:
    """Print the report."""
    found = scored(list(samples(corpus)))
    print(line("before calibration, all requests", [each.plain for each in found]))
    by_family = defaultdict(list)
    for each in found:
        by_family[each.sample.facts.tokenizer or "(unknown)"].append(each.plain)
    for family, errors in sorted(by_family.items()):
        print(line(f"  {family}", errors))
    print(line("calibrated per model, all requests", [each.learned for each in found]))
    print(line("second exchange of a conversation", [e.within for e in found if e.sample.exchange == 1]))
    late = [each for each in found if each.sample.exchange >= 2]
    print(line("from the third exchange on", [each.within for each in late]))
    for each in sorted(late, key=lambda scored: -scored.within)[:5]:
        print(f"    {each.within:6.1%} {each.sample.case} exchange {each.sample.exchange + 1}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS)
