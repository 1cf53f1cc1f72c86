"""What the terminal says is understood, however it is cut and however late it comes."""

from __future__ import annotations

import os
import termios

import pytest
from textual import events
from textual.message import Message

from tui.ui.terminal.background import TerminalBackground
from tui.ui.terminal.driver import LOST_REPORT_S, LOST_S, Keyboard, plain_key, reported_size

WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
BLACK = "\x1b]11;rgb:0000/0000/0000\x07"
NAME = "\x1b[?62;22;52c"
XTERM_NAME = "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c"


def _heard(*pieces: str) -> tuple[list[str], list[TerminalBackground]]:
    """The keys that are pressed, and what is told of the ground."""
    grounds: list[TerminalBackground] = []
    keyboard = Keyboard(grounds.append)
    messages: list[Message] = [message for piece in pieces for message in keyboard.feed(piece)]
    return [message.key for message in messages if isinstance(message, events.Key)], grounds


@pytest.mark.parametrize(("answer", "ground"), [(WHITE, TerminalBackground.LIGHT), (BLACK, TerminalBackground.DARK)])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_late_answer_is_no_typing(answer: str, ground: TerminalBackground, size: int) -> None:
    said = f"a{answer}{NAME}b"
    assert _heard(*(said[at : at + size] for at in range(0, len(said), size))) == (["a", "b"], [ground])


def test_the_rest_of_an_answer_belongs_to_what_was_heard_before() -> None:
    assert _heard("early\x1b]11;rgb:ff", "ff/ffff/ffff\x1b\\!") == (
        [*"early", "exclamation_mark"],
        [TerminalBackground.LIGHT],
    )


@pytest.mark.parametrize(
    "garbage",
    ["\x1b]11;?\x1b\\", "\x1b]11;nonsense\x07", "\x1b]10;rgb:1/2/3\x1b\\", NAME, "\x1b[?c", XTERM_NAME],
)
def test_garbage_for_an_answer_is_no_typing_and_tells_nothing(garbage: str) -> None:
    assert _heard(garbage, "ok") == (["o", "k"], [])


@pytest.mark.parametrize(
    ("report", "size"),
    [
        ("\x1b[48;99999;99999;1;1t", (1000, 500)),
        ("\x1b[48;40;99999;800;2000t", (1000, 40)),
        ("\x1b[48;99999;80;800;2000t", (80, 500)),
        ("\x1b[48;500;1000;8000;9000t", (1000, 500)),
        ("\x1b[48;24;80;480;640t", (80, 24)),
    ],
)
def test_a_report_of_an_absurd_size_is_bounded(report: str, size: tuple[int, int]) -> None:
    resizes = [message for message in Keyboard(lambda _: None).feed(report) if isinstance(message, events.Resize)]
    assert [(event.size, event.virtual_size, event.container_size) for event in resizes] == [(size, size, size)]


@pytest.mark.parametrize(
    ("size", "known"),
    [((60000, 60000), (1000, 500)), ((80, 24), (80, 24)), ((1001, 500), (1000, 500)), ((0, 24), None)],
)
def test_an_absurd_window_is_bounded(size: tuple[int, int], known: tuple[int, int] | None) -> None:
    ours, theirs = os.openpty()
    try:
        termios.tcsetwinsize(theirs, (size[1], size[0]))
        assert reported_size(theirs) == known
    finally:
        os.close(ours)
        os.close(theirs)


def test_an_answer_without_an_end_does_not_swallow_what_is_typed_for_ever() -> None:
    assert _heard("\x1b]11;rgb:" + "f" * 80 + "typed")[0][-5:] == list("typed")
    assert _heard("\x1b]11;rgb:ff", "\x1b[A", "x")[0] == ["up", "x"]


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\x1b[1089::99;5u", "ctrl+c"),  # с on a Russian keyboard
        ("\x1b[1073::44;3u", "alt+comma"),
        ("\x1b[945::97;5u", "ctrl+a"),
        ("\x1b[97:65;2;65u", "A"),
        ("\x1b[1092:1060;2;1060u", "Ф"),
        ("\x1b[1092;1;1092u", "ф"),
        ("\x1b[1092::97;1;1092u", "ф"),
        ("\x1b[97::113;5u", "ctrl+a"),  # a Latin letter in another place stays what it says
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b1", "alt+1"),
        ("\x1b9", "alt+9"),
        ("\x1b\r", "alt+enter"),
        ("\r", "enter"),
        ("\x1b[105;5u", "ctrl+i"),
        ("\x1b[9;1u", "tab"),
    ],
)
def test_a_key_is_what_it_says_and_a_command_goes_by_its_latin_letter(sequence: str, key: str) -> None:
    assert _heard(sequence) == ([key], [])


def test_what_has_no_alternates_is_left_as_it_is() -> None:
    assert [plain_key(sequence) for sequence in ("\x1b[97;5u", "\x1b[A", "x")] == ["\x1b[97;5u", "\x1b[A", "x"]


@pytest.mark.parametrize("sequence", ["\x1b[999999999999;5u", "\x1b[1114112;1u", "\x1b[55555555:1:99999999999;5u"])
def test_a_number_that_is_no_character_is_no_key_and_no_end(sequence: str) -> None:
    assert _heard(sequence, "x") == (["x"], [])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 100])
def test_a_paste_is_one_paste_whatever_it_holds(size: int) -> None:
    inside = "aa\x1b[31m bb \x07 cc\x1b]0;t \r dd \x11\x1b\x1b[A\x00 é\n"
    said = f"x\x1b[200~{inside}\x1b[201~y\x1b[A\x1b[200~\x1b[201~z"
    keyboard = Keyboard(lambda ground: None)
    heard = [event for at in range(0, len(said), size) for event in keyboard.feed(said[at : at + size])]
    told = [event.key if isinstance(event, events.Key) else event.text for event in heard]  # type: ignore[attr-defined]
    assert told == ["x", inside.replace("\x00", ""), "y", "up", "", "z"]


def test_a_paste_of_many_megabytes_is_not_copied_with_each_piece() -> None:
    """Copied with each of its pieces, this one would take an hour."""
    keyboard = Keyboard(lambda ground: None)
    piece = "lorem ipsum ж\n" * 73
    assert not [*keyboard.feed("\x1b[200~")]
    assert not any([*keyboard.feed(piece)] for _ in range(80_000))
    (paste,) = keyboard.feed("\x1b[201~")
    assert isinstance(paste, events.Paste)
    assert len(paste.text) == 80_000 * len(piece)


def test_a_paste_whose_end_never_comes_does_not_swallow_what_is_typed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("tui.ui.terminal.driver.time.monotonic", lambda: now[0])
    keyboard = Keyboard(lambda ground: None)
    assert [*keyboard.feed("\x1b[200~words"), *keyboard.tick()] == []
    now[0] += LOST_S + 1
    (paste,) = keyboard.tick()
    assert isinstance(paste, events.Paste)
    assert paste.text == "words"
    assert [event.key for event in keyboard.feed("k") if isinstance(event, events.Key)] == ["k"]


UNASKED = [
    "\x1bP>|XTerm(370)\x1b\\",
    "\x1b[>41;354;0c",
    "\x1b[8;50;120t",
    "\x1b[<35;4M",
    "\x1b[<;;M",
    "\x1b[<0;1;2;3m",
    "\x1b]4;1;rgb:ffff/0000/0000\x1b\\",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b_Gi=31;OK\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1bP1+r544e=787465726d\x1b\\",
    "\x1b[?997;1n",
    "\x1b[?0u",
]
"""What a shell or an editor asked for, and did not stay for."""


@pytest.mark.parametrize("answer", UNASKED)
def test_an_answer_to_another_program_is_no_typing_however_it_is_divided(answer: str) -> None:
    """Divided after its third character: an escape and a letter alone are a key with alt."""
    for at in range(3, len(answer) + 1):
        assert _heard("a" + answer[:at], answer[at:] + "b") == (["a", "b"], []), (answer, at)


@pytest.mark.parametrize("said", ["\x1b^a private message\x1b\\", "\x1bXa string\x1b\\"])
def test_a_private_message_is_no_typing_however_it_is_divided(said: str) -> None:
    """Divided after its third character: its first two alone are a key with alt."""
    for at in range(3, len(said) + 1):
        assert _heard("a" + said[:at], said[at:] + "b") == (["a", "b"], []), (said, at)


def test_letters_typed_at_once_after_a_key_that_begins_like_a_private_message_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    keyboard = Keyboard(lambda _: None)
    messages = [*keyboard.feed("\x1bXabc"), *keyboard.feed("d")]
    assert messages == []
    now = LOST_REPORT_S + 0.1
    messages += [*keyboard.tick(), *keyboard.feed("\x1b[A")]
    assert [message.key for message in messages if isinstance(message, events.Key)][-5:] == ["a", "b", "c", "d", "up"]


def test_an_answer_to_another_program_without_an_end_does_not_swallow_what_is_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    keyboard = Keyboard(lambda _: None)
    messages = [*keyboard.feed("\x1bP>|XTerm(3")]
    now = LOST_REPORT_S + 0.1
    messages += [*keyboard.tick(), *keyboard.feed("ab")]
    assert [message.key for message in messages if isinstance(message, events.Key)] == ["a", "b"]
