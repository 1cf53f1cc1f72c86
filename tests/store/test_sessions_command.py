"""``ponder sessions``: what scripts and bug reports see."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.store.stage import Stage, a_turn, rich_turn
from tui.cli.main import main
from tui.domain.blocks import TextBlock
from tui.domain.messages import Message, Role, Turn
from tui.settings.paths import find_paths
from tui.store.database import Database
from tui.store.sessions import title_from


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two closed sessions in the user's own place; the folder for files."""
    monkeypatch.setenv("PONDER_HOME", str(tmp_path / "home"))
    stage = Stage(Database(find_paths(os.environ).database))

    async def fill() -> None:
        await stage.keep("01SKY", a_turn(1, "Why is the sky blue?", "Rayleigh \x1b[31m scattering", cost=0.5))
        await stage.keep("01TOOLS", rich_turn(), a_turn(2))
        await stage.conversations.release_all()

    asyncio.run(fill())
    stage.database.close()
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["sessions", *words]) == 0
    return capsys.readouterr().out


def test_the_list_shows_the_newest_first(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = printed(capsys, "list").splitlines()
    assert first.split()[0] == "01TOOLS"
    assert second.split()[0] == "01SKY"
    assert second.endswith("1           $0.50  Why is the sky blue?  anthropic/claude-opus-5")
    found = [json.loads(line) for line in printed(capsys, "list", "--json", "--limit", "1").splitlines()]
    assert [(row["id"], row["turns"]) for row in found] == [("01TOOLS", 2)]


def test_a_search_shows_where_it_found_something(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, snippet = printed(capsys, "search", "in:answers", "rayleigh").splitlines()
    assert (line.split()[0], snippet) == ("01SKY", "    Rayleigh ␛[31m scattering")
    assert printed(capsys, "search", "nothing like it") == ""


def test_a_session_is_shown_safely(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "show", "SKY")
    thinking = "> **Thinking**\n>\n> thought 1"
    assert f"## anthropic/claude-opus-5\n\n{thinking}\n\nRayleigh ␛[31m scattering\n" in shown


def test_an_export_is_private_and_comes_back(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shelf / "tools.json"
    printed(capsys, "export", "01TOOLS", "--format", "json", "-o", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    new = printed(capsys, "import", str(path)).strip()
    again = printed(capsys, "export", new, "--format", "json")
    assert json.loads(again)["turns"] == json.loads(path.read_text())["turns"]


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_an_export_into_a_pipe_or_a_device_goes_through_it(
    shelf: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    pipe = shelf / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    printed(capsys, "export", "01SKY", "--format", form, "-o", str(pipe))
    assert b"Rayleigh" in os.read(reader, 65_536)
    os.close(reader)
    full = shelf / "full"
    full.symlink_to("/dev/full")  # as root the device itself could be replaced
    assert main(["sessions", "export", "01SKY", "--format", form, "-o", str(full)]) == 2
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert (stat.S_ISFIFO(pipe.stat().st_mode), full.is_symlink()) == (True, True)


def test_the_keys_of_the_environment_do_not_leave(
    shelf: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "Rayleigh")
    assert "Rayleigh" not in printed(capsys, "show", "01SKY") + printed(capsys, "export", "01SKY", "--format", "json")


def test_a_deleted_session_comes_back_until_it_is_deleted_for_good(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "delete", "01SKY")
    assert [line.split()[0] for line in printed(capsys, "list").splitlines()] == ["01TOOLS"]
    assert [line.split()[0] for line in printed(capsys, "list", "--deleted").splitlines()] == ["01SKY"]
    printed(capsys, "delete", "--undo", "01SKY")
    assert len(printed(capsys, "list").splitlines()) == 2
    printed(capsys, "delete", "--forever", "01SKY")
    assert main(["sessions", "delete", "--undo", "01SKY"]) == 2


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ("show", "nothing"),
        ("search", "in:nowhere"),
        ("search", "! " * 300),
        ("search", "model:x " * 300),
        ("search", "!" * 60_000),
        ("show", "x" * 100_000),
        ("import", "missing.json"),
        ("export", "01SKY", "-o", "/dev/null/file.md"),
    ],
)
def test_a_wrong_word_is_a_sentence_and_code_2(
    shelf: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main(["sessions", *words]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_without_any_session_there_is_nothing_to_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path / "nowhere"))
    assert printed(capsys, "list") == ""


def test_a_bad_file_keeps_no_good_one_out(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, missing = shelf / "good.json", shelf / "bad.json", shelf / "missing.json"
    assert main(["sessions", "export", "SKY", "--format", "json", "-o", str(good)]) == 0
    bad.write_text("{")
    capsys.readouterr()
    assert main(["sessions", "import", str(bad), str(missing), str(good)]) != 0
    told = capsys.readouterr()
    assert len(told.out.split()) == 1
    assert [name in told.err for name in ("bad.json", "missing.json", "good.json")] == [True, True, False]


def test_a_name_of_several_sessions_says_which(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "show", "01"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("ponder: `01` matches several sessions. For example `01TOOLS`")
    assert "`01SKY` (Why is the sky blue?)" in told
    assert main(["sessions", "show", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("ponder: There is no session `nothing`.")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", [(), ("--forever",), ("--undo",)])
@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_deletes_nothing_even_if_there_is_one_session_only(
    shelf: Path, capsys: pytest.CaptureFixture[str], how: tuple[str, ...], name: str
) -> None:
    printed(capsys, "delete", "--forever", "01TOOLS")
    if how:
        printed(capsys, "delete", "01SKY")
    assert main(["sessions", "delete", *how, name]) == 2
    left = printed(capsys, "list", *(["--deleted"] if how else []))
    assert [line.split()[0] for line in left.splitlines()] == ["01SKY"]


def test_a_title_that_is_also_the_end_of_another_id_names_both(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage(Database(find_paths(os.environ).database))

    async def name() -> None:
        await stage.library.rename("01SKY", "tools")

    asyncio.run(name())
    stage.database.close()
    assert main(["sessions", "delete", "--forever", "tools"]) == 2
    assert "`tools` matches several sessions" in capsys.readouterr().err
    assert len(printed(capsys, "list").splitlines()) == 2


@pytest.mark.parametrize("place", ["data/sessions.db", "data/sessions.db-wal", "config/config.toml", "data/link"])
def test_an_export_replaces_no_file_of_the_program(shelf: Path, capsys: pytest.CaptureFixture[str], place: str) -> None:
    home = shelf / "home"
    (home / "config").mkdir()
    (home / "data" / "link").symlink_to(home / "data" / "sessions.db")
    (shelf / "elsewhere").symlink_to(home)
    assert main(["sessions", "export", "01SKY", "-o", str(shelf / "elsewhere" / place)]) == 2
    assert "is one of ponder's own files" in capsys.readouterr().err
    assert len(printed(capsys, "list").splitlines()) == 2
    assert not (home / "config" / "config.toml").exists()


@pytest.mark.parametrize("limit", ["0", "-1", "9" * 30, "1.5", ""])
def test_a_limit_that_is_no_number_of_rows_is_refused(
    shelf: Path, capsys: pytest.CaptureFixture[str], limit: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sessions", "list", "--limit", limit])
    assert ended.value.code == 2
    assert "is not a number of rows" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1e300", "-1e300", "9e999", "'abc'", "0"])
def test_a_damaged_date_or_cost_hides_no_session(shelf: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    with sqlite3.connect(find_paths(os.environ).database) as connection:
        connection.execute(f"UPDATE session SET updated = {value}, cost = {value} WHERE id = '01SKY'")
    connection.close()
    assert [line.split()[0] for line in printed(capsys, "list").splitlines()] == ["01TOOLS", "01SKY"]
    for line in printed(capsys, "list", "--json").splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_list_says_that_it_is_empty_without_a_word_for_scripts(shelf: Path, capsys) -> None:
    assert main(["sessions", "search", "nothing like it"]) == 0
    assert capsys.readouterr() == ("", "No matches.\n")


def test_the_title_is_the_question_not_what_was_piped_in() -> None:
    blocks = tuple(TextBlock(text=text) for text in ('<file name="a">\nx\n</file>', "a,b\n1,2\n", "Sum the columns"))
    turn = Turn(id="t", messages=(Message(id="m", role=Role.USER, blocks=blocks),))
    assert title_from(turn) == "Sum the columns"


def test_the_title_is_the_question_behind_the_files_in_one_text() -> None:
    def titled(text: str) -> str:
        return title_from(Turn(id="t", messages=(Message(id="m", role=Role.USER, blocks=(TextBlock(text=text),)),)))

    files = '<file name="a">\nx\n</file> <file name="b">\ny\n</file>'
    assert titled(f"{files} Sum the columns") == "Sum the columns"
    assert titled(f"{files} \n") == '<file name="a"> x </file> <file name="b"> y </file>'
    assert titled("<file is a word") == "<file is a word"
