"""Links that the terminal opens (OSC 8), as they are written to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_clusters import settled
from tests.e2e.test_living import PONDER, READY, talking

LONG = "https://docs.example/" + "chapter/" * 14 + "end"
TEXT = (
    f"See [the guide]({LONG}) and [a file](file:///etc/passwd), [code](javascript:x), "
    "[odd](https://a.example/%1b%5d0;x%07) and [mail](mailto:a@b.example).\n\nEnd."
)
LINK = re.compile(rb"\x1b\]8;[^;]*;([^\x1b\x07]*)\x1b\\(.*?)\x1b\]8;;\x1b\\", re.DOTALL)


def links(raw: bytes) -> list[tuple[str, str]]:
    """Address and text of every link."""
    return [(found[1].decode(), re.sub(r"\x1b\[[0-9;]*m", "", found[2].decode())) for found in LINK.finditer(raw)]


def answered(tmp_path: Path, text: str) -> bytes:
    """What was written while this answer came; it is stored when this returns."""
    with talking(tmp_path) as (terminal, model):
        model.say(text)
        model.finish()
        terminal.wait_for("End.")
        terminal.type("\x11\x11")  # ctrl+q; the second answers the question whether to stop what still runs
        terminal.exit_code()
        return terminal.raw


def opened_again(tmp_path: Path, **more: str) -> bytes:
    with Terminal([*PONDER, "--continue"], environment(tmp_path, **more), size=(80, 24)) as terminal:
        terminal.wait_for(READY)
        terminal.wait_for("End.")
        terminal.until(lambda: settled(terminal), "a still screen")
        return terminal.raw


def test_links_are_opened_again_on_every_row_and_only_where_the_terminal_knows_them(tmp_path: Path) -> None:
    assert b"\x1b]8;" not in answered(tmp_path, TEXT)
    assert b"\x1b]8;" not in opened_again(tmp_path, TERM="xterm-kitty", FORCE_HYPERLINK="0")
    found = links(opened_again(tmp_path, FORCE_HYPERLINK="1"))
    assert {address for address, _ in found} == {LONG, "https://a.example/%1b%5d0;x%07"}
    first, *rows = dict.fromkeys(text.strip() for address, text in found if address == LONG)
    assert first == "the guide"
    assert len(rows) >= 2
    assert "".join(rows).strip("()") == LONG


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("term", ["xterm-kitty", "foot"])
def test_a_terminal_that_is_known_gets_links(tmp_path: Path, term: str) -> None:
    answered(tmp_path, "[a](https://a.example/)\n\nEnd.")
    assert ("https://a.example/", "a") in links(opened_again(tmp_path, TERM=term))
