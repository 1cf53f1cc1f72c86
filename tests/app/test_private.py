"""Of a private conversation no byte reaches the disk, and the screen says so all the while."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import Screen, screen
from tests.app.side_server import SideServer, called, thought
from tests.app.stage import config, house
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.providers import log_file
from tui.ui.dialogs.approval import Approval

LONG = "for i in $(seq 4000); do echo quokka-result $i; done"


def files_that_say(folder: Path, words: str) -> list[Path]:
    """Files below a folder that contain the words anywhere: free pages of a database and its log, too."""
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def leaked(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in files_that_say(folder, "quokka")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture(autouse=True)
def _log_with_texts() -> Iterator[None]:
    """The log of this process omits texts from the first private session on."""
    yield
    log_file._Texts.omitted = False


async def converse(s: Screen, server: SideServer) -> None:
    """A conversation with secrets in everything that is stored of another one."""
    await s.enter("alpha quokka-prompt")
    server.queues["alpha"].put_nowait(thought("quokka-thinking "))
    server.queues["alpha"].put_nowait(called("shell", command=LONG))
    server.finish("alpha")
    await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
    await s.house.services.chat.answer_approval("c1", "session")
    await until(s.pilot, lambda: server.asked("alpha") == 2)
    await until(s.pilot, lambda: s.app.screen is s.app.chat)
    server.say("alpha", "quokka-answer")
    server.finish("alpha")
    await s.until_it_says("quokka-answer")
    await until(s.pilot, lambda: not s.app.chat.is_busy())
    await s.enter("/rename quokka-title")
    await s.until_it_says("quokka-title")
    await s.enter("/system quokka-prompt")
    await type_in(s.pilot, "quokka-draft")
    await until(s.pilot, lambda: s.app.chat.composer.text == "quokka-draft")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("begun", ["by option", "by command"])
async def test_nothing_of_a_private_conversation_is_in_any_file(tmp_path: Path, temporary: Path, begun: str) -> None:
    home = tmp_path / "home"
    async with SideServer() as server:
        config(home, server.config('[permissions]\nask = ["shell"]\n'))
        options = {"no_save": begun == "by option", "folder": tmp_path}
        async with screen(home, size=(100, 30), model=None, stored_in="file", tools=True, **options) as s:
            if begun == "by command":
                await s.enter("kept words")
                server.say("kept", "kept answer")
                server.finish("kept")
                await s.until_it_says("kept answer")
                await until(s.pilot, lambda: not s.app.chat.is_busy())
                assert "not kept" not in s.text()
                await s.enter("/private")
            await s.until_it_says("Nothing of this conversation is stored")
            assert s.text().count("not kept") == 2  # in the title bar and the status line
            await converse(s, server)
            assert s.text().count("not kept") == 2
            assert leaked(home, temporary) == []
            # It does not become another session's draft or prompt.
            await s.pilot.press("ctrl+n")
            await until(s.pilot, lambda: not s.app.chat.composer.text)
            if begun == "by command":
                await s.until_it_no_longer_says("not kept")
                await s.pilot.press("up")
                assert "quokka" not in s.app.chat.composer.text
            await s.pilot.press("ctrl+s")
            await s.until_it_says("quokka-title")
            await s.until_it_says("not kept ·")
            await s.pilot.press("escape")
            await until(s.pilot, lambda: s.app.screen is s.app.chat)
            server.finish("alpha")
        assert leaked(home, temporary) == []
    if begun == "by command":
        assert files_that_say(home, "kept answer")


@pytest.mark.long
async def test_a_private_session_comes_back_from_the_list_with_its_draft(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with screen(tmp_path, size=(100, 30), model=None, stored_in="file", no_save=True) as s:
            await s.enter("alpha begins")
            server.say("alpha", "an answer")
            server.finish("alpha")
            await s.until_it_says("an answer")
            first = s.house.services.chat.session_id
            await until(s.pilot, lambda: not s.app.chat.is_busy())
            await type_in(s.pilot, "half a draft")
            await s.pilot.press("ctrl+n")
            await s.until_it_says("Nothing of this conversation is stored")
            await s.pilot.press("ctrl+s")
            await s.until_it_says("alpha begins")
            await s.until_it_says("an answer")  # the preview
            await s.pilot.press("enter")
            await until(s.pilot, lambda: s.house.services.chat.session_id == first)
            await until(s.pilot, lambda: s.app.chat.composer.text == "half a draft")
            assert s.text().count("not kept") == 2
            await s.pilot.press("ctrl+g")
            await s.until_toast("The editor needs a file")


async def test_what_would_write_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with house(tmp_path, model=None, stored_in="file", no_save=True) as h:
            server.say("alpha", "an answer")
            server.finish("alpha")
            await h.say("alpha begins")
            session, library = h.services.chat.session_id, h.services.library
            with pytest.raises(UsageError, match="not written to a file"):
                await library.export_to(tmp_path / "export.md", session, "md", "all")
            with pytest.raises(UsageError, match="cannot be pinned"):
                await library.pin(session, pinned=True)
            forked = await h.services.chat.fork(h.view().turns[0].id)
            await h.services.chat.open_session(forked)
            assert h.services.sessions.private
            assert len(h.view().turns) == 1
            rows = await library.sessions("answer")
            assert {row.id for row in rows} >= {session}
            assert all(row.private for row in rows)
            await library.delete(session)
            with pytest.raises(UsageError, match="cannot be restored"):
                await library.undelete(session)
        assert not (tmp_path / "data" / "sessions.db").exists() or not files_that_say(tmp_path, "an answer")


async def test_a_stored_session_stays_stored_beside_private_ones(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with house(tmp_path, model=None, stored_in="file") as h:
            server.say("alpha", "kept words")
            server.finish("alpha")
            await h.say("alpha begins")
            kept = h.services.chat.session_id
            await h.services.chat.new_session(private=True)
            await h.services.chat.submit((TextBlock(text="beta begins"),))
            await h.services.chat.open_session(kept)  # while the private one runs
            assert [row.private for row in h.services.sessions.open_sessions()] == [False, True]
            server.say("beta", "quokka")
            server.finish("beta")
            async with asyncio.timeout(30):
                while h.services.sessions.working():
                    await asyncio.sleep(0.01)
            [private] = [row for row in await h.services.library.sessions() if row.private]
            await h.services.chat.open_session(private.id)
            assert h.services.sessions.private
            assert len(h.view().turns) == 1
        assert files_that_say(tmp_path, "kept words")
        assert leaked(tmp_path) == []


async def test_money_is_counted_without_text(tmp_path: Path) -> None:
    price = '[models."side/model"]\nprice = { input = 10.0, output = 100.0 }\n[budget]\nday = 1000\n'
    async with SideServer() as server:
        config(tmp_path, server.config(price))
        async with house(tmp_path, model=None, stored_in="file", no_save=True) as h:
            server.say("alpha", "quokka-answer")
            server.finish("alpha")
            await h.say("alpha quokka-prompt")
            session = h.services.chat.session_id
            requests = await h.current.storage.spent_since(0)
            assert [row.session for row in requests] == [session]
            # The limit of the day counts it in every window, so the request is in the file.
            connection = sqlite3.connect(tmp_path / "data" / "sessions.db")
            rows = connection.execute("SELECT session, model FROM spending").fetchall()
            connection.close()
            assert rows == [(session, "side/model")]
        assert leaked(tmp_path) == []


def test_the_log_names_where_it_failed_but_not_what_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clean:
        def clean(self, text: str) -> str:
            return text

    monkeypatch.setattr(logging, "_logRecordFactory", logging.getLogRecordFactory())
    log_file.redact_records(Clean())  # type: ignore[arg-type]
    handler = log_file._PrivateFile(tmp_path / "ponder.log", logging.WARNING)
    loggers = [logging.getLogger("tui.test_private"), logging.getLogger("a_library")]
    for logger in loggers:
        logger.addHandler(handler)
    log_file.omit_texts()
    try:
        _fail("quokka")
    except RuntimeError:
        for logger in loggers:
            logger.exception("it failed for %s", "quokka three")
    loggers[1].warning("a quokka, formatted already")
    for logger in loggers:
        logger.removeHandler(handler)
    text = (tmp_path / "ponder.log").read_text()
    assert "quokka" not in text
    assert "it failed for %s" in text
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert "test_the_log_names_where_it_failed" in text


def _fail(words: str) -> None:
    try:
        int(words)
    except ValueError as error:
        raise RuntimeError(f"{words} too") from error


def test_a_prompt_without_a_screen_stores_nothing(ponder: Run, tmp_path: Path) -> None:
    code, out, err = ponder("-p", "quokka please", "-m", "demo/fast", "--no-save", "--json")
    assert (code, err) == (0, "")
    assert '"session": ""' in out
    assert leaked(tmp_path) == []
    assert not (tmp_path / "data").exists()
    code, _, err = ponder("-p", "more", "--no-save", "-c")
    assert code == 2
    assert "cannot continue a stored one" in err
