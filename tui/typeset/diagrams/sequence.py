"""Reads ``sequenceDiagram``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui.typeset.diagrams.graph import DiagramError, LineStyle, Mark
from tui.typeset.diagrams.source_text import Statement, front_title, label_text, not_understood, read_statements


@dataclass(slots=True)
class Participant:
    id: str
    label: str
    is_actor: bool = False


@dataclass(slots=True)
class Message:
    source: str
    target: str
    text: str
    style: LineStyle
    head: Mark
    tail: Mark = Mark.NONE


@dataclass(slots=True)
class SequenceNote:
    side: str
    """left, right or over."""
    participants: list[str]
    text: str


@dataclass(slots=True)
class Activation:
    participant: str
    begins: bool


@dataclass(slots=True)
class Begin:
    """The first row of a frame, or of its next section."""

    kind: str
    """loop, alt, opt, par, critical, break or rect; and, else, option."""
    text: str


@dataclass(slots=True)
class End:
    pass


Event = Message | SequenceNote | Activation | Begin | End


@dataclass(slots=True)
class Sequence:
    title: str = ""
    participants: dict[str, Participant] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)


ARROWS = {
    "<<-->>": (LineStyle.DOTTED, Mark.ARROW, Mark.ARROW),
    "<<->>": (LineStyle.SOLID, Mark.ARROW, Mark.ARROW),
    "-->>": (LineStyle.DOTTED, Mark.NONE, Mark.ARROW),
    "->>": (LineStyle.SOLID, Mark.NONE, Mark.ARROW),
    "-->": (LineStyle.DOTTED, Mark.NONE, Mark.NONE),
    "->": (LineStyle.SOLID, Mark.NONE, Mark.NONE),
    "--x": (LineStyle.DOTTED, Mark.NONE, Mark.CROSS),
    "-x": (LineStyle.SOLID, Mark.NONE, Mark.CROSS),
    "--)": (LineStyle.DOTTED, Mark.NONE, Mark.TRIANGLE),
    "-)": (LineStyle.SOLID, Mark.NONE, Mark.TRIANGLE),
}
"""The line, and the marks at its beginning and end."""
_ARROW = "|".join(re.escape(arrow) for arrow in ARROWS)
MESSAGE = re.compile(rf"([^:]+?)\s*({_ARROW})\s*([+-]?)\s*([^:+\-\s>][^:]*?)\s*(?::\s*(.*))?$")
PARTICIPANT = re.compile(
    r"(?:create\s+)?(participant|actor)\s+(?:([^@{]+?)\s*(?:@\s*\{([^}]*)\})?)(?:\s+as\s+(.+))?$", re.IGNORECASE
)
ATTRIBUTE_ALIAS = re.compile(r"\"?alias\"?\s*:\s*\"([^\"]*)\"")
NOTE = re.compile(r"note\s+(left\s+of|right\s+of|over)\s+([^:]+?)\s*:\s*(.*)$", re.IGNORECASE)
ACTIVATION = re.compile(r"(activate|deactivate)\s+(.+)$", re.IGNORECASE)
FRAME = re.compile(r"(loop|alt|opt|par_over|par|critical|break|rect|box)\b\s*(.*)$", re.IGNORECASE)
SECTION = re.compile(r"(else|and|option)\b\s*(.*)$", re.IGNORECASE)
SECTIONS = {"else": ("alt",), "and": ("par", "par_over"), "option": ("critical",)}
END = re.compile(r"end$", re.IGNORECASE)
AUTONUMBER = re.compile(r"autonumber(?:\s+(off|\d+))?(?:\s+(\d+))?$", re.IGNORECASE)
TITLE = re.compile(r"title\s*:?\s+(.+)$", re.IGNORECASE)
IGNORED = re.compile(r"(?:links?|properties|details|destroy|accTitle|accDescr)\b", re.IGNORECASE)


def read_sequence(source: str) -> Sequence:
    reader = _Reader(front_title(source))
    read_statements(source, reader.read)
    return reader.finish()


class _Reader:
    def __init__(self, title: str) -> None:
        self._found = Sequence(title)
        self._frames: list[str] = []
        self._number = 0
        self._step = 0

    def read(self, statement: Statement) -> None:
        text = statement.text.rstrip(";")
        read = self._declaration(text) or self._frame(text) or self._note(text) or self._activation(text)
        if not (read or self._message(text) or IGNORED.match(text)):
            raise not_understood(statement)

    def finish(self) -> Sequence:
        if self._frames:
            raise DiagramError(f"A {self._frames[-1]} has no end.")
        if not self._found.participants:
            raise DiagramError("The diagram is empty.")
        return self._found

    def _declaration(self, text: str) -> bool:
        if found := PARTICIPANT.match(text):
            id_ = found[2].strip().strip('"')
            given = ATTRIBUTE_ALIAS.search(found[3] or "")
            label = label_text(found[4] or (given[1] if given is not None else id_))
            self._found.participants[id_] = Participant(id_, label, found[1].lower() == "actor")
        elif found := AUTONUMBER.match(text):
            off = (found[1] or "").lower() == "off"
            self._step = 0 if off else int(found[2] or 1)
            self._number = 0 if off else int(found[1] or 1)
        elif found := TITLE.match(text):
            self._found.title = label_text(found[1])
        else:
            return False
        return True

    def _frame(self, text: str) -> bool:
        if END.match(text) and self._frames:
            if self._frames.pop() != "box":
                self._found.events.append(End())
        elif (found := FRAME.match(text)) and "->" not in text:
            kind = found[1].lower()
            self._frames.append(kind)
            if kind != "box":
                self._found.events.append(Begin(kind.removesuffix("_over"), label_text(found[2])))
        elif (found := SECTION.match(text)) and self._frames and self._frames[-1] in SECTIONS[found[1].lower()]:
            self._found.events.append(Begin(found[1].lower(), label_text(found[2])))
        else:
            return False
        return True

    def _note(self, text: str) -> bool:
        found = NOTE.match(text)
        if found is not None:
            names = [self._participant(name) for name in found[2].split(",")]
            self._found.events.append(SequenceNote(found[1].split()[0].lower(), names, label_text(found[3])))
        return found is not None

    def _activation(self, text: str) -> bool:
        found = ACTIVATION.match(text)
        if found is not None:
            name = self._participant(found[2])
            self._found.events.append(Activation(name, found[1].lower() == "activate"))
        return found is not None

    def _message(self, text: str) -> bool:
        found = MESSAGE.match(text)
        if found is None:
            return False
        source, target = self._participant(found[1]), self._participant(found[4])
        style, tail, head = ARROWS[found[2]]
        words = label_text(found[5] or "")
        if self._step:
            words = f"{self._number}. {words}".rstrip()
            self._number += self._step
        self._found.events.append(Message(source, target, words, style, head, tail))
        if found[3]:
            begins = found[3] == "+"
            self._found.events.append(Activation(target if begins else source, begins))
        return True

    def _participant(self, name: str) -> str:
        id_ = name.strip().strip('"')
        self._found.participants.setdefault(id_, Participant(id_, label_text(id_)))
        return id_
