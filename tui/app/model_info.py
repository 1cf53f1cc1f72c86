"""Everything known about a model, with where it is from, as markdown."""

from __future__ import annotations

from tui.catalog.facts import ModelFacts
from tui.domain.counting import count


def fact_sheet(facts: ModelFacts) -> str:
    """A table of facts."""
    controls, price = facts.controls, facts.price
    budget = f"{controls.budget.min:,} to {controls.budget.max:,}" if controls.budget is not None else "none"
    rows: list[tuple[str, str, str]] = [
        ("window", _number(facts.context_window), "context_window"),
        ("output", _number(facts.max_output), "max_output"),
        ("thinks", "yes" if controls.thinks else "no", "controls"),
        ("efforts", ", ".join(controls.efforts) or "none", "efforts"),
        ("budgets", budget, "budget"),
        ("can be off", "yes" if controls.can_disable else "no", "can_disable"),
        ("thinking back", facts.echo.value.replace("_", " "), "echo"),
        ("thinking bound", "yes" if facts.bound else "no", "bound"),
        ("thinking counted", facts.counted.value.replace("_", " "), "counted"),
        ("takes", ", ".join(sorted(facts.inputs)), "inputs"),
        ("price in", _dollars(price.input if price else None), "price"),
        ("price out", _dollars(price.output if price else None), "price"),
        ("status", facts.lifecycle.value, "lifecycle"),
    ]
    lines = [f"# {facts.provider}/{facts.id}", "", "| fact | value | from |", "|---|---|---|"]
    lines += [f"| {name} | {value} | {facts.provenance.get(key, 'default')} |" for name, value, key in rows]
    if not facts.known:
        lines += ["", "This model is not in the catalogue: cautious facts are assumed."]
    lines += ["", *(f"- {note}" for note in facts.notes)]
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "unknown" if value is None else count(value, "token")


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else f"${value:g} per million tokens"
