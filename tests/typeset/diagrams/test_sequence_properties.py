"""Random sequences: what is read from the drawing is what was written in the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.typeset.diagrams.cells import is_equally_wide
from tests.typeset.diagrams.sequence_reader import expected_sequence, read_sequence_drawing
from tui.typeset.diagrams.diagram import draw
from tui.typeset.diagrams.graph import LineStyle, Mark
from tui.typeset.diagrams.sequence import Begin, End, Message, Participant, Sequence, SequenceNote
from tui.ui.markdown.runs import width_of

ARROWS = {
    "->>": (LineStyle.SOLID, Mark.NONE, Mark.ARROW),
    "-->>": (LineStyle.DOTTED, Mark.NONE, Mark.ARROW),
    "->": (LineStyle.SOLID, Mark.NONE, Mark.NONE),
    "-->": (LineStyle.DOTTED, Mark.NONE, Mark.NONE),
    "-x": (LineStyle.SOLID, Mark.NONE, Mark.CROSS),
    "--)": (LineStyle.DOTTED, Mark.NONE, Mark.TRIANGLE),
    "<<->>": (LineStyle.SOLID, Mark.ARROW, Mark.ARROW),
}
TEXTS = ["go", "read the file", "データを読む", "🎉 done", "a text that is so long that it has to be wrapped somewhere"]
FRAMES = {"loop": None, "alt": "else", "opt": None, "par": "and", "critical": "option"}


@st.composite
def sequences(draw_: st.DrawFn) -> tuple[Sequence, str]:
    found, rows = Sequence(), ["sequenceDiagram"]
    for number in range(draw_(st.integers(1, 5))):
        label = f"{draw_(st.sampled_from(['A', 'Server', '利用者', 'A long name of it']))} {number}"
        found.participants[f"p{number}"] = Participant(f"p{number}", label)
        rows.append(f"  participant p{number} as {label}")
    ids = list(found.participants)
    opened: list[str] = []
    for number in range(draw_(st.integers(0, 12))):
        what = draw_(st.sampled_from(["message"] * 6 + ["note", "frame", "section", "end"]))
        text = f"{number} {draw_(st.sampled_from(TEXTS))}"
        if what == "message":
            arrow = draw_(st.sampled_from(list(ARROWS)))
            source, target = draw_(st.sampled_from(ids)), draw_(st.sampled_from(ids))
            if source == target:
                arrow = "->>"
            style, tail, head = ARROWS[arrow]
            found.events.append(Message(source, target, text, style, head, tail))
            rows.append(f"  {source}{arrow}{target}: {text}")
        elif what == "note":
            side = draw_(st.sampled_from(["left of", "right of", "over"]))
            names = [draw_(st.sampled_from(ids))]
            if side == "over" and draw_(st.booleans()):
                names.append(draw_(st.sampled_from(ids)))
            found.events.append(SequenceNote(side.split()[0], names, text))
            rows.append(f"  Note {side} {','.join(names)}: {text}")
        elif what == "frame":
            opened.append(draw_(st.sampled_from(list(FRAMES))))
            found.events.append(Begin(opened[-1], f"when {number}"))
            rows.append(f"  {opened[-1]} when {number}")
        elif what == "section" and opened and (section := FRAMES[opened[-1]]):
            found.events.append(Begin(section, f"or {number}"))
            rows.append(f"  {section} or {number}")
        elif what == "end" and opened:
            opened.pop()
            found.events.append(End())
            rows.append("  end")
    for _ in opened:
        found.events.append(End())
        rows.append("  end")
    return found, "\n".join(rows)


@settings(max_examples=60)
@given(sequences(), st.sampled_from([40, 80, 120]))
@pytest.mark.long
def test_a_reader_finds_the_sequence_in_its_drawing(made: tuple[Sequence, str], columns: int) -> None:
    sequence, source = made
    drawing = draw(source, columns, width_of)
    assert is_equally_wide(drawing)
    assert read_sequence_drawing(drawing) == expected_sequence(sequence), f"{source}\n{drawing.text}"
