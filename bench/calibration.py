"""How good the token estimates are on recorded requests: before calibration, after, and within conversations.

    python -m bench.calibration [CORPUS]

Each request is estimated with what was learned from the requests before it, as the program does it: per model over
conversations, and anchored inside one. Errors are against the input tokens that the provider reported.

The constants of ``token_weights`` were fitted on the recordings of ``FITTED_ON``. The others were kept aside.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.recorded_outgoing import Sample, samples
from tui.context.calibration import Anchor, Calibration, calibration_key
from tui.context.meter import Tally, tally, updated_calibration
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import Outgoing, OutgoingMessage, Reason, Verdict
from tui.domain.usage import Usage

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

FITTED_ON = frozenset({"rig", "otel"})
"""Recorders (the word before ``--`` in a case's name) whose recordings the constants were fitted on."""
LONG_REQUEST = 1_000
"""Reported tokens from which an error is judged as a share."""


@dataclass(frozen=True)
class Scored:
    """One exchange and how far off the estimates were, as a share of what was reported."""

    sample: Sample
    plain: float
    learned: float
    within: float
    estimate: int

    @property
    def kept_aside(self) -> bool:
        """Whether no constant was fitted on this recording."""
        return self.sample.recorder not in FITTED_ON


def scored(recorded: list[Sample]) -> list[Scored]:
    """Every exchange in order, each judged with what was known then."""
    calibration = Calibration()
    before: dict[str, tuple[Sample, Anchor]] = {}
    answers: dict[str, dict[int, Usage]] = defaultdict(dict)
    found = []
    for sample in recorded:
        earlier, anchor = before.get(sample.case, (None, None))
        if earlier is not None:
            answers[sample.case][len(earlier.outgoing.messages)] = earlier.usage
        counted = _counted(sample, answers[sample.case], calibration)
        estimate = counted.estimate
        since = None if anchor is None else counted.with_answer(anchor, followed=True)
        found.append(
            Scored(
                sample,
                _error(estimate, sample),
                _error(calibration.predict(counted.key, estimate, tools=counted.tools), sample),
                _error(calibration.predict(counted.key, estimate, since, tools=counted.tools), sample),
                estimate,
            )
        )
        calibration = updated_calibration(calibration, counted, sample.reported, anchor, sample.facts.counted)
        before[sample.case] = sample, _counted(sample, answers[sample.case], calibration).anchor(sample.reported)
    return found


def _counted(sample: Sample, answered: dict[int, Usage], calibration: Calibration) -> Tally:
    """The tally of a recording; ``answered`` is the reported usage of its answers, by their place."""
    counts = calibration.counted_thinking(calibration_key(sample.facts.provider, sample.facts.id), sample.facts.counted)
    turns = _turns(sample.outgoing.messages, answered)
    stored = [message for turn in turns for message in turn.messages]
    running = {message.id for message in turns[-1].messages} if turns else set()
    sent = tuple(
        OutgoingMessage(
            role=message.role, blocks=message.blocks, source_id=message.id, in_open_loop=message.id in running
        )
        for message in stored
    )
    verdicts = tuple(
        Verdict(message_id=message.id, block=place, kind=block.kind, sent=True, reason=Reason.SENT)
        for message in stored
        for place, block in enumerate(message.blocks)
    )
    return tally(
        Outgoing(messages=sent, verdicts=verdicts),
        turns,
        replace(sample.facts, counted=counts),
        system=sample.system,
        tools=sample.tools,
        thinks=sample.thinks,
    )


def _turns(messages: tuple[OutgoingMessage, ...], answered: dict[int, Usage]) -> list[Turn]:
    """The recorded messages as they would be stored: what one answer holds in one message, prompts begin turns."""
    turns: list[list[Message]] = []
    for message in _whole(messages, answered):
        if message.role is Role.USER or not turns:
            turns.append([])
        turns[-1].append(message)
    return [Turn(id=f"t{number}", messages=tuple(turn)) for number, turn in enumerate(turns)]


def _whole(messages: tuple[OutgoingMessage, ...], answered: dict[int, Usage]) -> Iterator[Message]:
    open_: Message | None = None
    for place, message in enumerate(messages):
        if open_ is not None and message.role is Role.ASSISTANT and place not in answered:
            open_ = replace(open_, blocks=(*open_.blocks, *message.blocks))
            continue
        if open_ is not None:
            yield open_
        open_ = Message(id=f"m{place}", role=message.role, blocks=message.blocks, usage=answered.get(place))
    if open_ is not None:
        yield open_


def _error(estimate: int, sample: Sample) -> float:
    return abs(estimate - sample.reported) / sample.reported


def line(name: str, errors: list[float]) -> str:
    """One row of the report."""
    if not errors:
        return f"{name:52} nothing to compare"
    ordered = sorted(errors)
    ninety = ordered[int(len(ordered) * 0.9)]
    return (
        f"{name:52} n={len(errors):4}  median {statistics.median(ordered):6.1%}  "
        f"p90 {ninety:6.1%}  worst {ordered[-1]:6.1%}"
    )


def report(found: list[Scored]) -> Iterator[str]:
    """The figures of some exchanges."""
    yield line("before calibration, all requests", [each.plain for each in found])
    by_family = defaultdict(list)
    for each in found:
        by_family[each.sample.facts.tokenizer or "(unknown)"].append(each.plain)
    for family, errors in sorted(by_family.items()):
        yield line(f"  {family}", errors)
    long = [each for each in found if each.sample.reported >= LONG_REQUEST]
    yield line("before calibration, 1,000 tokens or more", [each.plain for each in long])
    yield line("calibrated per model, all requests", [each.learned for each in found])
    later = [each for each in found if each.sample.exchange >= 1]
    yield line("from the second exchange of a conversation on", [each.within for each in later])
    late = [each for each in later if each.sample.reported >= LONG_REQUEST]
    yield line("  of 1,000 tokens or more", [each.within for each in late])
    for each in sorted(late, key=lambda scored: -scored.within)[:3]:
        yield f"    {each.within:6.1%} {each.sample.case} exchange {each.sample.exchange + 1}"


def main(corpus: Path) -> None:
    """Print the report."""
    found = scored(list(samples(corpus)))
    for name, part in (("FITTED ON", False), ("KEPT ASIDE", True)):
        print(f"{name}: {', '.join(sorted({each.sample.recorder for each in found if each.kept_aside is part}))}")
        print("\n".join(report([each for each in found if each.kept_aside is part])), end="\n\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS)
