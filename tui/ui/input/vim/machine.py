"""The modes of vim on a text: keys go in, and text, cursor and mode come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from tui.ui.input.vim import operators, visual_commands
from tui.ui.input.vim.buffer import Buffer, Position
from tui.ui.input.vim.key_commands import OPERATORS, KeyCommand, NotACommand, read_keys
from tui.ui.input.vim.motion_keys import motion_for
from tui.ui.input.vim.motions import Find
from tui.ui.input.vim.normal_commands import COMMANDS
from tui.ui.input.vim.operators import Region, Register
from tui.ui.input.vim.undo_history import Snapshot, UndoHistory


class Mode(StrEnum):
    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"
    VISUAL_LINE = "visual line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change, for ``.``."""

    command: KeyCommand
    inserted: str | None = None
    """What was typed afterwards."""
    visual: Mode | None = None
    rows: int = 0
    """Lines of a visual selection, apart from the first."""
    columns: int = 0
    """Columns in its last line."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Insert mode, since it began."""

    before: str
    """The text in front of the cursor."""
    after: str
    times: int = 1
    opens_lines: bool = False
    """Each repetition is a line of its own."""


class VimMachine:
    """A text with the keys of vim. It begins in insert mode, in which others type and only ``escape`` is for it."""

    def __init__(self) -> None:
        self.buffer = Buffer("")
        self.cursor: Position = (0, 0)
        self.mode = Mode.INSERT
        self.anchor: Position = (0, 0)
        """The other end of the visual selection."""
        self.register = Register()
        self.find: Find | None = None
        """What ``;`` looks for."""
        self.want: int | Literal["end"] = 0
        """The cell that ``j`` and ``k`` go to."""
        self.place: Position = (0, 0)
        """Where the change begins that is being made; undoing it brings the cursor back there."""
        self._pending: tuple[str, ...] = ()
        """Keys of a command that is not complete."""
        self._history = UndoHistory()
        self._insertion = Insertion("", "")
        self._before_insertion: Snapshot | None = Snapshot("", (0, 0))
        self._change: Change | None = None
        """The last change, and the one that ends with insert mode."""
        self._inserting: Change | None = None

    @property
    def text(self) -> str:
        return self.buffer.text

    @property
    def selects(self) -> bool:
        """Whether it is in one of the visual modes."""
        return self.mode in (Mode.VISUAL, Mode.VISUAL_LINE)

    @property
    def pending(self) -> str:
        """The beginning of a command."""
        return "".join(self._pending)

    @property
    def can_repeat(self) -> bool:
        """Whether there is a change to repeat."""
        return self._change is not None

    def started(self, text: str, cursor: Position) -> None:
        """Begin with another text, without anything to undo."""
        self._history.clear()
        self._before_insertion = Snapshot(text, cursor)
        self.buffer = Buffer(text)
        self.move(cursor)
        if self.mode is Mode.INSERT:
            self.insert_at(cursor)

    def edited(self, text: str, cursor: Position) -> None:
        """Take over what others changed: typing in insert mode, or a draft that was replaced."""
        if text != self.text:
            if self.mode is not Mode.INSERT:
                self._history.keep(Snapshot(self.text, self.cursor))
                self.mode, self._pending = Mode.NORMAL, ()
            self.buffer = Buffer(text)
        self.move(cursor)

    def press(self, key: str) -> bool:
        """Take a key: a character, ``escape`` or ``ctrl+r``. False if it means nothing here."""
        if key == "escape":
            return self._escape()
        if self.mode is Mode.INSERT:
            return False
        keys = (*self._pending, key)
        try:
            command = read_keys(keys, visual=self.selects)
        except NotACommand:
            self._pending = ()
            return False
        self._pending = keys if command is None else ()
        if command is not None:
            (self._run_visual if self.selects else self._run)(command)
        return True

    def insert(self) -> None:
        """Go to insert mode, as for a new draft."""
        if self.mode is not Mode.INSERT:
            self._pending = ()
            self.place, self._before_insertion = self.cursor, Snapshot(self.text, self.cursor)
            self.insert_at(self.cursor)

    def _escape(self) -> bool:
        if self.mode is Mode.INSERT:
            self._leave_insert()
            return True
        means_something = self.selects or bool(self._pending)
        if not self._pending or self._pending[-1].isdigit():
            self.mode = Mode.NORMAL
        self._pending = ()
        self.move(self.cursor)
        return means_something

    def move(self, place: Position, *, keeps_want: bool = False) -> None:
        """Put the cursor on a place; in normal mode there is none behind the end of a line."""
        row = min(max(place[0], 0), self.buffer.last)
        length = self.buffer.length(row)
        self.cursor = row, max(0, min(place[1], length - (self.mode is Mode.NORMAL)))
        if not keeps_want:
            self.want = self.buffer.columns_before(self.cursor)

    # Insert mode

    def insert_at(self, place: Position, times: int = 1, *, opens_lines: bool = False) -> None:
        """Begin to insert; what is typed is repeated at the end."""
        self.mode = Mode.INSERT
        self.move(place)
        end = (self.buffer.last, self.buffer.length(self.buffer.last))
        before, after = self.buffer.part((0, 0), self.cursor), self.buffer.part(self.cursor, end)
        self._insertion = Insertion(before, after, times, opens_lines)

    def _typed(self) -> str | None:
        """What was typed since insert mode began; None if the text around it changed."""
        before, after, text = self._insertion.before, self._insertion.after, self.text
        is_between = text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after)
        return text[len(before) : len(text) - len(after)] if is_between else None

    def _leave_insert(self) -> None:
        typed, insertion = self._typed(), self._insertion
        if typed is not None and (typed or insertion.opens_lines):
            again = ("\n" + typed if insertion.opens_lines else typed) * (insertion.times - 1)
            self.cursor = self.buffer.replace(self.cursor, self.cursor, again)
        self.mode = Mode.NORMAL
        row, column = self.cursor
        self.move((row, column - 1))
        before, self._before_insertion = self._before_insertion, None
        if before is not None and before.text != self.text:
            self._history.keep(before)
        if self._inserting is not None:
            self._change = replace(self._inserting, inserted=typed or "")
            self._inserting = None

    # Normal mode

    def _run(self, command: KeyCommand) -> None:
        match command.key:
            case "v" | "V":
                self.mode = Mode.VISUAL if command.key == "v" else Mode.VISUAL_LINE
                self.anchor = self.cursor
            case "u" | "ctrl+r":
                self._undo(command.times, back=command.key == "u")
            case ".":
                self._repeat(command.count)
            case key if key in OPERATORS or key in COMMANDS:
                self._change_text(command)
            case _:
                self._go(command)

    def _undo(self, times: int, *, back: bool) -> None:
        for _ in range(times):
            step = self._history.step(self.buffer, back=back)
            if step is None:
                return
            self.buffer, cursor = step
            self.move(cursor)

    def _go(self, command: KeyCommand) -> None:
        motion = motion_for(self, command, command.key)
        if motion is not None:
            self.move(motion.end, keeps_want=command.key in ("j", "k"))
        if command.key == "$":
            self.want = "end"

    def _change_text(self, command: KeyCommand, *, inserted: str | None = None) -> None:
        """Run a command that changes the text; ``inserted`` is what would be typed after it."""
        text, self.place = self.text, self.cursor
        done = self.operate_by_motion(command) if command.key in OPERATORS else COMMANDS[command.key](self, command)
        self._finish(text, Change(command=command), inserted, is_change=done and command.key not in "yY")

    def _finish(self, text: str, change: Change, inserted: str | None, *, is_change: bool) -> None:
        """Remember a change, or begin to insert the rest of it."""
        before = Snapshot(text, self.place)
        if self.mode is Mode.INSERT:
            self._before_insertion, self._inserting = before, change
            if inserted is not None:
                self.cursor = self.buffer.replace(self.cursor, self.cursor, inserted)
                self._leave_insert()
        elif is_change:
            self._change = change
            self._history.keep(before)

    def operate_by_motion(self, command: KeyCommand) -> bool:
        """Run an operator on what a motion takes, or on lines if its key is doubled; False if there is nothing."""
        operator, row = command.key, self.cursor[0]
        if command.motion == operator:
            if command.times > 1 and row == self.buffer.last:
                return False
            final = min(row + command.times - 1, self.buffer.last)
            start = self.cursor if operator == "y" else min(self.cursor, self.buffer.first_column(final))
            region = Region(start=start, end=(final, 0), is_linewise=True)
        else:
            motion = motion_for(self, command, command.motion, operator)
            if motion is None:
                return False
            if motion.failed:
                self.move(motion.end)
                return False
            region = operators.region_of(self.buffer, self.cursor, motion, operator)
        self.operate(operator, region)
        return True

    def operate(self, operator: str, region: Region, times: int = 1) -> None:
        """Run an operator; ``times`` is how far it shifts."""
        self.place = region.start
        if operator in "<>":
            step = times if operator == ">" else -times
            self.move(operators.shift(self.buffer, region.start[0], region.end[0], step))
            return
        if not (region.is_empty and operator in "cd"):
            self.register = operators.taken(self.buffer, region)
        if operator == "y":
            self.move(region.start)
        elif operator == "d":
            self.move(operators.delete(self.buffer, region))
        else:
            if region.is_linewise and region.end[0] > region.start[0]:
                self.place = region.start[0] + 1, region.start[1]
            self.insert_at(operators.empty(self.buffer, region))

    def _repeat(self, count: int | None) -> None:
        change = self._change
        if change is None:
            return
        if change.visual is None:
            command = change.command if count is None else replace(change.command, count=count)
            self._change_text(command, inserted=change.inserted)
            return
        row, column = self.cursor
        self.mode, self.anchor = change.visual, self.cursor
        self.move((row + change.rows, change.columns if change.rows else column + change.columns))
        self._change_selection(change.command, inserted=change.inserted)

    # Visual modes

    @property
    def selection(self) -> tuple[Position, Position]:
        """First and last place of the visual selection, both included."""
        first, last = sorted((self.anchor, self.cursor))
        if self.mode is Mode.VISUAL_LINE:
            return (first[0], 0), (last[0], self.buffer.length(last[0]))
        return first, last

    def _run_visual(self, command: KeyCommand) -> None:
        match command.key:
            case "v" | "V":
                other = Mode.VISUAL if command.key == "v" else Mode.VISUAL_LINE
                self.mode = Mode.NORMAL if self.mode is other else other
                self.move(self.cursor)
            case "o" | "O":
                anchor, self.anchor = self.anchor, self.cursor
                self.move(anchor)
            case key if len(key) == 2 and key[0] in "ia":
                self._select_object(command)
            case "$" if command.times == 1 or self.cursor[0] < self.buffer.last:
                row = min(self.cursor[0] + command.times - 1, self.buffer.last)
                self.move((row, self.buffer.length(row)))
                self.want = "end"
            case key if key in visual_commands.COMMANDS:
                self._change_selection(command)
            case _:
                self._go(command)

    def _select_object(self, command: KeyCommand) -> None:
        motion = motion_for(self, command, command.key)
        if motion is None or motion.start is None:
            if motion is not None:
                self.move(motion.end)
            return
        self.mode = Mode.VISUAL_LINE if motion.is_linewise else Mode.VISUAL
        self.anchor = motion.start
        row, column = motion.end
        if not motion.inclusive and not motion.is_linewise:
            if column:
                column -= 1
            elif row > motion.start[0]:
                row, column = row - 1, self.buffer.length(row - 1)
        self.move((row, column))

    def _change_selection(self, command: KeyCommand, *, inserted: str | None = None) -> None:
        """Do something to the selected text, and leave visual mode."""
        key, visual = command.key, self.mode
        first, last = self.selection
        rows, columns = last[0] - first[0], last[1] - (first[1] if first[0] == last[0] else 0)
        change = Change(command=command, rows=rows, columns=columns, visual=visual)
        linewise = visual is Mode.VISUAL_LINE or key in visual_commands.LINEWISE
        region = self._selected(key, first, last, linewise=linewise)
        text, self.place = self.text, region.start
        self.mode = Mode.NORMAL
        visual_commands.COMMANDS[key](self, region, command)
        self._finish(text, change, inserted, is_change=key not in "yY")

    def _selected(self, key: str, first: Position, last: Position, *, linewise: bool) -> Region:
        if linewise:
            column = self.cursor[1] if self.cursor[0] < self.anchor[0] else 0
            return Region(start=(first[0], column), end=last, is_linewise=True)
        if key in visual_commands.ON_LINES:
            return Region(start=first, end=last, is_linewise=True)
        if self.buffer.at(last):
            return Region(start=first, end=(last[0], last[1] + 1))
        return Region(start=first, end=(last[0] + 1, 0) if last[0] < self.buffer.last else last)
