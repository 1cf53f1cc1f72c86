"""Chooses the script for a request by keywords in the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.providers.demo.requests import ParsedRequest
from tui.providers.demo.responses import Break, Call, Piece, Refusal, Say, Script, Think
from tui.wires.json_text import child, dumps

_FILE_NAME = lazy_regex(r"(?<![\w./-])[\w./-]{0,200}\w\.\w{1,5}\b|\bREADME\b|\bLICENSE\b")
_READ_LENGTH = 2_000
"""Characters at both ends of a prompt that the demo reads: it answers at once, however much is pasted."""
_TOPICS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bways to sort\b", re.I), "sorting"),
    (re.compile(r"\bnight sky\b", re.I), "night-sky"),
    (re.compile(r"\b(markdown|table|code|showcase|format)", re.I), "showcase"),
    (re.compile(r"\b(think|reason|puzzle|riddle|prove|why)", re.I), "thinking"),
    (re.compile(r"\b(context|token|meter|compress|cost|price)", re.I), "context"),
    (re.compile(r"\b(key|auth|provider|model|start|set ?up|local|ollama)", re.I), "models"),
    (re.compile(r"\b(error|fail|retry|offline)", re.I), "errors"),
)
_OWN_THINKING = {"sorting", "night-sky"}
"""What the prompts of the first screen are about: the thinking fits the answer."""
_FOR_TOOLS = re.compile(
    r"\b(list|read|open)\b.*\b(files?|folder|directory|readme)\b|\b(make a|fix the) bug\b", re.I | re.S
)
_HARD = re.compile(r"\b(hard|deep|long|puzzle|riddle|prove)", re.I)
_OVERFLOW_REQUEST = lazy_regex(r"\berror overflow\b", re.I)
_OVERFLOW = "prompt is too long: 204857 tokens > 200000 maximum"
_REFUSALS: Mapping[str, tuple[Refusal, int]] = {
    "429": (Refusal(429, "rate_limit_error", "This demo request is limited, as asked.", {"retry-after": "3"}), 1),
    "quota": (Refusal(429, "insufficient_quota", "You exceeded your current quota, as asked."), 99),
    "hours": (Refusal(429, "rate_limit_error", "Usage limit reached, as asked.", {"retry-after": "18000"}), 99),
    "500": (Refusal(500, "api_error", "Internal server error, as asked."), 1),
    "401": (Refusal(401, "authentication_error", "invalid x-api-key, as asked"), 99),
    "400": (Refusal(400, "invalid_request_error", "This request is wrong, as asked."), 99),
    "overflow": (Refusal(400, "invalid_request_error", _OVERFLOW), 1),
}
"""The error for the prompt ``error WORD``, and how often the same request gets it."""
_SEARCHED_LENGTH = 200
"""Characters at the end of a prompt that are searched for a requested error, so that quoted text does not count."""


def script_for(request: ParsedRequest, *, attempt: int) -> Script:
    """Return the answer to a request; ``attempt`` is how often this request has come."""
    asked = request.prompt.lower()
    script = (None if _asks_for_summary(request) else _requested_failure(asked, attempt)) or Script(
        pieces=_pieces(request)
    )
    if not request.thinks:
        script = Script(
            pieces=tuple(piece for piece in script.pieces if not isinstance(piece, Think)),
            refusal=script.refusal,
            slowness=script.slowness,
        )
    return Script(script.pieces, script.refusal, 8.0) if re.search(r"\bslow(ly)?\b", asked) else script


def counted_as(request: ParsedRequest) -> str | None:
    """Return the key by which attempts are counted, or None to count identical requests.

    A request after compression differs from the one that was too long, but must count as its second attempt.
    """
    return "overflow" if _OVERFLOW_REQUEST.search(request.prompt[-_SEARCHED_LENGTH:]) else None


def _requested_failure(asked: str, attempt: int) -> Script | None:
    asked = asked[-_SEARCHED_LENGTH:]
    found = re.search(r"\berror (\w+)", asked)
    word = found[1] if found else ""
    if word in _REFUSALS:
        refusal, times = _REFUSALS[word]
        return Script(refusal=refusal) if attempt <= times else _after(word)
    if word == "overloaded":
        return _broken(Break("overloaded")) if attempt == 1 else _after(word)
    if re.search(r"\bcut\b", asked) and len(asked) < 40:
        return _broken(Break("cut")) if attempt == 1 else _after("cut")
    return None


def _broken(how: Break) -> Script:
    thought = Think("Halfway through this thought the connection breaks. ")
    return Script((thought, Say("The answer begins, and then "), how))


def _after(word: str) -> Script:
    return Script((Think("It works this time. "), Say(_page("recovered").replace("{word}", word))))


def _pieces(request: ParsedRequest) -> tuple[Piece, ...]:
    asked = _both_ends(request.prompt)
    if re.search(r"\btitle\b", asked[:400], re.I) and len(asked) > 60:
        return (Say("A walk through ponder"),)
    if _asks_for_summary(request):
        return (Say(_summary(request)),)
    if (step := errand(request)) is not None:
        return step
    if request.results:
        return (Think(_page("reading")), Say(_report(request)))
    if calls := _calls(request):
        return (Think(_page("looking")), Say("Let me look."), *calls)
    topic = next((name for pattern, name in _TOPICS if pattern.search(asked)), "tour")
    if not request.tools and _FOR_TOOLS.search(asked):
        topic = "no-tools"
    thoughts = topic if topic in _OWN_THINKING else "long" if _HARD.search(asked) else "short"
    thinking = _page(f"thinking-{thoughts}")
    return (Think(thinking.replace("{asked}", " ".join(asked.split())[:80])), Say(_page(topic)))


def _asks_for_summary(request: ParsedRequest) -> bool:
    own_words = "" if "<summary>" in request.prompt else request.prompt[:600]
    return not request.tools and bool(re.search(r"summar", request.system + own_words, re.I))


def _calls(request: ParsedRequest) -> tuple[Call, ...]:
    asked, calls = _both_ends(request.prompt), []
    lists = re.search(r"\A\s*list\b|\b(files|folder|directory|ls)\b", asked, re.I)
    if lists and (name := _tool(request, "list", "glob")):
        calls.append(Call(name, _arguments(request, name, ".")))
    found = _FILE_NAME.search(asked)
    wants = re.search(r"\b(read|open|show|cat)\b", asked, re.I) and (found or re.search(r"\bfiles?\b", asked, re.I))
    if wants and (name := _tool(request, "read")):
        path = found[0] if found else "README.md"
        calls.append(Call(name, _arguments(request, name, path if "." in path else f"{path}.md")))
    if re.search(r"\b(run|shell)\b", asked, re.I) and (name := _tool(request, "shell", "run")):
        calls.append(Call(name, _arguments(request, name, "echo hello from the demo")))
    return tuple(calls)


def _both_ends(prompt: str) -> str:
    return prompt if len(prompt) <= 2 * _READ_LENGTH else f"{prompt[:_READ_LENGTH]} {prompt[-_READ_LENGTH:]}"


def _tool(request: ParsedRequest, *words: str) -> str | None:
    return next((name for word in words for name in request.tools if word in name), None)


def _arguments(request: ParsedRequest, tool: str, value: str) -> str:
    """Return arguments that set the first required parameter, or the first one if none is required."""
    schema = request.tools[tool]
    required, known = schema.get("required"), list(child(schema, "properties"))
    names = [str(name) for name in required] if isinstance(required, list) and required else known
    return dumps({names[0]: value}) if names else "{}"


def _report(request: ParsedRequest) -> str:
    from tui.domain.fenced import fenced  # only for answers with tools: the first byte waits for few modules

    parts = []
    for number, result in enumerate(request.results, 1):
        lines = result.strip().splitlines()
        shown = "\n".join(line[:100] for line in lines[:8])
        more = f"\n… and {count(len(lines) - 8, 'more line')}" if len(lines) > 8 else ""
        parts.append(f"**Result {number}** ({count(len(lines), 'line')})\n\n{fenced(shown + more, 'text')}")
    return "\n\n".join(parts) + "\n\n" + _page("after-tools")


def _summary(request: ParsedRequest) -> str:
    said = [" ".join(prompt.split())[:120] for prompt in request.prompts[-12:]]
    return "The user explored the demo. Said so far:\n" + "\n".join(f"- {words}" for words in said)


@cache
def _page(name: str) -> str:
    return (Path(__file__).parent / "pages" / f"{name}.md").read_text("utf-8")


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
        (_FIX, {"grep", "read_file", "edit_file", "shell"}, (_find, _read, _change, _test, _report_tests)),
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
        _call("edit_file", path=_path(results) or "", old_text=_WRONG, new_text=_RIGHT),
    )


def _test(results: Sequence[str]) -> tuple[Piece, ...]:
    if not results[2].startswith("Wrote"):
        return (Say("Then I leave it as it is. The tool says: " + _first_line(results[2])),)
    return (
        Think("A change that was not tried is a guess."),
        _call("shell", command=_TESTS),
    )


def _report_tests(results: Sequence[str]) -> tuple[Piece, ...]:
    if results[3].startswith("Denied"):
        return (Say("The change is made, and not tested. The tool says: " + _first_line(results[3])),)
    last = next((line for line in reversed(results[3].splitlines()) if line.strip()), "")
    if last == "OK":
        return (Say(f"Mended: `add` in `{_path(results)}` adds, and the tests pass."),)
    return (Say("The change is made, but the tests did not pass. The last line says: " + last[:200]),)


def _path(results: Sequence[str]) -> str | None:
    found = _PLACE.search(results[0])
    return found[1] if found else None


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:200]


def _call(name: str, **arguments: object) -> Call:
    return Call(name, dumps(arguments))
