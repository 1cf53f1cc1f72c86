"""Completion of paths after ``@``: fuzzy, without what is ignored, hidden or secret."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until
from tui.app.attachments import complete_path
from tui.app.file_tree import FileTree
from tui.app.ignore_files import read_pattern
from tui.app.path_completion import PathCompletion
from tui.domain.blocks import TextBlock


def _make(folder: Path, *paths: str, **texts: str) -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x", "utf-8")
    for path, text in texts.items():
        (folder / path).write_text(text, "utf-8")
    return folder


def _completion(folder: Path) -> PathCompletion:
    return PathCompletion(folder, {"HOME": str(folder / "home")})


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("tools", "src/tools/"),
        ("toolsh", "src/tools/shell.py"),
        ("shell", "src/tools/shell.py"),
        ("SHELL", "src/tools/shell.py"),
        ("s/t/sh", "src/tools/shell.py"),
        ("readme", "README.md"),
        ("src/", "src/**/*"),
        ("src/*.py", "src/*.py"),
        ("**/shell.*", "**/shell.*"),
        ("", "docs/"),
    ],
)
def test_letters_find_files_folders_and_patterns(tmp_path: Path, typed: str, first: str) -> None:
    _make(tmp_path, "README.md", "docs/readers.txt", "src/main.py", "src/tools/shell.py", "src/tools/other_shells.py")
    assert _completion(tmp_path).complete(typed)[0] == first


def test_a_folder_is_listed_after_the_pattern_for_all_of_it(tmp_path: Path) -> None:
    _make(tmp_path, "src/b.py", "src/a/deep.py", "other.py")
    assert _completion(tmp_path).complete("src/") == ["src/**/*", "src/a/", "src/b.py"]
    assert _completion(tmp_path).complete("src/*.py") == ["src/*.py", "src/b.py"]
    assert _completion(tmp_path).complete("nothing/*.py") == []


def test_hidden_ignored_and_guarded_files_are_not_offered(tmp_path: Path) -> None:
    _make(
        tmp_path, "fine.txt", ".hidden.txt", "made.log", "build/out.txt", "id_rsa", "server.pem", "node_modules/x.txt"
    )
    _make(tmp_path, "sub/local.txt", "sub/keep.log", ".git/config", ".config/x.txt")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n", "utf-8")
    (tmp_path / "sub" / ".ignore").write_text("local.txt\n!keep.log\n", "utf-8")
    found = _completion(tmp_path)
    assert found.complete("") == ["sub/", "fine.txt"]
    assert found.complete("sub/") == ["sub/**/*", "sub/keep.log"]
    assert found.complete("t") == ["fine.txt"]
    for typed in ("id_rsa", "pem", "hidden", "made", "out", ".e", "./id_rsa", "*.pem"):
        assert [path for path in found.complete(typed) if path not in ("fine.txt", "sub/")] == [], typed


def test_hidden_files_are_offered_to_those_who_type_the_dot(tmp_path: Path) -> None:
    _make(tmp_path, ".github/workflow.yml", ".env", ".ssh/id_ed25519")
    assert _completion(tmp_path).complete(".g") == [".github/"]
    assert _completion(tmp_path).complete(".github/") == [".github/workflow.yml"]
    assert _completion(tmp_path).complete(".env") == []


def test_paths_elsewhere_are_completed_by_their_beginning(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    _make(tmp_path, "other/notes.txt")
    assert _completion(folder).complete(f"{tmp_path}/other/no") == [f"{tmp_path}/other/notes.txt"]
    assert _completion(folder).complete("../oth") == ["../other/"]


def test_links_to_folders_are_not_followed_and_odd_names_are_left_out(tmp_path: Path) -> None:
    folder = _make(tmp_path / "work", "a.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "bad\u202ename.txt").write_text("x")
    (folder / "bad\nname.txt").write_text("x")
    assert FileTree(folder, frozenset()).paths() == ("a.txt", "loop")


def test_the_tree_is_read_again_after_a_while(tmp_path: Path) -> None:
    now = 0.0
    tree = FileTree(_make(tmp_path, "a.txt"), frozenset(), lambda: now)
    assert tree.paths() == ("a.txt",)
    _make(tmp_path, "b.txt")
    assert tree.paths() == ("a.txt",)
    now = 60.0
    assert tree.paths() == ("a.txt", "b.txt")


PATTERNS = (
    *(
        "*.log",
        "build/",
        "/top.txt",
        "deep/only.txt",
        "**/cache",
        "docs/**",
        "a/**/z.txt",
        "!keep.log",
        "# comment",
        "",
    ),
    *(
        "file?.txt",
        "file[0-9].txt",
        "file[!0-9].txt",
        "trailing   ",
        r"\#hash",
        r"\!bang",
        "sub",
        "x/y/",
        "[",
        "*.t[x]t",
    ),
    *("*o*b*r", "d*/**/*.m*", "in/**/o*t", "**/b/**/z*t", "?*e*t", "a/**/b/**"),
    *("/docs", "**/deep/*.md", "*/mid.txt", "foo**bar", "!sub/", "a/", "**", "!*.txt", "*"),
)
FILES = (
    *("a.log", "keep.log", "top.txt", "in/top.txt", "deep/only.txt", "in/deep/only.txt", "in/cache", "docs/a/b.md"),
    *("a/z.txt", "a/b/z.txt", "a/b/c/z.txt", "file1.txt", "filex.txt", "trailing", "#hash", "!bang", "sub/q.txt"),
    *("in/sub/q.txt", "x/y/z.txt", "build/o.txt", "in/build/o.txt", "in/mid.txt", "foobar", "foo_bar", "deep/r.md"),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed, so it cannot be asked")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, number: int) -> None:
    """Each pattern with the two before it, in the folder itself and in one below."""
    _make(tmp_path, *FILES)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    (tmp_path / ".gitignore").write_text("\n".join(PATTERNS[max(0, number - 2) : number + 1]), "utf-8")
    (tmp_path / "in" / ".gitignore").write_text(PATTERNS[number - 3], "utf-8")
    listed = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"},
    )
    expected = {
        name for name in listed.stdout.decode().split("\0") if name and not name.rpartition("/")[2].startswith(".")
    }
    found = {path for path in FileTree(tmp_path, frozenset()).paths() if not path.endswith("/")}
    assert found == expected


def test_patterns_of_the_repository_hold_in_a_folder_of_it(tmp_path: Path) -> None:
    _make(tmp_path, ".git/HEAD", "in/a.log", "in/made/x.txt", "in/fine.txt", "in/local.txt")
    (tmp_path / ".gitignore").write_text("*.log\n/in/made/\n", "utf-8")
    (tmp_path / ".git" / "info").mkdir()
    (tmp_path / ".git" / "info" / "exclude").write_text("local.txt\n", "utf-8")
    assert FileTree(tmp_path / "in", frozenset()).paths() == ("fine.txt",)


@pytest.mark.parametrize("path", ["a" * 200, "a/" * 100, "aa/" * 60 + "a"])
@pytest.mark.parametrize(
    "line",
    [
        *("[", "[!", "[]", "\\", "*" * 300 + "x", "[z-a]", "**/**/**/**/a" * 20 + "x", "*a" * 40 + "*b"),
        *("*?" * 40 + "b", "**/a/" * 20 + "b", "**/*a*/" * 20 + "b/**", "*a/" * 20 + "**/b*a*a*a*a*a*b"),
    ],
)
def test_an_odd_pattern_ends_quickly(line: str, path: str) -> None:
    found = read_pattern(line)
    assert found is None or found[0].fullmatch(path) is None


def test_letters_that_could_be_anywhere_are_found_quickly(tmp_path: Path) -> None:
    tree = FileTree(_make(tmp_path, "a" * 200, "aaa/" * 30 + "a.b", "c"), frozenset())
    assert tree.matching("a" * 12 + "bc") == []
    assert tree.matching("a" * 12 + "b") == ["aaa/" * 30 + "a.b"]
    assert tree.matching("^]-\\") == []


def test_names_that_begin_with_what_was_typed_come_first_and_folders_before_files(tmp_path: Path) -> None:
    _make(tmp_path, "b-some", "some2", "a-some/x", "some1/x")
    assert complete_path(tmp_path, "some") == ["some1/", "some2", "a-some/", "b-some"]


async def test_a_folder_a_pattern_and_a_file_are_attached_by_keys(tmp_path: Path) -> None:
    work = _make(tmp_path / "work", "src/one.py", "src/two.py", "notes/other.txt")
    async with screen(tmp_path / "home", folder=work) as s:
        composer = s.app.chat.composer
        await type_in(s.pilot, "see @other")
        await s.until_it_says("notes/other.txt")
        await s.pilot.press("enter")
        await until(s.pilot, lambda: "⟦other.txt⟧" in composer.text)
        await type_in(s.pilot, "@src/")
        await s.until_it_says("all files that fit")
        await s.pilot.press("enter")
        await until(s.pilot, lambda: "⟦src/two.py⟧" in composer.text)
        blocks = composer.chips.blocks(composer.text)
        [text] = [block.text for block in blocks if isinstance(block, TextBlock)]
        assert [name in text for name in ("other.txt", "src/one.py", "src/two.py")] == [True] * 3


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("/set ui.mot", "true · Whether animations are shown."),
        ("/set ui.motion ", "as it is now · Whether animations are shown."),
        ("/set budget.tu", "budget.turn"),
        ("/unset ui.pl", "false · Output for screen readers"),
        ("/thinking ", "as it is now"),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_completion_shows_values_and_what_they_are_for(
    tmp_path: Path, typed: str, shown: str, size: tuple[int, int]
) -> None:
    async with screen(tmp_path, size=size) as s:
        await type_in(s.pilot, typed)
        await s.until_it_says(shown)


async def test_completion_of_levels_shows_what_is_sent(tmp_path: Path) -> None:
    async with screen(tmp_path, model="anthropic/claude-opus-4-5/low", environment={"ANTHROPIC_API_KEY": "k"}) as s:
        native = {row.label: row.native for row in s.house.services.models.levels()}
        await type_in(s.pilot, "/thinking ")
        await s.until_it_says("as it is now")
        for label, words in native.items():
            assert any(line.split()[:1] == [label] or f" {label} " in line for line in s.text().splitlines()), label
            assert words[:30] in s.text(), words


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_completions_are_above_what_is_typed(tmp_path: Path, size: tuple[int, int]) -> None:
    async with screen(tmp_path, size=size) as s:
        await type_in(s.pilot, "/mod")
        await s.until_it_says("/model NAME")
        rows = s.text().splitlines()
        [typed] = [row.index("❯ /mod") for row in rows if "❯ /mod" in row]
        [offered] = [row.index("/model NAME") for row in rows if "/model NAME" in row]
        assert offered == typed + 2


@pytest.mark.long
async def test_the_demo_is_named_in_the_title_bar_and_not_in_each_turn(tmp_path: Path) -> None:
    async with screen(tmp_path, model="demo/fast/low") as s:
        for question in ("One?", "Two?"):
            await s.ask(question)
        assert s.text().count("not a real model") == 1
        assert s.text().splitlines()[0].endswith("demo, not a real model")
        assert "demo/fast · low" in s.text()
