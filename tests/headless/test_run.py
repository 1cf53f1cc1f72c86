"""One prompt, one answer: what stands on stdout, on stderr, and in the exit code."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.backend import HANG, FakeBackend, Script, answer, call, calls, finish, thought, words
from tests.fakes.clock import FakeClock
from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import SPEC, FakeCompressor, FakePlanner
from tests.fakes.toolbox import FakeToolbox
from tui.domain.blocks import Block, TextBlock
from tui.domain.errors import ErrorKind, ProviderError, UsageError
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    Finish,
    ResponseStarted,
    SearchReported,
    TextDelta,
)
from tui.domain.web_search import WHOLE, Citation, Source, WebSearch
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.thread import EngineThread
from tui.headless.run import FRAME_S, HeadlessOptions, OutputFormat, piped_text, run_headless


@pytest.fixture
def engine() -> Iterator[EngineThread]:
    thread = EngineThread()
    thread.start()
    yield thread
    assert thread.stop()


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _session(scripts: list[Script], journal: MemoryJournal | None = None) -> Session:
    ids = itertools.count()
    ports = Ports(
        backend=FakeBackend(scripts),
        journal=journal or MemoryJournal(),
        planner=FakePlanner(),
        compressor=FakeCompressor(),
        clock=FakeClock(),
        toolbox=FakeToolbox(),
        new_id=lambda: f"id{next(ids)}",
        draw=lambda: 0.0,
        interactive=False,
    )
    return Session(ports, Opening(session="s", spec=SPEC, settings=EngineSettings()))


def _run(
    engine: EngineThread, scripts: list[Script], *, out: io.StringIO | None = None, **how: object
) -> tuple[int, str, str]:
    stdout, stderr = out or io.StringIO(), io.StringIO()
    options = HeadlessOptions(prompt="Hi", **how)  # type: ignore[arg-type]
    code = run_headless(engine, _session(scripts), options, out=stdout, err=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def test_stdout_holds_the_answer_and_nothing_else(engine: EngineThread) -> None:
    script = [ResponseStarted("m", "r"), *thought("Hm"), *words("Hello you", 1), *finish()]
    assert _run(engine, [script]) == (0, "Hello you\n", "")


@pytest.mark.parametrize("how", [{}, {"output": OutputFormat.JSONL}, {"show_thinking": True}])
def test_no_frame_is_waited_for_before_the_first_word(
    engine: EngineThread, monkeypatch: pytest.MonkeyPatch, how: dict[str, object]
) -> None:
    out, sleep, waited = io.StringIO(), asyncio.sleep, list[str]()

    async def seen(seconds: float) -> None:
        if seconds == FRAME_S:
            waited.append(out.getvalue())
        await sleep(0 if seconds == FRAME_S else seconds)

    monkeypatch.setattr("tui.headless.run.asyncio.sleep", seen)
    script = [ResponseStarted("m", "r"), *thought("Hm"), *words("Hello", 1), *finish()]
    code, said, _ = _run(engine, [script], out=out, **how)
    assert (code, "Hello" in said) == (0, True)
    assert [text for text in waited if "H" not in text and not how] == []
    assert [text for text in waited if '"thinking"' not in text and "output" in how] == []


@pytest.mark.parametrize("name", ["turn_started", "turn_finished"])
def test_a_fault_of_ours_that_ends_the_session_ends_the_run(engine: EngineThread, name: str) -> None:
    async def broken(*_: object) -> None:
        raise KeyError("a fault")

    journal = MemoryJournal()
    setattr(journal, name, broken)
    out, err = io.StringIO(), io.StringIO()
    code = run_headless(engine, _session([answer("1")], journal), HeadlessOptions(prompt="Hi"), out=out, err=err)
    assert code == 1
    assert "An internal error ended the session (KeyError)." in err.getvalue()


def test_thinking_goes_to_stderr_when_asked_for(engine: EngineThread) -> None:
    script = [ResponseStarted("m", "r"), *thought("Hm"), *words("Hello", 1), *finish()]
    assert _run(engine, [script], show_thinking=True) == (0, "Hello\n", "Hm\n")


def test_the_words_of_two_rounds_are_paragraphs(engine: EngineThread) -> None:
    first = [ResponseStarted("m", "r"), *words("Looking."), *call("a", "echo", "{}", 1), *finish(Finish.TOOL_USE)]
    code, out, err = _run(engine, [first, answer("Found.")])
    assert (code, out, err) == (0, "Looking.\n\nFound.\n", "ponder: echo {}\n")


def _broken(text: str) -> Script:
    error = ProviderError(ErrorKind.NETWORK, "The connection was reset.")
    return [ResponseStarted("m", "r"), BlockStarted(0, "text"), TextDelta(0, text), error]


def test_an_answer_that_begins_anew_with_the_same_words_is_written_once(engine: EngineThread) -> None:
    code, out, err = _run(engine, [_broken("The answer"), answer("The answer is 42.")])
    assert (code, out) == (0, "The answer is 42.\n")
    assert err.startswith("ponder: The connection was reset. Trying again in")


def test_an_answer_that_begins_anew_with_other_words_follows_in_full_and_stderr_says_so(engine: EngineThread) -> None:
    code, out, err = _run(engine, [_broken("The answer"), answer("The reply is 42.")])
    assert code == 0
    assert out.endswith("The reply is 42.\n")
    assert "it follows in full" in err


BEGUN_ANEW: Script = [
    ResponseStarted("m", "r"),
    *words("The answer"),
    ResponseStarted("m", "r", restarted=True),
    *words("The reply is 42.", 1),
    *finish(),
]


def test_an_answer_that_the_server_itself_begins_anew_follows_in_full_and_stderr_says_so(engine: EngineThread) -> None:
    code, out, err = _run(engine, [BEGUN_ANEW])
    assert (code, out) == (0, "The answer\n\nThe reply is 42.\n")
    assert "it follows in full" in err


def test_json_lines_say_that_the_server_began_the_answer_anew(engine: EngineThread) -> None:
    _, out, _ = _run(engine, [BEGUN_ANEW], output=OutputFormat.JSONL)
    lines = [json.loads(line) for line in out.splitlines()]
    told = [(line["type"], line.get("text", line.get("error"))) for line in lines if line["type"] in ("text", "reset")]
    again = told.index(("reset", None))
    # How the words are divided into lines depends on how fast they are printed.
    texts = [[text for kind, text in part if kind == "text"] for part in (told[:again], told[again + 1 :])]
    assert ["".join(words) for words in texts] == ["The answer", "The reply is 42."]
    assert told.count(("reset", None)) == 1


def test_an_answer_that_ends_for_an_unknown_reason_is_4_and_stderr_names_the_reason(engine: EngineThread) -> None:
    script: Script = [ResponseStarted("m", "r"), *words("Half"), *finish(Finish.OTHER, detail="preempted")]
    code, out, err = _run(engine, [script])
    assert (code, out) == (4, "Half\n")
    assert "may be incomplete. Reason: preempted" in err


def test_an_answer_without_text_is_4_and_stderr_says_so(engine: EngineThread) -> None:
    script: Script = [
        ResponseStarted("m", "r"),
        BlockStarted(0, "opaque", "custom_tool_call"),
        BlockFinished(0),
        *finish(),
    ]
    assert _run(engine, [script]) == (4, "", "ponder: The answer has no text.\n")


def test_json_is_one_object(engine: EngineThread) -> None:
    script = [ResponseStarted("m", "r"), *thought("Hm"), *words("Hello", 1), *finish()]
    code, out, err = _run(engine, [script], output=OutputFormat.JSON)
    result = json.loads(out)
    seconds = result.pop("seconds")
    assert (code, err, seconds >= 0) == (0, "", True)
    assert result == {
        "answer": "Hello",
        "thinking": "Hm",
        "model": "m",
        "usage": {
            "input": 10,
            "cache_read": None,
            "cache_write": None,
            "cache_write_1h": None,
            "output": 5,
            "thinking": 2,
            "total": 15,
            "searches": None,
            "cost": None,
        },
        "sources": [],
        "searches": [],
        "cost": None,
        "summaries": [],
        "warnings": [],
        "finish": "stop",
        "answered_early": False,
        "session": "s",
        "turn": "id0",
        "error": None,
    }


PAGE = Source(url="https://a.test/x", title="A page\u202e")
SEARCHED: Script = [
    ResponseStarted("m", "r"),
    BlockStarted(0, "search", name="server_tool_use"),
    SearchReported(0, WebSearch(id="s", queries=("rain today",))),
    BlockFinished(0),
    BlockStarted(1, "search", name="web_search_tool_result"),
    SearchReported(1, WebSearch(id="s", results=(PAGE,), done=True)),
    BlockFinished(1),
    BlockStarted(2, "search", name="web_search_tool_result"),
    SearchReported(2, WebSearch(id="t", error="max_uses_exceeded", done=True)),
    BlockFinished(2),
    *words("It rains.", 3),
    CitationsReceived(3, (Citation(source=PAGE, end=WHOLE),)),
    *finish(),
]


def test_sources_follow_the_answer_and_searches_are_told_on_stderr(engine: EngineThread) -> None:
    assert _run(engine, [SEARCHED]) == (
        0,
        "It rains.\n\nSources:\n[1] A page\\u{202E}  https://a.test/x\n",
        'ponder: web_search "rain today"\nponder: web_search: the limit of searches in one request was reached\n',
    )


def test_json_has_sources_and_searches(engine: EngineThread) -> None:
    _, out, _ = _run(engine, [SEARCHED], output=OutputFormat.JSON)
    result = json.loads(out)

    assert result["answer"] == "It rains."
    assert result["sources"] == [{"title": PAGE.title, "url": PAGE.url}]
    assert result["searches"] == [
        {
            "action": "search",
            "queries": ["rain today"],
            "page": None,
            "results": [{"title": PAGE.title, "url": PAGE.url}],
            "error": None,
        },
        {"action": "search", "queries": [], "page": None, "results": None, "error": "max_uses_exceeded"},
    ]


def test_json_lines_tell_searches_as_they_happen(engine: EngineThread) -> None:
    _, out, _ = _run(engine, [SEARCHED], output=OutputFormat.JSONL)
    lines = [line for line in map(json.loads, out.splitlines()) if line["type"] == "search"]

    assert [(line["block"], line["queries"], line["done"], line["error"]) for line in lines] == [
        (0, ["rain today"], False, None),
        (1, [], True, None),
        (2, [], True, "max_uses_exceeded"),
    ]


def test_json_lines_are_events_and_the_result_last(engine: EngineThread) -> None:
    first = calls(("a", "add", '{"x":1,"y":2}'))
    _, out, _ = _run(engine, [first, answer("3")], output=OutputFormat.JSONL)
    lines = [json.loads(line) for line in out.splitlines()]
    kinds = [line["type"] for line in lines if line["type"] != "meter"]
    assert kinds == [
        "turn",
        "request",
        "tool_arguments",
        "message",
        "tool_started",
        "tool_finished",
        "message",
        "request",
        "text",
        "message",
        "result",
    ]
    assert lines[-1]["answer"] == "3"
    assert next(line for line in lines if line["type"] == "tool_finished")["text"] == "3"


def test_json_lines_say_that_the_answer_was_had_early(engine: EngineThread) -> None:
    thinks: Script = [ResponseStarted("m", "r"), *thought("Hm")[:2], HANG]
    session = _session([thinks, answer("Now")])

    class Impatient(io.StringIO):
        def write(self, text: str) -> int:
            if '"type": "thinking"' in text:
                engine.call(session.answer_now(()))
            return super().write(text)

    out, options = Impatient(), HeadlessOptions(prompt="Hi", output=OutputFormat.JSONL)
    assert run_headless(engine, session, options, out=out, err=io.StringIO()) == 0
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    messages = [line for line in lines if line["type"] == "message" and line["role"] == "assistant"]
    assert [(line["superseded"], line["answered_early"], line["text"]) for line in messages] == [
        (True, False, ""),
        (False, True, "Now"),
    ]
    assert (lines[-1]["answer"], lines[-1]["answered_early"]) == ("Now", True)


def test_an_emoji_cut_in_two_by_the_stream_arrives_whole(engine: EngineThread) -> None:
    deltas = [TextDelta(0, "a\ud83d"), TextDelta(0, "\ude00b"), TextDelta(0, "\ud83d")]
    script = [ResponseStarted("m", "r"), BlockStarted(0, "text"), *deltas, *finish()]
    for output in (OutputFormat.JSON, OutputFormat.JSONL, OutputFormat.TEXT):
        _, out, _ = _run(engine, [script], output=output)
        assert "a\U0001f600b" in out
        out.encode()


def test_what_could_move_the_cursor_is_drawn_on_a_terminal_and_untouched_in_a_file(engine: EngineThread) -> None:
    evil = "a\x1b]52;c;AAAA\x07b"
    assert _run(engine, [answer(evil)])[1] == evil + "\n"
    shown = _run(engine, [answer(evil)], out=Screen())[1]
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ([ProviderError(ErrorKind.AUTH, "bad key")], 1),
        ([ProviderError(ErrorKind.NO_KEY, "no key for fake", advice="ponder auth set fake")], 3),
        ([ProviderError(ErrorKind.CONTENT_FILTER, "filtered")], 4),
        ([ResponseStarted("m", "r"), *words("No."), *finish(Finish.REFUSAL)], 4),
        ([ResponseStarted("m", "r"), *words("Once upon"), *finish(Finish.LENGTH)], 4),
        ([ProviderError(ErrorKind.RATE_LIMIT, "limit", retry_after_s=200)], 1),
    ],
)
def test_exit_codes(engine: EngineThread, script: Script, code: int) -> None:
    assert _run(engine, [script])[0] == code
    got, out, _ = _run(engine, [script], output=OutputFormat.JSON)
    assert got == code
    assert len(out.splitlines()) == 1
    json.loads(out)


def test_an_error_is_one_line_on_stderr_with_what_to_do(engine: EngineThread) -> None:
    error = ProviderError(ErrorKind.NO_KEY, "There is no key for `fake`.", advice="`ponder auth set fake`")
    assert _run(engine, [[error]]) == (3, "", "ponder: There is no key for `fake`. `ponder auth set fake`\n")


def test_no_prompt_is_a_usage_error(engine: EngineThread) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert run_headless(engine, _session([]), HeadlessOptions(prompt=""), out=out, err=err) == 2
    assert (out.getvalue(), err.getvalue()) == ("", "ponder: There is nothing to send.\n")


def test_what_is_piped_in_goes_before_the_prompt() -> None:
    options = HeadlessOptions(prompt="Summarise", context="a long text")
    assert options.blocks() == (TextBlock(text="a long text"), TextBlock(text="Summarise"))
    assert piped_text(io.BytesIO(b"abc\xff")) == "abc\ufffd"
    assert piped_text(io.BytesIO(b"")) is None


def test_a_pipe_without_an_end_is_refused() -> None:
    with Path("/dev/zero").open("rb") as endless, pytest.raises(UsageError, match="larger than 64 MB"):
        piped_text(endless)


class Interrupted(io.StringIO):
    """A terminal whose user presses Ctrl+C when the first words are there."""

    def write(self, text: str) -> int:
        if not self.getvalue():
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


def test_ctrl_c_stops_the_turn_and_keeps_what_came(engine: EngineThread) -> None:
    journal = MemoryJournal()
    out, err = Interrupted(), io.StringIO()
    session = _session([[ResponseStarted("m", "r"), *words("Half")[:2], HANG]], journal)
    before = signal.getsignal(signal.SIGINT)
    assert run_headless(engine, session, HeadlessOptions(prompt="Hi"), out=out, err=err) == 130
    assert signal.getsignal(signal.SIGINT) is before
    (turn,) = journal.turns.values()
    assert [message.interrupted for message in turn.messages] == [None, "cancelled"]
    assert out.getvalue() == "Ha\n"


def test_ctrl_c_before_the_turn_begins_ends_it_too(engine: EngineThread, monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session([[ResponseStarted("m", "r"), *words("Half")[:2], HANG]])
    submit, cancel = session.submit, session.cancel
    asked_too_early = threading.Event()

    async def submit_late(blocks: tuple[Block, ...]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000):  # or the program waits with the signal until there is a turn
            if asked_too_early.is_set():
                break
            await asyncio.sleep(0.001)
        await submit(blocks)

    async def cancel_now() -> None:
        await cancel()
        asked_too_early.set()

    monkeypatch.setattr(session, "submit", submit_late)
    monkeypatch.setattr(session, "cancel", cancel_now)
    assert run_headless(engine, session, HeadlessOptions(prompt="Hi"), out=io.StringIO(), err=io.StringIO()) == 130


class Gone(io.StringIO):
    """A pipe whose reader went away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_went_away_ends_the_run_quietly(engine: EngineThread) -> None:
    journal = MemoryJournal()
    session = _session([[ResponseStarted("m", "r"), *words("Half")[:2], HANG]], journal)
    err = io.StringIO()
    assert run_headless(engine, session, HeadlessOptions(prompt="Hi"), out=Gone(), err=err) == 130
    assert err.getvalue() == ""
    assert len(journal.turns) == 1


def test_headless_imports_neither_screen_nor_anything_heavy() -> None:
    code = (
        "import sys, tui.headless.run;"
        "print([m for m in ('textual','rich','httpx','keyring','mcp','genai_prices','pydantic') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
