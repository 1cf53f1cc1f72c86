"""Commands that misbehave: each ends, nothing of it is left, and memory stays flat."""

from __future__ import annotations

import asyncio
import os
import resource
import time
import zlib
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome, words

LINUX = Path("/proc/self/stat").exists()
pytestmark = pytest.mark.skipif(not LINUX, reason="looks for survivors in /proc")


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> str:
    """Seconds to sleep that no other test sleeps, not even one of another run on this machine."""
    return f"600.{os.getpid()}{zlib.crc32(request.node.nodeid.encode()):010}"


def _alive(mark: str) -> list[str]:
    """Command lines of living processes that hold a mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in line and state not in "ZX":
                found.append(line)
    return found


async def _run(bench: Bench, command: str, timeout: int = 20) -> tuple[bool, str]:
    return outcome(await bench.call("shell", "once", command=command, timeout=timeout))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("echo hi; echo ho >&2", (True, "hi\nho")),
        ("true", (True, "(no output, exit code 0)")),
        ("echo no; exit 3", (False, "no\n(exit code 3)")),
        ("kill -9 $$", (False, "(ended by signal 9)")),
        ("pwd -P", (True, "{folder}")),
        ("cat", (True, "(no output, exit code 0)")),
        ("printf 'a\\r\\nb'", (True, "a\nb")),
        ("test -t 0 || test -t 1 || echo none", (True, "none")),
        ("cat /dev/tty 2>/dev/null || echo none", (True, "none")),
        ("echo $GIT_TERMINAL_PROMPT$PAGER", (True, "0cat")),
    ],
)
async def test_a_command_tells_its_output_and_its_end(bench: Bench, command: str, answer: tuple[bool, str]) -> None:
    good, text = answer
    assert await _run(bench, command) == (good, text.format(folder=bench.folder))


async def test_only_harmless_variables_reach_a_command(tmp_path: Path) -> None:
    variables = {"OPENAI_API_KEY": "sk-canary", "LC_TIME": "C", "AWS_SECRET": "canary", "MY_OWN": "1"}
    bench = open_bench(tmp_path, environment=variables, permissions={"environment": ["MY_OWN"]})
    _, text = await _run(bench, "env | cut -d= -f1 | sort | grep -v -e _ -e PWD -e SHLVL")
    _, all_of_it = await _run(bench, "env")
    assert (text, "canary" in all_of_it) == ("PAGER\nPATH", False)
    assert {"LC_TIME=C", "MY_OWN=1"} <= set(all_of_it.split("\n"))


GRANDCHILDREN = [
    "sleep 601.7 & echo done",
    "setsid sleep 601.7 & echo done",
    "nohup setsid sleep 601.7 >/dev/null 2>&1 & echo done",
    "env -i setsid sleep 601.7 & echo done",
    "(trap '' TERM; sleep 601.7; sleep 601.7) & echo done",
    "bash -c 'sleep 601.7 & disown; echo done'",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", GRANDCHILDREN)
async def test_what_a_command_leaves_behind_does_not_hold_it_up_and_is_ended(
    bench: Bench, mark: str, command: str
) -> None:
    good, text = await _run(bench, command.replace("601.7", mark))
    assert (good, text, _alive(mark)) == (True, "done", [])


STUBBORN = [
    "sleep 602.7",
    "trap '' TERM INT HUP; while :; do sleep 602.7; done",
    "setsid sleep 602.7 & trap '' TERM; sleep 602.7",
    "bash -c \"trap '' TERM; sleep 602.7 & sleep 602.7\" | cat & sleep 602.7",
    "yes 602.7",
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("command", STUBBORN)
async def test_at_once_after_a_cancel_all_of_it_is_dead(bench: Bench, mark: str, command: str) -> None:
    running = asyncio.ensure_future(bench.call("shell", "once", command=command.replace("602.7", mark)))
    while not _alive(mark):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert _alive(mark) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("steps", range(6))
async def test_a_cancel_while_the_command_is_being_started_leaves_nothing(bench: Bench, mark: str, steps: int) -> None:
    """The program may have started others before the loop is told that it runs."""
    command = f"sleep {mark} & setsid sleep {mark} & sleep {mark}"
    running = asyncio.ensure_future(bench.call("shell", "once", command=command))
    while not _alive(mark):
        time.sleep(0.05)  # blocks the loop between two of its steps
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert _alive(mark) == []


async def test_a_cancelled_cancel_still_leaves_nothing(bench: Bench, mark: str) -> None:
    running = asyncio.ensure_future(bench.call("shell", "once", command=f"trap '' TERM; sleep {mark}; sleep {mark}"))
    while not _alive(mark):
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert _alive(mark) == []


async def test_a_timeout_keeps_what_was_said_and_tells_the_model(bench: Bench) -> None:
    assert await _run(bench, "echo begun; sleep 604.7", timeout=4) == (
        False,
        "begun\n(killed with its child processes: it ran longer than 4 s)",
    )


async def test_a_limit_from_outside_is_met_with_the_output_in_hand(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    bench.limit_s = 3.0
    good, text = await _run(bench, "echo begun; sleep 605.7", timeout=600)
    assert (good, text) == (False, "begun\n(killed with its child processes: it ran longer than 1 s)")


@pytest.mark.long
async def test_an_endless_output_is_stopped_and_memory_stays_flat(bench: Bench) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    good, text = await _run(bench, "yes")
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert (good, text.endswith("(killed with its child processes: it wrote more than 256 MB)")) == (False, True)
    assert (len(text) < 70_000, grown_mb < 16) == (True, True)
    assert "bytes omitted here" in text


async def test_a_long_output_is_kept_whole_in_a_private_file_and_the_model_is_told_where(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, outputs=tmp_path / "state" / "tool-output")
    _, short = await _run(bench, "seq 1 1000")
    assert not (tmp_path / "state").exists()
    _, text = await _run(bench, "seq 1 100000")
    (kept,) = (tmp_path / "state" / "tool-output").iterdir()
    assert text.endswith(f"(All of it is in `{kept}`: read_file and grep can look there.)")
    assert kept.read_text() == "".join(f"{number}\n" for number in range(1, 100_001))
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "in `" not in short


async def test_kept_outputs_stay_few_and_small(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    for number in range(30):
        (folder / f"20200101-0000{number:02}-x.txt").write_text("old")
    bench = open_bench(tmp_path, outputs=folder)
    _, text = await _run(bench, "head -c 30000000 /dev/zero | tr '\\0' '\\n'")
    names = sorted(path.name for path in folder.iterdir())
    assert (len(names), names[0]) == (20, "20200101-000011-x.txt")
    assert (folder / names[-1]).stat().st_size == 10 * 1024 * 1024
    assert "(The first 10,485,760 bytes of it are in `" in text


@pytest.mark.parametrize(
    ("command", "marks"),
    [
        ("head -c 1000000 /dev/urandom", ("(binary output: 32,768 bytes", "934,464 of 1,000,000 bytes omitted")),
        ("head -c 5000000 /dev/zero | tr '\\0' x", ("more characters)", "bytes omitted here")),
        ("printf 'a\\0b\\0' ; head -c 100 /dev/zero", ("(binary output: 104 bytes, beginning with 61 00 62 00",)),
        ("seq 1 100000", ("1\n2\n3\n", "99999\n100000")),
    ],
)
async def test_output_that_is_no_text_or_too_much_is_cut_and_said(
    bench: Bench, command: str, marks: tuple[str, ...]
) -> None:
    good, text = await _run(bench, command)
    assert good
    assert [mark for mark in marks if mark not in text] == []
    assert len(text) < 70_000


@pytest.mark.parametrize(
    "command", ["read x; echo got $x", "python3 -c 'input()'", "git clone http://127.0.0.1:1/x.git"]
)
async def test_a_command_that_asks_for_input_fails_at_once(bench: Bench, command: str) -> None:
    _, text = await _run(bench, command)
    assert "ran longer" not in text


async def test_a_command_tells_its_progress(bench: Bench) -> None:
    from tui.domain.blocks import ToolCallBlock

    bench.user.answers = ["once"]
    run = bench.user.run()
    call = ToolCallBlock(call_id="c", name="shell", arguments='{"command": "echo one; sleep 0.4; echo two"}')
    assert words(await bench.toolbox.run(call, run)) == "one\ntwo"
    assert bench.user.progress == ["one", "two"]


@pytest.mark.long
async def test_many_at_once_do_not_end_each_other(bench: Bench) -> None:
    from tui.domain.blocks import ToolCallBlock

    async def one(number: int) -> str:
        bench.user.answers.append("once")
        command = f'{{"command": "sleep 0.{number}; echo {number}"}}'
        return words(
            await bench.toolbox.run(ToolCallBlock(call_id="c", name="shell", arguments=command), bench.user.run())
        )

    assert await asyncio.gather(*map(one, range(8))) == [str(number) for number in range(8)]
