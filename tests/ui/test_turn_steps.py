"""A turn with tool calls is one run: one head, a rail beside the steps, one bill; live and opened again."""

from __future__ import annotations

from dataclasses import replace

from tests.ui import scenes
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.stream import Finish, Stop
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.ui.markdown.runs import plain
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.build_sections import DisplayOptions, sections_of
from tui.ui.transcript.section import Section
from tui.ui.transcript.usage_line import bill_of

DIFF = "--- a/sums.py\n+++ b/sums.py\n@@ -1 +1 @@\n-    return a - b\n+    return a + b\n"


def called(number: int, name: str, arguments: str = "{}", *before: TextBlock | ThinkingBlock) -> Message:
    call = ToolCallBlock(call_id=f"c{number}", name=name, arguments=arguments)
    return replace(
        scenes.answer("", number),
        blocks=(*before, call),
        stop=Stop(Finish.TOOL_USE),
        usage=Usage(input=1_000, cache_read=900, output=100, thinking=40, total=1_100),
        seconds=2.0,
        cost=0.01,
    )


def result(number: int, name: str, note: str = "", diff: str = "") -> Message:
    block = ToolResultBlock(
        call_id=f"c{number}", name=name, content=(TextBlock(text="ok"),), seconds=0.5, note=note, diff=diff
    )
    return Message(id=f"r{number}", role=Role.TOOL, blocks=(block,))


def thought(text: str) -> ThinkingBlock:
    return ThinkingBlock(text=text, form=ThinkingForm.FULL, seconds=1.0, tokens=7)


def errand(*, last: Message | None = None, is_open: bool = False) -> Turn:
    messages = (
        scenes.user("Fix it."),
        called(1, "grep", '{"pattern": "add"}', TextBlock(text="First I look.\n\nThen I change it.")),
        result(1, "grep", "3 hits"),
        called(2, "edit_file", '{"path": "sums.py"}', thought("One line changes.")),
        result(2, "edit_file", "+1 −1", DIFF),
        *((last,) if last is not None else ()),
    )
    return Turn(id="t", messages=messages, open=is_open)


def rows(turn: Turn, width: int = 60) -> list[str]:
    theme = ThemeStyles({})
    return [
        section.strip(number, theme, cursor=None).text.rstrip()
        for section in sections_of([turn], DisplayOptions())
        for number in range(section.height(width))
    ]


def final(text: str = "Fixed.") -> Message:
    return replace(scenes.answer(text, 9), usage=Usage(input=3_000, output=50, thinking=0), seconds=3.0, cost=0.02)


def test_a_run_has_one_head_one_rail_and_one_bill() -> None:
    assert rows(errand(last=final())) == [
        " ▌ Fix it.",
        "",
        "   claude-opus-5 · high",
        "   │ First I look.",
        "   │",
        "   │ Then I change it.",
        "   │ ✓ grep   add                           3 hits · 0.5 s",
        "   │ ▸ 7 tok   One line changes.",
        "   │ ✓ edit   sums.py                        +1 −1 · 0.5 s",
        "",
        "   Fixed.",
        "   3 requests · in 5k (1.8k cached) · out 170 · thinking",
        "   80 · 7.0 s · $0.040",
        "",
    ]


def test_another_model_within_a_turn_has_a_head_of_its_own() -> None:
    last = final()
    assert last.origin is not None
    shown = rows(errand(last=replace(last, origin=replace(last.origin, model="claude-haiku-5"))))
    assert shown[8:13] == [
        "   │ ✓ edit   sums.py                        +1 −1 · 0.5 s",
        "",
        "   claude-haiku-5 · high",
        "",
        "   Fixed.",
    ]


def test_a_turn_that_still_runs_has_no_bill_yet() -> None:
    assert rows(errand(is_open=True))[-2:] == ["   │ ✓ edit   sums.py                        +1 −1 · 0.5 s", ""]


def test_a_turn_that_ended_after_a_call_has_its_bill_below_it() -> None:
    assert rows(errand(), 90)[-3:] == [
        "   │ ✓ edit   sums.py                                                      +1 −1 · 0.5 s",
        "   2 requests · in 2k (1.8k cached) · out 120 · thinking 80 · 4.0 s · $0.020",
        "",
    ]


def test_an_edit_unfolds_to_its_diff_as_it_was_when_it_ran() -> None:
    (edit,) = [section for section in sections_of([errand()], DisplayOptions()) if section.key == "a2"]
    edit.blocks[1].fold()
    edit.touch()
    shown = [plain(edit.line(number)[0]).rstrip() for number in range(edit.height(60))]
    assert [row.strip() for row in shown if row.strip().startswith(("+", "-"))] == [
        "--- a/sums.py",
        "+++ b/sums.py",
        "-    return a - b",
        "+    return a + b",
    ]
    assert {run.role for number in range(edit.height(60)) for run in edit.line(number)[0]} >= {
        "diff-added",
        "diff-removed",
    }


def test_sums_of_unknown_parts_are_lower_bounds() -> None:
    known, unknown = called(1, "grep", "{}", thought("?")), called(2, "grep", "{}", thought("?"))
    unknown = replace(unknown, usage=Usage(input=500, output=10), cost=None)
    assert (
        bill_of([known, unknown])
        == "2 requests · in 1.5k (900 cached) · out 70 · thinking ≥ 40 · 4.0 s · at least $0.010"
    )
    assert bill_of([unknown]) == "in 500 · out 10 · thinking unknown (in out) · 2.0 s"


def test_a_selection_of_rail_rows_copies_their_text_alone() -> None:
    section: Section = list(sections_of([errand(last=final())], DisplayOptions()))[1]
    section.height(60)
    assert [section.indent_of(number) for number in range(len(section.blocks))] == [3, 5, 5]
    assert [section.width_of(number, 60) for number in range(len(section.blocks))] == [55, 53, 53]


SAID = (
    "The test for negative numbers fails because the sign is dropped, so I change the parser and run all tests again."
)


def test_what_a_model_says_between_calls_as_thinking_is_always_visible() -> None:
    said = ThinkingBlock(text=SAID, form=ThinkingForm.NARRATION, seconds=1.0, tokens=30)
    short = replace(said, text="Now the edit.")
    kept_back = replace(said, form=ThinkingForm.SUMMARY)
    turn = replace(
        errand(),
        messages=(*errand().messages, called(3, "shell", "{}", said), called(4, "shell", "{}", short, kept_back)),
    )
    shown = rows(turn)
    at = shown.index("   │ ▾ 30 tok")
    assert " ".join(row.removeprefix("   │ ┊ ") for row in shown[at + 1 : at + 4]) == SAID
    assert "   │ ▸ 30 tok   Now the edit." in shown
    assert [row[-1] for row in shown if row.startswith("   │ ▸ 30 tok   The test for negative")] == ["…"]
