"""Chooses effort, budget or switch for a requested level, by the controls of the model. Wire fields are added later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui.catalog.facts import BudgetRange, ThinkingControls
from tui.catalog.model_rows import effort_rank
from tui.catalog.spellings import Spelling
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.thinking import Asked, PlanState, ThinkingLevel

ANSWER_ROOM = 4_096
"""Tokens of the output limit that are reserved for the answer. A larger value reduces the largest budgets."""
SMALLEST_BUDGET = 1_024
"""Budgets are not reduced below this to make room for the answer, because Anthropic refuses less."""

LEVEL_WORDS: Mapping[ThinkingLevel, str] = {
    ThinkingLevel.NONE: "none",
    ThinkingLevel.LOW: "low",
    ThinkingLevel.MED: "medium",
    ThinkingLevel.HIGH: "high",
}
_WORD_LEVELS: Mapping[str, ThinkingLevel] = {
    "none": ThinkingLevel.NONE,
    "minimal": ThinkingLevel.LOW,
    "low": ThinkingLevel.LOW,
    "medium": ThinkingLevel.MED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """The controls of a model that its spelling can express."""

    thinks: bool
    efforts: tuple[str, ...]
    budget: BudgetRange | None
    switch: bool
    """Thinking can be switched off by separate fields."""
    levels: Mapping[str, str]
    cuts: Mapping[str, int]
    levels_by: str

    @property
    def none(self) -> bool:
        """Whether there is no control."""
        return not (self.efforts or self.budget or self.switch)


def controls_of(controls: ThinkingControls, spelled: Spelling) -> Controls:
    """Return the controls that both the model and the spelling have."""
    efforts = tuple(word for word in controls.efforts if word.lower() not in spelled.refuses)
    efforts = efforts if spelled.effort_at else ()
    budget = controls.budget if spelled.budget_at else None
    by = controls.levels_by
    if by == "auto" or (by == "budget" and budget is None) or (by == "effort" and not efforts):
        by = "effort" if efforts else "budget" if budget else "toggle"
    return Controls(
        thinks=controls.thinks,
        efforts=efforts,
        budget=budget,
        switch=controls.can_disable and spelled.off is not None,
        levels=controls.levels,
        cuts=controls.cuts,
        levels_by=by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """Limits of a budget other than the model's."""

    output: int | None = None
    """The output limit of the request."""
    cap: int | None = None
    """The cap of the dynamic budget, if it is active."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen values of the controls."""

    state: PlanState
    effort: str | None = None
    nominal_budget: int | None = None
    budget: int | None = None
    switched: bool = False
    """Only the switch is used, on or off."""
    unlimited: bool = False
    """On without a budget, which is the model's maximum."""
    remarks: tuple[str, ...] = ()


def choose(requested: Asked | str, controls: Controls, bounds: BudgetLimits) -> Choice:
    """Return the choice for a level, a budget in tokens or an effort word."""
    if not controls.thinks:
        return Choice(state=PlanState.UNSUPPORTED)
    if controls.none:
        return Choice(state=PlanState.UNCONTROLLED)
    if requested in (ThinkingLevel.NONE, 0, "none"):
        return _off(controls)
    if isinstance(requested, ThinkingLevel):
        return _level(requested, controls, bounds)
    if isinstance(requested, int):
        return _tokens(requested, controls, bounds)
    return _word(requested, controls, bounds)


def word_level(word: str) -> ThinkingLevel:
    """Return the unified level nearest to an effort word."""
    return _WORD_LEVELS.get(word, ThinkingLevel.HIGH)


def level_budget(span: BudgetRange, level: ThinkingLevel) -> int:
    """Return the level's budget: one, two or three thirds of the range above the minimum."""
    return span.min + level.rank * (span.max - span.min) // 3


def nearest_effort(word: str, efforts: tuple[str, ...]) -> str:
    """Return the requested effort if accepted, else the next higher one, else the highest. Never "none"."""
    real = [effort for effort in efforts if effort.lower() != "none"]
    return next((effort for effort in real if effort_rank(effort) >= effort_rank(word)), real[-1])


def _off(controls: Controls) -> Choice:
    none = next((word for word in controls.efforts if word.lower() == "none"), None)
    if none is not None:
        return Choice(state=PlanState.OFF, effort=none)
    if controls.switch:
        least = controls.budget.min if controls.budget and controls.levels_by == "budget" else None
        return Choice(state=PlanState.OFF, switched=True, nominal_budget=least)
    if controls.budget and controls.levels_by == "budget":
        least = controls.budget.min
        remark = f"This model cannot switch thinking off: using {count(least, 'token')}"
        return Choice(state=PlanState.CANNOT_DISABLE, nominal_budget=least, budget=least, remarks=(remark,))
    word = controls.levels.get("none", controls.efforts[0])
    remark = f"This model cannot switch thinking off: using {word.upper()}"
    return Choice(state=PlanState.CANNOT_DISABLE, effort=word, remarks=(remark,))


def _level(level: ThinkingLevel, controls: Controls, bounds: BudgetLimits) -> Choice:
    if controls.levels_by == "effort":
        return _effort_for(level, controls)
    if controls.levels_by == "budget" and controls.budget is not None:
        nominal = level_budget(controls.budget, level)
        if controls.budget.open_top and level is ThinkingLevel.HIGH and bounds.cap is None:
            return Choice(state=PlanState.ON, switched=True, unlimited=True)
        return _budget(nominal, controls, bounds)
    return Choice(state=PlanState.ON, switched=True)


def _effort_for(level: ThinkingLevel, controls: Controls) -> Choice:
    asked = LEVEL_WORDS[level]
    words = {word.lower(): word for word in controls.efforts}
    if level.value in controls.levels:
        word = controls.levels[level.value]
    elif level is ThinkingLevel.HIGH and "max" in words and "medium" not in words:
        # low/high/max: keep three steps, instead of med and high both meaning high.
        word = words["max"]
    else:
        word = nearest_effort(asked, controls.efforts)
    remarks = () if asked in words else (f"This model has no effort `{asked}`: using {word.upper()}",)
    return Choice(state=PlanState.ON, effort=word, remarks=remarks)


def _tokens(tokens: int, controls: Controls, bounds: BudgetLimits) -> Choice:
    if controls.budget is not None:
        return _budget(tokens, controls, bounds)
    if not controls.efforts:
        return Choice(state=PlanState.ON, switched=True, remarks=("This model has no budgets: thinking is on",))
    remarks: tuple[str, ...] = ()
    if bounds.cap is not None and tokens > bounds.cap:
        tokens = bounds.cap
        remarks = (f"The dynamic budget is active: cut to {count(tokens, 'token')}",)
    word = next((word for word, below in controls.cuts.items() if tokens < below), "high").lower()
    if word == "minimal":
        return Choice(state=PlanState.ON, effort=nearest_effort(word, controls.efforts), remarks=remarks)
    return replace(_effort_for(word_level(word), controls), remarks=remarks)


def _word(word: str, controls: Controls, bounds: BudgetLimits) -> Choice:
    level = word_level(word)
    if not controls.efforts:
        choice = _level(level, controls, bounds)
        if word == LEVEL_WORDS[level]:
            return choice
        remark = f"This model has no efforts: `{word}` counts as {LEVEL_WORDS[level]}"
        return replace(choice, remarks=(*choice.remarks, remark))
    effort = nearest_effort(word, controls.efforts)
    remarks = () if effort.lower() == word else (f"This model has no effort `{word}`: using {effort.upper()}",)
    if controls.levels_by == "budget":
        return replace(_level(level, controls, bounds), effort=effort, remarks=remarks)
    return Choice(state=PlanState.ON, effort=effort, remarks=remarks)


def _budget(nominal: int, controls: Controls, bounds: BudgetLimits) -> Choice:
    """Limit a nominal budget to the model's range, the cap, and the room that the answer leaves."""
    span = controls.budget
    assert span is not None
    remarks: list[str] = []
    sent = min(max(nominal, span.min), span.max)
    if sent != nominal:
        remarks.append(f"This model accepts budgets of {span.min:,} to {count(span.max, 'token')}")
    if bounds.cap is not None and sent > bounds.cap:
        sent = max(bounds.cap, span.min)
        remarks.append(f"The dynamic budget is active: cut to {count(sent, 'token')}")
    if bounds.output is not None:
        sent = min(sent, max(SMALLEST_BUDGET, span.min, bounds.output - ANSWER_ROOM))
        if sent >= bounds.output:
            return _no_room(controls, bounds.output, nominal)
        if bounds.output - sent < ANSWER_ROOM:
            left = f"The output limit of {count(bounds.output, 'token')} leaves {bounds.output - sent:,} for the answer"
            remarks.append(f"{left}: this model thinks with {max(SMALLEST_BUDGET, span.min):,} or more")
    return Choice(state=PlanState.ON, nominal_budget=nominal, budget=sent, remarks=tuple(remarks))


def _no_room(controls: Controls, output: int, nominal: int) -> Choice:
    remark = f"An output limit of {count(output, 'token')} leaves no room to think"
    if controls.switch:
        return Choice(
            state=PlanState.OFF, switched=True, nominal_budget=nominal, remarks=(f"{remark}: thinking is off",)
        )
    least = controls.budget.min if controls.budget else nominal
    return Choice(
        state=PlanState.CANNOT_DISABLE,
        nominal_budget=nominal,
        budget=least,
        remarks=(f"{remark}, and this model cannot switch thinking off: using {count(least, 'token')}",),
    )
