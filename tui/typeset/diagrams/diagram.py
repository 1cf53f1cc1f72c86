"""The entrance: a mermaid source becomes a drawing."""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.format_numbers import count
from tui.typeset.diagrams.classes import read_classes
from tui.typeset.diagrams.entities import read_entities
from tui.typeset.diagrams.flowchart import read_flowchart
from tui.typeset.diagrams.gantt import draw_gantt
from tui.typeset.diagrams.graph import DiagramError
from tui.typeset.diagrams.graph_layout import draw_graph
from tui.typeset.diagrams.pie import draw_pie
from tui.typeset.diagrams.sequence import read_sequence
from tui.typeset.diagrams.sequence_drawing import draw_sequence
from tui.typeset.diagrams.source_text import statements
from tui.typeset.diagrams.states import read_states
from tui.typeset.drawing import Drawing, Measure

LONGEST = 40_000
"""Characters of a source that is read."""


def draw(source: str, columns: int, measure: Measure) -> Drawing:
    """Draw a diagram, if possible within the columns; raises DiagramError if it cannot be drawn."""
    if len(source) > LONGEST:
        raise DiagramError(f"Too large to draw: {count(len(source), 'character')}.")
    first = next(statements(source), None)
    words = first.text.split() if first is not None else []
    if not words:
        raise DiagramError("The diagram is empty.")
    kind = words[0].rstrip(";:")
    reader = READERS.get(kind)
    if reader is None:
        raise DiagramError(f"Diagrams of the kind {kind[:30]} are not drawn.")
    try:
        return reader(source, columns, measure)
    except RecursionError:  # thousands of subgraphs in each other
        raise DiagramError("Nested too deeply to draw.") from None


def _flowchart(source: str, columns: int, measure: Measure) -> Drawing:
    return draw_graph(read_flowchart(source), columns, measure)


def _states(source: str, columns: int, measure: Measure) -> Drawing:
    return draw_graph(read_states(source), columns, measure)


def _entities(source: str, columns: int, measure: Measure) -> Drawing:
    return draw_graph(read_entities(source), columns, measure)


def _classes(source: str, columns: int, measure: Measure) -> Drawing:
    return draw_graph(read_classes(source), columns, measure)


def _sequence(source: str, columns: int, measure: Measure) -> Drawing:
    return draw_sequence(read_sequence(source), columns, measure)


READERS: dict[str, Callable[[str, int, Measure], Drawing]] = {
    "flowchart": _flowchart,
    "flowchart-elk": _flowchart,
    "graph": _flowchart,
    "stateDiagram": _states,
    "stateDiagram-v2": _states,
    "erDiagram": _entities,
    "classDiagram": _classes,
    "classDiagram-v2": _classes,
    "sequenceDiagram": _sequence,
    "gantt": draw_gantt,
    "pie": draw_pie,
}
"""By the first word of the source."""
