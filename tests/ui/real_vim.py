"""Asks the real vim what keys do to a text, many cases in one run; and the same of our own keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui.ui.input.vim.buffer import Position
from tui.ui.input.vim.machine import Mode, VimMachine

VIM = shutil.which("vim")
TIME_S = 120.0
NAMED = {"<esc>": "escape", "<cr>": "enter", "<bs>": "backspace", "<c-r>": "ctrl+r"}
BYTES = {"escape": "\x1b", "enter": "\r", "backspace": "\x08", "ctrl+r": "\x12"}
MODES = {"n": Mode.NORMAL, "i": Mode.INSERT, "v": Mode.VISUAL, "V": Mode.VISUAL_LINE}

SCRIPT = r"""
set encoding=utf-8 nocompatible noautoindent shiftwidth=4 expandtab backspace=indent,eol,start noswapfile
set nojoinspaces whichwrap= belloff=all scrolloff=0 lines=40 columns=200 t_ku= t_kd= nottimeout notimeout ttimeoutlen=0
let g:cases = json_decode(join(readfile('cases.json'), ''))
let g:results = {}
let g:at = -1
func! Setup()
  let g:at += 1
  if g:at >= len(g:cases)
    call writefile([json_encode(g:results)], 'results.json')
    qall!
  endif
  enew!
  let l:levels = &l:undolevels
  setlocal undolevels=-1
  call setline(1, split(g:cases[g:at].text, "\n", 1))
  let &l:undolevels = l:levels
  call setcharsearch({'char': '', 'forward': 1, 'until': 0})
  call setreg('"', '', 'c')
  call setcursorcharpos(g:cases[g:at].row + 1, g:cases[g:at].column + 1)
endfunc
func! Record()
  let l:cursor = getcursorcharpos()
  let g:results[g:at] = [join(getline(1, '$'), "\n"), l:cursor[1] - 1, l:cursor[2] - 1, mode()]
endfunc
noremap <C-]> <Cmd>call Record()<CR>
noremap! <C-]> <Cmd>call Record()<CR>
noremap <C-_> <Cmd>call Setup()<CR>
call feedkeys(join(readfile('keys', 'b'), "\n"), 't')
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A text, a cursor and keys."""

    text: str
    cursor: Position
    keys: str
    """Characters, and names such as ``<esc>``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    text: str
    cursor: Position
    mode: Mode = Mode.NORMAL


def split_keys(keys: str) -> list[str]:
    """The keys one by one, as the composer names them."""
    found = []
    while keys:
        name = next((name for name in NAMED if keys.startswith(name)), keys[0])
        found.append(NAMED.get(name, name))
        keys = keys[len(name) :]
    return found


def ask_vim(cases: Sequence[Case]) -> list[Outcome]:
    """What vim makes of the cases."""
    assert VIM is not None
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"text": case.text, "row": case.cursor[0], "column": case.cursor[1]} for case in cases]
        (Path(folder) / "cases.json").write_text(json.dumps(rows), "utf-8")
        (Path(folder) / "setup.vim").write_text(SCRIPT, "utf-8")
        typed = "\x1f"
        for case in cases:
            typed += _as_typed(case) + "\x1d\x1c\x0e\x1b\x1f"
        (Path(folder) / "keys").write_bytes(typed.encode())  # vim separates changes only if they were typed
        subprocess.run(
            [VIM, "-u", "NONE", "-N", "-i", "NONE", "-n", "--not-a-term", "-S", "setup.vim"],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": folder, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIME_S,
            check=False,
        )
        results = json.loads((Path(folder) / "results.json").read_text("utf-8"))
    found = [results[str(number)] for number in range(len(cases))]
    return [Outcome(text, (row, column), MODES[mode]) for text, row, column, mode in found]


def _as_typed(case: Case) -> str:
    """The bytes of the keys. Behind a key that takes a character vim maps no key, so another one follows (redraw)."""
    machine, typed, takes = _machine(case), "", False
    for key in split_keys(case.keys):
        inserts = machine.mode is Mode.INSERT
        _press(machine, key)
        typed += BYTES.get(key, key) + ("\x0c" if takes and machine.mode is not Mode.INSERT else "")
        takes = not takes and not inserts and key in tuple("fFtTr")
    return typed


def ask_ours(case: Case) -> Outcome:
    """What our machine makes of a case; typing in insert mode is what a text area does with it."""
    machine = _machine(case)
    for key in split_keys(case.keys):
        _press(machine, key)
    return Outcome(machine.text, machine.cursor, machine.mode)


def _machine(case: Case) -> VimMachine:
    machine = VimMachine()
    machine.press("escape")
    machine.started(case.text, case.cursor)
    return machine


def _press(machine: VimMachine, key: str) -> None:
    if machine.mode is Mode.INSERT and key != "escape":
        machine.edited(*typed(machine, key))
    else:
        machine.press("\n" if key == "enter" else key)


def typed(machine: VimMachine, key: str) -> tuple[str, Position]:
    """The text after a key in insert mode."""
    lines = machine.text.split("\n")
    row, column = machine.cursor
    if key == "backspace":
        if column:
            lines[row] = lines[row][: column - 1] + lines[row][column:]
            return "\n".join(lines), (row, column - 1)
        if not row:
            return machine.text, machine.cursor
        before = len(lines[row - 1])
        lines[row - 1 : row + 1] = [lines[row - 1] + lines[row]]
        return "\n".join(lines), (row - 1, before)
    character = "\n" if key == "enter" else key
    lines[row] = lines[row][:column] + character + lines[row][column:]
    after = (row + 1, 0) if character == "\n" else (row, column + 1)
    return "\n".join(lines), after
