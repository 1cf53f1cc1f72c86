"""Reading, listing, writing and editing files."""

from __future__ import annotations

import base64
import difflib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.bench import Bench, outcome, pictures, words
from tui.domain.blocks import ImageBlock
from tui.tools.builtin import line_diff

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_lines_come_numbered_and_in_ranges(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\r\nthree\n")
    assert words(await bench.call("read_file", path="a.txt")) == "1\tone\n2\ttwo\n3\tthree"
    middle = await bench.call("read_file", path="a.txt", offset=2, limit=1)
    assert words(middle) == "2\ttwo\n(cut here; the file has 15 bytes: go on with offset=3)"
    assert outcome(await bench.call("read_file", path="a.txt", offset=9)) == (False, "The file has only 3 lines.")


async def test_a_long_file_is_read_in_pieces_that_fit_together(bench: Bench) -> None:
    lines = [f"line {number} " + "x" * 200 for number in range(1, 5001)]
    bench.write("long.txt", "\n".join(lines))
    read: list[str] = []
    while len(read) < len(lines):
        text = words(await bench.call("read_file", path="long.txt", offset=len(read) + 1))
        read += [row.partition("\t")[2] for row in text.split("\n") if "\t" in row]
        assert len(text) < 300_000
    assert read == lines


async def test_a_line_of_5_mb_is_cut_and_says_so(bench: Bench) -> None:
    bench.write("line.json", b"x" * 5_000_000)
    text = words(await bench.call("read_file", path="line.json"))
    assert len(text) < 3_000
    assert "more characters in this line" in text
    assert "(cut here" in text


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"", (True, "`f` is empty.")),
        (b"a\0b", (False, "`f` is a binary file of 3 bytes.")),
        (b"caf\xe9\n", (True, "1\tcaf\ufffd")),
        (b"a" * 9000 + b"\0", (False, "This is a binary file: it contains NUL bytes.")),
    ],
)
async def test_what_is_no_text_is_said(bench: Bench, data: bytes, answer: tuple[bool, str]) -> None:
    bench.write("f", data)
    assert outcome(await bench.call("read_file", path="f")) == answer


async def test_a_picture_comes_as_a_picture(bench: Bench) -> None:
    bench.write("dot.png", PNG)
    result = await bench.call("read_file", path="dot.png")
    assert words(result) == "dot.png: image/png, 28 bytes"
    assert pictures(result) == [ImageBlock(media_type="image/png", data=base64.b64encode(PNG).decode(), name="dot.png")]


async def test_an_edit_shows_its_diff_and_changes_exactly_that(bench: Bench) -> None:
    path = bench.write("a.py", "def f():\n    return 1\n")
    path.chmod(0o755)
    result = await bench.call("edit_file", "once", path="a.py", old_text="return 1", new_text="return 2")
    assert outcome(result) == (True, "Wrote `a.py`: 2 lines, 22 bytes.")
    assert (bench.user.asked[0].summary, bench.user.asked[0].note, bench.user.asked[0].detail) == (
        "Edit a.py",
        f"in {bench.folder}",
        "@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n",
    )
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("def f():\n    return 2\n", 0o755)
    assert sorted(entry.name for entry in bench.folder.iterdir()) == ["a.py"]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            {"old_text": "c", "new_text": ""},
            "old_text does not occur in `f`. Read the file and copy the text exactly.",
        ),
        ({"old_text": "a", "new_text": ""}, "old_text occurs 2 times in `f`: add lines around it, or set replace_all."),
        ({"old_text": "a", "new_text": "a"}, "old_text and new_text are the same."),
    ],
)
async def test_an_edit_that_is_not_exact_is_refused_before_anybody_is_asked(
    bench: Bench, arguments: dict[str, Any], answer: str
) -> None:
    bench.write("f", "a b a")
    assert outcome(await bench.call("edit_file", "once", path="f", **arguments)) == (False, answer)
    assert bench.user.asked == []


async def test_all_occurrences_are_replaced_when_asked_for(bench: Bench) -> None:
    path = bench.write("f", "a b a")
    await bench.call("edit_file", "once", path="f", old_text="a", new_text="c", replace_all=True)
    assert path.read_text() == "c b c"


async def test_newlines_of_the_file_stay_what_they_are(bench: Bench) -> None:
    path = bench.write("dos.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    await bench.call("edit_file", "once", path="dos.txt", old_text="one\ntwo", new_text="1\n2\n2b")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n"
    await bench.call("edit_file", "once", path="dos.txt", old_text="three", new_text="3\n4")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\n3\r\n4\r\n"


async def test_a_file_that_is_not_utf_8_is_not_changed(bench: Bench) -> None:
    path = bench.write("latin", b"caf\xe9 one")
    result = await bench.call("edit_file", "once", path="latin", old_text="one", new_text="two")
    assert (result.failed, path.read_bytes()) == (True, b"caf\xe9 one")


async def test_a_file_that_changed_since_it_was_read_is_refused_with_what_changed(bench: Bench) -> None:
    path = bench.write("a.txt", "one\ntwo\n")
    await bench.call("read_file", path="a.txt")
    path.write_text("one\ntwo\nthree\n")
    changes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("edit_file", {"old_text": "one", "new_text": "1"}),
        ("write_file", {"content": "mine"}),
    )
    for tool, arguments in changes:
        good, text = outcome(await bench.call(tool, "once", path="a.txt", **arguments))
        assert (good, bench.user.asked) == (False, [])
        assert text.startswith("`a.txt` changed since you read it: read it again before you change it.\n")
        assert "+three" in text
    await bench.call("read_file", path="a.txt")
    assert not (await bench.call("edit_file", "once", path="a.txt", old_text="one", new_text="1")).failed
    assert not (await bench.call("edit_file", "once", path="a.txt", old_text="two", new_text="2")).failed
    assert path.read_text() == "1\n2\nthree\n"


async def test_what_one_session_saw_is_unknown_to_another(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\n")
    bench.session = "first"
    await bench.call("read_file", path="a.txt")
    bench.session = "second"
    good, text = outcome(await bench.call("write_file", path="a.txt", content="new\n"))
    assert (good, text) == (False, "`a.txt` exists: read it with read_file before you replace it.")
    good, _ = outcome(await bench.call("edit_file", "once", path="a.txt", old_text="two", new_text="three"))
    assert good
    bench.session = "first"
    good, text = outcome(await bench.call("edit_file", "once", path="a.txt", old_text="one", new_text="zero"))
    assert not good
    assert "`a.txt` changed since you read it" in text
    assert "+three" in text


async def test_a_file_that_was_only_touched_has_not_changed(bench: Bench) -> None:
    path = bench.write("a.txt", "one")
    await bench.call("read_file", path="a.txt")
    os.utime(path, (1, 1))
    assert not (await bench.call("edit_file", "once", path="a.txt", old_text="one", new_text="1")).failed


class _Meddler:
    """Says yes, and changes the file while the sheet is open."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    async def ask(self, *_: object) -> str:
        self._path.write_text(self._text)
        return "once"

    def settle(self, call: object) -> None:
        """Never left waiting."""


@pytest.mark.parametrize("existed", [True, False])
async def test_what_changed_while_the_user_looked_is_not_overwritten(bench: Bench, existed: bool) -> None:
    path = bench.folder / "a.txt"
    if existed:
        bench.write("a.txt", "one")
        await bench.call("read_file", path="a.txt")
    bench.user.ask = _Meddler(path, "somebody else's").ask  # type: ignore[method-assign, assignment]
    result = await bench.call("write_file", path="a.txt", content="mine")
    assert outcome(result) == (
        False,
        "`a.txt` changed after the change was shown. Not written: read it again.",
    )
    assert path.read_text() == "somebody else's"
    assert [entry.name for entry in bench.folder.iterdir()] == ["a.txt"]


async def test_a_file_is_replaced_only_when_it_was_read(bench: Bench) -> None:
    path = bench.write("a.txt", "one")
    refused = await bench.call("write_file", "once", path="a.txt", content="two")
    assert outcome(refused) == (False, "`a.txt` exists: read it with read_file before you replace it.")
    await bench.call("read_file", path="a.txt")
    await bench.call("write_file", "once", path="a.txt", content="two")
    assert path.read_text() == "two"


async def test_folders_are_made_on_the_way(bench: Bench) -> None:
    result = await bench.call("write_file", "once", path="x/y/z.txt", content="hi\n")
    assert outcome(result) == (True, "Wrote `x/y/z.txt`: 1 line, 3 bytes.")
    assert (bench.folder / "x" / "y" / "z.txt").read_text() == "hi\n"


async def test_a_folder_is_listed_with_sizes_and_targets_and_names_that_are_safe(bench: Bench) -> None:
    bench.write("b.txt", "12345")
    bench.write("sub/c", "")
    bench.write("evil\n\x1b[31m", "")
    (bench.folder / "link").symlink_to("b.txt")
    assert words(await bench.call("list_dir")) == "b.txt  5\nevil␊␛[31m  0\nlink -> b.txt\nsub/"
    assert (await bench.call("list_dir", path="nowhere")).failed


async def test_files_are_found_by_pattern(bench: Bench) -> None:
    for name in ("a.py", "b.ts", "src/c.py", "src/d/e.tsx", "node_modules/f.py", ".venv/g.py"):
        bench.write(name, "")
    found = {
        pattern: words(await bench.call("glob", pattern=pattern)).split("\n")
        for pattern in ("*.py", "**/*.py", "**/*.{ts,tsx}", "src/**", "node_modules/*", "*a*a*a*a*a*a*a*a*a*b")
    }
    assert found == {
        "*.py": ["a.py"],
        "**/*.py": ["a.py", "src/c.py"],
        "**/*.{ts,tsx}": ["b.ts", "src/d/e.tsx"],
        "src/**": ["src/c.py", "src/d/e.tsx"],
        "node_modules/*": ["node_modules/f.py"],
        "*a*a*a*a*a*a*a*a*a*b": ["No file matches."],
    }


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "~/x", "a/../../b"])
async def test_a_pattern_does_not_leave_its_folder(bench: Bench, pattern: str) -> None:
    assert (await bench.call("glob", pattern=pattern)).failed


async def test_the_diff_of_a_very_long_file_is_whole(bench: Bench) -> None:
    before = [f"line {number}" for number in range(30_000)]
    path = bench.write("long.txt", "\n".join(before))
    await bench.call("read_file", path="long.txt")
    after = [*before[:10], "new\u2028line", *before[12:-5], "last"]
    await bench.call("write_file", "once", path="long.txt", content="\n".join(after))
    detail = bench.user.asked[0].detail.split("\n")
    assert detail[:2] == ["@@ -11,29990 +11,29985 @@", "-line 10"]
    removed = [row[1:] for row in detail[1:] if row.startswith("-")]
    added = [row[1:] for row in detail[1:] if row.startswith("+")]
    assert before[:10] + removed == before
    assert before[:10] + added == after
    assert path.read_text() == "\n".join(after)


async def test_a_diff_that_would_take_long_is_one_hunk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # As for 3,300 lines without this: for them, the work grows with the cube of their number.
    monkeypatch.setattr(line_diff, "MOST_WORK", 100_000)
    before = [f"line {number % 66}" for number in range(660)]
    after = [line for number, old in enumerate(before) for line in (old, f"new {number}")]
    bench.write("a.txt", "\n".join(before))
    await bench.call("read_file", path="a.txt", limit=1)
    await bench.call("write_file", "once", path="a.txt", content="\n".join(after))
    detail = bench.user.asked[0].detail.split("\n")
    assert [row for row in detail if row.startswith("@@")] == ["@@ -2,659 +2,1319 @@"]
    assert [row[1:] for row in detail[1:] if row.startswith("-")] == before[1:]
    assert [row[1:] for row in detail[1:] if row.startswith("+")] == after[1:]


@given(before=st.text("ab\n", max_size=40), after=st.text("ab\n", max_size=40))
def test_a_diff_is_what_other_programs_write(before: str, after: str) -> None:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    written = difflib.unified_diff(old, new, "a/f", "b/f")
    whole = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in written]
    assert line_diff.diff_of(before, after, "f") == "".join(whole)


async def test_an_edit_makes_no_file_larger_than_the_limit(bench: Bench) -> None:
    path = bench.write("a.txt", "e\n" * 1_000)
    new = "x" * 5_000
    result = await bench.call("edit_file", "once", path="a.txt", old_text="e", new_text=new, replace_all=True)
    assert outcome(result) == (False, "`a.txt` would have 5,001,000 characters; the limit is 5,000,000.")
    assert path.read_text() == "e\n" * 1_000


async def test_a_name_of_255_bytes_in_any_script_can_be_written(bench: Bench) -> None:
    for name in ("漢" * 85, "x" * 255):
        assert not (await bench.call("write_file", "once", path=name, content="x")).failed
        assert (bench.folder / name).read_text() == "x"


async def test_a_new_file_is_shown_as_its_lines(bench: Bench) -> None:
    result = await bench.call("write_file", "once", path="new.txt", content="one\n--- a/x\n+++ b/y\n")
    assert bench.user.asked[0].detail == "+one\n+--- a/x\n++++ b/y\n"
    assert result.diff == bench.user.asked[0].detail
    assert result.note == "+3"
