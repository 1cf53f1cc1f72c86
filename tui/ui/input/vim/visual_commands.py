"""What keys do to the selection of visual mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui.ui.input.vim import operators
from tui.ui.input.vim.operators import Region, Register

if TYPE_CHECKING:
    from tui.ui.input.vim.buffer import Position
    from tui.ui.input.vim.key_commands import KeyCommand
    from tui.ui.input.vim.machine import VimMachine

OTHER_NAMES = {"x": "d", "X": "d", "D": "d", "s": "c", "S": "c", "C": "c", "R": "c", "Y": "y"}
LINEWISE = "XDCSRY"
"""Keys that take whole lines of any selection."""
ON_LINES = "J<>"
"""Keys that work on lines, and leave the cursor where the selection begins."""


def _operate(machine: VimMachine, region: Region, command: KeyCommand) -> None:
    machine.operate(OTHER_NAMES.get(command.key, command.key), region, command.times)


def _change(machine: VimMachine, region: Region, command: KeyCommand) -> None:
    if command.key == "r":
        operators.write_over(machine.buffer, region, command.character)
    else:
        operators.change_case(machine.buffer, region, command.key)
    machine.move((region.start[0], 0) if region.is_linewise and command.key == "r" else region.start)


def _join(machine: VimMachine, region: Region, command: KeyCommand) -> None:
    first, last = region.start[0], min(region.end[0], machine.buffer.last)
    count = max(2, last - first + 1)
    machine.move(region.start)
    if first + count - 1 <= machine.buffer.last:
        machine.move(operators.join(machine.buffer, first, count))


def _put(machine: VimMachine, region: Region, command: KeyCommand) -> None:
    register, text = machine.register, operators.taken(machine.buffer, region)
    machine.move(_replaced(machine, region, register, command.times))
    if command.key == "p":
        machine.register = text


def _replaced(machine: VimMachine, region: Region, register: Register, times: int) -> Position:
    buffer, start = machine.buffer, region.start
    if region.is_linewise:
        buffer.replace_rows(start[0], region.end[0], register.text.split("\n") * times)
        return buffer.first_column(start[0])
    if register.is_linewise:
        lines = "\n".join([register.text] * times)
        buffer.replace(start, region.end, f"\n{lines}\n")
        return buffer.first_column(start[0] + 1)
    end = buffer.replace(start, region.end, register.text * times)
    return start if "\n" in register.text else buffer.clamped((end[0], end[1] - 1))


COMMANDS: Mapping[str, Callable[[VimMachine, Region, KeyCommand], None]] = {
    **dict.fromkeys(("d", "c", "y", "<", ">", *OTHER_NAMES), _operate),
    **dict.fromkeys("r~uU", _change),
    **dict.fromkeys("pP", _put),
    "J": _join,
}
