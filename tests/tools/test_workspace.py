"""The border of the working folder: paths that lead out, things that are no files, and links that appear in between."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, outcome, words
from tui.domain.blocks import DENIED
from tui.tools.builtin.workspace import opened_file, opened_folder

PROC = "/proc/self/"
"""Its links are resolved by the kernel, whatever the program thinks of them."""


@pytest.fixture
def outside(bench: Bench, tmp_path: Path) -> Path:
    """A secret beside the working folder, and twelve ways to it."""
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "plan.txt").write_text("the plan")
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "plan.txt").write_text("the plan")
    (tmp_path / "person" / "plan.txt").write_text("the plan")
    (bench.folder / "link.txt").symlink_to(secret / "plan.txt")
    (bench.folder / "folder").symlink_to(secret)
    (bench.folder / "up").symlink_to("..")
    (bench.folder / "first").symlink_to("second")
    (bench.folder / "second").symlink_to("../outside")
    (bench.folder / "root").symlink_to("/")
    (bench.folder / "inner").mkdir()
    return secret


ESCAPES = [
    "../outside/plan.txt",
    "inner/../../outside/plan.txt",
    "{outside}/plan.txt",
    "link.txt",
    "folder/plan.txt",
    "up/outside/plan.txt",
    "first/plan.txt",
    "root{outside}/plan.txt",
    "../ws-evil/plan.txt",
    PROC + "root{outside}/plan.txt",
    PROC + "cwd/{climb}{outside}/plan.txt",
    "~/plan.txt",
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", ESCAPES)
async def test_no_path_leads_out_without_being_asked_about(bench: Bench, outside: Path, way: str) -> None:
    path = way.format(outside=outside, climb="../" * 20)
    read = await bench.call("read_file", path=path)
    assert (outcome(read), [sheet.summary[:5] for sheet in bench.user.asked]) == ((False, DENIED), ["Read "])
    assert bench.user.asked[0].summary.endswith("outside the working folder")
    searches: tuple[tuple[str, dict[str, Any]], ...] = (
        ("grep", {"pattern": "plan"}),
        ("list_dir", {}),
        ("glob", {"pattern": "*"}),
    )
    for tool, arguments in searches:
        result = await bench.call(tool, path=path, **arguments)
        assert (outcome(result), len(bench.user.asked)) == ((False, DENIED), 1)
    guesses = [await bench.call("edit_file", "once", path=path, old_text=one, new_text="") for one in ("plan", "x")]
    assert len({words(guess) for guess in guesses}) == 1
    assert words(guesses[0]).endswith("with read_file before you change it.")
    allowed = await bench.call("read_file", "once", path=path)
    assert outcome(allowed) == (True, "1\tthe plan")


async def test_searching_the_working_folder_does_not_follow_links_out(bench: Bench, outside: Path) -> None:
    bench.write("inner/mine.txt", "my plan")
    assert words(await bench.call("grep", pattern="plan")) == "inner/mine.txt:1: my plan"
    assert words(await bench.call("glob", pattern="**/*.txt")) == "inner/mine.txt"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "\udc80"])
async def test_what_is_no_path_is_an_answer(bench: Bench, path: str) -> None:
    assert (await bench.call("read_file", "once", path=path)).failed


async def test_only_regular_files_are_read_and_none_is_waited_for(bench: Bench) -> None:
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "zero").symlink_to("/dev/zero")
    short = bench.folder / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(bench.folder)
        try:
            listening.bind("s")
        finally:
            os.chdir(here)
        answers = [words(await bench.call("read_file", "once", path=name)) for name in ("pipe", "zero", ".", "s")]
    assert short.is_socket()
    assert answers[:3] == [
        "`pipe` is a pipe, not a regular file.",
        "`zero` is a device, not a regular file.".replace("zero", "zero"),
        "`ws` is a folder, not a regular file.",
    ]
    assert answers[3].startswith("`")


async def test_a_sparse_file_of_50_gb_costs_nothing(bench: Bench) -> None:
    with (bench.folder / "sparse").open("wb") as file:
        file.truncate(50 * 10**9)
    answers = [
        outcome(await bench.call("read_file", path="sparse")),
        outcome(await bench.call("read_file", path="sparse", offset=10**9)),
        outcome(await bench.call("edit_file", "once", path="sparse", old_text="a", new_text="b")),
        outcome(await bench.call("grep", pattern="x")),
    ]
    assert [good for good, _ in answers] == [False, False, False, True]


SECRETS = [".env", ".env.local", "key.pem", "id_ed25519", "credentials.json", ".netrc", ".aws/config", "conf/.ENV"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SECRETS)
async def test_files_that_may_hold_secrets_ask_and_are_not_searched(bench: Bench, name: str) -> None:
    bench.write(name, "password")
    assert outcome(await bench.call("read_file", path=name)) == (False, DENIED)
    assert words(await bench.call("grep", pattern="password")) == "No line matches."
    guesses = [await bench.call("edit_file", path=name, old_text=one, new_text="") for one in ("password", "x")]
    assert len({words(guess) for guess in guesses}) == 1
    assert outcome(await bench.call("read_file", "once", path=name)) == (True, "1\tpassword")


PROTECTED = [
    ".git/hooks/post-commit",
    ".bashrc",
    "sub/.zshrc",
    ".envrc",
    "../person/config/config.toml",
    "~/.ssh/config",
]


@pytest.mark.parametrize("name", PROTECTED)
async def test_places_that_run_by_themselves_ask_even_when_everything_is_allowed(bench: Bench, name: str) -> None:
    await bench.call("write_file", "session", path="a.txt", content="x")
    assert outcome(await bench.call("write_file", path=name, content="x")) == (False, DENIED)
    assert bench.user.asked[0].patterns == ()


def test_a_link_slipped_into_the_way_after_the_decision_is_an_error(tmp_path: Path) -> None:
    real = tmp_path.resolve() / "a" / "b"
    real.mkdir(parents=True)
    (real / "f").write_text("x")
    real.rename(tmp_path / "moved")
    real.symlink_to(tmp_path / "moved")
    with pytest.raises(Exception, match=r"Not a directory|Too many levels"), opened_folder(real):
        pass
    (tmp_path / "moved" / "link").symlink_to("f")
    with pytest.raises(Exception, match="Too many levels"), opened_file(tmp_path.resolve() / "moved" / "link"):
        pass


@pytest.mark.long
async def test_a_swapper_never_gets_a_word_out_or_in(bench: Bench, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "f.txt").write_text("secret")
    (bench.folder / "d").mkdir()
    (bench.folder / "d" / "f.txt").write_text("open")
    over = threading.Event()

    def swap() -> None:
        real, aside = bench.folder / "d", bench.folder / "aside"
        while not over.is_set():
            real.rename(aside)
            real.symlink_to(target)
            real.unlink()
            aside.rename(real)

    await bench.call("write_file", "session", path="other.txt", content="x")
    swapper = threading.Thread(target=swap)
    swapper.start()
    edited = 0
    try:
        for _ in range(200):
            # Inside everything is allowed, outside the answer is no: whatever gets through was mistaken for inside.
            assert "secret" not in words(await bench.call("read_file", path="d/f.txt"))
            edited += not (await bench.call("edit_file", path="d/f.txt", old_text="e", new_text="e.")).failed
    finally:
        over.set()
        swapper.join()
    assert (target / "f.txt").read_text() == "secret"
    assert sorted(path.name for path in target.iterdir()) == ["f.txt"]
    assert (bench.folder / "d" / "f.txt").read_text() == "ope" + "." * edited + "n"
