"""LaTeX and long code in the whole program: as they stream, when they are opened again, and when they are copied."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_clusters import settled
from tests.e2e.test_living import PONDER, READY, talking

INLINE = (r"\( e^{i\pi} + 1 = 0 \)", r"$\{a_1*b*c\}$", r"\(\int_0^1 f\,dx\)")
DRAWN = ("e^(iπ) + 1 = 0", "{a₁ ∗ b ∗ c}", "∫₀¹ f dx")
DISPLAY = ("\\[", r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "\\]")
UNKNOWN = r"$\weird{x}_1*b*$"
ROWS = ("⎛ a  b ⎞", "⎜      ⎟", "⎝ c  d ⎠")
CODE = "result = first_function(first_argument, second_argument) + second_function(third_argument, fourth)"
TEXT = (
    f"We know {INLINE[0]} and {INLINE[1]} and {UNKNOWN} for $5 and $6.\n\n"
    + "\n".join(DISPLAY)
    + f"\n\n```python\n{CODE}\n```\n\nEnd."
)


def shows_all(terminal: Terminal) -> bool:
    shown = re.sub(r"\s+", "", terminal.text())
    return all(re.sub(r"\s+", "", part) in shown for part in (*DRAWN[:2], UNKNOWN, *ROWS, "for$5and$6."))


@pytest.mark.long
def test_formulas_and_code_survive_streaming_reopening_and_copying(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.think(*f"I see {INLINE[2]} here.")
        terminal.wait_for(DRAWN[2])
        for at in range(0, len(TEXT), 3):
            model.say(TEXT[at : at + 3])
        terminal.wait_for("End.")
        terminal.until(lambda: shows_all(terminal), "every formula drawn, or as written")
        assert "↪ " in terminal.text()
        terminal.type("/copy code\r")  # of the running answer, as far as it has come
        terminal.wait_for("Copied code")
        copied = re.findall(rb"\x1b\]52;c;([^\x07]+)\x07", terminal.raw)
        assert base64.b64decode(copied[-1]).decode() == CODE
        model.finish()
        terminal.type("/copy answer\r")
        terminal.wait_for("Copied answer")
        copied = re.findall(rb"\x1b\]52;c;([^\x07]+)\x07", terminal.raw)
        assert base64.b64decode(copied[-1]).decode() == TEXT
        terminal.until(lambda: settled(terminal), "a still screen")
    with Terminal([*PONDER, "--continue"], environment(tmp_path), size=(80, 24)) as terminal:
        terminal.wait_for(READY)
        terminal.wait_for("End.")
        terminal.until(lambda: shows_all(terminal), "every formula drawn, or as written")
        terminal.type("\x0f\x0f")  # ctrl+o: the thinking too
        terminal.until(lambda: settled(terminal), "a still screen")
        terminal.type("\x1b[5~")
        terminal.wait_for(DRAWN[2])
