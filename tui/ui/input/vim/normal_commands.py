"""Commands of normal mode that change the text, apart from operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.ui.input.vim import operators
from tui.ui.input.vim.operators import Region

if TYPE_CHECKING:
    from tui.ui.input.vim.key_commands import KeyCommand
    from tui.ui.input.vim.machine import VimMachine

SHORT_FORMS = {
    "x": ("d", "l"),
    "X": ("d", "h"),
    "s": ("c", "l"),
    "S": ("c", "c"),
    "D": ("d", "$"),
    "C": ("c", "$"),
    "Y": ("y", "y"),
}
"""Keys that stand for an operator and a motion."""


def _short_form(machine: VimMachine, command: KeyCommand) -> bool:
    operator, motion = SHORT_FORMS[command.key]
    return machine.operate_by_motion(replace(command, key=operator, motion=motion))


def _insert(machine: VimMachine, command: KeyCommand) -> bool:
    row, column = machine.cursor
    buffer = machine.buffer
    places = {
        "i": (row, column),
        "a": (row, min(column + 1, buffer.length(row))),
        "I": (row, buffer.indent(row)),
        "A": (row, buffer.length(row)),
    }
    machine.place = places[command.key]
    machine.insert_at(machine.place, command.times)
    return True


def _open_line(machine: VimMachine, command: KeyCommand) -> bool:
    at = machine.cursor[0] + (command.key == "o")
    machine.buffer.replace_rows(at, at - 1, [""])
    machine.insert_at((at, 0), command.times, opens_lines=True)
    return True


def _write_over(machine: VimMachine, command: KeyCommand) -> bool:
    row, column = machine.cursor
    end = column + command.times
    if end > machine.buffer.length(row):
        return False
    if command.character == "\n":
        row, _ = machine.buffer.replace((row, column), (row, end), "\n")
        machine.move(machine.buffer.first_column(row))
        return True
    operators.write_over(machine.buffer, Region(start=(row, column), end=(row, end)), command.character)
    machine.move((row, end - 1))
    return True


def _change_case(machine: VimMachine, command: KeyCommand) -> bool:
    row, column = machine.cursor
    end = min(column + command.times, machine.buffer.length(row))
    operators.change_case(machine.buffer, Region(start=(row, column), end=(row, end)), "~")
    machine.move((row, end))
    return end > column


def _join(machine: VimMachine, command: KeyCommand) -> bool:
    row = machine.cursor[0]
    left = machine.buffer.last - row + 1
    count = max(2, command.times)
    if count > left and count <= 2:
        return False
    machine.move(operators.join(machine.buffer, row, min(count, left)))
    return True


def _put(machine: VimMachine, command: KeyCommand) -> bool:
    register = machine.register
    if not register.text and not register.is_linewise:
        return False
    before = command.key == "P"
    machine.move(operators.put(machine.buffer, machine.cursor, register, command.times, before=before))
    return True


COMMANDS: Mapping[str, Callable[[VimMachine, KeyCommand], bool]] = {
    **dict.fromkeys("iaIA", _insert),
    **dict.fromkeys("oO", _open_line),
    **dict.fromkeys(SHORT_FORMS, _short_form),
    **dict.fromkeys("pP", _put),
    "r": _write_over,
    "~": _change_case,
    "J": _join,
}
"""Each returns whether it could be done."""
