"""Sources that cannot be drawn are refused with a sentence, and nothing else is raised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.store.export_html import renderer
from tui.typeset.diagrams.diagram import draw
from tui.typeset.diagrams.graph import DiagramError
from tui.ui.markdown.runs import width_of

BROKEN = (
    "",
    "   \n\n",
    "%% only a comment",
    "---\ntitle: nothing else\n---",
    "hello world",
    "graph",
    "graph TD",
    "graph XX\n  A --> B",
    "flowchart TD\n  A -->",
    "flowchart TD\n  --> B",
    "flowchart TD\n  A --> --> B",
    "flowchart TD\n  A[unclosed --> B",
    "flowchart TD\n  A{unclosed --> B",
    'flowchart TD\n  A["unclosed] --> B',
    "flowchart TD\n  A -- text B",
    "flowchart TD\n  A => B",
    "flowchart TD\n  subgraph one\n  A --> B",
    "flowchart TD\n  A --> B\n  end",
    "flowchart TD\n  subgraph one\n  A --> one\n  end",
    "flowchart TD\n  A & --> B",
    "sequenceDiagram",
    "sequenceDiagram\n  Alice Bob",
    "sequenceDiagram\n  Alice->>: nobody",
    "sequenceDiagram\n  ->>Bob: from nobody",
    "sequenceDiagram\n  loop forever\n  A->>B: x",
    "sequenceDiagram\n  A->>B: x\n  end",
    "sequenceDiagram\n  A->>B: x\n  else y",
    "sequenceDiagram\n  Note over: nobody",
    "stateDiagram-v2",
    "stateDiagram-v2\n  A -> B",
    "stateDiagram-v2\n  state A {\n  B --> C",
    "stateDiagram-v2\n  A --> B\n  }",
    "stateDiagram-v2\n  --> B",
    "stateDiagram-v2\n  note right of A\n  never ends",
    "erDiagram",
    "erDiagram\n  A ||--o{",
    "erDiagram\n  A ||-- B : x",
    "erDiagram\n  A {\n  string name",
    "erDiagram\n  A {\n  only\n  }",
    "erDiagram\n  A <--> B : x",
    "classDiagram",
    "classDiagram\n  A <|-> B",
    "classDiagram\n  class A {\n  +int x",
    "classDiagram\n  namespace N {\n  class A",
    "gantt",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : soon, 3d",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : 2024-02-30, 3d",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : 2024-02-02, 2024-02-01",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : after nobody, 3d",
    "gantt\n  A 3d",
    "gantt\n  dateFormat YYYY-MM-DD-DD\n  A : 2024-01-01, 3d",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : 2024-01-01, until nobody",
    "gantt\n  dateFormat YYYY-MM-DD\n  A : 2024-01-01, 99999999d",
    "pie",
    'pie\n  "a" : 0',
    'pie\n  "a" : -1',
    "pie\n  a : 1",
)


@pytest.mark.parametrize("source", BROKEN)
def test_a_broken_source_is_refused_with_a_sentence(source: str) -> None:
    with pytest.raises(DiagramError, match=r"^[A-Z].*\.$"):
        draw(source, 80, width_of)


def test_a_diagram_that_nobody_could_read_is_refused() -> None:
    edges = "\n".join(f"  n{number} --> n{number + 1}" for number in range(700))
    with pytest.raises(DiagramError, match="Too large to draw: 701 boxes, 700 edges"):
        draw(f"flowchart TD\n{edges}", 80, width_of)
    messages = "\n".join("  A->>B: x" for _ in range(700))
    with pytest.raises(DiagramError, match="Too large to draw: 2 participants, 700 events"):
        draw(f"sequenceDiagram\n{messages}", 80, width_of)
    with pytest.raises(DiagramError, match="Too large to draw: 100,009 characters"):
        draw(f"graph TD\n{'x' * 100_000}", 80, width_of)


HEADS = ("flowchart TD", "stateDiagram-v2", "sequenceDiagram", "erDiagram", "classDiagram", "gantt", "pie")
WORDS = ("A", "B", "subgraph", "end", "loop", "state", "note", "over", "string", "<<fork>>")
SIGNS = ("-->", "---|x|", "-.->", "->>", "}o--o{", "[", "]", "{", "}", "(", ")", '"', ":", "&", ";", " ", "\n")


@given(st.sampled_from(HEADS), st.lists(st.sampled_from(WORDS + SIGNS), max_size=25), st.integers(1, 120))
def test_no_source_raises_anything_else(head: str, rest: list[str], columns: int) -> None:
    try:
        drawing = draw(f"{head}\n{''.join(rest)}", columns, width_of)
    except DiagramError:
        return
    assert drawing.rows


@pytest.mark.parametrize(
    "source",
    [
        "flowchart TD\n" + "".join(f"subgraph s{number}\n" for number in range(2_000)) + "a-->b\n" + "end\n" * 2_000,
        "stateDiagram-v2\n" + "".join(f"state s{number} {{\n" for number in range(2_000)) + "a-->b\n" + "}\n" * 2_000,
    ],
    ids=["subgraphs", "states"],
)
def test_groups_in_groups_without_end_are_refused_and_exported_as_source(source: str) -> None:
    with pytest.raises(DiagramError, match="Nested too deeply"):
        draw(source, 80, width_of)
    page = renderer()(f"```mermaid\n{source}\n```\n\nand more")
    assert "and more" in page
    assert source.splitlines()[1] in page
