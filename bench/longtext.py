"""One huge message: the longest stretch in which nothing else could run, whatever is done with it.

    python -m bench.longtext [--only WORDS]

Each text is opened as a stored answer, scrolled (home, end, pages, dragged to anywhere), resized, unfolded as thinking,
shown as the user's own words, streamed in portions of 4,000 characters, and delivered at once. Contender: ``whole``,
the same text laid out in one go, which is what a message drawn without looking at the window costs. Milliseconds of
the transcript's own work; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from bench.words import code, prose
from tui.ui.markdown.document import Document
from tui.ui.terminal.gc_schedule import GcSchedule
from tui.ui.transcript.blocks import Answer, Fold, Prompt, Renderable
from tui.ui.transcript.column import Column
from tui.ui.transcript.section import Section, Speaker
from tui.ui.transcript.thinking import Thinking

N = TypeVar("N", int, float)
LIMITS = {"block_ms": 100, "scroll_ms": 50}
WIDTH, HEIGHT = 100, 40


def dense(count: int, seed: int = 5) -> str:
    """So many words, nearly all of them marked up."""
    draw = random.Random(seed)
    kinds = ["**bold**", "`code`", "[link](http://example.org/a)", "*it*", "~~s~~", "word", "_x_"]
    return " ".join(draw.choice(kinds) for _ in range(count))


def texts() -> dict[str, str]:
    """What a message may be at its worst."""
    rows = "\n".join(f"| {dense(2, number)} | {number} |" for number in range(3_500))
    return {
        "40,000 short lines": "\n".join(f"line {number}" for number in range(40_000)),
        "40,000 short paragraphs": "\n\n".join(f"line {number}" for number in range(40_000)),
        "40,000 list items": "\n".join(f"- item {number} `x`" for number in range(40_000)),
        "100 KB of dense markup": "\n\n".join(dense(80, number) for number in range(140)),
        "100 KB of it unbroken": dense(11_000),
        "100 KB of a table": f"| a | b |\n|---|--:|\n{rows}",
        "40 KB unlabelled fence": f"```\n{prose(40_000)}\n```",
        "40 KB of python": f"```python\n{code(46_000).replace('```', '')}\n```",
        "40,000 lines of code": "```\n" + "x = 1\n" * 40_000 + "```",
        "1 MB in one line": "x" * 1_000_000,
        "1 MB of words in one line": "word " * 200_000,
        "1 MB in one line of code": "```\n" + "x" * 1_000_000,
        "1 MB of prose": prose(1_000_000),
    }


def took_ms(do: Callable[[], object]) -> float:
    """How long something takes."""
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


def seen(column: Column) -> None:
    """What a frame asks for."""
    for y in range(HEIGHT):
        found = column.find(column.top + y)
        if found is not None:
            column.sections[found[0]].line(found[1])


def opened(column: Column, block: Callable[[], Renderable], size: int) -> None:
    """A stored message is shown."""
    column.replace_all([Section("a", Speaker.MODEL, lambda: [block()], size)])
    seen(column)


def to(column: Column, line: int) -> None:
    """The window goes elsewhere."""
    column.scroll_to(line)
    seen(column)


def sized(column: Column, width: int) -> None:
    """The window has another width."""
    column.resize(width, HEIGHT)
    seen(column)


def streamed(text: str, portion: int) -> float:
    """The longest frame."""
    column, section, answer = Column(), Section("s", Speaker.MODEL), Answer()
    column.resize(WIDTH, HEIGHT)
    section.add(answer)
    column.append(section)

    def frame(at: int) -> None:
        answer.append(text[at : at + portion])
        column.changed(section)
        column.settle()
        seen(column)

    return max(took_ms(lambda at=at: frame(at)) for at in range(0, len(text), portion))  # type: ignore[misc]  # bound


def measured(text: str) -> dict[str, float]:
    """Everything that may happen to a message."""
    column = Column()
    column.resize(WIDTH, HEIGHT)
    size = len(text)
    found = {"open": took_ms(lambda: opened(column, lambda: Answer(text, closed=True), size))}
    found["page up"] = max(took_ms(lambda: to(column, column.top - HEIGHT)) for _ in range(40))
    found["home"] = took_ms(lambda: to(column, 0))
    shares = [0.1, 0.5, 0.3, 0.9, 0.7, 0.2, 0.6]
    found["drag"] = _most(lambda share: to(column, int(column.total * share)), shares)
    found["resize"] = _most(lambda width: sized(column, width), [80, 120, WIDTH])
    found["end"] = took_ms(lambda: to(column, column.total))
    found["resize at the end"] = _most(lambda width: sized(column, width), [80, 120, WIDTH])
    found["unfold"] = took_ms(lambda: opened(column, lambda: Thinking(text, folded=Fold.FULL), size))
    found["as words of the user"] = took_ms(lambda: opened(column, lambda: Prompt(text), size))
    found["stream"] = streamed(text, 4_000)
    found["at once"] = streamed(text, size)
    return found


def _most(do: Callable[[N], None], values: Iterable[N]) -> float:
    return max(took_ms(partial(do, value)) for value in values)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    GcSchedule(lambda: True).begin()
    Document("```python\nx\n```\n\n|a|\n|-|", closed=True).lines(80)  # whatever is loaded with the first text
    results: dict[str, dict[str, float]] = {}
    for name, text in texts().items():
        if only not in name:
            continue
        found = measured(text)
        steps = {key: found.pop(key) for key in ("page up", "home", "drag", "end")}
        worst, at = max((value, key) for key, value in found.items())
        step, where = max((value, key) for key, value in steps.items())
        whole = took_ms(lambda text=text: Document(text, closed=True).lines(WIDTH))  # type: ignore[misc]  # bound
        results[name] = {"block_ms": round(worst, 1), "scroll_ms": round(step, 1), "whole_ms": round(whole, 1)}
        verdict = "ok" if worst <= LIMITS["block_ms"] and step <= LIMITS["scroll_ms"] else "TOO MUCH"
        print(
            f"{name:26} longest {worst:5.1f} ({at}), scrolling {step:5.1f} ({where}), whole {whole:6.0f}  {verdict}",
            flush=True,
        )
    print(json.dumps({"bench": "longtext", "results": results, "limits": LIMITS}))


if __name__ == "__main__":
    main()
