"""``ponder themes``, ``ponder doctor`` and ``ponder completions``."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import prefork
from tui.app.doctor import EXTRAS
from tui.cli import main as command_line
from tui.cli.main import COMMANDS, main, whole_parser

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-ant-REDACTED"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "hi", "-m", "demo/fast"],
        ["-p"],
        ["--prompt=-x", "--json", "--no-tools", "--allow", "a", "--allow", "b", "--attach", "f"],
        ["-c", "--set", "a=b", "--thinking-budget", "high", "--profile", "mine"],
        ["-r", "01", "--session", "02", "--jsonl", "--show-thinking"],
        ["-p", "models"],
    ],
)
def test_options_mean_the_same_whether_all_commands_are_put_together_or_none(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, object]] = []

    def run(args: argparse.Namespace) -> int:
        started.append(vars(args))
        return 0

    monkeypatch.setattr(command_line, "run", run)
    assert main(words) == 0
    assert started == [vars(whole_parser().parse_args(words))]


@pytest.mark.parametrize("words", [["-p", "a", "b"], ["--json", "--jsonl"], ["--s"], ["-m"], ["--nonsense"]])
def test_a_wrong_option_is_explained_with_all_commands(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    said = capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        whole_parser().parse_args(words)
    assert said == capsys.readouterr().err
    assert "COMMAND" in said


def test_themes_are_listed_with_the_users_own_and_broken_ones_are_told(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('name = "mine"\nprimary = "#112233"\ndescription = "My own"\n')
    (folder / "broken.toml").write_text('name = "broken"\nprimary = "red"\n')
    assert main(["themes", "--json"]) == 0
    said = capsys.readouterr()
    rows = {row["name"]: row for row in map(json.loads, said.out.splitlines())}
    assert rows["mine"] == {"name": "mine", "dark": True, "own": True, "description": "My own"}
    assert {"dusk", "dawn"} <= set(rows)
    assert "broken.toml" in said.err
    assert "yours    My own" in printed(capsys, "themes")


def test_the_doctor_names_where_keys_are_and_never_shows_them(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    text = printed(capsys, "doctor")
    assert "cannot be reached through the proxy" in text
    assert "none yet" in text
    assert "ponder " in text
    assert "ANTHROPIC_API_KEY" in text
    assert SECRET not in text
    assert "sessions.db" in text


def test_the_doctor_says_the_same_as_one_object(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    report = json.loads(printed(capsys, "doctor", "--json"))
    text = printed(capsys, "doctor")
    rows = {row["provider"]: row for row in report["providers"]}
    assert (rows["anthropic"]["ready"], rows["anthropic"]["detail"]) == (True, "ANTHROPIC_API_KEY found")
    assert "through the proxy" in rows["anthropic"]["reachable"]
    assert (rows["openai"]["ready"], rows["openai"]["reachable"]) == (False, "")
    assert report["sessions"]["state"] == "none yet"
    assert SECRET not in json.dumps(report)
    told = [report["version"], report["sandbox"], report["log"], report["config"]["path"], rows["openai"]["detail"]]
    assert [words for words in told if words not in text] == []


def test_the_doctor_knows_every_extra_and_the_command_that_adds_missing_ones(monkeypatch, capsys) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    packages = {name: re.split(r"[\[<>=]", rows[0])[0] for name, rows in declared.items() if name != "dev"}
    assert packages == EXTRAS
    monkeypatch.setitem(EXTRAS, "images", "not-there-at-all")
    monkeypatch.setitem(EXTRAS, "mcp", "textual")
    report = json.loads(printed(capsys, "doctor", "--json"))["extras"]
    missing = ",".join(name for name, version in report.items() if not version)
    assert "images" in missing
    text = printed(capsys, "doctor")
    assert f"pip install 'ponder-tui[{missing}]'" in text
    assert f"textual {report['mcp']}, " in text.partition("- extras: ")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_setting_can_be_completed(shell: str, capsys) -> None:
    script = printed(capsys, "completions", shell)
    assert all(name in script for name in COMMANDS)
    assert "reasoning.stripFromContext=" in script
    assert "openai-responses" in script


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["cont"], ["context"]),
        (["wire", "d"], ["decode"]),
        (["context", "--dr"], ["--draft"]),
        (["completions", "z"], ["zsh"]),
        (["--set", "reasoning.str"], ["reasoning.stripFromContext="]),
        (["--set", "reasoning.effort", "=", "xh"], ["xhigh"]),
        (["--set", "reasoning.effort=xh"], ["reasoning.effort=xhigh"]),
        (["--set", "ui.theme", "="], ["auto", "dusk"]),
        (["-m", "claude-opus-5-"], ["claude-opus-5-5"]),
        (["-m", "anthropic/claude-opus-5/h"], ["anthropic/claude-opus-5/high"]),
        (["--model=demo/fas"], ["--model=demo/fast"]),
        (["plan", "mine/tuned", ":"], ["7b"]),
        (["auth", "set", "min"], ["minimax", "mine"]),
        (["--profile", "de"], ["deepseek"]),
        (["-r", ""], []),
    ],
)
def test_bash_offers_what_fits(typed: list[str], offered: list[str], capsys, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    script = tmp_path / "completions.bash"
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        '[providers.mine]\nwire = "ollama"\nbase_url = "http://127.0.0.1:9"\n'
        '[models."mine/tuned:7b"]\nthinks = true\n[models."mine/$(touch bad)"]\nthinks = true\n'
    )
    program = f'ponder() {{ PYTHONPATH="{ROOT}" "{sys.executable}" -m tui "$@"; }}\n'
    script.write_text(program + printed(capsys, "completions", "bash"))
    words = " ".join(f"'{word}'" for word in ["ponder", *typed])
    ask = (
        f"source {script}; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _ponder; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    said = subprocess.run([bash, "-c", ask], capture_output=True, text=True, check=True, cwd=tmp_path)
    found = said.stdout.split()
    assert (found if len(found) < 3 else [word for word in found if word in offered]) == offered
    assert not (tmp_path / "bad").exists()


def test_an_empty_command_line_means_what_the_parser_makes_of_it() -> None:
    assert vars(command_line.no_arguments()) == vars(whole_parser().parse_args([]))


@pytest.mark.parametrize("words", [["--json", "--show-thinking"], ["--jsonl"], ["--show-thinking"], ["--attach", "a"]])
def test_options_of_one_question_are_not_passed_over_without_one(words: list[str], capsys) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"ponder: `{words[0]}` needs `-p TEXT`, which answers without a screen.\n"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sesions", "ponder: there is no command `sesions`.\nDid you mean `sessions`?"),
        ("sesions list", "ponder: there is no command `sesions`.\nDid you mean `sessions`?"),
        ("modles gpt", "ponder: there is no command `modles`.\nDid you mean `models`?"),
        ("sessions lst", "ponder sessions: there is no command `lst`.\nDid you mean `list`?"),
        ("auth remov openai", "ponder auth: there is no command `remov`.\nDid you mean `remove`?"),
        ("wire decod", "ponder wire: there is no command `decod`.\nDid you mean `decode`?"),
        ("completions fsh", "ponder completions: `fsh` is not one of its choices.\nDid you mean `fish`?"),
        ("--modle x", "ponder: there is no option `--modle`.\nDid you mean `--model`?"),
        ("sessions list --limt 3", "ponder sessions list: there is no option `--limt`.\nDid you mean `--limit`?"),
    ],
)
def test_a_misspelled_word_gets_the_nearest_right_one(words: str, said: str) -> None:
    command = [sys.executable, "-m", "tui", *words.split()]
    done = prefork.run(command, env=prefork.surroundings(), text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


@pytest.mark.long
def test_every_command_and_action_is_found_when_a_letter_is_missing(capsys) -> None:
    tried = 0
    for name in COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        listed = re.findall(r"^    ([a-z]+) {2,}", capsys.readouterr().out, re.MULTILINE)
        for before, word in [([], name), *(([name], action) for action in listed)]:
            with pytest.raises(SystemExit, match="2"):
                main([*before, word[:1] + word[2:]])
            assert f"Did you mean `{word}`?" in capsys.readouterr().err
            tried += 1
    assert tried > len(COMMANDS) + 8


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gpt5", "openai/gpt-5"),
        ("GPT 5", "openai/gpt-5"),
        ("grok4", "xai/grok-4"),
        ("opus5", "anthropic/claude-opus-5"),
        ("haiku4.5", "anthropic/claude-haiku-4-5"),
        ("sonet", "anthropic/claude-sonnet"),
    ],
)
def test_a_model_named_as_people_write_it_gets_that_model_as_suggestion(word: str, meant: str, capsys) -> None:
    assert main(["plan", word]) == 2
    assert f"Did you mean {meant}" in capsys.readouterr().err
