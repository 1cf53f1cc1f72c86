"""Rules that overlap, rules in the sandbox, and rules about programs that run without a question."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.fakes.bench import open_bench, outcome
from tests.tools.sandboxes import every_sandbox
from tui.tools.permissions import ruled_paths
from tui.tools.permissions.permissions import add_allowed
from tui.tools.permissions.shell_words import may_mention, mentions
from tui.tools.sandbox.sandbox import Kernel


@pytest.mark.parametrize(
    ("allowed", "denied", "command"),
    [
        ("timeout 60", "rm", "timeout 60 rm -rf src"),
        ("git -C .", "git push", "git -C . push origin"),
        ("git push origin main", "git push --force", "git push origin main --force"),
        ("npm run lint", "rm -r", "npm run lint rm -r src"),
    ],
)
async def test_a_longer_rule_that_allows_is_no_exception_to_a_denial_of_something_else(
    tmp_path: Path, allowed: str, denied: str, command: str
) -> None:
    rules = {"allow": [f"shell({allowed}) rw"], "deny": [f"shell({denied})"]}
    bench = open_bench(tmp_path, permissions=rules)
    assert outcome(await bench.call("shell", command=command)) == (
        False,
        f"Denied by the user's rule `shell({denied})`. Not executed.",
    )


async def test_a_rule_that_allows_a_part_of_what_is_denied_is_an_exception(tmp_path: Path) -> None:
    rules = {
        "allow": ["shell(rm build) rw", "read(secrets/open/**)", "write(src/*.lock)", "fetch_url(docs.example.com)"],
        "deny": ["shell(rm)", "read(secrets/**)", "write(**/*.lock)", "fetch_url(*.example.com)"],
    }
    bench = open_bench(tmp_path, permissions=rules)
    for name in ("build", "secrets/open/a.txt", "secrets/a.txt"):
        bench.write(name, "text")
    assert outcome(await bench.call("shell", command="rm build"))[0]
    assert outcome(await bench.call("read_file", path="secrets/open/a.txt"))[0]
    assert not outcome(await bench.call("read_file", path="secrets/a.txt"))[0]
    assert outcome(await bench.call("write_file", path="src/a.lock", content=""))[0]
    assert not outcome(await bench.call("write_file", path="src/deep/a.lock", content=""))[0]
    assert not bench.user.asked


@pytest.mark.parametrize(
    ("allowed", "denied", "path"),
    [
        ("src/**", "**/*.lock", "src/x.lock"),
        ("src/*.py", "**/?.py", "src/a.py"),
        ("src/[ab].py", "**/[a-c].py", "src/a.py"),
        ("src/**", "*/deep/**", "src/deep/x"),
    ],
)
async def test_patterns_that_overlap_deny(tmp_path: Path, allowed: str, denied: str, path: str) -> None:
    bench = open_bench(tmp_path, permissions={"allow": [f"write({allowed})"], "deny": [f"write({denied})"]})
    good, text = outcome(await bench.call("write_file", path=path, content=""))
    assert (good, bench.user.asked) == (False, [])
    assert f"write({denied})" in text


async def test_a_denial_ignores_letter_case_and_holds_for_any_name_of_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "per[s]on"
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a.txt").write_text("mine")
    bench = open_bench(tmp_path, home=home, permissions={"deny": ["read(~/notes/**)", "read(Secrets/)"]})
    bench.write("secrets/k", "mine")
    for path in (str(home / "notes" / "a.txt"), "secrets/k"):
        assert "Denied by the user's rule" in outcome(await bench.call("read_file", "once", path=path))[1]


@pytest.mark.long
def test_a_command_of_many_words_is_judged_at_once() -> None:
    began = time.process_time()
    for command in (
        "a " * 50_000,
        "git -a " * 14_000,
        "rm " * 33_000,
        "'" + "rm," * 33_000 + "'",
        "x=rm " * 20_000,
        "-" + "r" * 99_000,
    ):
        for pattern in ("git push --force", "rm -rf", "r* -x", "x"):
            mentions(command, pattern)
            may_mention(command, pattern)
    assert time.process_time() - began < 20  # it took minutes


async def test_no_program_of_the_working_folder_runs_without_a_question(tmp_path: Path) -> None:
    """ponder searches with the first `rg` of PATH, and an active virtual environment comes first."""
    place = tmp_path / "ws" / ".venv" / "bin"
    place.mkdir(parents=True)
    (place / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (place / "rg").chmod(0o755)
    bench = open_bench(tmp_path, permissions={"allow": ["write(**)"]}, environment={"PATH": f"{place}:/usr/bin:/bin"})
    bench.write("a.txt", "word\n")
    assert outcome(await bench.call("grep", pattern="word")) == (True, "a.txt:1: word")
    assert not (tmp_path / "ran").exists()
    for path in (".venv/bin/rg", ".venv/bin/new"):
        await bench.call("read_file", path=path)
        await bench.call("write_file", "no", path=path, content="evil")
        assert len(bench.user.asked) == 1


def test_rules_that_several_windows_add_at_once_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "permissions.toml"
    windows = [threading.Thread(target=add_allowed, args=(file, f"shell(=ls {number}) full")) for number in range(12)]
    for window in windows:
        window.start()
    for window in windows:
        window.join()
    assert file.read_text().count("shell(=ls ") == 12


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize("effect", ["deny", "ask"])
async def test_commands_in_the_sandbox_cannot_read_or_write_what_rules_keep_from_tools(
    tmp_path: Path, kernel: Kernel, effect: str
) -> None:
    command = (
        "cat secrets/k deep/a.sqlite open.txt; echo x > src/new; echo x > src/old; echo x > deep/old.lock;"
        " mv src moved; mkdir other; mv secrets/k other/k; cat other/k; echo fine > other/fine"
    )
    rules = {
        "allow": [f"shell(={command}) rw"],
        effect: ["read(secrets/**)", "read(**/*.sqlite)", "write(src/**)", "edit_file(**/*.lock)"],
    }
    bench = open_bench(tmp_path, kernel=kernel, permissions=rules)
    for name in ("secrets/k", "deep/a.sqlite"):
        bench.write(name, "hidden")
    bench.write("src/old", "mine")
    bench.write("deep/old.lock", "mine")
    bench.write("open.txt", "open\n")
    text = outcome(await bench.call("shell", command=command))[1]
    assert not bench.user.asked
    assert "open" in text
    assert "hidden" not in text
    assert not (bench.folder / "src" / "new").exists()
    assert (bench.folder / "src" / "old").read_text() == "mine"
    assert (bench.folder / "deep" / "old.lock").read_text() == "mine"


@every_sandbox
async def test_commands_in_the_sandbox_cannot_read_what_a_rule_names_in_other_letters(
    tmp_path: Path, kernel: Kernel
) -> None:
    names = ("SECRETS/k", "Mixed/sub/k", "gehe\u0301im/k", "Keys/a.txt")
    command = f"cat {' '.join(names)} open.txt"
    rules = ["read(secrets/**)", "read(mixed/SUB)", "read(geh\u00e9im/**)", "read(keys/*.txt)"]
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": [f"shell(={command}) ro"], "deny": rules})
    for name in names:
        bench.write(name, "hidden")
    bench.write("open.txt", "open")
    text = outcome(await bench.call("shell", command=command))[1]
    assert "open" in text
    assert "hidden" not in text


async def test_a_pattern_with_more_files_than_can_be_looked_at_stops_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruled_paths, "MOST_ENTRIES", 10)
    bench = open_bench(tmp_path, permissions={"allow": ["shell(cat) ro"], "deny": ["read(**/*.sqlite)"]})
    for number in range(20):
        bench.write(f"d{number}/a.sqlite", "hidden")
    if not bench.toolbox.tools["shell"].sandbox.strengths():  # type: ignore[attr-defined]
        pytest.skip("NO SANDBOX ON THIS MACHINE: not tested")
    good, text = outcome(await bench.call("shell", command="cat d19/a.sqlite"))
    assert not good
    assert "too many files" in text
