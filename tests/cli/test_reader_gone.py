"""What a command does when nobody reads it any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prefork
from tests.patience import PATIENCE_S


def test_a_closed_pipe_ends_a_command_quietly() -> None:
    words = [sys.executable, "-m", "tui", "models"]
    pipe = subprocess.PIPE
    with prefork.start(words, env=prefork.surroundings(), stdout=pipe, stderr=pipe) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read()
    assert (command.returncode, said) == (141, b"")


@pytest.mark.one_in(3)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        ["models"],
        ["doctor"],
        ["auth", "list"],
        ["plan", "demo/demo"],
        ["completions", "bash"],
        ["context"],
        ["--help"],
        ["--version"],
        ["sessions", "--help"],
    ],
)
def test_output_that_cannot_be_written_is_one_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = prefork.run([sys.executable, "-m", "tui", *words], env=prefork.surroundings(), stdout=full)
    assert (done.returncode, done.stderr) == (1, b"ponder: the output cannot be written: No space left on device\n")


@pytest.mark.one_in(9)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-p", "hello", "-m", "demo/fast"], 0),
        (["-p", "hello", "-m", "demo/fast", "--show-thinking"], 0),
        (["-p", "hello", "-m", "demo/fast", "--json"], 0),
        (["-p", "hello", "-m", "demo/fast", "--jsonl"], 0),
        (["-p", "hello", "-m", "nobody/none", "--json"], 2),
        (["--json"], 2),
        (["--nonsense"], 2),
        (["sessions", "list"], 0),
        (["plan", "demo/demo"], 0),
    ],
)
@pytest.mark.parametrize("is_forked", [True, False])
def test_what_cannot_be_written_to_stderr_is_dropped(
    words: list[str], code: int, is_forked: bool, tmp_path: Path
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("nonsense = 1\n")  # a problem to tell
    command = [sys.executable, *([] if is_forked else ["-I"]), "-m", "tui", *words]
    surroundings = prefork.surroundings(PONDER_HOME=str(tmp_path))
    heard = prefork.run(command, env=surroundings, timeout=PATIENCE_S)
    with Path("/dev/full").open("wb") as full:
        done = prefork.run(command, env=surroundings, stderr=full, timeout=PATIENCE_S)
    assert (heard.returncode, done.returncode) == (code, code)
    assert bool(done.stdout) == bool(heard.stdout)
    if "--json" not in words and "--jsonl" not in words:
        assert done.stdout == heard.stdout


def test_an_answer_outlives_the_reader_of_stderr(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tui", "-p", "hello", "-m", "demo/fast"]
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("nonsense = 1\n")
    pipe = subprocess.PIPE
    with prefork.start(words, env=prefork.surroundings(PONDER_HOME=str(tmp_path)), stdout=pipe, stderr=pipe) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stderr.close()
        answer = command.stdout.read()
    assert (command.returncode, bool(answer)) == (0, True)


@pytest.mark.one_in(4)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("words", [["models"], ["-p", "hello", "-m", "demo/fast"]])
@pytest.mark.parametrize(("limit", "code"), [("-n 12", 1), ("-S -n 12", 0)])
def test_a_low_limit_of_open_files_is_raised_or_told(words: list[str], limit: str, code: int, tmp_path: Path) -> None:
    command = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", sys.executable, "-m", "tui", *words]
    surroundings = {**os.environ, "PONDER_HOME": str(tmp_path / "ponder")}
    done = subprocess.run(command, env=surroundings, capture_output=True, timeout=PATIENCE_S, check=False)
    told = b"ponder: the limit of open files is 12, which is too low. Raise it: `ulimit -n 256`.\n"
    assert (done.returncode, done.stderr) == (code, told if code else b"")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [["doctor"], ["sessions", "list"], ["-p", "hello", "-m", "demo/fast"]])
def test_closed_streams_are_no_fault_and_no_file_gets_their_descriptors(words: list[str], tmp_path: Path) -> None:
    """What is written to a stream by mistake must not end up in the session store."""
    code = (
        "import os, sys\n"
        "from tui.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "names = [os.readlink(f'/proc/self/fd/{number}') for number in (0, 1, 2)]\n"
        "open(os.environ['REPORT'], 'w').write(f'{code} {set(names)}')\n"
    )
    report = tmp_path / "report"
    surroundings = {**os.environ, "PONDER_HOME": str(tmp_path / "ponder"), "REPORT": str(report)}
    command = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code, *words]
    subprocess.run(command, env=surroundings, check=True)
    assert report.read_text() == "0 {'/dev/null'}"
