"""A scripted coding task: find a function, read it, change it, run its tests.

The next step depends on the results of the tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tui.domain.lazy_regex import lazy_regex
from tui.providers.demo.requests import ParsedRequest
from tui.providers.demo.script import Call, Piece, Say, Think
from tui.wires.json_text import dumps

_MAKE = lazy_regex(r"\bmake a bug\b", re.I)
_FIX = lazy_regex(r"\bfix the bug\b", re.I)
_PLACE = lazy_regex(r"^([^\s:]+\.py):\d+: ", re.M)
_MADE = ("sums.py", "test_sums.py", "NOTES.md", "prices.py", "names.py")
_WRONG, _RIGHT = "return first - second", "return first + second"
_FILES: Mapping[str, str] = {
    "sums.py": f'"""Adds."""\n\n\ndef add(first, second):\n    {_WRONG}\n',
    "test_sums.py": (
        "import unittest\n\nfrom sums import add\n\n\nclass Adding(unittest.TestCase):\n"
        "    def test_two_and_three_are_five(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
    "NOTES.md": "# Notes\n\n`add` takes away instead of adding. Say `fix the bug`.\n",
    "prices.py": "BREAD = 3\nMILK = 2\n",
    "names.py": 'FIRST = "Ada"\nSECOND = "Grace"\n',
}
_TESTS = "python3 -B -m unittest -q"


def errand(request: ParsedRequest) -> tuple[Piece, ...] | None:
    """Return the next step of a requested task; None if none was requested or its tools are missing."""
    for phrase, needed, steps in (
        (_MAKE, {"write_file"}, (_make, _made)),
        (_FIX, {"grep", "read_file", "edit_file", "shell"}, (_find, _read, _change, _test, _report)),
    ):
        if phrase.search(request.prompt[-200:]) and needed <= request.tools.keys():
            return _step(request.results, steps)
    return None


_Step = Callable[[Sequence[str]], tuple[Piece, ...]]


def _step(results: Sequence[str], steps: Sequence[_Step]) -> tuple[Piece, ...]:
    return steps[min(len(results), len(steps) - 1)](results)


def _make(_: Sequence[str]) -> tuple[Piece, ...]:
    calls = tuple(_call("write_file", path=name, content=_FILES[name]) for name in _MADE)
    return (
        Think(
            "An errand needs something to mend. Five small files do not depend on each other: I ask for all at once."
        ),
        Say("I make five small files, one of them with a bug."),
        *calls,
    )


def _made(results: Sequence[str]) -> tuple[Piece, ...]:
    made = [name for name, result in zip(_MADE, results, strict=False) if result.startswith("Wrote")]
    if made:
        return (Say(f"Made: {', '.join(f'`{name}`' for name in made)}. Now say `fix the bug`."),)
    return (Say("No file was made. The tool says: " + _first_line(results[-1])),)


def _find(_: Sequence[str]) -> tuple[Piece, ...]:
    return (
        Think("I do not know where the function is. Searching is cheaper than reading everything."),
        Say("Let me find the function."),
        _call("grep", pattern=r"def add\b", glob="*.py"),
    )


def _read(results: Sequence[str]) -> tuple[Piece, ...]:
    path = _path(results)
    if path is None:
        return (Say("There is no function `add` here. `make a bug` makes one, and then `fix the bug` finds it."),)
    return (Think("Before a change the file is read: what was not seen is not edited."), _call("read_file", path=path))


def _change(results: Sequence[str]) -> tuple[Piece, ...]:
    if _WRONG not in results[1]:
        return (Say(f"`{_path(results)}` has no `{_WRONG}`: there is nothing to mend."),)
    return (
        Think("It takes away where it should add. One line changes."),
        Say(f"Found it: `{_WRONG}` should be `{_RIGHT}`."),
        _call("edit_file", path=_path(results) or "", old_text=_WRONG, new_text=_RIGHT),
    )


def _test(results: Sequence[str]) -> tuple[Piece, ...]:
    if not results[2].startswith("Wrote"):
        return (Say("Then I leave it as it is. The tool says: " + _first_line(results[2])),)
    return (
        Think("A change that was not tried is a guess."),
        Say("Now the tests."),
        _call("shell", command=_TESTS),
    )


def _report(results: Sequence[str]) -> tuple[Piece, ...]:
    if results[3].startswith("Denied"):
        return (Say("The change is made, and not tested. The tool says: " + _first_line(results[3])),)
    last = next((line for line in reversed(results[3].splitlines()) if line.strip()), "")
    if last == "OK":
        return (Think("They pass."), Say(f"Mended: `add` in `{_path(results)}` adds, and the tests pass."))
    return (Say("The change is made, but the tests did not pass. The last line says: " + last[:200]),)


def _path(results: Sequence[str]) -> str | None:
    found = _PLACE.search(results[0])
    return found[1] if found else None


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:200]


def _call(name: str, **arguments: object) -> Call:
    return Call(name, dumps(arguments))
