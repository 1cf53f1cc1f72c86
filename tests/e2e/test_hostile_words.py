"""Whatever a model says, only what the screen itself needs reaches the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests import prefork
from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_living import PONDER, talking

PAYLOADS = {
    "title": "\x1b]0;pwned\x07",
    "title, C1": "\x9d0;pwned\x9c",
    "clipboard": "\x1b]52;c;cHduZWQ=\x07",
    "clipboard, ST": "\x1b]52;c;cHduZWQ=\x1b\\",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "notification": "\x1b]9;pwned\x07",
    "iterm file": "\x1b]1337;File=name=cHdu;inline=1:AAAA\x07",
    "device control": '\x1bP$q"p\x1b\\',
    "sixel": "\x1bPq#0;2;0;0;0#0~~\x1b\\",
    "kitty graphics": "\x1b_Gf=24,s=1,v=1;AAAA\x1b\\",
    "privacy message": "\x1b^pwned\x1b\\",
    "full reset": "\x1bc",
    "soft reset": "\x1b[!p",
    "window report": "\x1b[21t",
    "main screen": "\x1b[?1049l",
    "scroll region": "\x1b[3;5r",
    "8-bit csi": "\x9b2J",
    "answerback": "\x05\x07\x0e",
    "bidi and tags": "\u202eevil\u2066\U000e0041\u200f\x00",
}
ALLOWED = re.compile(
    rb"\x1b\[[0-9;]*m"  # colours
    rb"|\x1b\[[0-9;]*[ABCDHJK]"  # moving and erasing
    rb"|\x1b\[\?(?:1000|1003|1004|1006|1015|1016|1049|2004|2026|2048|25|7)[hl]"  # modes Textual sets
    rb"|\x1b\]22;[a-z]+\x07"  # the pointer's shape
    rb"|\x1b\[[0-9]+G"  # columns after clusters
    rb"|\x1b\[\?(?:2026|2027|2048)\$p|\x1b\[[><][0-9]*u|\x1b\[=4;2u"  # questions, kitty's keyboard
    rb"|\x1b\[c|\x1b\]11;\?\x1b\\"
)
FOREIGN = re.compile(
    rb"\x1b|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)


def foreign_bytes(raw: bytes) -> list[bytes]:
    """What is neither text nor a sequence the screen needs, with its surroundings."""
    # What was read may end in the middle of a sequence.
    rest = ALLOWED.sub(b"", re.sub(rb"\x1b[\[\]]?[0-9;?]*\Z", b"", raw))
    return [rest[max(0, found.start() - 20) : found.end() + 20] for found in FOREIGN.finditer(rest)]


def _nothing_foreign(terminal: Terminal) -> None:
    assert foreign_bytes(terminal.raw) == []


def test_no_payload_reaches_the_terminal_whole_or_cut_anywhere(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        for number, payload in enumerate(PAYLOADS.values()):
            model.think(f"t{number} ", payload, *payload, "\n\n")
        terminal.wait_for(f"t{len(PAYLOADS) - 1}")
        for number, payload in enumerate(PAYLOADS.values()):
            model.say(f"plain {number} {payload}\n\n", *payload, f"\n\n`{payload}`\n\n- {payload}\n\n")
            model.say(f"```{payload}\n{payload}\n```\n\n[{payload}](http://a.example/{payload})\n\n")
            model.say(f"| {payload} | b |\n|---|---|\n| {payload} | c |\n\n# {payload}\n\n")
        model.say("the end of it")
        model.finish()
        terminal.wait_for("the end of it")
        terminal.type("\x1b[5~" * 30)  # page up through all of it
        terminal.type("/rename \x9b2Jtitle\r")
        terminal.wait_for("enter send")
        terminal.type("\x1b[F")
        terminal.wait_for("the end of it")
        _nothing_foreign(terminal)


def test_a_paste_with_escapes_shows_and_sends_none(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.say("ready")
        model.finish()
        terminal.wait_for("ready")
        terminal.type(b"\x1b[200~pasted \x1b]0;pwned\x07 words\x1b[201~")
        terminal.wait_for("words")
        terminal.type("\r")
        terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
        model.finish()
        assert "\\u001b" not in model.prompts[-1]
        _nothing_foreign(terminal)


def test_without_the_screen_a_terminal_gets_none_either(tmp_path: Path) -> None:
    said = " ".join(PAYLOADS.values())
    with Loopback() as model:
        model.configure(tmp_path)
        model.think(said)
        model.say(said)
        model.finish()
        asked = [*PONDER, "-p", said.replace("\x00", ""), "--show-thinking"]
        with Terminal(asked, environment(tmp_path)) as terminal:
            assert terminal.exit_code() == 0
            assert "pwned" in terminal.text()
            _nothing_foreign(terminal)
    listed = [*PONDER, "sessions", "list", "--json"]
    rows = prefork.run(listed, env=environment(tmp_path), text=True, check=True)
    session = json.loads(rows.stdout.splitlines()[0])["id"]
    for words in (["list"], ["show", session, "--parts", "all"], ["export", session, "--format", "json"]):
        with Terminal([*PONDER, "sessions", *words], environment(tmp_path), size=(200, 50)) as terminal:
            assert terminal.exit_code() == 0
            _nothing_foreign(terminal)


def test_json_is_the_same_on_a_terminal_as_in_a_pipe_and_holds_nothing_to_obey(tmp_path: Path) -> None:
    said = " ".join(PAYLOADS.values())
    for form in ("--json", "--jsonl"):
        with Loopback() as model:
            model.configure(tmp_path)
            model.say(said)
            model.finish()
            with Terminal([*PONDER, "-p", "hi", form], environment(tmp_path), size=(4000, 50)) as terminal:
                assert terminal.exit_code() == 0
                _nothing_foreign(terminal)
                last = terminal.raw.decode().strip().splitlines()[-1]
        assert json.loads(last)["answer"] == said
    listed = [*PONDER, "sessions", "list", "--json"]
    rows = prefork.run(listed, env=environment(tmp_path), text=True, check=True)
    exported = [*PONDER, "sessions", "export", json.loads(rows.stdout.splitlines()[0])["id"], "--format", "json"]
    with Terminal(exported, environment(tmp_path), size=(4000, 50)) as terminal:
        assert terminal.exit_code() == 0
        _nothing_foreign(terminal)
        on_a_terminal = json.loads(terminal.raw.decode())
    piped = prefork.run(exported, env=environment(tmp_path), text=True, check=True)
    assert json.loads(piped.stdout) == on_a_terminal
    assert "pwned" in piped.stdout
