"""Lines that are entered: prompts of several lines, drafts, held output, and what is written around a prompt."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from tests.app.side_server import SideServer
from tests.app.stage import config
from tests.linear.stage import lines
from tui.domain.blocks import ImageBlock, TextBlock
from tui.linear.line_reader import LineReader, TypedText
from tui.linear.line_writer import LineWriter
from tui.linear.prompt_draft import PromptDraft
from tui.linear.questions import Choice, Questions


class Drafts:
    """The drafts of sessions."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {"old": "left over"}

    def keep_draft(self, session: str, text: str) -> None:
        self.kept[session] = text

    def kept_draft(self, session: str) -> str:
        return self.kept.get(session, "")


def draft(session: str = "s") -> tuple[PromptDraft, Drafts]:
    drafts = Drafts()
    made = PromptDraft(drafts)  # type: ignore[arg-type]  # it has what is used
    made.enter(session)
    return made, drafts


@pytest.mark.parametrize(
    ("entered", "prompt"),
    [
        (["one"], "one"),
        (["  one  "], "one"),
        ([""], ""),
        (["one\\", "two\\", "three"], "one\ntwo\nthree"),
        (["one\\\\"], "one\\\\"),
        (["<<", "one", "", "/two", ">>"], "one\n\n/two"),
        (["<<", ">>"], ""),
        (
            [
                "<< not",
            ],
            "<< not",
        ),
        ([">>"], ">>"),
    ],
)
def test_a_prompt_is_complete(entered: list[str], prompt: str) -> None:
    made, drafts = draft()
    for line in entered[:-1]:
        assert made.take(TypedText(line)) is None
        assert made.prompt == "more> "
    assert made.take(TypedText(entered[-1])) == prompt
    assert made.prompt == "you> "
    assert drafts.kept["s"] == ""


def test_a_paste_waits_for_an_empty_line_and_is_the_draft_until_then() -> None:
    made, drafts = draft()
    assert made.take(TypedText("one\n\n/two", pasted=True)) is None
    assert made.hint() == "Pasted 3 lines. An empty line sends them, ctrl+c drops them."
    assert made.take(TypedText("three")) is None
    assert drafts.kept["s"] == "one\n/two\nthree"
    assert made.take(TypedText("")) == "one\n\n/two\nthree"


def test_a_paste_within_a_block_can_end_it() -> None:
    made, _ = draft()
    made.take(TypedText("<<"))
    assert made.take(TypedText("a\nb\n>>\nc", pasted=True)) == "a\nb"


def test_each_session_has_its_draft() -> None:
    made, drafts = draft("old")
    assert made.kept == "left over"
    made.put_back((TextBlock(text="new"),), None)
    made.enter("other")
    assert (made.kept, made.is_open, drafts.kept) == ("", False, {"old": "new"})
    made.enter("old")
    assert made.kept == "new"


def test_lines_that_are_begun_when_a_session_opens_go_along() -> None:
    """A pipe delivers them while the program starts, or while the command before them still opens the session."""
    drafts = Drafts()
    made = PromptDraft(drafts)  # type: ignore[arg-type]  # it has what is used
    assert [made.take(TypedText(line)) for line in ("<<", "one")] == [None, None]
    made.enter("s")
    assert made.take(TypedText("two")) is None
    made.enter("old")
    assert made.take(TypedText(">>")) == "one\ntwo"
    assert (drafts.kept["s"], made.kept) == ("", "left over")


def test_a_kept_prompt_stays_when_another_is_sent() -> None:
    made, _ = draft("old")
    made.sent("another")
    assert made.kept == "left over"
    made.sent("left over")
    assert made.kept == ""
    made.put_back([TextBlock(text="a"), ImageBlock(media_type="image/png", data="", name="p.png")], "t")
    assert (made.kept, made.kept_for, made.attached) == ("a", "t", ["p.png"])
    made.edited = "t"
    made.sent("b")
    assert (made.kept, made.kept_for, made.attached) == ("", None, [])


def written(*, ends_rows: bool = True) -> tuple[LineWriter, io.StringIO]:
    text = io.StringIO()
    return LineWriter(text, ends_rows=lambda: ends_rows), text


def test_lines_come_below_a_prompt_which_is_lost_by_that() -> None:
    out, text = written()
    lost: list[int] = []
    out.prompt_lost = lambda: lost.append(1)
    out.say(["a\tb", "\x1b[31mred\r"])
    out.prompt("you> ")
    out.prompt("you> ")
    out.say(["late"])
    out.prompt("you> ")
    out.entered()
    out.say(["after"])
    out.close()
    assert text.getvalue() == "a    b\n␛[31mred␍\nyou> \nlate\nyou> after\n"
    assert lost == [1]


async def test_a_prompt_and_a_choice_hold_no_line_and_no_sequence_of_others() -> None:
    out, text = written()
    out.prompt("Name, enter alone for \x1b]52;c;QQ==\x07\nyes: ")
    out.entered()
    rows = [Choice("a", "no\n2 yes\x1b[1A"), Choice("b", "later")]
    asked = asyncio.create_task(
        Questions(out, LineReader(io.RawIOBase(), lambda _: None), lambda _: None).choose([], rows)
    )
    await asyncio.sleep(0)
    asked.cancel()
    out.close()
    assert text.getvalue() == (
        "Name, enter alone for ␛]52;c;QQ==␇␊yes: 1 no␊2 yes␛[1A\n2 later\nAnswer 1 to 2, or enter to leave: "
    )


def test_a_row_that_nobody_ends_is_ended() -> None:
    out, text = written(ends_rows=False)
    out.prompt("you> ")
    out.entered()
    out.entered()
    out.say(["a"])
    out.prompt("you> ")
    out.withdraw()
    out.withdraw()
    out.close()
    assert text.getvalue() == "you> \na\nyou> \n"


def test_what_is_held_comes_later() -> None:
    out, text = written()
    out.hold()
    out.say(["a"])
    out.prompt("you> ")
    out.entered()
    out.release()
    out.say(["b"])
    out.close()
    assert text.getvalue() == "you> a\nb\n"


def test_a_reader_that_is_gone_is_told_once() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    told: list[int] = []
    out = LineWriter(Gone(), ends_rows=lambda: True)
    out.went = lambda: told.append(1)
    out.say(["a"])
    out.say(["b"])
    out.close()
    assert (out.is_gone, told) == (True, [1])


async def test_a_prompt_that_was_stopped_in_the_queue_is_sent_by_an_empty_line(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with lines(tmp_path, model=None) as s:
            await s.hear("you> ")
            s.enter("first")
            server.say("first", "One.\n\n")
            await s.hear("One.\n")
            s.enter("second")
            await s.hear("Queued.")
            s.app.typed_input.interrupt()
            await s.hear("Stopped by you.")
            server.say("second", "Two.")
            server.finish("second")
            said = await s.ask("")
            assert said[0] == "From the queue: second"
            assert "Two." in said


async def test_files_that_a_folder_leaves_out_are_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "note.txt").write_text("the word is kiwi")
    (tmp_path / "src" / "server.pem").write_text("SECRET")
    async with lines(tmp_path) as s:
        assert await s.ask("/attach src") == [
            "Attached to the next prompt: src/note.txt.",
            "Left out: src/server.pem (may hold secrets).",
        ]


async def test_files_are_attached_to_the_next_prompt(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the word is kiwi")
    async with lines(tmp_path) as s:
        assert await s.ask("/attach note.txt") == ["Attached to the next prompt: note.txt."]
        await s.ask("Read it")
        (turn,) = s.house.view().turns
        assert "the word is kiwi" in " ".join(block.text for block in turn.user_blocks if isinstance(block, TextBlock))
        assert await s.ask("/attach nothing.txt") == ["Error: nothing.txt is not a file."]


async def test_the_output_of_a_shell_command_goes_with_the_next_prompt(tmp_path: Path) -> None:
    async with lines(tmp_path, tools=True, allow=("shell(=echo kiwi) full",)) as s:
        said = await s.ask("!echo kiwi")
        assert said == ["Running echo kiwi. Ctrl+c stops it.", "kiwi", *said[2:]]
        assert said[-1] == "End of the output. It is attached to the next prompt."
        await s.ask("Hello")
        (turn,) = s.house.view().turns
        (block,) = turn.user_blocks
        assert isinstance(block, TextBlock)
        assert block.text == "```console\n$ echo kiwi\nkiwi\n```\nHello"
