"""Keys that stand where an output is cut: no part of them reaches the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, open_bench, words
from tui.providers.redaction import Redactor, Secret
from tui.tools.cut_text import end_between_keys, start_between_keys
from tui.tools.mcp.results import call_result_of

KEY = "zq9-" + "Kf3Tn8Lw2Pd7Rx5Vb" * 2
REDACT = Redactor([Secret(KEY)]).clean_content


def _parts_shown(text: str) -> int:
    """The longest part of the key in the text, from its beginning or to its end."""
    sizes = range(len(KEY) + 1)
    return max(size for size in sizes if KEY[:size] in text or (size and KEY[-size:] in text))


def _bench(around: Path) -> Bench:
    return open_bench(around, redact=REDACT)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("before", [1_970, 1_999, 496])
@pytest.mark.parametrize("tool", ["read_file", "shell", "grep"])
async def test_a_key_in_a_line_that_is_cut(tmp_path: Path, tool: str, before: int) -> None:
    bench = _bench(tmp_path)
    bench.write("a.txt", f"{'x ' * (before // 2)}{KEY} {'y ' * 2_000}\n")
    arguments: dict[str, Any] = {
        "read_file": {"path": "a.txt"},
        "shell": {"command": "cat a.txt"},
        "grep": {"pattern": "x x"},
    }[tool]
    text = words(await bench.call(tool, "once", **arguments))
    assert "more characters" in text
    assert _parts_shown(text) <= 4  # the mask shows four letters


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shift", [1, 20, 36])
@pytest.mark.parametrize("end", ["first", "last"])
async def test_a_key_at_the_gap_in_the_middle_of_an_output(tmp_path: Path, end: str, shift: int) -> None:
    lines = "".join(f"{number:07d} {'x' * 90}\n" for number in range(330))
    filler = "z" * (32 * 1024 - len(lines) - shift - 1)
    piece = f"{lines}{filler} {KEY} {'y' * 90}\n"
    behind = "".join(f"{'w' * 98}\n" for _ in range(400))
    text = piece + behind if end == "first" else "".join(reversed(piece + behind)).replace(KEY[::-1], KEY)
    bench = _bench(tmp_path)
    bench.write("a.txt", text)
    shown = words(await bench.call("shell", "once", command="cat a.txt"))
    assert "bytes omitted here" in shown
    assert _parts_shown(shown) <= 4


def test_a_key_at_the_gap_in_a_result_of_an_mcp_server() -> None:
    for shift in (1, 20, 36):
        half = 32 * 1024 - shift
        text = f'{"x" * (half - 1)}"{KEY}"{"y" * 90_000}"{KEY}"{"x" * (half - len(KEY))}'
        [block] = call_result_of("s", "t", {"content": [{"type": "text", "text": text}]}).content
        assert _parts_shown(REDACT(block.text)) <= 4  # type: ignore[union-attr]


def test_a_text_without_gaps_is_cut_where_it_was_asked() -> None:
    text = "x" * 10_000
    assert (end_between_keys(text, 5_000), start_between_keys(text, 5_000)) == (5_000, 5_000)
    assert end_between_keys(text, 20_000) == 10_000
