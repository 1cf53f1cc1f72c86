"""Answers full of formulas beside the same text without: layout and painting of every row, and streaming.

    python -m bench.formulas [--rounds 7]

``plain`` has the same characters without the signs that make them formulas. ``first`` is everything from the text to
painted rows for texts that were never seen, ``again`` the same with formulas that were seen before, and ``stream`` the
answer in deltas of 24 characters with a layout after each. The last line is JSON; ``*_x`` are at most 2.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable

from tests.typeset.formula_corpus import cases
from tui.typeset.math.typesetting import set_display, set_line
from tui.ui.markdown.document import Document
from tui.ui.theme.theme_styles import ThemeStyles

WIDTH = 100
LIMITS = {"first_x": 2.0, "again_x": 2.0, "stream_x": 2.0}
WORDS = "which follows from the definition, because every term of the sum is positive and the sequence is bounded by it"
SIGNS = re.compile(r"\$+|\\([A-Za-z]+)|[{}^_&\\]")


def answer(start: int) -> str:
    """Sixty paragraphs with one formula each, and a display after every third of them."""
    found: list[str] = []
    corpus = cases()
    for number in range(60):
        source = corpus[(start + number * 7) % len(corpus)].source
        found.append(f"We have ${source}$, {WORDS}. {WORDS.capitalize()}.")
        if number % 3 == 0:
            found.append(f"$$\n{source}\n$$")
    return "\n\n".join(found)


def without_formulas(text: str) -> str:
    return SIGNS.sub(lambda found: found[1] or " ", text)


def paint(text: str) -> None:
    styles = ThemeStyles({"answer-text": "#ffffff", "background": "#000000"})
    for line in Document(text, closed=True).lines(WIDTH):
        styles.strip(line, "", WIDTH)


def stream(text: str) -> None:
    document = Document()
    for at in range(0, len(text), 24):
        document.append(text[at : at + 24])
        document.line(document.height(WIDTH) - 1)


def seconds(work: Callable[[str], None], texts: list[str], *, forgetting: bool) -> float:
    """CPU time for one text, the best of several."""
    best = float("inf")
    for text in texts:
        if forgetting:
            set_line.cache_clear()
            set_display.cache_clear()
        begin = time.process_time()
        work(text)
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    paint(answer(0))
    figures: dict[str, float] = {}
    for name, work, forgetting in (("first", paint, True), ("again", paint, False), ("stream", stream, True)):
        texts = [answer(start if forgetting else 0) for start in range(rounds)]
        ours = seconds(work, texts, forgetting=forgetting)
        plain = seconds(work, [without_formulas(text) for text in texts], forgetting=forgetting)
        figures |= {f"{name}_ms": ours * 1000, f"{name}_plain_ms": plain * 1000, f"{name}_x": ours / plain}
    for name, limit in LIMITS.items():
        print(f"{name:10} {figures[name]:6.2f}   limit {limit}")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
