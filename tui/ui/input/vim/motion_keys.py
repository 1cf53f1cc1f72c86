"""From the keys of a motion to where it goes, in the state of a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.ui.input.vim.buffer import BLANK
from tui.ui.input.vim.key_commands import FINDS, KeyCommand
from tui.ui.input.vim.motions import SIMPLE, Find, Motion, find_in_line, next_word, word_end
from tui.ui.input.vim.text_objects import text_object

if TYPE_CHECKING:
    from tui.ui.input.vim.machine import VimMachine


def motion_for(machine: VimMachine, command: KeyCommand, name: str, operator: str = "") -> Motion | None:
    """Where a motion goes; ``operator`` is the one that waits for it. None if it goes nowhere."""
    if name in "lhjk":
        return _step(machine, command.times, name, operator)
    if name in ("w", "W"):
        return _word(machine, command.times, operator, big=name == "W")
    if name in ("gg", "G") or (name == "%" and command.count is not None):
        return _line(machine, command, name)
    if name in (";", ",") or name in FINDS:
        return _find(machine, command, name)
    if len(name) == 2 and name[0] in "ia":
        return text_object(machine.buffer, machine.cursor, name[1], command.times, around=name[0] == "a")
    motion = SIMPLE[name](machine.buffer, machine.cursor, command.times)
    return None if motion is None else _on_text(machine, motion)


def _on_text(machine: VimMachine, motion: Motion) -> Motion:
    """A forward motion to the end of a line takes its last character instead, unless it selects."""
    row, column = motion.end
    at_end = column and column == machine.buffer.length(row)
    if not machine.selects and motion.end > machine.cursor and at_end:
        return replace(motion, end=(row, column - 1), inclusive=True)
    return motion


def _step(machine: VimMachine, times: int, name: str, operator: str) -> Motion | None:
    row, column = machine.cursor
    if name == "h":
        return Motion(end=(row, max(0, column - times)))
    if name == "l":
        length = machine.buffer.length(row)
        if machine.selects:
            return Motion(end=(row, min(column + times, length)))
        end = min(column + times, max(0, length - 1))
        return Motion(end=(row, end), inclusive=bool(operator) and column + times > end and bool(length))
    last = machine.buffer.last
    if row == (last if name == "j" else 0):
        return None
    target = min(row + times, last) if name == "j" else max(row - times, 0)
    place = machine.buffer.column_at(target, machine.want)
    return Motion(end=place if machine.selects else machine.buffer.clamped(place), is_linewise=True)


def _word(machine: VimMachine, times: int, operator: str, *, big: bool) -> Motion:
    buffer, cursor = machine.buffer, machine.cursor
    if operator == "c" and buffer.at(cursor) and buffer.kind(cursor, big=big) != BLANK:
        end, _ = word_end(buffer, cursor, times, big=big, stay=True)
        return _on_text(machine, Motion(end=end, inclusive=True))
    end, _ = next_word(buffer, cursor, times, big=big, stop_at_end=bool(operator))
    return _on_text(machine, Motion(end=end))


def _line(machine: VimMachine, command: KeyCommand, name: str) -> Motion | None:
    last = machine.buffer.last
    if command.count is None:
        row = last if name == "G" else 0
    elif name == "%":
        if command.count > 100:
            return None
        row = ((last + 1) * command.count + 99) // 100 - 1
    else:
        row = min(command.count - 1, last)
    return Motion(end=machine.buffer.first_column(row), is_linewise=True)


def _find(machine: VimMachine, command: KeyCommand, name: str) -> Motion | None:
    if name in FINDS:
        find = machine.find = Find(name, command.character)
    elif machine.find is None:
        return None
    else:
        find = machine.find if name == ";" else Find(machine.find.key.swapcase(), machine.find.character)
    return find_in_line(machine.buffer, machine.cursor, command.times, find, again=name not in FINDS)
